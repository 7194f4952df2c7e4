// All commands of `lathe`, those of lathe-refactor included.
#pragma once

#include "tuner/app/options.h"

#include <span>
#include <string_view>

namespace lathe {

struct Command {
  std::string_view name;
  std::string_view summary;     // a clause
  int (*run)(const Arguments&); // null: a command of lathe-refactor
};

std::span<const Command> all_commands();

// The folder of the running program.
std::string program_folder();

// What every command takes, in the order of all_commands(). Those of lathe-refactor are asked of it; without
// it they have a name and a summary alone.
std::vector<CommandDescription> describe_all_commands();

// Scripts for the shells "bash", "zsh" and "fish".
std::string completion_script(std::string_view shell, const std::vector<CommandDescription>& commands);
// The manual: a page for man(1), or Markdown.
std::string manual_page(const std::vector<CommandDescription>& commands);
std::string manual_markdown(const std::vector<CommandDescription>& commands);

} // namespace lathe
