// The raw candidate of a text, for the tests of the way from a file to the rules.
#pragma once

#include "refactor/app/raw_candidate.h"
#include "refactor/extract/extract.h"

#include <string>

namespace lathe::refactor {

// Of the text's kernel `k`.
inline Result<RawCandidate> raw_of(const std::string& text, const LaunchOverride& launch = {},
                                   const WorkloadFacts& facts = {}) {
  ParseOptions options;
  options.overlay["/lathe/k.cu"] = text;
  LATHE_TRY(auto source, ParsedSource::parse("/lathe/k.cu", options));
  LATHE_TRY(const KernelInfo kernel, find_kernel(*source, "k"));
  LATHE_TRY(const ExtractedKernel extracted, extract_kernel(*source, kernel));
  return make_raw_candidate(kernel, extracted, facts, launch, "sm_90");
}

} // namespace lathe::refactor
