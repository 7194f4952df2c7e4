#include "refactor/guard/coverage.h"

#include <optional>
#include <string>

namespace lathe::refactor {
namespace {

constexpr int STEP = 4, STEPS = 6;          // sizes times 2^4, 2^8, ... 2^24
constexpr double COUNTED_FROM = 4096;       // raw blocks: with fewer, rounding up decides
constexpr double KEPT_SHARE = 0.75;         // of the blocks for a raw block
constexpr std::int64_t LARGEST = 1ll << 40; // a dimension

double blocks_of(const Launch& launch) {
  return 1.0 * launch.grid[0] * launch.grid[1] * launch.grid[2];
}

bool reads_grid_size(const JudgedPair& subject, const Configuration& configuration) {
  const auto facts = subject.templated.code_facts.find(
      code_key(configuration.template_instance, configuration.template_launch));
  return facts == subject.templated.code_facts.end() || facts->second.ir.find("nctaid") != std::string::npos;
}

// The workload with one dimension so many times as large; nothing where it is not a workload any more.
std::shared_ptr<const Workload> scaled(const JudgedPair& subject, const Configuration& configuration,
                                       const std::string& dimension, int doublings) {
  Problem problem;
  problem.dimensions = configuration.workload->problem.dimensions;
  std::int64_t& size = problem.dimensions[dimension];
  if (size < 1 || size > LARGEST >> doublings)
    return nullptr;
  size <<= doublings;
  const auto workload = own_workload(subject.spec, problem, configuration.workload->types, subject.device);
  return workload ? *workload : nullptr;
}

} // namespace

std::string coverage_problem(const JudgedPair& subject, const Configuration& configuration) {
  if (reads_grid_size(subject, configuration))
    return "";
  for (const auto& [dimension, size] : configuration.workload->problem.dimensions) {
    std::optional<double> share; // template blocks for a raw block, where there are many
    std::string refused;         // by the template's launch, where the raw kernel's is legal
    for (int step = 0; step <= STEPS; ++step) {
      const auto workload = scaled(subject, configuration, dimension, STEP * step);
      if (!workload || !admitted(*workload, configuration.knobs))
        continue;
      const auto raw = bind_launch(subject.spec.reference.launch, *workload, configuration.knobs);
      if (!raw)
        break;
      const std::string at = " at " + configuration.knobs_text() + (configuration.knobs.empty() ? "" : ", ") +
                             dimension + "=" + std::to_string(workload->problem.dimensions.at(dimension));
      // A smaller block reaches a limit somewhat earlier than the raw kernel's; not 16 times.
      if (!refused.empty())
        return refused;
      const auto templated = bind_launch(subject.spec.kernel.launch, *workload, configuration.knobs);
      if (!templated) {
        refused = "the template cannot be launched where the raw kernel is launched" + at + ": " +
                  templated.error().sentence();
        continue;
      }
      const double blocks = blocks_of(*raw);
      if (blocks < COUNTED_FROM)
        continue;
      const double now = blocks_of(*templated) / blocks;
      if (share && now < KEPT_SHARE * *share)
        return "the template's grid does not grow as the raw kernel's does, and no block asks for its size" +
               at;
      share = share ? std::min(*share, now) : now;
    }
  }
  return "";
}

} // namespace lathe::refactor
