#include "refactor/guard/mutants.h"

#include "refactor/guard/equivalence.h"
#include "refactor/guard/mutation_kinds.h"
#include "tuner/base/files.h"
#include "tuner/space/space.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

namespace lathe::refactor {
namespace {

// Mistakes in the specification: the launch and the conditions belong to what is judged.
void specification_mutants(const TuningSpec& spec, const std::string& text, std::vector<Mutant>& found) {
  const auto add = [&](const char* kind, const std::string& description, auto change) {
    Mutant mutant{kind, description, text, spec, true};
    if (change(mutant.spec))
      found.push_back(std::move(mutant));
  };
  const auto rewrite = [](Expression& expression, const std::string& before, const std::string& after) {
    auto parsed = Expression::parse(before + expression.text() + after, expression.dialect());
    if (!parsed)
      return false;
    expression = std::move(*parsed);
    return true;
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string name(1, static_cast<char>('x' + axis));
    if (spec.kernel.launch.grid[axis].text() != "1") {
      add("launch-grid", "the grid lacks its last block in " + name, [&](TuningSpec& changed) {
        return rewrite(changed.kernel.launch.grid[axis], "max(1, (", ") - 1)");
      });
      add("launch-grid", "the grid has one block too many in " + name,
          [&](TuningSpec& changed) { return rewrite(changed.kernel.launch.grid[axis], "(", ") + 1"); });
    }
    if (spec.kernel.launch.block[axis].text() != "1")
      add("launch-block", "the block has half its threads in " + name, [&](TuningSpec& changed) {
        return rewrite(changed.kernel.launch.block[axis], "max(1, (", ") / 2)");
      });
  }
  if (spec.kernel.launch.shared_bytes.text() != "0")
    add("launch-shared", "the dynamic shared memory is 16 bytes short", [&](TuningSpec& changed) {
      return rewrite(changed.kernel.launch.shared_bytes, "max(0, (", ") - 16)");
    });
  for (std::size_t i = 0; i < spec.conditions.size(); ++i)
    add("drop-condition", "the condition '" + spec.conditions[i].expression.text() + "' is gone",
        [&](TuningSpec& changed) {
          changed.conditions.erase(changed.conditions.begin() + static_cast<std::ptrdiff_t>(i));
          return true;
        });
}

std::string apply(const std::string& text, std::vector<MutationEdit> edits) {
  std::sort(edits.begin(), edits.end(),
            [](const MutationEdit& a, const MutationEdit& b) { return a.begin > b.begin; });
  std::string result = text;
  for (const MutationEdit& edit : edits)
    result.replace(edit.begin, edit.end - edit.begin, edit.replacement);
  return result;
}

std::vector<const std::vector<MutationKind>*> families() {
  return {&flow_mutations(), &value_mutations(), &effect_mutations(), &exchange_mutations()};
}

} // namespace

std::vector<std::string> mutation_kinds() {
  std::vector<std::string> names;
  for (const auto* family : families())
    for (const MutationKind& kind : *family)
      names.emplace_back(kind.name);
  for (const char* kind : {"launch-grid", "launch-block", "launch-shared", "drop-condition"})
    names.emplace_back(kind);
  return names;
}

std::vector<Mutant> make_mutants(const TuningSpec& spec, std::string_view template_text, std::uint64_t seed,
                                 std::size_t most) {
  const TokenText tokens(template_text);
  // Which cache hint an access carries cannot change what it accesses.
  std::set<int> hint_lines;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens.is(i, "CACHE"))
      hint_lines.insert(tokens[i].line);
  const auto decides_results = [&](const Mutation& mutation) { return !hint_lines.contains(mutation.line); };
  std::map<std::string, std::vector<Mutant>> by_kind;
  for (const auto* family : families())
    for (const MutationKind& kind : *family) {
      std::vector<Mutation> found;
      kind.find(tokens, spec, found);
      for (Mutation& mutation : found | std::views::filter(decides_results))
        by_kind[kind.name].push_back(
            {kind.name, "line " + std::to_string(mutation.line) + ": " + mutation.description,
             apply(tokens.text(), mutation.edits), spec, kind.shown_by == ShownBy::runs});
    }
  std::vector<Mutant> specification;
  specification_mutants(spec, tokens.text(), specification);
  for (Mutant& mutant : specification)
    by_kind[mutant.kind].push_back(std::move(mutant));

  // One of each kind in turn until there are enough.
  Random random(seed);
  for (auto& [kind, mutants] : by_kind)
    std::shuffle(mutants.begin(), mutants.end(), random);
  // In an order by the seed: where fewer are wanted than there are kinds, not always the same are left out.
  std::vector<std::string> kinds = mutation_kinds();
  std::shuffle(kinds.begin(), kinds.end(), random);
  std::vector<Mutant> chosen;
  for (std::size_t round = 0; chosen.size() < most; ++round) {
    const std::size_t before = chosen.size();
    for (const std::string& kind : kinds)
      if (auto found = by_kind.find(kind);
          found != by_kind.end() && round < found->second.size() && chosen.size() < most)
        chosen.push_back(std::move(found->second[round]));
    if (chosen.size() == before)
      break;
  }
  return chosen;
}

std::string_view to_string(MutantVerdict::Fate fate) {
  switch (fate) {
  case MutantVerdict::Fate::refused:
    return "refused";
  case MutantVerdict::Fate::equivalent:
    return "equivalent";
  case MutantVerdict::Fate::alike:
    return "alike";
  case MutantVerdict::Fate::broken:
    return "broken";
  default:
    return "survived";
  }
}

struct MutantJudge::State {
  State(const TuningSpec& spec, const GuardOptions& given) : original(spec), options(given) {}
  const TuningSpec& original;
  GuardOptions options;
  std::string original_text;
  FurtherSeeds further{original, options};
};

MutantJudge::MutantJudge(std::unique_ptr<State> state) : state_(std::move(state)) {}
MutantJudge::MutantJudge(MutantJudge&&) noexcept = default;
MutantJudge::~MutantJudge() = default;

Result<MutantJudge> MutantJudge::create(const TuningSpec& original, const GuardOptions& options) {
  auto state = std::make_unique<State>(original, options);
  state->options.stop_at_failure = true;
  if (!state->options.raw_runs)
    state->options.raw_runs = remember_raw_runs();
  LATHE_TRY(state->original_text, read_file(original.kernel.file));
  return MutantJudge(std::move(state));
}

Result<MutantVerdict> MutantJudge::judge(const Mutant& mutant) {
  using Fate = MutantVerdict::Fate;
  LATHE_TRY(const TemporaryFolder folder, TemporaryFolder::create("mutant"));
  TuningSpec spec = mutant.spec;
  spec.kernel.file = folder.path() / state_->original.kernel.file.filename();
  LATHE_CHECK(write_file(spec.kernel.file, mutant.text));
  LATHE_TRY(const Certificate certificate, lathe::refactor::judge(spec, state_->options));
  MutantVerdict verdict{mutant.kind, mutant.description, Fate::survived, "", "", certificate.seconds};
  if (certificate.accepted()) {
    if (has_same_code({state_->original, state_->original_text}, {spec, mutant.text}, state_->options,
                      certificate.seed)) {
      verdict.fate = Fate::equivalent;
      return verdict;
    }
    LATHE_TRY(std::optional<std::string> difference, state_->further.difference(spec, certificate.seed));
    if (difference) {
      verdict.detail = std::move(*difference);
    } else if (mutant.shown_by_runs) {
      verdict.fate = Fate::alike;
    } else {
      verdict.detail = "no run shows a mistake of this kind";
    }
    return verdict;
  }
  for (const CheckResult& check : certificate.checks)
    if (check.verdict == Verdict::failed || check.verdict == Verdict::undecided) {
      verdict.check = check.check;
      verdict.detail = check.detail;
      break;
    }
  verdict.fate = verdict.check == "well-formed" ? Fate::broken : Fate::refused;
  return verdict;
}

} // namespace lathe::refactor
