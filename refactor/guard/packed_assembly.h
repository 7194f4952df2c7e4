// What inline assembly computes, so that arithmetic on one number of a small format and the same on two at
// once (`fma.rn.f16`, `fma.rn.f16x2`) are told to be the same.
#pragma once

#include <string>
#include <string_view>

namespace lathe::refactor {

// The operations of an assembly text, each once, with the numbers that it writes, without its registers and
// how many of a small format each takes: an operation on a pair is the one on either half, rounded alike (PTX
// ISA, "Half Precision Floating Point Instructions"). A number for a pair of equal halves is the half's.
// Empty where nothing but moves is left.
std::string operations_of(std::string_view assembly);

// Whether operations_of() some assembly are such on an integer's bits alone (PTX ISA, "Integer Arithmetic
// Instructions", "Logic and Shift Instructions"): where its highest bit is, as __ffs() asks, a shift of two
// words as one, bits taken out or put in. Nothing is rounded there.
bool work_on_bits_alone(const std::string& operations);

} // namespace lathe::refactor
