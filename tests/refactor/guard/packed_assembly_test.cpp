#include "refactor/guard/packed_assembly.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

TEST(OperationsOf, APairIsTwiceTheOne) {
  EXPECT_EQ(operations_of("{fma.rn.f16x2 $0,$1,$2,$3; }"), operations_of("{fma.rn.f16 $0,$1,$2,$3; }"));
  EXPECT_EQ(operations_of("{.reg .f16 low; cvt.rn.f16.f32 low, $1; mov.b32 $0, {low,low};} "),
            operations_of("{ cvt.rn.f16.f32 $0, $1;} "));
  // A product as a sum with -0.
  EXPECT_EQ(operations_of("{.reg .b32 c; mov.b32 c, 0x80008000U; fma.rn.bf16x2 $0,$1,$2,c;}"),
            operations_of("{.reg .b16 c; mov.b16 c, 0x8000U; fma.rn.bf16 $0,$1,$2,c;}"));
}

TEST(OperationsOf, TellsRoundingLimitsAndNumbersApart) {
  EXPECT_NE(operations_of("{add.f16 $0,$1,$2; }"), operations_of("{fma.rn.f16 $0,$1,$2,$3; }"));
  EXPECT_NE(operations_of("{max.NaN.f16x2 $0,$1,$2; }"), operations_of("{max.f16 $0,$1,$2; }"));
  EXPECT_NE(operations_of("cvt.rz.f16.f32 $0, $1;"), operations_of("cvt.rn.f16.f32 $0, $1;"));
  EXPECT_NE(operations_of("{.reg .b16 c; mov.b16 c, 0x8000U; fma.rn.bf16 $0,$1,$2,c;}"),
            operations_of("{fma.rn.bf16 $0,$1,$2,$3;}"));
}

TEST(OperationsOf, LeavesOutMoves) {
  EXPECT_EQ(operations_of("{.reg .f16 low,high; mov.b32 {low,high}, $1; mov.b16 $0, high;}"), "");
  EXPECT_EQ(operations_of("mov.b16 $0, 0x7fffU;"), "");
  EXPECT_EQ(operations_of("prmt.b32 $0, $1, $2, 0x7632;"), "");
}

TEST(OperationsOf, OfBitsAloneAreToldApart) {
  EXPECT_TRUE(work_on_bits_alone(operations_of("shf.r.wrap.b32 $0, $1, $2, $3;")));
  EXPECT_TRUE(
      work_on_bits_alone(operations_of("{.reg .u32 a; bfind.u32 a, $1; shf.l.clamp.b32 $0, a, a, 3;}")));
  EXPECT_FALSE(work_on_bits_alone(operations_of("shf.r.wrap.b32 $0, $1, $2, $3; add.f16 $0, $1, $2;")));
  EXPECT_FALSE(work_on_bits_alone(operations_of("cvt.rz.f16.f32 $0, $1;")));
  EXPECT_FALSE(work_on_bits_alone(operations_of("mov.b16 $0, 0x7fffU;")));
}

} // namespace
} // namespace lathe::refactor
