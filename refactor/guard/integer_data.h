// What integer inputs hold in place of the specification's numbers, where the raw kernel takes that as well.
#pragma once

#include "tuner/measure/element.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lathe::refactor {

struct IntegerFill {
  enum class Kind {
    usual, // the specification's
    // Data: of `bits` bits, the largest among them, of one sign or, by the seed, both; zeros; from -2 to 2.
    large,
    zeros,
    small,
    // The specification's, with numbers below zero among them: from -8 to -1, or -1 alone, as slots that are
    // not there are marked.
    negative,
    minus_one,
    // Indices: any below `bound`; each below `bound` at most once (the buffer has no more elements).
    below,
    permuted,
    // The specification's, each in place of up to seven behind it, or of none, by the seed.
    stretches,
    // The specification's as powers of two, in its range, with their signs: their products are halves of
    // others.
    powers,
    // The specification's, with `bound` (its bits) among them: a number that marks what is left out.
    marked,
    // The specification's, which never fall, some of the last as the largest number of the type: sorted keys,
    // not places.
    sorted_ends,
    // The specification's in one of `one_in` places, `bound` (its bits) in all others: whole tiles hold
    // nothing else, and two inputs agree almost everywhere.
    sparse,
    // The specification's, one of `one_in` in place of all behind it up to the next such.
    plateaus,
    // 0, 1, `bound` and one more in three places of four: what is put together by multiplying with that comes
    // out alike for several. The specification's between them, so that what follows tells them apart.
    multiples,
    // Multiples of one of `numbers`, another of them added or taken off in half of the places, and one more
    // or less, near the specification's number and within its range; that itself in one place of four. Where
    // a quotient changes and a remainder is zero.
    edges,
  } kind = Kind::usual;
  int bits = 0; // or `one_in`
  std::uint64_t bound = 0;
  std::vector<std::int64_t> numbers = {};

  auto operator<=>(const IntegerFill&) const = default;
};

// What the specification's numbers are from and to.
struct IntegerBounds {
  std::int64_t low = 0, high = 0;
};

// Changes the elements in `bytes`, which hold the specification's numbers, as `fill` says. `dtype`: an
// integer type that is no truth value. The same for the same seed.
void fill_integers(const IntegerFill& fill, element::DType dtype, std::uint64_t seed,
                   std::span<std::byte> bytes, IntegerBounds bounds = {});

} // namespace lathe::refactor
