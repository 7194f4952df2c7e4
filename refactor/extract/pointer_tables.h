// Tables of pointers that a kernel takes (T** of batched routines, 64-bit integers that it casts to
// pointers).
#pragma once

#include "refactor/extract/extract.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::refactor {

// What took the place of a table: the parameters' names.
struct PointerTable {
  std::string places;   // 64-bit integers, one an entry
  std::string pitch;    // bytes from one place to the next
  std::string elements; // the buffer that all entries point into
};

// A specification knows numbers and buffers, and no buffer that holds the addresses of others. Where the
// kernel reads pointers from a table, its text is changed to compute them: elements + places[i] * pitch.
// Places that are numbered, and a pitch that is the room of one, make pieces of one buffer; the table itself
// as places, with pitch 1 and no elements (a null pointer), makes the addresses that it holds, so that the
// kernel is still of use with any table. `kernel` gets the new parameters. A table that the kernel does
// otherwise than read an entry of stays as it is. `member_paths`: of structures that were taken apart
// (flatten.h). Returns what was changed.
Result<std::vector<PointerTable>>
number_pointer_tables(ExtractedKernel& extracted, KernelInfo& kernel, const ParseOptions& options,
                      const std::map<std::string, std::string>& member_paths = {});

} // namespace lathe::refactor
