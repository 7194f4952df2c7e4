#include "refactor/guard/host_trial.h"

#include "refactor/guard/shapes.h"
#include "refactor/guard/tolerance.h"
#include "refactor/guard/trial_memory.h"
#include "tuner/measure/fill.h"
#include "tuner/measure/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

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
    // A device's own NaN has all bits but the sign (PTX ISA, "Floating point"); others have fewer.
    constexpr std::uint64_t ONE_BIT = 1;
    const std::uint64_t device_nan = (ONE_BIT << (8 * element::size_of(dtype) - 1)) - 1;
    const bool is_nan = data == Data::nans;
    element::store(dtype, bytes.data(), i,
                   is_nan && (hash >> 8 & 1) != 0
                       ? device_nan
                       : element::encode(dtype, is_nan ? std::numeric_limits<double>::quiet_NaN()
                                                       : specials[hash >> 8 & 7]));
  }
}

// -infinity in the whole buffer, in every other half, third, ... or nowhere, by the seed.
void mask(element::DType dtype, std::uint64_t seed, std::span<std::byte> bytes) {
  const std::uint64_t count = bytes.size() / static_cast<std::size_t>(element::size_of(dtype));
  const std::uint64_t drawn = element::mix(seed ^ 0x3a5c);
  constexpr std::uint64_t MOST_STRETCHES = 4;
  const std::uint64_t stretches = drawn % (MOST_STRETCHES + 1);
  if (stretches == 0)
    return;
  const std::uint64_t bits = element::encode(dtype, -std::numeric_limits<double>::infinity());
  for (std::uint64_t i = 0; i < count; ++i)
    if (i * stretches / count % 2 == 0)
      element::store(dtype, bytes.data(), i, bits);
}

// Whether numbers below zero are no worse in the buffer than others: the specification has some, or none on
// either side.
bool may_be_negative(const Workload::Buffer& buffer) {
  return buffer.fill.kind == Fill::Kind::uniform ? buffer.fill.low < 0
                                                 : buffer.fill.mean < 3 * buffer.fill.spread;
}

// Single precision's exponential overflows at 89.
constexpr double WIDTH = 110;
// Of single precision, with room for sums.
constexpr double HUGE_NUMBER = 1e20, TINY_NUMBER = 1e-25;
// The largest of single precision and of half precision; twice as much overflows from half of them on.
constexpr double LARGEST_SINGLE = 3.4e38, LARGEST_HALF = 65504;

// `value` in single precision, changed to lie half way between two numbers of a 16-bit format.
std::uint64_t tie_of(double value, bool of_half) {
  // Bits of the significand that the format does not have, and the highest of them.
  constexpr std::uint64_t HALF_LACKS = 0x1fff, HALF_TIE = 0x1000, BFLOAT_LACKS = 0xffff, BFLOAT_TIE = 0x8000;
  const std::uint64_t bits = element::encode(element::f32, value);
  return of_half ? (bits & ~HALF_LACKS) | HALF_TIE : (bits & ~BFLOAT_LACKS) | BFLOAT_TIE;
}

// Whether such numbers make sense in a buffer whose contents the specification describes.
bool may_hold(const Workload::Buffer& description, element::DType dtype, Data data) {
  const Fill::Kind kind = description.fill.kind;
  if ((kind != Fill::Kind::normal && kind != Fill::Kind::uniform) || element::size_of(dtype) == 1)
    return false;
  switch (data) {
  case Data::zeros:
    return may_be_negative(description);
  case Data::wide:
    return kind == Fill::Kind::normal;
  case Data::huge:
  case Data::tiny:
    return dtype != element::f16 && kind == Fill::Kind::normal;
  case Data::largest:
    return kind == Fill::Kind::normal;
  case Data::ties:
    return dtype == element::f32;
  default:
    return true;
  }
}

// Every element anew, as `data` says.
void replace_all(const Workload::Buffer& description, element::DType dtype, Data data, std::uint64_t seed,
                 std::span<const double> scalars, std::span<std::byte> bytes) {
  const std::uint64_t count = bytes.size() / static_cast<std::size_t>(element::size_of(dtype));
  const bool both = may_be_negative(description);
  const std::uint64_t drawn = element::mix(seed);
  const double side = !both || (drawn & 1) != 0 ? 1 : -1;
  const bool one_sided = !both || (drawn & 2) != 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t hash = element::mix(seed ^ element::mix(i + 0x2f1d));
    const double share = static_cast<double>(hash >> 11) * 0x1p-53;
    double halves = static_cast<double>(hash % 9) / 2 - 2;
    if (one_sided)
      halves = side * std::abs(halves);
    if (halves == 0 && both)
      halves = (hash >> 32 & 1) != 0 ? -0.0 : 0.0;
    constexpr std::uint64_t ONE_SCALAR_IN = 8;
    if (!scalars.empty() && (hash >> 33) % ONE_SCALAR_IN == 0)
      halves = scalars[(hash >> 40) % scalars.size()];
    const double sign = !both || (hash & 1) != 0 ? 1 : -1;
    double value = halves;
    if (data == Data::zeros)
      value = 0;
    else if (data == Data::far)
      value = side * (90 + 40 * share);
    else if (data == Data::wide)
      value = (both ? 2 * share - 1 : share) * WIDTH;
    else if (data == Data::huge)
      value = sign * HUGE_NUMBER * (1 + share);
    else if (data == Data::tiny)
      value = sign * TINY_NUMBER * (1 + share);
    else if (data == Data::tails)
      value = side * (4 + 4 * share);
    else if (data == Data::largest)
      value = (dtype == element::f16 ? LARGEST_HALF : LARGEST_SINGLE) * (0.4 + 0.6 * share);
    else if (data == Data::ties)
      value = sign * (0.25 + 4 * share);
    element::store(dtype, bytes.data(), i,
                   data == Data::ties ? tie_of(value, (hash >> 1 & 1) != 0) : element::encode(dtype, value));
  }
}

// Offsets from 0 to `total`, which then begin behind the first element and end before the last.
void move_inside(element::DType dtype, std::uint64_t total, std::uint64_t seed, std::span<std::byte> bytes) {
  constexpr std::uint64_t MOST_SHARE = 5; // of all elements are left out on either side
  const std::uint64_t most = std::max<std::uint64_t>(1, total / MOST_SHARE);
  const std::uint64_t before = std::min<std::uint64_t>(total, 1 + element::mix(seed) % most),
                      behind = std::min<std::uint64_t>(total - before, 1 + element::mix(seed + 1) % most);
  const double kept = static_cast<double>(total - before - behind);
  const std::uint64_t count = bytes.size() / static_cast<std::size_t>(element::size_of(dtype));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = element::load(dtype, bytes.data(), i);
    const double offset = element::is_real(dtype) ? element::decode(dtype, bits) : static_cast<double>(bits);
    const double moved =
        static_cast<double>(before) + std::floor(offset / std::max(1.0, static_cast<double>(total)) * kept);
    element::store(dtype, bytes.data(), i,
                   element::is_real(dtype) ? element::encode(dtype, moved)
                                           : static_cast<std::uint64_t>(moved));
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

// The real numbers among the arguments, which data may equal.
std::vector<double> real_scalars(const Workload& workload) {
  std::vector<double> found;
  for (const Workload::Parameter& parameter : workload.parameters)
    if (const auto* real = std::get_if<double>(&parameter.value); real && is_real_scalar(parameter))
      found.push_back(*real);
  return found;
}

// What buffers hold before a run, made once for trials that share it.
class Fills {
public:
  const std::vector<std::byte>& of(const Workload& workload, std::size_t index,
                                   const TrialSettings& settings) {
    const auto integers = settings.integers.find(index);
    const IntegerFill integer = integers == settings.integers.end() ? IntegerFill{} : integers->second;
    auto& bytes = known_[{&workload, index, settings.seed, settings.data, integer}];
    const Workload::Buffer& description = workload.buffers[index];
    if (bytes.empty() && description.count > 0) {
      bytes.resize(description.count * static_cast<std::size_t>(std::max(1, dtype_size(description.dtype))));
      element::FillPlan plan = plan_fill(description, settings.seed, index);
      if (settings.data == Data::one_range && description.fill.kind == Fill::Kind::offsets)
        plan = in_one_range(plan);
      fill_buffer(plan, bytes);
      const auto dtype = element_type(description.dtype);
      if (dtype && element::is_real(*dtype))
        change(description, *dtype, settings.data, settings.seed + index, real_scalars(workload), bytes);
      else if (dtype)
        fill_integers(integer, *dtype, settings.seed + index, bytes);
      if (dtype && settings.data == Data::inner_ranges && description.fill.kind == Fill::Kind::offsets)
        move_inside(*dtype, plan.integer_range, settings.seed + index, bytes);
    }
    return bytes;
  }

private:
  static void change(const Workload::Buffer& description, element::DType dtype, Data data, std::uint64_t seed,
                     std::span<const double> scalars, std::span<std::byte> bytes) {
    const Fill::Kind kind = description.fill.kind;
    switch (data) {
    case Data::infinities:
    case Data::nans:
      // Offsets of any type are none with other numbers among them.
      if (kind != Fill::Kind::offsets)
        strew(dtype, data, seed, bytes);
      break;
    case Data::zeros:
    case Data::far:
    case Data::wide:
    case Data::tails:
    case Data::coarse:
    case Data::huge:
    case Data::largest:
    case Data::tiny:
    case Data::ties:
      if (description.direction != Direction::out && may_hold(description, dtype, data))
        replace_all(description, dtype, data, seed, scalars, bytes);
      break;
    case Data::masked:
      if (description.direction != Direction::out && may_hold(description, dtype, data) &&
          may_be_negative(description))
        mask(dtype, seed, bytes);
      break;
    case Data::usual:
    case Data::one_range:
    case Data::inner_ranges:
      break;
    }
  }

  std::map<std::tuple<const Workload*, std::size_t, std::uint64_t, Data, IntegerFill>, std::vector<std::byte>>
      known_;
};

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
    LATHE_TRY(HostBuffer buffer,
              HostBuffer::allocate(description.count * size, is_moved ? settings.misalignment * size : 0));
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
    if (settings.null_parameters.contains(p)) {
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

HostRunOptions run_options(const TrialSettings& settings) {
  HostRunOptions options;
  options.schedule = settings.schedule;
  options.seed = settings.seed;
  options.time_limit_s = settings.time_limit_s;
  options.threads = 1; // trials run beside each other
  options.shared_poison = POISONS[1 - settings.poison];
  options.local_poison = POISONS[settings.poison];
  options.record_accesses = settings.record_accesses;
  options.find_races = settings.find_races;
  options.equal_writes_race = settings.equal_writes_race;
  options.reverse_blocks = settings.reverse_blocks;
  options.barriers_by_count = settings.barriers_by_count;
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
  for (const HostBuffer& buffer : prepared.buffers)
    result.contents.emplace_back(buffer.bytes().begin(), buffer.bytes().end());
  if (run.outcome != Outcome::ok) {
    result.out_of_time = run.outcome == Outcome::timeout;
    result.problem = std::string(to_string(run.outcome)) + ": " + run.reason;
    return result;
  }
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
                                ? std::ranges::any_of(result.contents[i], is_written)
                                : fills.of(workload, i, trial.settings) != result.contents[i];
    result.wrote |= is_changed && direction != Direction::in;
    if (is_changed && direction == Direction::in) {
      result.problem = "changed the input '" + workload.buffers[i].name + "'";
      return result;
    }
  }
  result.clean = true;
  return result;
}

} // namespace

namespace {

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
    runs.push_back({trial.kernel, *trial.launch, prepared.back().arguments, run_options(trial.settings)});
  }
  auto ends = HostKernel::run_all_isolated(runs);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (ends[i])
      results[i] = look_at(trials[i], prepared[i], std::move(*ends[i]), fills);
    else
      results[i].problem = ends[i].error().sentence();
  }
}

} // namespace

namespace {

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

TrialComparison compare_trials(const Workload& workload, const TrialResult& templated, const TrialResult& raw,
                               const TrialSettings& settings, const std::vector<bool>& ignore_order) {
  TrialComparison comparison;
  std::uint64_t outputs = 0;
  for (const Workload::Buffer& buffer : workload.buffers)
    outputs += buffer.direction == Direction::in ? 0 : buffer.count;
  const double terms =
      static_cast<double>(raw.work) / static_cast<double>(std::max<std::uint64_t>(1, outputs));
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
    const auto element_size = static_cast<std::size_t>(element::size_of(*dtype));
    // Where the raw kernel itself overflows, in which way is nobody's business.
    if ((settings.data == Data::huge || settings.data == Data::largest || settings.data == Data::wide) &&
        element::is_real(*dtype))
      for (std::uint64_t k = 0; k < description.count; ++k)
        if (const std::uint64_t bits = element::load(*dtype, reference.data(), k);
            !std::isfinite(element::decode(*dtype, bits)))
          element::store(*dtype, out.data(), k, bits);
    const bool is_small = element::is_real(*dtype) && element_size <= 2;
    comparison.small += is_small ? description.count : 0;
    if (out == reference)
      continue;
    comparison.identical = false;
    for (std::uint64_t k = 0; is_small && k < description.count; ++k)
      comparison.differing_small +=
          element::load(*dtype, out.data(), k) != element::load(*dtype, reference.data(), k);
    if (settings.data == Data::infinities && settings.real_scalars == RealScalars::usual &&
        element::is_real(*dtype))
      for (std::uint64_t k = 0; k < description.count; ++k) {
        const double a = element::decode(*dtype, element::load(*dtype, out.data(), k)),
                     b = element::decode(*dtype, element::load(*dtype, reference.data(), k));
        if (a == 0 && b == 0 && std::signbit(a) != std::signbit(b)) {
          comparison.problem = "gives a zero of the other sign at element " + std::to_string(k) + " of '" +
                               description.name + "'";
          return comparison;
        }
      }
    const double size = magnitude(*dtype, reference);
    const Tolerance tolerance = allowed_tolerance(*workload.spec, description.dtype, size, terms);
    const element::ErrorRule rule{*dtype, tolerance.relative, tolerance.absolute, size};
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
