#include "refactor/app/launch_conditions.h"

#include "tuner/expression/expression_tree.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

bool has_remainder(const ExpressionNode& node) {
  return node.operation == Operation::modulo_truncate || node.operation == Operation::modulo_floor ||
         std::ranges::any_of(node.children, [](const ExpressionNode& child) { return has_remainder(child); });
}

std::size_t failures(const std::vector<Expression>& conditions, const Problem& problem) {
  return static_cast<std::size_t>(std::ranges::count_if(
      conditions, [&](const Expression& condition) { return fails_at(condition, problem); }));
}

// Sizes that may meet a condition: powers of two, and such multiples of its numbers, and next to these.
std::set<std::int64_t> sizes_for(const Expression& condition) {
  constexpr std::int64_t LARGEST = std::int64_t{1} << 24;
  std::set<std::int64_t> sizes, units{1};
  const std::string text = condition.text();
  static const std::regex number(R"(\b(\d{1,7})\b)");
  for (std::sregex_iterator at(text.begin(), text.end(), number), none; at != none; ++at)
    units.insert(std::max<std::int64_t>(1, std::atoll((*at)[1].str().c_str())));
  for (const std::int64_t unit : units)
    for (std::int64_t size = unit; size <= LARGEST; size *= 2)
      sizes.insert({size, size + 1, std::max<std::int64_t>(1, size - 1)});
  return sizes;
}

// Other sizes, with how many conditions fail there and how far they lie from what was guessed.
struct Change {
  Problem problem;
  std::size_t failures = 0;
  double distance = 0;
};

double distance_of(std::int64_t from, std::int64_t to) {
  return from > to ? static_cast<double>(from) / static_cast<double>(to)
                   : static_cast<double>(to) / static_cast<double>(from);
}

// Whether a condition does not hold for some choice of types.
bool fails_for_a_type(const Candidate& raw, const Expression& condition, const Problem& problem) {
  return std::ranges::any_of(type_choices(raw.types), [&](const auto& types) {
    Problem typed = problem; // sizes of types are names like others to a condition
    for (const auto& [name, dtype] : types)
      typed.dimensions["sizeof_" + name] = dtype_size(dtype);
    return fails_at(condition, typed);
  });
}

} // namespace

bool has_remainder(const Expression& condition) {
  return has_remainder(condition.root());
}

bool meet_conditions(const std::vector<Expression>& launched_where, Problem& problem) {
  constexpr int MOST_CHANGES = 8;
  constexpr std::size_t MOST_NAMES = 6, MOST_PAIRS = 60000; // a condition over many sizes has millions
  std::set<std::string> given_up;                           // that no change meets
  for (int change = 0; change < MOST_CHANGES; ++change) {
    const std::size_t now = failures(launched_where, problem);
    const auto failing = std::ranges::find_if(launched_where, [&](const Expression& condition) {
      return fails_at(condition, problem) && !given_up.contains(condition.text());
    });
    if (failing == launched_where.end())
      break;
    // What another condition ties to one of its sizes may have to change with that.
    std::vector<std::string> names;
    std::set<std::int64_t> own = sizes_for(*failing), tied = own;
    const auto add = [&](const Expression& condition) {
      for (const std::string& name : condition.names())
        if (problem.dimensions.contains(name) && names.size() < MOST_NAMES &&
            std::ranges::find(names, name) == names.end())
          names.push_back(name);
    };
    add(*failing);
    const std::size_t own_names = names.size();
    for (const Expression& condition : launched_where)
      if (std::ranges::any_of(condition.names(), [&](const std::string& name) {
            return std::ranges::find(failing->names(), name) != failing->names().end();
          })) {
        add(condition);
        tied.merge(sizes_for(condition));
      }
    std::optional<Change> best;
    const auto consider = [&](const Problem& changed, double distance) {
      if (fails_at(*failing, changed))
        return;
      const std::size_t left = failures(launched_where, changed);
      if (left < now &&
          (!best || left < best->failures || (left == best->failures && distance < best->distance)))
        best = Change{changed, left, distance};
    };
    for (std::size_t i = 0; i < own_names; ++i)
      for (const std::int64_t size : own) {
        Problem one = problem;
        one.dimensions[names[i]] = size;
        consider(one, distance_of(problem.dimensions.at(names[i]), size));
      }
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < own_names && !best; ++i)
      for (std::size_t j = i + 1; j < names.size(); ++j)
        for (const std::int64_t size : own)
          for (const std::int64_t other : tied) {
            if (++pairs > MOST_PAIRS)
              break;
            Problem two = problem;
            two.dimensions[names[i]] = size;
            two.dimensions[names[j]] = other;
            consider(two, distance_of(problem.dimensions.at(names[i]), size) *
                              distance_of(problem.dimensions.at(names[j]), other));
          }
    if (best)
      problem = std::move(best->problem);
    else
      given_up.insert(failing->text());
  }
  return failures(launched_where, problem) == 0;
}

void keep_to_conditions(Candidate& raw, std::vector<Problem>& problems, std::vector<std::string>& notes) {
  std::vector<std::string> unmet;
  std::erase_if(raw.launched_where, [&](const Expression& condition) {
    const bool holds_nowhere = std::ranges::all_of(
        problems, [&](const Problem& problem) { return fails_for_a_type(raw, condition, problem); });
    if (holds_nowhere)
      unmet.push_back(condition.text());
    return holds_nowhere && !problems.empty();
  });
  if (!unmet.empty())
    notes.push_back(
        fmt::format("no sizes are known at which {} {}, as the program asks before it launches the "
                    "kernel: the raw side may be another than the program's (give sizes with --problem)",
                    fmt::join(unmet, ", "), unmet.size() == 1 ? "holds" : "hold"));
  const auto breaks_one = [&](const Problem& problem) {
    return std::ranges::any_of(raw.launched_where, [&](const Expression& condition) {
      return fails_for_a_type(raw, condition, problem);
    });
  };
  if (!std::ranges::all_of(problems, breaks_one)) {
    std::erase_if(problems, breaks_one);
    return;
  }
  // Each holds at some of them, and all at none: those of the first are kept.
  std::erase_if(raw.launched_where, [&](const Expression& condition) {
    return !problems.empty() && fails_for_a_type(raw, condition, problems.front());
  });
  std::erase_if(problems, breaks_one);
}

} // namespace lathe::refactor
