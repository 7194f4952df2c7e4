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
      {"genetic", make_genetic},
      {"differential_evolution", make_differential_evolution},
      {"simulated_annealing", make_simulated_annealing},
      {"tree_ensemble", make_tree_ensemble},
      {"gaussian_process", make_gaussian_process},
      {"profile_guided", make_profile_guided},
      {"direct_l", make_direct_l},
      {"crs2", make_crs2},
      {"isres", make_isres},
      {"esch", make_esch},
      {"nelder_mead", make_nelder_mead},
      {"sbplx", make_sbplx},
      {"cobyla", make_cobyla},
      {"bobyqa", make_bobyqa},
  };
  return kinds;
}

} // namespace lathe::search
