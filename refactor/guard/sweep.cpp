// Which configurations are run in brief: values of knobs that only together go wrong.
#include "refactor/guard/knob_space.h"

#include <algorithm>
#include <array>
#include <set>

namespace lathe::refactor {
namespace {

// Draws configurations that cover pairs of values of knobs, and threes of values, which no configuration so
// far has: a covering array, as far as it is worth what it costs. Knobs that only change how code is arranged
// stay at their defaults where they may: each of their values would be another kernel to compile.
class Sweep {
public:
  explicit Sweep(JudgedPair& subject)
      : subject_(subject), spec_(subject.spec), random_(subject.seed ^ 0x5eeb) {
    for (const auto* configurations : {&subject.defaults, &subject.sampled})
      for (const Configuration& configuration : *configurations)
        cover(configuration.knobs);
  }

  void draw(std::size_t wanted) {
    const std::vector<Problem> problems = problems_of(spec_);
    std::size_t fruitless = 0;
    for (std::size_t turn = 0; subject_.swept.size() < wanted && fruitless < problems.size(); ++turn)
      fruitless = take_best(problems[turn % problems.size()]) ? 0 : fruitless + 1;
  }

private:
  using Setting = std::pair<std::size_t, std::string>; // a knob and its value
  using Pair = std::array<Setting, 2>;
  using Three = std::array<Setting, 3>;

  struct Pool {
    std::shared_ptr<const Workload> workload;
    std::vector<KnobValues> configurations;
  };

  // That what deals out no work is at its default.
  std::vector<Expression> at_defaults(const Workload& workload) const {
    std::vector<Expression> conditions;
    const auto defaults = default_knobs(workload);
    for (std::size_t k = 0; defaults && k < spec_.knobs.size(); ++k)
      if (const auto* number = std::get_if<std::int64_t>(&(*defaults)[k]);
          number && !deals_out_work(spec_.knobs[k]) && spec_.knobs[k].kind != KnobKind::unroll)
        if (auto condition = Expression::parse(spec_.knobs[k].name + " == " + std::to_string(*number)))
          conditions.push_back(std::move(*condition));
    return conditions;
  }

  Pool& pool_of(const Problem& problem) {
    const auto [place, is_new] = pools_.emplace(problem.dimensions, Pool{});
    Pool& pool = place->second;
    if (!is_new)
      return pool;
    auto owned = own_workload(spec_, problem, subject_.type_choices.front(), subject_.device);
    if (!owned)
      return pool;
    pool.workload = *owned;
    auto space = knob_space(spec_, *pool.workload, at_defaults(*pool.workload));
    if (!space)
      space = knob_space(spec_, *pool.workload);
    constexpr int DRAWS = 256;
    std::set<Point> drawn;
    for (int i = 0; space && i < DRAWS; ++i)
      if (const Point point = space->sample(random_); drawn.insert(point).second)
        pool.configurations.push_back(space->values(point));
    return pool;
  }

  bool take_best(const Problem& problem) {
    // Each is another kernel to compile: beyond a few only those that cover a good share of what is open.
    constexpr std::size_t FEW = 3, SHARE = 16;
    constexpr std::size_t PAIR = 16; // as much as so many threes
    Pool& pool = pool_of(problem);
    std::size_t most = 0, best = 0, pairs_of_best = 0;
    std::set<Pair> open;
    for (std::size_t i = 0; i < pool.configurations.size(); ++i) {
      std::size_t pairs = 0, threes = 0;
      visit(
          pool.configurations[i],
          [&](const Pair& pair) {
            if (!pairs_.contains(pair)) {
              ++pairs;
              open.insert(pair);
            }
          },
          [&](const Three& three) { threes += !threes_.contains(three); });
      if (const std::size_t gain = PAIR * pairs + threes; gain > most)
        most = gain, best = i, pairs_of_best = pairs;
    }
    if (most == 0 || (subject_.swept.size() >= FEW && SHARE * pairs_of_best < open.size()))
      return false;
    const KnobValues values = pool.configurations[best];
    cover(values);
    // What cannot be launched is told of sampled configurations and by the check of all launches.
    auto bound = bind_configuration(pool.workload, values);
    if (bound)
      subject_.swept.push_back(std::move(*bound));
    return bound.ok();
  }

  template <class OnPair, class OnThree>
  void visit(const KnobValues& values, OnPair on_pair, OnThree on_three) const {
    std::vector<Setting> settings;
    for (std::size_t k = 0; k < values.size(); ++k)
      if (deals_out_work(spec_.knobs[k]) || spec_.knobs[k].kind == KnobKind::unroll)
        settings.emplace_back(k, lathe::to_string(values[k]));
    for (std::size_t k = 0; k < settings.size(); ++k)
      for (std::size_t other = 0; other < k; ++other) {
        on_pair(Pair{settings[other], settings[k]});
        for (std::size_t third = 0; third < other; ++third)
          on_three(Three{settings[third], settings[other], settings[k]});
      }
  }

  void cover(const KnobValues& values) {
    visit(
        values, [&](const Pair& pair) { pairs_.insert(pair); },
        [&](const Three& three) { threes_.insert(three); });
  }

  JudgedPair& subject_;
  const TuningSpec& spec_;
  Random random_;
  std::map<std::map<std::string, std::int64_t>, Pool> pools_;
  std::set<Pair> pairs_;
  std::set<Three> threes_;
};

} // namespace

void sweep_configurations(JudgedPair& subject) {
  if (!subject.spec.knobs.empty())
    Sweep(subject).draw(static_cast<std::size_t>(std::max(0, subject.options.sampled_configurations)));
}

} // namespace lathe::refactor
