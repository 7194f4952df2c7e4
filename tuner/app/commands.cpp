#include "tuner/app/commands.h"

#include "tuner/base/subprocess.h"

#include <array>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace lathe {
namespace {

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
    Command{"export", "write the winners for your build: header, CUDA, CMake, JSON or T4", export_command},
    Command{"patch", "write the change of the place that launches the raw kernel, as a patch", nullptr},
    Command{"report", "what was tried and what it gave: an HTML page, tables, JSON", report_command},
    Command{"doctor", "look at what tuning needs on this machine, and say what to do", doctor_command},
    Command{"devices", "list the GPUs", devices_command},
    Command{"spaces", "count, sample and time the construction of search spaces", spaces_command},
    Command{"replay", "run a search on a recorded space", replay_command},
    Command{"completion", "print a completion script for a shell", completion_command},
    Command{"manual", "print the manual of all commands", manual_command},
};

using Json = nlohmann::ordered_json;

} // namespace

std::span<const Command> all_commands() {
  return commands;
}

std::string program_folder() {
  std::error_code failure;
  return std::filesystem::read_symlink("/proc/self/exe", failure).parent_path().string();
}

std::vector<CommandDescription> describe_all_commands() {
  std::vector<CommandDescription> others;
  if (const auto asked = run_subprocess({program_folder() + "/lathe-refactor", "--describe"});
      asked.ok() && asked->succeeded())
    if (auto parsed = parse_descriptions(asked->output); parsed.ok())
      others = std::move(*parsed);
  std::vector<CommandDescription> all;
  for (const Command& command : commands) {
    if (command.run) {
      all.push_back(describe_command(command.name, command.run));
      continue;
    }
    const auto known = std::ranges::find(others, command.name, &CommandDescription::name);
    all.push_back(known != others.end()
                      ? *known
                      : CommandDescription{std::string(command.name),
                                           "lathe " + std::string(command.name) + " [options]",
                                           std::string(command.summary) + " (lathe-refactor is not here)",
                                           "",
                                           {}});
  }
  return all;
}

std::string descriptions_json(const std::vector<CommandDescription>& described) {
  Json list = Json::array();
  for (const CommandDescription& command : described) {
    Json options = Json::array();
    for (const OptionDescription& option : command.options)
      options.push_back({{"Name", option.name},
                         {"Letter", option.letter},
                         {"Value", option.value},
                         {"ValueIsOptional", option.value_is_optional},
                         {"Default", option.standard},
                         {"Choices", option.choices},
                         {"Help", option.help}});
    list.push_back({{"Name", command.name},
                    {"Usage", command.usage},
                    {"Summary", command.summary},
                    {"Example", command.example},
                    {"Options", options}});
  }
  return Json{{"Schema", 1}, {"Commands", list}}.dump(2);
}

Result<std::vector<CommandDescription>> parse_descriptions(const std::string& text) {
  try {
    std::vector<CommandDescription> list;
    const auto text_of = [](const Json& object, const char* name) {
      return object.at(name).get<std::string>();
    };
    const Json document = Json::parse(text);
    for (const Json& command : document.at("Commands")) {
      CommandDescription described;
      described.name = text_of(command, "Name");
      described.usage = text_of(command, "Usage");
      described.summary = text_of(command, "Summary");
      described.example = text_of(command, "Example");
      for (const Json& option : command.at("Options")) {
        OptionDescription& made = described.options.emplace_back();
        made.name = text_of(option, "Name");
        made.letter = text_of(option, "Letter");
        made.value = text_of(option, "Value");
        made.value_is_optional = option.at("ValueIsOptional").get<bool>();
        made.standard = text_of(option, "Default");
        made.choices = option.at("Choices").get<std::vector<std::string>>();
        made.help = text_of(option, "Help");
      }
      list.push_back(std::move(described));
    }
    return list;
  } catch (const Json::exception& fault) {
    return Error{"cannot read the description of commands", fault.what(), "install Lathe anew"};
  }
}

int completion_command(const Arguments& arguments) {
  CommandLine line("lathe completion bash|zsh|fish",
                   "Prints a completion script. The package installs them; by hand:\n"
                   "  bash: lathe completion bash > ~/.local/share/bash-completion/completions/lathe\n"
                   "  zsh:  lathe completion zsh > a folder of $fpath, as _lathe\n"
                   "  fish: lathe completion fish > ~/.config/fish/completions/lathe.fish",
                   "lathe completion bash");
  if (const auto code = line.parse(arguments))
    return *code;
  const std::string shell = line.positionals.size() == 1 ? line.positionals.front() : "";
  if (shell != "bash" && shell != "zsh" && shell != "fish")
    return fail(usage_error("lathe completion", "expected the name of one shell", "give bash, zsh or fish"));
  std::cout << completion_script(shell, describe_all_commands());
  return 0;
}

int manual_command(const Arguments& arguments) {
  CommandLine line("lathe manual [options]", "Prints the manual of all commands, made of what --help shows.",
                   "lathe manual --format man > lathe.1");
  line.options().add_options()("format", boost::program_options::value<std::string>()->default_value("md"),
                               "a page for man(1), Markdown, or JSON");
  line.choices("format", {"man", "md", "json"});
  if (const auto code = line.parse(arguments))
    return *code;
  const std::string format = line.get<std::string>("format");
  const auto described = describe_all_commands();
  std::cout << (format == "man"  ? manual_page(described)
                : format == "md" ? manual_markdown(described)
                                 : descriptions_json(described) + "\n");
  return 0;
}

} // namespace lathe
