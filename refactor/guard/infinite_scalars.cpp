#include "refactor/guard/infinite_scalars.h"

#include "refactor/guard/parallel.h"
#include "tuner/measure/fill.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::refactor {
namespace {

constexpr double SECONDS_PER_RUN = 1;

bool leaves_numbers(const Workload& workload, const TrialResult& result) {
  bool has_number = false;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& description = workload.buffers[i];
    const auto dtype = element_type(description.dtype);
    if (description.direction == Direction::in || !dtype || !element::is_real(*dtype))
      continue;
    for (std::uint64_t k = 0; k < description.count; ++k) {
      const double value = element::decode(*dtype, element::load(*dtype, result.contents[i].data(), k));
      if (std::isnan(value))
        return false;
      has_number |= std::isfinite(value) && value != 0;
    }
  }
  return has_number;
}

} // namespace

std::vector<InfiniteScalar> infinite_scalars(const HostKernels& raw,
                                             const std::vector<const ReferenceRuns*>& sizes,
                                             std::uint64_t seed, int jobs,
                                             std::chrono::steady_clock::time_point deadline) {
  // Of the sizes the one in the middle, in which some elements may be left out and others not.
  std::vector<const ReferenceRuns*> ordered;
  std::ranges::copy_if(sizes, std::back_inserter(ordered),
                       [](const ReferenceRuns* size) { return !size->depends_on_order; });
  if (ordered.empty())
    return {};
  std::ranges::stable_sort(ordered, {}, [](const ReferenceRuns* size) { return size->raw[1].work; });
  const ReferenceRuns& size = *ordered[ordered.size() / 2];
  const HostKernel* kernel = raw.find(size.usual.raw_instance, size.usual.macros());
  if (!kernel)
    return {};
  constexpr double INFINITE = std::numeric_limits<double>::infinity();
  std::vector<InfiniteScalar> asked;
  for (std::size_t p = 0; p < size.workload->parameters.size(); ++p)
    if (is_real_scalar(size.workload->parameters[p]))
      asked.insert(asked.end(), {{p, -INFINITE}, {p, INFINITE}});
  std::vector<char> accepted(asked.size(), 0);
  parallel(asked.size(), jobs, deadline, [&](std::size_t i) {
    TrialSettings settings;
    settings.seed = seed;
    settings.real_numbers[asked[i].parameter] = asked[i].value;
    settings.barriers_by_count = size.meets_by_count;
    settings.time_limit_s = SECONDS_PER_RUN;
    const TrialResult result =
        run_trials({{kernel, &size.usual.raw_launch, size.workload.get(), settings, raw.memory()}}).front();
    accepted[i] = result.clean && leaves_numbers(*size.workload, result) ? 1 : 0;
  });
  std::vector<InfiniteScalar> found;
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (accepted[i] != 0)
      found.push_back(asked[i]);
  return found;
}

std::string describe(const TuningSpec& spec, const std::vector<InfiniteScalar>& infinite) {
  std::string list;
  for (const InfiniteScalar& one : infinite)
    list += (list.empty() ? "" : ", ") + std::string(one.value < 0 ? "-" : "") + "infinity for '" +
            spec.arguments[one.parameter].name + "'";
  return list.empty() ? "" : "the raw kernel takes " + list + ", and runs have it";
}

} // namespace lathe::refactor
