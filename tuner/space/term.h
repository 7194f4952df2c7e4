// Conditions as a shared graph of terms over the parameters, with what is known of each term's range.
#pragma once

#include "tuner/expression/expression_tree.h"
#include "tuner/space/space.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace lathe::space {

// 64 bits hold every kind: an integer (bools are 0 and 1), a double's bits, or a rank in the sorted list of
// all strings. `mixed` is a parameter whose values differ in kind: the index of the value.
enum class Kind : std::uint8_t { integer, real, text, mixed };

enum class Op : std::uint8_t {
  constant,
  fail, // evaluates to nothing: the point is invalid
  variable,
  add,
  subtract,
  multiply,
  divide,       // truncates integers
  divide_floor, //
  modulo,       // sign of the dividend
  modulo_floor, // sign of the divisor
  power,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  bit_not,
  logical_and, // of 0 and 1, from left to right: what is right of the decision may fail
  logical_or,
  less,
  less_equal,
  equal,
  not_equal,
  choose,
  minimum,
  maximum,
  absolute,
  ceil_div,
  gcd,
  log2,
  floor_log2,
  is_pow2,
  to_real,
  truncate, // real to integer
  floor,
  ceil,
  generic, // a whole condition that the other operators cannot express; evaluated on its syntax tree
};

using TermId = std::int32_t;
constexpr TermId no_term = -1;

struct Term {
  Op op = Op::constant;
  Kind kind = Kind::integer;
  bool may_fail = false; // for some assignment it has no value
  TermId a = no_term, b = no_term, c = no_term;
  std::int64_t bits = 0; // constant: its value; variable: the parameter; generic: index into generics()
  std::int64_t low = 0, high = 0; // integer: contains every value it can take

  bool operator==(const Term&) const = default;
};

// The values that are still possible for a parameter.
struct Domain {
  Kind kind = Kind::integer;
  std::vector<std::uint16_t> indices; // into the parameter's values, ascending
  std::vector<std::int64_t> bits;     // one for each index
};

struct Generic {
  Expression expression; // keeps the tree alive
  const ExpressionNode* node = nullptr;
  bool negated = false;
  std::vector<std::int32_t> parameter_of_slot; // -1: a constant
  std::vector<Value> constant_of_slot;
  std::vector<std::int32_t> parameters; // that it mentions, each once
};

// What the pool must know of the space; outlives it.
struct Model {
  std::vector<Parameter> parameters;
  std::vector<Domain> domains;
  std::vector<std::string> texts; // sorted: ranks keep their order
};

// Operands of one evaluation: `count` lanes, or one value for all of them.
struct Lanes {
  const std::int64_t* values = nullptr;
  const std::uint8_t* failed = nullptr; // null: none
  bool varies = false;
};

// Evaluates one operator for `count` lanes. Failed lanes get the value 0; `failed` may be null when
// !term.may_fail.
void evaluate_lanes(const Term& term, const Lanes& a, const Lanes& b, const Lanes& c, std::size_t count,
                    std::int64_t* values, std::uint8_t* failed);

// Terms are unique: equal terms have equal numbers, and a term's operands have smaller numbers.
class TermPool {
public:
  explicit TermPool(const Model& model) : model_(&model) {}

  const Term& operator[](TermId id) const { return terms_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return terms_.size(); }
  const Generic& generic(const Term& term) const { return generics_[static_cast<std::size_t>(term.bits)]; }
  const Model& model() const { return *model_; }

  TermId constant(std::int64_t value);
  TermId real(double value);
  TermId text(std::int64_t rank);
  TermId fail();
  TermId variable(std::int32_t parameter);
  // Folds constants and picks the checked form from the operands' ranges. Operands are of the operator's
  // kind.
  TermId apply(Op op, TermId a, TermId b = no_term, TermId c = no_term);
  TermId negation(TermId boolean);
  TermId truth(TermId term); // 0 or 1
  TermId add_generic(Generic generic);

  bool is_constant(TermId id) const { return (*this)[id].op == Op::constant; }
  bool is_true(TermId id) const { return is_constant(id) && (*this)[id].bits != 0; }
  // False, or without a value, for every point.
  bool is_never_true(TermId id) const {
    return (*this)[id].op == Op::fail || (is_constant(id) && (*this)[id].bits == 0);
  }
  // The parameters below a term, each once, ascending.
  std::vector<std::int32_t> parameters_of(TermId id) const;
  // For generic terms: the value of one lane.
  Value value_of(std::int32_t parameter, std::int64_t bits) const;

private:
  struct Hash {
    std::size_t operator()(const Term& term) const;
  };
  TermId intern(Term term);
  TermId simplified(Op op, TermId a, TermId b, TermId c);
  void set_range(Term& term) const;

  const Model* model_;
  std::vector<Term> terms_;
  std::vector<Generic> generics_;
  std::unordered_map<Term, TermId, Hash> known_;
};

// Translates a condition into conjuncts (boolean terms) over the current domains. Every name must be a
// parameter or a constant.
std::vector<TermId> normalize(TermPool& pool, const Expression& condition,
                              const std::vector<std::int32_t>& parameter_of_slot,
                              const std::vector<Value>& constant_of_slot);

} // namespace lathe::space
