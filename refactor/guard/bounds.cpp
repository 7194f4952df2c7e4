// Bounds: every access through a pointer parameter stays under the conditions on sizes that guard the raw
// kernel's accesses to it. Which sizes those are is read from the branches that control the access; that the
// comparison itself is still the right one is for the differential check, whose shapes are not multiples of
// the tile.
#include "refactor/guard/checks.h"

#include <algorithm>

namespace lathe::refactor {
namespace {

// Whether a condition of the specification speaks of the value passed for the parameter, so that a guard may
// have become unnecessary.
bool is_conditioned(const Subject& subject, int parameter) {
  if (parameter >= static_cast<int>(subject.spec.arguments.size()))
    return false;
  const Argument& argument = subject.spec.arguments[static_cast<std::size_t>(parameter)];
  if (argument.is_buffer)
    return false;
  return std::any_of(subject.spec.conditions.begin(), subject.spec.conditions.end(),
                     [&](const Condition& condition) {
                       const auto& names = condition.expression.names();
                       return std::any_of(argument.value.names().begin(), argument.value.names().end(),
                                          [&](const std::string& name) {
                                            return std::find(names.begin(), names.end(), name) != names.end();
                                          });
                     });
}

void compare_guards(const Subject& subject, const FactPair& pair, const Root& root, const std::set<int>& raw,
                    const std::set<int>& templated, const std::string& access, Findings& findings) {
  for (const int parameter : raw) {
    if (templated.contains(parameter))
      continue;
    const std::string sentence = access + " of " + parameter_name(subject, root) + " no longer depends on " +
                                 parameter_name(subject, std::to_string(parameter)) + " at " +
                                 pair.configuration->text();
    if (is_conditioned(subject, parameter))
      findings.report(sentence + "; a condition speaks of it, and runs stand in");
    else
      findings.fail("a guard was lost: " + sentence);
  }
}

} // namespace

CheckResult check_bounds(const Subject& subject) {
  Findings findings("bounds");
  std::size_t judged = 0, accesses = 0;
  for (const FactPair& pair : fact_pairs(subject)) {
    if (!pair.raw || !pair.templated)
      continue;
    ++judged;
    for (const auto& [root, raw] : pair.raw->memory) {
      const auto found = pair.templated->memory.find(root);
      if (root == "shared" || root == "local" || root == "constant" || found == pair.templated->memory.end())
        continue;
      if (raw.stores && found->second.stores)
        compare_guards(subject, pair, root, raw.common_write_guards, found->second.common_write_guards,
                       "a write", findings);
      if (raw.loads && found->second.loads)
        compare_guards(subject, pair, root, raw.common_read_guards, found->second.common_read_guards,
                       "a read", findings);
      accesses += found->second.stores + found->second.loads;
    }
    for (const std::string& truncation : pair.templated->address_truncations)
      if (!pair.raw->address_truncations.contains(truncation))
        findings.report("an address is computed through " + truncation + ", unlike the raw kernel's, at " +
                        pair.configuration->text());
  }
  if (judged == 0)
    findings.undecided("there is no LLVM IR to look at");
  return findings.conclude(Verdict::proved,
                           std::to_string(accesses) + " accesses in " + std::to_string(judged) +
                               " instances depend on every size that guards the raw kernel's");
}

} // namespace lathe::refactor
