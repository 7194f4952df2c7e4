#include "refactor/guard/trial_data.h"

#include "refactor/guard/unread_data.h"
#include "tuner/measure/fill.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <span>

namespace lathe::refactor {
namespace {

// Special values where a hash of the position says so: infinities, zeros of both signs and the smallest
// numbers, or NaN.
void strew(element::DType dtype, Data data, std::uint64_t seed, std::span<std::byte> bytes) {
  const std::uint64_t count = bytes.size() / static_cast<std::size_t>(element::size_of(dtype));
  const double infinity = std::numeric_limits<double>::infinity();
  const double specials[] = {infinity, -infinity, 0.0, -0.0, 1e-40, infinity, -infinity, -1e-7};
  // Many in some stretches; in others so few that a row has one behind many other numbers, if any.
  constexpr std::uint64_t ONE_IN[] = {32, 32, 128, 512}, STRETCH = 2048, SHORT = 256, ONE_IN_SHORT = 4;
  const auto one_in = [&](std::uint64_t place) {
    return count < SHORT ? ONE_IN_SHORT
                         : ONE_IN[element::mix(seed ^ element::mix(place / STRETCH)) % std::size(ONE_IN)];
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t hash = element::mix(seed ^ element::mix(i + 0x51ed));
    if (hash % one_in(i) != 0)
      continue;
    // A device's own NaN has all bits but the sign (PTX ISA, "Floating point"); others have fewer.
    constexpr std::uint64_t ONE_BIT = 1;
    const std::uint64_t device_nan = (ONE_BIT << (8 * element::size_of(dtype) - 1)) - 1;
    if (data != Data::nans) {
      element::store(dtype, bytes.data(), i, element::encode(dtype, specials[hash >> 8 & 7]));
      continue;
    }
    // And some have a sign: as integers these are below all numbers.
    const std::uint64_t nan =
        (hash >> 8 & 1) != 0 ? device_nan : element::encode(dtype, std::numeric_limits<double>::quiet_NaN());
    element::store(dtype, bytes.data(), i, (hash >> 9 & 3) == 0 ? nan | (device_nan + 1) : nan);
  }
}

// -infinity in the whole buffer, in every other half, third, ... or nowhere, by the seed.
void mask(element::DType dtype, std::uint64_t seed, std::span<std::byte> bytes) {
  const std::uint64_t count = bytes.size() / static_cast<std::size_t>(element::size_of(dtype));
  const std::uint64_t drawn = element::mix(seed ^ 0x3a5c);
  constexpr std::uint64_t STRETCHES[] = {0, 1, 2, 3, 4, 7, 16, 64};
  const std::uint64_t stretches = STRETCHES[drawn % std::size(STRETCHES)];
  if (stretches == 0)
    return;
  const std::uint64_t bits = element::encode(dtype, -std::numeric_limits<double>::infinity());
  for (std::uint64_t i = 0; i < count; ++i)
    if (i * stretches / count % 2 == 0)
      element::store(dtype, bytes.data(), i, bits);
}

void make_positive(element::DType dtype, std::span<std::byte> bytes) {
  const std::uint64_t count = bytes.size() / static_cast<std::size_t>(element::size_of(dtype));
  for (std::uint64_t i = 0; i < count; ++i)
    element::store(
        dtype, bytes.data(), i,
        element::encode(dtype, std::abs(element::decode(dtype, element::load(dtype, bytes.data(), i)))));
}

// Zeros but for few elements, which stay as they are or are NaN: whole tiles hold nothing else.
void thin_out(element::DType dtype, Data data, std::uint64_t seed, std::span<std::byte> bytes) {
  constexpr std::uint64_t ONE_KEPT_IN[] = {24, 96, 384, 1024};
  const std::uint64_t count = bytes.size() / static_cast<std::size_t>(element::size_of(dtype));
  const std::uint64_t of = ONE_KEPT_IN[element::mix(seed ^ 0x5a1e) % std::size(ONE_KEPT_IN)];
  for (std::uint64_t i = 0; i < count; ++i)
    if (element::mix(seed ^ element::mix(i + 0x41d7)) % of != 0)
      element::store(dtype, bytes.data(), i, element::encode(dtype, 0));
    else if (data == Data::sparse_nans)
      element::store(dtype, bytes.data(), i,
                     element::encode(dtype, std::numeric_limits<double>::quiet_NaN()));
}

// Whether numbers below zero are no worse in the buffer than others: the specification has some, or none on
// either side.
bool may_be_negative(const Workload::Buffer& buffer) {
  return buffer.fill.kind == Fill::Kind::uniform ? buffer.fill.low < 0
                                                 : buffer.fill.mean < 3 * buffer.fill.spread;
}

// Single precision's exponential overflows at 89.
constexpr double WIDTH = 110;
// Of single precision, with room for sums. In half of the runs tiny numbers are so small that what is divided
// by them overflows, too.
constexpr double HUGE_NUMBER = 1e20, TINY_NUMBER = 1e-25, TINIEST_NUMBER = 1e-38;
// The largest of single precision and of half precision; twice as much overflows from half of them on.
constexpr double LARGEST_SINGLE = 3.4e38, LARGEST_HALF = 65504;

// `value` in single precision, changed to lie half way between two numbers of a 16-bit format.
std::uint64_t tie_of(double value, bool of_half) {
  // Bits of the significand that the format does not have, and the highest of them.
  constexpr std::uint64_t HALF_LACKS = 0x1fff, HALF_TIE = 0x1000, BFLOAT_LACKS = 0xffff, BFLOAT_TIE = 0x8000;
  const std::uint64_t bits = element::encode(element::f32, value);
  return of_half ? (bits & ~HALF_LACKS) | HALF_TIE : (bits & ~BFLOAT_LACKS) | BFLOAT_TIE;
}

// Whether such numbers make sense in a buffer whose contents the specification describes.
bool may_hold(const Workload::Buffer& description, element::DType dtype, Data data) {
  const Fill::Kind kind = description.fill.kind;
  if ((kind != Fill::Kind::normal && kind != Fill::Kind::uniform) || element::size_of(dtype) == 1)
    return false;
  switch (data) {
  case Data::zeros:
  case Data::sparse:
  case Data::sparse_nans:
    return may_be_negative(description);
  case Data::wide:
    return kind == Fill::Kind::normal;
  case Data::huge:
  case Data::tiny:
    return dtype != element::f16 && kind == Fill::Kind::normal;
  case Data::largest:
    return kind == Fill::Kind::normal;
  case Data::ties:
    return dtype == element::f32;
  default:
    return true;
  }
}

// Every element anew, as `data` says.
void replace_all(const Workload::Buffer& description, element::DType dtype, Data data, std::uint64_t seed,
                 std::span<const double> scalars, std::span<const double> numbers,
                 std::span<std::byte> bytes) {
  const std::uint64_t count = bytes.size() / static_cast<std::size_t>(element::size_of(dtype));
  const bool both = may_be_negative(description);
  const std::uint64_t drawn = element::mix(seed);
  const double side = !both || (drawn & 1) != 0 ? 1 : -1;
  const bool one_sided = !both || (drawn & 2) != 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t hash = element::mix(seed ^ element::mix(i + 0x2f1d));
    const double share = static_cast<double>(hash >> 11) * 0x1p-53;
    double halves = static_cast<double>(hash % 9) / 2 - 2;
    if (one_sided)
      halves = side * std::abs(halves);
    if (halves == 0 && both)
      halves = (hash >> 32 & 1) != 0 ? -0.0 : 0.0;
    constexpr std::uint64_t ONE_SCALAR_IN = 8;
    const double sign = !both || (hash & 1) != 0 ? 1 : -1;
    if (!scalars.empty() && (hash >> 33) % ONE_SCALAR_IN == 0) {
      halves = scalars[(hash >> 40) % scalars.size()];
    } else if (!numbers.empty() && (hash >> 33) % ONE_SCALAR_IN == 1) {
      constexpr double FACTORS[] = {1, 1, 2, 0.5};
      halves = (one_sided ? side : sign) * FACTORS[hash >> 37 & 3] * numbers[(hash >> 40) % numbers.size()];
    }
    double value = halves;
    if (data == Data::zeros)
      value = 0;
    else if (data == Data::far)
      value = side * (90 + 40 * share);
    else if (data == Data::wide)
      value = (both ? 2 * share - 1 : share) * WIDTH;
    else if (data == Data::huge)
      value = sign * HUGE_NUMBER * (1 + share);
    else if (data == Data::tiny)
      value = sign * ((drawn & 4) != 0 ? TINY_NUMBER : TINIEST_NUMBER) * (1 + share);
    else if (data == Data::tails)
      value = side * (4 + 4 * share);
    else if (data == Data::largest)
      value = (dtype == element::f16 ? LARGEST_HALF : LARGEST_SINGLE) * (0.4 + 0.6 * share);
    else if (data == Data::ties)
      value = sign * (0.25 + 4 * share);
    element::store(dtype, bytes.data(), i,
                   data == Data::ties ? tie_of(value, (hash >> 1 & 1) != 0) : element::encode(dtype, value));
  }
}

// Offsets from 0 to `total`, which then begin behind the first element and end before the last.
void move_inside(element::DType dtype, std::uint64_t total, std::uint64_t seed, std::span<std::byte> bytes) {
  constexpr std::uint64_t MOST_SHARE = 5; // of all elements are left out on either side
  const std::uint64_t most = std::max<std::uint64_t>(1, total / MOST_SHARE);
  const std::uint64_t before = std::min<std::uint64_t>(total, 1 + element::mix(seed) % most),
                      behind = std::min<std::uint64_t>(total - before, 1 + element::mix(seed + 1) % most);
  const double kept = static_cast<double>(total - before - behind);
  const std::uint64_t count = bytes.size() / static_cast<std::size_t>(element::size_of(dtype));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = element::load(dtype, bytes.data(), i);
    const double offset = element::is_real(dtype) ? element::decode(dtype, bits) : static_cast<double>(bits);
    const double moved =
        static_cast<double>(before) + std::floor(offset / std::max(1.0, static_cast<double>(total)) * kept);
    element::store(dtype, bytes.data(), i,
                   element::is_real(dtype) ? element::encode(dtype, moved)
                                           : static_cast<std::uint64_t>(moved));
  }
}

// The real numbers among the arguments, which data may equal.
std::vector<double> real_scalars(const Workload& workload) {
  std::vector<double> found;
  for (const Workload::Parameter& parameter : workload.parameters)
    if (const auto* real = std::get_if<double>(&parameter.value); real && is_real_scalar(parameter))
      found.push_back(*real);
  return found;
}

void change(const Workload::Buffer& description, element::DType dtype, Data data, std::uint64_t seed,
            std::span<const double> scalars, std::span<const double> numbers, std::span<std::byte> bytes) {
  const Fill::Kind kind = description.fill.kind;
  switch (data) {
  case Data::infinities:
  case Data::nans:
    // Offsets of any type are none with other numbers among them.
    if (kind != Fill::Kind::offsets)
      strew(dtype, data, seed, bytes);
    break;
  case Data::zeros:
  case Data::far:
  case Data::wide:
  case Data::tails:
  case Data::coarse:
  case Data::huge:
  case Data::largest:
  case Data::tiny:
  case Data::ties:
    if (description.direction != Direction::out && may_hold(description, dtype, data))
      replace_all(description, dtype, data, seed, scalars, numbers, bytes);
    break;
  case Data::sparse:
  case Data::sparse_nans:
    if (description.direction != Direction::out && may_hold(description, dtype, data))
      thin_out(dtype, data, seed, bytes);
    break;
  case Data::masked:
    if (description.direction != Direction::out && may_hold(description, dtype, data) &&
        may_be_negative(description))
      mask(dtype, seed, bytes);
    break;
  case Data::usual:
  case Data::opposed: // not a buffer's own business
  case Data::one_range:
  case Data::inner_ranges:
    break;
  }
}

// Inputs that hold real numbers, of which one may lose what another makes infinite.
std::vector<std::size_t> opposable(const Workload& workload) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i)
    if (const auto dtype = element_type(workload.buffers[i].dtype);
        dtype && element::is_real(*dtype) && workload.buffers[i].direction != Direction::out &&
        may_hold(workload.buffers[i], *dtype, Data::opposed))
      inputs.push_back(i);
  return inputs;
}

// Whole numbers from -2 to 2 in one of the inputs, infinities above zero among the numbers of the others. In
// a third of the runs numbers so far from each other that exponentials of differences vanish: zeros, too.
void oppose(const Workload& workload, std::size_t index, std::uint64_t seed, std::span<std::byte> bytes) {
  constexpr std::uint64_t ONE_INFINITE_IN = 4, WHOLE_NUMBERS = 5;
  const std::vector<std::size_t> inputs = opposable(workload);
  if (std::ranges::find(inputs, index) == inputs.end())
    return;
  const element::DType dtype = *element_type(workload.buffers[index].dtype);
  const std::uint64_t drawn = element::mix(seed ^ 0x6b1f);
  const bool is_the_one = inputs[drawn % inputs.size()] == index;
  const bool both = may_be_negative(workload.buffers[index]);
  constexpr std::uint64_t ONE_SPREAD_IN = 3;
  const bool is_spread =
      element::mix(drawn) % ONE_SPREAD_IN == 0 && may_hold(workload.buffers[index], dtype, Data::wide);
  const std::uint64_t infinite = element::encode(dtype, std::numeric_limits<double>::infinity());
  for (std::uint64_t i = 0; i < workload.buffers[index].count; ++i) {
    const std::uint64_t hash = element::mix(seed + index + element::mix(i + 0x4d2b));
    const double number = is_spread ? (static_cast<double>(hash >> 11) * 0x1p-52 - 1) * WIDTH
                                    : static_cast<double>(hash % WHOLE_NUMBERS) - 2;
    if (is_the_one)
      element::store(dtype, bytes.data(), i, element::encode(dtype, both ? number : std::abs(number)));
    else if (hash % ONE_INFINITE_IN == 0)
      element::store(dtype, bytes.data(), i, infinite);
  }
}

// In half of the runs one of several inputs is zero alone: what is far below zero and goes through an
// exponential is zero too, and so is the sum of both.
bool is_zero_beside_far(const Workload& workload, std::size_t index, std::uint64_t seed) {
  const std::vector<std::size_t> inputs = opposable(workload);
  const std::uint64_t drawn = element::mix(seed ^ 0x2e95);
  return inputs.size() > 1 && (drawn & 1) != 0 && inputs[(drawn >> 1) % inputs.size()] == index &&
         may_be_negative(workload.buffers[index]);
}

// In three runs of four one of several inputs has positive numbers beside the others that are masked: sums of
// products are -infinity then, not NaN.
bool is_positive_beside_masked(const Workload& workload, std::size_t index, std::uint64_t seed) {
  const std::vector<std::size_t> inputs = opposable(workload);
  const std::uint64_t drawn = element::mix(seed ^ 0x71c3);
  return inputs.size() > 1 && (drawn & 3) != 0 && inputs[(drawn >> 2) % inputs.size()] == index;
}

// Puts a neighbour in each number's place; what is zero or as large as can be stays.
template <class Bits> void nudge_each(Bits most, std::uint64_t seed, std::span<std::byte> bytes) {
  std::mt19937_64 draw(seed);
  const Bits magnitude = static_cast<Bits>(-1) >> 1;
  for (std::size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits number;
    std::memcpy(&number, &bytes[at], sizeof number);
    const Bits size = number & magnitude;
    if (size > 1 && size < most)
      number += draw() % 2 == 0 ? Bits{1} : static_cast<Bits>(-1);
    std::memcpy(&bytes[at], &number, sizeof number);
  }
}

void nudge(element::DType dtype, std::uint64_t seed, std::span<std::byte> bytes) {
  if (dtype == element::DType::f32)
    nudge_each(std::bit_cast<std::uint32_t>(std::numeric_limits<float>::max()), seed, bytes);
  else if (dtype == element::DType::f64)
    nudge_each(std::bit_cast<std::uint64_t>(std::numeric_limits<double>::max()), seed, bytes);
}

} // namespace

bool has_neighbours(const Workload::Buffer& buffer) {
  return buffer.direction != Direction::out && (buffer.dtype == "f32" || buffer.dtype == "f64") &&
         (buffer.fill.kind == Fill::Kind::normal || buffer.fill.kind == Fill::Kind::uniform);
}

const std::vector<std::byte>& Fills::of(const Workload& workload, std::size_t index,
                                        const TrialSettings& settings) {
  const auto integers = settings.integers.find(index);
  const IntegerFill integer = integers == settings.integers.end() ? IntegerFill{} : integers->second;
  const std::size_t poison = settings.read_by_raw ? settings.poison : 0;
  auto& bytes = known_[{&workload, index, settings.seed, settings.data, integer, settings.read_by_raw, poison,
                        settings.nudge}];
  const Workload::Buffer& description = workload.buffers[index];
  if (bytes.empty() && description.count > 0) {
    bytes.resize(description.count * static_cast<std::size_t>(std::max(1, dtype_size(description.dtype))));
    element::FillPlan plan = plan_fill(description, settings.seed, index);
    if (settings.data == Data::one_range && description.fill.kind == Fill::Kind::offsets)
      plan = in_one_range(plan);
    fill_buffer(plan, bytes);
    const auto dtype = element_type(description.dtype);
    if (settings.data == Data::masked && is_positive_beside_masked(workload, index, settings.seed))
      make_positive(*dtype, bytes);
    else if (dtype && element::is_real(*dtype))
      change(description, *dtype, settings.data, settings.seed + index, real_scalars(workload),
             settings.numbers, bytes);
    else if (dtype)
      fill_integers(integer, *dtype, settings.seed + index, bytes,
                    {description.integer_low, description.integer_high});
    if (settings.data == Data::opposed)
      oppose(workload, index, settings.seed, bytes);
    if (settings.data == Data::far && is_zero_beside_far(workload, index, settings.seed))
      std::ranges::fill(bytes, std::byte{});
    if (dtype && settings.data == Data::inner_ranges && description.fill.kind == Fill::Kind::offsets)
      move_inside(*dtype, plan.integer_range, settings.seed + index, bytes);
    // Whole numbers meet each other: there a neighbour would decide comparisons otherwise.
    if (settings.nudge != 0 && has_neighbours(description))
      nudge(*dtype, settings.nudge + index, bytes);
    if (settings.read_by_raw)
      poison_unread(workload, index, *settings.read_by_raw, POISONS[poison], bytes);
  }
  return bytes;
}

} // namespace lathe::refactor
