#include "refactor/guard/integer_data.h"

#include <algorithm>
#include <bit>

namespace lathe::refactor {
namespace {

// By how many places a number is back that stands for the one at `place` in stretches.
std::uint64_t back_in_stretch(std::uint64_t place, std::uint64_t seed) {
  constexpr std::uint64_t LONGEST = 8, LENGTHS[] = {1, 2, 4, LONGEST};
  return place % LENGTHS[element::mix(seed ^ element::mix(place / LONGEST)) % 4];
}

// At how many places at the end of `count` sorted numbers the largest of the type stands.
element::u64 largest_of_sorted(element::u64 count, std::uint64_t seed) {
  constexpr element::u64 MOST = 9;
  return std::min(1 + element::mix(seed) % MOST, (count + 1) / 2);
}

constexpr std::uint64_t ONE_NEGATIVE_IN = 4, ONE_MARKED_IN = 3, ONE_LARGEST_IN = 8;

element::u64 most_of(int bits) {
  return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

// Of at most `bits` bits without the sign, the highest of them mostly set; now and then the largest, which
// code may take for none.
element::u64 large_number(std::uint64_t hash, int bits, bool is_negative) {
  const std::uint64_t most = most_of(bits);
  const bool is_largest = element::mix(hash) % ONE_LARGEST_IN == 0;
  const std::uint64_t number = is_largest ? most : most - (hash & (most >> 2));
  return is_negative ? ~number + 1 : number;
}

// A power of two no larger than the number of so many bits, with its sign; the number itself where the bounds
// leave none.
element::u64 power_near(element::u64 number, int bits, bool is_signed, std::uint64_t hash,
                        IntegerBounds bounds) {
  const bool is_negative = is_signed && (number >> (bits - 1) & 1) != 0;
  const std::uint64_t size = (is_negative ? ~number + 1 : number) & most_of(bits);
  const auto places = static_cast<int>(std::bit_width(size));
  if (places == 0 || places > 62)
    return number;
  // The largest in one of two, so that narrow ranges have it.
  for (const int place :
       {(hash & 1) != 0 ? places - 1 : static_cast<int>((hash >> 1) % static_cast<std::uint64_t>(places)),
        places - 1}) {
    const std::int64_t power = is_negative ? -(std::int64_t{1} << place) : std::int64_t{1} << place;
    if (power >= bounds.low && power <= bounds.high)
      return static_cast<element::u64>(power);
  }
  return number;
}

// A multiple of one of the numbers, moved by another, no further from `number` than that reaches.
std::int64_t edge_near(std::int64_t number, const std::vector<std::int64_t>& numbers, std::uint64_t hash) {
  constexpr std::int64_t LARGEST = std::int64_t{1} << 61; // sums of three do not overflow
  const auto draw = [&](std::uint64_t of) {
    const std::uint64_t one = hash % of;
    hash = element::mix(hash);
    return one;
  };
  const std::int64_t unit = numbers[draw(numbers.size())], other = numbers[draw(numbers.size())];
  const std::uint64_t side = draw(4);
  const std::int64_t moved = side == 0 ? other : side == 1 ? -other : 0;
  if (number > LARGEST || number < -LARGEST)
    return number;
  return (number - moved) / unit * unit + moved + static_cast<std::int64_t>(draw(3)) - 1;
}

} // namespace

void fill_integers(const IntegerFill& fill, element::DType dtype, std::uint64_t seed,
                   std::span<std::byte> bytes, IntegerBounds bounds) {
  const std::uint64_t count = bytes.size() / static_cast<std::size_t>(element::size_of(dtype));
  const int bits = 8 * element::size_of(dtype);
  const bool is_signed = element::is_signed_integer(dtype);
  const auto one_in = static_cast<std::uint64_t>(std::max(1, fill.bits));
  const std::uint64_t sign = seed % 3; // above zero, below, both
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t hash = element::mix(seed ^ element::mix(i + 0x71b3));
    const auto put = [&](element::u64 number) { element::store(dtype, bytes.data(), i, number); };
    switch (fill.kind) {
    case IntegerFill::Kind::usual:
      return;
    case IntegerFill::Kind::large:
      put(large_number(hash >> 2, fill.bits, is_signed && (sign == 1 || (sign == 2 && (hash & 1) != 0))));
      break;
    case IntegerFill::Kind::zeros:
      put(0);
      break;
    case IntegerFill::Kind::small:
      put(is_signed ? hash % 5 - 2 : hash % 3);
      break;
    case IntegerFill::Kind::negative:
    case IntegerFill::Kind::minus_one:
      if (hash % ONE_NEGATIVE_IN == 0 || i == seed % count) // one at least
        put(fill.kind == IntegerFill::Kind::minus_one ? ~0ull : ~(hash >> 8 & 7));
      break;
    case IntegerFill::Kind::stretches: // those in front stand already
      put(element::load(dtype, bytes.data(), i - back_in_stretch(i, seed)));
      break;
    case IntegerFill::Kind::powers:
      put(power_near(element::load(dtype, bytes.data(), i), bits, is_signed, hash, bounds));
      break;
    case IntegerFill::Kind::marked:
      if (hash % ONE_MARKED_IN == 0 || i == seed % count)
        put(fill.bound);
      break;
    case IntegerFill::Kind::sorted_ends:
      if (count - i <= largest_of_sorted(count, seed))
        put(most_of(bits - (is_signed ? 1 : 0)));
      break;
    case IntegerFill::Kind::sparse:
      if (hash % one_in != 0)
        put(fill.bound);
      break;
    case IntegerFill::Kind::plateaus: // what stands in front is that of the plateau already
      if (i > 0 && hash % one_in != 0)
        put(element::load(dtype, bytes.data(), i - 1));
      break;
    case IntegerFill::Kind::multiples:
      if ((hash >> 2 & 3) != 0)
        put((hash & 1) + ((hash & 2) != 0 ? fill.bound : 0));
      break;
    case IntegerFill::Kind::edges: {
      const element::u64 loaded = element::load(dtype, bytes.data(), i);
      const auto number = static_cast<std::int64_t>(
          is_signed && bits < 64 && (loaded >> (bits - 1) & 1) != 0 ? loaded | ~most_of(bits) : loaded);
      const std::int64_t edge = fill.numbers.empty() ? number : edge_near(number, fill.numbers, hash >> 2);
      if ((hash & 3) != 0 && edge >= bounds.low && edge <= bounds.high)
        put(static_cast<element::u64>(edge));
      break;
    }
    case IntegerFill::Kind::below:
      put(hash % fill.bound);
      break;
    case IntegerFill::Kind::permuted:
      put(element::permute(i, fill.bound, element::mix(seed)));
      break;
    }
  }
}

} // namespace lathe::refactor
