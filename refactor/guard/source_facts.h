// Facts about a kernel instance that only its source shows, read from clang's AST after instantiation.
#pragma once

#include "refactor/frontend/frontend.h"
#include "refactor/guard/fences.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace clang {
class FunctionDecl;
} // namespace clang

namespace lathe::refactor {

struct SourceFacts {
  std::string mangled;                           // the instance's name in device code
  const clang::FunctionDecl* function = nullptr; // owned by the ParsedSource
  std::map<std::string, int>
      library_calls; // functions of system headers and builtins, called by name: occurrences
  std::map<std::string, int> assembly; // inline assembly written in the file itself
  std::set<std::string> globals;       // variables outside functions that it uses and that are not constants
  std::set<std::string> constants;     // variables outside functions that are
  bool recursive = false;
  // Narrowest arithmetic type of the local variables of one name in one function: ("k", "sum") -> {'f', 32};
  // 'i' for integers, where none of them is a real number. Without the counters of loops with few steps, and
  // with them.
  using Widths = std::map<std::pair<std::string, std::string>, std::pair<char, int>>;
  Widths variables, with_counters;
  int real_products = 0;                    // "a * b" of real numbers, where the file itself has them
  std::map<std::string, int> real_literals; // by value as text, absolute value: occurrences
  // Of these the operands of sums, differences and products; and the integers that are.
  std::map<std::string, int> real_operands;
  std::set<double> integer_operands;
  // Integers, other than 0 and 1, that a run-time value is compared with: "== 4096"; that it is held below or
  // above: "min 4096"; and by whose power of two it is divided where only zero or not is asked: ">> 16".
  std::set<std::string> compared_integers;
  // Whole numbers, other than 0 and 1, that a run-time value is equal to or not, named constants too.
  std::set<std::int64_t> equalled_integers;
  // Of `variables`, those that something is added to, or taken from, again and again: "sum += x".
  std::set<std::pair<std::string, std::string>> accumulators;
  // Counters of loops that end at integers which are no wider than they are.
  std::set<std::pair<std::string, std::string>> bounded_counters;
  FencePlaces fences;
  // Vectors through rows of a shared array whose length is no multiple of the vector's alignment.
  std::set<std::string> vectors_across_rows;
  std::set<std::string> narrowing_casts; // explicit: "long -> int"
  // The same of integer sums, differences and products that become 16 bits or fewer, written or not.
  std::set<std::string> narrowed_arithmetic;
  std::optional<std::pair<int, int>> launch_bounds; // threads, blocks per multiprocessor (0: not given)
};

// `instances` (C++ name expressions) to be appended to the file's text so that clang instantiates them.
std::string with_instances(const std::string& text, const std::vector<std::string>& instances);

// The facts of one instance of a file that was parsed with it appended, as number `index` of the list.
Result<SourceFacts> source_facts(ParsedSource& source, std::size_t index);

} // namespace lathe::refactor
