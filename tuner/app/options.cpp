#include "tuner/app/options.h"

#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <iostream>

namespace lathe {

namespace po = boost::program_options;

namespace {

// Set while a command is asked what it takes: parse() fills it and ends the command.
CommandDescription* asked = nullptr;

// "0.98" for "0.97999999999999998", as which a double is shown.
std::string shortest(const std::string& text) {
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = failure == std::errc{} && end == text.data() + text.size();
  return is_number && text.find('.') != std::string::npos ? fmt::format("{}", number) : text;
}

// "--output" of ("output", "-o [ --output ]"), "-p" of ("", "-p").
OptionDescription describe_option(const po::option_description& option) {
  OptionDescription described;
  const std::string shown = option.format_name(); // "-o [ --output ]", "--json" or "-p"
  const std::string letter = shown.starts_with("--") ? "" : shown.substr(0, 2);
  described.name = option.long_name().empty() ? letter : "--" + option.long_name();
  described.letter = option.long_name().empty() ? "" : letter;
  described.help = option.description();
  if (option.semantic()->max_tokens() == 0)
    return described;
  // "arg", "FILE (=x)", or "[=N(=100)]" for a value that may be left out.
  std::string value = option.semantic()->name();
  described.value_is_optional = value.starts_with("[=");
  if (described.value_is_optional)
    value = value.substr(2, value.find_first_of("(]", 2) - 2);
  if (const std::size_t standard = value.find(" (="); standard != std::string::npos) {
    described.standard = shortest(value.substr(standard + 3, value.size() - standard - 4));
    value.resize(standard);
  }
  described.value = value == "arg" ? "VALUE" : value;
  return described;
}

} // namespace

CommandDescription describe_command(std::string_view name, int (*run)(const Arguments&)) {
  CommandDescription description;
  asked = &description;
  run({});
  asked = nullptr;
  description.name = name;
  return description;
}

CommandLine::CommandLine(std::string usage, std::string summary, std::string example)
    : usage_(std::move(usage)), summary_(std::move(summary)), example_(std::move(example)),
      options_("options") {
  options_.add_options()("help,h", "show this text and end");
}

void CommandLine::choices(const std::string& option, std::vector<std::string> values_allowed) {
  choices_[option] = std::move(values_allowed);
}

CommandDescription CommandLine::description() const {
  CommandDescription described{"", usage_, summary_, example_, {}};
  for (const auto& option : options_.options()) {
    described.options.push_back(describe_option(*option));
    if (const auto known = choices_.find(option->long_name()); known != choices_.end())
      described.options.back().choices = known->second;
  }
  return described;
}

std::optional<Error> CommandLine::bad_choice() const {
  for (const auto& [option, allowed] : choices_) {
    if (values.count(option) == 0)
      continue;
    const std::string given = values[option].as<std::string>();
    if (std::ranges::find(allowed, given) == allowed.end())
      return usage_error("no " + option + " '" + given + "'", "",
                         fmt::format("--{} is one of {}", option, fmt::join(allowed, ", ")));
  }
  return std::nullopt;
}

std::optional<int> CommandLine::parse(const Arguments& arguments) {
  if (asked) {
    *asked = description();
    return 0;
  }
  po::options_description all;
  all.add(options_).add_options()("positional", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("positional", -1);
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(positional).run(), values);
    po::notify(values);
  } catch (const po::error& error) {
    return fail(usage_error(usage_.substr(0, usage_.find(' ', usage_.find(' ') + 1)), error.what(),
                            "see --help for the options"));
  }
  if (values.count("help") != 0) {
    std::cout << "usage: " << usage_ << "\n\n" << summary_ << "\n\n" << options_;
    for (const auto& [option, allowed] : choices_)
      std::cout << fmt::format("\n--{} is one of {}\n", option, fmt::join(allowed, ", "));
    std::cout << "\nexample:\n  " << example_ << "\n";
    return 0;
  }
  if (const auto bad = bad_choice())
    return fail(*bad);
  if (values.count("positional") != 0)
    positionals = values["positional"].as<std::vector<std::string>>();
  return std::nullopt;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_assignments(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == item.size())
      return usage_error("cannot read '" + item + "'", "expected NAME=VALUE",
                         "write for example num_tokens=16,d=4096");
    pairs.emplace_back(item.substr(0, equals), item.substr(equals + 1));
    begin = end + 1;
  }
  return pairs;
}

Result<double> parse_duration(const std::string& text) {
  const auto bad = usage_error("cannot read the duration '" + text + "'", "expected a number and s, m or h",
                               "write for example 90s, 30m or 8h");
  if (text.size() < 2)
    return bad;
  const double unit = text.back() == 's' ? 1 : text.back() == 'm' ? 60 : text.back() == 'h' ? 3600 : 0;
  double amount = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size() - 1, amount);
  if (unit == 0 || failure != std::errc{} || end != text.data() + text.size() - 1 || amount <= 0)
    return bad;
  return amount * unit;
}

} // namespace lathe
