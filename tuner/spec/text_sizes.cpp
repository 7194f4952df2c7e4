#include "tuner/spec/text_sizes.h"

#include "tuner/spec/names.h"

#include <algorithm>
#include <set>

namespace lathe {

const TextSize* TuningSpec::find_text_size(std::string_view dimension) const {
  const auto found = std::ranges::find(text_sizes, dimension, &TextSize::dimension);
  return found == text_sizes.end() ? nullptr : &*found;
}

std::vector<std::string> bind_macros(const Workload& workload, const KnobValues& knobs) {
  const TuningSpec& spec = *workload.spec;
  std::vector<std::string> options;
  const auto define = [&](const std::string& name, const std::string& value) {
    options.push_back("-D" + name + "=" + value);
  };
  for (std::size_t i = 0; i < spec.knobs.size() && i < knobs.size(); ++i)
    if (spec.knobs[i].is_macro)
      define(spec.knobs[i].name, to_string(knobs[i]));
  for (const TextSize& size : spec.text_sizes)
    if (const auto found = workload.problem.dimensions.find(size.dimension);
        found != workload.problem.dimensions.end() && found->second != size.value)
      define(size.macro, std::to_string(found->second));
  return options;
}

namespace spec {
namespace {

const Path text_sizes_path = Path{"Lathe"} / "TextSizes";

} // namespace

Status read_text_sizes(Reading& reading) {
  const Document& document = reading.document;
  const nlohmann::json* list = document.find(text_sizes_path);
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const Path path = text_sizes_path / i;
    const auto integer = [&](const Path& place) -> Result<std::int64_t> {
      LATHE_TRY(const Value value, value_at(document, place));
      if (const auto* number = std::get_if<std::int64_t>(&value)) // JSON Schema takes 4.0 for an integer
        return *number;
      return document.error(place, "is " + to_string(value), "write an integer");
    };
    TextSize size;
    size.dimension = text_at(document, path / "Name");
    size.macro = text_at(document, path / "Macro", size.dimension);
    LATHE_TRY(size.value, integer(path / "Value"));
    const nlohmann::json* trials = document.find(path / "Trials");
    for (std::size_t trial = 0; trials && trial < trials->size(); ++trial) {
      LATHE_TRY(const std::int64_t number, integer(path / "Trials" / trial));
      size.trials.push_back(number);
    }
    reading.spec.text_sizes.push_back(std::move(size));
  }
  return Done{};
}

Status check_text_sizes(const Reading& reading) {
  const TuningSpec& spec = reading.spec;
  std::set<std::string> names, macros;
  for (std::size_t i = 0; i < spec.text_sizes.size(); ++i) {
    const TextSize& size = spec.text_sizes[i];
    const Path path = text_sizes_path / i;
    if (std::ranges::find(spec.dimensions, size.dimension) == spec.dimensions.end())
      return reading.error(path / "Name", "there is no dimension " + size.dimension,
                           suggestion(size.dimension, spec.dimensions));
    if (!is_identifier(size.macro))
      return reading.error(path / "Macro", "'" + size.macro + "' is no identifier",
                           "name the macro that the kernels' texts have");
    if (!names.insert(size.dimension).second || !macros.insert(size.macro).second)
      return reading.error(path, size.dimension + " or its macro is there twice", "remove one of the two");
    if (size.trials.size() != spec.text_sizes.front().trials.size())
      return reading.error(path / "Trials", "has another number of values than the first text size",
                           "give all text sizes as many: those of one place go together");
    for (const Problem& problem : spec.problems)
      if (const auto found = problem.dimensions.find(size.dimension);
          found != problem.dimensions.end() && found->second != size.value)
        return reading.error(path / "Value",
                             "is " + std::to_string(size.value) + ", and a problem has " + size.dimension +
                                 "=" + std::to_string(found->second),
                             "the kernels' texts fix this dimension: give all problems the same");
  }
  return Done{};
}

bool has_text_sizes_of_one_place(const TuningSpec& spec, const Problem& problem) {
  const auto is_at = [&](const TextSize& size, std::int64_t value) {
    const auto found = problem.dimensions.find(size.dimension);
    return found != problem.dimensions.end() && found->second == value;
  };
  if (std::ranges::all_of(spec.text_sizes, [&](const TextSize& size) { return is_at(size, size.value); }))
    return true;
  for (std::size_t trial = 0; trial < spec.text_sizes.front().trials.size(); ++trial)
    if (std::ranges::all_of(spec.text_sizes,
                            [&](const TextSize& size) { return is_at(size, size.trials[trial]); }))
      return true;
  return false;
}

} // namespace spec
} // namespace lathe
