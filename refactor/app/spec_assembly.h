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

// Drops the problems whose default configuration the conditions exclude (the raw kernel was never launched
// so), each said in `assumptions`; keeps all of them where none would be left.
void drop_excluded_problems(TuningSpec& spec, std::vector<std::string>& assumptions);

// `raw` is the candidate before the rules, `tuned` after. Nothing is written.
Result<TuningSpec> assemble_spec(const std::string& name, const Candidate& raw, const Candidate& tuned,
                                 const WorkloadFacts& facts, const OutputPaths& paths,
                                 const Provenance& provenance);

} // namespace lathe::refactor
