// Index arithmetic that wraps around at sizes which nobody runs on a machine without a GPU. Used inside the
// guard only.
#pragma once

#include <compare>
#include <optional>
#include <set>
#include <string>

namespace llvm {
class BinaryOperator;
class Value;
} // namespace llvm

namespace lathe::refactor {

// A value of fewer than 64 bits on the way to an address.
struct NarrowIndex {
  std::set<std::string>
      factors; // the sizes and block indices that it is made of: "parameter 3", "blockIdx.x"
  unsigned bits = 0;
  bool is_cut = false; // from more bits, not computed in so few
  auto operator<=>(const NarrowIndex&) const = default;
};

// A product of sizes and block indices, by its factors.
struct SizeProduct {
  std::set<std::string> names;      // all that it is made of
  std::multiset<std::string> plain; // the factors that are a size or a block index themselves
  // What the other factors (sums, quotients, counters) are made of; whether there are any, and whether
  // something from memory has a part in them.
  std::set<std::string> within;
  bool has_others = false, is_loaded = false;
  unsigned bits = 0;

  std::string text() const; // "blockIdx.x * parameter 3"
  // Whether it has the factors of the other one, whatever sizes have a part in those that are no size: a
  // counter that starts behind `n / 4 * 4` is bounded by what it counts to, as one from 0 is.
  bool has_factors_of(const SizeProduct& other) const;
  auto operator<=>(const SizeProduct&) const = default;
};

// Values of fewer than 64 bits on the way to the pointer that are made of more than one size or block index.
std::set<NarrowIndex> narrow_indices(llvm::Value* pointer);

// Nothing when it is a product with a constant, or of one size or block index alone.
std::optional<SizeProduct> size_product(llvm::BinaryOperator& product);

// The bits in which the raw kernel computes a product that a template computes in fewer; 0 where it does not.
// It does where it has a product of the same names in more bits alone, or one of the same factors, unless it
// has one of these factors in as few bits itself.
unsigned bits_lost(const SizeProduct& product, const std::set<SizeProduct>& raw);

} // namespace lathe::refactor
