#include "refactor/app/runnable_problems.h"

#include "refactor/app/traced_kernel.h"
#include "refactor/frontend/standard.h"
#include "refactor/guard/sparse_run.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <set>

namespace lathe::refactor {
namespace {

using Clock = std::chrono::steady_clock;

class Probe {
public:
  Probe(const TracedKernel& traced, HostKernel kernel) : traced_(traced), kernel_(std::move(kernel)) {}

  // Why the raw kernel cannot run there; empty: it can, or it cannot be told.
  std::string obstacle(const Dimensions& dimensions) const {
    const auto workload = traced_.workload(dimensions);
    const auto launch = traced_.launch(dimensions);
    if (!workload.ok() || !launch.ok())
      return "";
    const std::uint64_t blocks = std::uint64_t{launch->grid[0]} * launch->grid[1] * launch->grid[2];
    if (blocks == 0)
      return "its grid is empty";
    std::set<std::uint64_t> chosen{0, blocks - 1, blocks / 2};
    const SparseTrial trial{&kernel_, &*launch, &*workload, {chosen.begin(), chosen.end()},
                            1,        true,     RUN_LIMIT_S};
    const SparseResult result = run_sparsely({&trial, 1}).front();
    const bool is_wrong =
        !result.clean && !result.out_of_time &&
        (result.problem.starts_with("runtime_error") || result.problem.starts_with("wrote outside"));
    return is_wrong ? result.problem : "";
  }

private:
  static constexpr double RUN_LIMIT_S = 1;
  const TracedKernel& traced_;
  HostKernel kernel_;
};

// Smaller sizes, the nearest first: all of them halved, then each alone.
std::vector<Dimensions> smaller(const Dimensions& sizes) {
  constexpr int MOST_HALVINGS = 12;
  std::vector<Dimensions> found;
  const auto add = [&](const Dimensions& other) {
    if (other != sizes && std::ranges::find(found, other) == found.end())
      found.push_back(other);
  };
  for (int halvings = 1; halvings <= MOST_HALVINGS; ++halvings) {
    Dimensions all = sizes;
    for (auto& [name, size] : all)
      size = std::max<std::int64_t>(1, size >> halvings);
    add(all);
    for (const auto& [name, size] : sizes) {
      Dimensions one = sizes;
      one[name] = std::max<std::int64_t>(1, size >> halvings);
      add(one);
    }
  }
  return found;
}

std::string text_of(const Dimensions& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, size);
  return text;
}

} // namespace

void keep_runnable(const Candidate& raw, const std::string& architecture, std::vector<Problem>& problems,
                   std::vector<std::string>& notes) {
  constexpr std::chrono::seconds LONGEST{8};
  const auto deadline = Clock::now() + LONGEST;
  const TracedKernel traced(raw, architecture);
  HostCompileOptions options;
  options.sanitize = true;
  options.compile_options = {standard_option(raw.text)};
  auto kernel = HostKernel::compile(raw.text, traced.instance(), options);
  if (!kernel.ok() || problems.empty())
    return;
  const Probe probe(traced, std::move(*kernel));
  std::vector<Problem> runnable;
  std::vector<std::string> left_out;
  for (const Problem& problem : problems)
    if (const std::string obstacle = Clock::now() < deadline ? probe.obstacle(problem.dimensions) : "";
        obstacle.empty())
      runnable.push_back(problem);
    else
      left_out.push_back(
          fmt::format("the raw kernel does not run at {} ({})", text_of(problem.dimensions), obstacle));
  if (left_out.empty())
    return;
  if (runnable.empty()) {
    const auto sizes = smaller(problems.front().dimensions);
    const auto found = std::ranges::find_if(sizes, [&](const Dimensions& other) {
      return Clock::now() < deadline && probe.obstacle(other).empty();
    });
    if (found == sizes.end())
      return;
    // What made the first one run may do so for the others.
    const Dimensions first = problems.front().dimensions;
    for (Problem problem : problems) {
      for (const auto& [name, size] : *found)
        if (size != first.at(name))
          problem.dimensions[name] = size;
      problem.label.clear();
      if (Clock::now() < deadline && probe.obstacle(problem.dimensions).empty()) {
        left_out.push_back("in place of these " + text_of(problem.dimensions));
        runnable.push_back(std::move(problem));
      }
    }
    if (runnable.empty())
      return;
  }
  problems = std::move(runnable);
  notes.insert(notes.end(), left_out.begin(), left_out.end());
}

} // namespace lathe::refactor
