#include "tuner/app/transfer.h"

#include <algorithm>
#include <utility>

namespace lathe {

namespace {

constexpr std::ptrdiff_t fewest = 10;

bool is_same(const StoreKey& a, const StoreKey& b) {
  return a.template_hash == b.template_hash && a.workload == b.workload && a.device == b.device &&
         a.driver == b.driver && a.toolkit == b.toolkit;
}

// Only the host executor has no driver.
bool is_host(const StoreKey& key) {
  return key.driver.empty();
}

int likeness(const StoreKey& a, const StoreKey& b) {
  return 2 * (a.device == b.device) + (a.workload == b.workload);
}

// The values in the order of the space, with the default of a knob that the evaluation does not have.
std::optional<KnobValues> completed(const StoredEvaluation& evaluation, const Space& space,
                                    const KnobValues& defaults) {
  KnobValues values = defaults;
  for (std::size_t i = 0; i < evaluation.knob_names.size() && i < evaluation.knobs.size(); ++i) {
    const auto found = std::ranges::find(space.parameters(), evaluation.knob_names[i], &Parameter::name);
    if (found == space.parameters().end())
      return std::nullopt;
    values[static_cast<std::size_t>(found - space.parameters().begin())] = evaluation.knobs[i];
  }
  return values;
}

} // namespace

Result<EarlierResults> earlier_results(Store& store, const StoreKey& key, const Space& space,
                                       const KnobValues& defaults) {
  LATHE_TRY(const std::vector<StoreKey> keys, store.keys(key.kernel));
  EarlierResults best;
  std::pair<int, std::size_t> best_rank{-1, 0};
  for (const StoreKey& other : keys) {
    if (is_same(other, key) || is_host(other) != is_host(key))
      continue;
    LATHE_TRY(const std::vector<StoredEvaluation> stored, store.evaluations(other));
    std::vector<Observation> observations;
    for (const StoredEvaluation& evaluation : stored) {
      const auto knobs = completed(evaluation, space, defaults);
      if (const auto point = knobs ? space.point_of(*knobs) : std::nullopt)
        observations.push_back(
            {*point, evaluation.measurement.outcome == Outcome::ok, evaluation.measurement.timing.median_us});
    }
    const std::pair rank{likeness(other, key), observations.size()};
    if (std::ranges::count_if(observations, &Observation::succeeded) < fewest || rank <= best_rank)
      continue;
    best_rank = rank;
    best = {other.workload + " on " + other.device, std::move(observations)};
  }
  return best;
}

} // namespace lathe
