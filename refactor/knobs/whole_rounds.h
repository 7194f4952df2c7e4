// Loops whose number of rounds is a quotient without a remainder in the raw kernel: total / per_round rounds
// cover all of `total` only where `per_round` divides it.
#pragma once

#include "refactor/knobs/kernel_view.h"

namespace lathe::refactor {

struct WholeRounds {
  const clang::Expr* total = nullptr;     // what the rounds cover together; no size of the problem is in it
  const clang::Expr* per_round = nullptr; // and in one round
};

// The loop for (i = 0; i < total / per_round; ++i) whose counter has this atom, names of constants looked
// through. Nothing where `total` depends on arguments: whether something is left over then differs from
// launch to launch, and what is done about that is not known here.
std::optional<WholeRounds> whole_rounds(const KernelView& view, const std::string& counter);

} // namespace lathe::refactor
