// Structures that a kernel takes by value, as one parameter a member.
#pragma once

#include "refactor/extract/extract.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::refactor {

struct Flattened {
  std::vector<std::string> told; // the parameters that were taken apart, each a sentence
  // Of the new parameters, what the text names the member: "params.stride".
  std::map<std::string, std::string> member_paths;
};

// A specification knows numbers and buffers. Where the kernel takes structures, the text's kernel is changed
// to take their members ("params_stride" for params.stride), and makes the structure at the start of its
// body, so that the rest of the text stays; `kernel` gets the new parameters, and its launches what is passed
// for them as far as it is known. Structures
// with constructors whose members are public are set member by member; those with private members or unions
// are made of their bytes, as they lie in the file's first instance. Fails for those with virtual functions,
// references, bit fields or more than 256 members. Does nothing where there are none.
Result<Flattened> flatten_structures(ExtractedKernel& extracted, KernelInfo& kernel,
                                     const ParseOptions& options);

} // namespace lathe::refactor
