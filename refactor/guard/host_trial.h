// One run of one kernel on the host executor, with everything watched: guard bands, inputs, accesses.
#pragma once

#include "refactor/guard/integer_data.h"
#include "refactor/guard/subject.h"
#include "tuner/measure/host_executor/host_executor.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor {

class TrialMemory;

// What inputs hold.
enum class Data {
  usual,      // the specification's fill
  infinities, // that with special values strewn in
  nans,
  one_range,    // that with offsets of which one range holds everything and the others are empty
  inner_ranges, // that with offsets that begin behind the first element and end before the last
  // In place of numbers around zero:
  zeros,
  far,     // from zero, each buffer on one side of it: exponentials vanish there, or overflow
  tails,   // so far from zero, on one side, that functions are near their limits and not yet at them
  wide,    // so far from each other that exponentials of differences overflow
  huge,    // squares overflow, sums do not
  largest, // sums overflow; above zero, so that in which order does not matter
  tiny,    // squares vanish
  coarse,  // halves, the numbers among the arguments and TrialSettings::numbers, with ties and zeros of both
           // signs, all of one sign or not: what rounding and comparing decide
  opposed, // whole numbers with zeros among them, or as in `wide`, in one input, beside infinities in others
  ties,    // single precision half way between two numbers of 16 bits
  sparse,  // zeros, with few of the specification's numbers among them
  sparse_nans, // zeros, with few NaN among them
  masked,      // the specification's, with long stretches of -infinity: whole rows, or a buffer
};

// What real numbers among the arguments are.
enum class RealScalars {
  usual, // the specification's
  other, // of the same order
  one,
  zero,
  negated,
  tiny, // squares vanish
};

// What strides and divisors among the arguments are; see strides.h.
enum class Layout {
  usual, // the specification's
  strides_apart,
  strides_odd,
  rows_repeated,
  other_divisors,
};

struct TrialSettings {
  std::uint64_t seed = 1;
  Data data = Data::usual;
  std::map<std::size_t, IntegerFill> integers; // of buffers, by index, that do not hold the usual ones
  std::size_t poison = 0;                      // index into POISONS
  bool other_scratch = false; // shared and the threads' own memory begin with the other poison
  // Not 0: inputs of single and double precision with normal or uniform fills hold a neighbour of each
  // number, drawn by it.
  std::uint64_t nudge = 0;
  // Of a run of the raw kernel on the same data: what it did not read of inputs holds a poison.
  const std::vector<BufferAccess>* read_by_raw = nullptr;
  HostSchedule schedule = HostSchedule::forward;
  std::uint64_t order = 0;                  // which of the schedules that the seed draws, on the same data
  std::size_t misalignment = 0;             // elements by which buffers are moved off their natural alignment
  std::set<std::size_t> misaligned_buffers; // the only ones that are moved; none: all are
  bool record_accesses = false;
  bool find_races = false;
  bool equal_writes_race = false;     // HostRunOptions::equal_writes_race
  bool reverse_blocks = false;        // the last block first
  bool shuffle_blocks = false;        // blocks in an order by the seed and `order`
  bool barriers_by_count = false;     // HostRunOptions::barriers_by_count
  bool parts_of_active_lanes = false; // HostRunOptions::parts_of_active_lanes
  Layout layout = Layout::usual;      // another one: on the workload of ReferenceRuns::layouts
  bool again = false;                 // behind another run, whose variables that outlive a launch are there
  bool other_switches = false;        // truth values among the arguments are the other one
  RealScalars real_scalars = RealScalars::usual;
  std::map<std::size_t, std::int64_t> integer_scalars; // by parameter, of those that are not the usual ones
  // Two buffers, by index, that share memory: the first's, which holds what the second's would.
  std::optional<std::pair<std::size_t, std::size_t>> shared_buffers;
  // Parameters of the kernel that get a null pointer where the specification has memory for them, and memory
  // where it has a null pointer.
  std::set<std::size_t> turned_pointers;
  // By parameter, before what is said of all of them:
  std::set<std::size_t> switched; // truth values that are the other one
  std::map<std::size_t, RealScalars> real_scalars_of;
  std::map<std::size_t, double> real_numbers; // just these
  std::vector<double> numbers;                // above zero, that coarse data hold too, twice and half of them
  double time_limit_s = 20;
  std::uint64_t work_limit = 0; // HostRunOptions::work_limit

  // Whether every argument beside the data is the specification's.
  bool has_usual_arguments() const;
  bool operator==(const TrialSettings&) const = default;
};

struct TrialResult {
  bool clean = false;  // ran to its end, stayed inside its buffers, changed no input
  std::string problem; // when not
  bool out_of_time = false;
  bool is_cut_short = false; // by the limit on work; neither clean nor a problem
  bool wrote = false;        // something else than was there, into an output
  std::vector<std::vector<std::byte>>
      contents;                       // of each output of the workload, afterwards; of an input nothing
  std::vector<BufferAccess> accesses; // by buffer argument, where they were recorded
  std::vector<HostRace> races;        // where they were looked for
  std::uint64_t fences = 0;           // there too, as HostRunResult has them
  std::string unfenced;
  std::vector<HostLoop> loops; // there, too
  std::vector<bool> reached;   // HostKernel::places() that have run
  double seconds = 0;          // of the kernel alone
  std::uint64_t work = 0;      // HostRunResult::work
};

struct Trial {
  const HostKernel* kernel = nullptr;
  const Launch* launch = nullptr;
  const Workload* workload = nullptr;
  TrialSettings settings;
  TrialMemory* memory = nullptr; // where its result may be known from, and is kept
};

// In one child process as long as that survives; results in order. Where one of them follows another run, all
// are made, whatever is remembered.
std::vector<TrialResult> run_trials(const std::vector<Trial>& trials);

// Pairs of buffers of one type and size that a caller may give the same memory: a result in place of an
// input, where neither parameter of the raw kernel promises otherwise by __restrict__.
std::vector<std::pair<std::size_t, std::size_t>> shareable_buffers(const Workload& workload,
                                                                   const std::vector<bool>& is_restrict);
bool is_real_scalar(const Workload::Parameter& parameter);
bool is_truth_value(const Workload::Parameter& parameter); // an argument that is true or false
// Whether an argument is a real number.
bool has_real_scalars(const Workload& workload);
bool has_switches(const Workload& workload);
// Whether an input holds offsets of ranges.
bool has_offsets(const Workload& workload);

} // namespace lathe::refactor
