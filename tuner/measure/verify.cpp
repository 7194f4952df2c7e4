#include "tuner/measure/verify.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

namespace lathe {
namespace {

std::string element_text(element::DType dtype, std::uint64_t bits) {
  char text[64];
  if (element::is_real(dtype))
    std::snprintf(text, sizeof text, "%.6g", element::decode(dtype, bits));
  else if (element::is_signed_integer(dtype))
    std::snprintf(text, sizeof text, "%lld", element::sign_extend(dtype, bits));
  else
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(bits));
  return text;
}

std::uint64_t poison_bits(element::DType dtype, std::byte poison) {
  std::uint64_t bits = 0;
  for (int i = 0; i < element::size_of(dtype); ++i)
    bits = bits << 8 | std::to_integer<std::uint64_t>(poison);
  return bits;
}

} // namespace

Tolerance tolerance_for(const std::map<std::string, Tolerance>& given, const std::string& dtype) {
  Tolerance tolerance;
  if (const auto found = given.find(dtype); found != given.end())
    tolerance = found->second;
  if (tolerance.relative != 0 || tolerance.absolute != 0)
    return tolerance;
  static const std::map<std::string, double> defaults{{"f64", 0x1p-42}, {"f32", 0x1p-15}, {"f16", 0x1p-9},
                                                      {"bf16", 0x1p-6}, {"e4m3", 0x1p-3}, {"e5m2", 0x1p-2}};
  if (const auto found = defaults.find(dtype); found != defaults.end())
    tolerance.relative = found->second;
  return tolerance;
}

double reordering_share(const std::string& dtype, double terms) {
  constexpr double TIMES_EXPECTED = 8, MOST_TERMS = 0x1p20;
  const auto type = element_type(dtype);
  if (terms <= 0 || !type || !element::is_real(*type))
    return 0;
  const double roundoff = *type == element::f64 ? 0x1p-53 : 0x1p-24;
  return TIMES_EXPECTED * std::sqrt(std::min(terms, MOST_TERMS)) * roundoff;
}

double operations_an_output(const Workload& workload) {
  std::uint64_t outputs = 0;
  for (const Workload::Buffer& buffer : workload.buffers)
    outputs += buffer.direction == Direction::in ? 0 : buffer.count;
  return workload.operations / static_cast<double>(std::max<std::uint64_t>(1, outputs));
}

double magnitude(const std::function<Sizes(double limit)>& below) {
  // One number again and again, far above all others, marks what is left out (-1e9 in a masked score).
  constexpr double FAR_ABOVE = 1000;
  constexpr int MOST_MARKS = 2;
  Sizes sizes = below(std::numeric_limits<double>::infinity());
  for (int mark = 0; mark < MOST_MARKS && sizes.may_repeat && sizes.count > 0; ++mark) {
    const Sizes rest = below(sizes.largest);
    if (sizes.count - rest.count < 2 || rest.squares == 0 || rest.largest * FAR_ABOVE > sizes.largest)
      break;
    sizes = rest;
  }
  return sizes.count ? std::sqrt(sizes.squares / static_cast<double>(sizes.count)) : 0;
}

double magnitude(element::DType dtype, std::span<const std::byte> data,
                 std::span<const std::byte> other_run) {
  const std::uint64_t count = data.size() / static_cast<std::size_t>(element::size_of(dtype));
  return magnitude([&](double limit) {
    Sizes sizes;
    sizes.may_repeat = false;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t bits = element::load(dtype, data.data(), i);
      if (!other_run.empty() && element::load(dtype, other_run.data(), i) != bits)
        continue;
      const double size = std::abs(element::decode(dtype, bits));
      if (!std::isfinite(size) || size >= limit)
        continue;
      sizes.squares += size * size;
      ++sizes.count;
      if (size >= sizes.largest)
        sizes.may_repeat = size == sizes.largest && sizes.count > 1;
      sizes.largest = std::max(sizes.largest, size);
    }
    return sizes;
  });
}

BufferDifference compare_buffers(const element::ErrorRule& rule, std::span<const std::byte> out,
                                 std::span<const std::byte> reference) {
  const std::uint64_t count = out.size() / static_cast<std::size_t>(element::size_of(rule.dtype));
  BufferDifference difference;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double error = element::element_error(rule, element::load(rule.dtype, out.data(), i),
                                                element::load(rule.dtype, reference.data(), i));
    if (error > difference.error)
      difference.error = error;
    if (error > 1 && difference.failures++ == 0)
      difference.first = i;
  }
  return difference;
}

BufferDifference compare_sets(element::DType dtype, std::span<const std::byte> out,
                              std::span<const std::byte> reference) {
  const auto sorted = [&](std::span<const std::byte> data) {
    std::vector<std::uint64_t> elements(data.size() / static_cast<std::size_t>(element::size_of(dtype)));
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = element::load(dtype, data.data(), i);
    std::ranges::sort(elements);
    return elements;
  };
  const std::vector<std::uint64_t> here = sorted(out), there = sorted(reference);
  BufferDifference difference;
  for (std::size_t i = 0; i < here.size(); ++i)
    if (here[i] != there[i] && difference.failures++ == 0)
      difference.first = i;
  if (difference.failures > 0)
    difference.error = std::numeric_limits<double>::max();
  return difference;
}

std::string describe_other_set(const std::string& buffer) {
  return buffer + " holds other elements than the raw kernel's, in whatever order";
}

std::string describe_difference(const std::string& buffer, element::DType dtype,
                                const BufferDifference& difference, std::uint64_t out_bits,
                                std::uint64_t reference_bits, std::uint64_t count, std::byte poison) {
  std::string text = buffer + "[" + std::to_string(difference.first) + "]";
  const std::uint64_t untouched = poison_bits(dtype, poison);
  if (out_bits == untouched)
    text += " was not written where the raw kernel gives " + element_text(dtype, reference_bits);
  else if (reference_bits == untouched)
    text += " is " + element_text(dtype, out_bits) + " where the raw kernel writes nothing";
  else
    text += " is " + element_text(dtype, out_bits) + " where the raw kernel gives " +
            element_text(dtype, reference_bits);
  return text + " (" + std::to_string(difference.failures) + " of " + std::to_string(count) +
         " elements differ)";
}

std::string reordering_hint(element::DType dtype, const BufferDifference& difference, std::uint64_t count,
                            double reordering) {
  constexpr double FEW = 1e-3, LITTLE = 16;
  if (reordering > 0 || !element::is_real(dtype) || difference.error > LITTLE ||
      static_cast<double>(difference.failures) > FEW * static_cast<double>(count))
    return "";
  return "; if these are long sums whose terms may come in any order, say in the specification's Cost how "
         "many "
         "Operations there are";
}

std::optional<std::size_t> damaged_guard(std::span<const std::byte> band) {
  for (std::size_t i = 0; i < band.size(); ++i)
    if (band[i] != guard_byte(i))
      return i;
  return std::nullopt;
}

} // namespace lathe
