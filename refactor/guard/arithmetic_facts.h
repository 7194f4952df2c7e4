// What a kernel computes, as far as its rounding shows: sums and products whose errors are recovered, what is
// divided by a constant.
#pragma once

#include <set>
#include <string>

namespace llvm {
class Instruction;
}

namespace lathe::refactor {

struct ArithmeticFacts {
  int compensations = 0; // what recovers the error of a sum or product: (a + b) - a, fma(a, b, -(a * b))
  // Constants that numbers are multiplied by, and the reciprocals of those that they are divided by where
  // such a product is rounded otherwise than the quotient: the type and the digits.
  std::set<std::string> factors, reciprocals;
};

void note_arithmetic(const llvm::Instruction& instruction, ArithmeticFacts& facts);

} // namespace lathe::refactor
