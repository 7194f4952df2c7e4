// Which configurations are looked at beside the defaults.
#include "refactor/guard/knob_conditions.h"
#include "refactor/guard/knob_space.h"
#include "refactor/guard/subject.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace lathe::refactor {
namespace {

// Draws the configurations that are looked at beside the defaults. Each covers as much as possible of what no
// earlier one has: values of knobs (the least and the largest first, of those that decide who does which
// work), pairs of knobs at and away from their defaults, threes of those that decide who does which work, and
// the conditions over knobs that the template's own text makes, both ways, alone and in pairs, and that knobs
// which the specification ties to each other are both far from their defaults. Where a knob's least or
// largest value has not been taken, or a condition has not been met both ways, when the wanted number is
// reached, configurations are looked for that do.
class Sampler {
public:
  explicit Sampler(JudgedPair& subject)
      : subject_(subject), spec_(subject.spec),
        conditions_(subject.template_text, subject.spec,
                    subject.defaults.empty() ? KnobValues{} : subject.defaults.front().knobs),
        problems_(problems_of(subject.spec)), random_(subject.seed) {
    find_ends();
  }

  void sample() {
    const auto wanted = static_cast<std::size_t>(std::max(0, subject_.options.sampled_configurations));
    if (spec_.knobs.empty() || wanted == 0)
      return;
    for (const Configuration& usual : subject_.defaults)
      cover(usual.workload, usual.knobs);
    std::size_t fruitless = 0;
    for (std::size_t pick = 0; subject_.sampled.size() < wanted && fruitless < 3 * problems_.size() + 3;
         ++pick)
      fruitless = take_best(pool_of(pick)) ? 0 : fruitless + 1;
    // An end that no drawn configuration had a place for, and what the text singles out: at most twice as
    // many again.
    for (const auto& end : ends_)
      if (subject_.sampled.size() < 3 * wanted && !covered_.contains(end))
        meet(spec_.knobs[end.first].name + " == " + end.second);
    for (std::size_t i = 0; i < conditions_.size() && subject_.sampled.size() < 3 * wanted; ++i)
      for (const bool value : {true, false})
        if (!met_.contains({i, value}))
          meet(value ? conditions_[i].text() : "!(" + conditions_[i].text() + ")");
  }

private:
  struct Pool {
    std::shared_ptr<const Workload> workload;
    std::vector<KnobValues> configurations;
    bool tried = false;
  };

  // Half of the picks go to the types that are tuned, the rest to the others in turn.
  Pool& pool_of(std::size_t pick) {
    const std::size_t choices = subject_.type_choices.size();
    const std::size_t types = pick % 2 == 0 || choices == 1 ? 0 : 1 + pick / 2 % (choices - 1);
    const std::size_t which = pick % problems_.size();
    Pool& pool = pools_[{types, which}];
    if (pool.tried)
      return pool;
    pool.tried = true;
    auto owned = own_workload(spec_, problems_[which], subject_.type_choices[types], subject_.device);
    if (!owned)
      return pool;
    pool.workload = *owned;
    const auto defaults = default_knobs(*pool.workload);
    const auto space = knob_space(spec_, *pool.workload);
    constexpr int DRAWS = 384;
    for (int i = 0; space && i < DRAWS; ++i) {
      KnobValues values = space->values(space->sample(random_));
      if (!(defaults && values == *defaults) &&
          std::find(pool.configurations.begin(), pool.configurations.end(), values) ==
              pool.configurations.end())
        pool.configurations.push_back(std::move(values));
    }
    return pool;
  }

  bool take_best(Pool& pool) {
    if (pool.configurations.empty())
      return false;
    std::vector<std::size_t> gains;
    for (const KnobValues& values : pool.configurations)
      gains.push_back(gain(*pool.workload, values));
    const auto best = static_cast<std::size_t>(std::max_element(gains.begin(), gains.end()) - gains.begin());
    const KnobValues values = pool.configurations[best];
    pool.configurations.erase(pool.configurations.begin() + static_cast<std::ptrdiff_t>(best));
    return take(pool.workload, values);
  }

  bool take(const std::shared_ptr<const Workload>& workload, const KnobValues& values) {
    auto bound = bind_configuration(workload, values);
    if (!bound) {
      subject_.binding_problems.push_back("an admitted configuration cannot be launched: " +
                                          bound.error().sentence());
      return false;
    }
    std::string key = bound->template_instance;
    for (const std::string& macro : bound->macros())
      key += " " + macro;
    if (!taken_.insert(key).second)
      return false;
    cover(workload, values);
    subject_.sampled.push_back(std::move(*bound));
    return true;
  }

  // A configuration at which the condition holds, of any types and problem.
  void meet(const std::string& condition) {
    const auto wanted = Expression::parse(condition);
    constexpr std::size_t TRIES = 4; // problems a choice of types
    for (std::size_t types = 0; wanted && types < subject_.type_choices.size(); ++types)
      for (std::size_t which = 0; which < std::min(TRIES, problems_.size()); ++which) {
        auto owned = own_workload(spec_, problems_[which], subject_.type_choices[types], subject_.device);
        if (!owned)
          continue;
        const auto space = knob_space(spec_, **owned, {*wanted});
        if (space && take(*owned, space->values(space->sample(random_))))
          return;
      }
  }

  using Pair = std::tuple<std::size_t, std::size_t, bool, bool>;
  using Three = std::tuple<Pair, std::size_t, bool>;

  // What goes wrong at one value alone goes wrong at the largest or the least: more warps than something has
  // room for, a tile of nothing.
  void find_ends() {
    for (std::size_t k = 0; k < spec_.knobs.size(); ++k) {
      if (!deals_out_work(spec_.knobs[k]))
        continue;
      std::vector<std::int64_t> numbers;
      for (const Value& value : spec_.knobs[k].values)
        if (const auto* number = std::get_if<std::int64_t>(&value))
          numbers.push_back(*number);
      if (numbers.empty())
        continue;
      const auto [least, largest] = std::ranges::minmax_element(numbers);
      ends_.emplace(k, std::to_string(*least));
      ends_.emplace(k, std::to_string(*largest));
    }
  }

  // What a configuration would cover: calls back with a key of one of five kinds.
  template <class Value, class KnobPair, class KnobThree, class Met, class MetPair>
  void visit(const Workload& workload, const KnobValues& values, Value on_value, KnobPair on_pair,
             KnobThree on_three, Met on_met, MetPair on_met_pair) const {
    const auto usual = default_knobs(workload);
    const auto is_usual = [&](std::size_t k) { return usual && (*usual)[k] == values[k]; };
    for (std::size_t k = 0; k < values.size(); ++k) {
      on_value(std::pair(k, lathe::to_string(values[k])));
      for (std::size_t other = 0; other < k; ++other) {
        const Pair pair{other, k, is_usual(other), is_usual(k)};
        on_pair(pair);
        if (!deals_out_work(spec_.knobs[k]) || !deals_out_work(spec_.knobs[other]))
          continue;
        for (std::size_t third = 0; third < other; ++third)
          if (deals_out_work(spec_.knobs[third]))
            on_three(Three{pair, third, is_usual(third)});
      }
    }
    const auto holds = conditions_.values(workload, values);
    for (std::size_t i = 0; i < holds.size(); ++i) {
      if (!holds[i])
        continue;
      on_met(std::pair(i, *holds[i]));
      for (std::size_t other = 0; other < i; ++other)
        if (holds[other])
          on_met_pair(Pair{other, i, *holds[other], *holds[i]});
    }
  }

  std::size_t gain(const Workload& workload, const KnobValues& values) const {
    constexpr std::size_t VALUE = 4, PAIR = 2, THREE = 1, CONDITION = 8, CONDITIONS = 1, END = 40;
    std::size_t fresh = 0;
    visit(
        workload, values,
        [&](const auto& key) {
          if (!covered_.contains(key))
            fresh += VALUE + (ends_.contains(key) ? END : 0);
        },
        [&](const Pair& key) { fresh += PAIR * !covered_pairs_.contains(key); },
        [&](const Three& key) { fresh += THREE * !covered_threes_.contains(key); },
        [&](const auto& key) { fresh += CONDITION * !met_.contains(key); },
        [&](const Pair& key) { fresh += CONDITIONS * !met_pairs_.contains(key); });
    return fresh;
  }

  void cover(const std::shared_ptr<const Workload>& workload, const KnobValues& values) {
    visit(
        *workload, values, [&](const auto& key) { covered_.insert(key); },
        [&](const Pair& key) { covered_pairs_.insert(key); },
        [&](const Three& key) { covered_threes_.insert(key); }, [&](const auto& key) { met_.insert(key); },
        [&](const Pair& key) { met_pairs_.insert(key); });
  }

  JudgedPair& subject_;
  const TuningSpec& spec_;
  KnobConditions conditions_;
  std::vector<Problem> problems_;
  Random random_;
  std::map<std::pair<std::size_t, std::size_t>, Pool> pools_; // by choice of types and problem
  std::set<std::string> taken_;
  std::set<std::pair<std::size_t, std::string>> ends_;    // the least and the largest value of knobs
  std::set<std::pair<std::size_t, std::string>> covered_; // values of knobs
  std::set<Pair> covered_pairs_;                          // of knobs, at their defaults or not
  std::set<Three> covered_threes_;
  std::set<std::pair<std::size_t, bool>> met_; // conditions
  std::set<Pair> met_pairs_;
};

} // namespace

std::vector<Problem> problems_of(const TuningSpec& spec) {
  return spec.problems.empty() ? std::vector<Problem>{Problem{}} : spec.problems;
}

void sample_configurations(JudgedPair& subject) {
  Sampler(subject).sample();
}

} // namespace lathe::refactor
