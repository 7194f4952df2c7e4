// `lathe check`: judges a template against its raw kernel, whoever wrote it.
#include "refactor/app/command.h"
#include "refactor/app/device_options.h"
#include "refactor/app/mutant_report.h"
#include "refactor/guard/guard.h"
#include "tuner/app/options.h"
#include "tuner/base/files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <iostream>

namespace lathe::refactor {
namespace {

namespace po = boost::program_options;

CommandLine make_command_line() {
  CommandLine line(
      "lathe check SPEC.json [options]",
      "Judges the template of a specification against its raw kernel and prints a table of checks.\n"
      "Exit code 0: accepted; 1: refused, or something could not be decided.",
      "lathe check search_spaces/silu_and_mul.json --configurations 16 --certificate out.json");
  line.options().add_options()("certificate,o", po::value<std::string>()->value_name("FILE"),
                               "write the certificate to this file")(
      "configurations", po::value<int>()->default_value(8), "configurations sampled beside the default")(
      "seed", po::value<std::uint64_t>()->default_value(0),
      "seed of samples and data (default: drawn, and written down)")(
      "time-limit", po::value<std::string>()->default_value("120s"), "of the differential runs")(
      "arch", po::value<std::string>()->default_value("sm_90"), "architecture to compile for")(
      "jobs", po::value<int>()->default_value(0), "processes at a time (default: one a core)")(
      "mutants", po::value<int>()->implicit_value(100)->value_name("N"),
      "test the guard itself: judge up to N mutants of the template; exit code 1 where one survives")(
      "evidence", "print what each check looked at")("json", "print the certificate as JSON");
  add_device_options(line.options());
  return line;
}

const char* colour_of(Verdict verdict) {
  switch (verdict) {
  case Verdict::proved:
  case Verdict::tested:
    return "\033[32m";
  case Verdict::failed:
    return "\033[31m";
  default:
    return "\033[33m";
  }
}

void print_table(const Certificate& certificate, bool evidence) {
  const bool colour = use_colour();
  std::cout << fmt::format("{}\n\n{:<16} {:<10} {:>7}  {}\n", certificate.kernel, "check", "verdict", "s",
                           "what was found");
  for (const CheckResult& check : certificate.checks) {
    const std::string verdict = fmt::format("{:<10}", to_string(check.verdict));
    std::cout << fmt::format("{:<16} {} {:>7.2f}  {}\n", check.check,
                             colour ? colour_of(check.verdict) + verdict + "\033[0m" : verdict, check.seconds,
                             check.detail);
    if (evidence || check.verdict == Verdict::failed)
      for (const std::string& line : check.evidence)
        std::cout << "    " << line << "\n";
  }
  std::cout << fmt::format("\n{} (identity {}, seed {}, {:.1f} s)\n",
                           certificate.accepted() ? "accepted" : "refused", certificate.identity_level,
                           certificate.seed, certificate.seconds);
}

// Who wrote the template is no finding of a check: the certificate that the specification names goes on
// saying it, as long as that is about this very text.
void keep_author(const TuningSpec& spec, std::filesystem::path spec_file, Certificate& certificate) {
  if (spec.provenance.certificate.empty())
    return;
  const auto text = read_file(spec_file.remove_filename() / spec.provenance.certificate);
  if (!text.ok())
    return; // never written, or lost: the new one says 'unknown'
  const auto before = certificate_from_json(nlohmann::json::parse(*text, nullptr, false));
  if (before.ok() && before->template_hash == certificate.template_hash)
    certificate.author = before->author;
}

} // namespace

int check_command(const Arguments& arguments) {
  CommandLine line = make_command_line();
  if (const auto code = line.parse(arguments))
    return *code;
  if (line.positionals.size() != 1)
    return fail(usage_error("lathe check", "expected one specification",
                            "name a file such as search_spaces/NAME.json"));
  GuardOptions options;
  options.seed = line.get<std::uint64_t>("seed");
  options.sampled_configurations = line.get<int>("configurations");
  options.jobs = line.get<int>("jobs");
  options.architecture = line.get<std::string>("arch");
  const auto limit = parse_duration(line.get<std::string>("time-limit"));
  if (!limit)
    return fail(limit.error());
  options.time_limit_s = *limit;
  if (const Status device = read_device_options(line, options); !device)
    return fail(device.error());
  if (options.sampled_configurations < 0 || options.sampled_configurations > 1000)
    return fail(usage_error("--configurations", "expected 0 to 1000"));

  // A template that was edited since is what this command is for: its hash is not compared.
  const auto spec = read_spec(line.positionals[0], ReadOptions{.check_template = false});
  if (!spec)
    return fail(spec.error());
  auto certificate = judge(*spec, options);
  if (!certificate)
    return fail(certificate.error());
  keep_author(*spec, line.positionals[0], *certificate);
  nlohmann::json json = to_json(*certificate);
  if (line.has("certificate")) {
    const Status written = write_file(line.get<std::string>("certificate"), json.dump(2) + "\n");
    if (!written.ok())
      return fail(written.error());
  }
  std::string mutants;
  bool survived = false;
  if (line.has("mutants") && certificate->accepted()) {
    if (line.get<int>("mutants") < 1)
      return fail(usage_error("--mutants", "expected 1 or more"));
    const auto report =
        judge_mutants(*spec, options, certificate->seed, static_cast<std::size_t>(line.get<int>("mutants")));
    if (!report)
      return fail(report.error());
    json["Mutants"] = report->json;
    mutants = "\n" + report->text;
    survived = report->survived;
  }
  if (line.has("json")) {
    std::cout << json.dump(2) << "\n";
  } else {
    print_table(*certificate, line.has("evidence"));
    std::cout << mutants;
  }
  return certificate->accepted() && !survived ? 0 : 1;
}

} // namespace lathe::refactor
