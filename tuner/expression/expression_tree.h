// The syntax tree of an expression, for parts that compile it further (tuner/space).
#pragma once

#include "tuner/expression/expression.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace lathe {

// The parser resolves the dialect: a tree means the same wherever it is evaluated.
enum class Operation {
  constant,        // value
  name,            // slot
  list,            // children are its elements; only on the right of `in`
  logical_not,     // bool
  logical_and,     // n-ary, short-circuit, bool
  logical_or,      // n-ary, short-circuit, bool
  operand_and,     // Python's: the first false operand, or the last
  operand_or,      // Python's: the first true operand, or the last
  compare,         // n + 1 children and n comparisons: every neighbouring pair must hold; short-circuit
  choose,          // condition, value if true, value if false
  call,            // function over the children
  negate,          // arithmetic: one child
  bit_not,         //
  add,             // arithmetic: two children from here on
  subtract,        //
  multiply,        //
  divide_truncate, // integers towards zero; real when an operand is
  divide_real,     //
  divide_floor,    //
  modulo_truncate, // sign of the dividend
  modulo_floor,    // sign of the divisor
  power,           //
  bit_and,         //
  bit_or,          //
  bit_xor,         //
  shift_left,      //
  shift_right,     //
};

enum class ComparisonOperator { less, less_equal, greater, greater_equal, equal, not_equal, in, not_in };

enum class Function {
  minimum,
  maximum,
  absolute,
  ceil_div,
  gcd,
  log2,       // of powers of two alone
  floor_log2, // of any integer above zero
  is_pow2,
  to_integer,
  to_real,
  floor,
  ceil,
  // Python's, real but for the last three; not what the solver of spaces or C++ output knows.
  square_root,
  logarithm,
  log2_real,
  log10,
  exponential,
  round, // half to even
  lcm,
  integer_root
};

// Whether tuner/space has an operator of its own for the function.
constexpr bool is_basic(Function function) {
  return function < Function::square_root;
}

struct ExpressionNode {
  Operation operation = Operation::constant;
  Function function = Function::minimum;       // call
  std::size_t slot = 0;                        // name: index into Expression::names()
  std::size_t height = 1;                      // bounded by the parser, so that recursion over a tree is safe
  Value value;                                 // constant
  std::vector<ComparisonOperator> comparisons; // compare
  std::vector<ExpressionNode> children;
};

// The value of a name node; an Error ends the evaluation.
using SlotLookup = std::function<Result<Value>(std::size_t slot)>;

// Evaluates a tree. Errors carry the reason in `why` and leave `what` empty for the caller.
Result<Value> evaluate_tree(const ExpressionNode& node, const SlotLookup& lookup);

// Number: non-zero is true. A string has no truth: an error.
Result<bool> truth(const Value& value);

} // namespace lathe
