// The raw kernel's side of the differential check: at which sizes it runs clean, what it gives there, and
// what its runs show of it (races of its own, inputs that it takes, outputs that it leaves out).
#pragma once

#include "refactor/guard/checks.h"
#include "refactor/guard/demands.h"
#include "refactor/guard/reach.h"
#include "refactor/guard/run_plan.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor {

// The seed of a task's data. 0: of the data that every configuration sees.
std::uint64_t trial_seed(const JudgedPair& subject, std::size_t index);

class RawSizes {
public:
  using Types = std::map<std::string, std::string>; // of type parameters
  using Deadline = std::chrono::steady_clock::time_point;

  // Refers to what it is given; `raw` may be compiled later.
  RawSizes(const JudgedPair& subject, const HostKernels& raw, int jobs, Deadline deadline);

  // Which of the candidate sizes for `configurations` the raw kernel runs clean at. Says in `findings` what
  // is left out, and that there is no size, where there is none.
  void look_for(const Types& types, const std::vector<const Configuration*>& configurations,
                Findings& findings);
  // More sizes for the same types, those included at which a run takes long: for code that no other reaches.
  void look_further(const std::vector<const Configuration*>& configurations);
  // Runs the raw kernel at `workloads` and keeps those at which it runs clean; which they are. `brief`: with
  // the fewest runs; `for_all`: beside the sizes of all configurations.
  std::vector<const ReferenceRuns*> run_more(const std::vector<std::shared_ptr<const Workload>>& workloads,
                                             bool brief, bool for_all) {
    return run_more(workloads, brief, for_all ? clean_ : asked_for_);
  }

  const HostKernels& kernels() const { return raw_; }
  const RunPlan::Shapes& clean() const { return clean_; }
  const RunPlan::Shapes& further() const { return further_; }
  std::size_t count() const; // of the clean ones
  const ShapeLimits& limits() const { return limits_; }
  const RawParameters& parameters() const { return parameters_; }
  // Beside what the specification says.
  const AcceptedInputs& accepted(const Types& types) const { return accepted_.at(types); }
  const Reach& reach() const { return reach_; }
  bool depends_on_order() const { return order_seen_; }
  bool has_races() const { return !races_.empty(); }
  // At how many sizes the raw kernel has a race in a place, between blocks or not.
  std::size_t sizes_with_race(const std::string& place, bool between_blocks) const;
  bool writes() const { return writes_; } // anything, in any run
  // Where it does not run clean, and why; "" where it did everywhere.
  const std::string& first_unclean() const { return first_unclean_; }

  // What the runs showed of the raw kernel itself.
  void report(Findings& findings) const;

private:
  struct Tally {
    std::size_t tried = 0, unclean = 0, unended = 0;
    std::string first_problem;
  };
  void run(const Types& types, std::vector<std::shared_ptr<const Workload>> shapes, Tally& tally);
  void run_with_own_sizes(const Types& types, const std::vector<std::shared_ptr<const Workload>>& tried,
                          Tally& tally);
  void run_near_problems(const Types& types, Tally& tally);
  std::vector<std::shared_ptr<const Workload>> sizes_like_problems(const Types& types) const;
  void keep(std::unique_ptr<ReferenceRuns> runs, const Types& types);
  void note_unwritten(const ReferenceRuns& runs);
  // Beside sizes at which blocks write over each other, those with rows that lie apart.
  void run_with_rows_apart(const Types& types, Tally& tally);
  void leave_out_overlaps(const Types& types, Findings& findings);
  void find_accepted(const Types& types, Findings& findings);
  std::vector<const ReferenceRuns*> run_more(const std::vector<std::shared_ptr<const Workload>>& workloads,
                                             bool brief, RunPlan::Shapes& kept);

  const JudgedPair& subject_;
  const HostKernels& raw_;
  int jobs_;
  Deadline deadline_;
  RawParameters parameters_;
  std::set<std::size_t> nullable_; // parameters whose argument may be a null pointer
  std::set<std::size_t> compared_; // real parameters that something is compared with
  std::set<std::size_t> unused_;   // parameters that neither kernel's code has a use for
  ShapeLimits limits_;
  RunPlan::Shapes clean_, further_;
  RunPlan::Shapes asked_for_; // on behalf of one configuration
  std::map<Types, std::vector<std::shared_ptr<const Workload>>> slow_;
  std::map<Types, AcceptedInputs> accepted_;
  std::map<std::pair<std::string, bool>, std::size_t> races_; // by place and scope: at how many sizes
  Reach reach_;
  std::string first_unclean_;
  bool order_seen_ = false, race_seen_ = false, writes_ = false;
  std::map<std::string, std::vector<std::string>> unwritten_; // where, by output
  std::set<std::pair<std::string, std::string>> in_place_;
};

} // namespace lathe::refactor
