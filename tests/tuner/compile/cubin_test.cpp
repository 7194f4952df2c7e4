// Reading cubins: what equal and different kernels look like, and that no damage is read as a kernel.
#include "tests/tuner/compile/compile_testing.h"

#include <algorithm>

namespace lathe::test {
namespace {

CompiledKernel compiled(const std::string& source, const std::string& instance,
                        const char* architecture = "sm_90") {
  auto result = compile_kernel(source, instance, {}, architecture);
  EXPECT_TRUE(result.ok()) << result.error().sentence();
  return result.ok() ? *result : CompiledKernel{};
}

TEST(Cubin, AConstantMadeAParameterIsTheSameImage) {
  const auto raw = compiled(R"(
__global__ void raw(float* out, const float* in, int n) {
  __shared__ float tile[128];
  constexpr int block = 128;
  int i = blockIdx.x * block + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  if (i < n) out[i] = tile[block - 1 - threadIdx.x] / 3.f;
})",
                            "raw");
  const auto made = compiled(R"(
template <int BLOCK> __global__ void made(float* out, const float* in, int n) {
  __shared__ float tile[BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  if (i < n) out[i] = tile[BLOCK - 1 - threadIdx.x] / 3.f;
}
template __global__ void made<64>(float*, const float*, int);
)",
                             "made<128>");
  EXPECT_EQ(image(raw), image(made));
  EXPECT_FALSE(image(raw).text.empty());
  EXPECT_EQ(image(raw).shared_bytes, image(made).shared_bytes);
  EXPECT_GE(image(raw).constant_bytes, 20u);
}

TEST(Cubin, WhatDiffersIsSeenWhereItDiffers) {
  const std::string source = R"(
__constant__ float table[4] = {1, 2, 3, 4};
template <int V> __global__ void k(float* p, int n) {
  __shared__ float tile[V == 1 ? 256 : 128];
  tile[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = tile[127 - threadIdx.x] * (V == 2 ? 3.0f : 2.0f) + (V == 3 ? table[n] : 0.f);
}
template <int V> __global__ void __launch_bounds__(V) bounded(float* p, int n) { p[threadIdx.x] = n; }
)";
  const KernelImage base = image(compiled(source, "k<0>"));
  EXPECT_NE(image(compiled(source, "k<1>")).shared_bytes, base.shared_bytes);
  EXPECT_NE(image(compiled(source, "k<2>")).text, base.text);
  EXPECT_NE(image(compiled(source, "k<3>")), base);
  EXPECT_NE(image(compiled(source, "bounded<128>")).info, image(compiled(source, "bounded<256>")).info);
}

TEST(Cubin, ImagesAreReproducible) {
  const std::string source = "template <int V> __global__ void k(float* p) { p[threadIdx.x] = expf(p[V]); }";
  CompilerOptions options;
  options.use_cache = false;
  const auto pool = compiler(options);
  const auto alone = pool->compile(request(source, {"k<7>"}));
  const auto together = pool->compile(request(source, {"k<5>", "k<6>", "k<7>", "k<8>"}));
  ASSERT_TRUE(alone[0].ok() && together[2].ok());
  EXPECT_EQ(image(alone[0].kernel), image(together[2].kernel));
}

TEST(Cubin, ListsItsKernels) {
  const auto kernel = compiled(R"(
__device__ __noinline__ int helper(int x) { return x * x + 1; }
__global__ void a(int* p) { p[0] = helper(p[0]); }
extern "C" __global__ void b(int* p) { p[0] = helper(p[1]); }
)",
                               "a");
  auto entries = kernel_entries(*kernel.cubin);
  ASSERT_TRUE(entries.ok());
  std::sort(entries->begin(), entries->end());
  EXPECT_EQ(*entries, (std::vector<std::string>{"_Z1aPi", "b"}));
}

TEST(Cubin, DamageIsNeverReadAsAKernel) {
  const auto kernel = compiled("__global__ void k(float* p) { p[threadIdx.x] = sinf(p[0]); }", "k");
  const std::string& good = *kernel.cubin;
  EXPECT_FALSE(kernel_image("", kernel.entry).ok());
  EXPECT_FALSE(
      kernel_image("not an ELF file at all, but long enough to hold a header of that kind, really", "k")
          .ok());
  EXPECT_FALSE(kernel_image(good, "another").ok());
  const KernelImage whole = image(kernel);
  for (std::size_t size = 0; size < good.size(); size += 13)
    if (const auto part = kernel_image(std::string_view(good).substr(0, size), kernel.entry); part.ok()) {
      EXPECT_EQ(*part, whole) << size; // only what follows the last section is missing
    }
  // Flipped bytes must not crash the reader, whatever they mean.
  for (std::size_t at = 0; at < good.size(); at += 3) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0xff);
    (void)kernel_image(bad, kernel.entry);
    (void)kernel_entries(bad);
  }
}

} // namespace
} // namespace lathe::test
