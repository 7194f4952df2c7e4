// Whether values of two kernels are the same functions of what they are computed from.
#include "refactor/guard/pure_evaluation.h"

#include <llvm/IR/InstrTypes.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

namespace lathe::refactor {
namespace {

constexpr int MOST_LEAVES = 3;
constexpr int MOST_DEPTH = 6;         // operations between a value and what it is a function of
constexpr std::size_t FEW = 512;      // arguments by which functions are found
constexpr std::size_t MANY = 1 << 20; // by which they are then compared, beside corner cases

Kind kind_of(const PureNode& node) {
  return {node.is_real, node.bits};
}

// Numbers at which functions of a kind of number are told apart best.
std::vector<Bits> corner_cases(Kind kind) {
  std::vector<Bits> cases;
  const auto add_real = [&](double value) {
    cases.push_back(kind.bits == 32 ? bits_of(static_cast<float>(value)) : bits_of(value));
  };
  if (kind.is_real) {
    const int fraction = kind.bits == 32 ? 23 : 52, exponents = kind.bits == 32 ? 256 : 2048;
    for (const double sign : {1.0, -1.0}) {
      for (int halves = 0; halves < 80; ++halves)
        add_real(sign * halves / 2);
      for (const int power : {7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64})
        for (const double beside : {-1.0, -0.5, 0.0, 0.5, 1.0})
          add_real(sign * (std::ldexp(1.0, power) + beside));
    }
    const Bits sign = Bits{1} << (kind.bits - 1), last = (Bits{1} << fraction) - 1;
    for (int exponent = 0; exponent < exponents;
         exponent += exponent < 2 || exponent > exponents - 3 ? 1 : exponents / 128)
      for (const Bits part : {Bits{0}, Bits{1}, last / 2, last / 2 + 1, last})
        for (const Bits with : {Bits{0}, sign})
          cases.push_back(with | static_cast<Bits>(exponent) << fraction | part);
    return cases;
  }
  if (kind.bits == 32 || kind.bits == 64) // a real number's bits, maybe
    for (const Bits special : {kind.bits == 32 ? Bits{0x7f800000} : Bits{0x7ff0000000000000}})
      for (const Bits sign : {Bits{0}, Bits{1} << (kind.bits - 1)})
        for (const int beside : {-1, 0, 1})
          cases.push_back(sign | (special + static_cast<Bits>(beside)));
  for (Bits small = 0; small < 260; ++small)
    cases.push_back(small & mask_of(kind.bits));
  for (int power = 0; power < kind.bits; ++power)
    for (const int beside : {-2, -1, 0, 1, 2}) {
      const Bits value = (Bits{1} << power) + static_cast<Bits>(beside);
      cases.push_back(value & mask_of(kind.bits));
      cases.push_back((Bits{0} - value) & mask_of(kind.bits));
    }
  return cases;
}

Bits mixed(Bits value) { // S. Vigna's splitmix64
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

// The arguments at which functions of these kinds of numbers are compared: `count` of them, or as many corner
// cases as one number has.
class Arguments {
public:
  Arguments(const std::vector<Kind>& kinds, const std::vector<Bits>& own) : kinds_(kinds) {
    for (const Kind kind : kinds) {
      cases_.push_back(corner_cases(kind));
      for (const Bits value : own)
        cases_.back().push_back(value & mask_of(kind.bits));
    }
  }
  std::size_t corners() const {
    std::size_t most = 0;
    for (const auto& cases : cases_)
      most = std::max(most, cases.size());
    return most;
  }
  std::vector<Bits> at(std::size_t i) const {
    std::vector<Bits> arguments(kinds_.size());
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const auto& cases = cases_[k];
      const Bits drawn = mixed(i * MOST_LEAVES + k);
      if (kinds_.size() == 1 && i < cases.size())
        arguments[k] = cases[i];
      else if (kinds_.size() > 1 && mixed(drawn) % 4 != 0)
        arguments[k] = cases[drawn % cases.size()];
      else // spread over all of the type's numbers
        arguments[k] =
            kinds_[k].bits <= 32 ? (i * 0x9e3779b1u + drawn % 4096) & mask_of(kinds_[k].bits) : drawn;
    }
    return arguments;
  }

private:
  std::vector<Kind> kinds_;
  std::vector<std::vector<Bits>> cases_;
};

// Which operations count: with a number that only becomes wider as one of them, or as none. `i + 2 < n` has n
// one operation away, `n - i > 2` two, and i one and two: neither is the other's at any one depth unless
// where n becomes wider does not count.
enum class Widening : std::uint8_t { counts, is_free };

// The value as a function of what lies `depth` operations in front of it; empty where that is more than
// MOST_LEAVES numbers.
Expression expression_of(const PureValues& values, int root, int depth, Widening widening,
                         std::vector<int>& inside) {
  std::map<int, int> distance{{root, 0}};
  inside = {root};
  std::vector<int> leaves;
  Expression expression;
  const auto node = [&](int number) -> const PureNode& {
    return values.nodes[static_cast<std::size_t>(number)];
  };
  for (std::size_t at = 0; at < inside.size(); ++at)
    for (const int from : node(inside[at]).from)
      if (from >= 0 && !distance.contains(from)) {
        const bool widens = node(from).op == PureOp::sext || node(from).op == PureOp::zext;
        const int away = distance[from] =
            distance[inside[at]] + (widens && widening == Widening::is_free ? 0 : 1);
        if (node(from).op == PureOp::constant || (node(from).op != PureOp::leaf && away < depth))
          inside.push_back(from);
        else
          leaves.push_back(from);
      }
  if (leaves.empty() || leaves.size() > MOST_LEAVES)
    return expression;
  std::map<int, int> place;
  for (const int leaf : leaves) {
    if (node(leaf).bits == 0)
      return expression;
    place[leaf] = -1 - static_cast<int>(expression.arguments.size());
    expression.arguments.push_back(kind_of(node(leaf)));
  }
  // What a value is made of comes first.
  std::set<int> open;
  const auto emit = [&](auto&& self, int number) -> bool {
    if (place.contains(number))
      return true;
    if (!open.insert(number).second)
      return false; // around a loop
    Expression::Step step{node(number), {}};
    for (std::size_t k = 0; k < step.node.from.size(); ++k)
      if (const int from = step.node.from[k]; from >= 0) {
        if (!self(self, from))
          return false;
        step.node.from[k] = place[from];
        step.kinds[k] = kind_of(node(from));
      }
    place[number] = static_cast<int>(expression.steps.size());
    expression.steps.push_back(step);
    return true;
  };
  if (!emit(emit, root))
    return {};
  expression.result = kind_of(node(root));
  return expression;
}

bool has_no_sign(const PureNode& node) {
  return node.op == PureOp::icmp &&
         llvm::CmpInst::isUnsigned(static_cast<llvm::CmpInst::Predicate>(node.detail));
}

bool asks_without_sign(const Expression& expression) {
  return std::ranges::any_of(expression.steps, has_no_sign, &Expression::Step::node);
}

// Whether what looks like places and sizes is compared, of which some are sums: `n - i > 2` and `i + 2 < n`
// are one question, which the optimiser asks without a sign where it knows that nothing is below zero.
bool compares_places(const Expression& expression) {
  for (const Kind& argument : expression.arguments)
    if (argument.is_real || argument.bits < 32) // a byte's upper half is no number below zero
      return false;
  const auto is_constant = [&](int from) {
    return from >= 0 && expression.steps[static_cast<std::size_t>(from)].node.op == PureOp::constant;
  };
  bool has_sum = false;
  for (const auto& step : expression.steps) {
    switch (step.node.op) {
    case PureOp::add:
    case PureOp::sub:
      if (step.node.detail != NEVER_WRAPS)
        return false;
      has_sum = true;
      break;
    case PureOp::icmp: // a range from zero to a constant may be asked for so, and means what is below zero
      if (has_no_sign(step.node) && std::ranges::any_of(step.node.from, is_constant))
        return false;
      break;
    case PureOp::constant:
    case PureOp::sext:
    case PureOp::zext:
      break;
    case PureOp::bit_xor: // asked the other way round
      if (step.node.bits != 1)
        return false;
      break;
    default:
      return false;
    }
  }
  return has_sum && expression.result == Kind{false, 1};
}

void make_places(std::vector<Bits>& arguments, const std::vector<Kind>& kinds) {
  for (std::size_t k = 0; k < arguments.size(); ++k)
    arguments[k] &= mask_of(kinds[k].bits - 1);
}

Bits mark_of(const Expression& expression, const std::vector<std::size_t>& order,
             const Arguments& arguments) {
  Evaluation evaluation(expression);
  Bits mark = expression.result.is_real ? 1 : 0;
  const bool are_places = compares_places(expression);
  for (std::size_t i = 0; i < FEW; ++i) {
    const auto drawn = arguments.at(arguments.corners() / FEW * i + i % 7);
    std::vector<Bits> given(drawn.size());
    for (std::size_t k = 0; k < order.size(); ++k)
      given[order[k]] = drawn[k];
    if (are_places)
      make_places(given, expression.arguments);
    mark = mixed(mark ^ evaluation.of(given));
  }
  return mark;
}

std::vector<Bits> constants_of(const Expression& expression) {
  std::vector<Bits> numbers;
  for (const auto& step : expression.steps)
    if (step.node.op == PureOp::constant)
      for (const int beside : {-1, 0, 1})
        numbers.push_back(step.node.constant + static_cast<Bits>(beside));
  return numbers;
}

class KnownFunctions {
public:
  explicit KnownFunctions(const PureValues& values) {
    std::vector<int> inside;
    for (std::size_t root = 0; root < values.nodes.size(); ++root) {
      const PureOp op = values.nodes[root].op;
      if (op == PureOp::leaf || op == PureOp::constant)
        continue;
      for (const Widening widening : {Widening::counts, Widening::is_free}) {
        std::size_t steps = 0;
        for (int depth = 1; depth <= MOST_DEPTH; ++depth) {
          Expression expression = expression_of(values, static_cast<int>(root), depth, widening, inside);
          if (expression.steps.size() <= steps)
            continue; // nothing lies deeper, or too much
          steps = expression.steps.size();
          if (widening == Widening::counts || compares_places(expression))
            keep_with_others(expression);
        }
      }
    }
  }

  bool has(const Expression& wanted) {
    const Arguments& arguments = arguments_of(wanted.arguments);
    std::vector<std::size_t> order(wanted.arguments.size());
    std::iota(order.begin(), order.end(), 0);
    const Bits mark = mark_of(wanted, order, arguments);
    const auto [begin, end] = by_mark_.equal_range(mark);
    return std::any_of(begin, end, [&](const auto& found) {
      const auto& [expression, known_order] = found.second;
      return agree(wanted, expressions_[expression], known_order);
    });
  }

private:
  // With what is asked of it the other way round, and as a function of the bits of its real numbers: the
  // optimiser loads as an integer what is looked at as one.
  void keep_with_others(const Expression& expression) {
    std::vector<Expression> others{expression};
    if (expression.result == Kind{false, 1})
      others.push_back(negated(expression));
    for (std::size_t i = 0, end = others.size(); i < end; ++i)
      if (std::ranges::any_of(expression.arguments, &Kind::is_real)) {
        Expression of_bits = others[i];
        for (Kind& argument : of_bits.arguments)
          argument.is_real = false;
        others.push_back(std::move(of_bits));
      }
    for (Expression& other : others)
      keep(std::move(other));
  }

  static Expression negated(Expression expression) {
    const Kind truth{false, 1};
    const int value = static_cast<int>(expression.steps.size()) - 1;
    Expression::Step one{}, other{};
    one.node.op = PureOp::constant;
    one.node.bits = 1;
    one.node.constant = 1;
    other.node.op = PureOp::bit_xor;
    other.node.bits = 1;
    other.node.from = {value, value + 1, -1};
    other.kinds = {truth, truth, Kind{}};
    expression.steps.push_back(one);
    expression.steps.push_back(other);
    return expression;
  }

  void keep(Expression expression) {
    const std::size_t number = expressions_.size();
    std::vector<std::size_t> order(expression.arguments.size());
    std::iota(order.begin(), order.end(), 0);
    do { // the other's arguments may come in another order
      std::vector<Kind> kinds;
      for (const std::size_t k : order)
        kinds.push_back(expression.arguments[k]);
      by_mark_.emplace(mark_of(expression, order, arguments_of(kinds)), std::pair(number, order));
    } while (std::next_permutation(order.begin(), order.end()));
    expressions_.push_back(std::move(expression));
  }

  const Arguments& arguments_of(const std::vector<Kind>& kinds) {
    return arguments_.try_emplace(kinds, kinds, std::vector<Bits>{}).first->second;
  }

  static bool agree(const Expression& wanted, const Expression& known,
                    const std::vector<std::size_t>& order) {
    if (known.result != wanted.result || known.arguments.size() != wanted.arguments.size())
      return false;
    for (std::size_t k = 0; k < order.size(); ++k)
      if (known.arguments[order[k]] != wanted.arguments[k])
        return false;
    std::vector<Bits> own = constants_of(wanted);
    for (const Bits constant : constants_of(known))
      own.push_back(constant);
    const Arguments arguments(wanted.arguments, own);
    Evaluation one(wanted), other(known);
    const bool are_places = compares_places(wanted) && compares_places(known) &&
                            asks_without_sign(wanted) != asks_without_sign(known);
    for (std::size_t i = 0; i < arguments.corners() + MANY; ++i) {
      auto drawn = arguments.at(i);
      if (are_places)
        make_places(drawn, wanted.arguments);
      std::vector<Bits> given(drawn.size());
      for (std::size_t k = 0; k < order.size(); ++k)
        given[order[k]] = drawn[k];
      if (one.of(drawn) != other.of(given))
        return false;
    }
    return true;
  }

  std::vector<Expression> expressions_;
  std::unordered_multimap<Bits, std::pair<std::size_t, std::vector<std::size_t>>> by_mark_;
  std::map<std::vector<Kind>, Arguments> arguments_;
};

class Search {
public:
  Search(const PureValues& values, const PureValues& known) : values_(values), known_(known) {}

  // Whether what the node does shows only in values that are known functions.
  bool is_served(int node, int value, int away) {
    std::vector<int> inside;
    for (const Widening widening : {Widening::counts, Widening::is_free})
      for (int depth = away + 1; depth <= MOST_DEPTH; ++depth) {
        const Expression expression = expression_of(values_, value, depth, widening, inside);
        if (!expression.steps.empty() && std::ranges::find(inside, node) != inside.end() &&
            (widening == Widening::counts || compares_places(expression)) && known_.has(expression))
          return true;
      }
    const auto& users = values_.users[static_cast<std::size_t>(value)];
    return away + 1 < MOST_DEPTH && !users.empty() &&
           std::ranges::all_of(users, [&](int user) { return user >= 0 && is_served(node, user, away + 1); });
  }

private:
  const PureValues& values_;
  KnownFunctions known_;
};

} // namespace

bool serves_known_functions(const PureValues& values, const PureQuestion& is_asked_for,
                            const PureValues& known) {
  std::vector<int> asked;
  for (std::size_t i = 0; i < values.nodes.size(); ++i)
    if (is_asked_for(values, values.nodes[i]))
      asked.push_back(static_cast<int>(i));
  if (asked.empty())
    return false;
  Search search(values, known);
  return std::ranges::all_of(asked, [&](int node) { return search.is_served(node, node, 0); });
}

} // namespace lathe::refactor
