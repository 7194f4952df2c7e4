// The GPU's counters: kernels with a known bottleneck are said to have it, and reading counters does not
// change what is timed afterwards.
#include "tests/gpu/cases.h"

#include "tuner/profile/profile.h"

#include <chrono>

namespace lathe::test {
namespace {

constexpr const char* KERNELS = R"(
enum { STREAM, FEW_BLOCKS, CONFLICTS, ARITHMETIC, LATENCY, BARRIERS };
template <int V> __global__ void kernel(float* out, const float* in, int n) {
  __shared__ float tile[1024];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (V == STREAM) {
    for (; i < n / 4; i += gridDim.x * blockDim.x)
      reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(in)[i];
    return;
  }
  float r = in[i % n];
  if (V == FEW_BLOCKS || V == LATENCY) {
    int at = i % n;
    for (int k = 0; k < 400; ++k)  // each load waits for the one before
      at = __float_as_int(in[at]) & (n - 1);
    r = (float)at;
  }
  if (V == CONFLICTS) {
    tile[threadIdx.x] = r;
    __syncthreads();
    for (int k = 0; k < 200; ++k)
      tile[threadIdx.x * 32 % 1024 + (k & 1)] += tile[(threadIdx.x * 32 + k) % 1024];
    r = tile[threadIdx.x];
  }
  if (V == ARITHMETIC) {
    float a = r, b = r + 1, c = r + 2, d = r + 3;
    for (int k = 0; k < 2000; ++k) { a = a * 1.0001f + r; b = b * 1.0002f + r; c = c * 1.0003f + r; d = d * 1.0004f + r; }
    r = a + b + c + d;
  }
  if (V == BARRIERS) {
    for (int k = 0; k < 300; ++k) {
      if (threadIdx.x < 32) for (int j = 0; j < 20; ++j) r = r * 1.0001f + 1;  // one warp works, the others wait
      tile[threadIdx.x] = r;
      __syncthreads();
      r += tile[(threadIdx.x + 32) % 1024];
      __syncthreads();
    }
  }
  if (i < n) out[i] = r;
}
)";

Case bottlenecks() {
  const std::array<std::string, 3> launch{"V == 1 ? 4 : V == 4 ? 1056 : 2112",
                                          "V == 1 || V == 4 ? 32 : V == 2 || V == 5 ? 1024 : 256", "0"};
  const std::array<std::string, 3> raw{"2112", "256", "0"};
  return {KERNELS,
          "kernel<0>",
          raw,
          KERNELS,
          "kernel<{V}>",
          launch,
          {buffer("out", "f32", Direction::inout, "n"), buffer("in", "f32", Direction::in, "n"),
           scalar("n", "i32", "n")},
          {{"n", 64 << 20}}};
}

TEST(Profile, NamesKnownBottlenecks) {
  Case test_case = bottlenecks();
  std::unique_ptr<Backend> backend = prepared(test_case, test_case.options());
  ASSERT_TRUE(backend);
  using Kind = Bottleneck::Kind;
  const std::vector<std::vector<Kind>> expected{{Kind::dram_bandwidth}, {Kind::parallelism},
                                                {Kind::bank_conflicts}, {Kind::issue_rate},
                                                {Kind::memory_latency}, {Kind::synchronisation}};
  for (int v = 0; v < static_cast<int>(expected.size()); ++v) {
    const auto start = std::chrono::steady_clock::now();
    const auto seen = backend->profile(Case::knob(v));
    if (!seen.ok() && v == 0)
      GTEST_SKIP() << seen.error().sentence();
    ASSERT_TRUE(seen.ok()) << seen.error().sentence();
    const Bottleneck found = find_bottleneck(*seen);
    std::printf("V=%d: %s: %s\n      %s  (%.2f s)\n", v, std::string(to_string(found.kind)).c_str(),
                found.words.c_str(), describe(*seen).c_str(),
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    const auto& allowed = expected[static_cast<std::size_t>(v)];
    EXPECT_NE(std::find(allowed.begin(), allowed.end(), found.kind), allowed.end())
        << v << ": " << to_string(found.kind) << ": " << found.words;
    EXPECT_GT(seen->duration_us, 0);
  }
  const auto raw = backend->profile(std::nullopt);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(find_bottleneck(*raw).kind, Kind::dram_bandwidth);
}

TEST(Profile, ChangesNoTime) {
  Case test_case = bottlenecks();
  std::unique_ptr<Backend> backend = prepared(test_case, test_case.options());
  ASSERT_TRUE(backend);
  const auto before = backend->compare(Case::knob(0));
  const auto seen = backend->profile(Case::knob(0));
  const auto after = backend->compare(Case::knob(0));
  ASSERT_TRUE(before.ok() && after.ok());
  if (!seen.ok())
    GTEST_SKIP() << seen.error().sentence();
  EXPECT_NEAR(after->tuned.median_us / before->tuned.median_us, 1, 0.02);
}

// A fault while profiling costs that profile.
TEST(Profile, SurvivesAKernelThatFaults) {
  constexpr const char* kernel = R"(
template <int V> __global__ void kernel(int* out) {
  if (V == 1) *(volatile int*)8 = 1;
  if (V == 2) for (volatile int* p = out; p[0] != 12345;) {}
  out[threadIdx.x] = (int)threadIdx.x;
}
)";
  Case test_case(kernel, "kernel<0>", {"1", "32", "0"}, kernel, "kernel<{V}>", {"1", "32", "0"},
                 {buffer("out", "i32", Direction::out, "32")}, {});
  std::unique_ptr<Backend> backend = prepared(test_case, test_case.options());
  ASSERT_TRUE(backend);
  const auto good = backend->profile(Case::knob(0));
  if (!good.ok())
    GTEST_SKIP() << good.error().sentence();
  EXPECT_FALSE(backend->profile(Case::knob(1)).ok());
  EXPECT_TRUE(backend->profile(Case::knob(0)).ok());
  EXPECT_FALSE(backend->profile(Case::knob(2)).ok());
  EXPECT_TRUE(backend->profile(Case::knob(0)).ok());
  const auto measured = backend->evaluate(std::vector<KnobValues>{Case::knob(0)}, 0);
  ASSERT_TRUE(measured.ok());
  EXPECT_EQ((*measured)[0].outcome, Outcome::ok) << (*measured)[0].reason;
}

} // namespace
} // namespace lathe::test
