// Macros that a repository's build defines, and without which its source leaves CUDA code out.
#pragma once

#include "refactor/frontend/frontend.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// The macros under whose conditions (`#ifdef WITH_GPU`, `#if USE_CUDA && defined(HALF)`) the parsed files
// define the kernel; of no kernel, any. Empty where it stands under none that could be met by defining some.
std::vector<std::string> macros_of_kernel(ParsedSource& source, const std::string& kernel);

// Those under whose conditions the parsed files launch the kernel.
std::vector<std::string> macros_of_launch(ParsedSource& source, const std::string& kernel);

// Those under whose conditions the parsed files include CUDA's own headers, so that its types are known.
std::vector<std::string> macros_of_cuda_headers(ParsedSource& source);

// Those under whose conditions the parsed files name what the source's errors say is unknown, and of choices
// of which one has to be made (`#if A ... #elif B ... #else #error`) the first, and what `#ifndef A #error`
// asks for where it is the architecture.
std::vector<std::string> macros_of_errors(ParsedSource& source);

// What the conditions around the `#error`s that the parse meets name (`#ifndef LEVEL #error`, `#if SINGLE +
// DOUBLE != 1 #error`, of chains all of them), but for the compiler's own and other libraries' macros.
std::vector<std::string> macros_of_demands(ParsedSource& source);

// Those without which functions of the parsed files have nothing left but a failure at their end: code that
// is left out under their conditions, and behind it, in the same function, `assert(false)`.
std::vector<std::string> macros_of_failures(ParsedSource& source);

// Whether a text fails on purpose somewhere: `assert(false)`, `assert(0)`.
bool fails_on_purpose(const std::string& text);

// The values, and of a type the macros that may stand for it, that the source's errors say are unknown.
std::vector<std::string> unknown_names(ParsedSource& source);

// MY_CUDA_ARCH, but not the compiler's own.
bool is_named_after_architecture(const std::string& macro);

} // namespace lathe::refactor
