#include "tuner/search/technique.h"

namespace lathe::search {

std::optional<Point> Technique::sample_new() {
  constexpr int draws = 64;
  for (int i = 0; i < draws; ++i) {
    Point point = domain().sample(random());
    if (!history().is_taken(point))
      return point;
  }
  return {};
}

const std::vector<TechniqueKind>& technique_kinds() {
  static const std::vector<TechniqueKind> kinds = {
      {"random", make_random},
      {"local_search", make_local_search},
      {"greedy_ils", make_greedy_ils},
      {"gaussian_process", make_gaussian_process},
  };
  return kinds;
}

} // namespace lathe::search
