// Sizes of a launch that are what the kernel is told by another name: a variable that is computed from a
// number which is passed as well, and a member of the launcher's class that is named as what is passed.
#include "refactor/frontend/host_reader.h"
#include "tuner/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace lathe::refactor {

using namespace clang;

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

} // namespace

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
