#include "refactor/guard/accepted_scalars.h"

#include "refactor/guard/parallel.h"
#include "refactor/guard/raw_question.h"
#include "tuner/measure/fill.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace lathe::refactor {
namespace {

// The number that the specification writes for a parameter; nothing for real numbers, truth values, and what
// depends on sizes.
std::optional<std::int64_t> fixed_number(const Workload& workload, std::size_t parameter) {
  const Workload::Parameter& description = workload.parameters[parameter];
  const auto dtype = description.is_buffer ? std::nullopt : element_type(description.dtype);
  if (!dtype || element::is_real(*dtype) || *dtype == element::boolean ||
      !workload.spec->arguments[parameter].value.names().empty())
    return std::nullopt;
  const auto* value = std::get_if<std::int64_t>(&description.value);
  return value ? std::optional(*value) : std::nullopt;
}

// Whether a condition or a launch of the template names the number, as what its knobs have to suit.
bool is_named(const TuningSpec& spec, std::int64_t number) {
  const auto names = [&](const Expression& expression) {
    const std::string text = expression.text(), digits = std::to_string(number);
    for (std::size_t at = text.find(digits); at != std::string::npos; at = text.find(digits, at + 1)) {
      const auto is_digit = [&](std::size_t i) {
        return i < text.size() && text[i] >= '0' && text[i] <= '9';
      };
      if (!is_digit(at - 1) && !is_digit(at + digits.size()))
        return true;
    }
    return false;
  };
  return std::ranges::any_of(spec.conditions,
                             [&](const Condition& condition) { return names(condition.expression); });
}

std::vector<std::int64_t> others(const TuningSpec& spec, std::int64_t number) {
  constexpr std::int64_t TIMES = 3; // what divides the number still does, and it is no power of two
  std::vector<std::int64_t> values{0, -1, 1, TIMES * number};
  if (!is_named(spec, number))
    values.push_back(number + 1);
  std::erase(values, number);
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

} // namespace

std::vector<AcceptedScalar> accepted_scalars(const HostKernels& raw, const TuningSpec& spec,
                                             const std::vector<const ReferenceRuns*>& sizes,
                                             const std::set<std::size_t>& unused, std::uint64_t seed,
                                             int jobs, std::chrono::steady_clock::time_point deadline) {
  if (sizes.empty())
    return {};
  const RawQuestion question(raw, sizes, seed, 1);
  std::vector<AcceptedScalar> asked;
  for (std::size_t p = 0; p < question.workload().parameters.size(); ++p)
    if (const auto number = fixed_number(question.workload(), p); number && !unused.contains(p))
      for (const std::int64_t value : others(spec, *number))
        asked.push_back({p, value});
  std::vector<char> answers(asked.size(), 0);
  parallel(asked.size(), jobs, deadline, [&](std::size_t i) {
    answers[i] = question.accepts([&](const Workload&, TrialSettings& settings) {
      settings.integer_scalars[asked[i].parameter] = asked[i].value;
      return true;
    });
  });
  std::vector<AcceptedScalar> accepted;
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (answers[i])
      accepted.push_back(asked[i]);
  return accepted;
}

std::string describe(const TuningSpec& spec, const std::vector<AcceptedScalar>& accepted) {
  std::string sentence;
  std::optional<std::size_t> last;
  for (const AcceptedScalar& one : accepted) {
    const bool is_next = std::exchange(last, one.parameter) != one.parameter;
    sentence += sentence.empty() ? "the raw kernel also takes " : is_next ? "; " : ", ";
    sentence +=
        (is_next ? "'" + spec.arguments[one.parameter].name + "' of " : "") + std::to_string(one.value);
  }
  return sentence.empty() ? "" : sentence + ", and runs do so too";
}

} // namespace lathe::refactor
