// The raw candidate or the subject of a text, for the tests of the way from a file to the rules.
#pragma once

#include "refactor/app/raw_candidate.h"
#include "refactor/app/subject.h"
#include "refactor/extract/extract.h"
#include "tuner/base/files.h"

#include <string>
#include <utility>
#include <vector>

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

// What is prepared of such a text's kernel `k` as a file; `arguments` as --argument has them.
inline Result<Subject> subject_of(const std::string& text, std::vector<std::string> arguments = {}) {
  LATHE_TRY(const TemporaryFolder folder, TemporaryFolder::create("subject"));
  SubjectRequest request;
  request.source = folder.path() / "k.cu";
  request.kernel = "k";
  request.arguments = std::move(arguments);
  LATHE_CHECK(write_file(request.source, text));
  LATHE_TRY(const auto source, ParsedSource::parse(request.source, {}));
  return prepare_subject(request, *source);
}

} // namespace lathe::refactor
