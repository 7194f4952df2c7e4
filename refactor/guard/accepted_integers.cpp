#include "refactor/guard/accepted_integers.h"

#include "refactor/guard/parallel.h"
#include "refactor/guard/raw_question.h"
#include "tuner/measure/fill.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace lathe::refactor {
namespace {

// Whether a buffer holds integers that may be others: no truth values.
bool is_open(const Workload::Buffer& buffer) {
  const auto dtype = element_type(buffer.dtype);
  return buffer.direction != Direction::out && buffer.count > 0 && dtype && !element::is_real(*dtype) &&
         *dtype != element::boolean;
}

bool is_one_number(const Workload::Buffer& buffer) {
  return buffer.fill.kind == Fill::Kind::zero ||
         (buffer.fill.kind == Fill::Kind::integer && buffer.integer_low == buffer.integer_high);
}

// A question about one buffer.
class BufferQuestion {
public:
  BufferQuestion(const RawQuestion& question, std::size_t buffer) : question_(question), buffer_(buffer) {}

  // `fill_at`: for a workload, or nothing where the question makes no sense there.
  template <class FillAt> bool accepts(FillAt fill_at) const {
    return question_.accepts([&](const Workload& workload, TrialSettings& settings) {
      const std::optional<IntegerFill> fill = fill_at(workload);
      if (fill)
        settings.integers[buffer_] = *fill;
      return fill.has_value();
    });
  }
  bool accepts(const IntegerFill& fill) const {
    return accepts([&](const Workload&) { return std::optional(fill); });
  }

private:
  const RawQuestion& question_;
  std::size_t buffer_;
};

// The most bits, sign apart, that numbers in the buffer may have.
int accepted_bits(const BufferQuestion& question, element::DType dtype) {
  constexpr std::array<int, 6> FEWER{48, 31, 24, 15, 11, 8};
  const int all = 8 * element::size_of(dtype) - (element::is_signed_integer(dtype) ? 1 : 0);
  std::vector<int> steps{all};
  std::ranges::copy_if(FEWER, std::back_inserter(steps), [&](int bits) { return bits < all; });
  for (const int bits : steps)
    if (question.accepts(IntegerFill{IntegerFill::Kind::large, bits}))
      return bits;
  return 0;
}

IntegerFill fill_with(std::int64_t mark) {
  return {IntegerFill::Kind::marked, 0, static_cast<std::uint64_t>(mark)};
}

// The size of the dimension as a mark, at a workload.
std::optional<IntegerFill> fill_with_end(const Workload& workload, const std::string& dimension) {
  const auto size = workload.problem.dimensions.find(dimension);
  return size == workload.problem.dimensions.end() ? std::nullopt : std::optional(fill_with(size->second));
}

AcceptedIntegers ask(const BufferQuestion& question, const Workload& workload, std::size_t buffer,
                     const std::vector<std::int64_t>& marks) {
  const Workload::Buffer& description = workload.buffers[buffer];
  const element::DType dtype = *element_type(description.dtype);
  AcceptedIntegers accepted;
  // Offsets hang together.
  if (description.fill.kind == Fill::Kind::offsets) {
    accepted.sorted_ends = question.accepts(IntegerFill{IntegerFill::Kind::sorted_ends});
    return accepted;
  }
  accepted.bits = accepted_bits(question, dtype);
  if (element::is_signed_integer(dtype))
    for (const auto kind : {IntegerFill::Kind::negative, IntegerFill::Kind::minus_one})
      if (!accepted.below_zero && question.accepts(IntegerFill{kind}))
        accepted.below_zero = kind;
  const bool is_zero = description.fill.kind == Fill::Kind::zero;
  std::ranges::copy_if(marks, std::back_inserter(accepted.marks), [&](std::int64_t mark) {
    return !(mark == 0 && is_zero) && question.accepts(fill_with(mark));
  });
  if (accepted.bits > 0 || !is_one_number(description))
    return accepted;
  for (const auto& [name, size] : workload.problem.dimensions)
    if (question.accepts([&](const Workload& at) { return fill_with_end(at, name); }))
      accepted.ends.push_back(name);
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

std::vector<IntegerFill> AcceptedIntegers::marked(const Workload& workload) const {
  std::vector<IntegerFill> fills;
  std::ranges::transform(marks, std::back_inserter(fills), fill_with);
  for (const std::string& dimension : ends)
    if (const auto fill = fill_with_end(workload, dimension))
      fills.push_back(*fill);
  return fills;
}

std::vector<AcceptedIntegers> accepted_integers(const HostKernels& raw,
                                                const std::vector<const ReferenceRuns*>& sizes,
                                                const std::vector<std::int64_t>& marks,
                                                const std::set<std::size_t>& unused, std::uint64_t seed,
                                                int jobs, std::chrono::steady_clock::time_point deadline) {
  if (sizes.empty())
    return {};
  constexpr std::size_t SEEDS = 3; // signs are drawn by the seed: of one, of the other, and of both
  const RawQuestion question(raw, sizes, seed, SEEDS);
  const Workload& workload = question.workload();
  std::vector<AcceptedIntegers> accepted(workload.buffers.size());
  std::vector<bool> is_asked(workload.buffers.size(), true);
  for (const std::size_t parameter : unused)
    if (workload.parameters[parameter].is_buffer)
      is_asked[workload.parameters[parameter].buffer] = false;
  parallel(workload.buffers.size(), jobs, deadline, [&](std::size_t buffer) {
    if (is_asked[buffer] && is_open(workload.buffers[buffer]))
      accepted[buffer] = ask(BufferQuestion(question, buffer), workload, buffer, marks);
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
    for (const std::int64_t mark : one.marks)
      add(std::to_string(mark));
    for (const std::string& end : one.ends)
      add(end + " itself");
    if (one.sorted_ends)
      add("sorted numbers up to the largest");
    sentence += (sentence.empty() ? "the raw kernel also takes " : "; ") + what + " in '" +
                workload.buffers[i].name + "'";
  }
  return sentence.empty() ? "" : sentence + ", and runs do so too";
}

} // namespace lathe::refactor
