#include "refactor/app/raw_candidate_builder.h"
#include "refactor/frontend/index_types.h"
#include "refactor/frontend/standard.h"
#include "refactor/rewrite/template_argument.h"
#include "tuner/base/text.h"
#include "tuner/compile/compile.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <regex>

namespace lathe::refactor {
namespace {

// Types that are tried for a type parameter when nothing says which are in use: those of inference kernels,
// and where none of them compiles, double precision, those of indices, and then what values are quantised to.
const std::vector<std::string> usual_dtypes{"bf16", "f16", "f32"}, wide_dtypes{"f64"},
    index_dtypes{"i32", "i64"}, quantised_dtypes{"i8", "e4m3"}, eight_bit_reals{"e4m3"};

// Parameters that are tried in all kinds at once; each multiplies the compiles.
constexpr std::size_t MOST_OPEN_TYPES = 2;

// The reverse, for template arguments: "16 / sizeof_T" -> "16 / sizeof(T)".
std::string with_sizeof(const std::string& text) {
  static const std::regex pattern(R"(\bsizeof_(\w+))");
  return std::regex_replace(text, pattern, "sizeof($1)");
}

} // namespace

Status RawCandidateBuilder::override_template_arguments() {
  site_.template_arguments.resize(
      std::max(site_.template_arguments.size(), kernel_.template_parameters.size()));
  for (const auto& [name, value] : launch_.template_arguments) {
    // A name of the launcher's: what it stands for in the arguments that mention it.
    bool is_mentioned = bound_by_launcher_.contains(name);
    for (std::string& argument : site_.template_arguments) {
      std::string with_value = substitute(argument, {{name, in_place_of_name(value)}});
      is_mentioned |= with_value != argument;
      argument = std::move(with_value);
    }
    const auto found = std::ranges::find(kernel_.template_parameters, name,
                                         [](const TemplateParameter& p) { return p.name; });
    if (found == kernel_.template_parameters.end() && is_mentioned)
      continue;
    if (found == kernel_.template_parameters.end()) {
      std::string known;
      for (const TemplateParameter& parameter : kernel_.template_parameters)
        known += (known.empty() ? "" : ", ") + parameter.name;
      return usage_error("no template parameter '" + name + "' of " + kernel_.name,
                         known.empty() ? "it is no template" : "its own are " + known);
    }
    site_.template_arguments[static_cast<std::size_t>(found - kernel_.template_parameters.begin())] = value;
  }
  return Done{};
}

// Functions and switches that a launcher passes on from template parameters of its own: those of the file's
// first instance. Numbers are asked for: they are sizes.
void RawCandidateBuilder::take_instance() {
  const auto parameters = kernel_.template_parameters.size();
  // As switches among the arguments are.
  for (std::size_t i = 0; i < parameters; ++i)
    if (const TemplateParameter& parameter = kernel_.template_parameters[i];
        is_switch(parameter) && kernel_.launches.empty() && site_.template_arguments[i].empty() &&
        parameter.default_argument.empty()) {
      site_.template_arguments[i] = "true";
      result_.assumptions.push_back(
          fmt::format("{0} = true (say otherwise with --template-argument {0}=false)", parameter.name));
    }
  const auto complete = std::ranges::find_if(
      site_.instances, [&](const std::vector<std::string>& list) { return list.size() == parameters; });
  if (complete == site_.instances.end())
    return;
  for (std::size_t i = 0; i < parameters; ++i) {
    const TemplateParameter& parameter = kernel_.template_parameters[i];
    std::string& argument = site_.template_arguments[i];
    const bool is_literal = argument == "true" || argument == "false";
    if (is_type_parameter(parameter) || launch_.template_arguments.contains(parameter.name) || is_literal ||
        !plain_word(argument) || (!is_switch(parameter) && !dtype_of_type(parameter.type).empty()))
      continue;
    result_.assumptions.push_back(
        fmt::format("{} = {}, as in the first of {} instances (say otherwise with --template-argument)",
                    parameter.name, (*complete)[i], site_.instances.size()));
    argument = (*complete)[i];
  }
}

// A common divisor of a number and the problem's size, as vectors are chosen by: the number itself, which it
// is where the size is a multiple of it. Other sizes are launched as other instances.
void RawCandidateBuilder::take_widest_instance() {
  for (std::size_t i = 0; i < kernel_.template_parameters.size(); ++i) {
    const std::string& name = kernel_.template_parameters[i].name;
    std::string& argument = site_.template_arguments[i];
    const auto operands = operands_of_gcd(argument);
    if (is_type_parameter(kernel_.template_parameters[i]) || !operands)
      continue;
    for (const bool is_first : {true, false}) {
      const std::string& number = is_first ? operands->first : operands->second;
      const std::string& size = is_first ? operands->second : operands->first;
      if (follows_size(number) || !follows_size(size))
        continue;
      result_.assumptions.push_back(
          fmt::format("{} = {}, as where {} is a multiple of it (say otherwise with "
                      "--template-argument {}=...)",
                      name, number, size, name));
      argument = number;
      site_.conditions.push_back(fmt::format("({}) % ({}) == 0", size, number));
      break;
    }
  }
}

// Whether a host expression depends on what the kernel is told, or on what nobody knows.
bool RawCandidateBuilder::follows_size(const std::string& text) const {
  const auto value = Expression::parse(in_kernel_terms(without_sizeof(text)));
  return !value || std::ranges::any_of(value->names(), [&](const std::string& name) {
    const bool is_parameter =
        std::ranges::find(kernel_.parameters, name, &KernelParameter::name) != kernel_.parameters.end();
    return is_parameter || (!name.starts_with("sizeof_") && extracted_.text.find(name) == std::string::npos);
  });
}

namespace {

std::string dtype_of_index(const TemplateParameter& parameter) {
  const std::string dtype = dtype_of_type(parameter.default_argument);
  return dtype.empty() ? index_dtypes.front() : dtype;
}

} // namespace

void RawCandidateBuilder::name_types() {
  for (std::size_t i = 0; i < kernel_.template_parameters.size(); ++i) {
    const TemplateParameter& parameter = kernel_.template_parameters[i];
    if (is_type_parameter(parameter) && site_.template_arguments[i].empty())
      site_.template_arguments[i] = type_left_out(i);
    const std::string argument = i < site_.template_arguments.size() ? site_.template_arguments[i] : "";
    if (const std::string dtype = dtype_of_type(argument); is_type_parameter(parameter) && !dtype.empty()) {
      // A concrete element type: the parameter stands for it, in the other arguments too (gelu<__half>).
      data_types_.push_back(parameter.name);
      dtypes_in_use_[parameter.name] = {dtype};
      if (plain_word(argument) && !names_.contains(argument))
        names_[argument] = parameter.name;
    } else if (is_type_parameter(parameter)) {
      const bool plain = plain_word(argument) && !is_class_of_text(argument);
      // A launcher's own type parameter, or none known: an element type to be bound. Anything else is kept as
      // written.
      if (argument.empty() || (plain && dtype_of_vector(argument).empty())) {
        data_types_.push_back(parameter.name);
        if (std::vector<std::string> integers = types_as_used(i); !integers.empty())
          types_as_used_[parameter.name] = std::move(integers);
        else if (site_.instances.empty() && is_index_type(parameter.name, parameter.default_argument))
          types_as_used_[parameter.name] = {dtype_of_index(parameter)};
        if (plain && argument != parameter.name) {
          names_[argument] = parameter.name;
          names_["sizeof_" + argument] = "sizeof_" + parameter.name;
        }
      }
    } else if (!is_type_parameter(parameter) && !argument.empty()) {
      names_.emplace(parameter.name, "(" + substitute(without_sizeof(argument), names_) + ")");
    }
  }
}

// quantize<In> launches k<<<rows, n, n * sizeof(In)>>>(device_cast<In>(x)): what In is to k's T is not
// written there. A kernel without element types that copies vectors, whatever is in them, has none to name.
std::vector<std::string> RawCandidateBuilder::geometry_texts() const {
  std::vector<std::string> texts(site_.grid.begin(), site_.grid.end());
  texts.insert(texts.end(), site_.block.begin(), site_.block.end());
  texts.push_back(site_.shared_bytes);
  return texts;
}

void RawCandidateBuilder::name_sizes() {
  constexpr std::string_view PREFIX = "sizeof_";
  if (data_types_.size() > 1)
    return;
  const bool has_type = !data_types_.empty();
  const std::string own =
      has_type ? std::string(PREFIX) + data_types_.front() : std::to_string(dtype_size(usual_dtypes.front()));
  std::vector<std::string> texts = geometry_texts();
  if (!has_type)
    for (const auto& [parameter, passed] : site_.arguments)
      texts.push_back(passed);
  for (const std::string& text : texts)
    for (const std::string& name : identifiers(text))
      if (const std::string type = name.substr(std::min(PREFIX.size(), name.size()));
          name.starts_with(PREFIX) && name != own && names_.emplace(name, own).second)
        result_.assumptions.push_back(
            has_type
                ? fmt::format("sizeof({}) at the launch is that of {}, the kernel's only element type", type,
                              data_types_.front())
                : fmt::format("sizeof({}) at the launch is {}: the kernel has no element type", type, own));
}

void RawCandidateBuilder::name_element_sizes() {
  const auto size_of = [&](const std::string& tensor) -> std::string {
    for (const KernelParameter& parameter : kernel_.parameters) {
      const auto passed = site_.arguments.find(parameter.name);
      if (!parameter.is_pointer ||
          (parameter.name != tensor && (passed == site_.arguments.end() || passed->second != tensor)))
        continue;
      const std::string element = element_of(parameter), dtype = dtype_of_type(element);
      if (std::ranges::find(data_types_, element) != data_types_.end())
        return "sizeof_" + element;
      if (!dtype.empty())
        return std::to_string(dtype_size(dtype));
    }
    return data_types_.empty() ? "" : "sizeof_" + data_types_.front();
  };
  std::vector<std::string> texts = geometry_texts();
  for (const auto* more : {&site_.template_arguments, &site_.conditions})
    texts.insert(texts.end(), more->begin(), more->end());
  for (const auto* passed : {&site_.arguments, &site_.buffer_bytes})
    for (const auto& entry : *passed)
      texts.push_back(entry.second);
  std::map<std::string, std::string> sizes;
  for (const std::string& text : texts)
    for (const std::string& name : identifiers(text))
      if (name.starts_with(SIZE_OF_ELEMENT))
        if (const std::string size = size_of(name.substr(SIZE_OF_ELEMENT.size())); !size.empty())
          sizes[name] = size;
  substitute_in_site(sizes);
}

// The template argument list with {T} for element types, or with the C++ types of `cxx` filled in.
std::string RawCandidateBuilder::type_list(const std::map<std::string, std::string>& cxx) const {
  if (kernel_.template_parameters.empty())
    return "";
  std::string list;
  for (std::size_t i = 0; i < kernel_.template_parameters.size(); ++i) {
    const TemplateParameter& parameter = kernel_.template_parameters[i];
    std::string argument = i < site_.template_arguments.size() ? site_.template_arguments[i] : "";
    const bool is_data =
        std::find(data_types_.begin(), data_types_.end(), parameter.name) != data_types_.end();
    if (is_data)
      argument = parameter.name;
    if (argument.empty() && !site_.instances.empty() && i < site_.instances.front().size())
      argument = site_.instances.front()[i]; // a function, an enumerator: known by what is instantiated
    if (argument.empty())
      argument = parameter.default_argument;
    std::map<std::string, std::string> spelled = names_;
    for (const auto& [from, to] : names_)
      if (std::find(data_types_.begin(), data_types_.end(), to) != data_types_.end())
        spelled[from] = cxx.contains(to) ? cxx.at(to) : "{" + to + "}";
    for (const std::string& type : data_types_)
      spelled[type] = "{" + type + "}";
    for (const auto& [name, text] : cxx)
      spelled[name] = text;
    argument = with_sizeof(argument);
    if (!is_type_parameter(parameter) && Expression::parse(without_sizeof(argument)).ok())
      argument = to_template_argument(argument);
    list += (i == 0 ? "" : ", ") + substitute(argument, spelled);
  }
  return "<" + list + ">";
}

const std::vector<std::string>& RawCandidateBuilder::dtypes_of(const std::string& type) const {
  if (const auto given = facts_.types.find(type); given != facts_.types.end())
    return given->second;
  if (const auto used = dtypes_in_use_.find(type); used != dtypes_in_use_.end())
    return used->second;
  const auto own = types_as_used_.find(type);
  return own != types_as_used_.end() ? own->second : usual_dtypes;
}

Status RawCandidateBuilder::choose_dtypes() {
  Candidate& candidate = result_.candidate;
  keep_classes_in_use();
  for (const std::string& type : data_types_)
    candidate.types.push_back({type, dtypes_of(type)});
  for (const auto& [name, dtypes] : facts_.types)
    if (std::find(data_types_.begin(), data_types_.end(), name) == data_types_.end())
      return usage_error("no type parameter '" + name + "' of " + kernel_.name, "");
  candidate.instance = extracted_.kernel + type_list({});
  LATHE_CHECK(leave_out_specialised());
  // A class that no element type takes the place of: trying them all would be in vain.
  if (std::ranges::any_of(data_types_, [&](const std::string& type) { return is_object_in_use(type); }) &&
      take_types_of_an_instance())
    return Done{};
  // Where nothing says which types are in use, those that compile are taken.
  for (TypeParameter& type : candidate.types) {
    if (facts_.types.contains(type.name) || dtypes_in_use_.contains(type.name))
      continue;
    auto compiling = compiling_dtypes(type);
    // The combination that the file itself instantiates, where no single type will do.
    if (!compiling.ok() && take_types_of_an_instance())
      return Done{};
    LATHE_TRY(std::vector<std::string> dtypes, std::move(compiling));
    type.dtypes = runnable_dtypes(type, std::move(dtypes));
  }
  return Done{};
}

Status RawCandidateBuilder::leave_out_specialised() {
  for (TypeParameter& type : result_.candidate.types) {
    if (!facts_.types.contains(type.name) && !dtypes_in_use_.contains(type.name))
      continue; // what compiles is asked
    std::vector<std::string> own = type.dtypes;
    std::erase_if(own, [&](const std::string& dtype) { return is_specialised(type.name, dtype); });
    if (own.empty() || (facts_.types.contains(type.name) && own != type.dtypes))
      return Error{"cannot templatize " + kernel_.name,
                   "for " + type.name + " = " + type.dtypes.front() +
                       " it is an explicit specialisation, a kernel of its own",
                   "name other types with --types, or write that kernel under a name of its own"};
    type.dtypes = std::move(own);
  }
  return Done{};
}

Result<std::vector<std::string>> RawCandidateBuilder::compiling_dtypes(const TypeParameter& type) const {
  std::vector<std::string> compiling;
  std::string first_error;
  // The other parameters that nothing is known of: data at first, then each of them an index or quantised
  // too, to integers or to real numbers of 8 bits.
  std::vector<std::string> open_types;
  for (const TypeParameter& other : result_.candidate.types)
    if (other.name != type.name && other.dtypes == usual_dtypes && !facts_.types.contains(other.name) &&
        open_types.size() < MOST_OPEN_TYPES)
      open_types.push_back(other.name);
  const std::array kinds{&usual_dtypes, &index_dtypes, &quantised_dtypes, &eight_bit_reals};
  std::vector<const std::vector<std::string>*> tried{&usual_dtypes, &wide_dtypes, &index_dtypes,
                                                     &quantised_dtypes};
  if (const auto own = types_as_used_.find(type.name); own != types_as_used_.end())
    tried.insert(tried.begin(), &own->second);
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < open_types.size(); ++i)
    combinations *= kinds.size();
  for (std::size_t combination = 0; combination < combinations && compiling.empty(); ++combination)
    for (const auto* dtypes : tried) {
      if (dtypes != tried.front() && !compiling.empty())
        break;
      std::vector<std::string> instances, of_instances;
      for (const std::string& dtype : *dtypes) {
        if (is_specialised(type.name, dtype))
          continue;
        std::map<std::string, std::string> cxx;
        for (const TypeParameter& other : result_.candidate.types)
          cxx[other.name] = dtype_cxx(other.name == type.name ? dtype : other.dtypes.front());
        std::size_t digits = combination;
        for (const std::string& open : open_types) {
          if (const auto* kind = kinds[digits % kinds.size()]; kind != kinds.front())
            cxx[open] = dtype_cxx(kind->front());
          digits /= kinds.size();
        }
        instances.push_back(extracted_.kernel + type_list(cxx));
        of_instances.push_back(dtype);
      }
      const auto compiled =
          compile_kernels(extracted_.text, instances, {standard_option(extracted_.text)}, architecture_);
      for (std::size_t i = 0; i < compiled.size(); ++i)
        if (compiled[i].ok())
          compiling.push_back(of_instances[i]);
        else if (first_error.empty())
          first_error = compiled[i].error().sentence();
      if (dtypes != tried.front() && compiling.size() > 1)
        compiling.resize(1); // of what is tried for want of others the first will do
    }
  if (compiling.empty())
    return Error{"cannot find types for " + type.name + " of " + kernel_.name,
                 "none of bf16, f16, f32, f64, i32, i64, i8 and e4m3 compiles: " + first_error,
                 "give them with --types " + type.name + "=..."};
  return compiling;
}

} // namespace lathe::refactor
