#include "tuner/app/tuning_run.h"

#include <algorithm>
#include <map>
#include <thread>

namespace lathe {
namespace {

constexpr double NO_BUDGET = 1e8; // seconds: nobody means three years
// A gap narrower than this is not worth a slice while others wait; noise bands are as wide.
constexpr double LEAST_GAP = 0.005;

} // namespace

TuningRun::TuningRun(std::vector<std::unique_ptr<Backend>> devices, Store& store, RunOptions options,
                     const std::atomic<bool>& stop)
    : devices_(std::move(devices)), store_(store), options_(std::move(options)), stop_(stop),
      shares_(options_.least_slice_s) {}

Status TuningRun::add(const std::string& spec_file) {
  LATHE_TRY(TuningSpec spec, read_spec(spec_file));
  LATHE_TRY(const CertificateFacts facts, require_certificate(spec, spec_file));
  LATHE_CHECK(warn_of_stale_results(spec, store_));
  sources_.push_back({std::move(spec), facts});
  const Source& source = sources_.back();
  LATHE_TRY(std::vector<Workload> workloads,
            select_workloads(source.spec, options_.selection, devices_.front()->device().limits()));
  for (Workload& workload : workloads) {
    Job job;
    job.source = &source;
    job.problem.spec = source.spec.name;
    job.problem.workload = workload.key();
    job.problem.role = workload.problem.role;
    job.workload = std::move(workload);
    jobs_.push_back(std::move(job));
  }
  return Done{};
}

double TuningRun::seconds_left() const {
  return options_.seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool TuningRun::has_budget() const {
  return options_.seconds < NO_BUDGET;
}

bool TuningRun::affords_counters() const {
  if (!has_budget())
    return true;
  const double spent = options_.seconds - seconds_left();
  return shares_.affords_counters(spent * static_cast<double>(devices_.size()));
}

// Whether more evaluations may tell something of a problem whose search has ended.
bool TuningRun::is_promising(const Job& job) const {
  const SessionResult& result = job.problem.result;
  return job.state == State::done && job.searched() && !result.exhausted && !result.plateaued &&
         result.progress.evaluated < options_.session.evaluations &&
         result.remaining_gap.fraction >= LEAST_GAP;
}

double TuningRun::device_seconds_left() const {
  return seconds_left() * static_cast<double>(devices_.size());
}

// Of one search at this moment, which no longer waits; the caller holds the lock. What is left is shared with
// those that wait, and where nobody does with those that would go on, as many as can.
double TuningRun::slice_seconds() const {
  if (!has_budget())
    return options_.seconds;
  std::size_t searches = 0, assessments = 0;
  for (const Job& job : jobs_)
    if (job.state == State::waiting)
      ++(job.searched() ? searches : assessments);
  if (searches == 0) {
    const auto others = static_cast<std::size_t>(
        std::ranges::count_if(jobs_, [this](const Job& job) { return is_promising(job); }));
    searches = std::min(others, std::max<std::size_t>(1, shares_.able_to_go_on(device_seconds_left())) - 1);
  }
  return shares_.slice(device_seconds_left(), 1 + searches, assessments);
}

// Of the searches that ended, the one with the widest remaining gap.
TuningRun::Job* TuningRun::most_promising() {
  if (!has_budget() || seconds_left() < options_.least_slice_s ||
      shares_.able_to_go_on(device_seconds_left()) == 0)
    return nullptr;
  Job* best = nullptr;
  for (Job& job : jobs_) {
    if (!is_promising(job))
      continue;
    // Fewer slices first among equals, so that a gap which nobody can close does not take the night.
    const auto promise = [](const Job& one) {
      return one.problem.result.remaining_gap.fraction / (1 + one.slices);
    };
    if (!best || promise(job) > promise(*best))
      best = &job;
  }
  return best;
}

TuningRun::Job* TuningRun::take(bool& finished) {
  finished = true;
  if (stop_ || (has_budget() && seconds_left() <= 0))
    return nullptr;
  const auto waits_for_winners = [&](const Job& job) {
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& other) {
      return other.source == job.source && other.searched() &&
             (other.state == State::waiting || other.state == State::running);
    });
  };
  for (const bool searched : {true, false})
    for (Job& job : jobs_)
      if (job.state == State::waiting && job.searched() == searched && (searched || !waits_for_winners(job)))
        return &job;
  if (Job* job = most_promising())
    return job;
  finished = std::none_of(jobs_.begin(), jobs_.end(), [](const Job& job) {
    return job.state == State::waiting || job.state == State::running;
  });
  return nullptr;
}

void TuningRun::run_job(Job& job, Backend& device) {
  SessionOptions session = options_.session;
  std::vector<KnobValues> winners;
  const bool again = job.slices > 0;
  {
    const std::lock_guard lock(mutex_);
    session.seconds = std::min(slice_seconds(), std::max(0.0, seconds_left()));
    session.profile = options_.session.profile && affords_counters();
    for (const Job& other : jobs_)
      if (other.source == job.source && other.searched() && other.state == State::done &&
          other.problem.result.winner.types == job.workload.types &&
          !other.problem.result.winner.knobs.empty())
        winners.push_back(other.problem.result.winner.knobs);
  }
  if (again) { // what the earlier slice came to
    session.raw_profile = job.problem.result.raw_profile;
    session.standing = {job.problem.result.winner, job.problem.result.default_kept};
  }
  session.default_is_raw_code = job.source->facts.default_is_raw_code;
  session.measure.raw_wants_alignment = job.source->facts.raw_wants_alignment;
  const std::string name = job.problem.spec + " " + job.problem.workload;
  const auto progress = [&](const SessionProgress& seen) {
    if (&device == devices_.front().get() && options_.progress)
      options_.progress(name, seen);
  };
  const auto start = std::chrono::steady_clock::now();
  Result<SessionResult> result = job.searched()
                                     ? tune_workload(job.workload, device, store_, session, stop_, progress)
                                     : assess_workload(job.workload, device, store_, winners, session);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::lock_guard lock(mutex_);
  ++job.slices;
  if (result.ok()) {
    shares_.add_counters(result->profile_seconds);
    without_counters_ += options_.session.profile && !session.profile;
    if (job.searched())
      shares_.add_finishing(std::max(0.0, seconds - result->search_seconds));
    else
      shares_.add_assessment(seconds);
    search_load_ += result->load;
    job.problem.result = std::move(*result);
    job.state = State::done;
    if (options_.done)
      options_.done(job.problem, again);
  } else {
    // A search that told something before keeps that.
    job.state = again ? State::done : State::failed;
    failures_.push_back(name + ": " + result.error().sentence());
    if (options_.failed)
      options_.failed(name, result.error());
  }
}

void TuningRun::work(Backend& device) {
  std::unique_lock lock(mutex_);
  while (true) {
    bool finished = false;
    if (Job* job = take(finished)) {
      job->state = State::running;
      lock.unlock();
      run_job(*job, device);
      lock.lock();
      changed_.notify_all();
    } else if (finished) {
      changed_.notify_all();
      return;
    } else {
      changed_.wait(lock);
    }
  }
}

void TuningRun::run() {
  start_ = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < devices_.size(); ++i)
    threads.emplace_back([this, &device = *devices_[i]] { work(device); });
  work(*devices_.front());
  for (std::thread& thread : threads)
    thread.join();
  if (options_.general)
    find_general();
}

void TuningRun::find_general() {
  for (const Source& source : sources_) {
    std::map<std::map<std::string, std::string>, std::vector<const Workload*>> by_types;
    for (const Job& job : jobs_)
      if (job.source == &source && job.searched() && job.state == State::done)
        by_types[job.workload.types].push_back(&job.workload);
    for (const auto& [types, workloads] : by_types) {
      if (workloads.size() < 2)
        continue;
      auto found = find_general_configuration(workloads, *devices_.front(), store_, options_.session, stop_);
      if (!found.ok())
        failures_.push_back(source.spec.name + ", one configuration for all: " + found.error().sentence());
      else if (*found)
        general_.push_back(std::move(**found));
    }
  }
}

int TuningRun::unreached() const {
  return static_cast<int>(
      std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.state == State::waiting; }));
}

std::vector<const TunedProblem*> TuningRun::results() const {
  std::vector<const TunedProblem*> all;
  for (const bool searched : {true, false})
    for (const Job& job : jobs_)
      if (job.state == State::done && job.searched() == searched)
        all.push_back(&job.problem);
  return all;
}

PipelineLoad TuningRun::load() const {
  PipelineLoad sum = search_load_;
  for (const std::unique_ptr<Backend>& device : devices_)
    sum += device->load();
  return sum;
}

} // namespace lathe
