#include "refactor/app/kernel_choice.h"

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {
namespace {

class Finder {
public:
  Finder(const KernelInfo& first, const KernelInfo& second) : first_(first), second_(second) {}

  Result<KernelChoice> find() const {
    LATHE_CHECK(compare_parameters());
    for (const KernelInfo* kernel : {&first_, &second_})
      if (kernel->launches.empty())
        return refusal("nothing launches " + kernel->name);
    // Of all pairs of launches, the reason of that which came closest.
    Error closest = refusal("");
    int furthest = -1;
    for (std::size_t a = 0; a < first_.launches.size(); ++a)
      for (std::size_t b = 0; b < second_.launches.size(); ++b) {
        int steps = 0;
        auto choice = between(first_.launches[a], second_.launches[b], steps);
        if (choice.ok()) {
          choice->sites = {static_cast<int>(a) + 1, static_cast<int>(b) + 1};
          return choice;
        }
        if (steps > furthest) {
          furthest = steps;
          closest = choice.error();
        }
      }
    return closest;
  }

private:
  Error refusal(const std::string& why) const {
    return {fmt::format("cannot make a knob of the choice between {} and {}", first_.name, second_.name), why,
            "templatize them apart"};
  }

  Status compare_parameters() const {
    if (first_.parameters.size() != second_.parameters.size())
      return refusal(fmt::format("one has {} parameters and the other {}", first_.parameters.size(),
                                 second_.parameters.size()));
    for (std::size_t i = 0; i < first_.parameters.size(); ++i) {
      const KernelParameter &a = first_.parameters[i], &b = second_.parameters[i];
      if (a.type != b.type || a.name != b.name)
        return refusal(fmt::format("parameter {} is '{} {}' in one and '{} {}' in the other", i + 1, a.type,
                                   a.name, b.type, b.name));
    }
    return Done{};
  }

  // `steps`: how many of the demands the pair meets.
  Result<KernelChoice> between(const LaunchSite& a, const LaunchSite& b, int& steps) const {
    for (const LaunchSite* site : {&a, &b})
      if (!site->unreadable.empty())
        return refusal(site->location + ": " + site->unreadable.front());
    ++steps;
    if (a.launcher != b.launcher)
      return refusal(fmt::format("{} and {} are different launchers", a.launcher, b.launcher));
    ++steps;
    const auto decides = std::ranges::find_if(a.conditions, [&](const std::string& condition) {
      return !opposite(condition, b.conditions).empty();
    });
    if (decides == a.conditions.end())
      return refusal(
          fmt::format("no condition over the launcher's integers decides between the launches in {} "
                      "and {}",
                      a.location, b.location));
    ++steps;
    const std::string against = opposite(*decides, b.conditions);
    for (const auto& [mine, theirs] :
         {std::pair(&a.conditions, &b.conditions), std::pair(&b.conditions, &a.conditions)})
      for (const std::string& condition : *mine)
        if (condition != *decides && condition != against &&
            std::ranges::find(*theirs, condition) == theirs->end())
          return refusal(fmt::format("besides '{}' also '{}' decides: there may be a third kernel, or a loop",
                                     *decides, condition));
    ++steps;
    for (const auto& [parameter, passed] : a.arguments)
      if (const auto found = b.arguments.find(parameter);
          found == b.arguments.end() || found->second != passed)
        return refusal(fmt::format("they are given different values for '{}'", parameter));
    ++steps;
    KernelChoice choice;
    choice.condition = *decides;
    choice.location = a.location;
    return choice;
  }

  // The condition of `conditions` that holds just where `condition` does not, as the front end spells it.
  static std::string opposite(const std::string& condition, const std::vector<std::string>& conditions) {
    for (const std::string& other : conditions)
      for (const auto& [positive, negative] : {std::pair(&condition, &other), std::pair(&other, &condition)})
        if (*negative == "!" + *positive || *negative == "!(" + *positive + ")")
          return other;
    return "";
  }

  const KernelInfo &first_, &second_;
};

} // namespace

Result<KernelChoice> find_choice(const KernelInfo& first, const KernelInfo& second) {
  return Finder(first, second).find();
}

} // namespace lathe::refactor
