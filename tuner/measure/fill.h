// What buffers hold before a run, as functions of (seed, buffer, index): the same on the host and on the GPU.
#pragma once

#include "tuner/measure/element.h"
#include "tuner/spec/spec.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lathe {

// "bf16" -> element::bf16; nothing for an unknown dtype.
std::optional<element::DType> element_type(std::string_view dtype);

// The plan for buffer number `ordinal` of a workload. Buffers that only go out get a plan too (its values are
// never read by a correct kernel). A buffer of unknown dtype is filled as bytes.
element::FillPlan plan_fill(const Workload::Buffer& buffer, std::uint64_t seed, std::size_t ordinal);

// The plan of offsets that gathers everything in one range, the first, the last or one between by its key.
element::FillPlan in_one_range(element::FillPlan offsets);

// Fills buffer.count elements; `data` holds at least that many, aligned to the element's size.
void fill_buffer(const element::FillPlan& plan, std::span<std::byte> data);

// The two byte patterns that outputs are poisoned with before verified runs: all ones, a NaN in every
// floating-point format, and 0x5b, a large finite number in each. An element that keeps both was never
// written.
inline constexpr std::byte POISONS[2] = {std::byte{0xff}, std::byte{0x5b}};

// Bytes of guard on either side of every buffer, and what they hold: byte i of a band is guard_byte(i).
inline constexpr std::size_t GUARD_BYTES = 512;
constexpr std::byte guard_byte(std::size_t i) {
  return static_cast<std::byte>(0xa5 ^ (i * 29 & 0xff));
}

// Values as numbers, for tests, CPU references and messages. `bits` is the element in the low bytes.
inline double decode_element(element::DType dtype, std::uint64_t bits) {
  return element::decode(dtype, bits);
}
inline std::uint64_t encode_element(element::DType dtype, double value) {
  return element::encode(dtype, value);
}

} // namespace lathe
