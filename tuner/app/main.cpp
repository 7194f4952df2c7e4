// `lathe`: dispatches to the commands of stage 2, and runs stage 1 (`lathe-refactor`) the way git runs its
// subcommands, so that a GPU host needs no Clang.
#include "tuner/app/commands.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace lathe {
namespace {

void print_usage(std::FILE* stream) {
  std::fputs("usage: lathe COMMAND [arguments]\n\n"
             "Turns a raw CUDA kernel into a template with knobs, tunes the knobs, and exports the winner as "
             "a header.\n\n",
             stream);
  for (const Command& command : all_commands())
    std::fprintf(stream, "  %-11s %s\n", std::string(command.name).c_str(),
                 std::string(command.summary).c_str());
  std::fputs("\n`lathe COMMAND --help` shows a command's options and an example.\n"
             "Exit codes: 0 done, 1 the work failed, 2 usage, 3 no device.\n",
             stream);
}

int run_refactor(const std::string& command, const Arguments& arguments) {
  const std::string program = program_folder() + "/lathe-refactor";
  std::vector<std::string> words{program, command};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  return fail(
      {"cannot run lathe " + command, program + ": " + std::strerror(errno),
       "stage 1 needs Clang and is built with LATHE_BUILD_REFACTOR=ON; run it on a machine that has it"});
}

int run(const Arguments& arguments) {
  if (arguments.empty()) {
    print_usage(stderr);
    return static_cast<int>(Failure::usage);
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_usage(stdout);
    return 0;
  }
  if (name == "--version") {
    std::puts("lathe " LATHE_VERSION);
    return 0;
  }
  const Arguments rest(arguments.begin() + 1, arguments.end());
  const auto command = std::ranges::find(all_commands(), name, &Command::name);
  if (command == all_commands().end())
    return fail(usage_error("no command '" + name + "'", "", "lathe --help lists the commands"));
  return command->run ? command->run(rest) : run_refactor(name, rest);
}

} // namespace
} // namespace lathe

int main(int argc, char** argv) {
  // Errors are values: what is thrown is a defect of Lathe's own, or memory has run out.
  try {
    return lathe::run(lathe::Arguments(argv + 1, argv + argc));
  } catch (const std::exception& thrown) {
    return lathe::fail(lathe::defect(thrown));
  }
}
