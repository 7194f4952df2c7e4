#include "tuner/measure/cuda_backend.h"

#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/compile/toolkit.h"
#include "tuner/device/driver.h"
#include "tuner/measure/compile_queue.h"
#include "tuner/measure/cpu_reference.h"
#include "tuner/measure/cuda_protocol.h"
#include "tuner/measure/cuda_setup.h"
#include "tuner/measure/runner_process.h"
#include "tuner/measure/side_runner.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace lathe {
namespace {

// A busy machine compiles slowly, and a batch shares this.
constexpr double LEAST_COMPILE_LIMIT_S = 60;
constexpr std::size_t EARLY_CONFIGURATIONS = 8;
constexpr double TOOL_LIMIT_S = 30;   // to write its report
constexpr double SETUP_LIMIT_S = 300; // context creation, filling many gigabytes, timing the reference

class CudaBackend final : public Backend {
public:
  // `has_tool`: the command starts a tool that starts the runner.
  CudaBackend(std::vector<std::string> runner_command, bool has_tool, const DeviceTurns& turns = {})
      : runner_(runner_command, turns), side_runner_(std::move(runner_command), turns), has_tool_(has_tool) {}

  ~CudaBackend() override {
    side_runner_.stop(); // both at once: each takes its time to die
    if (has_tool_)
      runner_.finish(TOOL_LIMIT_S); // a killed tool would leave the runner alone with its report unwritten
    else
      runner_.stop();
  }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  // Starts the runner, which opens its context meanwhile; whether that worked is seen when it is asked.
  Status warm_up() { return runner_.running() ? Status(Done{}) : runner_.start(); }
  void set_device(DeviceInfo device) { device_ = std::move(device); }

  const DeviceInfo& device() const override { return device_; }
  std::string_view protocol() const override {
    return "CUDA graph replay over rotating buffers, L2 cold by rotation and a read flush, other input "
           "values "
           "and poisoned outputs before every sample, device events inside the graph, median with its 95 % "
           "interval";
  }
  const Timing& raw_timing() const override { return state_.raw; }
  double copy_floor_us() const override { return state_.copy_floor_us; }
  const std::string& reference_check() const override { return reference_check_; }
  bool raw_repeats() const override { return !state_.reference_differs; }

  using Backend::prepare;
  Status prepare(const Workload& workload, const MeasureOptions& options,
                 std::span<const KnobValues> coming) override;
  Result<std::vector<Measurement>> evaluate(std::span<const KnobValues> configurations,
                                            double incumbent_us) override;
  void announce(std::span<const KnobValues> configurations) override;
  Result<Comparison> compare(const KnobValues& configuration, double ratio_to_beat) override;
  Result<Profile> profile(const std::optional<KnobValues>& configuration) override;
  PipelineLoad load() const override;

private:
  CompileRequest request_for(const KernelSource& source, const std::string& text,
                             std::vector<std::string> options) const;
  Result<CompiledKernel> compile_one(CompileRequest request);
  Result<RunnerKernel> compile_configuration(const KnobValues& configuration);
  // Those that can be bound.
  std::vector<PlannedConfiguration> plans_of(std::span<const KnobValues> configurations) const;
  Status check_raw_kernel();
  Result<CompileRequest> own_kernels_request() const;
  RunnerTiming timing(double incumbent_us) const;
  // `first`: for this problem; otherwise a runner that was lost is replaced.
  Status start_runner(bool first);
  // False when the kernel cannot launch; then the measurement says why.
  bool fits(const CompiledKernel& kernel, const Launch& launch, Measurement& measurement) const;
  Status run(const CompiledKernel& kernel, const Launch& launch, double incumbent_us,
             Measurement& measurement);

  DeviceInfo device_;
  RunnerProcess runner_;
  SideRunner side_runner_;
  bool has_tool_ = false;
  CpuReferences references_;
  std::string reference_check_;
  std::unique_ptr<Compiler> compiler_;
  const Workload* workload_ = nullptr;
  MeasureOptions options_;
  std::string kernel_text_; // the template's source
  SetupRequest setup_;
  SetupReply state_;
  CompileQueue queue_;
  PipelineLoad load_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Adds the time of a scope.
class Stopwatch {
public:
  explicit Stopwatch(double& total) : total_(total) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { total_ += seconds_since(start_); }

private:
  double& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

RunnerKernel runner_kernel(const CompiledKernel& kernel, const Launch& launch) {
  return {*kernel.cubin, kernel.cubin_hash, kernel.entry, launch};
}

CompileRequest CudaBackend::request_for(const KernelSource& source, const std::string& text,
                                        std::vector<std::string> options) const {
  CompileRequest request;
  request.source = text;
  request.file_name = source.file.string();
  request.options = source.compile_options;
  for (const std::string& folder : options_.include_folders)
    request.options.push_back("-I" + folder);
  request.options.insert(request.options.end(), options.begin(), options.end());
  request.architecture = device_.architecture();
  return request;
}

Result<CompiledKernel> CudaBackend::compile_one(CompileRequest request) {
  std::vector<CompileOutcome> outcomes = compiler_->compile(std::move(request));
  queue_.forget_under_way(); // it waited for everything
  if (!outcomes[0].ok())
    return Error{outcomes[0].message, "", ""};
  return std::move(outcomes[0].kernel);
}

RunnerTiming CudaBackend::timing(double incumbent_us) const {
  RunnerTiming result;
  result.min_samples = std::max(1, options_.min_samples);
  result.max_samples = options_.max_samples;
  result.target_interval = options_.target_interval;
  result.time_limit_s = options_.time_limit_s;
  // A configuration a thousand times slower than the raw kernel need not be waited for.
  if (state_.raw.median_us > 0)
    result.time_limit_s = std::min(result.time_limit_s, std::max(1.0, 1e-3 * state_.raw.median_us));
  result.incumbent_us = incumbent_us;
  return result;
}

Result<RunnerKernel> CudaBackend::compile_configuration(const KnobValues& configuration) {
  if (!workload_ || !compiler_)
    return Error{"cannot measure", "no problem was prepared", ""};
  LATHE_TRY(const PlannedConfiguration wanted,
            plan_configuration(*workload_, workload_->spec->kernel, configuration));
  CompileRequest request = request_for(workload_->spec->kernel, kernel_text_, wanted.options);
  request.instances = {wanted.instance};
  LATHE_TRY(const CompiledKernel kernel, compile_one(std::move(request)));
  Measurement refused;
  if (!fits(kernel, wanted.launch, refused))
    return Error{"cannot launch " + wanted.instance, refused.reason, ""};
  return runner_kernel(kernel, wanted.launch);
}

Status CudaBackend::start_runner(bool first) {
  if (!runner_.running()) // a second problem needs no new context
    LATHE_CHECK(runner_.start());
  setup_.verify_reference = first;
  setup_.measure = first && !options_.verify_only;
  setup_.launches = first ? 0 : state_.launches;
  setup_.return_outputs =
      first && !workload_->spec->cpu_reference.empty() && CpuReferences::is_small_enough(*workload_);
  const RunnerProcess::Answer answer = runner_.ask(encode(setup_), SETUP_LIMIT_S);
  if (answer.kind != RunnerProcess::Answer::Kind::reply)
    return Error{"cannot prepare " + device_.name,
                 answer.kind == RunnerProcess::Answer::Kind::timeout
                     ? "the runner did not answer within " + std::to_string(static_cast<int>(SETUP_LIMIT_S)) +
                           " s"
                     : "the runner ended with " + answer.ending,
                 "check nvidia-smi and run again"};
  std::optional<SetupReply> reply = decode_setup_reply(answer.reply);
  if (!reply || !reply->ok) {
    runner_.stop();
    state_.reference_differs = reply && reply->reference_differs;
    return Error{"cannot prepare " + workload_->key() + " on " + device_.name,
                 reply ? reply->error : "damaged answer", ""};
  }
  if (first)
    state_ = *reply;
  return Done{};
}

Result<CompileRequest> CudaBackend::own_kernels_request() const {
  LATHE_TRY(const std::filesystem::path utilities, shipped_file("runner/gpu_utilities.cu"));
  CompileRequest request;
  LATHE_TRY(request.source, read_file(utilities));
  request.file_name = utilities.string();
  // The folder as shipped: the file itself may be a link into another one.
  request.options = {"-I" + utilities.parent_path().string(), "--fmad=false",
                     "--split-compile=0"}; // on all cores: everything waits for it
  request.architecture = device_.architecture();
  request.instances = {"lathe_fill"};
  return request;
}

Status CudaBackend::prepare(const Workload& workload, const MeasureOptions& options,
                            std::span<const KnobValues> coming) {
  const Stopwatch watch(load_.prepare_s);
  const bool same_compiler =
      compiler_ && options.cache_folder == options_.cache_folder && options.jobs == options_.jobs;
  workload_ = &workload;
  options_ = options;
  state_ = {};
  side_runner_.forget();
  queue_.cancel(); // announced for a problem that ended before
  LATHE_CHECK(warm_up());
  if (!same_compiler) {
    CompilerOptions compiler_options;
    compiler_options.jobs = options.jobs;
    compiler_options.cache_folder = options.cache_folder;
    compiler_options.time_limit_s = std::max(LEAST_COMPILE_LIMIT_S, options.time_limit_s);
    LATHE_TRY(compiler_, Compiler::create(compiler_options));
  }
  const TuningSpec& spec = *workload.spec;
  LATHE_TRY(kernel_text_, read_file(spec.kernel.file));
  queue_.begin(*compiler_, request_for(spec.kernel, kernel_text_, {}));

  // The raw kernel, or the template at its defaults where a specification has none; and Lathe's own kernels.
  const bool has_reference = !spec.reference.file.empty();
  const KernelSource& source = has_reference ? spec.reference : spec.kernel;
  LATHE_TRY(const KnobValues defaults, default_knobs(workload));
  std::string text = kernel_text_;
  if (has_reference) {
    LATHE_TRY(text, read_file(source.file));
  }
  LATHE_TRY(PlannedConfiguration raw, plan_configuration(workload, source, defaults));
  CompileRequest request = request_for(source, text, raw.options);
  request.instances = {raw.instance};
  LATHE_TRY(CompileRequest own, own_kernels_request());
  const std::uint64_t own_ticket = compiler_->submit(std::move(own)); // both at once
  const std::uint64_t raw_ticket = compiler_->submit(std::move(request));
  // Only so many that compilers are left for what everything waits for.
  const std::span<const KnobValues> early = coming.first(std::min(coming.size(), EARLY_CONFIGURATIONS));
  queue_.submit(plans_of(early));
  CompiledKernel own_kernels, reference;
  for (int missing = 2; missing > 0;) {
    std::optional<Compiler::Finished> finished = compiler_->next();
    if (!finished)
      return Error{"cannot prepare " + workload.key(), "the compile workers lost the raw kernel", ""};
    if (finished->ticket != own_ticket && finished->ticket != raw_ticket) {
      queue_.hand_over(std::move(*finished));
      continue;
    }
    if (!finished->outcome.ok())
      return Error{finished->outcome.message, "", ""};
    --missing;
    (finished->ticket == own_ticket ? own_kernels : reference) = std::move(finished->outcome.kernel);
  }
  queue_.submit(plans_of(coming.subspan(early.size())));
  Measurement refused;
  if (!fits(reference, raw.launch, refused))
    return Error{"the raw kernel cannot be launched on " + device_.name, refused.reason,
                 "tune a smaller problem"};

  LATHE_TRY(setup_, setup_request(workload, options.seed, options.unordered));
  setup_.utilities = *own_kernels.cubin;
  setup_.reference = runner_kernel(reference, raw.launch);
  setup_.timing = timing(0);
  LATHE_CHECK(start_runner(true));
  if (!options.verify_only)
    side_runner_.warm_up(); // not before: contexts that open at once open slowly
  return check_raw_kernel();
}

Status CudaBackend::check_raw_kernel() {
  std::vector<std::vector<std::byte>> outputs(workload_->buffers.size());
  for (std::size_t i = 0; i < state_.outputs.size() && i < outputs.size(); ++i) {
    const auto* bytes = reinterpret_cast<const std::byte*>(state_.outputs[i].data());
    if (!setup_.buffers[i].is_unordered) // the reference has an order of its own
      outputs[i].assign(bytes, bytes + state_.outputs[i].size());
  }
  state_.outputs.clear();
  LATHE_TRY(reference_check_, references_.check(*workload_, options_.seed, outputs));
  return Done{};
}

bool CudaBackend::fits(const CompiledKernel& kernel, const Launch& launch, Measurement& measurement) const {
  measurement.resources = kernel.resources;
  const std::int64_t threads = std::int64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const std::int64_t shared = std::int64_t{kernel.resources.static_shared} + launch.shared_bytes;
  std::string why;
  if (threads > std::min(device_.max_threads_per_block, kernel.resources.max_threads))
    why = std::to_string(threads) + " threads a block, and " +
          std::to_string(std::min(device_.max_threads_per_block, kernel.resources.max_threads)) +
          " are the most";
  else if (shared > device_.shared_per_block_optin)
    why = std::to_string(shared) + " bytes of shared memory, and " +
          std::to_string(device_.shared_per_block_optin) + " are the most";
  else {
    const Occupancy found = occupancy(device_, kernel.resources, static_cast<int>(threads),
                                      static_cast<int>(launch.shared_bytes));
    measurement.occupancy = found.fraction;
    if (found.blocks_per_sm == 0)
      why = "no block fits on a multiprocessor: limited by " + found.limited_by;
  }
  if (why.empty())
    return true;
  measurement.outcome = Outcome::resource_limit;
  measurement.reason = why;
  return false;
}

Status CudaBackend::run(const CompiledKernel& kernel, const Launch& launch, double incumbent_us,
                        Measurement& measurement) {
  if (!runner_.running())
    LATHE_CHECK(start_runner(false));
  EvaluateRequest request{runner_kernel(kernel, launch), timing(incumbent_us), state_.floor_us,
                          options_.verify_only};
  // The runner ends its own waiting first: several waits of one limit each.
  const double limit_s = 6 * request.timing.time_limit_s + 10;
  const RunnerProcess::Answer answer = runner_.ask(encode(request), limit_s);
  load_.device_busy_s += answer.seconds;
  std::optional<EvaluateReply> reply;
  if (answer.kind == RunnerProcess::Answer::Kind::reply)
    reply = decode_evaluate_reply(answer.reply);
  if (reply) {
    measurement.outcome = reply->outcome;
    measurement.reason = reply->reason;
    measurement.timing = reply->timing;
    measurement.error = reply->error;
    measurement.run_seconds = reply->run_seconds;
    load_.runner_s += reply->run_seconds;
    if (reply->last_words)
      runner_.stop();
  } else if (answer.kind == RunnerProcess::Answer::Kind::timeout) {
    measurement.outcome = Outcome::timeout;
    measurement.reason =
        "the runner did not answer within " + std::to_string(static_cast<int>(limit_s)) + " s";
  } else {
    runner_.stop();
    measurement.outcome = Outcome::crashed;
    measurement.reason =
        "the runner ended with " + (answer.ending.empty() ? "a damaged answer" : answer.ending);
  }
  return Done{};
}

Result<std::vector<Measurement>> CudaBackend::evaluate(std::span<const KnobValues> configurations,
                                                       double incumbent_us) {
  if (!workload_ || !compiler_)
    return Error{"cannot measure", "no problem was prepared", ""};
  const Stopwatch watch(load_.evaluate_s);
  std::vector<Measurement> measurements(configurations.size());
  std::vector<PlannedConfiguration> plans;
  std::map<std::string, std::vector<std::size_t>> members; // of what is evaluated, by its code
  std::vector<std::size_t> place;                          // of a plan in `configurations`
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    Result<PlannedConfiguration> planned =
        plan_configuration(*workload_, workload_->spec->kernel, configurations[i]);
    if (!planned.ok()) {
      measurements[i].outcome = Outcome::resource_limit;
      measurements[i].reason = planned.error().sentence();
      continue;
    }
    members[planned->code()].push_back(plans.size());
    plans.push_back(std::move(*planned));
    place.push_back(i);
  }
  queue_.submit(plans);

  const auto take = [&](const std::string& code, const CompileOutcome& outcome) -> Status {
    for (const std::size_t p : members.at(code)) {
      Measurement& measurement = measurements[place[p]];
      if (!outcome.ok()) {
        measurement.outcome = outcome.kind == CompileOutcome::Kind::error     ? Outcome::compile_error
                              : outcome.kind == CompileOutcome::Kind::timeout ? Outcome::timeout
                                                                              : Outcome::crashed;
        measurement.reason = outcome.message;
        continue;
      }
      measurement.compile_seconds = outcome.kernel.seconds;
      if (!fits(outcome.kernel, plans[p].launch, measurement))
        continue;
      LATHE_CHECK(run(outcome.kernel, plans[p].launch, incumbent_us, measurement));
      if (measurement.outcome == Outcome::ok &&
          (incumbent_us <= 0 || measurement.timing.median_us < incumbent_us))
        incumbent_us = measurement.timing.median_us;
    }
    members.erase(code);
    return Done{};
  };
  // The compilers work on, also on what was announced, while the device measures what is ready.
  while (!members.empty()) {
    const std::optional<CompileQueue::Compiled> compiled =
        queue_.next_of([&](const std::string& code) { return members.contains(code); });
    if (!compiled)
      return Error{"cannot measure", "the compile workers lost a configuration", ""};
    if (Status status = take(compiled->code, compiled->outcome); !status.ok()) {
      queue_.cancel();
      return status.error();
    }
  }
  return measurements;
}

std::vector<PlannedConfiguration> CudaBackend::plans_of(std::span<const KnobValues> configurations) const {
  std::vector<PlannedConfiguration> plans;
  for (const KnobValues& knobs : configurations)
    if (Result<PlannedConfiguration> planned = plan_configuration(*workload_, workload_->spec->kernel, knobs);
        planned.ok())
      plans.push_back(std::move(*planned));
  return plans;
}

void CudaBackend::announce(std::span<const KnobValues> configurations) {
  if (workload_ && compiler_)
    queue_.submit(plans_of(configurations));
}

PipelineLoad CudaBackend::load() const {
  PipelineLoad result = load_;
  if (compiler_) {
    const Compiler::Load compile = compiler_->load();
    result.compile_busy_s = compile.busy_s;
    result.compile_available_s = compile.available_s;
  }
  return result;
}

Result<Comparison> CudaBackend::compare(const KnobValues& configuration, double ratio_to_beat) {
  const Stopwatch watch(load_.compare_s);
  LATHE_TRY(RunnerKernel kernel, compile_configuration(configuration));
  std::string subject = workload_->spec->path.string();
  for (const auto& [name, dtype] : workload_->types)
    subject += " " + name + "=" + dtype;
  if (!options_.raw_wants_alignment)
    LATHE_CHECK(side_runner_.check_views(setup_, subject, kernel, options_.time_limit_s));
  if (!runner_.running())
    LATHE_CHECK(start_runner(false));
  CompareRequest comparison{std::move(kernel), timing(0), ratio_to_beat};
  comparison.timing.time_limit_s = options_.time_limit_s;
  const RunnerProcess::Answer answer = runner_.ask(encode(comparison), 6 * options_.time_limit_s + 10);
  std::optional<CompareReply> reply;
  if (answer.kind == RunnerProcess::Answer::Kind::reply)
    reply = decode_compare_reply(answer.reply);
  if (!reply || reply->last_words)
    runner_.stop();
  constexpr const char* FAILED = "cannot compare the configuration with the raw kernel";
  if (!reply)
    return Error{
        FAILED,
        answer.ending.empty() ? "the runner did not answer" : "the runner ended with " + answer.ending, ""};
  if (!reply->ok)
    return Error{FAILED, reply->error, ""};
  return reply->comparison;
}

Result<Profile> CudaBackend::profile(const std::optional<KnobValues>& configuration) {
  const Stopwatch watch(load_.profile_s);
  if (!workload_)
    return Error{"cannot profile", "no problem was prepared", ""};
  if (!configuration)
    return side_runner_.profile(setup_, setup_.reference, options_.time_limit_s);
  LATHE_TRY(const RunnerKernel kernel, compile_configuration(*configuration));
  return side_runner_.profile(setup_, kernel, options_.time_limit_s);
}

} // namespace

std::unique_ptr<Backend> make_backend_with_runner(DeviceInfo device,
                                                  std::vector<std::string> runner_command) {
  auto backend = std::make_unique<CudaBackend>(std::move(runner_command), false);
  backend->set_device(std::move(device));
  return backend;
}

namespace {

Result<DeviceInfo> visible_device(int index) {
  LATHE_TRY(std::vector<DeviceInfo> devices, list_cuda_devices());
  if (index < 0 || static_cast<std::size_t>(index) >= devices.size())
    return Error{"there is no device " + std::to_string(index),
                 std::to_string(devices.size()) + " are visible, the first is 0", "see lathe devices",
                 Failure::no_device};
  return std::move(devices[static_cast<std::size_t>(index)]);
}

// How many problems' processes a device's memory holds beside each other. A backend has two processes with a
// context each; both hold the buffers of a problem up to six times (four sets, a master, a spare), and what
// copies are measured in.
std::size_t backends_that_fit(const DeviceInfo& device, std::uint64_t buffer_bytes) {
  constexpr std::uint64_t PROCESSES = 2, COPIES = 6, BESIDES = 3ull << 29; // 1.5 GiB
  constexpr double USABLE = 0.8;
  const auto needed = static_cast<double>(PROCESSES * (COPIES * buffer_bytes + BESIDES));
  return static_cast<std::size_t>(USABLE * static_cast<double>(device.memory_bytes) / needed);
}

} // namespace

Result<std::unique_ptr<Backend>> make_cuda_backend(int index, std::vector<std::string> tool) {
  LATHE_TRY(const std::filesystem::path runner, sibling_executable("lathe-runner"));
  const bool has_tool = !tool.empty();
  std::vector<std::string> command = std::move(tool);
  command.push_back(runner.string());
  command.push_back(std::to_string(index));
  auto backend = std::make_unique<CudaBackend>(std::move(command), has_tool);
  // Starting the driver takes as long here as there: at once.
  if (CudaDriver::is_installed())
    LATHE_CHECK(backend->warm_up());
  LATHE_TRY(DeviceInfo device, visible_device(index));
  backend->set_device(std::move(device));
  return std::unique_ptr<Backend>(std::move(backend));
}

Result<std::vector<std::unique_ptr<Backend>>> make_cuda_backends(int index, std::size_t most,
                                                                 std::uint64_t buffer_bytes) {
  LATHE_TRY(const std::filesystem::path runner, sibling_executable("lathe-runner"));
  const std::vector<std::string> command{runner.string(), std::to_string(index)};
  const auto turns = std::make_shared<std::mutex>();
  auto first = std::make_unique<CudaBackend>(command, false, turns);
  if (CudaDriver::is_installed()) // as above; the others start their processes when they are used
    LATHE_CHECK(first->warm_up());
  LATHE_TRY(const DeviceInfo device, visible_device(index));
  const std::size_t count =
      std::clamp<std::size_t>(backends_that_fit(device, buffer_bytes), 1, std::max<std::size_t>(1, most));
  std::vector<std::unique_ptr<Backend>> backends;
  while (backends.size() < count) {
    auto backend = first ? std::move(first) : std::make_unique<CudaBackend>(command, false, turns);
    backend->set_device(device);
    backends.push_back(std::move(backend));
  }
  return backends;
}

} // namespace lathe
