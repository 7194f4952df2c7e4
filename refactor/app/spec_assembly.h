// The tuning specification of a rewritten kernel.
#pragma once

#include "refactor/app/raw_candidate.h"

#include <filesystem>
#include <string>

namespace lathe::refactor {

// Where the products of one templatize run go.
struct OutputPaths {
  std::filesystem::path template_file, raw_file, spec_file, certificate_file;
  // <folder>/templates/<name>/<name>.cuh and .raw.cuh, certificate.json; <folder>/search_spaces/<name>.json
  static OutputPaths under(const std::filesystem::path& folder, const std::string& name);
};

// Sizes for a kernel that comes without a workload: guesses by the dimensions' names, within what a block may
// have on the architecture; each said in `assumptions`.
std::vector<Problem> usual_problems(const Candidate& raw, const std::string& architecture,
                                    std::vector<std::string>& assumptions);

// Halves guessed sizes, the largest first, until the buffers are no more than any device holds: a matrix of n
// by n is much larger than n says. Each change is said in `assumptions`.
void fit_to_memory(const Candidate& raw, std::vector<Problem>& problems,
                   std::vector<std::string>& assumptions);

// Drops the problems whose default configuration the conditions exclude (the raw kernel was never launched
// so), each said in `assumptions`; keeps all of them where none would be left.
void drop_excluded_problems(TuningSpec& spec, std::vector<std::string>& assumptions);

// `raw` is the candidate before the rules, `tuned` after. Nothing is written.
Result<TuningSpec> assemble_spec(const std::string& name, const Candidate& raw, const Candidate& tuned,
                                 const WorkloadFacts& facts, const OutputPaths& paths,
                                 const Provenance& provenance);

} // namespace lathe::refactor
