// What comes of a configuration at a size: the template's runs on the host executor beside the raw kernel's.
#pragma once

#include "refactor/guard/active_lanes.h"
#include "refactor/guard/missing_barriers.h"
#include "refactor/guard/raw_sizes.h"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace lathe::refactor {

// Safe to call from several threads once it is made.
class TaskJudge {
public:
  // Refers to what it is given. `same_code`: the default's machine code is the raw kernel's.
  // `asks_for_barriers`: races are looked for in every run, since a barrier is missing.
  TaskJudge(const JudgedPair& subject, const RawSizes& raw, const HostKernels& templated, bool same_code,
            bool asks_for_barriers)
      : subject_(subject), raw_(raw), templated_(templated), same_code_(same_code),
        asks_for_barriers_(asks_for_barriers), parts_lanes_(asks_for_active_lanes(subject)) {}

  // Runs the tasks with these indices, all in one child process: the problem of each, or nothing.
  void judge(const std::vector<Task>& tasks, const std::vector<std::size_t>& indices,
             std::vector<std::string>& problems);

  std::size_t runs() const { return runs_; }
  std::size_t identical_runs() const { return identical_; } // bit for bit
  double worst_error() const { return worst_error_; }       // of what is allowed
  bool raw_wrote() const { return raw_wrote_; }             // anything, beside these runs
  const Reach& reach() const { return reach_; }
  const BarrierRuns& barrier_runs() const { return barrier_runs_; }
  const std::vector<std::string>& notes() const { return notes_; } // of what is not demanded

private:
  std::vector<Demand> demands_of_task(const Task& task, std::size_t index, bool has_raw) const;
  bool serves_odd_strides(const Configuration& configuration) const;
  std::set<Layout> served_layouts(const Task& task) const;
  std::shared_ptr<const Configuration> launch_before(const Task& task) const;
  std::string judge_results(const Task& task, const std::vector<Demand>& demands, const TrialResult*& next);
  std::string differs(const Task& task, const Workload& workload, const TrialResult& result,
                      const TrialResult& reference, const TrialSettings& settings);
  std::string lies_elsewhere(const Task& task, const Workload& workload, const TrialResult& result,
                             const TrialResult& reference, const TrialSettings& settings) const;
  std::vector<TrialResult> raw_in_drawn_orders(const Task& task, const TrialSettings& settings) const;
  std::vector<TrialResult> raw_interrupted(const Task& task, const TrialSettings& settings) const;
  bool raw_depends_on_order(const Task& task, const Demand& demand, const TrialResult& reference) const;
  bool raw_depends_on_last_bits(const Task& task, const Demand& demand, const TrialResult& reference,
                                const TrialResult& result) const;
  bool raw_rounds_by_order(const Task& task, const Demand& demand, const TrialResult& reference,
                           const TrialResult& result, const std::string& problem) const;
  std::vector<std::vector<double>> errors_of_raw(const Task& task, const Demand& demand,
                                                 const TrialResult& reference,
                                                 const std::vector<Trial>& trials) const;
  bool lies_no_further(const Task& task, const Demand& demand, const TrialResult& reference,
                       const TrialResult& result, std::vector<std::vector<double>> own, double times) const;
  std::string new_race(const ReferenceRuns& shape, const TrialResult& result,
                       const TrialSettings& settings) const;
  void note(std::string sentence);

  const JudgedPair& subject_;
  const RawSizes& raw_;
  const HostKernels& templated_;
  bool same_code_, asks_for_barriers_;
  bool parts_lanes_; // whether lanes of the template that ask who is there are told some, in some runs
  Reach reach_;
  BarrierRuns barrier_runs_;
  std::mutex mutex_;
  std::atomic<std::size_t> runs_{0};
  std::atomic<bool> raw_wrote_{false};
  std::size_t identical_ = 0;
  double worst_error_ = 0;
  std::vector<std::string> notes_;
};

} // namespace lathe::refactor
