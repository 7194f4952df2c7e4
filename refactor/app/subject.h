// A kernel of a file made ready for the authors of templates, and a template of it written out for the guard
// and the tuner.
#pragma once

#include "refactor/app/raw_candidate.h"
#include "refactor/app/spec_assembly.h"
#include "refactor/extract/pointer_tables.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace lathe::refactor {

// What names a kernel and supplies what its source does not tell. Texts are as on the command line.
struct SubjectRequest {
  std::filesystem::path source;
  std::string kernel;                // name, qualified name or pattern
  std::filesystem::path launcher;    // file that launches it; empty: the source, or one that is found near it
  std::filesystem::path workload;    // empty: SOURCE.workload.json where it exists
  std::vector<std::string> problems; // "n=16,d=4096" each; empty: the workload's, or guessed
  std::vector<std::string> arguments; // NAME=EXPRESSION each
  std::string types;                  // "T=bf16/f16"
  LaunchOverride launch;
  ParseOptions parse;
  std::string architecture = "sm_90";
  std::vector<std::string> assumed_macros; // defined by open_source, in `parse` too
  std::filesystem::path
      headers_of; // whose headers open_source put before the source, in `parse` too; empty: none
  std::vector<std::string> definitions_of; // files put before the source likewise: they define what it calls
  std::vector<std::string> passed_over;    // other kernels of the name that was given, set by open_source
  std::filesystem::path declared_in; // the source that was given, which open_source left; empty: it did not
  bool contiguous_tensors = false;   // strides that nobody gives follow from the other sizes
};

struct Subject {
  std::string kernel; // its name in the source
  std::string architecture;
  Candidate raw; // what the rules start from
  WorkloadFacts facts;
  bool guessed_problems = false;
  bool writes_nothing = false;                   // in the runs from which the sizes of its buffers are read
  std::size_t launch_sites = 0;                  // that are found
  std::map<std::string, std::int64_t> own_sizes; // RawCandidate's
  std::vector<std::string> assumed_switches;     // likewise
  std::map<std::string, std::vector<std::int64_t>> assumed_modes; // enumerations taken to be 0: their values
  std::vector<std::string> assumed_template_arguments;            // likewise
  bool has_program_instance = false;                              // likewise
  std::vector<std::string> guessed_strides;                       // of tensors: dimensions that nobody gives
  std::vector<PointerTable> tables;                               // of pointers, that were made numbers
  Provenance provenance;          // without the certificate; the source file as the request names it
  std::vector<std::string> notes; // what was assumed, a sentence each
};

// Parses the request's source, or where that only declares the kernel, the file near it that defines it,
// which becomes the request's; where the kernel is not whole in it by itself, with the macros under whose
// conditions the source has it or CUDA's headers, or else a file near it that includes it, or else behind the
// headers of a file near it that launches it. Of several kernels of the request's name, the first that the
// source launches becomes the request's, or else the first.
Result<std::unique_ptr<ParsedSource>> open_source(SubjectRequest& request);

// Extracts the kernel and reads its launch: no problems, no sizes of buffers yet.
Result<Subject> extract_subject(const SubjectRequest& request, ParsedSource& source);

// The same, and infers the sizes of its buffers. Errors name what is missing and
// the flag that supplies it.
Result<Subject> prepare_subject(const SubjectRequest& request, ParsedSource& source);

// The specification of a template whose files are to lie at `paths`; nothing is written. What is assumed goes
// to `notes`.
Result<TuningSpec> assemble_template(const Subject& subject, const Candidate& rewritten,
                                     const std::string& name, const OutputPaths& paths,
                                     std::vector<std::string>& notes);

// Writes the raw text, the template and its specification to `paths`. The certificate is the caller's to
// write.
Result<TuningSpec> write_template(const Subject& subject, const Candidate& rewritten, const std::string& name,
                                  const OutputPaths& paths, std::vector<std::string>& notes);

} // namespace lathe::refactor
