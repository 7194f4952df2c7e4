// `lathe-refactor`: stage 1. `lathe` runs it the way git runs its subcommands.
#include "refactor/app/command.h"
#include "tuner/app/options.h"

#include <cstdio>

int main(int argc, char** argv) {
  const lathe::Arguments arguments(argv + 1, argv + argc);
  if (arguments == lathe::Arguments{"--describe"}) { // how `lathe` learns what these commands take
    std::puts(
        lathe::descriptions_json({lathe::describe_command("templatize", lathe::refactor::templatize_command),
                                  lathe::describe_command("check", lathe::refactor::check_command)})
            .c_str());
    return 0;
  }
  if (!arguments.empty()) {
    const lathe::Arguments rest(arguments.begin() + 1, arguments.end());
    if (arguments.front() == "templatize")
      return lathe::refactor::templatize_command(rest);
    if (arguments.front() == "check")
      return lathe::refactor::check_command(rest);
  }
  return lathe::fail(
      lathe::usage_error("lathe-refactor", "expected templatize or check", "run it through lathe"));
}
