// `lathe-refactor`: stage 1. `lathe` runs it the way git runs its subcommands.
#include "refactor/app/command.h"

int main(int argc, char** argv) {
  const lathe::Arguments arguments(argv + 1, argv + argc);
  if (!arguments.empty()) {
    const lathe::Arguments rest(arguments.begin() + 1, arguments.end());
    if (arguments.front() == "templatize")
      return lathe::refactor::templatize_command(rest);
    if (arguments.front() == "explore")
      return lathe::refactor::explore_command(rest);
    if (arguments.front() == "check")
      return lathe::refactor::check_command(rest);
  }
  return lathe::fail(
      lathe::usage_error("lathe-refactor", "expected templatize, check or explore", "run it through lathe"));
}
