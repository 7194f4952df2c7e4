#include "refactor/guard/host_trial.h"

#include "tuner/measure/fill.h"
#include "tuner/measure/verify.h"

#include <algorithm>
#include <limits>

namespace lathe::refactor {
namespace {

// Special values where a hash of the position says so: infinities, zeros of both signs and the smallest
// numbers, or NaN.
void strew(element::DType dtype, Data data, std::uint64_t seed, std::span<std::byte> bytes) {
  const std::uint64_t count = bytes.size() / static_cast<std::size_t>(element::size_of(dtype));
  const double infinity = std::numeric_limits<double>::infinity();
  const double specials[] = {infinity, -infinity, 0.0, -0.0, 1e-40, infinity, -infinity, -1e-7};
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t hash = element::mix(seed ^ element::mix(i + 0x51ed));
    if (hash % (count < 256 ? 4 : 32) != 0)
      continue;
    const double value =
        data == Data::nans ? std::numeric_limits<double>::quiet_NaN() : specials[hash >> 8 & 7];
    element::store(dtype, bytes.data(), i, element::encode(dtype, value));
  }
}

std::string buffer_name(const Workload& workload, const BufferAccess& access) {
  return access.argument < workload.parameters.size() && workload.parameters[access.argument].is_buffer
             ? workload.buffers[workload.parameters[access.argument].buffer].name
             : "argument " + std::to_string(access.argument);
}

// The first byte of `inner` that `outer` does not cover; both ascending and disjoint.
std::optional<std::int64_t> uncovered(const std::vector<ByteRange>& inner,
                                      const std::vector<ByteRange>& outer) {
  std::size_t at = 0;
  for (const ByteRange& range : inner) {
    std::int64_t begin = range.begin;
    while (begin < range.end) {
      while (at < outer.size() && outer[at].end <= begin)
        ++at;
      if (at == outer.size() || outer[at].begin > begin)
        return begin;
      begin = outer[at].end;
    }
  }
  return std::nullopt;
}

// The buffers and arguments of one trial.
struct Prepared {
  std::vector<HostBuffer> buffers;
  std::vector<std::vector<std::byte>> before;
  std::vector<HostArgument> arguments;
};

Result<Prepared> prepare_trial(const Workload& workload, const TrialSettings& settings) {
  Prepared prepared;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& description = workload.buffers[i];
    const auto size = static_cast<std::size_t>(std::max(1, dtype_size(description.dtype)));
    LATHE_TRY(HostBuffer buffer,
              HostBuffer::allocate(description.count * size, settings.misalignment * size));
    if (description.direction == Direction::out) {
      std::fill(buffer.bytes().begin(), buffer.bytes().end(), POISONS[settings.poison]);
    } else {
      fill_buffer(plan_fill(description, settings.seed, i), buffer.bytes());
      const auto dtype = element_type(description.dtype);
      if (settings.data != Data::usual && dtype && element::is_real(*dtype))
        strew(*dtype, settings.data, settings.seed + i, buffer.bytes());
    }
    prepared.before.emplace_back(buffer.bytes().begin(), buffer.bytes().end());
    prepared.buffers.push_back(std::move(buffer));
  }
  for (const Workload::Parameter& parameter : workload.parameters) {
    if (parameter.is_buffer) {
      prepared.arguments.push_back(
          HostArgument::of(prepared.buffers[parameter.buffer], workload.buffers[parameter.buffer].name));
      continue;
    }
    LATHE_TRY(HostArgument scalar, HostArgument::scalar(parameter.dtype, parameter.value));
    prepared.arguments.push_back(std::move(scalar));
  }
  return prepared;
}

HostRunOptions run_options(const TrialSettings& settings) {
  HostRunOptions options;
  options.schedule = settings.schedule;
  options.seed = settings.seed;
  options.time_limit_s = settings.time_limit_s;
  options.threads = 1; // trials run beside each other
  options.shared_poison = POISONS[1 - settings.poison];
  return options;
}

// What a run came to, once its buffers have been looked at.
TrialResult look_at(const Workload& workload, const Prepared& prepared, Result<HostRunResult>&& run) {
  TrialResult result;
  if (!run) {
    result.problem = run.error().sentence();
    return result;
  }
  result.accesses = std::move(run->accesses);
  result.barriers = run->barriers;
  for (const HostBuffer& buffer : prepared.buffers)
    result.contents.emplace_back(buffer.bytes().begin(), buffer.bytes().end());
  if (run->outcome != Outcome::ok) {
    result.out_of_time = run->outcome == Outcome::timeout;
    result.problem = std::string(to_string(run->outcome)) + ": " + run->reason;
    return result;
  }
  for (std::size_t i = 0; i < prepared.buffers.size(); ++i) {
    const HostBuffer& buffer = prepared.buffers[i];
    if (const auto damage = buffer.damage()) {
      result.problem = "wrote outside '" + workload.buffers[i].name + "', at byte " +
                       std::to_string(*damage) + " of " + std::to_string(buffer.size());
      return result;
    }
    if (workload.buffers[i].direction == Direction::in && prepared.before[i] != result.contents[i]) {
      result.problem = "changed the input '" + workload.buffers[i].name + "'";
      return result;
    }
  }
  result.clean = true;
  return result;
}

} // namespace

TrialResult run_trial(const HostKernel& kernel, const Launch& launch, const Workload& workload,
                      const TrialSettings& settings) {
  auto prepared = prepare_trial(workload, settings);
  if (!prepared) {
    TrialResult failed;
    failed.problem = prepared.error().sentence();
    return failed;
  }
  return look_at(workload, *prepared,
                 kernel.run_isolated(launch, prepared->arguments, run_options(settings)));
}

std::vector<TrialResult> run_trials(const HostKernel& kernel, const Launch& launch, const Workload& workload,
                                    const std::vector<TrialSettings>& settings) {
  std::vector<Prepared> prepared;
  std::vector<HostKernel::Run> runs;
  for (const TrialSettings& one : settings) {
    auto ready = prepare_trial(workload, one);
    if (!ready)
      break;
    prepared.push_back(std::move(*ready));
    runs.push_back({prepared.back().arguments, run_options(one)});
  }
  std::vector<TrialResult> results;
  if (runs.size() == settings.size())
    if (auto ends = kernel.run_all_isolated(launch, runs)) {
      for (std::size_t i = 0; i < settings.size(); ++i)
        results.push_back(look_at(workload, prepared[i], std::move((*ends)[i])));
      return results;
    }
  // One of them took the others with it: each alone tells which.
  for (const TrialSettings& one : settings)
    results.push_back(run_trial(kernel, launch, workload, one));
  return results;
}

TrialComparison compare_trials(const Workload& workload, const TrialResult& templated, const TrialResult& raw,
                               const TrialSettings& settings, const std::vector<bool>& ignore_order) {
  TrialComparison comparison;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& description = workload.buffers[i];
    if (description.direction == Direction::in)
      continue;
    const auto dtype = element_type(description.dtype);
    if (!dtype) {
      comparison.problem = "'" + description.name + "' has the unknown type " + description.dtype;
      return comparison;
    }
    std::vector<std::byte> out = templated.contents[i], reference = raw.contents[i];
    if (i < ignore_order.size() && ignore_order[i]) {
      const auto sort = [&](std::vector<std::byte>& bytes) {
        std::vector<std::uint64_t> elements;
        for (std::uint64_t k = 0; k < description.count; ++k)
          elements.push_back(element::load(*dtype, bytes.data(), k));
        std::sort(elements.begin(), elements.end());
        for (std::uint64_t k = 0; k < description.count; ++k)
          element::store(*dtype, bytes.data(), k, elements[k]);
      };
      sort(out);
      sort(reference);
    }
    if (out == reference)
      continue;
    comparison.identical = false;
    const Tolerance tolerance = tolerance_for(workload.spec->tolerances, description.dtype);
    const element::ErrorRule rule{*dtype, tolerance.relative, tolerance.absolute,
                                  magnitude(*dtype, reference)};
    const BufferDifference difference = compare_buffers(rule, out, reference);
    comparison.error = std::max(comparison.error, difference.error);
    if (!difference.acceptable()) {
      comparison.problem = describe_difference(description.name, *dtype, difference,
                                               element::load(*dtype, out.data(), difference.first),
                                               element::load(*dtype, reference.data(), difference.first),
                                               description.count, POISONS[settings.poison]);
      return comparison;
    }
  }
  return comparison;
}

std::string compare_accesses(const Workload& workload, const TrialResult& templated, const TrialResult& raw) {
  for (const BufferAccess& access : templated.accesses) {
    const auto found = std::find_if(raw.accesses.begin(), raw.accesses.end(), [&](const BufferAccess& other) {
      return other.argument == access.argument;
    });
    const BufferAccess none;
    const BufferAccess& reference = found == raw.accesses.end() ? none : *found;
    const std::string name = buffer_name(workload, access);
    if (const auto at = uncovered(access.written, reference.written))
      return "writes byte " + std::to_string(*at) + " of '" + name + "', which the raw kernel does not";
    if (const auto at = uncovered(reference.written, access.written))
      return "does not write byte " + std::to_string(*at) + " of '" + name + "', which the raw kernel does";
    const bool is_output =
        access.argument < workload.parameters.size() && workload.parameters[access.argument].is_buffer &&
        workload.buffers[workload.parameters[access.argument].buffer].direction == Direction::out;
    if (const auto at = uncovered(access.read, reference.read); at && is_output)
      return "reads byte " + std::to_string(*at) + " of the output '" + name +
             "', which the raw kernel does not";
    if ((access.atomics > 0) != (reference.atomics > 0))
      return "differs in atomic updates of '" + name + "'";
  }
  return {};
}

} // namespace lathe::refactor
