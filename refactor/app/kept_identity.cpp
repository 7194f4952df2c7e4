#include "refactor/app/kept_identity.h"

#include <algorithm>

namespace lathe::refactor {

bool deals_out_more(const std::vector<Knob>& knobs, const std::vector<Knob>& others) {
  constexpr KnobKind KINDS[] = {KnobKind::block,   KnobKind::tile,  KnobKind::vector,
                                KnobKind::coarsen, KnobKind::stage, KnobKind::flag};
  return std::ranges::any_of(KINDS, [&](KnobKind kind) {
    return std::ranges::count(knobs, kind, &Knob::kind) > std::ranges::count(others, kind, &Knob::kind);
  });
}

} // namespace lathe::refactor
