// The work of `lathe tune`: the problems of all specifications, shared among devices of one model and, under
// a time budget, by what more searching may still gain.
#pragma once

#include "tuner/app/certificate.h"
#include "tuner/app/general_configuration.h"
#include "tuner/app/selection.h"
#include "tuner/app/time_shares.h"
#include "tuner/app/tuning_session.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lathe {

struct TunedProblem {
  std::string spec, workload;
  ProblemRole role = ProblemRole::tune;
  SessionResult result;
};

struct RunOptions {
  SessionOptions session;
  WorkloadSelection selection;
  double seconds = 1e9; // wall time for everything
  bool general = false; // also look for one configuration for all searched problems of a specification
  // Below this a slice of the time is spent on preparing and comparing.
  double least_slice_s = 10;
  // Called under a lock of the run's own; `again`: a problem that was searched on, and tells better now.
  std::function<void(const TunedProblem&, bool again)> done;
  // Of the first backend's search alone: there is one line for it.
  std::function<void(const std::string& problem, const SessionProgress&)> progress;
  std::function<void(const std::string& problem, const Error&)> failed;
};

class TuningRun {
public:
  // `devices`: backends of one model of device, at least one; several may share a device. Their problems'
  // times go into one body of results.
  TuningRun(std::vector<std::unique_ptr<Backend>> devices, Store& store, RunOptions options,
            const std::atomic<bool>& stop);

  // Reads a specification, asks for its certificate, and queues its problems.
  Status add(const std::string& spec_file);
  // Searches the tune problems, then tries their winners on the others, and on the select ones also what came
  // next to winning. With a time budget every search first gets half of an equal share of what finishing all
  // of them leaves (time_shares.h); the rest goes, slice by slice, to the search whose remaining gap is
  // widest, and in the end to problems whose searched neighbours have other winners by then.
  // Nothing is begun when the time is over, and counters get a small part of it.
  void run();

  // In the order of the specifications and their problems; problems that were not reached are missing.
  std::vector<const TunedProblem*> results() const;
  int unreached() const; // problems that the budget did not suffice for
  // Problems whose counters the budget did not suffice for.
  int without_counters() const;
  const std::vector<GeneralConfiguration>& general() const { return general_; }
  const std::vector<std::string>& failures() const { return failures_; }
  const Backend& first_device() const { return *devices_.front(); }
  PipelineLoad load() const;

private:
  enum class State { waiting, running, done, failed };
  struct Source {
    TuningSpec spec;
    CertificateFacts facts;
  };
  struct Job {
    const Source* source = nullptr;
    Workload workload;
    State state = State::waiting;
    int slices = 0;
    bool is_in_store = false; // an earlier run tried something
    TunedProblem problem;
    std::vector<KnobValues> tried; // the winners that a problem which is not searched was tried with
    bool searched() const { return problem.role == ProblemRole::tune; }
  };

  void work(Backend& device);
  // Asks the store which problems an earlier run reached. What cannot be read there is found out later.
  void look_into_store();
  // The next job for a free device: nothing when there is none now; `finished` when there will be none.
  Job* take(bool& finished);
  Job* most_promising();
  // As the user wants it, with what the kernel's certificate says.
  SessionOptions session_for(const Job& job) const;
  void run_job(Job& job, Backend& device);
  // Of the searched problems that the job's specification has with its types, those that have ended.
  std::vector<const Job*> searched_beside(const Job& job) const;
  std::vector<KnobValues> winners_beside(const Job& job) const;
  // The fastest few of each of the workloads, all first ones first.
  Result<std::vector<KnobValues>> runners_up(const std::vector<const Workload*>& searched,
                                             const DeviceInfo& device) const;
  // Whether winners that it was not tried with have been found since.
  bool is_stale(const Job& job) const;
  std::size_t count(State state, bool searched) const;
  std::size_t count_stale() const;
  // For each specification and choice of types with several winners.
  void find_general();
  // Of jobs that differ by their problem alone. Where another problem's configuration turns out faster than
  // all that a search tried, what is stored is compared with the raw kernel again.
  Status find_general(const std::vector<Job*>& jobs);
  Status compare_again(Job& job, Backend& backend);
  bool has_budget() const;
  bool affords_counters(bool explain) const;
  double seconds_left() const;
  double device_seconds_left() const; // of all devices together
  std::size_t able_to_go_on() const;  // searches that have ended
  bool is_promising(const Job& job) const;
  double slice_seconds(const Job& job) const;

  std::vector<std::unique_ptr<Backend>> devices_;
  Store& store_;
  RunOptions options_;
  const std::atomic<bool>& stop_;
  TimeShares shares_;
  std::list<Source> sources_; // workloads point into them
  std::list<Job> jobs_;
  std::vector<std::string> failures_;
  PipelineLoad search_load_; // of the searches that ended
  std::vector<GeneralConfiguration> general_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_; // of jobs' states and results, and of the callbacks
  std::condition_variable changed_;
};

} // namespace lathe
