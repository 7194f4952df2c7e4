// `lathe`: dispatches to the commands of stage 2, and runs stage 1 (`lathe-refactor`) the way git runs its
// subcommands, so that a GPU host needs no Clang.
#include "tuner/app/command.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace lathe {
namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Arguments&); // null: a command of lathe-refactor
};

constexpr std::array commands{
    Command{"templatize", "rewrite a raw kernel as a template with knobs, a search space and a certificate",
            nullptr},
    Command{"check", "judge a template against its raw kernel", nullptr},
    Command{"optimize", "improve a kernel by itself: plan, rewrite, judge, tune, again", nullptr},
    Command{"explore", "record the templates that a few actions make of a kernel, for a policy to learn from",
            nullptr},
    Command{"memory", "show, merge or draw the memory of optimize", nullptr},
    Command{"policy", "train or show the policy of optimize", nullptr},
    Command{"ablate", "measure the parts of optimize on recorded trees", nullptr},
    Command{"tune", "find the best configuration for this device, per problem", tune_command},
    Command{"bench", "raw against tuned, side by side, from the results store", bench_command},
    Command{"export", "write the winners as a header for your build, JSON or T4", export_command},
    Command{"report", "what was tried and what it gave, as a table, Markdown, JSON or HTML", report_command},
    Command{"devices", "list the GPUs", devices_command},
    Command{"spaces", "count, sample and time the construction of search spaces", spaces_command},
    Command{"replay", "run a search on a recorded space", replay_command},
};

void print_usage(std::FILE* stream) {
  std::fputs("usage: lathe COMMAND [arguments]\n\n"
             "Turns a raw CUDA kernel into a template with knobs, tunes the knobs, and exports the winner as "
             "a header.\n\n",
             stream);
  for (const Command& command : commands)
    std::fprintf(stream, "  %-11s %s\n", std::string(command.name).c_str(),
                 std::string(command.summary).c_str());
  std::fputs("\n`lathe COMMAND --help` shows a command's options and an example.\n"
             "Exit codes: 0 done, 1 the work failed, 2 usage, 3 no device.\n",
             stream);
}

int run_refactor(const std::string& command, const Arguments& arguments) {
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  const std::string program = (self.parent_path() / "lathe-refactor").string();
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
  const auto command =
      std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
  if (command == commands.end())
    return fail(usage_error("no command '" + name + "'", "", "lathe --help lists the commands"));
  return command->run ? command->run(rest) : run_refactor(name, rest);
}

} // namespace
} // namespace lathe

int main(int argc, char** argv) {
  return lathe::run(lathe::Arguments(argv + 1, argv + argc));
}
