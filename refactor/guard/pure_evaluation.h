// What a value is for given arguments, as a GPU computes it.
#pragma once

#include "refactor/guard/pure_values.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace lathe::refactor {

using Bits = std::uint64_t; // a number's, in the lower places

__extension__ typedef __int128 Wide; // NOLINT(modernize-use-using): no other way to say that it is meant

struct Kind {
  bool is_real = false;
  int bits = 0;
  auto operator<=>(const Kind&) const = default;
};

// PureNode::detail of a sum or difference that overflows, as a number with a sign, nowhere.
constexpr unsigned NEVER_WRAPS = 1;

inline Bits mask_of(int bits) {
  return bits >= 64 ? ~Bits{0} : (Bits{1} << bits) - 1;
}

template <class Real> Bits bits_of(Real value) {
  if (std::isnan(value)) // which one it is, is no device's business
    value = std::numeric_limits<Real>::quiet_NaN();
  if constexpr (sizeof(Real) == 4)
    return std::bit_cast<std::uint32_t>(value);
  else
    return std::bit_cast<Bits>(value);
}

// One value as a function of others: its operations in order, the last one's result being the value's.
struct Expression {
  struct Step {
    PureNode node; // `from` are places: below zero those of arguments, -1 the first
    std::array<Kind, 3> kinds;
  };
  std::vector<Step> steps;
  std::vector<Kind> arguments;
  Kind result;
};

class Evaluation {
public:
  // Refers to what it is given.
  explicit Evaluation(const Expression& expression)
      : expression_(expression), results_(expression.steps.size()), exact_(expression.steps.size()) {}

  Bits of(const std::vector<Bits>& arguments);

private:
  const Expression& expression_;
  std::vector<Bits> results_;
  std::vector<Wide> exact_; // the same as numbers with a sign, without the end of what may not overflow
};

} // namespace lathe::refactor
