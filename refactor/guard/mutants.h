// Wrong templates made from right ones: the guard's own test. Each mutant differs from the original by one
// mistake of a known kind; the guard must refuse all of them but those that compile to the original's machine
// code.
#pragma once

#include "refactor/guard/guard.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::refactor {

struct Mutant {
  std::string kind;        // "weaken-bound"
  std::string description; // "line 12: '<' became '<='"
  std::string text;        // the template's
  TuningSpec spec;         // as the original's, but where the mistake is in the specification
};

// Names of all kinds, in the order in which they are made.
std::vector<std::string> mutation_kinds();

// Mutants of the template, at most `most`, spread evenly over the kinds; which places are taken is decided by
// the seed.
std::vector<Mutant> make_mutants(const TuningSpec& spec, std::string_view template_text, std::uint64_t seed,
                                 std::size_t most);

struct MutantVerdict {
  std::string kind, description;
  // refused: by `check`, the first that failed; equivalent: accepted, with the original's machine code at
  // every compiled configuration; survived: accepted, though its code differs; broken: it does not compile.
  enum class Fate { refused, equivalent, survived, broken } fate = Fate::survived;
  std::string check, detail;
  double seconds = 0;
};
std::string_view to_string(MutantVerdict::Fate fate);

// Judges one mutant (its text is written to a temporary file beside nothing else).
Result<MutantVerdict> judge_mutant(const TuningSpec& original, const Mutant& mutant,
                                   const GuardOptions& options);

} // namespace lathe::refactor
