// The commands of `lathe-refactor`, which `lathe` runs the way git runs its subcommands. Conventions as in
// tuner/app/command.h.
#pragma once

#include "tuner/app/command.h"

namespace lathe::refactor {

int explore_command(const Arguments& arguments);
int optimize_command(const Arguments& arguments);
int ablate_command(const Arguments& arguments);
int memory_command(const Arguments& arguments);
int patch_command(const Arguments& arguments);
int policy_command(const Arguments& arguments);
int templatize_command(const Arguments& arguments);
int check_command(const Arguments& arguments);

} // namespace lathe::refactor
