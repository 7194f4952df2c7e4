// `lathe check SPEC --mutants=N`: the guard judged by wrong templates.
#pragma once

#include "refactor/guard/guard.h"
#include "tuner/base/result.h"
#include "tuner/spec/spec.h"

#include <nlohmann/json.hpp>

#include <string>

namespace lathe::refactor {

struct MutantReport {
  // A table by kind and one by check, then those that no run tells apart, then every survivor.
  std::string text;
  nlohmann::json json;   // the same, one entry a mutant
  bool survived = false; // a wrong template was accepted
};

// Makes at most `most` mutants of the specification's template by the seed and judges each; says on standard
// error how far it is. Fails when there is no place for a mutation or a mutant cannot be judged.
Result<MutantReport> judge_mutants(const TuningSpec& spec, const GuardOptions& options, std::uint64_t seed,
                                   std::size_t most);

} // namespace lathe::refactor
