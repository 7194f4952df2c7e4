// Which inline PTX only computes.
#include "refactor/knobs/inline_assembly.h"

#include "refactor/knobs/kernel_view.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

// Of the first statement of inline assembly in a kernel with that body.
bool only_computes(const std::string& body) {
  ParseOptions options;
  options.overlay["/lathe/k.cu"] = "__global__ void k(float* out, const float* in, unsigned a, unsigned b) "
                                   "{\n  unsigned x = a;\n  float f = "
                                   "0;\n  " +
                                   body + "\n  out[threadIdx.x] = f + x;\n}\n";
  const auto source = ParsedSource::parse("/lathe/k.cu", options);
  EXPECT_TRUE(source.ok());
  if (!source.ok())
    return false;
  EXPECT_TRUE((*source)->errors().empty()) << (*source)->errors().front();
  const auto kernel = find_kernel(**source, "k");
  EXPECT_TRUE(kernel.ok());
  const KernelView view(**source, *kernel);
  const clang::AsmStmt* found = nullptr;
  view.visit([&](const clang::Stmt* statement) {
    if (const auto* assembly = clang::dyn_cast<clang::AsmStmt>(statement); assembly && !found)
      found = assembly;
  });
  EXPECT_TRUE(found);
  return found && is_computation(found);
}

TEST(InlineAssembly, WhatComputes) {
  EXPECT_TRUE(only_computes(R"(asm volatile("cvt.rni.sat.s8.f32 %0, %1;\n" : "=r"(x) : "f"(f));)"));
  EXPECT_TRUE(only_computes(R"(asm("lop3.b32 %0, %1, %2, %0, 0xea;" : "+r"(x) : "r"(a), "r"(b));)"));
  EXPECT_TRUE(only_computes(
      R"(asm("{\n .reg .pred p;\n setp.ne.u32 p, %1, 0;\n @p add.u32 %0, %0, %2;\n}\n" : "+r"(x) : "r"(a), "r"(b));)"));
  EXPECT_TRUE(only_computes(R"(asm("tanh.approx.f32 %0, %1;" : "=f"(f) : "f"(f));)"));
}

TEST(InlineAssembly, WhatDoesMore) {
  // Memory, other threads, who runs it, when.
  EXPECT_FALSE(only_computes(R"(asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(f) : "l"(in));)"));
  EXPECT_FALSE(only_computes(R"(asm volatile("st.global.u32 [%1], %0;" : "+r"(x) : "l"(out));)"));
  EXPECT_FALSE(only_computes(R"(asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(x) : "r"(a));)"));
  EXPECT_FALSE(only_computes(R"(asm volatile("add.u32 %0, %1, 1;\n bar.sync 0;" : "=r"(x) : "r"(a));)"));
  EXPECT_FALSE(only_computes(R"(asm volatile("mov.u32 %0, %%laneid;" : "=r"(x));)"));
  EXPECT_FALSE(only_computes(R"(asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));)"));
  EXPECT_FALSE(only_computes(R"(asm volatile("mov.u32 %0, %%clock;" : "=r"(x));)"));
  EXPECT_FALSE(only_computes(R"(asm volatile("mov.u32 %0, %1;" : "=r"(x) : "r"(a) : "memory");)"));
  // An address, whose memory something may follow, a jump, and nothing that can be read.
  EXPECT_FALSE(only_computes(R"(asm volatile("cvt.u32.u64 %0, %1;" : "=r"(x) : "l"(in));)"));
  EXPECT_FALSE(
      only_computes(R"(asm volatile("add.u32 %0, %1, 1;\n bra DONE;\n DONE:" : "=r"(x) : "r"(a));)"));
  EXPECT_FALSE(only_computes(R"(asm volatile("" : "+r"(x));)"));
  EXPECT_FALSE(only_computes(R"(asm volatile("griddepcontrol.wait;");)"));
}

} // namespace
} // namespace lathe::refactor
