// Tensor cores on the host executor, against the definition of each instruction; tests/gpu holds the same
// kernels against a device.
#include "tests/tuner/measure/host_executor/matrix_cases.h"
#include "tests/tuner/measure/host_executor/support.h"

#include <algorithm>

namespace lathe::testing {
namespace {

void expect_defined(const std::vector<MatrixCase>& cases) {
  for (const MatrixCase& one : cases) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(run<std::uint32_t>(one.source, shape(1, 32), one.out.size(), one.in, {}, checked()), one.out);
  }
}

TEST(TensorCores, MultiplyAsDefined) {
  expect_defined(multiplications(1));
}

TEST(TensorCores, MoveMatricesAsDefined) {
  expect_defined(matrix_moves());
}

TEST(TensorCores, MultiplyFragmentsAsDefined) {
  expect_defined(wmma_products(1));
}

// 16 by 16 times 16 by 8, from shared memory: what ldmatrix gives is what mma takes.
constexpr const char* PRODUCT = R"(#include <cuda_fp16.h>
__global__ void k(float* out, const float* in, int n) {
  __shared__ __align__(16) __half a[16 * 16], b[16 * 8];
  for (int i = threadIdx.x; i < 256; i += 32) a[i] = __float2half(in[i]);
  for (int i = threadIdx.x; i < 128; i += 32) b[i] = __float2half(in[256 + i]);
  BARRIER
  unsigned ra[4], rb[2];
  const int lane = threadIdx.x;
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(a + lane % 16 * 16 + lane / 16 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(at));
  at = static_cast<unsigned>(__cvta_generic_to_shared(b + lane % 16 * 8)) + OFFSET;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(at));
  float d[4] = {};
  if (CONDITION)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  for (int i = 0; i < 4; ++i) out[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
})";

std::string product(const std::string& barrier, const std::string& condition, const std::string& offset) {
  std::string text = PRODUCT;
  for (const auto& [name, value] :
       {std::pair{"BARRIER", barrier}, std::pair{"CONDITION", condition}, std::pair{"OFFSET", offset}})
    text.replace(text.find(name), std::string(name).size(), value);
  return text;
}

TEST(TensorCores, TakeWhatLdmatrixLoads) {
  std::vector<float> in(384);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>(static_cast<int>(i * 7 % 13) - 6);
  std::vector<float> expected(128);
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 8; ++j)
      for (std::size_t k = 0; k < 16; ++k)
        expected[i * 8 + j] += in[i * 16 + k] * in[256 + k * 8 + j];
  EXPECT_EQ(run<float>(product("__syncthreads();", "true", "0"), shape(1, 32), 128, in, {}, checked()),
            expected);
}

TEST(TensorCores, WantAWholeWarp) {
  const auto result = outcome(product("__syncthreads();", "true", "0"), shape(1, 24), 384, checked());
  EXPECT_NE(result.outcome, Outcome::ok);
  EXPECT_NE(result.reason.find("all 32 lanes"), std::string::npos) << result.reason;
  const auto apart = outcome(product("__syncthreads();", "lane < 16", "0"), shape(1, 32), 384, checked());
  EXPECT_NE(apart.outcome, Outcome::ok) << apart.reason;
}

TEST(TensorCores, WantRowsAlignedAndWithinSharedMemory) {
  const auto misaligned = outcome(product("__syncthreads();", "true", "2"), shape(1, 32), 384, checked());
  EXPECT_NE(misaligned.reason.find("misaligned"), std::string::npos) << misaligned.reason;
  const auto outside = outcome(product("__syncthreads();", "true", "65536"), shape(1, 32), 384, checked());
  EXPECT_NE(outside.outcome, Outcome::ok) << outside.reason;
}

TEST(TensorCores, ReadWhatOtherLanesWroteBehindABarrierOnly) {
  const auto races = [](const std::string& barrier) {
    const HostKernel kernel = compile(product(barrier, "true", "0"), checked());
    auto out = HostBuffer::allocate(128 * sizeof(float)), in = HostBuffer::allocate(384 * sizeof(float));
    EXPECT_TRUE(out.ok() && in.ok());
    std::fill(in->as<float>().begin(), in->as<float>().end(), 1.f); // writes of what is there are no race
    HostRunOptions options;
    options.find_races = true;
    const std::vector<HostArgument> arguments{HostArgument::of(*out, "out"), HostArgument::of(*in, "in"),
                                              HostArgument::scalar(384)};
    const auto result = kernel.run(shape(1, 32), arguments, options);
    EXPECT_TRUE(result.ok() && result->outcome == Outcome::ok);
    return result.ok() ? result->races.size() : 0;
  };
  EXPECT_EQ(races("__syncwarp();"), 0u);
  EXPECT_GT(races(""), 0u);
}

TEST(TensorCores, NameWhatIsNotModelled) {
  const auto result = outcome(R"(__global__ void k(float* out, const float* in, int n) {
  unsigned a = 0, b = 0;
  float d[8] = {};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%8}, {%9,%9}, {%0,%1,%2,%3,%4,%5,%6,%7};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]) : "r"(a), "r"(b));
  out[threadIdx.x] = d[0];
})",
                              shape(1, 32), 32, {});
  EXPECT_NE(result.reason.find("mma.sync.aligned.m8n8k4"), std::string::npos) << result.reason;
}

} // namespace
} // namespace lathe::testing
