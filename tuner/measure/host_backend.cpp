// The backend for machines without a GPU: configurations run on the host executor. Its times say nothing
// about a GPU.
#include "tuner/measure/cpu_reference.h"
#include "tuner/measure/fill.h"
#include "tuner/measure/host_executor/host_executor.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/statistics.h"
#include "tuner/measure/verify.h"

#include "tuner/base/files.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

namespace lathe {
namespace {

// Problems beyond this would take the host minutes a run.
constexpr std::uint64_t largest_problem_bytes = std::uint64_t{4} << 30;
// A configuration this much slower than the best is timed no further.
constexpr double clearly_beaten = 1.5;
constexpr double seconds_to_us = 1e6;

std::string processor_name() {
  std::ifstream information("/proc/cpuinfo");
  for (std::string line; std::getline(information, line);)
    if (line.starts_with("model name"))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown processor";
}

std::span<const std::byte> bytes_of(const HostBuffer& buffer) {
  return {buffer.data(), buffer.size()};
}

class HostBackend final : public Backend {
public:
  HostBackend() {
    device_.name = "host executor (" + processor_name() + ")";
    device_.is_host = true;
    device_.driver_version = "none";
  }

  const DeviceInfo& device() const override { return device_; }
  std::string_view protocol() const override {
    return "host executor: CPU time of the kernel compiled as C++, median of repeated runs; not a GPU time";
  }

  using Backend::prepare;
  Status prepare(const Workload& workload, const MeasureOptions& options,
                 std::span<const KnobValues> coming) override;
  const Timing& raw_timing() const override { return raw_timing_; }
  double copy_floor_us() const override { return 0; } // a CPU copy says nothing about the kernel's floor
  const std::string& reference_check() const override { return reference_check_; }
  Result<std::vector<Measurement>> evaluate(std::span<const KnobValues> configurations,
                                            double incumbent_us) override;
  Result<Comparison> compare(const KnobValues& configuration, double ratio_to_beat) override;
  Result<Profile> profile(const std::optional<KnobValues>& /*configuration*/) override {
    return Error{"cannot profile", "the host executor has no counters", "run on a GPU"};
  }

private:
  // The outputs of one run under one poison, one entry a buffer; empty for inputs.
  using Outputs = std::vector<std::vector<std::byte>>;

  HostCompileOptions compile_options(const KernelSource& source, bool sanitize) const;
  HostRunOptions run_options(int schedule) const;
  Status allocate();
  void refill(std::byte poison);
  Result<HostRunResult> run_on_fresh_inputs(const HostKernel& kernel, const Launch& launch, int schedule,
                                            std::byte poison);
  // Runs once under each poison; an outcome other than ok is left in `measurement`.
  bool run_verified(const HostKernel& kernel, const Launch& launch, int schedule, Outputs (&outputs)[2],
                    Measurement& measurement);
  void judge(const Outputs (&outputs)[2], Measurement& measurement) const;
  bool is_unordered(std::size_t buffer) const {
    return std::ranges::find(options_.unordered, workload_->buffers[buffer].name) != options_.unordered.end();
  }
  Result<double> sample_us(const HostKernel& kernel, const Launch& launch);
  void time(const HostKernel& kernel, const Launch& launch, double incumbent_us, Measurement& measurement);
  void measure(const HostKernel& kernel, const Launch& launch, double incumbent_us, Measurement& measurement);

  DeviceInfo device_;
  const Workload* workload_ = nullptr;
  MeasureOptions options_;
  std::string template_text_;
  std::vector<HostBuffer> buffers_;
  std::vector<std::vector<std::byte>> filled_; // what each buffer holds before a run
  std::vector<HostArgument> arguments_;
  std::optional<HostKernel> raw_;
  Launch raw_launch_;
  Outputs reference_[2];
  Timing raw_timing_;
  CpuReferences references_;
  std::string reference_check_;
};

HostCompileOptions HostBackend::compile_options(const KernelSource& source, bool sanitize) const {
  HostCompileOptions options;
  options.sanitize = sanitize;
  options.compile_options = source.compile_options;
  options.include_folders = options_.include_folders;
  options.include_folders.push_back(source.file.parent_path().string());
  if (!options_.cache_folder.empty())
    options.cache_folder = options_.cache_folder + "/host";
  return options;
}

// Verified runs take another order of the threads each, timed ones the plain one.
HostRunOptions HostBackend::run_options(int schedule) const {
  static constexpr HostSchedule orders[] = {HostSchedule::forward, HostSchedule::reverse,
                                            HostSchedule::interleaved, HostSchedule::random};
  HostRunOptions options;
  options.schedule = orders[std::min(schedule, 3)];
  options.seed = options_.seed + static_cast<std::uint64_t>(schedule);
  options.time_limit_s = options_.time_limit_s;
  return options;
}

Status HostBackend::allocate() {
  buffers_.clear();
  filled_.clear();
  arguments_.clear();
  std::uint64_t total = 0;
  for (const Workload::Buffer& buffer : workload_->buffers)
    total += buffer.count * static_cast<std::uint64_t>(dtype_size(buffer.dtype));
  if (total > largest_problem_bytes)
    return Error{"cannot run " + workload_->key() + " on the host executor",
                 "it needs " + std::to_string(total >> 20) + " MiB of buffers",
                 "tune it on a GPU, or choose a smaller problem"};
  for (std::size_t i = 0; i < workload_->buffers.size(); ++i) {
    const Workload::Buffer& buffer = workload_->buffers[i];
    const std::size_t size = buffer.count * static_cast<std::size_t>(dtype_size(buffer.dtype));
    LATHE_TRY(HostBuffer memory, HostBuffer::allocate(size));
    filled_.emplace_back(size);
    fill_buffer(plan_fill(buffer, options_.seed, i), filled_.back());
    buffers_.push_back(std::move(memory));
  }
  for (const Workload::Parameter& parameter : workload_->parameters) {
    if (parameter.is_null) {
      arguments_.emplace_back();
      continue;
    }
    if (parameter.is_buffer) {
      arguments_.push_back(
          HostArgument::of(buffers_[parameter.buffer], workload_->buffers[parameter.buffer].name));
      continue;
    }
    LATHE_TRY(HostArgument scalar, HostArgument::scalar(parameter.dtype, parameter.value));
    arguments_.push_back(std::move(scalar));
  }
  return Done{};
}

void HostBackend::refill(std::byte poison) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (workload_->buffers[i].direction == Direction::out)
      std::fill_n(buffers_[i].data(), buffers_[i].size(), poison);
    else
      std::memcpy(buffers_[i].data(), filled_[i].data(), filled_[i].size());
    buffers_[i].reset_guards();
  }
}

Result<HostRunResult> HostBackend::run_on_fresh_inputs(const HostKernel& kernel, const Launch& launch,
                                                       int schedule, std::byte poison) {
  for (bool is_second = false;; is_second = true) {
    refill(poison);
    LATHE_TRY(HostRunResult result, kernel.run_isolated(launch, arguments_, run_options(schedule)));
    // A process that left no note of its end was killed by somebody else, such as a machine short of memory.
    if (result.outcome != Outcome::crashed || is_second)
      return result;
  }
}

bool HostBackend::run_verified(const HostKernel& kernel, const Launch& launch, int schedule,
                               Outputs (&outputs)[2], Measurement& measurement) {
  const auto fail = [&](Outcome outcome, std::string reason) {
    measurement.outcome = outcome;
    measurement.reason = std::move(reason);
    return false;
  };
  for (std::size_t p = 0; p < 2; ++p) {
    auto result = run_on_fresh_inputs(kernel, launch, schedule, POISONS[p]);
    if (!result.ok())
      return fail(Outcome::resource_limit, result.error().sentence());
    if (result->outcome != Outcome::ok)
      return fail(result->outcome, result->reason);
    outputs[p].assign(buffers_.size(), {});
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Workload::Buffer& buffer = workload_->buffers[i];
      if (const auto damage = buffers_[i].damage())
        return fail(Outcome::wrong_result, "it wrote outside " + buffer.name + ", at byte " +
                                               std::to_string(*damage) + " of " +
                                               std::to_string(buffers_[i].size()));
      if (buffer.direction == Direction::in) {
        if (std::memcmp(buffers_[i].data(), filled_[i].data(), filled_[i].size()) != 0)
          return fail(Outcome::wrong_result, "it changed its input " + buffer.name);
        continue;
      }
      const auto content = bytes_of(buffers_[i]);
      outputs[p][i].assign(content.begin(), content.end());
    }
  }
  return true;
}

void HostBackend::judge(const Outputs (&outputs)[2], Measurement& measurement) const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Workload::Buffer& buffer = workload_->buffers[i];
    if (buffer.direction == Direction::in)
      continue;
    const auto dtype = element_type(buffer.dtype).value_or(element::u8);
    const Tolerance tolerance = tolerance_for(workload_->spec->tolerances, buffer.dtype);
    const double size = magnitude(dtype, reference_[0][i], reference_[1][i]);
    const double reordering = reordering_share(buffer.dtype, operations_an_output(*workload_));
    const element::ErrorRule rule{dtype, tolerance.relative, tolerance.absolute + reordering * size, size};
    for (std::size_t p = 0; p < 2; ++p) {
      const BufferDifference difference = is_unordered(i)
                                              ? compare_sets(dtype, outputs[p][i], reference_[p][i])
                                              : compare_buffers(rule, outputs[p][i], reference_[p][i]);
      measurement.error = std::max(measurement.error, difference.error);
      if (difference.acceptable())
        continue;
      measurement.outcome = Outcome::wrong_result;
      if (is_unordered(i)) {
        measurement.reason = describe_other_set(buffer.name);
        return;
      }
      measurement.reason = describe_difference(
          buffer.name, dtype, difference, element::load(dtype, outputs[p][i].data(), difference.first),
          element::load(dtype, reference_[p][i].data(), difference.first), buffer.count, POISONS[p]);
      measurement.reason += reordering_hint(dtype, difference, buffer.count, reordering);
      return;
    }
  }
}

Result<double> HostBackend::sample_us(const HostKernel& kernel, const Launch& launch) {
  LATHE_TRY(const HostRunResult result, run_on_fresh_inputs(kernel, launch, 0, POISONS[0]));
  if (result.outcome != Outcome::ok || result.seconds.empty())
    return Error{"a timed run failed", result.reason, ""};
  return result.seconds.front() * seconds_to_us;
}

void HostBackend::time(const HostKernel& kernel, const Launch& launch, double incumbent_us,
                       Measurement& measurement) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<double> samples;
  while (static_cast<int>(samples.size()) < options_.max_samples) {
    const auto sample = sample_us(kernel, launch);
    if (!sample.ok()) {
      measurement.outcome = Outcome::runtime_error;
      measurement.reason = sample.error().sentence();
      return;
    }
    samples.push_back(*sample);
    measurement.timing = timing_of(samples);
    const bool enough = static_cast<int>(samples.size()) >= options_.min_samples;
    if (incumbent_us > 0 && samples.size() >= 2 &&
        *std::min_element(samples.begin(), samples.end()) > clearly_beaten * incumbent_us) {
      measurement.timing.stopped_early = true;
      break;
    }
    if (enough && relative_half_width(median_interval(samples)) <= options_.target_interval)
      break;
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (enough && spent > options_.time_limit_s / 4)
      break;
  }
  measurement.run_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void HostBackend::measure(const HostKernel& kernel, const Launch& launch, double incumbent_us,
                          Measurement& measurement) {
  measurement.compile_seconds = kernel.compile_seconds();
  for (int schedule = 0; schedule < std::max(1, options_.schedules); ++schedule) {
    Outputs outputs[2];
    if (!run_verified(kernel, launch, schedule, outputs, measurement))
      return;
    judge(outputs, measurement);
    if (measurement.outcome != Outcome::ok)
      return;
  }
  if (!options_.verify_only)
    time(kernel, launch, incumbent_us, measurement);
}

Status HostBackend::prepare(const Workload& workload, const MeasureOptions& options,
                            std::span<const KnobValues> /*coming*/) {
  workload_ = &workload;
  options_ = options;
  const TuningSpec& spec = *workload.spec;
  if (spec.reference.file.empty())
    return Error{"cannot tune " + spec.name, "the specification names no raw kernel to verify against",
                 "give it a reference"};
  LATHE_CHECK(allocate());
  LATHE_TRY(template_text_, read_file(spec.kernel.file));
  LATHE_TRY(const std::string raw_text, read_file(spec.reference.file));
  LATHE_TRY(const std::string instance, bind_instance(spec.reference, workload, {}));
  LATHE_TRY(raw_launch_, bind_launch(spec.reference.launch, workload, {}));
  LATHE_TRY(HostKernel raw,
            HostKernel::compile(raw_text, instance, compile_options(spec.reference, options_.sanitize),
                                spec.reference.file.string()));
  raw_.emplace(std::move(raw));
  Measurement measurement;
  if (!run_verified(*raw_, raw_launch_, 0, reference_, measurement))
    return Error{"the raw kernel of " + spec.name + " does not run for " + workload.key(), measurement.reason,
                 "check its launch, its buffers' sizes and the problem in the specification"};
  Outputs ordered = reference_[0];
  for (std::size_t i = 0; i < ordered.size(); ++i)
    if (is_unordered(i)) // the CPU reference has an order of its own
      ordered[i].clear();
  LATHE_TRY(reference_check_, references_.check(workload, options_.seed, ordered));
  if (options_.verify_only)
    return Done{};
  time(*raw_, raw_launch_, 0, measurement);
  if (measurement.outcome != Outcome::ok)
    return Error{"cannot time the raw kernel of " + spec.name, measurement.reason, ""};
  raw_timing_ = measurement.timing;
  return Done{};
}

Result<std::vector<Measurement>> HostBackend::evaluate(std::span<const KnobValues> configurations,
                                                       double incumbent_us) {
  if (!workload_)
    return Error{"cannot evaluate", "no workload was prepared", ""};
  const KernelSource& source = workload_->spec->kernel;
  std::vector<Measurement> measured(configurations.size());
  std::vector<std::string> instances;
  std::vector<std::size_t> owners; // of each instance
  std::vector<Launch> launches(configurations.size());
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    auto launch = bind_launch(source.launch, *workload_, configurations[i]);
    auto instance = bind_instance(source, *workload_, configurations[i]);
    if (!launch.ok() || !instance.ok()) {
      measured[i].outcome = Outcome::resource_limit;
      measured[i].reason = launch.ok() ? instance.error().sentence() : launch.error().sentence();
      continue;
    }
    launches[i] = *launch;
    instances.push_back(*instance);
    owners.push_back(i);
  }
  const auto kernels =
      HostKernel::compile_all(template_text_, instances, compile_options(source, options_.sanitize),
                              source.file.string(), options_.jobs);
  double best = incumbent_us;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    Measurement& measurement = measured[owners[k]];
    if (!kernels[k].ok()) {
      measurement.outcome = Outcome::compile_error;
      measurement.reason = kernels[k].error().sentence();
      continue;
    }
    measure(*kernels[k], launches[owners[k]], best, measurement);
    if (measurement.outcome == Outcome::ok && (best == 0 || measurement.timing.median_us < best))
      best = measurement.timing.median_us;
  }
  return measured;
}

Result<Comparison> HostBackend::compare(const KnobValues& configuration, double /*ratio_to_beat*/) {
  if (!workload_)
    return Error{"cannot compare", "no workload was prepared", ""};
  const KernelSource& source = workload_->spec->kernel;
  LATHE_TRY(const Launch launch, bind_launch(source.launch, *workload_, configuration));
  LATHE_TRY(const std::string instance, bind_instance(source, *workload_, configuration));
  LATHE_TRY(const HostKernel kernel,
            HostKernel::compile(template_text_, instance, compile_options(source, options_.sanitize),
                                source.file.string()));
  constexpr int rounds = 15; // of raw, tuned, raw: the two raw runs of a round give the A/A band
  std::vector<double> raw, tuned, ratios, against_itself;
  for (int round = 0; round < rounds; ++round) {
    LATHE_TRY(const double first, sample_us(*raw_, raw_launch_));
    LATHE_TRY(const double middle, sample_us(kernel, launch));
    LATHE_TRY(const double last, sample_us(*raw_, raw_launch_));
    raw.push_back(first);
    raw.push_back(last);
    tuned.push_back(middle);
    ratios.push_back((first + last) / 2 / middle);
    against_itself.push_back(first / last);
  }
  Comparison comparison;
  comparison.raw = timing_of(raw);
  comparison.tuned = timing_of(tuned);
  const MedianInterval ratio = median_interval(ratios), itself = median_interval(against_itself);
  comparison.ratio = ratio.median;
  comparison.ratio_low = ratio.low;
  comparison.ratio_high = ratio.high;
  comparison.noise_band = std::max(itself.high - 1, 1 - itself.low);
  return comparison;
}

} // namespace

Result<std::unique_ptr<Backend>> make_host_backend() {
  if (const Result<std::string> compiler = host_compiler(); !compiler.ok())
    return compiler.error();
  return std::unique_ptr<Backend>(std::make_unique<HostBackend>());
}

} // namespace lathe
