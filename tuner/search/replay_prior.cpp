#include "tuner/search/replay_prior.h"

#include "tuner/search/replay.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lathe {

namespace {

// The searches that make histories have other seeds than those that use them.
constexpr std::uint64_t first_history_seed = 1'000'001;

using Records = std::vector<RecordedSpace::Record>;

void shuffle(Records& records, Random& random) {
  for (std::size_t i = records.size(); i > 1; --i) {
    RecordedSpace::Record &a = records[i - 1], &b = records[random() % i];
    std::swap(a.point, b.point);
  }
}

void invert(Records& records) {
  double least = 0, most = 0;
  for (const RecordedSpace::Record& record : records)
    if (record.succeeded) {
      least = least > 0 ? std::min(least, record.cost) : record.cost;
      most = std::max(most, record.cost);
    }
  for (RecordedSpace::Record& record : records)
    if (record.succeeded)
      record.cost = least * most / record.cost;
}

void permute(Records& records, const std::vector<Parameter>& parameters, Random& random) {
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    std::vector<std::uint16_t> other(parameters[p].values.size());
    std::iota(other.begin(), other.end(), std::uint16_t{0});
    std::ranges::shuffle(other, random);
    for (RecordedSpace::Record& record : records)
      record.point[p] = other[record.point[p]];
  }
}

} // namespace

Result<std::vector<std::vector<Observation>>> choose_priors(const RecordedSpace& earlier,
                                                            const std::vector<Parameter>& parameters,
                                                            const PriorChoice& choice, std::size_t seeds) {
  std::vector<ReplayRun> histories;
  if (choice.history > 0) {
    ReplayOptions options{.budget = choice.history, .seeds = seeds, .first_seed = first_history_seed};
    options.threads = choice.threads;
    LATHE_TRY(ReplayResult result, replay(earlier, options));
    histories = std::move(result.runs);
  }
  std::vector<std::vector<Observation>> priors;
  for (std::size_t i = 0; i < seeds; ++i) {
    RecordedSpace known = earlier;
    if (choice.history > 0) {
      known.records.clear();
      for (const Observation& seen : histories[i].observations)
        known.records.push_back({seen.point, seen.succeeded, seen.cost});
    }
    Random random(i + 1);
    if (choice.change == PriorChange::shuffled)
      shuffle(known.records, random);
    if (choice.change == PriorChange::inverted)
      invert(known.records);
    if (choice.change == PriorChange::permuted)
      permute(known.records, known.parameters, random);
    LATHE_TRY(std::vector<Observation> prior, prior_from(known, parameters));
    priors.push_back(std::move(prior));
  }
  return priors;
}

} // namespace lathe
