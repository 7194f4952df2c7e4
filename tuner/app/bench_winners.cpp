#include "tuner/app/bench_winners.h"
#include "tuner/app/tuning_session.h"
#include "tuner/base/timestamp.h"
#include "tuner/emit/emit.h"

#include <algorithm>
#include <utility>

namespace lathe {

namespace {

// What was measured here stands under this device's key. The effort of a search stays with the device that it
// was spent on.
StoredWinner adopted(StoredWinner winner, const Workload& workload, const Backend& backend) {
  const DeviceInfo& device = backend.device();
  winner.key = store_key(workload, device);
  winner.evaluations = 1;
  winner.seconds = 0;
  winner.architecture = device.architecture();
  winner.lathe_version = LATHE_VERSION;
  return winner;
}

} // namespace

Result<BenchedWinners> bench_winners(const TuningSpec& spec, const std::vector<StoredWinner>& winners,
                                     Backend& backend, const MeasureOptions& options) {
  const DeviceInfo& device = backend.device();
  std::vector<StoredWinner> usable;
  for (const StoredWinner& winner : winners)
    if (winner.key.template_hash == spec.template_hash && winner.is_host == device.is_host)
      usable.push_back(winner);
  // Asked of all of them: gains at report-only problems are in no header's table.
  const bool is_own = std::ranges::any_of(
      usable, [&](const StoredWinner& winner) { return winner.key.device == device.name; });
  const std::string source =
      is_own ? device.name : device_used_on(device.name, device.architecture(), spec, usable, device.is_host);
  BenchedWinners result;
  if (source != device.name)
    result.tuned_on = source;
  for (const StoredWinner& stored : usable) {
    if (stored.key.device != source)
      continue;
    LATHE_TRY(const Workload workload, bind_workload(spec, stored.problem, stored.types, device.limits()));
    StoredWinner winner = result.tuned_on.empty() ? stored : adopted(stored, workload, backend);
    LATHE_CHECK(backend.prepare(workload, options));
    auto comparison = backend.compare(winner.knobs);
    if (!comparison.ok()) {
      result.failures.push_back(spec.name + ", " + workload.key() + ": " + comparison.error().sentence());
      continue;
    }
    winner.comparison = *comparison;
    winner.copy_floor_us = backend.copy_floor_us();
    winner.protocol = std::string(backend.protocol());
    winner.timestamp = utc_now();
    result.measured.push_back(std::move(winner));
  }
  return result;
}

} // namespace lathe
