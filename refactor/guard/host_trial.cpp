#include "refactor/guard/host_trial.h"

#include "refactor/guard/shapes.h"
#include "refactor/guard/trial_data.h"
#include "refactor/guard/trial_memory.h"
#include "tuner/measure/verify.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <span>

namespace lathe::refactor {
namespace {

// The buffers and arguments of one trial.
struct Prepared {
  std::vector<HostBuffer> buffers;
  std::vector<HostArgument> arguments;
};

Value changed_number(const Value& value, RealScalars how) {
  constexpr double TINY_SCALAR = 1e-30; // single precision
  const auto* real = std::get_if<double>(&value);
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (!real && !integer)
    return value;
  const double number = real ? *real : static_cast<double>(*integer);
  switch (how) {
  case RealScalars::usual:
    break;
  case RealScalars::other:
    // Neither 0 nor 1: what only holds for the specification's own number no longer does.
    return number * 0.75 + 0.375;
  case RealScalars::one:
    return 1.0;
  case RealScalars::zero:
    return 0.0;
  case RealScalars::negated:
    return -number;
  case RealScalars::tiny:
    return TINY_SCALAR;
  }
  return value;
}

// What a truth value is; nothing for every other argument.
std::optional<bool> switch_of(const Workload::Parameter& parameter) {
  if (parameter.is_buffer || parameter.dtype != "bool")
    return std::nullopt;
  if (const bool* value = std::get_if<bool>(&parameter.value))
    return *value;
  const auto* number = std::get_if<std::int64_t>(&parameter.value);
  return number ? std::optional(*number != 0) : std::nullopt;
}

Value value_in_trial(const Workload& workload, std::size_t index, const TrialSettings& settings) {
  const Workload::Parameter& parameter = workload.parameters[index];
  if (const auto changed = settings.integer_scalars.find(index); changed != settings.integer_scalars.end())
    return changed->second;
  if (const auto number = settings.real_numbers.find(index); number != settings.real_numbers.end())
    return number->second;
  if (is_real_scalar(parameter)) {
    const auto own = settings.real_scalars_of.find(index);
    return changed_number(parameter.value,
                          own == settings.real_scalars_of.end() ? settings.real_scalars : own->second);
  }
  if (const auto is_on = switch_of(parameter);
      is_on && (settings.other_switches || settings.switched.contains(index)))
    return !*is_on;
  return parameter.value;
}

Result<Prepared> prepare_trial(const Workload& workload, const TrialSettings& settings, Fills& fills) {
  Prepared prepared;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& description = workload.buffers[i];
    const auto size = static_cast<std::size_t>(std::max(1, dtype_size(description.dtype)));
    const bool is_moved = settings.misaligned_buffers.empty() || settings.misaligned_buffers.contains(i);
    LATHE_TRY(HostBuffer buffer, HostBuffer::allocate_whole(description.count * size,
                                                            is_moved ? settings.misalignment * size : 0));
    const auto& both = settings.shared_buffers;
    if (both && both->first == i)
      std::ranges::copy(fills.of(workload, both->second, settings), buffer.bytes().begin());
    else if (description.direction == Direction::out)
      std::fill(buffer.bytes().begin(), buffer.bytes().end(), POISONS[settings.poison]);
    else
      std::ranges::copy(fills.of(workload, i, settings), buffer.bytes().begin());
    prepared.buffers.push_back(std::move(buffer));
  }
  for (std::size_t p = 0; p < workload.parameters.size(); ++p) {
    const Workload::Parameter& parameter = workload.parameters[p];
    if (parameter.is_buffer && parameter.is_null != settings.turned_pointers.contains(p)) {
      prepared.arguments.emplace_back();
      continue;
    }
    if (parameter.is_buffer) {
      const auto& both = settings.shared_buffers;
      const std::size_t index = both && both->second == parameter.buffer ? both->first : parameter.buffer;
      prepared.arguments.push_back(HostArgument::of(prepared.buffers[index], workload.buffers[index].name));
      continue;
    }
    LATHE_TRY(HostArgument scalar,
              HostArgument::scalar(parameter.dtype, value_in_trial(workload, p, settings)));
    prepared.arguments.push_back(std::move(scalar));
  }
  return prepared;
}

HostRunOptions run_options(const TrialSettings& settings, const Launch& launch) {
  HostRunOptions options;
  options.schedule = settings.schedule;
  options.seed = settings.seed + settings.order;
  options.time_limit_s = settings.time_limit_s;
  options.work_limit = settings.work_limit;
  options.threads = 1; // trials run beside each other
  const std::size_t scratch = settings.other_scratch ? 1 - settings.poison : settings.poison;
  options.shared_poison = POISONS[1 - scratch];
  options.local_poison = POISONS[scratch];
  options.record_accesses = settings.record_accesses;
  options.find_races = settings.find_races;
  options.equal_writes_race = settings.equal_writes_race;
  options.reverse_blocks = settings.reverse_blocks;
  if (settings.shuffle_blocks) {
    options.blocks.resize(std::size_t{launch.grid[0]} * launch.grid[1] * launch.grid[2]);
    std::iota(options.blocks.begin(), options.blocks.end(), std::uint64_t{0});
    std::shuffle(options.blocks.begin(), options.blocks.end(), std::mt19937_64(options.seed));
  }
  options.barriers_by_count = settings.barriers_by_count;
  options.parts_of_active_lanes = settings.parts_of_active_lanes;
  options.keep_globals = settings.again;
  return options;
}

// What a run came to, once its buffers have been looked at.
TrialResult look_at(const Trial& trial, const Prepared& prepared, HostRunResult&& run, Fills& fills) {
  const Workload& workload = *trial.workload;
  TrialResult result;
  result.accesses = std::move(run.accesses);
  result.races = std::move(run.races);
  result.fences = run.fences;
  result.unfenced = std::move(run.unfenced);
  result.loops = std::move(run.loops);
  result.reached = std::move(run.reached);
  result.work = run.work;
  for (const double seconds : run.seconds)
    result.seconds += seconds;
  result.contents.resize(prepared.buffers.size());
  for (std::size_t i = 0; i < prepared.buffers.size(); ++i)
    if (workload.buffers[i].direction != Direction::in)
      result.contents[i].assign(prepared.buffers[i].bytes().begin(), prepared.buffers[i].bytes().end());
  if (run.outcome != Outcome::ok) {
    result.out_of_time = run.outcome == Outcome::timeout;
    result.problem = std::string(to_string(run.outcome)) + ": " + run.reason;
    return result;
  }
  result.is_cut_short = run.is_cut_short;
  if (run.is_cut_short)
    return result;
  for (std::size_t i = 0; i < prepared.buffers.size(); ++i) {
    const HostBuffer& buffer = prepared.buffers[i];
    if (const auto damage = buffer.damage()) {
      result.problem = "wrote outside '" + workload.buffers[i].name + "', at byte " +
                       std::to_string(*damage) + " of " + std::to_string(buffer.size());
      return result;
    }
    const Direction direction = workload.buffers[i].direction;
    const auto is_written = [&](std::byte byte) { return byte != POISONS[trial.settings.poison]; };
    const bool is_changed = direction == Direction::out
                                ? std::ranges::any_of(buffer.bytes(), is_written)
                                : !std::ranges::equal(fills.of(workload, i, trial.settings), buffer.bytes());
    result.wrote |= is_changed && direction != Direction::in;
    if (is_changed && direction == Direction::in) {
      result.problem = "changed the input '" + workload.buffers[i].name + "'";
      return result;
    }
  }
  result.clean = true;
  return result;
}

// Trials whose buffers are there at the same time, run in one child.
void run_together(std::span<const Trial> trials, std::span<TrialResult> results, Fills& fills) {
  std::vector<Prepared> prepared;
  prepared.reserve(trials.size()); // arguments point to buffers
  std::vector<HostKernel::Run> runs;
  for (const Trial& trial : trials) {
    auto ready = prepare_trial(*trial.workload, trial.settings, fills);
    if (!ready) {
      for (TrialResult& result : results)
        result.problem = ready.error().sentence();
      return;
    }
    prepared.push_back(std::move(*ready));
    runs.push_back(
        {trial.kernel, *trial.launch, prepared.back().arguments, run_options(trial.settings, *trial.launch)});
  }
  auto ends = HostKernel::run_all_isolated(runs);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (ends[i])
      results[i] = look_at(trials[i], prepared[i], std::move(*ends[i]), fills);
    else
      results[i].problem = ends[i].error().sentence();
  }
}

std::vector<TrialResult> run_all(const std::vector<Trial>& trials) {
  constexpr std::uint64_t TOGETHER = 4 * MOST_BYTES; // of buffers, beside what the runs leave
  std::vector<TrialResult> results(trials.size());
  Fills fills;
  for (std::size_t begin = 0, end = 0; begin < trials.size(); begin = end) {
    std::uint64_t bytes = 0;
    while (end < trials.size() && (end == begin || bytes + bytes_of(*trials[end].workload) <= TOGETHER))
      bytes += bytes_of(*trials[end++].workload);
    run_together(std::span(trials).subspan(begin, end - begin),
                 std::span(results).subspan(begin, end - begin), fills);
  }
  return results;
}

} // namespace

std::vector<TrialResult> run_trials(const std::vector<Trial>& trials) {
  std::vector<TrialResult> results(trials.size());
  // What a run leaves in its process is part of the result of one that follows it.
  const bool follow = std::ranges::any_of(trials, [](const Trial& trial) { return trial.settings.again; });
  std::vector<Trial> unknown;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto known = trials[i].memory && !follow ? trials[i].memory->find(trials[i]) : nullptr;
    if (known) {
      results[i] = *known;
      continue;
    }
    unknown.push_back(trials[i]);
    places.push_back(i);
  }
  std::vector<TrialResult> made = run_all(unknown);
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (unknown[i].memory && !follow)
      unknown[i].memory->keep(unknown[i], made[i]);
    results[places[i]] = std::move(made[i]);
  }
  return results;
}

std::vector<std::pair<std::size_t, std::size_t>> shareable_buffers(const Workload& workload,
                                                                   const std::vector<bool>& is_restrict) {
  std::vector<bool> is_free(workload.buffers.size(), false);
  for (std::size_t p = 0; p < workload.parameters.size(); ++p)
    if (workload.parameters[p].is_buffer && p < is_restrict.size())
      is_free[workload.parameters[p].buffer] = !is_restrict[p];
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t out = 0; out < workload.buffers.size(); ++out)
    for (std::size_t in = 0; in < workload.buffers.size(); ++in) {
      const Workload::Buffer &a = workload.buffers[out], &b = workload.buffers[in];
      if (a.direction != Direction::in && b.direction == Direction::in && a.dtype == b.dtype &&
          a.count == b.count && is_free[out] && is_free[in])
        pairs.emplace_back(out, in);
    }
  return pairs;
}

bool TrialSettings::has_usual_arguments() const {
  return !other_switches && real_scalars == RealScalars::usual && integer_scalars.empty() &&
         turned_pointers.empty() && switched.empty() && real_scalars_of.empty() && real_numbers.empty();
}

bool is_real_scalar(const Workload::Parameter& parameter) {
  const auto dtype = parameter.is_buffer ? std::nullopt : element_type(parameter.dtype);
  return dtype && element::is_real(*dtype);
}

bool is_truth_value(const Workload::Parameter& parameter) {
  return switch_of(parameter).has_value();
}

bool has_real_scalars(const Workload& workload) {
  return std::ranges::any_of(workload.parameters, is_real_scalar);
}

bool has_switches(const Workload& workload) {
  return std::ranges::any_of(workload.parameters, is_truth_value);
}

bool has_offsets(const Workload& workload) {
  return std::ranges::any_of(workload.buffers, [](const Workload::Buffer& buffer) {
    return buffer.direction != Direction::out && buffer.fill.kind == Fill::Kind::offsets;
  });
}

} // namespace lathe::refactor
