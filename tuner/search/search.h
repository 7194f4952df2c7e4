// Search over a space: techniques, and the bandit that shares the evaluations among them.
#pragma once

#include "tuner/base/result.h"
#include "tuner/space/space.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct Observation {
  Point point;
  bool succeeded = false;
  double cost = 0; // the objective, lower is better; meaningless when !succeeded
};

struct SearchOptions {
  // One of technique_names(), or several joined by "+", which then share the proposals by the bandit.
  std::string technique = "ensemble";
  std::uint64_t seed = 1;
  std::vector<Observation> prior; // from another device, problem or template version (transfer)
};

// Ask and tell. `ask` never returns a point twice, nor one that was told; fewer points than asked means that
// the space is exhausted. The sequence depends on the seed and the order of tells only.
class Search {
public:
  virtual ~Search() = default;
  virtual std::vector<Point> ask(std::size_t count) = 0;
  virtual void tell(const Observation& observation) = 0;
  // The technique that proposed a point ("prior", "default" for foreign ones).
  virtual std::string_view author(const Point& point) const = 0;
};

// `space` must outlive the search. Unknown technique: a usage error that lists the known ones.
Result<std::unique_ptr<Search>> make_search(const Space& space, const SearchOptions& options);
std::vector<std::string> technique_names();

} // namespace lathe
