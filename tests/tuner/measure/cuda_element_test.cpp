// Conversions against CUDA's own, fills as distributions, and the rule by which elements are judged.
#include "tuner/measure/fill.h"
#include "tuner/measure/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <set>

namespace lathe {
namespace {

template <class T> std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

std::uint64_t cuda_encode(element::DType dtype, double value) {
  switch (dtype) {
  case element::f16:
    return bits_of(__double2half(value));
  case element::bf16:
    return bits_of(__double2bfloat16(value));
  case element::e4m3:
    return __nv_cvt_double_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
  case element::e5m2:
    return __nv_cvt_double_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
  default:
    return bits_of(static_cast<float>(value));
  }
}

double cuda_decode(element::DType dtype, std::uint64_t bits) {
  switch (dtype) {
  case element::f16:
    return __half2float(__half(__half_raw{static_cast<unsigned short>(bits)}));
  case element::bf16:
    return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(bits)}));
  default:
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits),
                                                       dtype == element::e4m3 ? __NV_E4M3 : __NV_E5M2)));
  }
}

TEST(Element, DecodesEveryNarrowValueAsCudaDoes) {
  for (const auto dtype : {element::f16, element::bf16, element::e4m3, element::e5m2})
    for (std::uint64_t bits = 0; bits < 1ull << (8 * element::size_of(dtype)); ++bits) {
      const double ours = decode_element(dtype, bits), theirs = cuda_decode(dtype, bits);
      ASSERT_TRUE(ours == theirs || (std::isnan(ours) && std::isnan(theirs))) << dtype << " " << bits;
      if (!std::isnan(ours)) {
        ASSERT_EQ(std::signbit(ours), std::signbit(theirs)) << dtype << " " << bits;
      }
    }
}

TEST(Element, EncodesAsCudaDoes) {
  std::mt19937_64 random(1);
  std::vector<double> values{0.0,
                             -0.0,
                             1.0,
                             65504,
                             65519.99,
                             65520,
                             448,
                             464,
                             465,
                             57344,
                             1e300,
                             -1e300,
                             1e-45,
                             5.9e-8,
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::denorm_min(),
                             3.4e38,
                             3.39e38,
                             2.98e-8,
                             9.2e-41};
  for (int i = 0; i < 200000; ++i) {
    const double exponent = std::uniform_real_distribution<double>(-48, 40)(random);
    values.push_back((random() & 1 ? 1 : -1) * std::exp2(exponent));
  }
  for (int i = 0; i < 100000; ++i) // halfway cases and their neighbours
    values.push_back(std::nextafter(decode_element(element::f16, random() & 0x7bff) * (1 + 0x1p-11),
                                    static_cast<double>(i % 3) - 1));
  for (const auto dtype : {element::f16, element::bf16, element::e4m3, element::e5m2, element::f32})
    for (const double value : values)
      ASSERT_EQ(encode_element(dtype, value), cuda_encode(dtype, value)) << dtype << " " << value;
}

TEST(Element, IntegersSaturate) {
  EXPECT_EQ(encode_element(element::s8, 300), 127u);
  EXPECT_EQ(encode_element(element::s8, -300), 0x80u);
  EXPECT_EQ(encode_element(element::u8, -3), 0u);
  EXPECT_EQ(encode_element(element::u8, 3e9), 255u);
  EXPECT_EQ(encode_element(element::s64, 1e30), 0x7fffffffffffffffull);
  EXPECT_EQ(encode_element(element::u64_, 1e30), ~0ull);
  EXPECT_EQ(encode_element(element::s32, std::nan("")), 0u);
  EXPECT_EQ(encode_element(element::s32, -2.7), 0xfffffffeu);
  EXPECT_EQ(decode_element(element::s16, 0xfffe), -2);
  EXPECT_EQ(decode_element(element::u16, 0xfffe), 65534);
}

Workload::Buffer buffer(const char* dtype, std::uint64_t count, Fill::Kind kind) {
  Workload::Buffer result{"b", dtype, Direction::in, count, {}};
  result.fill.kind = kind;
  return result;
}

std::vector<double> filled(const Workload::Buffer& wanted, std::uint64_t seed, std::size_t ordinal = 0) {
  const element::FillPlan plan = plan_fill(wanted, seed, ordinal);
  const auto dtype = static_cast<element::DType>(plan.dtype);
  std::vector<std::byte> data(wanted.count * static_cast<std::size_t>(element::size_of(dtype)));
  fill_buffer(plan, data);
  std::vector<double> values;
  for (std::uint64_t i = 0; i < wanted.count; ++i)
    values.push_back(decode_element(dtype, element::load(dtype, data.data(), i)));
  return values;
}

void moments(const std::vector<double>& values, double& mean, double& deviation) {
  mean = deviation = 0;
  for (const double value : values)
    mean += value / static_cast<double>(values.size());
  for (const double value : values)
    deviation += (value - mean) * (value - mean) / static_cast<double>(values.size());
  deviation = std::sqrt(deviation);
}

TEST(Fill, NormalAndUniformHaveTheirMoments) {
  double mean = 0, deviation = 0;
  Workload::Buffer normal = buffer("f64", 200000, Fill::Kind::normal);
  normal.fill.mean = 3;
  normal.fill.spread = 2;
  moments(filled(normal, 1), mean, deviation);
  EXPECT_NEAR(mean, 3, 0.02);
  EXPECT_NEAR(deviation, 2, 0.02);
  Workload::Buffer uniform = buffer("f32", 200000, Fill::Kind::uniform);
  uniform.fill.low = -4;
  uniform.fill.high = 2;
  const std::vector<double> values = filled(uniform, 1);
  moments(values, mean, deviation);
  EXPECT_NEAR(mean, -1, 0.02);
  EXPECT_NEAR(deviation, 6 / std::sqrt(12.0), 0.02);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -4);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 2);
}

TEST(Fill, DependsOnSeedBufferAndIndexAlone) {
  const Workload::Buffer wanted = buffer("bf16", 1000, Fill::Kind::normal);
  EXPECT_EQ(filled(wanted, 7), filled(wanted, 7));
  EXPECT_NE(filled(wanted, 7), filled(wanted, 8));
  EXPECT_NE(filled(wanted, 7, 0), filled(wanted, 7, 1));
  const std::vector<double> longer = filled(buffer("bf16", 2000, Fill::Kind::normal), 7);
  EXPECT_EQ(filled(wanted, 7), std::vector<double>(longer.begin(), longer.begin() + 1000));
}

TEST(Fill, IntegersStayInTheirBoundsAndReachThem) {
  Workload::Buffer wanted = buffer("i32", 5000, Fill::Kind::integer);
  wanted.integer_low = -3;
  wanted.integer_high = 4;
  const std::vector<double> values = filled(wanted, 3);
  EXPECT_EQ(std::set<double>(values.begin(), values.end()), (std::set<double>{-3, -2, -1, 0, 1, 2, 3, 4}));
  wanted.integer_low = wanted.integer_high = 9;
  EXPECT_EQ(filled(wanted, 3), std::vector<double>(5000, 9));
}

TEST(Fill, PermutationsAreBijections) {
  for (const std::uint64_t count : {1, 2, 3, 5, 16, 17, 63, 64, 65, 1000, 4096, 10007}) {
    std::vector<double> values = filled(buffer("i64", count, Fill::Kind::permutation), count);
    if (count > 16) {
      EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
    }
    std::sort(values.begin(), values.end());
    for (std::uint64_t i = 0; i < count; ++i)
      ASSERT_EQ(values[i], static_cast<double>(i)) << count;
  }
}

TEST(Fill, OffsetsRiseFromZeroToTheirBound) {
  for (const std::uint64_t count : {2, 3, 5, 64, 65, 1000, 10007})
    for (const std::int64_t bound : {0, 1, 7, 100, 100000}) {
      Workload::Buffer wanted = buffer("i32", count, Fill::Kind::offsets);
      wanted.integer_high = bound;
      const std::vector<double> values = filled(wanted, count);
      EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << count << " to " << bound;
      EXPECT_EQ(values.front(), 0);
      EXPECT_EQ(values.back(), static_cast<double>(bound));
    }
  EXPECT_EQ(filled(buffer("i64", 1, Fill::Kind::offsets), 1), std::vector<double>{0});
}

TEST(Fill, SomeRangesOfOffsetsAreEmptyAndSomeLong) {
  constexpr std::uint64_t RANGES = 1000, MEAN = 16;
  Workload::Buffer wanted = buffer("i64", RANGES + 1, Fill::Kind::offsets);
  wanted.integer_high = RANGES * MEAN;
  const std::vector<double> values = filled(wanted, 5);
  int empty = 0, longer = 0;
  for (std::uint64_t i = 0; i < RANGES; ++i) {
    empty += values[i] == values[i + 1];
    longer += values[i + 1] - values[i] > 2 * MEAN;
  }
  EXPECT_GT(empty, 10);
  EXPECT_LT(empty, 500);
  EXPECT_GT(longer, 10);
  EXPECT_NE(values, filled(wanted, 6));
}

TEST(Fill, OffsetsInOneRangeLeaveTheOthersEmpty) {
  Workload::Buffer wanted = buffer("i32", 9, Fill::Kind::offsets);
  wanted.integer_high = 70;
  std::set<std::size_t> full;
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    const element::FillPlan plan = in_one_range(plan_fill(wanted, seed, 0));
    std::size_t rises = 0;
    for (std::uint64_t i = 0; i + 1 < wanted.count; ++i)
      if (element::fill_bits(plan, i) != element::fill_bits(plan, i + 1)) {
        ++rises;
        full.insert(i);
      }
    EXPECT_EQ(rises, 1u);
    EXPECT_EQ(element::fill_bits(plan, 0), 0u);
    EXPECT_EQ(element::fill_bits(plan, 8), 70u);
  }
  EXPECT_EQ(full.size(), 8u);
}

double error_of(element::DType dtype, double out, double reference, double magnitude_of_all,
                const Tolerance& tolerance) {
  const element::ErrorRule rule{dtype, tolerance.relative, tolerance.absolute, magnitude_of_all};
  return element::element_error(rule, encode_element(dtype, out), encode_element(dtype, reference));
}

TEST(Verify, AUnitInTheLastPlacePassesAndANarrowedTypeDoesNot) {
  const Tolerance f32 = tolerance_for({}, "f32"), bf16 = tolerance_for({}, "bf16"),
                  i32 = tolerance_for({}, "i32");
  EXPECT_LT(error_of(element::f32, 1 + 0x1p-22, 1, 1, f32), 1);
  EXPECT_GT(error_of(element::f32, 1 + 0x1p-10, 1, 1, f32), 1); // a half in between
  EXPECT_LT(error_of(element::bf16, 1 + 0x1p-7, 1, 1, bf16), 1);
  EXPECT_GT(error_of(element::bf16, 1 + 0x1p-4, 1, 1, bf16), 1);
  EXPECT_EQ(error_of(element::s32, 5, 5, 5, i32), 0);
  EXPECT_GT(error_of(element::s32, 5, 6, 5, i32), 1);
}

TEST(Verify, ZerosDoNotPassForSmallNumbers) {
  const Tolerance f32 = tolerance_for({}, "f32");
  EXPECT_GT(error_of(element::f32, 0, 1e-12, 1e-12, f32), 1);
  EXPECT_LT(error_of(element::f32, 1e-7, -1e-7, 1, f32), 1); // cancelled: judged by what it came from
}

TEST(Verify, NonFiniteValuesMatchTheirOwnClass) {
  const Tolerance f32 = tolerance_for({}, "f32");
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of(element::f32, nan, nan, 1, f32), 0);
  EXPECT_EQ(error_of(element::f32, infinity, infinity, 1, f32), 0);
  for (const auto& [out, reference] : {std::pair{nan, 1.0},
                                       {1.0, nan},
                                       {infinity, -infinity},
                                       {infinity, 1.0},
                                       {1.0, infinity},
                                       {nan, infinity}})
    EXPECT_GT(error_of(element::f32, out, reference, 1, f32), 1);
}

TEST(Verify, GivenTolerancesWin) {
  EXPECT_EQ(tolerance_for({{"f32", {0.5, 0}}}, "f32").relative, 0.5);
  EXPECT_EQ(tolerance_for({{"i8", {0, 1}}}, "i8").absolute, 1);
  EXPECT_EQ(tolerance_for({{"i8", {0, 1}}}, "i16").absolute, 0);
}

// Scores of a matrix product, by f32 sums of 2048 terms from the front and in 32 strands: what they came from
// is sqrt(16384) times as large as a term, and a few of many cancel.
TEST(Verify, SumsInAnotherOrderPassByTheNumberOfTheirTerms) {
  constexpr int TERMS = 16384, SUMS = 1024, STRANDS = 32;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> reference(SUMS), reordered(SUMS), narrowed(SUMS);
  for (int i = 0; i < SUMS; ++i) {
    std::array<float, STRANDS> strands{};
    float narrow = 0;
    for (int k = 0; k < TERMS; ++k) {
      const float term = normal(random);
      reference[i] += term;
      strands[k % STRANDS] += term;
      narrow = static_cast<float>(decode_element(element::f16, encode_element(element::f16, narrow + term)));
    }
    for (const float strand : strands)
      reordered[i] += strand;
    narrowed[i] = narrow;
  }
  Tolerance allowed = tolerance_for({}, "f32");
  const double size = magnitude(element::f32, std::as_bytes(std::span(reference)));
  const auto failures = [&](const std::vector<float>& out) {
    return compare_buffers({element::f32, allowed.relative, allowed.absolute, size},
                           std::as_bytes(std::span(out)), std::as_bytes(std::span(reference)))
        .failures;
  };
  EXPECT_GT(failures(reordered), 0u);
  allowed.absolute = reordering_share("f32", TERMS) * size;
  EXPECT_EQ(failures(reordered), 0u);
  EXPECT_GT(failures(narrowed), SUMS / 2u); // an accumulator of 16 bits
}

TEST(Verify, OnlySumsOfRealNumbersWhoseLengthIsKnownMayBeReordered) {
  EXPECT_EQ(reordering_share("f32", 0), 0);
  EXPECT_EQ(reordering_share("i32", 2048), 0);
  EXPECT_DOUBLE_EQ(reordering_share("f32", 64), 64 * 0x1p-24);
  EXPECT_DOUBLE_EQ(reordering_share("bf16", 64), 64 * 0x1p-24);
  EXPECT_DOUBLE_EQ(reordering_share("f64", 64), 64 * 0x1p-53);
  EXPECT_EQ(reordering_share("f32", 1e12), reordering_share("f32", 0x1p20));
  Workload workload;
  workload.operations = 4096;
  workload.buffers = {{"in", "f32", Direction::in, 1000, {}}, {"out", "f32", Direction::out, 64, {}}};
  EXPECT_EQ(operations_an_output(workload), 64);
  workload.operations = 0;
  EXPECT_EQ(operations_an_output(workload), 0);
}

TEST(Verify, ComparesBuffersAndDescribesTheFirstFailure) {
  std::vector<float> reference(100, 2.0f), out(100, 2.0f);
  out[17] = 3.5f;
  std::memset(&out[20], 0xff, 4);
  const element::ErrorRule rule{element::f32, 0x1p-15, 0,
                                magnitude(element::f32, std::as_bytes(std::span(reference)))};
  const BufferDifference found =
      compare_buffers(rule, std::as_bytes(std::span(out)), std::as_bytes(std::span(reference)));
  EXPECT_EQ(found.failures, 2u);
  EXPECT_EQ(found.first, 17u);
  EXPECT_EQ(describe_difference("y", element::f32, found, bits_of(out[17]), bits_of(reference[17]), 100,
                                POISONS[0]),
            "y[17] is 3.5 where the raw kernel gives 2 (2 of 100 elements differ)");
  EXPECT_EQ(describe_difference("y", element::f32, {0, 1, 20}, bits_of(out[20]), bits_of(reference[20]), 100,
                                POISONS[0]),
            "y[20] was not written where the raw kernel gives 2 (1 of 100 elements differ)");
}

TEST(Verify, AFewElementsALittleOffMayBeASumWhoseLengthNobodySaid) {
  EXPECT_NE(reordering_hint(element::f32, {1.2, 1, 7}, 262144, 0), "");
  EXPECT_EQ(reordering_hint(element::f32, {1.2, 1, 7}, 262144, 1e-5), ""); // it was said
  EXPECT_EQ(reordering_hint(element::f32, {500, 1, 7}, 262144, 0), "");
  EXPECT_EQ(reordering_hint(element::f32, {1.2, 1, 7}, 100, 0), "");
  EXPECT_EQ(reordering_hint(element::s32, {1.2, 1, 7}, 262144, 0), "");
}

// What masks scores says nothing of how large the others are; a large number that comes once, or near others,
// does.
TEST(Verify, ANumberThatMarksIsNoMagnitude) {
  const auto of = [](const std::vector<float>& values) {
    return magnitude(element::f32, std::as_bytes(std::span(values)));
  };
  EXPECT_DOUBLE_EQ(of({1, -1, 1, -1e9f, -1e9f}), 1);
  EXPECT_DOUBLE_EQ(of({1, -1, 1, -1e9f, 3e38f, 3e38f, -1e9f}), 1);
  EXPECT_GT(of({1, -1, 1, 1, -1e9f}), 1e8);
  EXPECT_GT(of({1, -1, 1, 500, 500}), 300);
  EXPECT_DOUBLE_EQ(of({0, 0, 0, 7, 7, 7}), std::sqrt(49.0 / 2));
  EXPECT_DOUBLE_EQ(of({}), 0);
}

TEST(Verify, GuardBandsShowTheFirstDamage) {
  std::vector<std::byte> band(GUARD_BYTES);
  for (std::size_t i = 0; i < band.size(); ++i)
    band[i] = guard_byte(i);
  EXPECT_FALSE(damaged_guard(band).has_value());
  band[300] = std::byte{0};
  EXPECT_EQ(damaged_guard(band), 300u);
}

} // namespace
} // namespace lathe
