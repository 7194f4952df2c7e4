// Sizes of a launch that are what the kernel is told by another name: a variable that is computed from a
// number which is passed as well, a member of an object that is passed whole, and a member of the launcher's
// class that is named as what is passed.
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"
#include "tuner/base/text.h"

#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

bool names(const std::vector<std::string>& texts, const std::string& name) {
  return std::ranges::any_of(
      texts, [&](const std::string& text) { return std::ranges::count(identifiers(text), name) > 0; });
}

std::string in_parentheses(const std::string& text) {
  return std::ranges::all_of(text, is_word) ? text : "(" + text + ")";
}

std::string with(const std::string& text, const std::string& name, const std::string& value) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && (is_word(text[end]) || text[end] == '.')) // device.multiprocessors
      ++end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    const std::string word = text.substr(at, end - at);
    result += word == name ? value : word;
    at = end;
  }
  return result;
}

// num_data of num_data_, _num_data and m_num_data; nothing of a name without such an ornament.
std::optional<std::string> without_ornament(const std::string& member) {
  std::string name = member;
  if (name.starts_with("m_"))
    name = name.substr(2);
  while (name.starts_with('_'))
    name = name.substr(1);
  while (name.ends_with('_'))
    name.pop_back();
  return name.empty() || name == member ? std::nullopt : std::optional(name);
}

// A member of the launcher's own class, by what was asked for it.
std::optional<std::string> own_member(const std::string& key) {
  if (!key.starts_with('.') || !std::ranges::all_of(key.substr(1), is_word))
    return std::nullopt;
  return key.substr(1);
}

// The class of an object, its template's own text where it is an instance that depends on others.
const CXXRecordDecl* class_of(QualType type) {
  if (const CXXRecordDecl* record = type->getAsCXXRecordDecl())
    return record->getDefinition();
  const auto* specialised = type->getAs<TemplateSpecializationType>();
  const auto* described =
      specialised ? dyn_cast_or_null<ClassTemplateDecl>(specialised->getTemplateName().getAsTemplateDecl())
                  : nullptr;
  return described ? described->getTemplatedDecl()->getDefinition() : nullptr;
}

struct NumberInObject {
  std::string path;      // "p.dims.x", as the kernel names it
  std::string key, name; // by which the launcher asks for it, and what it is called then
};

// The integers in an object that the launcher calls `object` and the kernel `path`.
std::vector<NumberInObject> numbers_in(QualType type, const std::string& object, const std::string& path) {
  constexpr int DEEPEST = 4;
  struct Part {
    QualType type;
    std::string object, path;
    int depth;
  };
  std::vector<NumberInObject> found;
  std::vector<Part> left{{type, object, path, 0}};
  while (!left.empty()) {
    const Part part = left.back();
    left.pop_back();
    const CXXRecordDecl* record = class_of(part.type);
    if (!record || part.depth > DEEPEST)
      continue;
    for (const CXXBaseSpecifier& base : record->bases())
      left.push_back({base.getType(), part.object, part.path, part.depth + 1});
    for (const FieldDecl* field : record->fields()) {
      const std::string name = field->getNameAsString();
      if (name.empty())
        continue;
      const std::string called = part.object + "_" + name, own = part.path + "." + name;
      if (field->getType()->isDependentType() || is_integer(field->getType()))
        found.push_back({own, part.object + "." + name, called});
      left.push_back({field->getType(), called, own, part.depth + 1});
    }
  }
  return found;
}

} // namespace

// What the launcher has asked of an object is what the kernel finds in its copy of it: a member that is set
// in between is known by what it was set to. A function that is not read and may change the object is taken
// to leave it, as it is wherever a member is asked for twice.
std::vector<std::string> HostReader::told_in_object(const ParmVarDecl& parameter, const HostValue& argument,
                                                    LaunchSite& site) {
  std::vector<std::string> told;
  if ((argument.kind != HostValue::Kind::unknown && argument.kind != HostValue::Kind::structure) ||
      argument.text.empty() || parameter.getType()->isAnyPointerType())
    return told;
  std::set<std::string> computed_from; // keys that are asked for in the launch's sizes
  const auto collect = [&](const std::string& size) {
    for (const std::string& name : identifiers(size))
      if (const auto computed = computed_.find(name); computed != computed_.end())
        for (const auto& [asked, key] : computed->second.asked)
          computed_from.insert(key);
  };
  for (const auto* sides : {&site.grid, &site.block})
    std::ranges::for_each(*sides, collect);
  collect(site.shared_bytes);
  for (const NumberInObject& number :
       numbers_in(parameter.getType().getNonReferenceType(), argument.text, parameter.getNameAsString())) {
    if (site.arguments.contains(number.path) ||
        (!queries_.contains(number.key) && !computed_from.contains(number.key)))
      continue;
    told.push_back(query(number.key, number.name).text);
    site.arguments[number.path] = told.back();
  }
  return told;
}

// The number that the kernel is told and that was asked for by `key`, as an expression.
std::optional<std::string> HostReader::told_as(const std::string& key, const LaunchSite& site,
                                               const std::vector<std::string>& told,
                                               std::vector<std::string>& assumed) const {
  if (const auto known = queries_.find(key); known != queries_.end() && names(told, known->second))
    return known->second;
  const auto member = own_member(key);
  const auto name = member ? without_ornament(*member) : std::nullopt;
  if (!name)
    return std::nullopt;
  for (const auto& [parameter, passed] : site.arguments)
    if ((passed == *name || parameter == *name) && std::ranges::count(told, passed) > 0) {
      assumed.push_back(fmt::format("{} of the launcher's class is {}, which the kernel is told as {}",
                                    *member, passed, parameter));
      return passed;
    }
  return std::nullopt;
}

void HostReader::tie_to_arguments(LaunchSite& site, const std::vector<std::string>& told) const {
  const auto tie = [&](std::string& size) {
    for (const std::string& name : identifiers(size)) {
      if (names(told, name))
        continue;
      Computed whole{name, {}};
      if (const auto computed = computed_.find(name); computed != computed_.end())
        whole = computed->second;
      for (const auto& [key, asked] : queries_)
        if (asked == name)
          whole.asked[name] = key;
      std::string text = whole.text;
      std::vector<std::string> assumed;
      bool is_tied = !whole.asked.empty();
      for (const auto& [asked, key] : whole.asked) {
        const auto passed = told_as(key, site, told, assumed);
        is_tied &= passed.has_value();
        text = with(text, asked, in_parentheses(passed.value_or("")));
      }
      const auto parsed = Expression::parse(size == name ? text : with(size, name, in_parentheses(text)));
      if (!is_tied || !parsed.ok())
        continue;
      size = parsed->text();
      for (const std::string& sentence : assumed)
        if (std::ranges::count(site.assumed, sentence) == 0)
          site.assumed.push_back(sentence);
    }
  };
  for (auto* sides : {&site.grid, &site.block})
    std::ranges::for_each(*sides, tie);
  tie(site.shared_bytes);
}

} // namespace lathe::refactor
