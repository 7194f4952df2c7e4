// Command-line options of one command: --help with an example, usage errors as sentences.
#pragma once

#include "tuner/app/command.h"

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// One option as --help, the completion scripts and the manual show it.
struct OptionDescription {
  std::string name;   // "--output", or "-p" where there is no long name
  std::string letter; // "-o", or empty
  std::string value;  // "FILE", "FOLDER", "VALUE"; empty: a switch
  bool value_is_optional = false;
  std::string standard; // the value taken when the option is absent, as text; empty: none
  std::vector<std::string> choices;
  std::string help;
  bool operator==(const OptionDescription&) const = default;
};

struct CommandDescription {
  std::string name, usage, summary, example;
  std::vector<OptionDescription> options;
  bool operator==(const CommandDescription&) const = default;
};

// What the command would show for --help, as data. The command must parse its arguments before it does
// anything else.
CommandDescription describe_command(std::string_view name, int (*run)(const Arguments&));

// As a JSON array, and back: how `lathe` learns the options of lathe-refactor.
std::string descriptions_json(const std::vector<CommandDescription>& commands);
Result<std::vector<CommandDescription>> parse_descriptions(const std::string& json);

class CommandLine {
public:
  // `usage`: "lathe tune SPEC... [options]"; `summary`: one sentence; `example`: a command that works as
  // shown.
  CommandLine(std::string usage, std::string summary, std::string example);

  boost::program_options::options_description& options() { return options_; }

  // The option takes one of these values alone; anything else is a usage error that lists them.
  void choices(const std::string& option, std::vector<std::string> values);

  // Parses, with positional arguments collected in `positionals`. Returns the exit code where the command is
  // to end here: 0 after printing --help, 2 after printing a usage error.
  std::optional<int> parse(const Arguments& arguments);

  std::vector<std::string> positionals;
  boost::program_options::variables_map values;

  template <class T> T get(const char* name) const { return values[name].as<T>(); }
  bool has(const char* name) const { return values.count(name) != 0; }

private:
  CommandDescription description() const;
  std::optional<Error> bad_choice() const;

  std::string usage_, summary_, example_;
  std::map<std::string, std::vector<std::string>> choices_;
  boost::program_options::options_description options_;
};

// "T=bf16,U=f32" or "n=16,d=4096" into pairs. Fails on a missing `=` or an empty name.
Result<std::vector<std::pair<std::string, std::string>>> parse_assignments(const std::string& text);

// "90s", "30m", "8h" into seconds.
Result<double> parse_duration(const std::string& text);

} // namespace lathe
