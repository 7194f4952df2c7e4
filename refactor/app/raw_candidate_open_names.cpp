// What template arguments bind a kernel's parameters to: names that mean something to the launcher only,
// objects, types with a specialisation of their own.
#include "refactor/app/raw_candidate_builder.h"
#include "refactor/frontend/standard.h"
#include "tuner/base/text.h"
#include "tuner/compile/compile.h"

#include <algorithm>
#include <fmt/format.h>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

// Where NVRTC reads the instance that was asked for; other messages are about the text.
constexpr const char* IN_THE_INSTANCE = "__nv_name_map";

} // namespace

bool names(const std::string& text, const std::string& name) {
  return std::ranges::count(identifiers(text), name) > 0;
}

// What the compiler says against the instance with these values for names, in its own text or behind it.
std::string RawCandidateBuilder::complaint(const std::map<std::string, std::string>& values) const {
  std::map<std::string, std::string> cxx;
  for (const std::string& type : data_types_)
    cxx[type] = dtype_cxx(dtypes_of(type).front());
  for (const auto& [name, text] : values)
    cxx[name] = text;
  const auto compiled = compile_kernel(extracted_.text, extracted_.kernel + type_list(cxx),
                                       {standard_option(extracted_.text)}, architecture_);
  return compiled.ok() ? "" : compiled.error().sentence();
}

// A traits<N, T> that a launcher builds from its own template parameters: T becomes an element type as a T of
// the kernel's would, a name of the kernel's namespace gets its namespace, and a number is asked for.
void RawCandidateBuilder::close_open_names() {
  // Numbers that are asked for stand as ones until all of them are known.
  const auto complaint_with = [&](const std::string& number) {
    std::map<std::string, std::string> values;
    for (const Question& question : questions_)
      values[question.name] = "1";
    if (!number.empty())
      values[number] = "1";
    const std::string message = complaint(values);
    return message.find(IN_THE_INSTANCE) == std::string::npos ? "" : message;
  };
  std::vector<std::string> assumed;
  std::set<std::string> tried;
  // Names that were given a namespace, in that order, and the arguments before.
  std::vector<std::pair<std::string, std::vector<std::string>>> qualified;
  const auto ask = [&](const std::string& name) {
    std::erase(assumed, name);
    std::erase(data_types_, name);
    questions_.push_back({name, name, ""});
  };
  for (;;) {
    const std::string message = complaint_with("");
    static const std::regex undefined(R"re(identifier "(\w+)" is undefined)re"),
        no_member(R"re(has no member "(\w+)")re");
    std::smatch match;
    // The kernel has a variable of the name, and its namespace nothing.
    if (std::regex_search(message, match, no_member)) {
      const auto wrong = std::ranges::find(qualified, match[1].str(),
                                           &std::pair<std::string, std::vector<std::string>>::first);
      if (wrong != qualified.end()) {
        site_.template_arguments = wrong->second;
        ask(wrong->first);
        for (auto later = wrong + 1; later != qualified.end(); ++later)
          tried.erase(later->first); // whose namespace is gone with the older arguments
        qualified.erase(wrong, qualified.end());
        continue;
      }
    }
    const bool is_open = std::regex_search(message, match, undefined);
    if (!is_open && !message.empty() && !assumed.empty()) {
      // Not all of them are types. What is a number leaves nothing to complain of, or else the next open
      // name.
      const auto number = std::ranges::find_if(assumed, [&](const std::string& name) {
        const std::string left = complaint_with(name);
        return left.empty() || std::regex_search(left, undefined);
      });
      const std::string asked =
          number == assumed.end() ? assumed.front() : *number; // not to be erased under ask
      ask(asked);
      continue;
    }
    const std::string name = is_open ? match[1].str() : "";
    if (!is_open || std::ranges::find(questions_, name, &Question::name) != questions_.end() ||
        std::ranges::none_of(site_.template_arguments,
                             [&](const std::string& argument) { return names(argument, name); }))
      return;
    const std::size_t colons = extracted_.kernel.rfind("::");
    if (is_number_of_launcher(name) || !tried.insert(name).second) {
      ask(name);
    } else if (names(extracted_.text, name) && colons != std::string::npos) {
      qualified.emplace_back(name, site_.template_arguments);
      for (std::string& argument : site_.template_arguments)
        argument = substitute(argument, {{name, extracted_.kernel.substr(0, colons + 2) + name}});
    } else {
      data_types_.push_back(name);
      assumed.push_back(name);
    }
  }
}

// Whether it is handed on, alone, as a parameter that is no type.
bool RawCandidateBuilder::is_number_of_launcher(const std::string& name) const {
  for (std::size_t i = 0; i < kernel_.template_parameters.size() && i < site_.template_arguments.size();
       ++i) {
    const std::string& type = kernel_.template_parameters[i].type;
    if ((site_.template_arguments[i] == name || site_.template_arguments[i] == "(" + name + ")") &&
        type != "typename" && type != "class" && type.find("template") == std::string::npos)
      return true;
  }
  return false;
}

// What a type is that the launch names no argument for, though for others: what it leaves to the default, or
// what all instances deduce from what the kernel is given. Empty where that is not known.
std::string RawCandidateBuilder::type_left_out(std::size_t parameter) const {
  const TemplateParameter& own = kernel_.template_parameters[parameter];
  const bool is_deduced = std::ranges::any_of(
      kernel_.parameters, [&](const KernelParameter& given) { return names(given.type, own.name); });
  if (!is_deduced)
    return own.default_argument;
  const auto& instances = site_.instances;
  if (site_.template_arguments.front().empty() || instances.empty() ||
      instances.front().size() != kernel_.template_parameters.size())
    return "";
  const std::string& type = instances.front()[parameter];
  const bool is_same = std::ranges::all_of(instances, [&](const std::vector<std::string>& instance) {
    return parameter < instance.size() && instance[parameter] == type;
  });
  return is_same && !dtype_of_type(type).empty() ? type : "";
}

// Whether the kernel's own text defines a class of that name: a layout, a functor.
bool RawCandidateBuilder::is_class_of_text(const std::string& name) const {
  return std::regex_search(extracted_.text,
                           std::regex(R"(\b(struct|class)\s+)" + name + R"(\s*(final\s*)?[:{])"));
}

// Of real types more are tried than a file instantiates. What is an integer in all of its instances is an
// index or a count, and what has 8 bits is what values are quantised to: it compiles as another number too,
// and is none.
std::vector<std::string> RawCandidateBuilder::types_as_used(std::size_t parameter) const {
  std::vector<std::string> dtypes;
  for (const std::vector<std::string>& instance : site_.instances) {
    const std::string dtype = parameter < instance.size() ? dtype_of_type(instance[parameter]) : "";
    if (!dtype.starts_with('i') && !dtype.starts_with('u') && !is_eight_bit_real(dtype))
      return {};
    if (std::ranges::find(dtypes, dtype) == dtypes.end())
      dtypes.push_back(dtype);
  }
  return dtypes;
}

// Whether all instances of the file bind the parameter to a class that is no number: a functor, a structure.
bool RawCandidateBuilder::is_object_in_use(const std::string& type) const {
  const auto index = static_cast<std::size_t>(
      std::ranges::find(kernel_.template_parameters, type, &TemplateParameter::name) -
      kernel_.template_parameters.begin());
  return !site_.instances.empty() && !facts_.types.contains(type) && !dtypes_in_use_.contains(type) &&
         std::ranges::all_of(site_.instances, [&](const std::vector<std::string>& instance) {
           return index < instance.size() && dtype_of_type(instance[index]).empty() &&
                  dtype_of_vector(instance[index]).empty();
         });
}

// Whether the kernel for that type is an explicit specialisation: another kernel, which is not extracted.
bool RawCandidateBuilder::is_specialised(const std::string& type, const std::string& dtype) const {
  const auto index = static_cast<std::size_t>(
      std::ranges::find(kernel_.template_parameters, type, &TemplateParameter::name) -
      kernel_.template_parameters.begin());
  return std::ranges::any_of(kernel_.specialised, [&](const std::vector<std::string>& arguments) {
    return index < arguments.size() && dtype_of_type(arguments[index]) == dtype;
  });
}

} // namespace lathe::refactor
