// What the raw kernel gives at sizes at which it runs clean: the differential check's reference.
#pragma once

#include "refactor/guard/host_kernels.h"
#include "refactor/guard/host_trial.h"
#include "refactor/guard/strides.h"
#include "refactor/guard/unordered_results.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lathe::refactor {

struct ReferenceRuns {
  std::shared_ptr<const Workload> workload;
  Configuration usual; // the default there
  TrialResult raw[2];  // under either poison; the first with its accesses
  std::optional<TrialResult> infinities, nans, one_range, inner_ranges;
  std::vector<HostRace> races;
  std::vector<bool> unordered; // buffers that depend on the order of threads
  bool depends_on_order = false;
  bool unordered_together = false; // what lies beside each other in them does so in every order
  std::vector<PlacesIn> places_in; // of them, in every order
  // In all orders of threads and blocks that were tried; nothing where these were too few to tell.
  std::optional<ExchangedPlaces> exchanged;
  bool meets_by_count = false; // its threads wait for each other at barriers in different lines
  // It gives the same where threads and blocks are interrupted (HostSchedule::interrupted): asked of kernels
  // with atomic operations.
  bool accepts_interruptions = false;
  bool accepts_warps_in_turn =
      false; // gives the same with one warp after the other: has no race of its own there
  bool misalignment_tried = false, accepts_misalignment = false;
  // Results that may start one element off while inputs do not; none: not known to.
  std::set<std::size_t> misaligned_outputs;
  bool gives_the_same_again = false;    // though it has variables that outlive a launch
  bool accepts_any_block_first = false; // gives the same with the last block first
  std::optional<TrialResult> other_scalars, other_switches;
  // With strides or divisors that are not what they usually are, and what comes of that: nothing where the
  // raw kernel does not accept it.
  struct OtherLayout {
    std::shared_ptr<const Workload> workload;
    std::optional<TrialResult> result;
  };
  std::map<Layout, OtherLayout> layouts;
  // What a run is made on.
  const Workload& workload_of(const TrialSettings& settings) const {
    return settings.layout == Layout::usual ? *workload : *layouts.at(settings.layout).workload;
  }
  // With a result in place of an input, where that is defined: which buffers, and what comes of it.
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, TrialResult>> in_place;
};

// Keeps of every size's pairs in place those that the raw kernel accepts at all sizes: where it accepts one
// only at some, such as a head of one thread, nobody may rely on it.
void keep_pairs_of_all_sizes(std::vector<std::unique_ptr<ReferenceRuns>>& sizes);
// The same for a size that comes later.
void keep_pairs_of(const ReferenceRuns& earlier, ReferenceRuns& size);

// At each workload: its runs, or why there are none ("": it could not be tried at all).
struct ReferenceTrial {
  std::unique_ptr<ReferenceRuns> runs;
  std::string problem;
  bool takes_long = false; // so it was not looked at: others tell as much for less
  bool is_unended = false; // its first run did not end in time, or was not begun
};
// What is known of the raw kernel's parameters.
struct RawParameters {
  std::vector<bool> is_restrict; // of each
  Strides strides;
  bool has_atomics = false; // operations
  bool has_globals = false; // variables that outlive a launch
  // Its barriers are counted by arrivals (HostRunOptions::barriers_by_count): it runs clean no other way.
  bool meets_by_count = false;
};

// What drawn orders of threads, and of blocks where `shuffles_blocks`, differ from a run in: settings of so
// many runs. Of three elements two orders in three are their own inverse: that all drawn ones are is one in a
// hundred.
inline constexpr std::size_t DRAWN_ORDERS = 12;
std::vector<TrialSettings> in_drawn_orders(const TrialSettings& settings, bool shuffles_blocks);

// So many first runs may take until their time limit; larger sizes are then not tried.
constexpr std::size_t MOST_UNENDED = 6;

// Sizes at which a run executes much are left out where enough others are left: by what is executed, not by
// the clock, lest what is looked at follows the machine. `brief`: with fewer kinds of runs.
std::vector<ReferenceTrial> run_reference(const HostKernels& raw, const RawParameters& parameters,
                                          const std::vector<std::shared_ptr<const Workload>>& workloads,
                                          std::uint64_t seed, bool brief, int jobs,
                                          std::chrono::steady_clock::time_point deadline);

} // namespace lathe::refactor
