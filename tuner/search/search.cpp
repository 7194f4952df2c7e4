#include "tuner/search/search.h"

#include "tuner/search/bandit.h"
#include "tuner/search/engine.h"
#include "tuner/search/technique.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

namespace lathe {

namespace search {

namespace {

// What wins on recorded spaces (docs/results/search.md).
const char* const default_ensemble = "gaussian_process+greedy_ils";

class Engine final : public Search {
public:
  Engine(std::unique_ptr<Domain> domain, const std::vector<const TechniqueKind*>& kinds,
         const SearchOptions& options)
      : domain_(std::move(domain)), bandit_(kinds.size()), random_(options.seed),
        start_(options.start.rbegin(), options.start.rend()), patience_(options.patience) {
    if (!options.prior.empty())
      prior_.emplace(domain_->parameters(), options.prior);
    for (const TechniqueKind* kind : kinds) {
      names_.push_back(kind->name);
      arms_.push_back(kind->make(Context{*domain_, history_, prior_ ? &*prior_ : nullptr, Random(random_()),
                                         options.effort_weight, options.threads}));
    }
  }

  std::vector<Point> ask(std::size_t count) override {
    std::vector<Point> points;
    while (points.size() < count) {
      std::optional<Point> point = next();
      if (!point)
        break;
      points.push_back(std::move(*point));
    }
    return points;
  }

  void tell(const Observation& observation) override {
    if (history_.find(observation.point) || observation.point.size() != domain_->parameters().size())
      return;
    const bool is_new_best = history_.observe(observation);
    since_best_ = is_new_best ? 0 : since_best_ + 1;
    const std::string_view author = history_.author(observation.point);
    for (std::size_t arm = 0; arm < arms_.size(); ++arm)
      if (names_[arm] == author)
        bandit_.report(arm, is_new_best);
    for (auto& arm : arms_)
      arm->observe(observation, is_new_best);
  }

  std::optional<Point> wants_counters() override {
    for (auto& arm : arms_)
      if (std::optional<Point> point = arm->wants_counters())
        return point;
    return {};
  }

  void tell_counters(const Point& point, std::optional<Counters> counters) override {
    history_.observe_counters(point, std::move(counters));
  }

  std::string_view author(const Point& point) const override { return history_.author(point); }

private:
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> arms = bandit_.ranking();
    if (since_best_ < patience_)
      std::ranges::stable_partition(arms, [](std::size_t arm) { return arm == 0; });
    return arms;
  }

  std::optional<Point> next() {
    while (!start_.empty()) {
      Point point = std::move(start_.back());
      start_.pop_back();
      if (!domain_->contains(point) || history_.is_taken(point))
        continue;
      history_.propose(point, "default");
      return point;
    }
    if (!domain_->table() || history_.taken() < domain_->table()->size())
      for (std::size_t arm : order()) {
        std::optional<Point> point = arms_[arm]->propose();
        if (!point)
          continue;
        history_.propose(*point, names_[arm]);
        bandit_.begin(arm);
        return point;
      }
    return remaining();
  }

  // No technique has an idea: any point that is left. The scan resumes where the last one ended.
  std::optional<Point> remaining() {
    std::optional<Point> found;
    for (int draw = 0; !found && draw < 64; ++draw)
      if (Point point = domain_->sample(random_); !history_.is_taken(point))
        found = std::move(point);
    if (const PointTable* table = domain_->table()) {
      for (; !found && scanned_ < table->size(); ++scanned_)
        if (Point point = table->point(scanned_); !history_.is_taken(point))
          found = std::move(point);
    } else {
      for (int draw = 0; !found && draw < 10'000; ++draw)
        if (Point point = domain_->sample(random_); !history_.is_taken(point))
          found = std::move(point);
    }
    if (found)
      history_.propose(*found, "random");
    return found;
  }

  std::unique_ptr<Domain> domain_;
  History history_;
  std::optional<Prior> prior_;
  Bandit bandit_;
  Random random_;
  std::vector<Point> start_; // what is left of it, the next one last
  std::vector<std::string_view> names_;
  std::vector<std::unique_ptr<Technique>> arms_;
  std::size_t scanned_ = 0, since_best_ = 0, patience_;
};

} // namespace

Result<std::unique_ptr<Search>> make_search(std::unique_ptr<Domain> domain, const SearchOptions& options) {
  std::vector<const TechniqueKind*> chosen;
  std::istringstream wanted(options.technique == "ensemble" ? default_ensemble : options.technique);
  for (std::string name; std::getline(wanted, name, '+');) {
    const auto kind = std::ranges::find(technique_kinds(), name, &TechniqueKind::name);
    if (kind == technique_kinds().end()) {
      chosen.clear();
      break;
    }
    if (std::ranges::find(chosen, &*kind) == chosen.end())
      chosen.push_back(&*kind);
  }
  if (chosen.empty()) {
    std::string known;
    for (const std::string& name : technique_names())
      known += (known.empty() ? "" : ", ") + name;
    return usage_error("technique \"" + options.technique + "\"", "there is no such technique",
                       "choose one of " + known + ", or several joined by +");
  }
  return std::unique_ptr<Search>(std::make_unique<Engine>(std::move(domain), chosen, options));
}

} // namespace search

Result<std::unique_ptr<Search>> make_search(const Space& space, const SearchOptions& options) {
  return search::make_search(search::domain_of(space), options);
}

std::vector<std::string> technique_names() {
  std::vector<std::string> names{"ensemble"};
  for (const search::TechniqueKind& kind : search::technique_kinds())
    names.emplace_back(kind.name);
  return names;
}

} // namespace lathe
