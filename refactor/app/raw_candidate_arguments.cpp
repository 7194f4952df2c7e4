#include "refactor/app/raw_candidate_builder.h"
#include "tuner/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex>

namespace lathe::refactor {
namespace {

// Whether a size may be passed as it: the numbers of a byte are too few for sizes.
bool holds_sizes(const std::string& dtype) {
  return dtype != "i8" && dtype != "u8";
}

// Numbers of which any value is as good as another: floating point, and switches. Not what may be an index.
bool holds_any_value(const std::string& dtype) {
  return dtype.starts_with('f') || dtype.starts_with('e') || dtype.starts_with('b');
}

// Whether nothing but this argument follows the sizes that the launch passes a difference of for it
// (`last - first + 1`): then the number is a size of its own, as whose guesses differences would often be
// below zero.
bool is_own_size(const LaunchSite& site, const std::string& parameter, const std::string& passed) {
  if (passed.find(" - ") == std::string::npos)
    return false;
  std::vector<std::string> others{site.shared_bytes};
  for (const auto* texts : {&site.template_arguments, &site.conditions})
    others.insert(others.end(), texts->begin(), texts->end());
  for (const auto* sides : {&site.grid, &site.block})
    others.insert(others.end(), sides->begin(), sides->end());
  for (const auto* texts : {&site.arguments, &site.buffer_bytes})
    for (const auto& [name, text] : *texts)
      if (name != parameter)
        others.push_back(text);
  const std::vector<std::string> own = identifiers(passed);
  return !own.empty() && std::ranges::none_of(others, [&](const std::string& text) {
    const std::vector<std::string> names = identifiers(text);
    return std::ranges::any_of(names, [&](const std::string& name) {
      return name == parameter || std::ranges::find(own, name) != own.end();
    });
  });
}

} // namespace

std::string RawCandidateBuilder::accumulator_dtype(const std::string& type) {
  static const std::regex named(R"(^(?:\w+::)*(?:opmath_type|acc_type)<\s*(\w+)\s*(?:,\s*(?:true|1)\s*)?>$)");
  std::smatch match;
  const std::string plain = without_qualifiers(type);
  if (!std::regex_match(plain, match, named))
    return "";
  const auto of = [](const std::string& dtype) -> std::string {
    return dtype == "f16" || dtype == "bf16" || dtype.starts_with("e") ? "f32" : dtype;
  };
  const auto own = std::ranges::find(result_.candidate.types, match[1].str(), &TypeParameter::name);
  if (own == result_.candidate.types.end())
    return of(dtype_of_type(match[1].str()));
  const std::string found = of(own->dtypes.front());
  if (std::erase_if(own->dtypes, [&](const std::string& dtype) { return of(dtype) != found; }) > 0)
    result_.assumptions.push_back(fmt::format("{} is one of {}, for which {} is {}", own->name,
                                              fmt::join(own->dtypes, ", "), plain, found));
  return found;
}

Result<Argument> RawCandidateBuilder::scalar(const KernelParameter& parameter) {
  if (const std::string type = without_qualifiers(parameter.type);
      type == "cudaTextureObject_t" || type == "cudaSurfaceObject_t")
    return Error{"cannot tune " + kernel_.name,
                 "parameter '" + parameter.name + "' is a " +
                     (type == "cudaTextureObject_t" ? "texture" : "surface") +
                     ", and a specification has numbers and buffers alone",
                 "read the data through a pointer"};
  Argument argument;
  argument.name = parameter.name;
  argument.is_buffer = false;
  argument.dtype = dtype_of_type(parameter.type);
  if (argument.dtype.empty())
    argument.dtype = dtype_of_type(parameter.number);
  const std::string unqualified = without_qualifiers(parameter.type);
  if (argument.dtype.empty() &&
      std::find(data_types_.begin(), data_types_.end(), unqualified) != data_types_.end())
    argument.dtype = unqualified;
  if (argument.dtype.empty())
    argument.dtype = accumulator_dtype(parameter.type);
  if (argument.dtype.empty())
    return Error{"cannot tune " + kernel_.name,
                 "parameter '" + parameter.name + "' of type " + parameter.type +
                     " is neither a pointer nor a number",
                 "pass its members as parameters of their own"};
  const auto given = facts_.arguments.find(parameter.name);
  if (given != facts_.arguments.end() && given->second.is_null.value_or(false))
    return usage_error("cannot pass null for " + parameter.name, "it is a number of " + kernel_.name + "'s",
                       "give a value");
  if (given != facts_.arguments.end() && given->second.value) {
    LATHE_TRY(argument.value, Expression::parse(*given->second.value));
    return argument;
  }
  const auto assumed = [&](std::int64_t value, const char* shown, const char* otherwise) {
    argument.value = Expression(Value{value});
    result_.assumptions.push_back(
        fmt::format("{0} = {1} (say otherwise with --argument {0}={2})", parameter.name, shown, otherwise));
    return argument;
  };
  const auto passed = site_.arguments.find(parameter.name);
  const std::string text = passed == site_.arguments.end() ? "" : in_kernel_terms(passed->second);
  if (argument.dtype == "bool") { // a switch, not a size
    const auto fixed = Expression::parse(text);
    if (!fixed.ok() || !fixed->names().empty()) {
      result_.assumed_switches.push_back(parameter.name);
      return assumed(1, "true", "0");
    }
    LATHE_TRY(const bool is_on, fixed->evaluate_condition(
                                    [](std::string_view) -> std::optional<Value> { return std::nullopt; }));
    argument.value = Expression(Value{std::int64_t{is_on}});
    return argument;
  }
  // A size in place of an enumerator would be none of them.
  const auto passed_number = Expression::parse(text);
  if (parameter.is_enumeration && (!passed_number.ok() || !passed_number->names().empty())) {
    result_.assumed_modes.push_back(parameter.name);
    return assumed(0, "0", "VALUE");
  }
  if (parameter.is_integer) {
    const bool is_told =
        facts_.problems.empty() && !text.empty() && is_own_size(site_, parameter.name, passed->second);
    auto parsed = Expression::parse(text.empty() || is_told ? parameter.name : text);
    if (parsed.ok() && is_told)
      result_.assumptions.push_back(fmt::format(
          "{} is a size of its own: nothing else of the launch follows {}", parameter.name, text));
    if (!parsed.ok())
      parsed = Expression::parse(parameter.name);
    if (parsed.ok() && !parsed->names().empty() && !holds_sizes(argument.dtype))
      return assumed(1, "1", "VALUE");
    LATHE_TRY(argument.value, std::move(parsed));
    return argument;
  }
  auto constant = text.empty() ? Result<Expression>(Error{}) : Expression::parse(text);
  if (constant.ok() && constant->names().empty()) {
    argument.value = *constant;
    return argument;
  }
  // A run-time number that no size determines: any typical value serves for tuning.
  const bool is_epsilon = parameter.name.find("eps") != std::string::npos;
  // Bounds that are the same make one number of everything between them.
  const auto is_named = [&](std::initializer_list<const char*> words) {
    return std::ranges::any_of(
        words, [&](const char* word) { return parameter.name.find(word) != std::string::npos; });
  };
  const double bound = is_named({"min", "lower"}) ? -0.5 : is_named({"max", "upper"}) ? 0.5 : 1.0;
  argument.value = Expression(Value{is_epsilon ? 1e-6 : bound});
  result_.assumptions.push_back(
      fmt::format("{} = {} (say otherwise with --argument {}=VALUE)", parameter.name,
                  is_epsilon ? "1e-6" : fmt::format("{:.1f}", bound), parameter.name));
  return argument;
}

// What a pointer points to; of a template parameter that is bound to a type of its own, that type.
std::string RawCandidateBuilder::element_of(const KernelParameter& parameter) const {
  // Memory without a type holds numbers where the kernel reads it as such; so are offsets and indices, which
  // have a sign. As anything else, such as the words that a copy goes by, it is bytes.
  if (parameter.element == "void" && !parameter.element_by_casts.empty()) {
    KernelParameter typed = parameter;
    const auto united = united_.find(parameter.element_by_casts);
    typed.element = united == united_.end() ? parameter.element_by_casts : united->second;
    const std::string element = element_of(typed), dtype = dtype_of_type(element);
    const bool is_data = std::ranges::find(data_types_, element) != data_types_.end();
    const bool is_index = dtype == "i32" || dtype == "i64";
    return is_data || is_index || holds_any_value(dtype) ? element : parameter.element;
  }
  for (std::size_t i = 0; i < kernel_.template_parameters.size(); ++i)
    if (kernel_.template_parameters[i].name == parameter.element && i < site_.template_arguments.size() &&
        !site_.template_arguments[i].empty() &&
        std::ranges::find(data_types_, parameter.element) == data_types_.end())
      return site_.template_arguments[i];
  return parameter.element;
}

std::optional<Expression> RawCandidateBuilder::elements_allocated(const std::string& parameter,
                                                                  const std::string& dtype) const {
  const auto found = site_.buffer_bytes.find(parameter);
  if (found == site_.buffer_bytes.end())
    return std::nullopt;
  const std::vector<std::string>& dimensions = result_.candidate.dimensions;
  const bool is_type = std::ranges::find(result_.candidate.types, dtype, &TypeParameter::name) !=
                       result_.candidate.types.end();
  const auto bytes = Expression::parse(found->second);
  const auto count = Expression::parse(fmt::format(
      "({}) / {}", found->second, is_type ? "sizeof_" + dtype : std::to_string(dtype_size(dtype))));
  // A fixed number is room for the largest size, and what other sizes decide is not this launch's.
  const auto is_dimension = [&](const std::string& name) {
    return std::ranges::find(dimensions, name) != dimensions.end();
  };
  const auto is_width = [&](const std::string& name) { // n / sizeof(T) elements
    return name == "sizeof_" + dtype && is_type;
  };
  if (!bytes.ok() || !count.ok() || std::ranges::none_of(bytes->names(), is_dimension) ||
      !std::ranges::all_of(bytes->names(),
                           [&](const std::string& name) { return is_dimension(name) || is_width(name); }))
    return std::nullopt;
  return *count;
}

Result<Argument> RawCandidateBuilder::buffer(const KernelParameter& parameter) {
  Argument argument;
  const std::string element = element_of(parameter);
  argument.name = parameter.name;
  argument.direction = parameter.is_const_pointee ? Direction::in : Direction::inout;
  const auto is_own = [&](const std::string& type) {
    return std::find(data_types_.begin(), data_types_.end(), type) != data_types_.end();
  };
  const bool is_data =
      is_own(element) || (dtype_of_type(element).empty() && is_own(parameter.element_number));
  argument.dtype = is_own(element) ? element : is_data ? parameter.element_number : dtype_of_type(element);
  if (argument.dtype.empty())
    argument.dtype = dtype_of_vector(element);
  if (argument.dtype.empty())
    argument.dtype = dtype_of_type(parameter.element_number);
  if (argument.dtype.empty())
    argument.dtype = accumulator_dtype(element);
  // Memory without a type, and structures of several kinds of numbers, are bytes.
  if (argument.dtype.empty() && (element == "void" || parameter.is_plain_structure))
    argument.dtype = "u8";
  // Of what no memory is there, what it would hold is of no interest.
  const auto given = facts_.arguments.find(parameter.name);
  const bool is_said = given != facts_.arguments.end() && given->second.is_null.has_value();
  const bool is_null = is_said ? *given->second.is_null : site_.null_pointers.contains(parameter.name);
  const bool is_unused = argument.dtype.empty() && !parameter.is_named_in_body;
  if (argument.dtype.empty() && (is_null || is_unused))
    argument.dtype = "u8";
  if (argument.dtype.empty() && element.find('*') != std::string::npos)
    return Error{"cannot tune " + kernel_.name,
                 "parameter '" + parameter.name + "' is a table of pointers (" + parameter.element +
                     ") that the kernel does not only read entries of",
                 "read its entries in the kernel's own body, as " + parameter.name + "[i]"};
  if (argument.dtype.empty())
    return Error{
        "cannot tune " + kernel_.name,
        "parameter '" + parameter.name + "' points to " + parameter.element + ", which has no dtype",
        "see docs/specification.md for the element types, or say that it is a null pointer with --argument " +
            parameter.name + "=null"};
  const auto bound = std::ranges::find(result_.candidate.types, argument.dtype, &TypeParameter::name);
  const bool is_index =
      bound != result_.candidate.types.end() && std::ranges::none_of(bound->dtypes, holds_any_value);
  const bool is_real = (is_data && !is_index) || holds_any_value(argument.dtype);
  if (!is_real)
    argument.fill.kind = Fill::Kind::zero;             // indices: any other content could point outside
  argument.count = Expression(Value{std::int64_t{0}}); // inferred by a traced run unless given
  if (given != facts_.arguments.end()) {
    if (given->second.count) {
      LATHE_TRY(argument.count, Expression::parse(*given->second.count));
    }
    argument.direction = given->second.direction.value_or(argument.direction);
    argument.fill = given->second.fill.value_or(argument.fill);
  }
  argument.is_null = is_null || (is_unused && !is_said);
  if (is_said)
    return argument;
  if (is_unused && !is_null)
    result_.assumptions.push_back(
        fmt::format("{0} is a null pointer, as the kernel does not use it (say otherwise with --argument "
                    "{0}=COUNT)",
                    parameter.name));
  else if (is_null)
    result_.assumptions.push_back(fmt::format(
        "{0} is a null pointer, as the launcher passes it (say otherwise with --argument {0}=COUNT)",
        parameter.name));
  return argument;
}

void RawCandidateBuilder::count_allocated() {
  for (Argument& argument : result_.candidate.arguments) {
    if (!argument.is_buffer || argument.count.text() != "0")
      continue;
    if (const auto allocated = elements_allocated(argument.name, argument.dtype)) {
      argument.count = *allocated;
      result_.assumptions.push_back(fmt::format(
          "{} has {} elements (as the launcher allocates; say otherwise with --argument {}=COUNT)",
          argument.name, argument.count.text(), argument.name));
    }
  }
}

Status RawCandidateBuilder::arguments() {
  for (const auto& [name, ignored] : facts_.arguments)
    if (std::none_of(kernel_.parameters.begin(), kernel_.parameters.end(),
                     [&, &wanted = name](const KernelParameter& p) { return p.name == wanted; }))
      return usage_error("no parameter '" + name + "' of " + kernel_.name, "");
  for (const KernelParameter& parameter : kernel_.parameters) {
    LATHE_TRY(Argument argument, parameter.is_pointer ? buffer(parameter) : scalar(parameter));
    result_.candidate.arguments.push_back(std::move(argument));
  }
  return Done{};
}

} // namespace lathe::refactor
