#include "refactor/agents/actions.h"

#include "tuner/base/hash.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace lathe::refactor::agents {
namespace {

constexpr std::array<std::string_view, direction_count> direction_names{
    "Memory Access", "Data Reuse", "Parallel Mapping", "Boundary Handling", "Instruction Throughput"};

// Words of a line, sorted: template parameter lists that differ in order only look the same.
std::string sorted_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
      continue;
    }
    if (!word.empty())
      words.push_back(std::move(word));
    word.clear();
    if (!std::isspace(static_cast<unsigned char>(c)))
      words.emplace_back(1, c);
  }
  if (!word.empty())
    words.push_back(std::move(word));
  std::sort(words.begin(), words.end());
  std::string text;
  for (const std::string& each : words)
    text += each + " ";
  return text;
}

Action action_of(const RuleOffer& offer, const std::vector<const RuleSite*>& sites) {
  Action action;
  action.rule = offer.rule;
  action.kind = kind_of_rule(offer.rule);
  for (const RuleSite* site : sites) {
    action.knobs.insert(action.knobs.end(), site->knobs.begin(), site->knobs.end());
    action.knob_kinds.insert(action.knob_kinds.end(), site->kinds.begin(), site->kinds.end());
    action.why += (action.why.empty() ? "" : "; ") + site->why;
    if (site->first_line == 0)
      continue;
    action.first_line =
        action.first_line == 0 ? site->first_line : std::min(action.first_line, site->first_line);
    action.last_line = std::max(action.last_line, site->last_line);
  }
  action.whole = sites.size() == offer.sites.size();
  action.direction = direction_of(offer.rule, action.knob_kinds);
  return action;
}

// "BLOCK_2" -> "BLOCK": the name without the number that keeps it apart.
std::string stem_of(const std::string& name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  return end != std::string::npos && end > 0 && end + 1 < name.size() && name[end] == '_'
             ? name.substr(0, end)
             : name;
}

// Whether the site shapes the launch by a knob that the same rule has exposed before: a second block size in
// place of the first. Loops have places of their own and may follow one after another.
bool is_done_before(const Candidate& candidate, const std::string& rule, const RuleSite& site) {
  if (std::find(candidate.applied.begin(), candidate.applied.end(), rule) == candidate.applied.end())
    return false;
  for (std::size_t i = 0; i < site.knobs.size(); ++i)
    for (const Knob& knob : candidate.knobs)
      if ((knob.kind == KnobKind::block || knob.kind == KnobKind::coarsen) && knob.kind == site.kinds[i] &&
          stem_of(knob.name) == stem_of(site.knobs[i]))
        return true;
  return false;
}

RewriteStep step_of(const Action& action) {
  return {action.rule, action.whole ? std::vector<std::string>() : action.knobs};
}

} // namespace

std::optional<std::string> summary_of(const std::string& rule) {
  for (const auto& each : all_rules())
    if (each->name() == rule)
      return std::string(each->summary());
  return std::nullopt;
}

std::string_view to_string(ActionKind kind) {
  constexpr std::array<std::string_view, 4> names{"tiling", "fusion", "pipeline", "reordering"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Direction direction) {
  return direction_names[static_cast<std::size_t>(direction)];
}

std::optional<Direction> parse_direction(std::string_view text) {
  for (std::size_t i = 0; i < direction_names.size(); ++i)
    if (direction_names[i] == text)
      return static_cast<Direction>(i);
  return std::nullopt;
}

ActionKind kind_of_rule(std::string_view rule) {
  if (rule == "keep-in-registers")
    return ActionKind::fusion; // one pass over the data in place of two
  if (rule == "expose-unroll" || rule == "launch-bounds" || rule == "load-early" ||
      rule == "reduce-in-every-warp" || rule == "specialize-size")
    return ActionKind::pipeline; // how many loads are in flight
  if (rule == "cache-hints")
    return ActionKind::reordering; // when lines leave the caches
  return ActionKind::tiling;
}

Direction direction_of(std::string_view rule, const std::vector<KnobKind>& kinds) {
  const auto has = [&](KnobKind kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
  if (rule == "keep-in-registers" || rule == "rows-per-block")
    return Direction::data_reuse;
  if (rule == "cache-hints" || rule == "collapse-loops" || rule == "load-early" || rule == "pack-stores" ||
      rule == "pad-shared" || has(KnobKind::vector))
    return Direction::memory_access;
  if (rule == "expose-unroll" || rule == "launch-bounds" || rule == "reduce-in-every-warp" ||
      rule == "specialize-size")
    return Direction::instruction_throughput;
  if (rule == "split-block")
    return Direction::boundary_handling; // who does the end of a row
  return Direction::parallel_mapping;
}

std::string Action::label() const {
  std::string text = rule + "(";
  for (std::size_t i = 0; i < knobs.size(); ++i)
    text += (i ? ", " : "") + knobs[i];
  return text + ")";
}

std::string Action::strategy() const {
  std::vector<std::string> kinds;
  for (const KnobKind each : knob_kinds)
    kinds.emplace_back(lathe::to_string(each));
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::string text = rule;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    text += (i ? "+" : ":") + kinds[i];
  return text;
}

Result<ActionSet> enumerate_actions(const Candidate& candidate, const ParseOptions& options) {
  LATHE_TRY(std::vector<RuleOffer> offers, rule_offers(candidate, options));
  ActionSet actions;
  for (RuleOffer& offer : offers) {
    if (std::any_of(offer.sites.begin(), offer.sites.end(),
                    [&](const RuleSite& site) { return is_done_before(candidate, offer.rule, site); })) {
      offer.sites.clear();
      offer.refusal = "the launch is shaped by this rule already";
    }
    if (offer.sites.empty()) {
      actions.refused.push_back({kind_of_rule(offer.rule), offer.rule, offer.refusal});
      continue;
    }
    std::vector<const RuleSite*> all;
    for (const RuleSite& site : offer.sites) {
      all.push_back(&site);
      if (offer.sites.size() > 1)
        actions.legal.push_back(action_of(offer, {&site}));
    }
    actions.legal.push_back(action_of(offer, all));
  }
  return actions;
}

Result<Candidate> apply_action(const Candidate& candidate, const Action& action,
                               const ParseOptions& options) {
  LATHE_TRY(RewriteResult result, rewrite_steps(candidate, {step_of(action)}, options));
  if (!result.reports.front().applied)
    return Error{action.label(), result.reports.front().detail, ""};
  return std::move(result.candidate);
}

Result<std::vector<std::string>> keys_after(const Candidate& candidate, const std::vector<Action>& actions,
                                            const ParseOptions& options) {
  std::vector<RewriteStep> steps;
  for (const Action& action : actions)
    steps.push_back(step_of(action));
  LATHE_TRY(const std::vector<Result<Candidate>> branches, unparsed_branches(candidate, steps, options));
  std::vector<std::string> keys;
  for (const Result<Candidate>& branch : branches)
    keys.push_back(branch.ok() ? state_key(*branch) : std::string());
  return keys;
}

std::string state_key(const Candidate& candidate) {
  std::string text;
  for (std::size_t begin = 0; begin < candidate.text.size();) {
    const std::size_t end = std::min(candidate.text.find('\n', begin), candidate.text.size());
    text += sorted_words(std::string_view(candidate.text).substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  std::vector<std::string> knobs;
  for (const Knob& knob : candidate.knobs)
    knobs.push_back(knob.name + " = " + knob.default_value.text());
  std::sort(knobs.begin(), knobs.end());
  for (const std::string& knob : knobs)
    text += knob + "\n";
  return content_hash(text).substr(0, 16);
}

} // namespace lathe::refactor::agents
