#include "refactor/llm/candidate.h"

#include "refactor/llm/answer_text.h"
#include "refactor/llm/apart.h"
#include "refactor/llm/declarations.h"
#include "refactor/llm/screen.h"
#include "refactor/rewrite/edits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace lathe::refactor::llm {
namespace {

constexpr double PARSE_SECONDS = 60;
constexpr std::size_t PARSE_BYTES = std::size_t{8} << 30;

Error refused(const std::string& why) {
  return {"the template is refused", why, ""};
}

struct Parsed {
  std::unique_ptr<ParsedSource> source;
  KernelInfo kernel;
};

Result<Parsed> parse(const std::string& text, const std::string& kernel, const std::string& architecture) {
  const std::filesystem::path file = "/lathe/template.cu";
  ParseOptions options;
  options.architecture = architecture;
  options.overlay[file] = text;
  LATHE_TRY(auto source, ParsedSource::parse(file, options));
  LATHE_TRY(KernelInfo info, find_kernel(*source, kernel));
  return Parsed{std::move(source), std::move(info)};
}

bool is_knob_type(std::string type) {
  static const std::set<std::string> known{"int",      "unsigned", "unsigned int",  "bool",
                                           "uint32_t", "int32_t",  "long",          "size_t",
                                           "int64_t",  "uint64_t", "std::uint32_t", "uint"};
  if (type.starts_with("const "))
    type.erase(0, 6);
  return known.contains(type);
}

// What the parse of a template tells: the instance and the knobs' types.
struct TemplateFacts {
  std::string instance;
  std::map<std::string, std::string> types; // of the knobs that are template parameters
};

Result<TemplateFacts> read_template(const Submission& submission, const Candidate& raw,
                                    const std::string& architecture) {
  auto templated = parse(submission.text, raw.kernel, architecture);
  if (!templated.ok())
    return refused(templated.error().sentence());
  LATHE_TRY(Parsed original, parse(raw.text, raw.kernel, architecture));
  LATHE_CHECK(screen_declarations(*templated->source, *original.source));
  if (!templated->source->errors().empty())
    return refused("it does not compile: " + templated->source->errors().front());
  if (!templated->kernel.is_whole())
    return refused("the kernel's body is not whole: " + templated->kernel.unresolved.front());

  const InstanceName given = split_instance(raw.instance);
  const auto& raw_parameters = original.kernel.template_parameters;
  const auto is_knob = [&](const std::string& name) {
    return std::any_of(submission.knobs.begin(), submission.knobs.end(),
                       [&](const Submission::KnobText& knob) { return knob.name == name; });
  };
  TemplateFacts facts;
  InstanceName instance{given.name, !templated->kernel.template_parameters.empty(), {}};
  for (const TemplateParameter& parameter : templated->kernel.template_parameters) {
    const auto found =
        std::find_if(raw_parameters.begin(), raw_parameters.end(),
                     [&](const TemplateParameter& other) { return other.name == parameter.name; });
    if (is_knob(parameter.name)) {
      if (!is_knob_type(parameter.type))
        return refused("knob " + parameter.name + " is a template parameter of type " +
                       excerpt(parameter.type, 60) + ", not int, unsigned or bool");
      facts.types[parameter.name] = parameter.type;
      instance.arguments.push_back("{" + parameter.name + "}");
      continue;
    }
    if (found == raw_parameters.end())
      return refused("template parameter " + excerpt(parameter.name, 60) +
                     " is neither the raw kernel's nor among the knobs");
    const auto index = static_cast<std::size_t>(found - raw_parameters.begin());
    const std::string& argument =
        index < given.arguments.size() ? given.arguments[index] : found->default_argument;
    if (argument.empty())
      return refused("template parameter " + parameter.name +
                     " has no argument in the raw kernel's instance");
    instance.arguments.push_back(argument);
  }
  facts.instance = instance.text();
  return facts;
}

std::string facts_as_json(const Result<TemplateFacts>& facts) {
  nlohmann::json json;
  if (facts.ok()) {
    json["Instance"] = facts->instance;
    json["Types"] = facts->types;
  } else {
    json["Refused"] = facts.error().why.empty() ? facts.error().sentence() : facts.error().why;
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The same in a process of its own: templates can keep a compiler busy for ever, or bring it down.
Result<TemplateFacts> read_template_apart(const Submission& submission, const Candidate& raw,
                                          const std::string& architecture) {
  const auto told = run_apart([&] { return facts_as_json(read_template(submission, raw, architecture)); },
                              PARSE_SECONDS, PARSE_BYTES);
  if (!told.ok())
    return refused("clang does not get through it (" + told.error().why + ")");
  const auto json = nlohmann::json::parse(*told, nullptr, false);
  if (!json.is_object())
    return refused("clang does not get through it");
  if (json.contains("Refused"))
    return refused(json["Refused"].get<std::string>());
  return TemplateFacts{json["Instance"].get<std::string>(),
                       json["Types"].get<std::map<std::string, std::string>>()};
}

// Which names an expression may mention.
struct Names {
  std::set<std::string> sizes, knobs;
  Names(const Candidate& raw, const Submission& submission) {
    sizes.insert(raw.dimensions.begin(), raw.dimensions.end());
    for (const TypeParameter& type : raw.types)
      sizes.insert("sizeof_" + type.name);
    for (const Submission::KnobText& knob : submission.knobs)
      knobs.insert(knob.name);
  }

  Result<Expression> parse(const std::string& text, const std::string& where, bool with_knobs,
                           bool with_device) const {
    auto expression = Expression::parse(text);
    if (!expression.ok())
      return refused(where + ": " + expression.error().sentence());
    for (const std::string& name : expression->names())
      if (!sizes.contains(name) && !(with_knobs && knobs.contains(name)) &&
          !(with_device && name.starts_with("device.")))
        return refused(fmt::format("{}: '{}' is neither a dimension ({}){}", where, excerpt(name, 60),
                                   fmt::join(sizes, ", "), with_knobs ? " nor a knob" : ""));
    return *expression;
  }
};

Status bind_launch(const Submission& submission, const Names& names, LaunchGeometry& launch) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (submission.grid) {
      LATHE_TRY(launch.grid[axis], names.parse((*submission.grid)[axis], "launch grid", true, false));
    }
    if (submission.block) {
      LATHE_TRY(launch.block[axis], names.parse((*submission.block)[axis], "launch block", true, false));
    }
  }
  if (submission.shared_bytes) {
    LATHE_TRY(launch.shared_bytes, names.parse(*submission.shared_bytes, "launch shared_bytes", true, false));
  }
  return Done{};
}

} // namespace

Result<Candidate> make_candidate(const Submission& submission, const Candidate& raw,
                                 const std::string& architecture) {
  LATHE_CHECK(screen_text(submission.text, raw.text));
  const Names names(raw, submission);
  Candidate candidate = raw;
  candidate.text = submission.text;
  candidate.knobs.clear();
  candidate.conditions.clear();
  candidate.raw_preconditions.clear();
  candidate.raw_launch_bounds.clear();
  candidate.applied = {"model"};
  for (const Submission::KnobText& text : submission.knobs) {
    if (names.sizes.contains(text.name) ||
        std::any_of(raw.types.begin(), raw.types.end(),
                    [&](const TypeParameter& type) { return type.name == text.name; }))
      return refused("knob " + text.name + " has the name of a dimension or type");
    Knob knob;
    knob.name = text.name;
    knob.kind = text.kind;
    knob.why = text.why.empty() ? "proposed by a model" : text.why;
    knob.values.assign(text.values.begin(), text.values.end());
    LATHE_TRY(knob.default_value, names.parse(text.default_text, "default of " + text.name, false, false));
    candidate.knobs.push_back(std::move(knob));
  }
  for (const Submission::ConditionText& text : submission.conditions) {
    LATHE_TRY(Expression expression, names.parse(text.expression, "a condition", true, true));
    // What holds for no knob in particular would only keep sizes away from the checks.
    if (std::none_of(expression.names().begin(), expression.names().end(),
                     [&](const std::string& name) { return names.knobs.contains(name); }))
      return refused("condition '" + text.expression + "' mentions no knob");
    candidate.conditions.push_back({std::move(expression), text.why});
  }
  LATHE_CHECK(bind_launch(submission, names, candidate.launch));
  LATHE_TRY(const TemplateFacts facts, read_template_apart(submission, raw, architecture));
  candidate.instance = facts.instance;
  for (Knob& knob : candidate.knobs)
    if (const auto type = facts.types.find(knob.name); type != facts.types.end())
      knob.type = type->second;
  return candidate;
}

} // namespace lathe::refactor::llm
