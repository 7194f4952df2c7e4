// What became of a mutant that no check refused: whether it is the original after all.
#pragma once

#include "refactor/guard/guard.h"
#include "refactor/guard/subject.h"

#include <map>
#include <optional>
#include <string>

namespace lathe::refactor {

// One template, with its text, as a side of a comparison.
struct TemplateText {
  const TuningSpec& spec;
  const std::string& text;
};

// Whether the two are launched alike and have the same machine code, at the defaults and at the
// configurations that the seed samples. Where the code differs, it is compared once more with what each
// launch makes true said to the compiler (the sizes of block and grid, indices within them) and without
// bounds for the register allocation: those change which registers a kernel uses, never what it computes.
bool has_same_code(const TemplateText& original, const TemplateText& mutant, const GuardOptions& options,
                   std::uint64_t seed);

// Judges a template under further seeds: other configurations, sizes, data and orders of threads. One object
// serves all mutants of an original, whose own runs are made once.
class FurtherSeeds {
public:
  FurtherSeeds(const TuningSpec& original, const GuardOptions& options)
      : original_(original), options_(options) {}
  // Nothing when each of the seeds that follow `seed` accepts the mutant and no more of its runs differ
  // from the raw kernel's by a bit than of the original's; otherwise a sentence that says what told it apart.
  Result<std::optional<std::string>> difference(const TuningSpec& mutant, std::uint64_t seed);

private:
  Result<std::size_t> original_inexact_runs(std::uint64_t seed);
  const TuningSpec& original_;
  const GuardOptions& options_;
  std::map<std::uint64_t, std::size_t> inexact_runs_; // of the original, by seed
};

} // namespace lathe::refactor
