// What a launcher leaves open: which instance of it the candidate is, and how many blocks it has where that
// is written as a number.
#include "refactor/app/raw_candidate_builder.h"
#include "tuner/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex>
#include <set>

namespace lathe::refactor {

std::optional<std::pair<std::string, std::string>> equal_names(const std::string& condition) {
  static const std::regex equality(R"(\(?([A-Za-z_]\w*) == ([A-Za-z_]\w*)\)?)"),
      no_difference(R"(!\(([A-Za-z_]\w*) != ([A-Za-z_]\w*)\))");
  std::smatch sides;
  if (!std::regex_match(condition, sides, equality) && !std::regex_match(condition, sides, no_difference))
    return std::nullopt;
  return std::pair(sides[1].str(), sides[2].str());
}

void RawCandidateBuilder::substitute_in_site(const std::map<std::string, std::string>& values) {
  for (std::string& argument : site_.template_arguments)
    argument = substitute(argument, values);
  for (auto* axes : {&site_.grid, &site_.block})
    for (std::string& size : *axes)
      size = substitute(size, values);
  site_.shared_bytes = substitute(site_.shared_bytes, values);
  for (auto* passed : {&site_.arguments, &site_.buffer_bytes})
    for (auto& [parameter, text] : *passed)
      text = substitute(text, values);
  for (std::string& condition : site_.conditions)
    condition = substitute(condition, values);
}

void RawCandidateBuilder::unite_equal_sizes() {
  const auto is_in_launch = [&](const std::string& name) {
    const auto has = [&](const std::string& text) { return std::ranges::count(identifiers(text), name) > 0; };
    return std::ranges::any_of(site_.grid, has) || std::ranges::any_of(site_.block, has) ||
           std::ranges::any_of(site_.arguments, [&](const auto& passed) { return has(passed.second); });
  };
  const auto is_given = [&](const std::string& name) {
    const auto names_it = [&](const std::optional<std::string>& text) {
      return text && std::ranges::count(identifiers(*text), name) > 0;
    };
    return std::ranges::any_of(facts_.problems,
                               [&](const Problem& problem) { return problem.dimensions.contains(name); }) ||
           std::ranges::any_of(facts_.arguments, [&](const auto& argument) {
             return names_it(argument.second.count) || names_it(argument.second.value);
           });
  };
  const std::vector<std::string> conditions = site_.conditions;
  for (const std::string& whole : conditions)
    for (const std::string& text : conjuncts(whole)) {
      const auto sides = equal_names(text);
      if (!sides)
        continue;
      auto [kept, other] = *sides;
      const bool are_sizes = is_in_launch(kept) && is_in_launch(other) && kept != other &&
                             !site_.launcher_arguments.contains(kept) &&
                             !site_.launcher_arguments.contains(other);
      if (!are_sizes || (is_given(kept) && is_given(other)))
        continue;
      if (is_given(other))
        std::swap(kept, other);
      substitute_in_site({{other, kept}});
      std::erase(site_.conditions, fmt::format("{0} == {0}", kept));
      std::erase(site_.conditions, fmt::format("!({0} != {0})", kept));
      std::erase(site_.dimensions, other);
      result_.assumptions.push_back(
          fmt::format("{} is {}, as the program asks before it launches the kernel", other, kept));
    }
}

void RawCandidateBuilder::bind_launcher_arguments() {
  for (const std::string& sentence : site_.assumed)
    result_.assumptions.push_back(sentence + " (say otherwise with --grid and --block)");
  std::size_t instances = 0;
  for (const auto& [name, values] : site_.launcher_arguments)
    instances = std::max(instances, values.size());
  const auto values_in = [&](std::size_t instance) {
    std::map<std::string, std::string> bound;
    for (const auto& [name, values] : site_.launcher_arguments) {
      const auto given = launch_.template_arguments.find(name);
      bound[name] = given != launch_.template_arguments.end()
                        ? in_place_of_name(given->second)
                        : values[instance < values.size() ? instance : 0];
    }
    return bound;
  };
  // `if constexpr (N == 4)`: another instance's launch.
  const auto is_reached = [&](const std::map<std::string, std::string>& bound) {
    return std::ranges::none_of(site_.conditions, [&](const std::string& condition) {
      const auto parsed = Expression::parse(substitute(condition, bound));
      if (!parsed.ok() || !parsed->names().empty())
        return false;
      const auto holds =
          parsed->evaluate_condition([](std::string_view) -> std::optional<Value> { return std::nullopt; });
      return holds.ok() && !*holds;
    });
  };
  std::size_t taken = 0;
  while (taken < instances && !is_reached(values_in(taken)))
    ++taken;
  const std::map<std::string, std::string> bound = values_in(taken < instances ? taken : 0);
  substitute_in_site(bound);
  for (const auto& [name, value] : bound) {
    bound_by_launcher_.insert(name);
    if (launch_.template_arguments.contains(name))
      continue;
    const std::vector<std::string>& values = site_.launcher_arguments.at(name);
    std::vector<std::string> others;
    for (const std::string& other : values)
      if (other != value && std::ranges::find(others, other) == others.end())
        others.push_back(other);
    result_.assumptions.push_back(
        fmt::format("{0} = {1}, as in the first of {2} instances of {3}; others have {4} (say otherwise with "
                    "--template-argument {0}=...)",
                    name, value, values.size(), site_.launcher, fmt::join(others, ", ")));
  }
}

Status RawCandidateBuilder::free_fixed_grid() {
  Candidate& candidate = result_.candidate;
  if (!candidate.dimensions.empty() || !launch_.grid.empty() || !facts_.problems.empty())
    return Done{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto blocks = candidate.launch.grid[axis].evaluate_integer(
        [](std::string_view) -> std::optional<Value> { return std::nullopt; });
    const std::string name = fmt::format("blocks_{}", "xyz"[axis]);
    const bool is_taken =
        std::ranges::find(kernel_.parameters, name, &KernelParameter::name) != kernel_.parameters.end();
    if (!blocks.ok() || *blocks <= 1 || is_taken)
      continue;
    LATHE_TRY(candidate.launch.grid[axis], Expression::parse(name));
    result_.has_free_grid = true;
    candidate.dimensions.push_back(name);
    result_.own_sizes[name] = *blocks;
    result_.assumptions.push_back(fmt::format("{} = {}, the launch's own number of blocks, is the problem's "
                                              "size: nothing else is (say otherwise with --grid)",
                                              name, *blocks));
  }
  return Done{};
}

} // namespace lathe::refactor
