#include "refactor/app/divided_sizes.h"

#include <algorithm>
#include <map>
#include <regex>

namespace lathe::refactor {

std::vector<DividedSize> divided_sizes(const Candidate& raw) {
  std::map<std::string, std::string> dimension_of; // by parameter
  for (const Argument& argument : raw.arguments)
    if (!argument.is_buffer &&
        std::ranges::find(raw.dimensions, argument.value.text()) != raw.dimensions.end())
      dimension_of[argument.name] = argument.value.text();
  if (dimension_of.size() < 2)
    return {};
  std::vector<DividedSize> divided;
  // Names alone: no members, calls or elements.
  static const std::regex quotient(R"((^|[^\w.>])([A-Za-z_]\w*)\s*/\s*([A-Za-z_]\w*)\b(?!\s*[(\[.]))");
  for (std::sregex_iterator at(raw.text.begin(), raw.text.end(), quotient), none; at != none; ++at) {
    const auto whole = dimension_of.find((*at)[2]), parts = dimension_of.find((*at)[3]);
    if (whole == dimension_of.end() || parts == dimension_of.end() || whole->second == parts->second)
      continue;
    if (std::ranges::none_of(divided, [&](const DividedSize& known) {
          return known.whole == whole->second && known.parts == parts->second;
        }))
      divided.push_back({whole->second, parts->second});
  }
  return divided;
}

void keep_parts(const std::vector<DividedSize>& divided, const Dimensions& base, std::int64_t length,
                Dimensions& sizes) {
  for (const DividedSize& one : divided) {
    const auto whole = sizes.find(one.whole), parts = sizes.find(one.parts);
    if (whole == sizes.end() || parts == sizes.end() || !base.contains(one.whole) ||
        !base.contains(one.parts) || base.at(one.parts) <= 0)
      continue;
    const std::int64_t least = std::min(length, base.at(one.whole) / base.at(one.parts));
    whole->second = std::max(whole->second, least * parts->second);
  }
}

} // namespace lathe::refactor
