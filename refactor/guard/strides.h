// Problems whose strides and divisors are not what the specification's problems make them: a row's pitch that
// equals its width everywhere hides which of the two a template used, and a page that always has 16 slots
// hides a template that knows no other.
#pragma once

#include "refactor/guard/subject.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace lathe::refactor {

struct Strides {
  // That do nothing but scale addresses, at every instance, and are no counts: a dimension by which the raw
  // kernel's grid goes need not be asked for there, and must be where blocks do several of what it counts.
  std::set<int> parameters;
  std::set<int> odd;                        // of these, those that are odd at some size: see odd_strides()
  std::set<int> divisors;                   // that also divide, and do nothing else
  std::map<int, std::set<int>> of_pointers; // pointer parameter: those that its addresses are computed from
};
Strides strides_of(const ParsedSide& raw, const TuningSpec& spec);

// The workload with every such parameter another multiple of its value, so that whatever divides it still
// does, and its buffers as much larger; outer strides, which are larger, grow more than inner ones, so that
// rows do not come to lie over each other. A stride of 1 stays: that elements are neighbours is no accident.
// Null where nothing would change.
// `odd`: those that may be odd are, and null where none may.
std::shared_ptr<const Workload> with_strides_apart(const std::shared_ptr<const Workload>& workload,
                                                   const Strides& strides, bool odd = false);
// Which strides are odd at the workload: what serves that may not take alignment for granted.
std::set<int> odd_strides(const Workload& workload, const Strides& strides);

// The workload's problem with longer strides, where they are dimensions of their own, so that rows do not
// come to lie over each other: all as long as another size, for each of these, and, where there are several,
// outer ones (longer at the specification's problems, or named first) as often longer as there may be rows.
std::vector<Problem> with_long_strides(const Workload& workload, const Strides& strides);

// The workload with every stride 0 that serves inputs alone, as `expand` makes of a row that stands for many:
// what rows hold is still theirs, and how far apart they lie says nothing of their width. Null where no input
// has such a stride.
std::shared_ptr<const Workload> with_rows_repeated(const std::shared_ptr<const Workload>& workload,
                                                   const Strides& strides);

// The workload with every divisor that is the same for all problems three times as large, and its strides and
// buffers too: pages of more places lie further from each other. Null where there is none.
std::shared_ptr<const Workload> with_other_divisors(const std::shared_ptr<const Workload>& workload,
                                                    const Strides& strides);

} // namespace lathe::refactor
