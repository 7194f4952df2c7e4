#include "refactor/rewrite/joined_kernels.h"

#include "refactor/rewrite/device_function.h"
#include "refactor/rewrite/rule_support.h"
#include "tuner/emit/header_source.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lathe::refactor {
namespace {

std::string scope_of(std::size_t side) {
  return fmt::format("kernel_{}", side + 1);
}

Error not_alike(const std::string& what, const std::string& first, const std::string& second) {
  return {"cannot choose between the two kernels", fmt::format("{} are {} and {}", what, first, second),
          "templatize them apart"};
}

std::string types_text(const Candidate& candidate) {
  std::string text;
  for (const TypeParameter& type : candidate.types)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", type.name, fmt::join(type.dtypes, "/"));
  return text.empty() ? "none" : text;
}

std::string arguments_text(const Candidate& candidate) {
  std::string text;
  for (const Argument& argument : candidate.arguments)
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", argument.dtype, argument.name,
                        argument.is_buffer ? "[]" : " = " + argument.value.text());
  return text;
}

Status check_alike(const std::array<const Candidate*, 2>& sides) {
  const Candidate &first = *sides[0], &second = *sides[1];
  if (types_text(first) != types_text(second))
    return not_alike("their element types", types_text(first), types_text(second));
  if (arguments_text(first) != arguments_text(second))
    return not_alike("their arguments", arguments_text(first), arguments_text(second));
  return Done{};
}

// One of two expressions, by the knob.
Result<Expression> choice(const KernelKnob& knob, const std::string& first, const std::string& second) {
  return Expression::parse(first == second ? first
                                           : fmt::format("{} == 1 ? ({}) : ({})", knob.name, first, second));
}

using Terms = std::string (*)(std::string text, const Candidate& candidate, std::size_t side);

Result<LaunchGeometry> joined_launch(const std::array<const Candidate*, 2>& sides, const KernelKnob& knob,
                                     Terms terms) {
  const auto join = [&](const Expression& first, const Expression& second) {
    return choice(knob, terms(first.text(), *sides[0], 0), terms(second.text(), *sides[1], 1));
  };
  const LaunchGeometry &first = sides[0]->launch, &second = sides[1]->launch;
  LaunchGeometry launch;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    LATHE_TRY(launch.grid[axis], join(first.grid[axis], second.grid[axis]));
    LATHE_TRY(launch.block[axis], join(first.block[axis], second.block[axis]));
  }
  LATHE_TRY(launch.shared_bytes, join(first.shared_bytes, second.shared_bytes));
  return launch;
}

// What both have in common, and the dimensions of either.
Candidate joined_facts(const std::array<const Candidate*, 2>& sides, const KernelKnob& knob) {
  Candidate joined;
  joined.types = sides[0]->types;
  joined.arguments = sides[0]->arguments;
  const auto add = [&](const std::string& name) {
    if (!name.starts_with("device.") && !name.starts_with("sizeof_") &&
        std::ranges::find(joined.dimensions, name) == joined.dimensions.end())
      joined.dimensions.push_back(name);
  };
  for (const Candidate* side : sides)
    std::ranges::for_each(side->dimensions, add);
  std::ranges::for_each(knob.taken.names(), add);
  return joined;
}

// Both texts behind their includes, each in its namespace; a macro ends with the text that defines it.
std::string joined_text(const std::array<std::string, 2>& texts) {
  std::vector<std::string> includes;
  std::string bodies;
  for (std::size_t side = 0; side < texts.size(); ++side) {
    const HeaderSource parts = split_source(texts[side]);
    for (const std::string& include : parts.includes)
      if (std::ranges::find(includes, include) == includes.end())
        includes.push_back(include);
    const std::size_t first = parts.body.find_first_not_of('\n');
    bodies += fmt::format("\nnamespace {0} {{\n\n{1}\n}} // namespace {0}\n", scope_of(side),
                          first == std::string::npos ? "" : parts.body.substr(first));
    for (const std::string& macro : parts.macros)
      bodies += "#undef " + macro + "\n";
  }
  std::string text;
  for (const std::string& include : includes)
    text += include + "\n";
  return text + bodies;
}

std::string as_it_is(std::string text, const Candidate&, std::size_t) {
  return text;
}

std::string own_name(const std::string& knob, std::size_t side) {
  return fmt::format("K{}_{}", side + 1, knob);
}

// With the side's knobs under the names that they have in the template.
std::string in_own_names(std::string text, const Candidate& candidate, std::size_t side) {
  for (const Knob& knob : candidate.knobs)
    text = replace_word(std::move(text), knob.name, own_name(knob.name, side));
  return text;
}

Status add_side(const Candidate& side, std::size_t index, const KernelKnob& knob, Candidate& joined) {
  const std::string runs = fmt::format("{} == {}", knob.name, index + 1),
                    rests = fmt::format("{} != {}", knob.name, index + 1);
  for (const Condition& condition : side.conditions) {
    LATHE_TRY(Expression held,
              Expression::parse(
                  fmt::format("{} || ({})", rests, in_own_names(condition.expression.text(), side, index))));
    joined.conditions.push_back({std::move(held), in_own_names(condition.why, side, index)});
  }
  for (const Knob& own : side.knobs) {
    Knob renamed = own;
    renamed.name = own_name(own.name, index);
    LATHE_TRY(renamed.default_value, Expression::parse(in_own_names(own.default_value.text(), side, index)));
    LATHE_TRY(Expression held, Expression::parse(fmt::format("{} || {} == ({})", runs, renamed.name,
                                                             renamed.default_value.text())));
    joined.conditions.push_back(
        {std::move(held), fmt::format("{} has no part in the other kernel", renamed.name)});
    joined.knobs.push_back(std::move(renamed));
  }
  return Done{};
}

// "first::k<T, 8, K1_VEC>" of "k<{T}, 8, {VEC}>": what a kernel with these template parameters calls.
Result<std::string> called(const Candidate& side, std::size_t index) {
  std::string text = scope_of(index) + "::" + side.instance;
  const auto fill = [&](const std::string& name, const std::string& value) {
    const std::string placeholder = "{" + name + "}";
    for (std::size_t at; (at = text.find(placeholder)) != std::string::npos;)
      text.replace(at, placeholder.size(), value);
  };
  for (const TypeParameter& type : side.types)
    fill(type.name, type.name);
  for (const Knob& knob : side.knobs)
    fill(knob.name, own_name(knob.name, index));
  for (const std::string& dimension : side.dimensions)
    if (text.find("{" + dimension + "}") != std::string::npos)
      return Error{"cannot choose between the two kernels",
                   fmt::format("the instance {} depends on the size {}", side.instance, dimension),
                   "give it a value with --template-argument"};
  return text;
}

std::string list_of(const std::string& call) {
  const std::size_t open = call.find('<');
  return open == std::string::npos ? "" : call.substr(open);
}

} // namespace

std::string kernel_knob_name(const std::array<const Candidate*, 2>& sides) {
  return free_name(sides[0]->text + "\n" + sides[1]->text, "KERNEL");
}

Result<Candidate> join_raw(const std::array<const Candidate*, 2>& sides, const KernelKnob& knob) {
  LATHE_CHECK(check_alike(sides));
  Candidate joined = joined_facts(sides, knob);
  joined.text = joined_text({sides[0]->text, sides[1]->text});
  joined.kernel = scope_of(1) + "::" + sides[1]->kernel;
  joined.instance = fmt::format("{} == 1 ? {}::{} : {}::{}", knob.name, scope_of(0), sides[0]->instance,
                                scope_of(1), sides[1]->instance);
  LATHE_TRY(joined.launch, joined_launch(sides, knob, as_it_is));
  return joined;
}

Result<Candidate> join_templates(const std::array<const Candidate*, 2>& sides, const KernelKnob& knob,
                                 const std::string& name, const ParseOptions& options) {
  LATHE_CHECK(check_alike(sides));
  Candidate joined = joined_facts(sides, knob);
  joined.kernel = name;
  LATHE_TRY(joined.launch, joined_launch(sides, knob, in_own_names));
  Knob chosen = make_knob(knob.name, KnobKind::flag, "int", {1, 2}, "1", knob.why);
  LATHE_TRY(chosen.default_value, Expression::parse("(" + knob.taken.text() + ") ? 1 : 2"));
  joined.knobs.push_back(std::move(chosen));

  std::array<std::string, 2> texts, calls, bounds;
  std::vector<DeviceFunction::Parameter> parameters;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Candidate& side = *sides[i];
    LATHE_CHECK(add_side(side, i, knob, joined));
    LATHE_TRY(DeviceFunction function,
              as_device_function(in_own_names(side.text, side, i), side.kernel, options));
    LATHE_TRY(calls[i], called(side, i));
    texts[i] = std::move(function.text);
    bounds[i] =
        function.bounds.empty() ? "" : scope_of(i) + "::" + function.bounds + list_of(calls[i]) + "::";
    const auto types = [](const std::vector<DeviceFunction::Parameter>& list) {
      std::string text;
      for (const auto& parameter : list)
        text += (text.empty() ? "" : ", ") + parameter.type;
      return text;
    };
    if (i > 0 && types(parameters) != types(function.parameters))
      return not_alike("the types of their parameters", types(parameters), types(function.parameters));
    parameters = std::move(function.parameters);
  }

  std::string header, instance, list, arguments;
  for (const TypeParameter& type : joined.types) {
    header += "typename " + type.name + ", ";
    instance += "{" + type.name + "}, ";
  }
  for (const Knob& own : joined.knobs) {
    const std::string separator = &own == &joined.knobs.front() ? "" : ", ";
    if (own.is_macro)
      continue;
    header += separator + own.type + " " + own.name;
    instance += separator + ("{" + own.name + "}");
  }
  for (const DeviceFunction::Parameter& parameter : parameters) {
    list += (list.empty() ? "" : ", ") + parameter.type + " " + parameter.name;
    arguments += (arguments.empty() ? "" : ", ") + parameter.name;
  }
  const auto bound = [&](const char* member) {
    const auto of = [&](std::size_t i) { return bounds[i].empty() ? "0" : bounds[i] + member; };
    return fmt::format("({} == 1 ? {} : {})", knob.name, of(0), of(1));
  };
  const std::string attribute =
      bounds[0].empty() && bounds[1].empty()
          ? ""
          : fmt::format(" __launch_bounds__({}, {})", bound("threads"), bound("blocks"));
  joined.text = joined_text(texts) +
                fmt::format("\n// {0}: 1 the first kernel, 2 the second.\n"
                            "template <{1}>\n__global__ void{2} {3}({4}) {{\n"
                            "  if constexpr ({0} == 1)\n    {5}({7});\n  else\n    {6}({7});\n}}\n",
                            knob.name, header, attribute, name, list, calls[0], calls[1], arguments);
  joined.instance = name + "<" + instance + ">";

  const std::filesystem::path file = "/lathe/joined.cu";
  ParseOptions overlaid = options;
  overlaid.compile_database.clear();
  overlaid.overlay[file] = joined.text;
  LATHE_TRY(const auto source, ParsedSource::parse(file, overlaid));
  if (!source->errors().empty())
    return Error{"cannot choose between the two kernels",
                 "their texts do not parse in namespaces of their own: " + source->errors().front(),
                 "templatize them apart"};
  return joined;
}

} // namespace lathe::refactor
