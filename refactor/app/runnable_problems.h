// Problem sizes that the raw kernel supports.
#pragma once

#include "refactor/app/raw_candidate.h"

#include <set>
#include <string>
#include <vector>

namespace lathe::refactor {

// Where the raw kernel runs clean at none of the problems because it reaches behind buffers whose sizes were
// read off traced runs of smaller ones: these become two, four or more times as large, until it does at one.
// Where it runs at one and reaches a little behind a buffer at another, that becomes twice as large.
// `given`: buffers whose sizes somebody gave. And real numbers become numbers from 0 to 1 in an input, or in
// all of them, where it runs at more of the problems so: they are places in other buffers. Changes nothing
// where neither helps; `notes` says what became of what.
void make_room(Candidate& raw, const std::set<std::string>& given, const std::string& architecture,
               const std::vector<Problem>& problems, std::vector<std::string>& notes);

// Says in `notes` at which of the problems, which somebody gave, the raw kernel reaches out of its buffers,
// or its grid is none.
void tell_unrunnable(const Candidate& raw, const std::string& architecture,
                     const std::vector<Problem>& problems, std::vector<std::string>& notes);

// Of guessed problems only those at which the raw kernel's first and last blocks, and some between, run clean
// on the host executor: sizes that do not go together (fewer channels than groups) read out of bounds or
// divide by zero. Where there is none, the first of them with its sizes made smaller until there is. Says in
// `notes` what was changed; leaves the problems alone where nothing can be told.
void keep_runnable(const Candidate& raw, const std::string& architecture, std::vector<Problem>& problems,
                   std::vector<std::string>& notes);

// Of element types that nobody gave only those with which the raw kernel runs clean at one of the problems,
// as above: vectors that are aligned for the types that a program has need not be for others. Leaves them
// alone where it runs with none. `given`: type parameters that somebody gave.
void keep_runnable_types(Candidate& raw, const std::set<std::string>& given, const std::string& architecture,
                         const std::vector<Problem>& problems, std::vector<std::string>& notes);

} // namespace lathe::refactor
