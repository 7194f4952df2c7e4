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

bool names(const std::string& text, const std::string& name) {
  return std::ranges::count(identifiers(text), name) > 0;
}

} // namespace

// A traits<N, T> that a launcher builds from its own template parameters: T becomes an element type as a T of
// the kernel's would, a name of the kernel's namespace gets its namespace, and a number is asked for.
Status RawCandidateBuilder::close_open_names() {
  const auto complaint = [&](const std::map<std::string, std::string>& others) {
    std::map<std::string, std::string> cxx;
    for (const std::string& type : data_types_)
      cxx[type] = dtype_cxx(dtypes_of(type).front());
    for (const auto& [name, text] : others)
      cxx[name] = text;
    const auto compiled = compile_kernel(extracted_.text, extracted_.kernel + type_list(cxx),
                                         {standard_option(extracted_.text)}, architecture_);
    const std::string message = compiled.ok() ? "" : compiled.error().sentence();
    return message.find(IN_THE_INSTANCE) == std::string::npos ? "" : message;
  };
  std::vector<std::string> assumed;
  std::set<std::string> tried;
  for (;;) {
    const std::string message = complaint({});
    static const std::regex undefined(R"re(identifier "(\w+)" is undefined)re");
    std::smatch match;
    const bool is_open = std::regex_search(message, match, undefined);
    if (!is_open && !message.empty() && !assumed.empty()) {
      // Not all of them are types.
      const auto is_number = [&](const std::string& name) { return complaint({{name, "1"}}).empty(); };
      const auto number = std::ranges::find_if(assumed, is_number);
      return ask_for(number == assumed.end() ? assumed.front() : *number);
    }
    const std::string name = is_open ? match[1].str() : "";
    if (!is_open || std::ranges::none_of(site_.template_arguments,
                                         [&](const std::string& argument) { return names(argument, name); }))
      return Done{};
    if (!tried.insert(name).second)
      return ask_for(name);
    if (is_number_of_launcher(name))
      return ask_for(name);
    const std::size_t colons = extracted_.kernel.rfind("::");
    if (names(extracted_.text, name) && colons != std::string::npos) {
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

Error RawCandidateBuilder::ask_for(const std::string& name) const {
  return Error{
      "cannot tell which " + kernel_.name + " is meant",
      fmt::format("its template arguments depend on {} where it is launched ({})", name, site_.location),
      fmt::format("give it with --template-argument {}=...", name)};
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
