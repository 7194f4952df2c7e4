#include "refactor/app/raw_candidate.h"

#include "refactor/rewrite/template_argument.h"
#include "tuner/compile/compile.h"
#include "tuner/device/device.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

// Types that are tried for a type parameter when nothing says which are in use: those of inference kernels,
// and where none of them compiles, those of indices.
const std::vector<std::string> usual_dtypes{"bf16", "f16", "f32"}, index_dtypes{"i32", "i64"};

// Parameters that are tried in both kinds at once; each doubles the compiles.
constexpr std::size_t MOST_OPEN_TYPES = 3;

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) || letter == '_';
}

bool plain_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_word);
}

// CUDA's vector types as what they are vectors of: float4 -> f32.
std::string dtype_of_vector(const std::string& type) {
  static const std::map<std::string, std::string> vectors{
      {"half2", "f16"}, {"__half2", "f16"}, {"nv_bfloat162", "bf16"}, {"__nv_bfloat162", "bf16"},
      {"float", "f32"}, {"double", "f64"},  {"char", "i8"},           {"uchar", "u8"},
      {"short", "i16"}, {"ushort", "u16"},  {"int", "i32"},           {"uint", "u32"},
      {"long", "i64"},  {"ulong", "u64"},   {"longlong", "i64"},      {"ulonglong", "u64"}};
  if (type.empty() || type.back() < '1' || type.back() > '4')
    return "";
  auto found = vectors.find(type);
  if (found == vectors.end())
    found = vectors.find(type.substr(0, type.size() - 1));
  return found == vectors.end() ? "" : found->second;
}

// Replaces whole identifiers.
std::string substitute(const std::string& text, const std::map<std::string, std::string>& names) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      result += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word(text[end]))
      ++end;
    const std::string word = text.substr(i, end - i);
    const auto found = names.find(word);
    result += found == names.end() ? word : found->second;
    i = end;
  }
  return result;
}

// "16 / sizeof(T)" -> "16 / sizeof_T": C++ to the expression language.
std::string without_sizeof(const std::string& text) {
  static const std::regex pattern(R"(sizeof\s*\(\s*(\w+)\s*\))");
  return std::regex_replace(text, pattern, "sizeof_$1");
}

// The reverse, for template arguments: "16 / sizeof_T" -> "16 / sizeof(T)".
std::string with_sizeof(const std::string& text) {
  static const std::regex pattern(R"(\bsizeof_(\w+))");
  return std::regex_replace(text, pattern, "sizeof($1)");
}

// "const T" -> "T".
std::string without_qualifiers(std::string type) {
  for (const std::string prefix : {"const ", "volatile "})
    if (type.starts_with(prefix))
      type = type.substr(prefix.size());
  return type;
}

bool is_type_parameter(const TemplateParameter& parameter) {
  return parameter.type == "typename" || parameter.type == "class";
}

class Builder {
public:
  Builder(const KernelInfo& kernel, const ExtractedKernel& extracted, const WorkloadFacts& facts,
          const LaunchOverride& launch, const std::string& architecture)
      : kernel_(kernel), extracted_(extracted), facts_(facts), launch_(launch), architecture_(architecture) {}

  Result<RawCandidate> build() {
    LATHE_CHECK(choose_site());
    LATHE_CHECK(override_template_arguments());
    take_instance();
    name_types();
    LATHE_CHECK(check_template_arguments());
    LATHE_CHECK(geometry());
    LATHE_CHECK(choose_dtypes());
    LATHE_CHECK(arguments());
    LATHE_CHECK(fix_device_limits());
    collect_dimensions();
    result_.candidate.kernel = extracted_.kernel;
    LATHE_CHECK(mend_text());
    return std::move(result_);
  }

private:
  Status choose_site();
  Status override_template_arguments();
  void take_instance();
  Status check_template_arguments() const;
  Result<std::vector<std::string>> compiling_dtypes(const TypeParameter& type) const;
  bool take_types_of_an_instance();
  std::string element_of(const KernelParameter& parameter) const;
  Status mend_text();
  void name_types();
  Status geometry();
  Status choose_dtypes();
  Status arguments();
  Status fix_device_limits();
  void collect_dimensions();
  Result<Argument> scalar(const KernelParameter& parameter);
  Result<Argument> buffer(const KernelParameter& parameter);
  std::string in_kernel_terms(const std::string& host_expression) const {
    return substitute(host_expression, names_);
  }
  std::string type_list(const std::map<std::string, std::string>& cxx) const;

  const KernelInfo& kernel_;
  const ExtractedKernel& extracted_;
  const WorkloadFacts& facts_;
  const LaunchOverride& launch_;
  const std::string& architecture_;
  LaunchSite site_;
  bool has_site_ = false;
  std::map<std::string, std::string> names_; // launcher's spelling -> the specification's
  std::vector<std::string> data_types_;      // type parameters that are element types
  std::map<std::string, std::vector<std::string>> dtypes_in_use_; // of those that the launch makes concrete
  RawCandidate result_;
};

Status Builder::choose_site() {
  const bool overridden = !launch_.grid.empty() && !launch_.block.empty();
  if (launch_.site > static_cast<int>(kernel_.launches.size()))
    return usage_error(fmt::format("no launch site {} of {}", launch_.site, kernel_.name),
                       fmt::format("it has {}", kernel_.launches.size()),
                       "lathe templatize --list shows them");
  std::string why = kernel_.launches.empty() ? "nothing in this file launches it" : "";
  for (std::size_t i = 0; i < kernel_.launches.size() && !has_site_; ++i) {
    const LaunchSite& site = kernel_.launches[i];
    if (launch_.site != 0 && launch_.site != static_cast<int>(i) + 1)
      continue;
    if (site.unreadable.empty() || overridden) {
      site_ = site;
      has_site_ = true;
    } else if (why.empty()) {
      why = site.location + ": " + site.unreadable.front();
    }
  }
  if (has_site_ || overridden)
    return Done{};
  return Error{"cannot read how " + kernel_.name + " is launched", why,
               kernel_.launches.empty()
                   ? "name the file that does with --launcher, or give the launch with --grid and --block "
                     "(and --shared), "
                     "such as --grid num_tokens --block 256"
                   : "give it with --grid and --block (and --shared), such as --grid num_tokens --block 256"};
}

Status Builder::override_template_arguments() {
  site_.template_arguments.resize(
      std::max(site_.template_arguments.size(), kernel_.template_parameters.size()));
  for (const auto& [name, value] : launch_.template_arguments) {
    // A name of the launcher's: what it stands for in the arguments that mention it.
    bool is_mentioned = false;
    for (std::string& argument : site_.template_arguments) {
      std::string with_value = substitute(argument, {{name, "(" + value + ")"}});
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
void Builder::take_instance() {
  const auto parameters = kernel_.template_parameters.size();
  const auto complete = std::ranges::find_if(
      site_.instances, [&](const std::vector<std::string>& list) { return list.size() == parameters; });
  if (complete == site_.instances.end())
    return;
  for (std::size_t i = 0; i < parameters; ++i) {
    const TemplateParameter& parameter = kernel_.template_parameters[i];
    std::string& argument = site_.template_arguments[i];
    const bool is_switch = parameter.type == "bool" || parameter.type == "const bool";
    const bool is_literal = argument == "true" || argument == "false";
    if (is_type_parameter(parameter) || launch_.template_arguments.contains(parameter.name) || is_literal ||
        !plain_word(argument) || (!is_switch && !dtype_of_type(parameter.type).empty()))
      continue;
    result_.assumptions.push_back(
        fmt::format("{} = {}, as in the first of {} instances (say otherwise with --template-argument)",
                    parameter.name, (*complete)[i], site_.instances.size()));
    argument = (*complete)[i];
  }
}

// A number that the launcher computes from the problem's size, or takes as a template parameter of its own,
// leaves the instance open.
Status Builder::check_template_arguments() const {
  for (std::size_t i = 0; i < kernel_.template_parameters.size(); ++i) {
    const TemplateParameter& parameter = kernel_.template_parameters[i];
    if (is_type_parameter(parameter) || site_.template_arguments[i].empty())
      continue;
    const auto value = Expression::parse(in_kernel_terms(without_sizeof(site_.template_arguments[i])));
    if (!value)
      continue; // a function, an enumerator, C++ that only the compiler reads
    const auto& names = value->names();
    const auto open = std::ranges::find_if(names, [&](const std::string& name) {
      return !name.starts_with("sizeof_") && extracted_.text.find(name) == std::string::npos;
    });
    const bool is_parameters_size = std::ranges::any_of(names, [&](const std::string& name) {
      return std::ranges::any_of(kernel_.parameters,
                                 [&](const KernelParameter& p) { return p.name == name; });
    });
    if (open != names.end() || is_parameters_size)
      return Error{
          "cannot tell which " + kernel_.name + " is meant",
          fmt::format("its template argument {} is '{}' where it is launched ({}), which depends on {}",
                      parameter.name, site_.template_arguments[i], site_.location,
                      open != names.end() ? *open : "the problem's size"),
          fmt::format("give it with --template-argument {}=..., a number or such as 16 / sizeof_T",
                      parameter.name)};
  }
  return Done{};
}

void Builder::name_types() {
  for (std::size_t i = 0; i < kernel_.template_parameters.size(); ++i) {
    const TemplateParameter& parameter = kernel_.template_parameters[i];
    const std::string argument = i < site_.template_arguments.size() ? site_.template_arguments[i] : "";
    if (const std::string dtype = dtype_of_type(argument); is_type_parameter(parameter) && !dtype.empty()) {
      // A concrete element type: the parameter stands for it, in the other arguments too (gelu<__half>).
      data_types_.push_back(parameter.name);
      dtypes_in_use_[parameter.name] = {dtype};
      if (plain_word(argument) && !names_.contains(argument))
        names_[argument] = parameter.name;
    } else if (is_type_parameter(parameter)) {
      const bool plain = plain_word(argument);
      // A launcher's own type parameter, or none known: an element type to be bound. Anything else is kept as
      // written.
      if (argument.empty() || (plain && dtype_of_vector(argument).empty())) {
        data_types_.push_back(parameter.name);
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

Status Builder::geometry() {
  const auto triple = [&](const std::string& given, const std::array<std::string, 3>& read,
                          std::array<Expression, 3>& into) -> Status {
    std::array<std::string, 3> texts = read;
    if (!given.empty()) {
      texts = {"1", "1", "1"};
      std::size_t axis = 0, depth = 0, begin = 0;
      for (std::size_t i = 0; i <= given.size(); ++i) {
        if (i < given.size() && (given[i] == '(' || given[i] == ')'))
          depth += given[i] == '(' ? 1 : -1;
        if (i != given.size() && (given[i] != ',' || depth != 0))
          continue;
        if (axis == 3)
          return usage_error("cannot use '" + given + "'", "a launch has at most three axes");
        texts[axis++] = given.substr(begin, i - begin);
        begin = i + 1;
      }
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      LATHE_TRY(into[axis], Expression::parse(in_kernel_terms(texts[axis])));
    }
    return Done{};
  };
  LaunchGeometry& launch = result_.candidate.launch;
  LATHE_CHECK(triple(launch_.grid, site_.grid, launch.grid));
  LATHE_CHECK(triple(launch_.block, site_.block, launch.block));
  LATHE_TRY(launch.shared_bytes,
            Expression::parse(in_kernel_terms(launch_.shared.empty() ? site_.shared_bytes : launch_.shared)));
  return Done{};
}

// The template argument list with {T} for element types, or with the C++ types of `cxx` filled in.
std::string Builder::type_list(const std::map<std::string, std::string>& cxx) const {
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
      spelled[type] = cxx.contains(type) ? cxx.at(type) : "{" + type + "}";
    argument = with_sizeof(argument);
    if (!is_type_parameter(parameter) && Expression::parse(without_sizeof(argument)).ok())
      argument = to_template_argument(argument);
    list += (i == 0 ? "" : ", ") + substitute(argument, spelled);
  }
  return "<" + list + ">";
}

Status Builder::choose_dtypes() {
  Candidate& candidate = result_.candidate;
  for (const std::string& type : data_types_) {
    const auto given = facts_.types.find(type);
    const auto used = dtypes_in_use_.find(type);
    candidate.types.push_back({type, given != facts_.types.end()    ? given->second
                                     : used != dtypes_in_use_.end() ? used->second
                                                                    : usual_dtypes});
  }
  for (const auto& [name, dtypes] : facts_.types)
    if (std::find(data_types_.begin(), data_types_.end(), name) == data_types_.end())
      return usage_error("no type parameter '" + name + "' of " + kernel_.name, "");
  candidate.instance = extracted_.kernel + type_list({});
  // Where nothing says which types are in use, those that compile are taken.
  for (TypeParameter& type : candidate.types) {
    if (facts_.types.contains(type.name) || dtypes_in_use_.contains(type.name))
      continue;
    auto compiling = compiling_dtypes(type);
    // The combination that the file itself instantiates, where no single type will do.
    if (!compiling.ok() && take_types_of_an_instance())
      return Done{};
    LATHE_TRY(type.dtypes, std::move(compiling));
  }
  return Done{};
}

// The types of the first of the file's instances that compiles: element types where they are that, and the
// others (a functor, half2) as they are written there.
bool Builder::take_types_of_an_instance() {
  const std::size_t parameters = kernel_.template_parameters.size();
  for (const std::vector<std::string>& instance : site_.instances) {
    if (instance.size() != parameters)
      continue;
    const LaunchSite before = site_;
    const std::vector<std::string> data_types = data_types_;
    std::map<std::string, std::string> dtypes, cxx;
    for (std::size_t i = 0; i < parameters; ++i) {
      const TemplateParameter& parameter = kernel_.template_parameters[i];
      if (std::ranges::find(data_types, parameter.name) == data_types.end())
        continue;
      const std::string dtype = dtype_of_type(instance[i]);
      if (!dtype.empty()) {
        dtypes[parameter.name] = dtype;
        cxx[parameter.name] = dtype_cxx(dtype);
      } else {
        site_.template_arguments[i] = instance[i];
        std::erase(data_types_, parameter.name);
      }
    }
    const std::string list = type_list(cxx);
    if (compile_kernel(extracted_.text, extracted_.kernel + list, {"-std=c++17"}, architecture_).ok()) {
      std::erase_if(result_.candidate.types,
                    [&](const TypeParameter& type) { return !dtypes.contains(type.name); });
      for (TypeParameter& type : result_.candidate.types)
        type.dtypes = {dtypes[type.name]};
      result_.candidate.instance = extracted_.kernel + type_list({});
      result_.assumptions.push_back(
          fmt::format("types as in {}, which the file instantiates (say otherwise with --types)", list));
      return true;
    }
    site_ = before;
    data_types_ = data_types;
  }
  return false;
}

Result<std::vector<std::string>> Builder::compiling_dtypes(const TypeParameter& type) const {
  std::vector<std::string> compiling;
  std::string first_error;
  // The other parameters that nothing is known of: data at first, then each of them an index too.
  std::vector<std::string> open_types;
  for (const TypeParameter& other : result_.candidate.types)
    if (other.name != type.name && other.dtypes == usual_dtypes && !facts_.types.contains(other.name) &&
        open_types.size() < MOST_OPEN_TYPES)
      open_types.push_back(other.name);
  for (unsigned indices = 0; indices < 1u << open_types.size() && compiling.empty(); ++indices)
    for (const auto* dtypes : {&usual_dtypes, &index_dtypes})
      for (const std::string& dtype : *dtypes) {
        if (dtypes == &index_dtypes && !compiling.empty())
          break;
        std::map<std::string, std::string> cxx;
        for (const TypeParameter& other : result_.candidate.types)
          cxx[other.name] = dtype_cxx(other.name == type.name ? dtype : other.dtypes.front());
        for (std::size_t i = 0; i < open_types.size(); ++i)
          if (indices >> i & 1)
            cxx[open_types[i]] = dtype_cxx(index_dtypes.front());
        const auto compiled = compile_kernel(extracted_.text, extracted_.kernel + type_list(cxx),
                                             {"-std=c++17"}, architecture_);
        if (compiled.ok())
          compiling.push_back(dtype);
        else if (first_error.empty())
          first_error = compiled.error().sentence();
      }
  static const std::regex undefined(R"re(identifier "(\w+)" is undefined)re");
  std::smatch open;
  if (compiling.empty() && std::regex_search(first_error, open, undefined) &&
      std::ranges::any_of(site_.template_arguments, [&](const std::string& argument) {
        return substitute(argument, {{open[1].str(), ""}}) != argument;
      }))
    return Error{"cannot tell which " + kernel_.name + " is meant",
                 fmt::format("its template arguments depend on {} where it is launched ({})", open[1].str(),
                             site_.location),
                 fmt::format("give it with --template-argument {}=...", open[1].str())};
  if (compiling.empty())
    return Error{"cannot find types for " + type.name + " of " + kernel_.name,
                 "none of bf16, f16, f32, i32 and i64 compiles: " + first_error,
                 "give them with --types " + type.name + "=..."};
  return compiling;
}

// Everything behind this reads the kernel with Clang too: the host executor, the rules, the guard.
Status Builder::mend_text() {
  std::map<std::string, std::string> cxx;
  for (const TypeParameter& type : result_.candidate.types)
    cxx[type.name] = dtype_cxx(type.dtypes.front());
  ParseOptions options;
  options.architecture = architecture_;
  LATHE_TRY(result_.candidate.text,
            mended_text(extracted_.text, extracted_.kernel + type_list(cxx), options));
  return Done{};
}

Result<Argument> Builder::scalar(const KernelParameter& parameter) {
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
    return Error{"cannot tune " + kernel_.name,
                 "parameter '" + parameter.name + "' of type " + parameter.type +
                     " is neither a pointer nor a number",
                 "pass its members as parameters of their own"};
  const auto given = facts_.arguments.find(parameter.name);
  if (given != facts_.arguments.end() && given->second.value) {
    LATHE_TRY(argument.value, Expression::parse(*given->second.value));
    return argument;
  }
  if (argument.dtype == "bool") { // a switch, not a size
    argument.value = Expression(Value{std::int64_t{1}});
    result_.assumptions.push_back(
        fmt::format("{0} = true (say otherwise with --argument {0}=0)", parameter.name));
    return argument;
  }
  const auto passed = site_.arguments.find(parameter.name);
  const std::string text = passed == site_.arguments.end() ? "" : in_kernel_terms(passed->second);
  // A size in place of an enumerator would be none of them.
  const auto passed_number = Expression::parse(text);
  if (parameter.is_enumeration && (!passed_number.ok() || !passed_number->names().empty())) {
    argument.value = Expression(Value{std::int64_t{0}});
    result_.assumptions.push_back(
        fmt::format("{0} = 0 (say otherwise with --argument {0}=VALUE)", parameter.name));
    return argument;
  }
  if (parameter.is_integer) {
    auto parsed = Expression::parse(text.empty() ? parameter.name : text);
    if (!parsed.ok())
      parsed = Expression::parse(parameter.name);
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
  argument.value = Expression(Value{is_epsilon ? 1e-6 : 1.0});
  result_.assumptions.push_back(fmt::format("{} = {} (say otherwise with --argument {}=VALUE)",
                                            parameter.name, is_epsilon ? "1e-6" : "1.0", parameter.name));
  return argument;
}

// What a pointer points to; of a template parameter that is bound to a type of its own, that type.
std::string Builder::element_of(const KernelParameter& parameter) const {
  for (std::size_t i = 0; i < kernel_.template_parameters.size(); ++i)
    if (kernel_.template_parameters[i].name == parameter.element && i < site_.template_arguments.size() &&
        !site_.template_arguments[i].empty() &&
        std::ranges::find(data_types_, parameter.element) == data_types_.end())
      return site_.template_arguments[i];
  return parameter.element;
}

Result<Argument> Builder::buffer(const KernelParameter& parameter) {
  Argument argument;
  const std::string element = element_of(parameter);
  argument.name = parameter.name;
  argument.direction = parameter.is_const_pointee ? Direction::in : Direction::inout;
  const bool is_data = std::find(data_types_.begin(), data_types_.end(), element) != data_types_.end();
  argument.dtype = is_data ? element : dtype_of_type(element);
  if (argument.dtype.empty())
    argument.dtype = dtype_of_vector(element);
  if (argument.dtype.empty())
    argument.dtype = dtype_of_type(parameter.element_number);
  // Memory without a type, and structures of several kinds of numbers, are bytes.
  if (argument.dtype.empty() && (element == "void" || parameter.is_plain_structure))
    argument.dtype = "u8";
  if (argument.dtype.empty())
    return Error{"cannot tune " + kernel_.name,
                 "parameter '" + parameter.name + "' points to " + parameter.element + ", which has no dtype",
                 "see docs/specification.md for the element types"};
  const auto bound = std::ranges::find(result_.candidate.types, argument.dtype, &TypeParameter::name);
  const bool is_index = bound != result_.candidate.types.end() &&
                        std::ranges::none_of(bound->dtypes, [](const std::string& dtype) {
                          return dtype[0] == 'f' || dtype[0] == 'b' || dtype[0] == 'e';
                        });
  const bool is_real = (is_data && !is_index) || argument.dtype[0] == 'f' || argument.dtype[0] == 'b' ||
                       argument.dtype[0] == 'e';
  if (!is_real)
    argument.fill.kind = Fill::Kind::zero;             // indices: any other content could point outside
  argument.count = Expression(Value{std::int64_t{0}}); // inferred by a traced run unless given
  const auto given = facts_.arguments.find(parameter.name);
  if (given != facts_.arguments.end()) {
    if (given->second.count) {
      LATHE_TRY(argument.count, Expression::parse(*given->second.count));
    }
    argument.direction = given->second.direction.value_or(argument.direction);
    argument.fill = given->second.fill.value_or(argument.fill);
  }
  return argument;
}

Status Builder::arguments() {
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

// A launch may ask for the device's limits, a scalar that the kernel is given may not: where one follows from
// the number of multiprocessors, so does the grid, and both are taken from the architecture's usual device.
Status Builder::fix_device_limits() {
  const auto asks = [](const Expression& expression) {
    return std::ranges::any_of(expression.names(),
                               [](const std::string& name) { return name.starts_with("device."); });
  };
  Candidate& candidate = result_.candidate;
  if (std::ranges::none_of(candidate.arguments, [&](const Argument& argument) {
        return !argument.is_buffer && asks(argument.value);
      }))
    return Done{};
  LATHE_TRY(const DeviceInfo device, known_device(architecture_));
  std::map<std::string, std::string> limits;
  for (const auto& [name, value] : device.limits())
    limits[name] = lathe::to_string(value);
  static const std::regex asked(R"(device\.\w+)");
  std::set<std::string> used;
  const auto fix = [&](Expression& expression) -> Status {
    std::string fixed;
    const std::string text = expression.text();
    std::size_t end = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), asked), none; at != none; ++at) {
      const auto found = limits.find(at->str());
      if (found == limits.end())
        continue;
      fixed += text.substr(end, static_cast<std::size_t>(at->position()) - end) + found->second;
      end = static_cast<std::size_t>(at->position() + at->length());
      used.insert(found->first + " = " + found->second);
    }
    LATHE_TRY(expression, Expression::parse(fixed + text.substr(end)));
    return Done{};
  };
  for (auto* axes : {&candidate.launch.grid, &candidate.launch.block})
    for (Expression& expression : *axes)
      LATHE_CHECK(fix(expression));
  LATHE_CHECK(fix(candidate.launch.shared_bytes));
  for (Argument& argument : candidate.arguments)
    if (!argument.is_buffer)
      LATHE_CHECK(fix(argument.value));
  for (const std::string& limit : used)
    result_.assumptions.push_back(limit + ", as on " + device.name +
                                  ": a number that the kernel is given depends on it");
  return Done{};
}

// Every name that the geometry and the scalars leave open.
void Builder::collect_dimensions() {
  Candidate& candidate = result_.candidate;
  std::vector<std::string>& dimensions = candidate.dimensions;
  const auto add = [&](const Expression& expression) {
    for (const std::string& name : expression.names())
      if (!name.starts_with("sizeof_") && !name.starts_with("device.") &&
          std::find(dimensions.begin(), dimensions.end(), name) == dimensions.end())
        dimensions.push_back(name);
  };
  for (const Expression& expression : candidate.launch.grid)
    add(expression);
  for (const Argument& argument : candidate.arguments) {
    if (!argument.is_buffer)
      add(argument.value);
    else
      add(argument.count);
  }
  for (const Expression& expression : candidate.launch.block)
    add(expression);
  add(candidate.launch.shared_bytes);
}

} // namespace

Result<RawCandidate> make_raw_candidate(const KernelInfo& kernel, const ExtractedKernel& extracted,
                                        const WorkloadFacts& facts, const LaunchOverride& launch,
                                        const std::string& architecture) {
  return Builder(kernel, extracted, facts, launch, architecture).build();
}

std::string dtype_of_type(std::string type) {
  static const std::map<std::string, std::string> known{{"float", "f32"},
                                                        {"double", "f64"},
                                                        {"half", "f16"},
                                                        {"__half", "f16"},
                                                        {"nv_half", "f16"},
                                                        {"__nv_bfloat16", "bf16"},
                                                        {"nv_bfloat16", "bf16"},
                                                        {"__nv_fp8_e4m3", "e4m3"},
                                                        {"__nv_fp8_e5m2", "e5m2"},
                                                        {"__nv_fp8_storage_t", "u8"},
                                                        {"at::Half", "f16"},
                                                        {"c10::Half", "f16"},
                                                        {"at::BFloat16", "bf16"},
                                                        {"c10::BFloat16", "bf16"},
                                                        {"bool", "bool"},
                                                        {"char", "i8"},
                                                        {"signed char", "i8"},
                                                        {"int8_t", "i8"},
                                                        {"unsigned char", "u8"},
                                                        {"uint8_t", "u8"},
                                                        {"short", "i16"},
                                                        {"int16_t", "i16"},
                                                        {"unsigned short", "u16"},
                                                        {"uint16_t", "u16"},
                                                        {"int", "i32"},
                                                        {"int32_t", "i32"},
                                                        {"unsigned", "u32"},
                                                        {"unsigned int", "u32"},
                                                        {"uint", "u32"},
                                                        {"uint32_t", "u32"},
                                                        {"long", "i64"},
                                                        {"long long", "i64"},
                                                        {"int64_t", "i64"},
                                                        {"unsigned long", "u64"},
                                                        {"unsigned long long", "u64"},
                                                        {"uint64_t", "u64"},
                                                        {"size_t", "u64"},
                                                        {"ptrdiff_t", "i64"},
                                                        {"intptr_t", "i64"},
                                                        {"uintptr_t", "u64"}};
  type = without_qualifiers(std::move(type));
  if (type.starts_with("std::"))
    type = type.substr(5);
  while (!type.empty() && type.back() == ' ')
    type.pop_back();
  const auto found = known.find(type);
  return found == known.end() ? "" : found->second;
}

} // namespace lathe::refactor
