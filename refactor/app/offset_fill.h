// Offsets among a kernel's inputs (refactor/knobs/offset_buffers.h) get a fill that makes them such.
#pragma once

#include "refactor/app/workload_file.h"
#include "refactor/rewrite/rewrite.h"

namespace lathe::refactor {

// How many elements a range has on average where no buffer's size says it: about a warp's in the longest of a
// few, so that tails and further rounds are seen, and little beside a kernel's other work.
inline constexpr std::int64_t ELEMENTS_PER_RANGE = 16;

// Gives integer inputs that say where ranges begin Fill::Kind::offsets, unless `given` has a fill for them;
// their names. How far they rise follows from the counts of the buffers that the ranges are of, as far as
// those are known; otherwise integer_high is left 0, for bound_offsets. None where the text cannot be read.
std::vector<std::string> mark_offsets(Candidate& raw, const std::map<std::string, ArgumentFacts>& given,
                                      const ParseOptions& options);

// Integer inputs that may hold offsets, whatever the text says: their names.
std::vector<std::string> possible_offsets(const Candidate& raw,
                                          const std::map<std::string, ArgumentFacts>& given);

// Gives these Fill::Kind::offsets, without a bound.
void mark_as_offsets(Candidate& raw, const std::vector<std::string>& names);

// Where so many offsets of that dtype end of which nothing else is known.
Result<Expression> usual_end(const std::string& count, const std::string& dtype);

// Whether the argument's fill is offsets, and whether it is not known how far they rise.
bool holds_offsets(const Argument& argument);
bool is_unbounded(const Argument& offsets);

// Lets those of the marked offsets rise by ELEMENTS_PER_RANGE a range of which nothing else is known, and
// says in `notes` what is filled so. Counts and directions are known by then.
Status bound_offsets(Candidate& raw, const std::vector<std::string>& marked, std::vector<std::string>& notes);

} // namespace lathe::refactor
