// Wrong templates made from right ones: the guard's own test. Each mutant differs from the original by one
// mistake of a known kind; the guard must refuse all of them but those that are the original in other words.
#pragma once

#include "refactor/guard/guard.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::refactor {

struct Mutant {
  std::string kind;        // "weaken-bound"
  std::string description; // "line 12: '<' became '<='"
  std::string text;        // the template's
  TuningSpec spec;         // as the original's, but where the mistake is in the specification
  bool shown_by_runs;      // otherwise every result can be right and the template wrong all the same
};

// Names of all kinds, in the order in which they are made.
std::vector<std::string> mutation_kinds();

// Mutants of the template, at most `most`, spread evenly over the kinds; which places are taken is decided by
// the seed.
std::vector<Mutant> make_mutants(const TuningSpec& spec, std::string_view template_text, std::uint64_t seed,
                                 std::size_t most);

struct MutantVerdict {
  std::string kind, description;
  // What became of it.
  //   refused     by `check`, the first that failed
  //   equivalent  accepted, and shown to be the original: the same machine code (has_same_code())
  //   alike       accepted, with other machine code, and accepted under further seeds too, where no more runs
  //               differ from the raw kernel's by a bit than of the original's
  //   broken      it does not compile, or can never be launched
  //   survived    accepted, and no evidence that it is right; `detail` says what told it apart
  enum class Fate { refused, equivalent, alike, broken, survived } fate = Fate::survived;
  std::string check, detail;
  double seconds = 0;
};
std::string_view to_string(MutantVerdict::Fate fate);

// Judges the mutants of one template. `original` has to live as long.
class MutantJudge {
public:
  static Result<MutantJudge> create(const TuningSpec& original, const GuardOptions& options);
  MutantJudge(MutantJudge&&) noexcept;
  ~MutantJudge();
  // Its text is written to a temporary folder of its own.
  Result<MutantVerdict> judge(const Mutant& mutant);

private:
  struct State;
  explicit MutantJudge(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace lathe::refactor
