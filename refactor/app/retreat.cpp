#include "refactor/app/retreat.h"

#include "tuner/base/text.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

namespace lathe::refactor {
namespace {

// Each attempt is judged in full, which takes seconds.
constexpr int MOST_ATTEMPTS = 6;

// The check that failed, or that cannot be decided because of a knob.
const CheckResult* failure(const Certificate& certificate) {
  const auto is_a_knobs = [](const CheckResult& check) {
    return check.verdict == Verdict::undecided && (check.detail.find(NOT_ADMITTED) != std::string::npos ||
                                                   check.detail.find(NEVER_RAN) != std::string::npos);
  };
  auto found = std::ranges::find(certificate.checks, Verdict::failed, &CheckResult::verdict);
  if (found == certificate.checks.end())
    found = std::ranges::find_if(certificate.checks, is_a_knobs);
  return found == certificate.checks.end() ? nullptr : &*found;
}

// Of the knobs that a check of the code names, those that fix a size: where the compiler knows that there is
// one row, what is done for more of them vanishes.
std::set<std::string> fixing_sizes(const CheckResult& check, const TuningSpec& spec,
                                   const std::set<std::string>& names) {
  std::set<std::string> fixing;
  if (check.check == "effects" || check.check == "synchronisation" || check.check == "bounds")
    std::ranges::copy_if(names, std::inserter(fixing, fixing.end()), [&](const std::string& name) {
      return spec.find_knob(name)->kind == KnobKind::size;
    });
  return fixing;
}

// The knobs that are not at their default in the configuration that the check names ("at BLOCK=64 UNROLL=2"),
// and those that the code that it quotes names; where some of them are the likelier ones, these.
std::set<std::string> knobs_of_failure(const CheckResult& check, const TuningSpec& spec) {
  std::set<std::string> names;
  std::istringstream words(check.detail);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      continue;
    const Knob* knob = spec.find_knob(word.substr(0, equals));
    std::string value = word.substr(equals + 1);
    while (!value.empty() && (value.back() == ',' || value.back() == '.' || value.back() == ';'))
      value.pop_back();
    if (knob && value != knob->default_value.text())
      names.insert(knob->name);
  }
  if (check.detail.find(NEVER_RAN) != std::string::npos)
    for (const std::string& word : identifiers(check.detail))
      if (spec.find_knob(word) != nullptr)
        names.insert(word);
  std::set<std::string> likelier = fixing_sizes(check, spec, names);
  return likelier.empty() ? names : likelier;
}

std::vector<std::string> applied_rules(const RewriteResult& rewritten) {
  std::vector<std::string> rules;
  for (const RuleReport& report : rewritten.reports)
    if (report.applied)
      rules.push_back(report.rule);
  return rules;
}

// The rules that were applied, those that gave one of the named knobs first.
std::vector<std::string> suspects(const RewriteResult& rewritten, const std::set<std::string>& knobs) {
  std::set<std::string> named;
  for (const RuleReport& report : rewritten.reports)
    if (std::ranges::any_of(report.knobs, [&](const std::string& knob) { return knobs.contains(knob); }))
      named.insert(report.rule);
  std::vector<std::string> rules = applied_rules(rewritten);
  std::ranges::stable_partition(rules, [&](const std::string& rule) { return named.contains(rule); });
  return rules;
}

} // namespace

Result<Retreat> retreat(const JudgedTemplate& refused, const AttemptByRules& attempt,
                        std::chrono::steady_clock::time_point end) {
  const CheckResult* first = failure(refused.certificate);
  if (!first)
    return Retreat();
  const std::string reason = first->check + ": " + first->detail;
  std::vector<std::string> rules = applied_rules(refused.rewritten);
  std::set<std::string> without; // left out whatever else is tried
  int attempts = 0;
  std::chrono::duration<double> longest(refused.certificate.seconds);
  JudgedTemplate last = refused;
  while (rules.size() > 1) {
    const CheckResult* fault = failure(last.certificate);
    if (!fault)
      return Retreat();
    const std::vector<std::string> order = suspects(last.rewritten, knobs_of_failure(*fault, last.spec));
    std::optional<JudgedTemplate> smaller; // without the first suspect that can be left out
    std::string left_out;
    for (const std::string& suspect : order) {
      if (++attempts > MOST_ATTEMPTS)
        return Retreat();
      if (std::chrono::steady_clock::now() + longest > end)
        return Retreat{std::nullopt, true};
      std::vector<std::string> kept = rules;
      std::erase(kept, suspect);
      auto tried = attempt(kept);
      if (!tried.ok()) // without a knob there is no template
        continue;
      longest = std::max(longest, std::chrono::duration<double>(tried->certificate.seconds));
      if (tried->certificate.accepted()) {
        without.insert(suspect);
        for (const std::string& rule : without)
          tried->rewritten.reports.push_back(
              {rule, false, "left out, as the guard refuses the template with it (" + reason + ")", {}});
        return Retreat{std::move(*tried), false};
      }
      if (!smaller) {
        smaller = std::move(*tried);
        left_out = suspect;
      }
    }
    if (!smaller)
      return Retreat();
    std::erase(rules, left_out);
    without.insert(left_out);
    last = std::move(*smaller);
  }
  return Retreat();
}

} // namespace lathe::refactor
