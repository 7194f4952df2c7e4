// Stores that go together: which loops are taken, what holds others back, and that the default stays the raw
// kernel's machine code.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

const char* const restricted = "unsigned char* __restrict__ out, const float* __restrict__ in, int n, int d";
const char* const overlapping = "unsigned char* out, const float* in, int n, int d";

// Every thread gives eight consecutive bytes. What stands in the inner loop and behind it can be exchanged.
Facts bytes(const std::string& body, const char* parameters = restricted, const std::string& rounds = "8") {
  return plain(kernel(
      "  float x[8];\n  float sum = 0;\n  const int first = threadIdx.x * 8;\n"
      "  for (int j = 0; j < 8; ++j)\n    x[j] = in[first + j];\n#pragma unroll\n  for (int j = 0; j < " +
          rounds + "; ++j) {\n" + body + "  }\n",
      "struct byte_of {\n  unsigned char v;\n};\n"
      "__device__ int next(int j) { return j + 1; }\n",
      parameters));
}
const std::string store = "    const float y = x[j] * 2.0f;\n    out[first + j] = (unsigned char)y;\n";

TEST(PackStores, GoBehindTheLoopInWideAccesses) {
  for (const char* parameters : {restricted, overlapping}) {
    const Facts facts = bytes(store, parameters);
    const Outcome outcome = apply_rule("pack-stores", facts);
    ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
    EXPECT_TRUE(
        outcome.has("  lathe_packed<unsigned char, PACK_STORES == 0 ? 1 : 8> lathe_values;\n#pragma unroll\n"
                    "  for (int j = 0; j < 8; ++j) {\n"))
        << outcome.candidate.text;
    EXPECT_TRUE(outcome.has(
        "(PACK_STORES == 0 ? out[first + j] : lathe_values.element[j]) = (unsigned char)y;\n  }\n"
        "  if constexpr (PACK_STORES == 1)\n    lathe_store_packed(lathe_values, &out[first + 0]);"));
    const std::string raw = machine_code(facts.text, "k");
    EXPECT_EQ(raw, machine_code(outcome.candidate.text, "k<0>"));
    const std::string packed = machine_code(outcome.candidate.text, "k<1>");
    EXPECT_NE(packed.rfind("error", 0), 0u) << packed;
    EXPECT_NE(packed, raw);
  }
}

TEST(PackStores, ALoopWithoutABlockAndANumberOfRoundsThatIsNoPowerOfTwo) {
  const Facts facts = plain(kernel("  constexpr int count = 3;\n  for (int j = 0; j < count; ++j)\n"
                                   "    out[threadIdx.x * count + j] = n * j;\n",
                                   "", "short* out, int n, int d"));
  const Outcome outcome = apply_rule("pack-stores", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(machine_code(facts.text, "k"), machine_code(outcome.candidate.text, "k<0>"));
  EXPECT_NE(machine_code(outcome.candidate.text, "k<1>").rfind("error", 0), 0u);
}

class NotPacked : public ::testing::TestWithParam<Row> {};
TEST_P(NotPacked, IsRefused) {
  check(GetParam());
}

Row refused(const char* name, const std::string& body, const char* parameters = restricted,
            const std::string& rounds = "8") {
  return Row{name, "pack-stores", bytes(body, parameters, rounds), "", "stores consecutive elements"};
}

INSTANTIATE_TEST_SUITE_P(
    PackStores, NotPacked,
    ::testing::Values(
        refused("RoundsThatTheLaunchDecides", store, restricted, "d"),
        refused("EverySecondPlace", "    out[first + 2 * j] = (unsigned char)x[j];\n"),
        refused("OnePlace", "    out[first] = (unsigned char)x[j];\n"),
        refused("UnderACondition", "    if (first + j < n)\n      out[first + j] = (unsigned char)x[j];\n"),
        refused("ThatMayEnd", "    if (x[j] > 3)\n      break;\n    out[first + j] = (unsigned char)x[j];\n"),
        refused("TwoOfThem", store + "    out[n + first + j] = 1;\n"),
        refused("BehindAnAtomicOperation", "    atomicAdd((int*)out, 1);\n" + store),
        refused("ThatReadsWhatItStores", "    sum += out[first];\n" + store),
        refused("ThatReadsWhatMayBeTheSame", "    sum += in[first + j];\n" + store, overlapping),
        refused("WhereTheStartMoves",
                "    int at = first;\n    at += j;\n    out[at] = (unsigned char)x[j];\n"),
        refused("AtAnIndexFromMemory", "    out[(int)in[j] + j] = (unsigned char)x[j];\n"),
        refused("AnUpdate", "    out[first + j] += (unsigned char)x[j];\n")),
    [](const auto& row) { return std::string(row.param.name); });

} // namespace
} // namespace lathe::refactor::testing
