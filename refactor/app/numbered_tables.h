// Tables of pointers that were made numbers (refactor/extract/pointer_tables.h): what the numbers are in
// runs.
#pragma once

#include "refactor/app/workload_file.h"
#include "refactor/extract/pointer_tables.h"
#include "refactor/rewrite/rewrite.h"

namespace lathe::refactor {

// Before the sizes of buffers are known: the places are numbered, one to an entry, and the pitch is a number,
// so that it is no size of its own. What is given stays.
void number_places(const std::vector<PointerTable>& tables, WorkloadFacts& facts);

// Once runs with all entries at the same place have shown how far the kernel reaches from there: that is a
// piece, the pitch its bytes, and the buffer of all entries as many pieces as there are places. Does nothing
// where the pitch or the buffer's size was given. `before`: the arguments as they were before these runs.
Status lay_out_tables(const std::vector<PointerTable>& tables, const std::vector<Argument>& before,
                      Candidate& raw, std::vector<std::string>& notes);

} // namespace lathe::refactor
