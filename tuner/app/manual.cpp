// The manual of all commands, from what --help shows.
#include "tuner/app/commands.h"

#include <algorithm>
#include <fmt/format.h>

namespace lathe {
namespace {

constexpr const char* introduction = "Turns a raw CUDA kernel into a template with knobs, tunes the knobs, "
                                     "and writes the winner for your build.";

struct ExitCode {
  int code;
  const char* meaning;
};
constexpr ExitCode exit_codes[] = {{0, "done"},
                                   {1, "the work failed"},
                                   {2, "usage: the command line, or a file named on it, is wrong"},
                                   {3, "no device"},
                                   {130, "stopped by Ctrl-C; what was measured is kept"}};

struct Variable {
  const char* name;
  const char* meaning;
};
constexpr Variable variables[] = {
    {"LATHE_RESULTS", "the results store (default: ./lathe-results/results.sqlite)"},
    {"LATHE_CUDA_HOME", "the CUDA 13 toolkit; else CUDA_HOME, CUDA_PATH, /usr/local/cuda"},
    {"LATHE_HOST_CXX", "the C++ compiler of the host executor (default: the newest clang++)"},
    {"LATHE_SHARE",
     "the folder of the files that Lathe reads at run time (default: ../share/lathe beside the program)"},
    {"XDG_CACHE_HOME",
     "where compiled kernels and parsed headers are cached, under lathe (default: ~/.cache)"},
    {"CUDA_VISIBLE_DEVICES", "which GPUs there are"},
    {"NO_COLOR", "no colours"}};

std::string option_heading(const OptionDescription& option) {
  std::string text = option.name;
  if (!option.letter.empty())
    text = option.letter + ", " + text;
  const std::string value =
      option.choices.empty() ? option.value : fmt::format("{}", fmt::join(option.choices, "|"));
  if (!value.empty())
    text += option.value_is_optional ? "[=" + value + "]" : " " + value;
  return text;
}

std::string option_text(const OptionDescription& option) {
  return option.help + (option.standard.empty() ? "" : " (default: " + option.standard + ")");
}

// Text for roff: backslashes and hyphens as themselves, no line that is taken for a request.
std::string roff(const std::string& text) {
  std::string result;
  bool line_start = true;
  for (const char letter : text) {
    if (line_start && (letter == '.' || letter == '\''))
      result += "\\&";
    if (letter == '\\')
      result += "\\e";
    else if (letter == '-')
      result += "\\-";
    else
      result += letter;
    line_start = letter == '\n';
  }
  return result;
}

// A cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string result;
  for (const char letter : text)
    result += letter == '|' ? "\\|" : letter == '\n' ? " " : std::string(1, letter);
  return result;
}

} // namespace

std::string manual_page(const std::vector<CommandDescription>& commands) {
  std::string text = fmt::format(
      ".TH LATHE 1 \"\" \"Lathe {}\" \"Lathe\"\n.SH NAME\nlathe \\- tunes CUDA kernels\n.SH SYNOPSIS\n"
      ".B lathe\n.I COMMAND\n[arguments]\n.SH DESCRIPTION\n{}\n.SH COMMANDS\n",
      LATHE_VERSION, introduction);
  for (const CommandDescription& command : commands) {
    text += fmt::format(".SS {}\n.B {}\n.PP\n{}\n", roff(command.name), roff(command.usage),
                        roff(command.summary));
    for (const OptionDescription& option : command.options)
      text += fmt::format(".TP\n.B {}\n{}\n", roff(option_heading(option)), roff(option_text(option)));
    if (!command.example.empty())
      text += fmt::format(".PP\nExample:\n.PP\n.nf\n.RS\n{}\n.RE\n.fi\n", roff(command.example));
  }
  text += ".SH EXIT STATUS\n";
  for (const ExitCode& entry : exit_codes)
    text += fmt::format(".TP\n.B {}\n{}\n", entry.code, roff(entry.meaning));
  text += ".SH ENVIRONMENT\n";
  for (const Variable& variable : variables)
    text += fmt::format(".TP\n.B {}\n{}\n", variable.name, roff(variable.meaning));
  return text;
}

std::string manual_markdown(const std::vector<CommandDescription>& commands) {
  std::string text = "# Commands\n\nMade by `lathe manual` from what `--help` shows; a test keeps it so. "
                     "Errors are one line on "
                     "standard error:\n`lathe: what: why: what to do`.\n\n";
  for (const CommandDescription& command : commands)
    text += fmt::format("- [{0}](#lathe-{0})\n", command.name);
  for (const CommandDescription& command : commands) {
    text += fmt::format("\n## lathe {}\n\n```text\n{}\n```\n\n{}\n\n| option | |\n|---|---|\n", command.name,
                        command.usage, command.summary);
    for (const OptionDescription& option : command.options)
      text += fmt::format("| `{}` | {} |\n", cell(option_heading(option)), cell(option_text(option)));
    if (!command.example.empty())
      text += fmt::format("\nExample:\n\n    {}\n", command.example);
  }
  text += "\n## Exit codes\n\n| code | meaning |\n|---|---|\n";
  for (const ExitCode& entry : exit_codes)
    text += fmt::format("| {} | {} |\n", entry.code, entry.meaning);
  text += "\n## Environment\n\n| variable | meaning |\n|---|---|\n";
  for (const Variable& variable : variables)
    text += fmt::format("| `{}` | {} |\n", variable.name, variable.meaning);
  return text;
}

} // namespace lathe
