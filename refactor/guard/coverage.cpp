#include "refactor/guard/coverage.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace lathe::refactor {
namespace {

constexpr int STEP = 4, STEPS = 6;          // sizes times 2^4, 2^8, ... 2^24
constexpr double COUNTED_FROM = 4096;       // raw blocks: with fewer, rounding up decides
constexpr double GROWN_BY = 256;            // times the blocks at the first size, for the same reason
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
std::shared_ptr<const Workload> multiplied(const JudgedPair& subject, const Configuration& configuration,
                                           const std::string& dimension, std::int64_t times) {
  Problem problem;
  problem.dimensions = configuration.workload->problem.dimensions;
  std::int64_t& size = problem.dimensions[dimension];
  if (size < 1 || size > LARGEST / times)
    return nullptr;
  size *= times;
  const auto workload = own_workload(subject.spec, problem, configuration.workload->types, subject.device);
  return workload ? *workload : nullptr;
}

// Where the raw kernel's dynamic shared memory grows with a size: whether the template's default still fits
// at most of the sizes at which the raw kernel's does. Other configurations are taken where they fit.
std::string shared_memory_problem(const JudgedPair& subject, const Configuration& configuration) {
  constexpr double TELLING_SHARE = 0.75; // of the largest size: partial sums of more warps are no matter
  constexpr std::int64_t MOST_TIMES = 1 << 24;
  const auto limit = static_cast<std::uint32_t>(subject.device.shared_per_block_optin);
  for (const auto& [dimension, size] : configuration.workload->problem.dimensions) {
    const auto fits = [&](const LaunchGeometry& side, const Workload& workload) {
      const auto launch = bind_launch(side, workload, configuration.knobs);
      return launch && launch->shared_bytes <= limit;
    };
    const auto raw_fits = [&](std::int64_t times) {
      const auto workload = multiplied(subject, configuration, dimension, times);
      return workload && fits(subject.spec.reference.launch, *workload);
    };
    std::int64_t most = 1;
    while (most < MOST_TIMES && raw_fits(2 * most))
      most *= 2;
    for (std::int64_t step = most / 2; step > 0; step /= 2)
      if (raw_fits(most + step))
        most += step;
    const auto times =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(TELLING_SHARE * static_cast<double>(most)));
    const auto workload = multiplied(subject, configuration, dimension, times);
    if (!workload || !admitted(*workload, configuration.knobs))
      continue;
    const auto raw = bind_launch(subject.spec.reference.launch, *workload, configuration.knobs);
    if (!raw || raw->shared_bytes <= limit / 2 || fits(subject.spec.kernel.launch, *workload))
      continue;
    return "the template cannot be launched at " + dimension + "=" + std::to_string(size * times) +
           ", where the raw kernel can: that asks for " + std::to_string(raw->shared_bytes) +
           " bytes of shared memory, and the device has " + std::to_string(limit);
  }
  return "";
}

} // namespace

std::string coverage_problem(const JudgedPair& subject, const Configuration& configuration) {
  if (configuration.is_default)
    if (std::string problem = shared_memory_problem(subject, configuration); !problem.empty())
      return problem;
  const bool is_any_grid_enough = reads_grid_size(subject, configuration);
  for (const auto& [dimension, size] : configuration.workload->problem.dimensions) {
    std::optional<double> share;  // template blocks for a raw block, where there are many
    std::optional<double> fewest; // raw blocks
    std::string refused;          // by the template's launch, where the raw kernel's is legal
    for (int step = 0; step <= STEPS; ++step) {
      const auto workload = multiplied(subject, configuration, dimension, std::int64_t{1} << STEP * step);
      if (!workload || !admitted(*workload, configuration.knobs))
        continue;
      const auto raw = bind_launch(subject.spec.reference.launch, *workload, configuration.knobs);
      if (!raw)
        break;
      const std::string at = " at " + configuration.knobs_text() + (configuration.knobs.empty() ? "" : ", ") +
                             dimension + "=" + std::to_string(workload->problem.dimensions.at(dimension));
      // What the raw kernel does in a loop a template may spread over blocks, as far as they go.
      fewest = std::min(fewest.value_or(blocks_of(*raw)), blocks_of(*raw));
      if (is_any_grid_enough && blocks_of(*raw) == *fewest)
        continue;
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
      if (blocks < std::max(COUNTED_FROM, GROWN_BY * *fewest) || is_any_grid_enough)
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
