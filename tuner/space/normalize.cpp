// Conditions into conjuncts of terms: split at `and`, negations pushed inwards, kinds resolved.
#include "tuner/space/term.h"

#include <algorithm>
#include <bit>

namespace lathe::space {
namespace {

class Normalizer {
public:
  Normalizer(TermPool& pool, const Expression& condition, const std::vector<std::int32_t>& parameter_of_slot,
             const std::vector<Value>& constant_of_slot)
      : pool_(pool), condition_(condition), parameter_of_slot_(parameter_of_slot),
        constant_of_slot_(constant_of_slot) {}

  // A point meets the condition exactly when it meets every conjunct: an operand to the right of a false one
  // does not matter, and an operand that fails makes the point invalid either way.
  void split(const ExpressionNode& node, bool wanted, std::vector<TermId>& out) {
    switch (node.operation) {
    case Operation::logical_and:
    case Operation::operand_and:
    case Operation::logical_or:
    case Operation::operand_or: {
      const bool is_and =
          node.operation == Operation::logical_and || node.operation == Operation::operand_and;
      if (is_and != wanted)
        break;
      for (const ExpressionNode& child : node.children)
        split(child, wanted, out);
      return;
    }
    case Operation::logical_not:
      return split(node.children[0], !wanted, out);
    case Operation::compare:
      if (!wanted)
        break;
      for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
        needs_tree_ = false;
        const TermId term = comparison(node, i);
        if (needs_tree_)
          return out.push_back(on_tree(node, wanted));
        out.push_back(term);
      }
      return;
    default:
      break;
    }
    needs_tree_ = false;
    TermId term = truth(node);
    if (needs_tree_)
      return out.push_back(on_tree(node, wanted));
    if (!wanted)
      term = pool_.negation(term);
    out.push_back(term);
  }

private:
  TermId on_tree(const ExpressionNode& node, bool wanted) {
    Generic generic;
    generic.expression = condition_;
    generic.node = &node;
    generic.negated = !wanted;
    generic.parameter_of_slot = parameter_of_slot_;
    generic.constant_of_slot = constant_of_slot_;
    collect_parameters(node, generic.parameters);
    std::sort(generic.parameters.begin(), generic.parameters.end());
    generic.parameters.erase(std::unique(generic.parameters.begin(), generic.parameters.end()),
                             generic.parameters.end());
    if (generic.parameters.empty()) {
      const Result<Value> value =
          evaluate_tree(node, [&](std::size_t slot) -> Result<Value> { return constant_of_slot_[slot]; });
      const Result<bool> holds = value.ok() ? lathe::truth(*value) : Result<bool>(value.error());
      return holds.ok() ? pool_.constant(*holds == wanted ? 1 : 0) : pool_.fail();
    }
    for (const std::int32_t parameter : generic.parameters)
      pool_.variable(parameter); // operands come before what uses them
    return pool_.add_generic(std::move(generic));
  }

  void collect_parameters(const ExpressionNode& node, std::vector<std::int32_t>& out) const {
    if (node.operation == Operation::name && parameter_of_slot_[node.slot] >= 0)
      out.push_back(parameter_of_slot_[node.slot]);
    for (const ExpressionNode& child : node.children)
      collect_parameters(child, out);
  }

  // Gives up on the term; the conjunct is evaluated on its tree.
  TermId tree() {
    needs_tree_ = true;
    return pool_.constant(0);
  }

  Kind kind(TermId id) const { return pool_[id].kind; }
  bool fails(TermId id) const { return pool_[id].op == Op::fail; }

  TermId value_constant(const Value& value) {
    if (const auto* flag = std::get_if<bool>(&value))
      return pool_.constant(*flag ? 1 : 0);
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      return pool_.constant(*integer);
    if (const auto* real = std::get_if<double>(&value))
      return pool_.real(*real);
    const std::vector<std::string>& texts = pool_.model().texts;
    const auto found = std::lower_bound(texts.begin(), texts.end(), std::get<std::string>(value));
    return pool_.text(found - texts.begin());
  }

  TermId truth(const ExpressionNode& node) {
    switch (node.operation) {
    case Operation::logical_and:
    case Operation::operand_and:
    case Operation::logical_or:
    case Operation::operand_or: {
      const bool is_and =
          node.operation == Operation::logical_and || node.operation == Operation::operand_and;
      TermId result = truth(node.children[0]);
      for (std::size_t i = 1; i < node.children.size() && !needs_tree_; ++i)
        result = pool_.apply(is_and ? Op::logical_and : Op::logical_or, result, truth(node.children[i]));
      return result;
    }
    case Operation::logical_not: {
      const TermId operand = truth(node.children[0]);
      return needs_tree_ ? operand : pool_.negation(operand);
    }
    default: {
      const TermId term = build(node);
      if (needs_tree_ || kind(term) == Kind::mixed)
        return tree();
      return kind(term) == Kind::text ? pool_.fail() : pool_.truth(term);
    }
    }
  }

  TermId build(const ExpressionNode& node) {
    if (needs_tree_)
      return pool_.constant(0);
    switch (node.operation) {
    case Operation::constant:
      return value_constant(node.value);
    case Operation::name: {
      const std::int32_t parameter = parameter_of_slot_[node.slot];
      return parameter >= 0 ? pool_.variable(parameter) : value_constant(constant_of_slot_[node.slot]);
    }
    case Operation::logical_not:
    case Operation::logical_and:
    case Operation::logical_or:
      return truth(node);
    case Operation::operand_and:
    case Operation::operand_or:
      return operand_choice(node);
    case Operation::compare: {
      TermId result = comparison(node, 0);
      for (std::size_t i = 1; i < node.comparisons.size() && !needs_tree_; ++i)
        result = pool_.apply(Op::logical_and, result, comparison(node, i));
      return result;
    }
    case Operation::choose: {
      const TermId condition = truth(node.children[0]);
      return choice(condition, build(node.children[1]), build(node.children[2]));
    }
    case Operation::call:
      return call(node);
    case Operation::negate: {
      const TermId operand = build(node.children[0]);
      // Real: -x is 0 - x but for the sign of zero, which nothing shows.
      return arithmetic(Operation::subtract, pool_.constant(0), operand);
    }
    case Operation::bit_not: {
      const TermId operand = build(node.children[0]);
      if (kind(operand) == Kind::mixed)
        return tree();
      return kind(operand) == Kind::integer ? pool_.apply(Op::bit_not, operand) : pool_.fail();
    }
    case Operation::list:
      return tree();
    default: {
      const TermId left = build(node.children[0]);
      return arithmetic(node.operation, left, build(node.children[1]));
    }
    }
  }

  TermId choice(TermId condition, TermId if_true, TermId if_false) {
    if (needs_tree_)
      return pool_.constant(0);
    const bool same_kind = kind(if_true) == kind(if_false) && kind(if_true) != Kind::mixed;
    return same_kind || pool_.is_constant(condition) ? pool_.apply(Op::choose, condition, if_true, if_false)
                                                     : tree();
  }

  // Python's `a or b`: the value of the operand that decides.
  TermId operand_choice(const ExpressionNode& node) {
    const bool is_and = node.operation == Operation::operand_and;
    TermId result = build(node.children.back());
    for (std::size_t i = node.children.size() - 1; i-- > 0 && !needs_tree_;) {
      const TermId operand = build(node.children[i]);
      if (needs_tree_ || kind(operand) == Kind::mixed || kind(operand) == Kind::text)
        return tree();
      const TermId holds = pool_.truth(operand);
      result = is_and ? choice(holds, result, operand) : choice(holds, operand, result);
    }
    return result;
  }

  // Beyond 2^53 a double does not hold every integer, and comparisons must be exact.
  TermId to_real(TermId id) {
    const Term& term = pool_[id];
    if (term.kind == Kind::real)
      return id;
    constexpr std::int64_t exact = std::int64_t{1} << 53;
    if (term.low < -exact || term.high > exact)
      return tree();
    return pool_.apply(Op::to_real, id);
  }

  TermId arithmetic(Operation operation, TermId left, TermId right) {
    if (needs_tree_ || kind(left) == Kind::mixed || kind(right) == Kind::mixed)
      return tree();
    if (kind(left) == Kind::text || kind(right) == Kind::text)
      return pool_.fail();
    bool real = kind(left) == Kind::real || kind(right) == Kind::real;
    if (operation == Operation::divide_real) {
      real = true;
      operation = Operation::divide_truncate;
    }
    if (operation == Operation::power && !real && pool_[right].low < 0)
      return tree(); // an integer or a real, depending on the exponent
    const Op op = op_of(operation);
    if (!real)
      return pool_.apply(op, left, right);
    if (op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor || op == Op::shift_left ||
        op == Op::shift_right)
      return pool_.fail();
    left = to_real(left);
    right = to_real(right);
    return needs_tree_ ? left : pool_.apply(op, left, right);
  }

  static Op op_of(Operation operation) {
    switch (operation) {
    case Operation::add:
      return Op::add;
    case Operation::subtract:
      return Op::subtract;
    case Operation::multiply:
      return Op::multiply;
    case Operation::divide_truncate:
      return Op::divide;
    case Operation::divide_floor:
      return Op::divide_floor;
    case Operation::modulo_truncate:
      return Op::modulo;
    case Operation::modulo_floor:
      return Op::modulo_floor;
    case Operation::power:
      return Op::power;
    case Operation::bit_and:
      return Op::bit_and;
    case Operation::bit_or:
      return Op::bit_or;
    case Operation::bit_xor:
      return Op::bit_xor;
    case Operation::shift_left:
      return Op::shift_left;
    default:
      return Op::shift_right;
    }
  }

  TermId comparison(const ExpressionNode& node, std::size_t i) {
    const TermId left = build(node.children[i]);
    const ComparisonOperator comparison = node.comparisons[i];
    if (comparison != ComparisonOperator::in && comparison != ComparisonOperator::not_in)
      return compare(comparison, left, build(node.children[i + 1]));
    TermId found = pool_.constant(0);
    for (const ExpressionNode& element : node.children[i + 1].children) {
      const TermId same = compare(ComparisonOperator::equal, left, build(element));
      if (needs_tree_)
        return same;
      found = pool_.apply(Op::logical_or, found, same);
    }
    if (pool_[left].may_fail && node.children[i + 1].children.empty())
      return tree();
    return comparison == ComparisonOperator::in ? found : pool_.negation(found);
  }

  TermId compare(ComparisonOperator comparison, TermId left, TermId right) {
    if (needs_tree_ || kind(left) == Kind::mixed || kind(right) == Kind::mixed)
      return tree();
    if (fails(left) || fails(right))
      return pool_.fail();
    const bool equality =
        comparison == ComparisonOperator::equal || comparison == ComparisonOperator::not_equal;
    if ((kind(left) == Kind::text) != (kind(right) == Kind::text)) {
      if (!equality)
        return pool_.fail();
      if (pool_[left].may_fail || pool_[right].may_fail)
        return tree();
      return pool_.constant(comparison == ComparisonOperator::not_equal ? 1 : 0);
    }
    if (kind(left) == Kind::real || kind(right) == Kind::real) {
      left = to_real(left);
      right = to_real(right);
      if (needs_tree_)
        return left;
    }
    switch (comparison) {
    case ComparisonOperator::less:
      return pool_.apply(Op::less, left, right);
    case ComparisonOperator::less_equal:
      return pool_.apply(Op::less_equal, left, right);
    case ComparisonOperator::greater:
      return pool_.apply(Op::less, right, left);
    case ComparisonOperator::greater_equal:
      return pool_.apply(Op::less_equal, right, left);
    case ComparisonOperator::equal:
      return pool_.apply(Op::equal, left, right);
    default:
      return pool_.apply(Op::not_equal, left, right);
    }
  }

  TermId call(const ExpressionNode& node) {
    if (!is_basic(node.function))
      return tree();
    std::vector<TermId> arguments;
    bool real = false;
    for (const ExpressionNode& child : node.children) {
      const TermId argument = build(child);
      if (needs_tree_ || kind(argument) == Kind::mixed)
        return tree();
      if (kind(argument) == Kind::text || fails(argument))
        return pool_.fail();
      real = real || kind(argument) == Kind::real;
      arguments.push_back(argument);
    }
    const TermId first = arguments[0];
    const TermId second = arguments.size() > 1 ? arguments[1] : no_term;
    switch (node.function) {
    case Function::minimum:
    case Function::maximum: {
      TermId result = first;
      for (const TermId argument : arguments) {
        if (kind(argument) != kind(first))
          return tree(); // an integer or a real, depending on the values
        if (argument != first)
          result =
              pool_.apply(node.function == Function::minimum ? Op::minimum : Op::maximum, result, argument);
      }
      return result;
    }
    case Function::absolute:
      return pool_.apply(Op::absolute, first);
    case Function::to_real:
      return to_real(first);
    case Function::to_integer:
      return real ? pool_.apply(Op::truncate, first) : first;
    case Function::floor:
      return real ? pool_.apply(Op::floor, first) : first;
    case Function::ceil:
      return real ? pool_.apply(Op::ceil, first) : first;
    default:
      break;
    }
    if (real)
      return pool_.fail(); // the rest wants integers
    switch (node.function) {
    case Function::ceil_div:
      return pool_.apply(Op::ceil_div, first, second);
    case Function::gcd:
      return pool_.apply(Op::gcd, first, second);
    case Function::log2:
      return pool_.apply(Op::log2, first);
    case Function::floor_log2:
      return pool_.apply(Op::floor_log2, first);
    default:
      return pool_.apply(Op::is_pow2, first);
    }
  }

  TermPool& pool_;
  const Expression& condition_;
  const std::vector<std::int32_t>& parameter_of_slot_;
  const std::vector<Value>& constant_of_slot_;
  bool needs_tree_ = false;
};

} // namespace

std::vector<TermId> normalize(TermPool& pool, const Expression& condition,
                              const std::vector<std::int32_t>& parameter_of_slot,
                              const std::vector<Value>& constant_of_slot) {
  std::vector<TermId> conjuncts;
  Normalizer(pool, condition, parameter_of_slot, constant_of_slot).split(condition.root(), true, conjuncts);
  return conjuncts;
}

} // namespace lathe::space
