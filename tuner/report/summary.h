// What one search did, drawn from its evaluations: shared by the page and the JSON.
#pragma once

#include "tuner/report/report.h"

#include <cstddef>
#include <string>
#include <vector>

namespace lathe::report {

struct Improvement {
  std::size_t evaluation = 0; // 1 is the first
  double best_us = 0;
  std::string author; // the technique that proposed it
};

// Configurations that gave no time, alike in outcome and reason.
struct Skipped {
  Outcome outcome = Outcome::ok;
  std::string reason;
  std::size_t count = 0;
  std::string example; // a configuration, "BLOCK=256 VEC=8"
};

std::vector<Improvement> improvements(const ProblemReport& problem);
// The most frequent first; numbers within reasons are taken as alike.
std::vector<Skipped> skipped(const std::vector<ProblemReport>& problems);
std::size_t count_ok(const ProblemReport& problem);
std::size_t count_stopped_early(const ProblemReport& problem);
// Of the winner's configuration; null where it was not evaluated in this search.
const StoredEvaluation* evaluation_of_winner(const ProblemReport& problem);
// The configuration that stands for the raw kernel; null where none was recorded.
const StoredEvaluation* default_evaluation(const ProblemReport& problem);

// A gain beyond what the raw kernel shows against itself.
bool gains(const Comparison& comparison);

struct GeometricMean {
  double ratio = 1; // raw / tuned
  int problems = 0;
};
GeometricMean geometric_mean(const KernelReport& kernel, ProblemRole role);

// What an outcome means for a reader who does not know the code.
std::string explain(Outcome outcome);

} // namespace lathe::report
