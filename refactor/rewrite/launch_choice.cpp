#include "refactor/rewrite/launch_choice.h"

#include <fmt/format.h>

namespace lathe::refactor {
namespace {

// `now` is what the first case's expression has become.
Expression choose(const std::vector<LaunchCase>& cases, const Expression& now,
                  const Expression& (*part)(const LaunchGeometry&, std::size_t), std::size_t axis) {
  const std::string first = part(cases.front().launch, axis).text();
  std::string choice;
  for (std::size_t i = 1; i < cases.size(); ++i)
    if (const std::string text = part(cases[i].launch, axis).text(); text != first)
      choice += fmt::format("({}) ? ({}) : ", cases[i].when, text);
  return choice.empty() ? now : make_expression(choice + "(" + now.text() + ")");
}

} // namespace

LaunchGeometry choose_launch(const std::vector<LaunchCase>& cases, const LaunchGeometry& now) {
  LaunchGeometry launch = now;
  const auto grid = [](const LaunchGeometry& of, std::size_t axis) -> const Expression& {
    return of.grid[axis];
  };
  const auto block = [](const LaunchGeometry& of, std::size_t axis) -> const Expression& {
    return of.block[axis];
  };
  const auto shared = [](const LaunchGeometry& of, std::size_t) -> const Expression& {
    return of.shared_bytes;
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    launch.grid[axis] = choose(cases, now.grid[axis], grid, axis);
    launch.block[axis] = choose(cases, now.block[axis], block, axis);
  }
  launch.shared_bytes = choose(cases, now.shared_bytes, shared, 0);
  return launch;
}

} // namespace lathe::refactor
