#include "refactor/rewrite/sites.h"

#include "refactor/rewrite/rule_support.h"

#include <algorithm>
#include <numeric>

namespace lathe::refactor {
namespace {

// The knobs' indices by what binds them together.
class Bonds {
public:
  explicit Bonds(const Proposal& proposal) : proposal_(proposal), leader_(proposal.knobs.size()) {
    std::iota(leader_.begin(), leader_.end(), std::size_t{0});
  }

  std::vector<std::size_t> mentioned(const std::string& text) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < proposal_.knobs.size(); ++i)
      if (has_word(text, proposal_.knobs[i].name))
        found.push_back(i);
    return found;
  }
  void bind(const std::vector<std::size_t>& together) {
    for (std::size_t i = 1; i < together.size(); ++i)
      leader_[leader(together[i])] = leader(together[0]);
  }
  void bind_text(const std::string& text) { bind(mentioned(text)); }
  void bind_all() {
    for (std::size_t i = 1; i < leader_.size(); ++i)
      bind({0, i});
  }
  std::size_t leader(std::size_t index) const {
    while (leader_[index] != index)
      index = leader_[index];
    return index;
  }

private:
  const Proposal& proposal_;
  std::vector<std::size_t> leader_;
};

// What an edit is about: the text that goes and the text that comes.
std::string words_of(const Candidate& candidate, const Edit& edit) {
  return candidate.text.substr(std::min(edit.offset, candidate.text.size()), edit.length) + " \n " +
         edit.replacement;
}

std::string words_of(const LaunchGeometry& launch) {
  std::string text = launch.shared_bytes.text();
  for (const Expression& size : launch.grid)
    text += " \n " + size.text();
  for (const Expression& size : launch.block)
    text += " \n " + size.text();
  return text;
}

Bonds bonds_of(const Candidate& candidate, const Proposal& proposal) {
  Bonds bonds(proposal);
  for (const Edit& edit : proposal.edits) {
    const auto knobs = bonds.mentioned(words_of(candidate, edit));
    const bool is_helper = edit.length == 0 && edit.offset == prelude_position(candidate.text);
    if (knobs.empty() && !is_helper)
      bonds.bind_all(); // whose edit it is cannot be told
    bonds.bind(knobs);
  }
  for (const Condition& condition : proposal.conditions)
    bonds.bind_text(condition.expression.text());
  for (std::size_t i = 0; i < proposal.knobs.size(); ++i) {
    auto knobs = bonds.mentioned(proposal.knobs[i].default_value.text());
    knobs.push_back(i);
    bonds.bind(knobs);
  }
  if (proposal.launch)
    bonds.bind_text(words_of(*proposal.launch));
  for (const std::string& statement : proposal.raw_preconditions)
    bonds.bind_text(statement);
  return bonds;
}

int line_of(const std::string& text, std::size_t offset) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

} // namespace

std::vector<RuleSite> sites_of(const Candidate& candidate, const Proposal& proposal) {
  const Bonds bonds = bonds_of(candidate, proposal);
  std::vector<RuleSite> sites;
  std::vector<std::size_t> leaders;
  for (std::size_t i = 0; i < proposal.knobs.size(); ++i) {
    const std::size_t leader = bonds.leader(i);
    const auto at =
        static_cast<std::size_t>(std::find(leaders.begin(), leaders.end(), leader) - leaders.begin());
    if (at == leaders.size()) {
      leaders.push_back(leader);
      sites.emplace_back();
    }
    RuleSite& site = sites[at];
    site.knobs.push_back(proposal.knobs[i].name);
    site.kinds.push_back(proposal.knobs[i].kind);
    site.why += (site.why.empty() ? "" : "; ") + proposal.knobs[i].name + ": " + proposal.knobs[i].why;
  }
  for (const Edit& edit : proposal.edits) {
    const auto knobs = bonds.mentioned(words_of(candidate, edit));
    if (knobs.empty())
      continue;
    const auto at = std::find(leaders.begin(), leaders.end(), bonds.leader(knobs.front()));
    RuleSite& site = sites[static_cast<std::size_t>(at - leaders.begin())];
    const int first = line_of(candidate.text, edit.offset);
    const int last = line_of(candidate.text, edit.offset + edit.length);
    site.first_line = site.first_line == 0 ? first : std::min(site.first_line, first);
    site.last_line = std::max(site.last_line, last);
  }
  return sites;
}

Result<Proposal> restricted_to(const Candidate& candidate, const Proposal& proposal,
                               const std::vector<std::string>& knobs) {
  const Bonds bonds = bonds_of(candidate, proposal);
  std::vector<std::size_t> wanted; // leaders
  for (const std::string& name : knobs) {
    const auto found = std::find_if(proposal.knobs.begin(), proposal.knobs.end(),
                                    [&](const Knob& knob) { return knob.name == name; });
    if (found == proposal.knobs.end())
      return Error{"knob " + name, "the rule does not offer it here", ""};
    wanted.push_back(bonds.leader(static_cast<std::size_t>(found - proposal.knobs.begin())));
  }
  const auto is_wanted = [&](std::size_t index) {
    return std::find(wanted.begin(), wanted.end(), bonds.leader(index)) != wanted.end();
  };
  // Without a knob: shared by all, such as a helper's definition.
  const auto is_kept = [&](const std::string& text) {
    const auto mentioned = bonds.mentioned(text);
    return mentioned.empty() || is_wanted(mentioned.front());
  };
  Proposal result = proposal;
  result.knobs.clear();
  for (std::size_t i = 0; i < proposal.knobs.size(); ++i)
    if (is_wanted(i))
      result.knobs.push_back(proposal.knobs[i]);
  if (result.knobs.size() == proposal.knobs.size())
    return proposal;
  std::erase_if(result.edits, [&](const Edit& edit) { return !is_kept(words_of(candidate, edit)); });
  std::erase_if(result.conditions,
                [&](const Condition& condition) { return !is_kept(condition.expression.text()); });
  std::erase_if(result.raw_preconditions, [&](const std::string& statement) { return !is_kept(statement); });
  if (result.launch && !is_kept(words_of(*result.launch)))
    result.launch.reset();
  if (!is_kept(result.raw_launch_bounds))
    result.raw_launch_bounds.clear();
  return result;
}

} // namespace lathe::refactor
