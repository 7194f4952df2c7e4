#include "refactor/guard/accepted_integers.h"

#include "refactor/guard/parallel.h"
#include "tuner/measure/fill.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace lathe::refactor {
namespace {

constexpr double SECONDS_PER_RUN = 1; // a loop over a number from memory can be long

// Of the integers a buffer holds, whether they are the specification's to choose: neither offsets, which hang
// together, nor truth values.
bool is_open(const Workload::Buffer& buffer) {
  const auto dtype = element_type(buffer.dtype);
  return buffer.direction == Direction::in && buffer.count > 0 && dtype && !element::is_real(*dtype) &&
         *dtype != element::boolean && buffer.fill.kind != Fill::Kind::offsets;
}

bool is_one_number(const Workload::Buffer& buffer) {
  return buffer.fill.kind == Fill::Kind::zero ||
         (buffer.fill.kind == Fill::Kind::integer && buffer.integer_low == buffer.integer_high);
}

// Sizes that differ: of those ordered by what is executed, one from each third.
std::vector<const ReferenceRuns*> telling_sizes(std::vector<const ReferenceRuns*> sizes) {
  std::ranges::stable_sort(sizes, {}, [](const ReferenceRuns* size) { return size->raw[1].work; });
  std::vector<const ReferenceRuns*> chosen;
  for (const std::size_t sixth : {1, 3, 5})
    if (const ReferenceRuns* size = sizes[sixth * sizes.size() / 6];
        std::ranges::find(chosen, size) == chosen.end())
      chosen.push_back(size);
  return chosen;
}

// Asks the raw kernel about one buffer.
class Question {
public:
  Question(const HostKernels& raw, const std::vector<const ReferenceRuns*>& sizes, std::uint64_t seed,
           std::size_t buffer)
      : raw_(raw), sizes_(sizes), seed_(seed), buffer_(buffer) {}

  // `fill_at`: for a workload, or nothing where the question makes no sense there.
  template <class FillAt> bool accepts(FillAt fill_at) const {
    std::size_t asked = 0;
    for (const ReferenceRuns* size : sizes_) {
      const std::optional<IntegerFill> fill = fill_at(*size->workload);
      if (!fill)
        continue;
      ++asked;
      if (!accepts_at(*size, *fill))
        return false;
    }
    return asked > 0;
  }
  bool accepts(const IntegerFill& fill) const {
    return accepts([&](const Workload&) { return std::optional(fill); });
  }

private:
  bool accepts_at(const ReferenceRuns& size, const IntegerFill& fill) const {
    const HostKernel* kernel = raw_.find(size.usual.raw_instance, size.usual.macros());
    if (!kernel)
      return false;
    // Signs are drawn by the seed: of one, of the other, and of both.
    constexpr std::size_t SEEDS = 3;
    std::vector<Trial> trials;
    for (std::size_t i = 0; i < 2 * SEEDS; ++i) {
      TrialSettings settings;
      settings.seed = seed_ + i / 2;
      settings.schedule = i % 2 == 0 ? HostSchedule::forward : HostSchedule::reverse;
      settings.barriers_by_count = size.meets_by_count;
      settings.time_limit_s = SECONDS_PER_RUN;
      settings.integers[buffer_] = fill;
      trials.push_back({kernel, &size.usual.raw_launch, size.workload.get(), settings});
    }
    const std::vector<TrialResult> results = run_trials(trials);
    for (std::size_t i = 0; i < results.size(); i += 2)
      if (!results[i].clean || !results[i + 1].clean ||
          !compare_trials(*size.workload, results[i + 1], results[i], trials[i].settings, size.unordered)
               .problem.empty())
        return false;
    return true;
  }

  const HostKernels& raw_;
  const std::vector<const ReferenceRuns*>& sizes_;
  std::uint64_t seed_;
  std::size_t buffer_;
};

// The most bits, sign apart, that numbers in the buffer may have.
int accepted_bits(const Question& question, element::DType dtype) {
  constexpr std::array<int, 6> FEWER{48, 31, 24, 15, 11, 8};
  const int all = 8 * element::size_of(dtype) - (element::is_signed_integer(dtype) ? 1 : 0);
  std::vector<int> steps{all};
  std::ranges::copy_if(FEWER, std::back_inserter(steps), [&](int bits) { return bits < all; });
  for (const int bits : steps)
    if (question.accepts(IntegerFill{IntegerFill::Kind::large, bits}))
      return bits;
  return 0;
}

AcceptedIntegers ask(const Question& question, const Workload& workload, std::size_t buffer) {
  const Workload::Buffer& description = workload.buffers[buffer];
  const element::DType dtype = *element_type(description.dtype);
  AcceptedIntegers accepted;
  accepted.bits = accepted_bits(question, dtype);
  if (element::is_signed_integer(dtype))
    for (const auto kind : {IntegerFill::Kind::negative, IntegerFill::Kind::minus_one})
      if (!accepted.below_zero && question.accepts(IntegerFill{kind}))
        accepted.below_zero = kind;
  if (accepted.bits > 0 || !is_one_number(description))
    return accepted;
  std::vector<std::pair<std::int64_t, std::string>> largest_first;
  for (const auto& [name, size] : workload.problem.dimensions)
    largest_first.emplace_back(-size, name);
  std::ranges::sort(largest_first);
  for (const auto& [negative, name] : largest_first)
    for (const auto kind : {IntegerFill::Kind::below, IntegerFill::Kind::permuted}) {
      accepted.index = AcceptedIntegers::Index{kind, name};
      if (question.accepts([&](const Workload& at) { return accepted.indices(at, buffer); }))
        return accepted;
    }
  accepted.index.reset();
  return accepted;
}

} // namespace

std::optional<IntegerFill> AcceptedIntegers::data(IntegerFill::Kind kind) const {
  return bits > 0 && kind != IntegerFill::Kind::usual ? std::optional(IntegerFill{kind, bits}) : std::nullopt;
}

std::optional<IntegerFill> AcceptedIntegers::indices(const Workload& workload, std::size_t buffer) const {
  if (!index)
    return std::nullopt;
  const auto size = workload.problem.dimensions.find(index->dimension);
  if (size == workload.problem.dimensions.end() || size->second < 2)
    return std::nullopt;
  const auto bound = static_cast<std::uint64_t>(size->second);
  if (index->kind == IntegerFill::Kind::permuted && workload.buffers[buffer].count > bound)
    return std::nullopt;
  return IntegerFill{index->kind, 0, bound};
}

std::vector<AcceptedIntegers> accepted_integers(const HostKernels& raw,
                                                const std::vector<const ReferenceRuns*>& sizes,
                                                std::uint64_t seed, int jobs,
                                                std::chrono::steady_clock::time_point deadline) {
  if (sizes.empty())
    return {};
  const std::vector<const ReferenceRuns*> chosen = telling_sizes(sizes);
  const Workload& workload = *chosen.back()->workload;
  std::vector<AcceptedIntegers> accepted(workload.buffers.size());
  parallel(workload.buffers.size(), jobs, deadline, [&](std::size_t buffer) {
    if (is_open(workload.buffers[buffer]))
      accepted[buffer] = ask(Question(raw, chosen, seed, buffer), workload, buffer);
  });
  return accepted;
}

std::string describe(const Workload& workload, const std::vector<AcceptedIntegers>& accepted) {
  std::string sentence;
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    const AcceptedIntegers& one = accepted[i];
    if (!one.any())
      continue;
    std::string what;
    const auto add = [&](const std::string& text) { what += (what.empty() ? "" : ", ") + text; };
    if (one.bits > 0)
      add("numbers of " + std::to_string(one.bits) + " bits");
    if (one.below_zero)
      add(*one.below_zero == IntegerFill::Kind::minus_one ? "-1" : "numbers below zero");
    if (one.index)
      add(std::string(one.index->kind == IntegerFill::Kind::permuted ? "each index below "
                                                                     : "indices below ") +
          one.index->dimension + (one.index->kind == IntegerFill::Kind::permuted ? " once" : ""));
    sentence += (sentence.empty() ? "the raw kernel also takes " : "; ") + what + " in '" +
                workload.buffers[i].name + "'";
  }
  return sentence.empty() ? "" : sentence + ", and runs do so too";
}

} // namespace lathe::refactor
