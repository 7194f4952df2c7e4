#include "tuner/measure/host_executor/lane_masks.h"

#include "tests/tuner/measure/host_executor/support.h"

namespace lathe::testing {
namespace {

using host::lane_mask_at;

// Whether one begins at the text's first bracket.
bool is_mask(std::string_view text, std::string_view previous = "=") {
  return lane_mask_at(text, text.find('('), previous).has_value();
}

TEST(LaneMasks, AreOperandsOfTheirOwn) {
  EXPECT_TRUE(is_mask("(1<<lane)-1;"));
  EXPECT_TRUE(is_mask("( 1 << (threadIdx.x % 32) ) - 1)", "&"));
  EXPECT_TRUE(is_mask("(1 << bits[i + 1]) - 1 & x;", "return"));
  EXPECT_FALSE(is_mask("(1 << lane) - 1;", "*"));
  EXPECT_FALSE(is_mask("(1 << lane) - 1;", "-"));
  EXPECT_FALSE(is_mask("(1 << lane) - 1 * x;"));
  EXPECT_FALSE(is_mask("(1 << lane) - 1u;"));
  EXPECT_FALSE(is_mask("(1 << lane) - 10;"));
  EXPECT_FALSE(is_mask("(1 << lane) + 1;"));
  EXPECT_FALSE(is_mask("(1u << lane) - 1;"));
  EXPECT_FALSE(is_mask("(11 << lane) - 1;"));
  EXPECT_FALSE(is_mask("(2 << lane) - 1;"));
  EXPECT_FALSE(is_mask("(1 << a == b) - 1;"));
  EXPECT_FALSE(is_mask("(1 << a"));
  EXPECT_FALSE(is_mask("(1 << a; ) - 1;"));
  EXPECT_FALSE(is_mask("(1"));
}

TEST(LaneMasks, OfTheLastLaneDoNotOverflow) {
  const auto out = run<int>("__global__ void k(int* out, const int* in, int n) {\n"
                            "  const int lane = threadIdx.x, below = (1 << lane) - 1;\n"
                            "  out[lane] = below;\n"
                            "  out[32 + lane] = __popc(0x80000001u & ((1 << (lane & ((1 << 5) - 1))) - 1));\n"
                            "}",
                            shape(1, 32), 64, std::vector<int>{0});
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[5], 31);
  EXPECT_EQ(out[31], 0x7fffffff);
  EXPECT_EQ(out[32], 0);
  EXPECT_EQ(out[63], 1);
}

} // namespace
} // namespace lathe::testing
