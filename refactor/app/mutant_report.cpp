#include "refactor/app/mutant_report.h"

#include "refactor/guard/mutants.h"
#include "tuner/app/progress.h"
#include "tuner/base/files.h"

#include <array>
#include <fmt/format.h>
#include <map>

namespace lathe::refactor {
namespace {

using Fate = MutantVerdict::Fate;
constexpr std::array FATES{Fate::refused, Fate::equivalent, Fate::alike, Fate::broken, Fate::survived};

std::string table(const std::vector<MutantVerdict>& verdicts) {
  std::map<std::string, std::map<Fate, int>> kinds;
  std::map<std::string, int> checks;
  for (const MutantVerdict& verdict : verdicts) {
    ++kinds[verdict.kind][verdict.fate];
    ++kinds["all"][verdict.fate];
    if (verdict.fate == Fate::refused)
      ++checks[verdict.check];
  }
  std::string text = fmt::format("{:<26}", "mutants");
  for (const Fate fate : FATES)
    text += fmt::format("{:>12}", to_string(fate));
  text += "\n";
  const auto line = [&](const std::string& name, std::map<Fate, int>& counts) {
    text += fmt::format("{:<26}", name);
    for (const Fate fate : FATES)
      text += fmt::format("{:>12}", counts[fate]);
    text += "\n";
  };
  for (auto& [kind, counts] : kinds)
    if (kind != "all")
      line(kind, counts);
  line("all", kinds["all"]);
  text += "\nrefused by";
  for (const auto& [check, count] : checks)
    text += fmt::format("  {} {}", check, count);
  text += "\n";
  for (const MutantVerdict& verdict : verdicts)
    if (verdict.fate == Fate::alike)
      text += fmt::format("alike {}: {}\n", verdict.kind, verdict.description);
  for (const MutantVerdict& verdict : verdicts)
    if (verdict.fate == Fate::survived)
      text += fmt::format("SURVIVED {}: {}; {}\n", verdict.kind, verdict.description, verdict.detail);
  return text;
}

} // namespace

Result<MutantReport> judge_mutants(const TuningSpec& spec, const GuardOptions& options, std::uint64_t seed,
                                   std::size_t most) {
  LATHE_TRY(const std::string text, read_file(spec.kernel.file));
  const std::vector<Mutant> mutants = make_mutants(spec, text, seed, most);
  if (mutants.empty())
    return Error{"cannot make mutants of " + spec.kernel.file.string(), "no place for a mistake was found",
                 ""};
  MutantReport report;
  std::vector<MutantVerdict> verdicts;
  GuardOptions under_seed = options; // one for all: the raw kernel's runs are then made once
  under_seed.seed = seed;
  LATHE_TRY(MutantJudge judge, MutantJudge::create(spec, under_seed));
  ProgressLine progress;
  for (const Mutant& mutant : mutants) {
    progress.show(fmt::format("mutant {} of {}: {}", verdicts.size() + 1, mutants.size(), mutant.kind));
    LATHE_TRY(MutantVerdict verdict, judge.judge(mutant));
    report.json.push_back({{"Kind", verdict.kind},
                           {"Description", verdict.description},
                           {"Fate", to_string(verdict.fate)},
                           {"Check", verdict.check},
                           {"Detail", verdict.detail},
                           {"Seconds", verdict.seconds}});
    report.survived |= verdict.fate == Fate::survived;
    verdicts.push_back(std::move(verdict));
  }
  progress.clear();
  report.text = table(verdicts);
  return report;
}

} // namespace lathe::refactor
