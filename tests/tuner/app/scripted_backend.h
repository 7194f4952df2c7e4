// A small specification, and a backend that answers for it from a script.
#pragma once

#include "tuner/measure/measure.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace lathe {

inline TuningSpec small_spec() {
  TuningSpec spec;
  spec.name = "scale";
  spec.dimensions = {"n"};
  spec.types = {{"T", {"bf16", "f32"}}};
  Knob block;
  block.name = "BLOCK";
  block.values = {Value{std::int64_t{64}}, Value{std::int64_t{256}}};
  block.default_value = *Expression::parse("128");
  spec.knobs = {block};
  spec.conditions = {{*Expression::parse("n % BLOCK == 0"), ""}};
  Argument out;
  out.name = "out";
  out.dtype = "T";
  out.direction = Direction::out;
  out.count = *Expression::parse("n");
  spec.arguments = {out};
  for (const auto& [n, role] : {std::pair{256, ProblemRole::report}, std::pair{512, ProblemRole::tune}}) {
    Problem problem;
    problem.dimensions = {{"n", n}};
    problem.role = role;
    spec.problems.push_back(problem);
  }
  return spec;
}

// A backend whose times follow from the configuration, to test the session's decisions and its resuming: it
// measures nothing and never stands in for one that does.
class ScriptedBackend final : public Backend {
public:
  ScriptedBackend() = default;
  explicit ScriptedBackend(DeviceInfo device) : device_(std::move(device)) {}
  const DeviceInfo& device() const override { return device_; }
  std::string_view protocol() const override { return "scripted"; }
  using Backend::prepare;
  Status prepare(const Workload& workload, const MeasureOptions&,
                 std::span<const KnobValues> coming) override {
    announced.assign(coming.begin(), coming.end());
    if (!unprepared.empty() && workload.key().find(unprepared) != std::string::npos)
      return Error{"cannot prepare " + workload.key(), "the script says so", ""};
    raw_.median_us = 100;
    problem_ = workload.key();
    return Done{};
  }
  const Timing& raw_timing() const override { return raw_; }
  double copy_floor_us() const override { return 0; }
  void announce(std::span<const KnobValues> configurations) override {
    announced_later += static_cast<int>(configurations.size());
  }
  Result<std::vector<Measurement>> evaluate(std::span<const KnobValues> configurations, double) override {
    if (while_evaluating)
      while_evaluating();
    std::vector<Measurement> measured;
    for (const KnobValues& knobs : configurations) {
      ++evaluated;
      asked_for.push_back(knobs);
      Measurement measurement;
      if (std::get<std::int64_t>(knobs[0]) == wrong)
        measurement.outcome = Outcome::wrong_result;
      measurement.timing.median_us = time(knobs);
      measured.push_back(measurement);
    }
    return measured;
  }
  const std::string& reference_check() const override { return reference_check_; }
  Result<Profile> profile(const std::optional<KnobValues>& knobs) override {
    ++profiled;
    std::this_thread::sleep_for(profiling);
    if (counters_denied)
      return Error{"cannot profile", "counters are for administrators", ""};
    Profile profile;
    profile.dram = knobs ? 0.9 : 0.7;
    return profile;
  }
  using Backend::compare;
  Result<Comparison> compare(const KnobValues& knobs, double ratio_to_beat) override {
    ratios_to_beat.push_back(ratio_to_beat);
    std::this_thread::sleep_for(comparing);
    if (std::get<std::int64_t>(knobs[0]) == refused)
      return Error{"cannot compare", "refused beside the raw kernel", ""};
    Comparison comparison;
    comparison.raw.median_us = 100;
    comparison.tuned.median_us = time(knobs);
    ++compared;
    comparison.ratio = 100 / time(knobs);
    if (std::get<std::int64_t>(knobs[0]) == 128)
      comparison.ratio = default_ratio;
    else if (once && compared > 1 + 2) // the default, two finalists, then the confirmation
      comparison.ratio = 1;
    comparison.ratio_low = comparison.ratio - 0.001;
    comparison.ratio_high = comparison.ratio + 0.001;
    comparison.noise_band = noise;
    return comparison;
  }
  double time(const KnobValues& knobs) const {
    if (by_problem)
      return by_problem(problem_, std::get<std::int64_t>(knobs[0]));
    return std::get<std::int64_t>(knobs[0]) == 128 ? 100 : fast;
  }

  int evaluated = 0, compared = 0;
  std::vector<double> ratios_to_beat; // of the comparisons
  std::vector<KnobValues> announced;  // to prepare()
  std::atomic<int> announced_later{0};
  std::function<void()> while_evaluating;
  std::vector<KnobValues> asked_for; // of evaluate(), in order
  std::int64_t wrong = 0, refused = 0;
  std::chrono::milliseconds profiling{0}, comparing{0}; // how long reading counters and comparing take
  bool counters_denied = false;
  int profiled = 0;
  std::string unprepared; // part of the name of problems that cannot be prepared
  double default_ratio = 1;
  bool once = false; // a gain is not seen a second time
  double noise = 0.01, fast = 80;
  std::function<double(const std::string& problem, std::int64_t block)>
      by_problem; // microseconds; or by `fast`

private:
  DeviceInfo device_;
  Timing raw_;
  std::string problem_;
  std::string reference_check_ = "scripted";
};

} // namespace lathe
