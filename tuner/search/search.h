// Search over a space: techniques, and the bandit that shares the evaluations among them.
#pragma once

#include "tuner/base/result.h"
#include "tuner/space/space.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct Observation {
  Point point;
  bool succeeded = false;
  double cost = 0;    // the objective, lower is better; meaningless when !succeeded
  double seconds = 0; // what compiling and measuring took; 0: not known
};

// What a device counted while a configuration ran, by name. Any names, as long as they mean the same within a
// search.
using Counters = std::map<std::string, double>;

struct SearchOptions {
  // One of technique_names(), or several joined by "+": the first proposes while it makes progress; when it
  // has found nothing better for a while, they share the proposals by the bandit.
  std::string technique = "ensemble";
  std::uint64_t seed = 1;
  std::vector<Point> start = {};       // proposed first, in this order; the default configuration
  std::vector<Observation> prior = {}; // from another device, problem or template version (transfer)
  // How much the expected gain of a configuration is held against what compiling and measuring it will take,
  // in powers of the expected seconds: 0 not at all, 1 is gain a second (docs/results/effort.md).
  double effort_weight = 1;
  // Evaluations without a new best after which the first of several techniques shares the proposals.
  std::size_t patience = 200;
  // Among which the models of a large space divide their work; nothing depends on it but time.
  unsigned threads = 1;
};

// Ask and tell. `ask` never returns a point twice, nor one that was told; fewer points than asked means that
// the space is exhausted. The sequence depends on the seed and the order of tells only.
class Search {
public:
  virtual ~Search() = default;
  virtual std::vector<Point> ask(std::size_t count) = 0;
  virtual void tell(const Observation& observation) = 0;
  // A point that was told and whose counters a technique would pay for now; nothing where none uses counters.
  virtual std::optional<Point> wants_counters() = 0;
  // The answer to that; nothing: they cannot be read of this point.
  virtual void tell_counters(const Point& point, std::optional<Counters> counters) = 0;
  // The technique that proposed a point ("prior", "default" for foreign ones).
  virtual std::string_view author(const Point& point) const = 0;
};

// `space` must outlive the search. Unknown technique: a usage error that lists the known ones.
Result<std::unique_ptr<Search>> make_search(const Space& space, const SearchOptions& options);
std::vector<std::string> technique_names();

// How far the best found may be from the best there is. Search has no certificate: this is an extrapolation,
// and docs/search.md says how often it holds on recorded spaces.
struct RemainingGap {
  // A likely bound on (best found - optimum) / best found. The largest of: twice what the second half of the
  // evaluations gained; twice the spacing of the best five results; and 1 - (best / median)^(20 /
  // evaluations) with the median of the first 24 results, since few evaluations of a wide space leave much
  // unseen. 0 when every point was evaluated, 1 when fewer than 10 succeeded.
  double fraction = 1;
  // Upper bound, with 95 % confidence, on the share of all configurations that beat the best found, if the
  // search was no worse than random sampling: 1 - 0.05^(1/n).
  double better_share = 1;
};
// `observations` in the order of evaluation; `valid_points` from Space::valid_count().
RemainingGap estimate_remaining_gap(std::span<const Observation> observations, double valid_points);

// Stopping on a plateau: when none of the last evaluations gained `plateau_gain` on what was known before
// them, and there were so many of them that, had each had a chance of `plateau_share` to gain that much, at
// least one would have with the stated confidence. 95 % takes 59 evaluations.
inline constexpr double plateau_gain = 0.01, plateau_share = 0.05;
std::size_t plateau_length(double confidence);
bool has_plateaued(std::span<const Observation> observations, double confidence);

} // namespace lathe
