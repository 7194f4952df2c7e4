#include "tuner/app/options.h"

#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>

#include <charconv>
#include <iostream>

namespace lathe {

namespace po = boost::program_options;

CommandLine::CommandLine(std::string usage, std::string summary, std::string example)
    : usage_(std::move(usage)), summary_(std::move(summary)), example_(std::move(example)),
      options_("options") {
  options_.add_options()("help,h", "show this text and end");
}

std::optional<int> CommandLine::parse(const Arguments& arguments) {
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
    std::cout << "usage: " << usage_ << "\n\n"
              << summary_ << "\n\n"
              << options_ << "\nexample:\n  " << example_ << "\n";
    return 0;
  }
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
