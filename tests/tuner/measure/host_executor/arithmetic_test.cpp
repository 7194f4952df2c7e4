// CUDA's types, intrinsics and inline assembly, against values worked out by hand or by the C++ library.
#include "tests/tuner/measure/host_executor/support.h"

#include <cmath>
#include <limits>

namespace lathe::testing {
namespace {

std::vector<float> evaluate(const std::string& expressions, const std::vector<float>& in,
                            std::size_t results) {
  return run<float>("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"
                    "__global__ void k(float* out, const float* in, int n) {\n" +
                        expressions + "\n}",
                    shape(1, 1), results, in);
}

TEST(SmallFormats, RoundToNearestEven) {
  // Half: 11 bits; bf16: 8 bits.
  const auto out = evaluate("out[0] = __half2float(__float2half(in[0]));"
                            "out[1] = __bfloat162float(__float2bfloat16(in[1]));"
                            "out[2] = static_cast<float>(static_cast<__half>(in[2]));"
                            "out[3] = static_cast<float>(__nv_bfloat16(in[3]) + __nv_bfloat16(1.0f));",
                            {2049.0f, 257.0f, 70000.0f, 0.00390625f}, 4);
  EXPECT_EQ(out[0], 2048.0f);
  EXPECT_EQ(out[1], 256.0f);
  EXPECT_EQ(out[2], std::numeric_limits<float>::infinity());
  EXPECT_EQ(out[3], 1.0f); // 1 + 2^-8 is a tie, to even
}

TEST(SmallFormats, PairsAndEightBits) {
  const auto out =
      evaluate("const __half2 h = __hadd2(__floats2half2_rn(in[0], in[1]), __float2half2_rn(1.0f));"
               "out[0] = __low2float(h); out[1] = __high2float(h);"
               "out[2] = static_cast<float>(__nv_fp8_e4m3(in[2]));"
               "out[3] = static_cast<float>(__nv_fp8_e5m2(in[3]));",
               {1.5f, -2.0f, 1000.0f, 1.1f}, 4);
  EXPECT_EQ(out[0], 2.5f);
  EXPECT_EQ(out[1], -1.0f);
  EXPECT_EQ(out[2], 448.0f); // saturates
  EXPECT_EQ(out[3], 1.0f);
}

TEST(Intrinsics, RoundingModes) {
  const auto out = evaluate("out[0] = __fadd_ru(in[0], in[1]); out[1] = __fadd_rd(in[0], in[1]);"
                            "out[2] = __float2int_rz(in[2]); out[3] = __float2int_rn(in[2]);"
                            "out[4] = __int_as_float(__float_as_int(in[0])); out[5] = __saturatef(in[3]);",
                            {1.0f, 1e-10f, -2.5f, 1.7f}, 6);
  EXPECT_EQ(out[0], std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(out[1], 1.0f);
  EXPECT_EQ(out[2], -2.0f);
  EXPECT_EQ(out[3], -2.0f);
  EXPECT_EQ(out[4], 1.0f);
  EXPECT_EQ(out[5], 1.0f);
}

TEST(Intrinsics, Integers) {
  const auto out =
      run<int>("__global__ void k(int* out, const int* in, int n) {"
               "out[0] = __clz(in[0]); out[1] = __popc(in[1]); out[2] = __ffs(in[2]);"
               "out[3] = __mulhi(in[3], in[3]); out[4] = __byte_perm(0x33221100, 0x77665544, 0x7531);"
               "out[5] = __umulhi(0xffffffffu, 2u); out[6] = __dp4a(0x01010101, 0x01020304, 5);"
               "out[7] = min(-1, 3); }",
               shape(1, 1), 8, {1, 0xff, 8, 1 << 20});
  EXPECT_EQ(out, (std::vector<int>{31, 8, 4, 1 << 8, 0x77553311, 1, 15, -1}));
}

TEST(Intrinsics, ProductsOfSmallIntegers) {
  const auto out = run<int>(
      "__global__ void k(int* out, const int* in, int n) {"
      "char4 bytes = make_char4(-1, 2, -3, 4); short2 words = make_short2(-300, 500);"
      "out[0] = __dp4a(bytes, make_char4(5, 6, 7, -8), in[0]);"
      "out[1] = (int)__dp4a(make_uchar4(255, 2, 3, 4), make_uchar4(255, 6, 7, 8), 1u);"
      "out[2] = __dp2a_lo(words, bytes, 1); out[3] = __dp2a_hi(words, bytes, 1);"
      "int packed_words = (500 << 16) | (-300 & 0xffff); int packed_bytes = 0x04fd02ff;" // the same, in one
                                                                                         // number each
      "out[4] = __dp2a_lo(packed_words, packed_bytes, 1); out[5] = __dp2a_hi(packed_words, packed_bytes, 1);"
      "out[6] = (int)__dp2a_lo(0x0002ffffu, 0x040302ffu, 1u);"
      "out[7] = (int)__dp2a_hi(make_ushort2(65535, 2), make_uchar4(1, 2, 255, 4), 1u); }",
      shape(1, 1), 8, {10});
  EXPECT_EQ(out, (std::vector<int>{10 - 5 + 12 - 21 - 32, 1 + 255 * 255 + 12 + 21 + 32, 1 + 300 + 1000,
                                   1 + 900 + 2000, 1 + 300 + 1000, 1 + 900 + 2000, 1 + 65535 * 255 + 4,
                                   1 + 65535 * 255 + 8}));
}

TEST(Math, NormsAndInverses) {
  const auto out = evaluate(
      "out[0] = norm3df(in[0], in[1], in[2]); out[1] = rnorm3df(in[0], in[1], in[2]);"
      "out[2] = norm(2, (const double[]){3, 4}); out[3] = rnorm4df(in[2], in[2], in[2], in[2]);"
      "out[4] = erff(erfinvf(in[3])); out[5] = erfcf(erfcinvf(in[4])); out[6] = normcdff(normcdfinvf(in[5]));"
      "out[7] = erfcxf(in[6]); out[8] = erfcxf(1.0f); out[9] = cyl_bessel_i0f(1.0f);"
      "out[10] = cyl_bessel_i1f(-1.0f); out[11] = erfinv(1.0);",
      {1.0f, 2.0f, 2.0f, 1e-7f, 1e-20f, 0.975f, 100.0f}, 12);
  const std::vector<float> expected{3.0f,        1 / 3.0f,    5.0f,         0.25f,
                                    1e-7f,       1e-20f,      0.975f,       0.00564161378f,
                                    0.42758358f, 1.26606588f, -0.56515910f, HUGE_VALF};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_FLOAT_EQ(out[i], expected[i]) << i;
}

TEST(Math, FunctionsOfTheLibrary) {
  const auto out =
      evaluate("out[0] = rsqrtf(in[0]); out[1] = __expf(in[1]); out[2] = fmaxf(in[2], in[0]);"
               "out[3] = isinf(in[3]) ? 1.0f : 0.0f; out[4] = exp2f(in[0]); out[5] = erff(in[1]);",
               {4.0f, 1.0f, std::nanf(""), std::numeric_limits<float>::infinity()}, 6);
  EXPECT_FLOAT_EQ(out[0], 0.5f);
  EXPECT_NEAR(out[1], std::exp(1.0f), 1e-6f);
  EXPECT_EQ(out[2], 4.0f); // NaN loses
  EXPECT_EQ(out[3], 1.0f);
  EXPECT_EQ(out[4], 16.0f);
  EXPECT_FLOAT_EQ(out[5], std::erf(1.0f));
}

TEST(Assembly, KnownInstructions) {
  const auto out = run<int>(R"(
__global__ void k(int* out, const int* in, int n) {
  int a, b, c;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(a));
  asm("{ .reg .u32 t; add.u32 t, %1, %2; shl.b32 %0, t, 1; }" : "=r"(b) : "r"(in[0]), "r"(in[1]));
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(c) : "l"(in + 1));
  asm volatile("griddepcontrol.wait;");
  out[3 * threadIdx.x] = a; out[3 * threadIdx.x + 1] = b; out[3 * threadIdx.x + 2] = c;
})",
                            shape(1, 2), 6, {3, 4});
  EXPECT_EQ(out, (std::vector<int>{0, 14, 4, 1, 14, 4}));
}

TEST(Assembly, PointersWithQualifiersAreAddresses) {
  const auto out = run<int>(R"(
template <class P> __device__ int load(P from) {
  int value;
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(from));
  return value;
}
__global__ void k(int* out, const int* in, int n) {
  const void* __restrict const fixed = in;
  int value;
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(fixed));
  out[0] = value;
  out[1] = load<const volatile int* __restrict>(in + 1);
})",
                            shape(1, 1), 2, {3, 4});
  EXPECT_EQ(out, (std::vector<int>{3, 4}));
}

TEST(Assembly, AnUnknownInstructionFailsWhereItIsExecuted) {
  const HostRunResult result =
      outcome("__global__ void k(float* out, const float*, int) {\n  if (threadIdx.x == 0)\n"
              "    asm volatile(\"mbarrier.frobnicate.b64 [%0];\" :: \"l\"(out));\n}",
              shape(1, 32), 16, {});
  EXPECT_NE(result.outcome, Outcome::ok);
  EXPECT_NE(result.reason.find("mbarrier.frobnicate"), std::string::npos) << result.reason;
}

TEST(Simd, HalvesAndBytesOfAWord) {
  const auto out = run<unsigned>(R"(
__global__ void k(unsigned* out, const unsigned* in, int n) {
  const unsigned a = in[0], b = in[1];
  out[0] = __vadd4(a, b);
  out[1] = __vsubss4(a, b);
  out[2] = __vaddus4(a, b);
  out[3] = __vmaxs2(a, b);
  out[4] = __vcmpgtu4(a, b);
  out[5] = __vseteq2(a, a);
  out[6] = __vsadu4(a, b);
  out[7] = __vabs2(a);
  out[8] = __vabsdiffs4(a, b);
  out[9] = __vavgu4(a, b);
})",
                                 shape(1, 1), 10, {0x80ff017fu, 0x7f020101u});
  EXPECT_EQ(out, (std::vector<unsigned>{0xff010280u, 0x80fd007eu, 0xffff0280u, 0x7f02017fu, 0xffff00ffu,
                                        0x00010001u, 1u + 253u + 0u + 126u, 0x7f01017fu, 0xff03007eu,
                                        0x80810140u}));
}

// cuRAND's headers include the toolkit's, which declare clock() once more.
TEST(Clock, MayBeDeclaredByHeadersToo) {
  const auto out = run<int>(R"(
extern "C" long clock(void) throw();
__global__ void k(int* out, const int* in, int n) {
  const long before = clock();
  out[0] = before != 0;
})",
                            shape(1, 1), 1, {0});
  EXPECT_EQ(out, (std::vector<int>{1}));
}

TEST(Memory, CacheHintsAndVectors) {
  const auto out = run<int>(R"(
__global__ void k(int* out, const int* in, int n) {
  int4 v = __ldcs(reinterpret_cast<const int4*>(in));
  v.w += __ldg(in);
  __stcs(reinterpret_cast<int4*>(out), v);
})",
                            shape(1, 1), 4, {1, 2, 3, 4});
  EXPECT_EQ(out, (std::vector<int>{1, 2, 3, 5}));
}

} // namespace
} // namespace lathe::testing
