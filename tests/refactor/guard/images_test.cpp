// PTX without names: what tells apart kernels whose machine code differs only by where the assembler put
// things.
#include "refactor/guard/images.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

std::string kernel(const std::string& parameters, const std::string& factor) {
  return "template <" + parameters +
         "> __global__ void k(float* out, const float* in) {\n  __shared__ float first[64];\n  __shared__ "
         "float "
         "second[32];\n  first[threadIdx.x] = in[threadIdx.x];\n  second[threadIdx.x / 2] = in[0];\n  "
         "__syncthreads();\n  out[threadIdx.x] = first[63 - threadIdx.x] * second[threadIdx.x % 32] * " +
         factor + ";\n}\n";
}

TEST(NamelessPtx, IsTheSameForOtherNamesAndNotForOtherCode) {
  const GuardOptions options;
  auto compiler = ImageCompiler::create(options);
  ASSERT_TRUE(compiler.ok()) << compiler.error().sentence();
  const KernelSource source;
  const auto raw = compiler->nameless_ptx(kernel("int A", "2.f"), source, {}, "k<1>");
  ASSERT_TRUE(raw.has_value());
  EXPECT_EQ(raw->find("_Z"), std::string::npos);
  EXPECT_NE(raw->find(".shared"), std::string::npos);
  EXPECT_EQ(raw, compiler->nameless_ptx(kernel("int A, unsigned B", "2.f"), source, {}, "k<1, 0>"));
  EXPECT_NE(raw, compiler->nameless_ptx(kernel("int A, unsigned B", "3.f"), source, {}, "k<1, 0>"));
  EXPECT_FALSE(compiler->nameless_ptx("nonsense", source, {}, "k<1>").has_value());
}

} // namespace
} // namespace lathe::refactor
