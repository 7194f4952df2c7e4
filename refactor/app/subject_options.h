// The options by which every command of stage 1 names a kernel and its sizes.
#pragma once

#include "refactor/app/subject.h"
#include "tuner/app/options.h"

namespace lathe::refactor {

// Adds --kernel, --workload, --problem, --grid and the others that SubjectRequest holds, and -p.
void add_subject_options(boost::program_options::options_description& options);

// The request that the command line states. `arguments` are the command's own: what stands behind "--" goes
// to the parser of the source. Errors are usage errors.
Result<SubjectRequest> read_subject_options(const CommandLine& line, const Arguments& arguments);
// The arguments before "--".
Arguments before_separator(const Arguments& arguments);

Status settle_kernel(SubjectRequest& request, ParsedSource& source);

// "a,b" into its parts, empty ones left out.
std::vector<std::string> split(const std::string& text, char separator);

} // namespace lathe::refactor
