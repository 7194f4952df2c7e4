#include "refactor/app/program_launches.h"

#include "refactor/app/launch_conditions.h"
#include "refactor/app/raw_candidate_builder.h"
#include "refactor/app/usual_problems.h"
#include "refactor/knobs/geometry.h"
#include "refactor/rewrite/edits.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace lathe::refactor {
namespace {

// Each takes a candidate of its own to read.
constexpr std::size_t MOST_READ = 16;
constexpr std::size_t MOST_LAUNCHES = 8;

// "gemm.cu:694" of a path.
std::string place_of(const std::string& location) {
  return std::filesystem::path(location).filename().string();
}

// The launch as it may be asked for: every way in which this file has the launcher's own template arguments.
std::vector<LaunchOverride> ways_of(const LaunchSite& site, const LaunchOverride& launch, int number) {
  std::vector<LaunchOverride> ways;
  std::size_t instances = 1;
  for (const auto& [name, values] : site.launcher_arguments)
    instances = std::max(instances, values.size());
  for (std::size_t i = 0; i < instances; ++i) {
    LaunchOverride way = launch;
    way.site = number;
    for (const auto& [name, values] : site.launcher_arguments)
      if (!values.empty())
        way.template_arguments.try_emplace(name, values[i < values.size() ? i : 0]);
    ways.push_back(std::move(way));
  }
  return ways;
}

// What tells one launch from another before either is read in full.
std::string words_of(const LaunchSite& site, const LaunchOverride& way) {
  const std::string text =
      fmt::format("{} {} {} {}", fmt::join(site.template_arguments, ", "), fmt::join(site.grid, ", "),
                  fmt::join(site.block, ", "), site.shared_bytes);
  return substitute(text, way.template_arguments);
}

bool is_alike(const Candidate& first, const Candidate& second) {
  const auto types = [](const TypeParameter& a, const TypeParameter& b) {
    return a.name == b.name && a.dtypes == b.dtypes;
  };
  const auto arguments = [](const Argument& a, const Argument& b) {
    return a.name == b.name && a.dtype == b.dtype && a.is_buffer == b.is_buffer && a.is_null == b.is_null &&
           (a.is_buffer || canonical(a.value) == canonical(b.value));
  };
  return std::ranges::equal(first.types, second.types, types) &&
         std::ranges::equal(first.arguments, second.arguments, arguments) &&
         std::ranges::all_of(second.dimensions, [&](const std::string& name) {
           return std::ranges::find(first.dimensions, name) != first.dimensions.end();
         });
}

// Sizes that the grid covers in tiles: what it divides, up or down.
void collect_tiled(const ExpressionNode& node, const std::vector<std::string>& names,
                   std::set<std::string>& tiled) {
  const bool divides = node.operation == Operation::divide_truncate ||
                       node.operation == Operation::divide_floor ||
                       (node.operation == Operation::call && node.function == Function::ceil_div);
  if (divides)
    tiled.merge(names_below(node.children[0], names));
  for (const ExpressionNode& child : node.children)
    collect_tiled(child, names, tiled);
}

// Whether the condition, or its negation, only chooses between launches that compute the same.
bool only_chooses(const Expression& condition, const std::set<std::string>& tiled) {
  const ExpressionNode* node = &condition.root();
  bool negated = false;
  for (; node->operation == Operation::logical_not; node = node->children.data())
    negated = !negated;
  if (node->operation != Operation::compare || node->comparisons.size() != 1)
    return has_remainder(condition) && !negated && node->operation != Operation::logical_and &&
           node->operation != Operation::logical_or; // `if (n % 64)`
  ComparisonOperator comparison = node->comparisons.front();
  const ExpressionNode &left = node->children[0], &right = node->children[1];
  if (has_remainder(condition))
    return comparison == (negated ? ComparisonOperator::equal : ComparisonOperator::not_equal);
  const std::set<std::string> of_left = names_below(left, condition.names()),
                              of_right = names_below(right, condition.names());
  if (of_left.empty() == of_right.empty())
    return false;
  const bool is_less = comparison == ComparisonOperator::less || comparison == ComparisonOperator::less_equal;
  const bool is_greater =
      comparison == ComparisonOperator::greater || comparison == ComparisonOperator::greater_equal;
  if (!is_less && !is_greater)
    return false;
  const bool sizes_on_left = of_right.empty();
  const bool is_at_most = (is_less == sizes_on_left) != negated;
  const std::set<std::string>& sizes = sizes_on_left ? of_left : of_right;
  return !is_at_most ||
         std::ranges::all_of(sizes, [&](const std::string& name) { return tiled.contains(name); });
}

std::vector<Expression> needs_of(const Candidate& first, const Candidate& other) {
  std::set<std::string> tiled;
  for (const Expression& axis : other.launch.grid)
    collect_tiled(axis.root(), axis.names(), tiled);
  std::vector<Expression> needs;
  for (const Expression& condition : other.launched_where) {
    const bool is_shared = std::ranges::any_of(
        first.launched_where, [&](const Expression& own) { return canonical(own) == canonical(condition); });
    if (!is_shared && !only_chooses(condition, tiled))
      needs.push_back(condition);
  }
  return needs;
}

// Whether some of the sizes that the first launch serves meet the needs.
bool can_be_met(const Candidate& first, const std::vector<Expression>& needs, const WorkloadFacts& facts,
                const std::string& architecture) {
  if (needs.empty())
    return true;
  std::vector<Expression> all = first.launched_where;
  all.insert(all.end(), needs.begin(), needs.end());
  const auto meets = [&](const Problem& problem) {
    return std::ranges::none_of(all, [&](const Expression& need) { return fails_at(need, problem); });
  };
  if (!facts.problems.empty())
    return std::ranges::any_of(facts.problems, meets);
  std::vector<std::string> not_said;
  std::vector<Problem> usual = usual_problems(first, {}, architecture, not_said);
  return std::ranges::any_of(usual, [&](Problem& problem) { return meet_conditions(all, problem); });
}

} // namespace

std::vector<ProgramLaunch> program_launches(const KernelInfo& kernel, const ExtractedKernel& extracted,
                                            const WorkloadFacts& facts, const LaunchOverride& launch,
                                            const std::string& architecture, const RawCandidate& raw) {
  if (raw.location.empty() || raw.has_free_grid || launch.at_any_size || kernel.template_parameters.empty())
    return {};
  const auto as_launched = [](const RawCandidate& read, std::vector<Expression> needs) {
    return ProgramLaunch{place_of(read.location), split_instance(read.candidate.instance).arguments,
                         read.candidate.launch, std::move(needs)};
  };
  std::vector<ProgramLaunch> found{as_launched(raw, {})};
  WorkloadFacts typed = facts; // the types are settled
  for (const TypeParameter& type : raw.candidate.types)
    typed.types[type.name] = type.dtypes;
  std::set<std::string> seen;
  std::size_t read = 0;
  for (std::size_t i = 0; i < kernel.launches.size(); ++i)
    for (const LaunchOverride& way : ways_of(kernel.launches[i], launch, static_cast<int>(i) + 1)) {
      const LaunchSite& site = kernel.launches[i];
      if (!site.unreadable.empty() || !seen.insert(words_of(site, way)).second || read++ >= MOST_READ ||
          found.size() >= MOST_LAUNCHES)
        continue;
      const auto other = make_raw_candidate(kernel, extracted, typed, way, architecture);
      const auto is_asked_here = [&](const std::string& condition) {
        return std::ranges::find(raw.other_conditions, condition) != raw.other_conditions.end();
      };
      if (!other.ok() || other->has_free_grid ||
          !std::ranges::all_of(other->other_conditions, is_asked_here) ||
          !is_alike(raw.candidate, other->candidate))
        continue;
      std::vector<std::string> arguments = split_instance(other->candidate.instance).arguments;
      if (std::ranges::find(found, arguments, &ProgramLaunch::template_arguments) != found.end())
        continue;
      std::vector<Expression> needs = needs_of(raw.candidate, other->candidate);
      if (can_be_met(raw.candidate, needs, facts, architecture))
        found.push_back(as_launched(*other, std::move(needs)));
    }
  if (found.size() == 1)
    found.clear();
  return found;
}

} // namespace lathe::refactor
