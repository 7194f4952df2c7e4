#include "refactor/guard/deciding_scalars.h"

#include "refactor/guard/parallel.h"
#include "tuner/measure/fill.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

namespace lathe::refactor {
namespace {

constexpr double SECONDS_PER_RUN = 1;
constexpr std::size_t AT_ONCE = 16;              // numbers between two, in one child process
constexpr std::size_t MOST_TURNS = 16;           // 64 bits
constexpr std::uint64_t MUCH_WORK = 200'000;     // HostRunResult::work: a search makes some hundred runs
constexpr std::uint64_t NO_NUMBER = 2, SOME = 1; // beside zero: of real numbers

// What each element of the outputs says of a decision: of a real number whether it is zero, or none.
std::vector<std::uint64_t> decisions_of(const Workload& workload, const TrialResult& result) {
  std::vector<std::uint64_t> decisions;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& description = workload.buffers[i];
    const auto dtype = element_type(description.dtype);
    if (description.direction == Direction::in || !dtype)
      continue;
    for (std::uint64_t k = 0; k < description.count; ++k) {
      const std::uint64_t bits = element::load(*dtype, result.contents[i].data(), k);
      const double value = element::is_real(*dtype) ? element::decode(*dtype, bits) : 0;
      decisions.push_back(!element::is_real(*dtype) ? bits
                          : std::isnan(value)       ? NO_NUMBER
                          : value != 0              ? SOME
                                                    : 0);
    }
  }
  return decisions;
}

// Between `below` and `above` as the argument's type has it; neither of them where there is nothing between.
double between(double below, double above, double share, bool is_single) {
  const double value = below + (above - below) * share;
  return is_single ? static_cast<double>(static_cast<float>(value)) : value;
}

// One argument at one size.
class Bisection {
public:
  Bisection(const HostKernel& kernel, const ReferenceRuns& size, TrialMemory* memory, std::size_t parameter,
            std::uint64_t seed)
      : kernel_(kernel), size_(size), memory_(memory), parameter_(parameter), seed_(seed) {}

  std::optional<DecidingScalar> search() const {
    const Workload::Parameter& description = size_.workload->parameters[parameter_];
    const auto* usual = std::get_if<double>(&description.value);
    if (!usual || *usual == 0 || (description.dtype != "f32" && description.dtype != "f64"))
      return std::nullopt;
    const bool is_single = description.dtype == "f32";
    constexpr double LESS = 0.5, MORE = 1.5; // times the usual number
    double below = between(std::min(*usual * LESS, *usual * MORE), 0, 0, is_single),
           above = between(std::max(*usual * LESS, *usual * MORE), 0, 0, is_single);
    const std::vector<TrialResult> ends = run({below, above}, Data::usual),
                                   others = run({below, above}, Data::far);
    for (const auto* results : {&ends, &others})
      for (const TrialResult& result : *results)
        if (!result.clean)
          return std::nullopt;
    const auto at_below = decisions(ends[0]), at_above = decisions(ends[1]);
    if (at_below != decisions(others[0]) || at_above != decisions(others[1]))
      return std::nullopt; // real inputs have a part in it
    const auto parts = std::ranges::mismatch(at_below, at_above);
    if (parts.in1 == at_below.end())
      return std::nullopt;
    const auto element = static_cast<std::size_t>(parts.in1 - at_below.begin());
    for (std::size_t turn = 0; turn < MOST_TURNS; ++turn) {
      std::vector<double> numbers;
      for (std::size_t i = 1; i <= AT_ONCE; ++i) {
        const double number =
            between(below, above, static_cast<double>(i) / static_cast<double>(AT_ONCE + 1), is_single);
        if (number > below && number < above && (numbers.empty() || number > numbers.back()))
          numbers.push_back(number);
      }
      if (numbers.empty())
        return DecidingScalar{parameter_, below, above};
      const std::vector<TrialResult> results = run(numbers, Data::usual);
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (!results[i].clean)
          return std::nullopt;
        if (decisions(results[i])[element] != at_below[element]) {
          above = numbers[i];
          break;
        }
        below = numbers[i];
      }
    }
    return std::nullopt;
  }

private:
  std::vector<std::uint64_t> decisions(const TrialResult& result) const {
    return decisions_of(*size_.workload, result);
  }

  std::vector<TrialResult> run(const std::vector<double>& numbers, Data data) const {
    std::vector<Trial> trials;
    for (const double number : numbers) {
      TrialSettings settings;
      settings.seed = seed_;
      settings.data = data;
      settings.real_numbers[parameter_] = number;
      settings.barriers_by_count = size_.meets_by_count;
      settings.time_limit_s = SECONDS_PER_RUN;
      trials.push_back({&kernel_, &size_.usual.raw_launch, size_.workload.get(), settings, memory_});
    }
    return run_trials(trials);
  }

  const HostKernel& kernel_;
  const ReferenceRuns& size_;
  TrialMemory* memory_;
  std::size_t parameter_;
  std::uint64_t seed_;
};

} // namespace

std::vector<DecidingScalar> deciding_scalars(const HostKernels& raw, const std::set<std::size_t>& compared,
                                             const std::vector<const ReferenceRuns*>& sizes,
                                             std::uint64_t seed, int jobs,
                                             std::chrono::steady_clock::time_point deadline) {
  // The least and the most of those that do not take long: an element's number may follow the size.
  std::vector<const ReferenceRuns*> few;
  for (const ReferenceRuns* size : sizes)
    if (!size->depends_on_order && size->raw[1].work <= MUCH_WORK)
      few.push_back(size);
  std::ranges::stable_sort(few, {}, [](const ReferenceRuns* size) { return size->raw[1].work; });
  if (few.size() > 2)
    few = {few[few.size() / 2], few.back()};
  std::vector<std::pair<const ReferenceRuns*, std::size_t>> asked;
  for (const ReferenceRuns* size : few)
    for (const std::size_t p : compared)
      if (p < size->workload->parameters.size() && is_real_scalar(size->workload->parameters[p]))
        asked.emplace_back(size, p);
  std::vector<std::optional<DecidingScalar>> answers(asked.size());
  parallel(asked.size(), jobs, deadline, [&](std::size_t i) {
    const auto& [size, parameter] = asked[i];
    if (const HostKernel* kernel = raw.find(size->usual.raw_instance, size->usual.macros()))
      answers[i] = Bisection(*kernel, *size, raw.memory(), parameter, seed).search();
  });
  std::vector<DecidingScalar> found;
  for (const auto& answer : answers)
    if (answer)
      found.push_back(*answer);
  return found;
}

std::string describe(const TuningSpec& spec, const std::vector<DecidingScalar>& deciding) {
  std::string list;
  for (const DecidingScalar& one : deciding) {
    char number[32];
    std::snprintf(number, sizeof number, "%.9g", one.below);
    list += (list.empty() ? "'" : ", '") + spec.arguments[one.parameter].name + "' of " + number;
  }
  return list.empty() ? ""
                      : "the raw kernel decides something by whether it is equal to " + list +
                            " or to the next number, and runs have either";
}

} // namespace lathe::refactor
