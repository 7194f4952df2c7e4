// `lathe-refactor`: stage 1 and the loop over both stages. `lathe` runs it the way git runs its subcommands.
#include "refactor/app/command.h"
#include "tuner/app/options.h"

#include <cstdio>

#include <array>

namespace {

using lathe::Arguments;
struct Command {
  const char* name;
  int (*run)(const Arguments&);
};
constexpr std::array commands{Command{"ablate", lathe::refactor::ablate_command},
                              Command{"check", lathe::refactor::check_command},
                              Command{"explore", lathe::refactor::explore_command},
                              Command{"memory", lathe::refactor::memory_command},
                              Command{"optimize", lathe::refactor::optimize_command},
                              Command{"patch", lathe::refactor::patch_command},
                              Command{"policy", lathe::refactor::policy_command},
                              Command{"templatize", lathe::refactor::templatize_command}};

} // namespace

namespace {

int run(const Arguments& arguments) {
  if (arguments == Arguments{"--describe"}) { // how `lathe` learns what these commands take
    std::vector<lathe::CommandDescription> all;
    for (const Command& command : commands)
      all.push_back(lathe::describe_command(command.name, command.run));
    std::puts(lathe::descriptions_json(all).c_str());
    return 0;
  }
  if (!arguments.empty())
    for (const Command& command : commands)
      if (arguments.front() == command.name)
        return command.run(Arguments(arguments.begin() + 1, arguments.end()));
  return lathe::fail(
      lathe::usage_error("lathe-refactor", "expected one of its commands", "run it through lathe"));
}

} // namespace

int main(int argc, char** argv) {
  // Errors are values: what is thrown is a defect of Lathe's own, or memory has run out.
  try {
    return run(Arguments(argv + 1, argv + argc));
  } catch (const std::exception& thrown) {
    return lathe::fail(lathe::defect(thrown));
  }
}
