// One workload's tuning: search, evaluate, record, measure the finalists against the raw kernel.
#pragma once

#include "tuner/app/counters.h"
#include "tuner/measure/measure.h"
#include "tuner/search/search.h"
#include "tuner/spec/spec.h"
#include "tuner/store/store.h"

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

// What an earlier slice of a search came to.
struct StandingResult {
  StoredWinner winner;
  bool default_kept = false; // SessionResult::default_kept
};

struct SessionOptions {
  int evaluations = 200;         // distinct configurations at most, those found in the store counted
  double seconds = 1e9;          // wall time at most
  double space_fraction = 1;     // of the valid configurations at most
  double plateau_confidence = 0; // stop on a plateau (see has_plateaued); 0: do not
  bool transfer = true;          // earlier results of the kernel elsewhere guide the search
  std::string technique = "ensemble";
  std::uint64_t seed = 1;
  int finalists = 5; // re-measured, interleaved with the raw kernel
  // Configurations measured together at most; on a GPU as many again compile meanwhile (tuner/search/pace.h).
  std::size_t batch = 16;
  unsigned choosing_threads = 1; // SearchOptions::threads
  bool profile = true;           // counters of the raw kernel and of the winner, where the device gives them
  // Also where the winner is not far from the copy's speed; of a problem that is not searched they are not
  // read then.
  bool profile_near_copy = true;
  std::optional<Profile> raw_profile; // the raw kernel's, where they have been read already
  // Stays where the search finds nothing more within reach of its best: nothing is compared again then.
  std::optional<StandingResult> standing;
  double counters_seconds = 0; // of reading the counters of everything that ran, after the search
  // The default configuration compiles to the raw kernel's machine code: what it differs by is noise.
  bool default_is_raw_code = false;
  MeasureOptions measure;
};

struct SessionProgress {
  int evaluated = 0, planned = 0, failed = 0;
  double best_us = 0, raw_us = 0, copy_floor_us = 0;
  double seconds = 0; // since the session began
  int fresh = 0;      // evaluated in this session, for the rate
};

struct SessionResult {
  StoredWinner winner;
  SessionProgress progress;
  double search_seconds = 0; // of progress.seconds, until the last evaluation
  std::map<Outcome, int> failures;
  std::map<Outcome, std::string> failure_example;
  bool interrupted = false, exhausted = false;
  bool plateaued = false;
  RemainingGap remaining_gap;  // of the search, by the times it saw
  std::string guided_by;       // whose earlier results guided the search, or empty
  bool default_kept = false;   // no configuration beat the raw kernel beyond the noise band
  std::string default_problem; // why the default configuration could not be used, or empty
  std::vector<std::string>
      rejected;                // finalists that failed when they were measured beside the raw kernel: why
  std::string reference_check; // what came of the CPU reference
  std::optional<Profile> raw_profile, winner_profile;
  std::string profile_problem; // why there are no counters, or empty
  double profile_seconds = 0;  // of reading them
  PipelineLoad load;           // the search's own part of it
  CounterReading counters;     // of what ran, where they were asked for
};

using ProgressCallback = std::function<void(const SessionProgress&)>;

// The space of the workload: the knobs' values, with each default added where the list lacks it, under the
// specification's conditions.
Result<Space> workload_space(const Workload& workload, const KnobValues& defaults);

// The store's key for the workload on the backend's device.
StoreKey store_key(const Workload& workload, const DeviceInfo& device);

// Searches and records a winner. Everything recorded before an interruption is kept and used by the next call
// with the same key. `stop` is polled between batches.
Result<SessionResult> tune_workload(const Workload& workload, Backend& backend, Store& store,
                                    const SessionOptions& options, const std::atomic<bool>& stop,
                                    const ProgressCallback& progress);

// Whether the winner takes more than 1.3 times as long as a copy of the same bytes, which wants an
// explanation.
bool is_far_from_copy(const StoredWinner& winner);

// What is tried on a problem that is not searched.
struct Candidates {
  std::vector<KnobValues> winners; // of the searched problems: all of them are tried
  std::vector<KnobValues> further; // tried in this order while SessionOptions::seconds last
};

// Compares given configurations (the nearest valid ones where this workload does not admit them) with the raw
// kernel on a workload that is not searched, and records the best of them, or the default where none gains
// beyond the noise. Where what is best is far from a copy's speed, counters are read.
Result<SessionResult> assess_workload(const Workload& workload, Backend& backend, Store& store,
                                      const Candidates& candidates, const SessionOptions& options,
                                      const std::atomic<bool>& stop);

} // namespace lathe
