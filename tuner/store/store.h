// The results store: SQLite, one transaction an evaluation. `kill -9` at any moment loses at most what was in
// flight.
#pragma once

#include "tuner/base/result.h"
#include "tuner/measure/measure.h"
#include "tuner/spec/spec.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe {

// What a result belongs to. A changed template never reuses old results in silence: its hash is part of the
// key.
struct StoreKey {
  std::string kernel; // TuningSpec::name
  std::string template_hash;
  std::string workload; // Workload::key()
  std::string device;   // DeviceInfo::name
  std::string driver, toolkit;
};

struct StoredEvaluation {
  KnobValues knobs;
  Measurement measurement;
  std::string author;                  // technique
  std::string timestamp;               // ISO 8601, UTC; the store fills in an empty one
  std::vector<std::string> knob_names; // of `knobs`, in order; filled in when read
};

// The evaluation's values in the order of `names`; nothing when it lacks one or has others: the
// specification's knobs may have changed since without a change of the template.
std::optional<KnobValues> knobs_in_order(const StoredEvaluation& evaluation,
                                         const std::vector<std::string>& names);

struct StoredWinner {
  StoreKey key;
  KnobValues knobs;
  std::vector<std::string> knob_names;
  Comparison comparison;
  double copy_floor_us = 0;
  int evaluations = 0;
  double seconds = 0;
  std::string protocol, timestamp, lathe_version;
  bool is_host = false;
  std::string architecture; // "sm_90"
  Problem problem;
  std::map<std::string, std::string> types;
};

// Counters of one launch.
struct StoredProfile {
  std::optional<KnobValues> knobs; // nothing: the raw kernel
  std::vector<std::string> knob_names;
  Profile profile;
  std::string timestamp; // as in StoredEvaluation
};

// One file in SQLite's format with a rollback journal and full synchronisation: a transaction that record()
// returned from is on the disk, a killed writer's half-written one is undone by the next to open the file,
// and the file alone is the whole store (it can be copied, and lies on network folders, where write-ahead
// logs do not work). Several processes may have it open; a writer waits for another up to a minute. Safe to
// use from several threads.
class Store {
public:
  // Creates the file and its folder when missing. Errors: read-only folder, full disk, not a database,
  // corrupted (names the file and how to set it aside), a newer schema version.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& path);
  virtual ~Store() = default;

  // All of them or, where it fails, none: in one transaction, which waits for the disk once.
  virtual Status record_all(const StoreKey& key, const std::vector<std::string>& knob_names,
                            std::span<const StoredEvaluation> evaluations) = 0;
  Status record(const StoreKey& key, const std::vector<std::string>& knob_names,
                const StoredEvaluation& evaluation) {
    return record_all(key, knob_names, {&evaluation, 1});
  }
  virtual Result<std::vector<StoredEvaluation>> evaluations(const StoreKey& key) = 0;
  virtual Status record_profile(const StoreKey& key, const StoredProfile& profile) = 0;
  virtual Result<std::vector<StoredProfile>> profiles(const StoreKey& key) = 0; // oldest first
  virtual Status record_winner(const StoredWinner& winner) = 0; // replaces the key's previous one
  virtual Result<std::vector<StoredWinner>>
  winners(const std::string& kernel) = 0; // every device and problem
  // The kernels that have evaluations or a winner, oldest first.
  virtual Result<std::vector<std::string>> kernels() = 0;
  // The keys under which the kernel has evaluations or a winner, oldest first: for transfer and for telling a
  // stale template.
  virtual Result<std::vector<StoreKey>> keys(const std::string& kernel) = 0;
};

// $LATHE_RESULTS, else ./lathe-results/results.sqlite
std::filesystem::path default_store_path();

} // namespace lathe
