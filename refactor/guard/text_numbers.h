// Numbers that stand in a kernel's text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::refactor {

// Integers in the template's text that the raw kernel's has not, 2 to 2^15.
std::vector<std::int64_t> own_numbers(const std::string& template_text, const std::string& raw_text);

// Sizes at which a template with such numbers may do something else: these, and where one may count halvings
// or bits the first size that so many do not serve (2049 of 11). Ascending.
std::vector<std::int64_t> telling_sizes(const std::vector<std::int64_t>& own_numbers);

// Numbers of the raw kernel's text at which it may decide (a limit, the largest code), real ones first: such
// as have few binary digits, so that few of them add up to the same in any order. A few; ascending within
// real ones and integers.
std::vector<double> deciding_numbers(const std::string& raw_text);

// Integers of the raw kernel's text from 3 to 2^31, by which it may divide; a few, the largest. None where
// all are so small that random numbers come to each multiple of theirs.
std::vector<std::int64_t> dividing_numbers(const std::string& raw_text);

} // namespace lathe::refactor
