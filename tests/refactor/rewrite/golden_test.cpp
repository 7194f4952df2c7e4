// The whole text that a rule writes.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

Facts one(const std::string& text) {
  Facts facts;
  facts.text = text;
  facts.instance = "k";
  facts.dtypes.clear();
  return facts;
}

TEST(Golden, BlockSize) {
  const Outcome outcome = apply_rule("expose-block-size", one(R"(// Copies a row.
__global__ void k(float* out, const float* in, int d) {
  for (int i = threadIdx.x; i < d; i += blockDim.x) // stride
    out[i] = in[i];
}
)"));
  EXPECT_EQ(outcome.candidate.text, R"(// Copies a row.
template <unsigned BLOCK>
__global__ void k(float* out, const float* in, int d) {
  for (int i = threadIdx.x; i < d; i += (BLOCK == 0 ? blockDim.x : BLOCK)) // stride
    out[i] = in[i];
}
)");
}

TEST(Golden, Split) {
  const Outcome outcome = apply_rule("split-block", one(R"(__global__ void k(float* out, int d) {
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    out[i] = 0;
}
)"));
  EXPECT_EQ(outcome.candidate.text, R"(template <unsigned SPLIT>
__global__ void k(float* out, int d) {
  for (int i = (SPLIT == 1 ? threadIdx.x : threadIdx.x + blockIdx.y * blockDim.x); i < d; i += (blockDim.x * SPLIT))
    out[i] = 0;
}
)");
  EXPECT_EQ(outcome.candidate.launch.grid[1].text(), "SPLIT");
}

TEST(Golden, Unroll) {
  const Outcome outcome = apply_rule("expose-unroll", one(R"(__global__ void k(float* out, int d) {
#pragma unroll 1
  for (int i = 0; i < d; ++i)
    out[i] = 0;
  for (int i = 0; i < d; ++i)
    out[i] += 1;
}
)"));
  EXPECT_EQ(outcome.candidate.text, R"(template <int UNROLL, int UNROLL_2>
__global__ void k(float* out, int d) {
#pragma unroll UNROLL
  for (int i = 0; i < d; ++i)
    out[i] = 0;
#pragma unroll UNROLL_2
  for (int i = 0; i < d; ++i)
    out[i] += 1;
}
)");
}

TEST(Golden, Rows) {
  const Outcome outcome = apply_rule("rows-per-block", one(R"(__global__ void k(float* out, int d) {
  if (threadIdx.x >= d)
    return;
  out[blockIdx.x * d + threadIdx.x] = 0;
}
)"));
  EXPECT_EQ(outcome.candidate.text, R"(template <unsigned ROWS>
__global__ void k(float* out, int d) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  if (threadIdx.x >= d)
    continue;
  out[(blockIdx.x * ROWS + lathe_row) * d + threadIdx.x] = 0;
  }
}
)");
  EXPECT_EQ(outcome.candidate.launch.grid[0].text(), "(n) / ROWS");
}

// What a row adds to its arguments, the next one would add again.
TEST(Golden, RowsThatMoveTheirArguments) {
  const Outcome outcome =
      apply_rule("rows-per-block", one(R"(__global__ void k(float* out, const int d, int n) {
  out += blockIdx.x * d;
  n -= blockIdx.x;
  if (threadIdx.x < d)
    out[threadIdx.x] = n;
}
)"));
  EXPECT_EQ(outcome.candidate.text, R"(template <unsigned ROWS>
__global__ void k(float* out, const int d, int n) {
  const auto lathe_out = out;
  const auto lathe_n = n;
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
    out = lathe_out;
    n = lathe_n;
  out += (blockIdx.x * ROWS + lathe_row) * d;
  n -= (blockIdx.x * ROWS + lathe_row);
  if (threadIdx.x < d)
    out[threadIdx.x] = n;
  }
}
)");
}

TEST(Golden, Constant) {
  Facts facts = one(R"(constexpr unsigned kThreads = 128; // a block
__global__ void k(float* out, unsigned n) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n)
    out[i] = 0;
}
)");
  facts.grid = {"(n + 127) / 128"};
  facts.block = {"128"};
  const Outcome outcome = apply_rule("expose-constant", facts);
  EXPECT_EQ(outcome.candidate.text, R"(// a block
template <unsigned kThreads>
__global__ void k(float* out, unsigned n) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n)
    out[i] = 0;
}
)");
  EXPECT_EQ(outcome.candidate.launch.grid[0].text(), "ceil_div(n, kThreads)");
}

TEST(Golden, Keep) {
  Facts facts = one(R"(__global__ void k(float* out, const float* in, int d) {
  __shared__ float total;
  extern __shared__ float row[];
  float sum = 0;
  for (int i = threadIdx.x; i < d; i += blockDim.x) {
    row[i] = in[i];
    sum += row[i];
  }
  atomicAdd(&total, sum);
  __syncthreads();
#pragma unroll 2
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    out[i] = row[i] / total;
}
)");
  facts.shared = "d * 4";
  const Outcome outcome = apply_rule("keep-in-registers", facts);
  EXPECT_EQ(outcome.candidate.text, R"(template <unsigned KEEP>
__global__ void k(float* out, const float* in, int d) {
  __shared__ float total;
  extern __shared__ float row[];
  float sum = 0;
  float lathe_kept[KEEP == 0 ? 1 : KEEP];
#pragma unroll KEEP
  for (int i = threadIdx.x, lathe_round = 0; KEEP == 0 ? i < d : lathe_round < KEEP; i += blockDim.x, ++lathe_round) {
    if constexpr (KEEP > 0) {
      if (!(i < d))
        continue;
    }
    (KEEP == 0 ? row[i] : lathe_kept[lathe_round]) = in[i];
    sum += (KEEP == 0 ? row[i] : lathe_kept[lathe_round]);
  }
  atomicAdd(&total, sum);
  __syncthreads();
#pragma unroll (KEEP == 0 ? 2 : KEEP)
  for (int i = threadIdx.x, lathe_round = 0; KEEP == 0 ? i < d : lathe_round < KEEP; i += blockDim.x, ++lathe_round)
    {
    if constexpr (KEEP > 0) {
      if (!(i < d))
        continue;
    }
    out[i] = (KEEP == 0 ? row[i] : lathe_kept[lathe_round]) / total;
  }
}
)") << outcome.report.detail;
  EXPECT_TRUE(outcome.has_condition("KEEP * ((256)) >= (d)"));
  EXPECT_EQ(outcome.candidate.launch.shared_bytes.text(), "(KEEP == 0 ? d * 4 : (0) * 4)");
}

} // namespace
} // namespace lathe::refactor::testing
