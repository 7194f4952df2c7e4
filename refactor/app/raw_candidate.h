// From a parsed kernel and one of its launches to the raw candidate that the rules start from.
#pragma once

#include "refactor/app/workload_file.h"
#include "refactor/rewrite/rewrite.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::refactor {

// What the command line supplies where the source has no readable launch.
struct LaunchOverride {
  std::string grid, block, shared; // "x[, y[, z]]" expressions; empty: as read
  int site = 0; // which launch site to take, 0: the first readable one that the problems get to, or most of
                // the usual ones
  bool at_any_size = false; // its conditions on sizes are the caller's to keep
  std::map<std::string, std::string>
      template_arguments; // by the kernel's template parameter, over the site's
};

struct RawCandidate {
  Candidate candidate;
  // What dimensions that the source fixes are there: what problems have that nobody gives otherwise.
  std::map<std::string, std::int64_t> own_sizes;
  std::vector<std::string> assumed_switches; // arguments that are taken to be true
  std::vector<std::string> assumed_modes;    // enumerations that are taken to be 0
  // Options for template arguments that nothing in sight says, with numbers that compile:
  // "--template-argument N=4".
  std::vector<std::string> assumed_template_arguments;
  std::string location;                      // "file:line" of the launch; empty where it is given
  std::vector<std::string> other_conditions; // of the launch, that are not over sizes alone, as read
  bool has_free_grid = false;                // the number of blocks has become a size
  bool has_program_instance = false;         // these are of one of the instances that the launch makes
  std::vector<std::string> assumptions;      // sentences: what was guessed and how to say it better
};

// Fails, naming the flag that helps, where the launch cannot be read. `facts` wins over what the source says.
Result<RawCandidate> make_raw_candidate(const KernelInfo& kernel, const ExtractedKernel& extracted,
                                        const WorkloadFacts& facts, const LaunchOverride& launch,
                                        const std::string& architecture);

// Whether a condition over dimensions is known not to hold at the problem's sizes.
bool fails_at(const Expression& condition, const Problem& problem);

// "const __nv_bfloat16" -> "bf16", "uint32_t" -> "u32"; empty for what has no dtype.
std::string dtype_of_type(std::string type);

} // namespace lathe::refactor
