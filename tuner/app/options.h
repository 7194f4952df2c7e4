// Command-line options of one command: --help with an example, usage errors as sentences.
#pragma once

#include "tuner/app/command.h"

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>

#include <optional>
#include <string>
#include <vector>

namespace lathe {

class CommandLine {
public:
  // `usage`: "lathe tune SPEC... [options]"; `summary`: one sentence; `example`: a command that works as
  // shown.
  CommandLine(std::string usage, std::string summary, std::string example);

  boost::program_options::options_description& options() { return options_; }

  // Parses, with positional arguments collected in `positionals`. Returns the exit code where the command is
  // to end here: 0 after printing --help, 2 after printing a usage error.
  std::optional<int> parse(const Arguments& arguments);

  std::vector<std::string> positionals;
  boost::program_options::variables_map values;

  template <class T> T get(const char* name) const { return values[name].as<T>(); }
  bool has(const char* name) const { return values.count(name) != 0; }

private:
  std::string usage_, summary_, example_;
  boost::program_options::options_description options_;
};

// "T=bf16,U=f32" or "n=16,d=4096" into pairs. Fails on a missing `=` or an empty name.
Result<std::vector<std::pair<std::string, std::string>>> parse_assignments(const std::string& text);

// "90s", "30m", "8h" into seconds.
Result<double> parse_duration(const std::string& text);

} // namespace lathe
