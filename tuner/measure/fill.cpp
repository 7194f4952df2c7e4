#include "tuner/measure/fill.h"

#include <array>
#include <utility>

namespace lathe {

std::optional<element::DType> element_type(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, element::DType>, 15> names{
      {{"f64", element::f64},
       {"f32", element::f32},
       {"f16", element::f16},
       {"bf16", element::bf16},
       {"e4m3", element::e4m3},
       {"e5m2", element::e5m2},
       {"i64", element::s64},
       {"i32", element::s32},
       {"i16", element::s16},
       {"i8", element::s8},
       {"u64", element::u64_},
       {"u32", element::u32},
       {"u16", element::u16},
       {"u8", element::u8},
       {"bool", element::boolean}}};
  for (const auto& [name, type] : names)
    if (name == dtype)
      return type;
  return std::nullopt;
}

element::FillPlan plan_fill(const Workload::Buffer& buffer, std::uint64_t seed, std::size_t ordinal) {
  element::FillPlan plan{};
  plan.dtype = element_type(buffer.dtype).value_or(element::u8);
  plan.key = element::mix(element::mix(seed) ^ (ordinal + 1) * 0xd1342543de82ef95ull);
  plan.count = buffer.count;
  switch (buffer.fill.kind) {
  case Fill::Kind::normal:
    plan.kind = element::normal;
    plan.base = buffer.fill.mean;
    plan.scale = buffer.fill.spread;
    break;
  case Fill::Kind::uniform:
    plan.kind = element::uniform;
    plan.base = buffer.fill.low;
    plan.scale = buffer.fill.high - buffer.fill.low;
    break;
  case Fill::Kind::integer:
    plan.kind = element::integer;
    plan.integer_low = buffer.integer_low;
    // Bounds the wrong way round name one value; the full 64-bit range wraps to 0, which means just that.
    plan.integer_range = buffer.integer_high < buffer.integer_low
                             ? 1
                             : static_cast<std::uint64_t>(buffer.integer_high) -
                                   static_cast<std::uint64_t>(buffer.integer_low) + 1;
    break;
  case Fill::Kind::zero:
    plan.kind = element::zero;
    break;
  case Fill::Kind::permutation:
    plan.kind = element::permutation;
    break;
  case Fill::Kind::offsets:
    plan.kind = element::offsets;
    plan.integer_range = static_cast<std::uint64_t>(buffer.integer_high);
    break;
  }
  return plan;
}

element::FillPlan in_one_range(element::FillPlan offsets) {
  offsets.kind = element::one_range;
  return offsets;
}

void fill_buffer(const element::FillPlan& plan, std::span<std::byte> data) {
  for (std::uint64_t i = 0; i < plan.count; ++i)
    element::store(plan.dtype, data.data(), i, element::fill_bits(plan, i));
}

} // namespace lathe
