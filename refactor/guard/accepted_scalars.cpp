#include "refactor/guard/accepted_scalars.h"

#include "refactor/guard/parallel.h"
#include "refactor/guard/raw_question.h"
#include "tuner/measure/fill.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <variant>

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

// What lies beside the values of knobs that are numbers: where a tile, a halo or a vector begins to hold what
// an argument says, and where it no longer does. The smallest of each knob and its largest.
std::set<std::int64_t> sizes_of_knobs(const TuningSpec& spec) {
  std::set<std::int64_t> sizes;
  for (const Knob& knob : spec.knobs) {
    std::set<std::int64_t> values;
    for (const Value& value : knob.values)
      if (const auto* number = std::get_if<std::int64_t>(&value); number && *number > 1)
        values.insert(*number);
    if (!values.empty())
      for (const std::int64_t value : {*values.begin(), *values.rbegin()})
        sizes.insert({value - 1, value + 1});
  }
  return sizes;
}

// The numbers to ask about in place of `number`; what several kinds have is of the first. Of those near by at
// most `most_near`.
std::map<std::int64_t, AcceptedScalar::Kind> others(const TuningSpec& spec, std::int64_t number,
                                                    element::DType dtype, std::size_t most_near) {
  using Kind = AcceptedScalar::Kind;
  std::map<std::int64_t, Kind> values;
  constexpr std::int64_t TIMES = 3; // what divides the number still does, and it is no power of two
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, TIMES * number})
    values.emplace(value, Kind::usual);
  if (!is_named(spec, number)) {
    values.emplace(number + 1, Kind::usual);
    // What tells most comes first. Odd ones, as few tiles and vectors go into them; one beyond most sizes of
    // a trial.
    constexpr std::int64_t BEYOND = 1001;
    const std::set<std::int64_t> of_knobs = sizes_of_knobs(spec);
    std::vector<std::int64_t> near{-2, 7};
    near.insert(near.end(), of_knobs.begin(), of_knobs.end());
    near.insert(near.end(), {17, -7, number - 1, -number, BEYOND, -BEYOND, 2, 5, -5, -17});
    std::ranges::transform(of_knobs, std::back_inserter(near), std::negate());
    near.resize(std::min(near.size(), most_near));
    for (const std::int64_t value : near)
      values.emplace(value, Kind::near);
  }
  if (element::size_of(dtype) == sizeof(std::int64_t)) {
    // The lower half is the number's own, without its sign, or drawn.
    constexpr std::int64_t HALF = std::int64_t{1} << 32, DRAWN = 0x2b992ddfa23249d6;
    for (const std::int64_t value : {HALF + number, HALF / 2 + number, -2 * HALF + number, DRAWN})
      values.emplace(value, Kind::wide);
  }
  values.erase(number);
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
  // Each question costs runs of the raw kernel: where there are many parameters, fewer are asked of each.
  constexpr std::size_t MOST_NEAR = 96, FEWEST_NEAR = 6;
  std::map<std::size_t, std::int64_t> numbers; // by parameter
  for (std::size_t p = 0; p < question.workload().parameters.size(); ++p)
    if (const auto number = fixed_number(question.workload(), p); number && !unused.contains(p))
      numbers.emplace(p, *number);
  std::vector<AcceptedScalar> asked;
  for (const auto& [p, number] : numbers)
    for (const auto& [value, kind] :
         others(spec, number, *element_type(question.workload().parameters[p].dtype),
                std::max(FEWEST_NEAR, MOST_NEAR / numbers.size())))
      asked.push_back({p, value, kind});
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
  constexpr std::size_t MOST = 6;
  std::map<std::size_t, std::vector<std::int64_t>> values;
  for (const AcceptedScalar& one : accepted)
    values[one.parameter].push_back(one.value);
  std::string sentence;
  for (const auto& [parameter, numbers] : values) {
    sentence += sentence.empty() ? "the raw kernel also takes " : "; ";
    sentence += "'" + spec.arguments[parameter].name + "' of ";
    for (std::size_t i = 0; i < std::min(MOST, numbers.size()); ++i)
      sentence += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
    if (numbers.size() > MOST)
      sentence += " and " + std::to_string(numbers.size() - MOST) + " others";
  }
  return sentence.empty() ? "" : sentence + ", and runs do so too";
}

} // namespace lathe::refactor
