#include "refactor/app/retreat.h"

#include "tuner/base/text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <regex>
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

// The rule whose helper a line that never ran stands in; empty where it is none's.
std::string rule_of_helper(const CheckResult& check, const std::string& text) {
  static const std::map<std::string, std::string> rules{
      {"lathe_store_packed", "pack-stores"}, {"lathe_load", "cache-hints"}, {"lathe_store", "cache-hints"}};
  const std::size_t at = check.detail.find(NEVER_RAN);
  static const std::regex place(R"(line (\d{1,7}) \()"), helper(R"(\b(lathe_\w+)\()");
  std::smatch line;
  const std::string where = at == std::string::npos ? "" : check.detail.substr(at);
  if (!std::regex_search(where, line, place))
    return "";
  // The last that is named in front of it.
  std::istringstream lines(text);
  std::string rule;
  std::string next;
  for (int number = std::stoi(line[1]); number > 0 && std::getline(lines, next); --number)
    for (std::sregex_iterator named(next.begin(), next.end(), helper), none; named != none; ++named)
      if (const auto found = rules.find((*named)[1]); found != rules.end())
        rule = found->second;
  return rule;
}

std::vector<std::string> applied_rules(const RewriteResult& rewritten) {
  std::vector<std::string> rules;
  for (const RuleReport& report : rewritten.reports)
    if (report.applied)
      rules.push_back(report.rule);
  return rules;
}

// The rules that were applied, those that gave one of the named knobs first, and `likeliest`.
std::vector<std::string> suspects(const RewriteResult& rewritten, const std::set<std::string>& knobs,
                                  const std::string& likeliest) {
  std::set<std::string> named{likeliest};
  for (const RuleReport& report : rewritten.reports)
    if (std::ranges::any_of(report.knobs, [&](const std::string& knob) { return knobs.contains(knob); }))
      named.insert(report.rule);
  std::vector<std::string> rules = applied_rules(rewritten);
  std::ranges::stable_partition(rules, [&](const std::string& rule) { return named.contains(rule); });
  return rules;
}

// Rules that leave to the launcher how many threads there are, and to each thread what it does.
constexpr std::array LEAVE_WORK_AS_IT_IS{"name-macros",  "inline-helpers",      "declare-where-set",
                                         "count-in-for", "name-moved-pointers", "expose-unroll",
                                         "cache-hints",  "launch-bounds",       "specialize-size"};

class Search {
public:
  Search(const JudgedTemplate& refused, const AttemptByRules& attempt,
         std::chrono::steady_clock::time_point end)
      : refused_(refused), attempt_(attempt), end_(end), longest_(refused.certificate.seconds) {}

  Result<Retreat> run() {
    const CheckResult* first = failure(refused_.certificate);
    if (!first)
      return Retreat();
    reason_ = first->check + ": " + first->detail;
    const std::vector<std::string> all = applied_rules(refused_.rewritten);
    std::vector<std::string> quiet;
    std::ranges::copy_if(all, std::back_inserter(quiet), [](const std::string& rule) {
      return std::ranges::find(LEAVE_WORK_AS_IT_IS, rule) != LEAVE_WORK_AS_IT_IS.end();
    });
    const bool has_last_resort = quiet.size() + 1 < all.size() && !quiet.empty();
    LATHE_TRY(Retreat found, leave_out_in_turn(has_last_resort ? 2 : 1));
    if (found.accepted || !has_last_resort || is_undecided_)
      return found;
    if (!has_time_for(1))
      return Retreat{std::nullopt, true};
    auto last = judge(quiet);
    if (!last.ok() || !last->certificate.accepted())
      return found;
    for (const std::string& rule : all)
      if (std::ranges::find(quiet, rule) == quiet.end())
        without_.insert(rule);
    return accept(std::move(*last));
  }

private:
  // Each rule by itself, then also without those tried before. `reserve`: for how many attempts time is kept.
  Result<Retreat> leave_out_in_turn(int reserve);

  Result<JudgedTemplate> judge(const std::vector<std::string>& rules) {
    LATHE_TRY(JudgedTemplate tried, attempt_(rules));
    longest_ = std::max(longest_, std::chrono::duration<double>(tried.certificate.seconds));
    return tried;
  }
  bool has_time_for(int attempts) const {
    return std::chrono::steady_clock::now() + attempts * longest_ <= end_;
  }
  Retreat accept(JudgedTemplate found) const {
    for (const std::string& rule : without_)
      found.rewritten.reports.push_back(
          {rule, false, "left out, as the guard refuses the template with it (" + reason_ + ")", {}});
    return Retreat{std::move(found), false};
  }

  const JudgedTemplate& refused_;
  const AttemptByRules& attempt_;
  std::chrono::steady_clock::time_point end_;
  std::chrono::duration<double> longest_;
  std::string reason_;
  std::set<std::string> without_; // left out whatever else is tried
  bool is_undecided_ = false;     // an attempt was, for no rule's sake
};

Result<Retreat> Search::leave_out_in_turn(int reserve) {
  std::vector<std::string> rules = applied_rules(refused_.rewritten);
  int attempts = 0;
  JudgedTemplate last = refused_;
  while (rules.size() > 1) {
    const CheckResult* fault = failure(last.certificate);
    is_undecided_ = fault == nullptr;
    if (!fault)
      return Retreat();
    const std::vector<std::string> order = suspects(last.rewritten, knobs_of_failure(*fault, last.spec),
                                                    rule_of_helper(*fault, last.rewritten.candidate.text));
    std::optional<JudgedTemplate> smaller; // without the first suspect that can be left out
    std::string left_out;
    for (const std::string& suspect : order) {
      if (++attempts > MOST_ATTEMPTS)
        return Retreat();
      if (!has_time_for(reserve))
        return Retreat{std::nullopt, true};
      std::vector<std::string> kept = rules;
      std::erase(kept, suspect);
      auto tried = judge(kept);
      if (!tried.ok()) // without a knob there is no template
        continue;
      if (tried->certificate.accepted()) {
        without_.insert(suspect);
        return accept(std::move(*tried));
      }
      if (!smaller) {
        smaller = std::move(*tried);
        left_out = suspect;
      }
    }
    if (!smaller)
      return Retreat();
    std::erase(rules, left_out);
    without_.insert(left_out);
    last = std::move(*smaller);
  }
  return Retreat();
}

} // namespace

Result<Retreat> retreat(const JudgedTemplate& refused, const AttemptByRules& attempt,
                        std::chrono::steady_clock::time_point end) {
  return Search(refused, attempt, end).run();
}

} // namespace lathe::refactor
