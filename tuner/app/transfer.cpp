#include "tuner/app/transfer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

namespace lathe {

namespace {

constexpr std::ptrdiff_t fewest = 10;

bool is_same(const StoreKey& a, const StoreKey& b) {
  return a.template_hash == b.template_hash && a.workload == b.workload && a.device == b.device &&
         a.driver == b.driver && a.toolkit == b.toolkit;
}

// Only the host executor has no driver.
bool is_host(const StoreKey& key) {
  return key.driver.empty();
}

int likeness(const StoreKey& a, const StoreKey& b) {
  return 2 * (a.device == b.device) + (a.workload == b.workload);
}

// The dimensions of a workload's key by name, with zero for a word that has no number: "bf16 n=4096,d=128".
std::map<std::string, double> dimensions_of(std::string key) {
  std::ranges::replace(key, ',', ' ');
  std::istringstream words(key);
  std::map<std::string, double> dimensions;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    double number = 0;
    if (equals != std::string::npos)
      std::from_chars(word.data() + equals + 1, word.data() + word.size(), number);
    dimensions.emplace(number > 0 ? word.substr(0, equals) : word, number);
  }
  return dimensions;
}

// How many doublings lie between two problems, over all dimensions; a word that one of them lacks, such as a
// type, counts as one.
double doublings(const std::string& a, const std::string& b) {
  const auto of_a = dimensions_of(a), of_b = dimensions_of(b);
  double sum = 0;
  for (const auto& [name, number] : of_a)
    if (const auto other = of_b.find(name); other == of_b.end())
      ++sum;
    else if (number > 0 && other->second > 0)
      sum += std::abs(std::log2(number / other->second));
  for (const auto& [name, number] : of_b)
    sum += !of_a.contains(name);
  return sum;
}

// The values in the order of the space, with the default of a knob that the evaluation does not have.
std::optional<KnobValues> completed(const StoredEvaluation& evaluation, const Space& space,
                                    const KnobValues& defaults) {
  KnobValues values = defaults;
  for (std::size_t i = 0; i < evaluation.knob_names.size() && i < evaluation.knobs.size(); ++i) {
    const auto found = std::ranges::find(space.parameters(), evaluation.knob_names[i], &Parameter::name);
    if (found == space.parameters().end())
      return std::nullopt;
    values[static_cast<std::size_t>(found - space.parameters().begin())] = evaluation.knobs[i];
  }
  return values;
}

} // namespace

Result<EarlierResults> earlier_results(Store& store, const StoreKey& key, const Space& space,
                                       const KnobValues& defaults) {
  LATHE_TRY(const std::vector<StoreKey> keys, store.keys(key.kernel));
  EarlierResults best;
  std::tuple<int, double, std::size_t> best_rank{-1, 0, 0};
  for (const StoreKey& other : keys) {
    if (is_same(other, key) || is_host(other) != is_host(key))
      continue;
    LATHE_TRY(const std::vector<StoredEvaluation> stored, store.evaluations(other));
    std::vector<Observation> observations;
    for (const StoredEvaluation& evaluation : stored) {
      const auto knobs = completed(evaluation, space, defaults);
      if (const auto point = knobs ? space.point_of(*knobs) : std::nullopt)
        observations.push_back(
            {*point, evaluation.measurement.outcome == Outcome::ok, evaluation.measurement.timing.median_us});
    }
    const std::tuple rank{likeness(other, key), -doublings(other.workload, key.workload),
                          observations.size()};
    if (std::ranges::count_if(observations, &Observation::succeeded) < fewest || rank <= best_rank)
      continue;
    best_rank = rank;
    best = {other.workload + " on " + other.device, std::move(observations)};
  }
  return best;
}

} // namespace lathe
