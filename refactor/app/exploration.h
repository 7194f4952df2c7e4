// Templates that sequences of actions make of a kernel, as an offline tree, with each template in an
// evaluation queue.
#pragma once

#include "refactor/agents/offline_tree.h"
#include "refactor/app/subject.h"

#include <functional>

namespace lathe::refactor {

struct ExplorationOptions {
  int depth = 6;            // actions in a row at most
  int states = 48;          // at most: every single action, then random sequences
  int evaluations = 20;     // configurations a problem and template
  int problems = 2;         // spread from the smallest to the largest
  double most_bytes = 64e6; // of a problem, unless none is that small
  std::uint64_t seed = 1;
  bool whole_rules = false; // every sequence of whole rules, shortest first, in place of random ones
  std::string name;         // of the templates
  std::function<void(const std::string&)> say; // a line a depth
};

// Templates are written below `work`, copied into `queue`, and not judged by the guard: their certificates
// say so. The tuner verifies every configuration against the raw kernel before it times it; such times train
// a policy and are never shipped.
Result<agents::OfflineTree> explore(const Subject& subject, const ExplorationOptions& options,
                                    const EvaluationQueue& queue, const std::filesystem::path& work);

// `count` of the specification's tune problems that move at most `most_bytes`, spread by size from the
// smallest to the largest; the smallest alone where all move more.
std::vector<Problem> spread_problems(const TuningSpec& spec, int count, double most_bytes);
// "n=16,d=4096".
std::string problem_text(const Problem& problem);

// Sizes of one problem's data and raw launch, for features: logarithms of bytes, blocks, threads a block and
// bytes a thread. Fails where the specification cannot be bound to it.
Result<agents::Features> problem_facts(const TuningSpec& spec, const Problem& problem);

// What the kernel's AST says (refactor/knobs/kernel_facts.h).
Result<agents::Features> kernel_features(const Candidate& candidate, const std::string& architecture);

} // namespace lathe::refactor
