#include "tuner/app/best_stored.h"

#include "tuner/app/tuning_session.h"

#include <algorithm>

namespace lathe {

Result<std::vector<Ranked>> best_stored(const Workload& workload, const DeviceInfo& device, Store& store,
                                        std::size_t most) {
  LATHE_TRY(const std::vector<StoredEvaluation> stored, store.evaluations(store_key(workload, device)));
  std::vector<Ranked> ranked;
  for (const StoredEvaluation& one : stored) {
    const Measurement& seen = one.measurement;
    if (seen.outcome != Outcome::ok || seen.timing.stopped_early || seen.timing.median_us <= 0)
      continue;
    if (const auto knobs = knobs_in_order(one, workload.spec->knob_names()))
      ranked.push_back({*knobs, seen.timing.median_us});
  }
  std::stable_sort(ranked.begin(), ranked.end());
  std::vector<Ranked> best;
  for (Ranked& candidate : ranked) {
    if (best.size() >= most)
      break;
    if (std::ranges::find(best, candidate.knobs, &Ranked::knobs) == best.end())
      best.push_back(std::move(candidate));
  }
  return best;
}

} // namespace lathe
