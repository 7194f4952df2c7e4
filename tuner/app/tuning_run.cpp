#include "tuner/app/tuning_run.h"

#include "tuner/app/best_stored.h"

#include <algorithm>
#include <cmath>
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

bool TuningRun::affords_counters(bool explain) const {
  if (!has_budget())
    return true;
  const double spent = options_.seconds - seconds_left();
  return shares_.affords_counters(spent * static_cast<double>(devices_.size()), explain);
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
double TuningRun::slice_seconds(const Job& job) const {
  if (!has_budget())
    return options_.seconds;
  std::size_t searches = count(State::waiting, true);
  // Those that a new winner of this job would be tried on are to come, too.
  const auto assessments = static_cast<std::size_t>(std::ranges::count_if(jobs_, [&](const Job& other) {
    return !other.searched() && (other.state == State::waiting || is_stale(other) ||
                                 (other.state == State::done && other.source == job.source &&
                                  other.workload.types == job.workload.types));
  }));
  if (searches == 0) {
    const auto others = static_cast<std::size_t>(
        std::ranges::count_if(jobs_, [this](const Job& other) { return is_promising(other); }));
    searches = std::min(others, std::max<std::size_t>(1, able_to_go_on()) - 1);
  }
  return shares_.slice(device_seconds_left(), 1 + searches, assessments);
}

std::size_t TuningRun::able_to_go_on() const {
  return shares_.able_to_go_on(device_seconds_left() - shares_.assessing(count_stale()));
}

std::size_t TuningRun::count(State state, bool searched) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      jobs_, [&](const Job& job) { return job.state == state && job.searched() == searched; }));
}

std::size_t TuningRun::count_stale() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(jobs_, [this](const Job& job) { return is_stale(job); }));
}

std::vector<const TuningRun::Job*> TuningRun::searched_beside(const Job& job) const {
  std::vector<const Job*> beside;
  for (const Job& other : jobs_)
    if (other.source == job.source && other.searched() && other.state == State::done &&
        other.workload.types == job.workload.types)
      beside.push_back(&other);
  return beside;
}

std::vector<KnobValues> TuningRun::winners_beside(const Job& job) const {
  std::vector<KnobValues> winners;
  for (const Job* other : searched_beside(job))
    if (const KnobValues& knobs = other->problem.result.winner.knobs; !knobs.empty())
      winners.push_back(knobs);
  return winners;
}

bool TuningRun::is_stale(const Job& job) const {
  return job.state == State::done && !job.searched() && winners_beside(job) != job.tried;
}

Result<std::vector<KnobValues>> TuningRun::runners_up(const std::vector<const Workload*>& searched,
                                                      const DeviceInfo& device) const {
  std::vector<std::vector<Ranked>> best;
  const auto most = static_cast<std::size_t>(std::max(0, options_.session.finalists));
  for (const Workload* workload : searched) {
    LATHE_TRY(best.emplace_back(), best_stored(*workload, device, store_, most));
  }
  std::vector<KnobValues> by_rank;
  for (std::size_t rank = 0; rank < most; ++rank)
    for (const std::vector<Ranked>& of_one : best)
      if (rank < of_one.size())
        by_rank.push_back(of_one[rank].knobs);
  return by_rank;
}

// Of the searches that ended, the one with the widest remaining gap.
TuningRun::Job* TuningRun::most_promising() {
  if (!has_budget() || seconds_left() < options_.least_slice_s || able_to_go_on() == 0)
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
  // What earlier runs did not reach comes first: a budget that ends too early ends somewhere else each time.
  for (const bool searched : {true, false})
    for (const bool in_store : {false, true})
      for (Job& job : jobs_)
        if (job.state == State::waiting && job.searched() == searched && job.is_in_store == in_store &&
            (searched || !waits_for_winners(job)))
          return &job;
  if (Job* job = most_promising())
    return job;
  for (Job& job : jobs_)
    if (is_stale(job) && !waits_for_winners(job))
      return &job;
  finished = std::none_of(jobs_.begin(), jobs_.end(), [](const Job& job) {
    return job.state == State::waiting || job.state == State::running;
  });
  return nullptr;
}

SessionOptions TuningRun::session_for(const Job& job) const {
  SessionOptions session = options_.session;
  session.default_is_raw_code = job.source->facts.default_is_raw_code;
  session.measure.raw_wants_alignment = job.source->facts.raw_wants_alignment;
  session.measure.unordered = job.source->facts.unordered;
  return session;
}

void TuningRun::run_job(Job& job, Backend& device) {
  SessionOptions session = session_for(job);
  Candidates candidates;
  std::vector<const Workload*> neighbours; // whose runners-up are tried, too
  const bool again = job.slices > 0;
  {
    const std::lock_guard lock(mutex_);
    session.profile = options_.session.profile && affords_counters(true);
    session.profile_near_copy = affords_counters(false);
    if (job.searched()) {
      session.seconds = std::min(slice_seconds(job), std::max(0.0, seconds_left()));
    } else {
      candidates.winners = job.tried = winners_beside(job);
      if (has_budget())
        session.seconds = shares_.choosing(device_seconds_left(), 1 + count(State::waiting, false));
      if (job.problem.role == ProblemRole::select && !again)
        for (const Job* other : searched_beside(job))
          neighbours.push_back(&other->workload);
    }
  }
  if (again && job.searched()) { // what the earlier slice came to
    session.raw_profile = job.problem.result.raw_profile;
    session.standing = {job.problem.result.winner, job.problem.result.default_kept};
  }
  const std::string name = job.problem.spec + " " + job.problem.workload;
  const auto progress = [&](const SessionProgress& seen) {
    if (&device == devices_.front().get() && options_.progress)
      options_.progress(name, seen);
  };
  const auto assess = [&]() -> Result<SessionResult> {
    LATHE_TRY(candidates.further, runners_up(neighbours, device.device()));
    return assess_workload(job.workload, device, store_, candidates, session, stop_);
  };
  const auto start = std::chrono::steady_clock::now();
  Result<SessionResult> result =
      job.searched() ? tune_workload(job.workload, device, store_, session, stop_, progress) : assess();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::lock_guard lock(mutex_);
  ++job.slices;
  if (result.ok()) {
    shares_.add_counters(result->profile_seconds);
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

void TuningRun::look_into_store() {
  for (Job& job : jobs_) {
    const auto stored = store_.evaluations(store_key(job.workload, devices_.front()->device()));
    job.is_in_store = stored.ok() && !stored->empty();
  }
}

void TuningRun::run() {
  start_ = std::chrono::steady_clock::now();
  if (has_budget())
    look_into_store();
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
    std::map<std::map<std::string, std::string>, std::vector<Job*>> by_types;
    for (Job& job : jobs_)
      if (job.source == &source && job.searched() && job.state == State::done)
        by_types[job.workload.types].push_back(&job);
    for (const auto& [types, jobs] : by_types)
      if (const Status found = jobs.size() < 2 ? Done{} : find_general(jobs); !found.ok())
        failures_.push_back(source.spec.name + ", one configuration for all: " + found.error().sentence());
  }
}

Status TuningRun::find_general(const std::vector<Job*>& jobs) {
  Backend& backend = *devices_.front();
  const auto fastest_us = [&](const Job& job) -> Result<double> {
    LATHE_TRY(const std::vector<Ranked> best, best_stored(job.workload, backend.device(), store_, 1));
    return best.empty() ? INFINITY : best.front().median_us;
  };
  std::vector<const Workload*> workloads;
  std::vector<double> before;
  for (const Job* job : jobs) {
    workloads.push_back(&job->workload);
    LATHE_TRY(before.emplace_back(), fastest_us(*job));
  }
  LATHE_TRY(auto found,
            find_general_configuration(workloads, backend, store_, session_for(*jobs.front()), stop_));
  if (found)
    general_.push_back(std::move(*found));
  for (std::size_t i = 0; i < jobs.size() && !stop_; ++i) {
    LATHE_TRY(const double now_us, fastest_us(*jobs[i]));
    if (now_us < (1 - LEAST_GAP) * before[i])
      LATHE_CHECK(compare_again(*jobs[i], backend));
  }
  return Done{};
}

Status TuningRun::compare_again(Job& job, Backend& backend) {
  SessionOptions session = session_for(job);
  session.evaluations = 0; // what is stored is compared
  session.raw_profile = job.problem.result.raw_profile;
  LATHE_TRY(SessionResult compared, tune_workload(job.workload, backend, store_, session, stop_, {}));
  if (compared.winner.knobs.empty()) // it was stopped before it came to one
    return Done{};
  SessionResult& result = job.problem.result;
  result.winner = std::move(compared.winner);
  result.default_kept = compared.default_kept;
  result.progress.evaluated = compared.progress.evaluated;
  result.progress.best_us = compared.progress.best_us;
  result.winner_profile = std::move(compared.winner_profile); // the former winner's says nothing of this one
  if (options_.done)
    options_.done(job.problem, true);
  return Done{};
}

int TuningRun::without_counters() const {
  return static_cast<int>(std::ranges::count_if(jobs_, [this](const Job& job) {
    const SessionResult& result = job.problem.result;
    return options_.session.profile && has_budget() && job.state == State::done && !result.raw_profile &&
           result.profile_problem.empty() && (job.searched() || is_far_from_copy(result.winner));
  }));
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
