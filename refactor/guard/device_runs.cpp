#include "refactor/guard/device_runs.h"

#include "refactor/guard/device_sizes.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

namespace lathe::refactor {
namespace {

using Clock = std::chrono::steady_clock;

class DeviceRuns {
public:
  DeviceRuns(const JudgedPair& subject, Backend& backend, const std::vector<std::string>& unordered)
      : subject_(subject), backend_(backend), findings_("device"),
        deadline_(Clock::now() +
                  std::chrono::milliseconds(static_cast<long long>(subject.options.time_limit_s * 1000))) {
    measure_.verify_only = true;
    measure_.seed = subject.seed;
    measure_.jobs = subject.options.jobs;
    measure_.unordered = unordered;
  }

  CheckResult run(const std::vector<Configuration>& ran) {
    for (const DeviceSize& size : boundary_sizes(subject_, ran, backend_.device()))
      run_at(size);
    for (const DeviceSize& size : problem_sizes(subject_, backend_.device()))
      run_at(size);
    return conclude();
  }

private:
  void run_at(const DeviceSize& size) {
    if (subject_.options.stop_at_failure && findings_.failed())
      return;
    if (Clock::now() >= deadline_) {
      ++late_;
      return;
    }
    if (const Status prepared = backend_.prepare(*size.workload, measure_, size.configurations); !prepared) {
      findings_.evidence("left out " + size.workload->key() + ": " + prepared.error().sentence());
      ++(backend_.raw_repeats() ? without_raw_ : unsteady_);
      return;
    }
    const auto measured = backend_.evaluate(size.configurations, 0);
    if (!measured) {
      findings_.undecided("the runs at " + size.workload->key() + " ended: " + measured.error().sentence());
      return;
    }
    for (std::size_t i = 0; i < size.configurations.size(); ++i)
      note(size, size.configurations[i], (*measured)[i]);
    (size.is_problem ? problems_ : sizes_) += 1;
  }

  void note(const DeviceSize& size, const KnobValues& knobs, const Measurement& measurement) {
    switch (measurement.outcome) {
    case Outcome::ok:
      ++runs_;
      identical_runs_ += measurement.error == 0;
      worst_error_ = std::max(worst_error_, measurement.error);
      configurations_.insert(knobs);
      break;
    case Outcome::resource_limit: // the resources check decides what the conditions may admit
      findings_.report("cannot be launched on " + backend_.device().name + ": " + measurement.reason +
                       " at " + size.text(knobs));
      break;
    default:
      findings_.fail(std::string(to_string(measurement.outcome)) + ": " + measurement.reason + " at " +
                     size.text(knobs));
    }
  }

  CheckResult conclude() {
    const std::string& name = backend_.device().name;
    if (late_)
      findings_.evidence(std::to_string(late_) + " sizes were left out for the time limit");
    if (unsteady_)
      findings_.report("the raw kernel itself gives other results from run to run at " +
                       std::to_string(unsteady_) + " sizes on " + name);
    if (without_raw_)
      findings_.report("the raw kernel itself was not run at " + std::to_string(without_raw_) + " sizes on " +
                       name);
    if (runs_ == 0 && unsteady_ == 0 && !findings_.failed())
      findings_.undecided("nothing was run on " + name);
    findings_.evidence("seed " + std::to_string(subject_.seed));
    char error[32];
    std::snprintf(error, sizeof error, "%.2g", worst_error_);
    CheckResult result = findings_.conclude(
        runs_ == 0 ? Verdict::reported : Verdict::tested,
        runs_ == 0 ? "no size says anything on " + name
                   : std::to_string(runs_) + " pairs of " + std::to_string(configurations_.size()) +
                         " configurations with " + std::to_string(sizes_) + " small sizes and " +
                         std::to_string(problems_) + " problems agree with the raw kernel on " + name +
                         " (worst difference " + error + " of what is allowed)");
    result.runs = runs_;
    result.identical_runs = identical_runs_;
    return result;
  }

  const JudgedPair& subject_;
  Backend& backend_;
  Findings findings_;
  Clock::time_point deadline_;
  MeasureOptions measure_;
  std::size_t runs_ = 0, identical_runs_ = 0, sizes_ = 0, problems_ = 0, late_ = 0, unsteady_ = 0,
              without_raw_ = 0;
  double worst_error_ = 0;
  std::set<KnobValues> configurations_;
};

} // namespace

CheckResult check_device(const JudgedPair& subject, const std::vector<Configuration>& ran, Backend& backend,
                         const std::vector<std::string>& unordered) {
  return DeviceRuns(subject, backend, unordered).run(ran);
}

} // namespace lathe::refactor
