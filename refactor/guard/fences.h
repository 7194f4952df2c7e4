// Where a kernel's memory fences stand: what they publish, and what they publish it before.
#pragma once

#include <set>
#include <string>

namespace clang {
class FunctionDecl;
} // namespace clang

namespace lathe::refactor {

struct FencePlaces {
  int count = 0;                // as written, in functions that are called once for each call
  std::set<std::string> places; // "between a store and an atomic operation"
};

// Of a function and the functions that it calls, in the order of the text; methods are not followed. Stores
// are those through pointers; what is done to local and shared arrays is not seen.
FencePlaces fences_of(const clang::FunctionDecl* function);

} // namespace lathe::refactor
