// Each fault is an outcome with its reason, and costs nobody else anything.
#include "tests/tuner/measure/host_executor/support.h"

#include <chrono>

namespace lathe::testing {
namespace {

void expect_fault(const HostRunResult& result, const std::vector<std::string>& words) {
  EXPECT_NE(result.outcome, Outcome::ok);
  for (const std::string& word : words)
    EXPECT_NE(result.reason.find(word), std::string::npos) << "no '" << word << "' in: " << result.reason;
}

std::string body(const std::string& statements) {
  return "__global__ void k(float* out, const float* in, int n) {\n" + statements + "\n}";
}

TEST(CheckedFaults, ReadBehindABuffer) {
  expect_fault(outcome(body("out[0] = in[n];"), shape(1, 1), 16, checked()), {"reads 4 bytes", "'in'", "64"});
}

TEST(CheckedFaults, WriteBeforeABuffer) {
  expect_fault(outcome(body("out[-1] = 1;"), shape(1, 1), 16, checked()), {"writes", "'out'"});
}

// Other buffers lie far away: none of them is taken for this one's neighbour.
TEST(CheckedFaults, FarBesideABuffer) {
  for (const int elements : {1024, 1040, 1024 + 288, 2048 + 16, 65536, -1024, -1040, -65536}) {
    const std::string at = std::to_string(elements);
    for (const char* statement : {"out[AT] = 1;", "out[0] = in[AT];"}) {
      std::string text = statement;
      text.replace(text.find("AT"), 2, at);
      const HostRunResult result = outcome(body(text), shape(1, 1), 32, checked());
      EXPECT_EQ(result.outcome, Outcome::runtime_error) << text;
    }
  }
}

TEST(CheckedFaults, StaticSharedMemory) {
  expect_fault(outcome(body("__shared__ float s[32]; s[threadIdx.x] = 1; out[threadIdx.x] = s[0];"),
                       shape(1, 33), 64, checked()),
               {"array index out of bounds"});
}

TEST(CheckedFaults, StaticSharedMemoryThroughAPointer) {
  expect_fault(
      outcome(body("__shared__ float s[32]; float* p = s; p[threadIdx.x + n - 31] = 1; out[0] = s[0];"),
              shape(1, 32), 64, checked()),
      {"shared"});
}

TEST(CheckedFaults, DynamicSharedMemory) {
  expect_fault(
      outcome("extern __shared__ float s[];\n" + body("s[threadIdx.x] = 1; out[threadIdx.x] = s[0];"),
              shape(1, 32, 31 * 4), 64, checked()),
      {"dynamic shared"});
}

TEST(CheckedFaults, MisalignedVector) {
  expect_fault(outcome(body("*reinterpret_cast<float4*>(out) = *reinterpret_cast<const float4*>(in + 1);"),
                       shape(1, 1), 16, checked()),
               {"misaligned"});
}

TEST(CheckedFaults, UndefinedShift) {
  expect_fault(outcome(body("out[0] = 1 << (n + 32);"), shape(1, 1), 16, checked()), {"undefined behaviour"});
}

TEST(CheckedFaults, AConversionOutOfRangeIsTheDevices) {
  const HostRunResult result =
      outcome(body("const float large = 1e20f * n;\n"
                   "if (static_cast<int>(large) != 0x7fffffff || static_cast<int>(-large) >= 0 ||\n"
                   "    static_cast<unsigned>(-large) != 0 || static_cast<int>(large - large / 0.f) >= 0)\n"
                   "  __trap();"),
              shape(1, 1), 16, checked());
  EXPECT_EQ(result.outcome, Outcome::ok) << result.reason;
}

TEST(CheckedFaults, AConversionToFewerBitsOutOfRange) {
  expect_fault(outcome(body("out[0] = static_cast<signed char>(300.f * n);"), shape(1, 1), 16, checked()),
               {"out of the integer's range"});
}

TEST(CheckedFaults, ACleanKernelIsClean) {
  const HostRunResult result = outcome(
      body("__shared__ float s[64]; s[threadIdx.x] = in[threadIdx.x]; __syncthreads();"
           " out[threadIdx.x] = s[63 - threadIdx.x] + __shfl_xor_sync(0xffffffffu, s[threadIdx.x], 1);"),
      shape(1, 64), 64, checked());
  EXPECT_EQ(result.outcome, Outcome::ok) << result.reason;
}

TEST(Faults, NullPointer) {
  expect_fault(outcome(body("*(volatile float*)nullptr = 1;"), shape(1, 1), 16, {}), {"null"});
}

TEST(Faults, Trap) {
  expect_fault(outcome(body("if (threadIdx.x == 3) __trap();"), shape(1, 32), 16, {}), {"__trap"});
}

TEST(Faults, AnAssumptionThatDoesNotHold) {
  const std::string text = body("__builtin_assume(n % 16 == 0); out[threadIdx.x] = n;");
  EXPECT_EQ(outcome(text, shape(1, 1), 16, {}).outcome, Outcome::ok);
  expect_fault(outcome(text, shape(1, 1), 17, {}), {"promised what does not hold: n % 16 == 0"});
}

TEST(Faults, DeviceAssert) {
  expect_fault(outcome("#include <cassert>\n" + body("assert(n < 0);"), shape(1, 1), 16, {}),
               {"assertion failed: n < 0"});
}

TEST(Faults, EndlessLoopEndsWithItsTime) {
  const auto start = std::chrono::steady_clock::now();
  const HostRunResult result =
      outcome(body("volatile int stop = 0; while (!stop) {}"), shape(1, 1), 16, {}, 0.5);
  EXPECT_EQ(result.outcome, Outcome::timeout) << result.reason;
  // Half a second of its own, which on a busy machine is more by the clock, but never 30 times as much.
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 30);
}

TEST(Faults, BarrierThatSomeThreadsSkip) {
  // One warp waits at the barrier, the other at a different one for good.
  expect_fault(outcome(body("if (threadIdx.x < 32) { __syncthreads(); __syncthreads(); out[0] = 1; }"
                            " else { __shfl_sync(0xffffffffu, threadIdx.x == 32 ? 1 : 0, 0);"
                            " if (threadIdx.x == 40) __syncwarp(0x3); }"),
                       shape(1, 64), 16, {}, 3),
               {});
}

TEST(Faults, StackOverflow) {
  expect_fault(
      outcome("__device__ __noinline__ float deep(float x, int n) { volatile float a[64]; a[n % 64] = x;"
              " return n == 0 ? a[0] : deep(x + a[n % 64], n - 1) + a[1]; }\n" +
                  body("out[0] = deep(1, 1 << 24);"),
              shape(1, 1), 16, {}),
      {});
}

TEST(Faults, LaunchesThatCudaRefuses) {
  const HostKernel kernel = compile(body("out[0] = 1;"));
  auto out = HostBuffer::allocate(64);
  ASSERT_TRUE(out.ok());
  const std::vector<HostArgument> good{HostArgument::of(*out), HostArgument::of(*out),
                                       HostArgument::scalar(1)};
  EXPECT_FALSE(kernel.run(shape(1, 1025), good).ok());
  EXPECT_FALSE(kernel.run(shape(0, 32), good).ok());
  const std::vector<HostArgument> few{HostArgument::of(*out)};
  EXPECT_FALSE(kernel.run(shape(1, 32), few).ok());
}

TEST(Guards, DamageIsFoundWithoutChecks) {
  const HostKernel kernel = compile(body("out[n] = 1;"));
  auto out = HostBuffer::allocate(64);
  ASSERT_TRUE(out.ok());
  const std::vector<HostArgument> arguments{HostArgument::of(*out), HostArgument::of(*out),
                                            HostArgument::scalar(16)};
  ASSERT_TRUE(kernel.run(shape(1, 1), arguments).ok());
  ASSERT_TRUE(out->damage().has_value());
  EXPECT_GE(*out->damage(), 64);
  out->reset_guards();
  EXPECT_FALSE(out->damage().has_value());
}

TEST(Trace, ExactRanges) {
  const HostRunResult result = outcome(body("if (threadIdx.x < 8) out[threadIdx.x + 4] = in[2 * threadIdx.x];"
                                            " if (threadIdx.x == 9) atomicAdd(&out[15], 1.0f);"),
                                       shape(1, 32), 16, traced());
  ASSERT_EQ(result.outcome, Outcome::ok) << result.reason;
  ASSERT_EQ(result.accesses.size(), 2u);
  EXPECT_EQ(result.accesses[0].written, (std::vector<ByteRange>{{16, 48}, {60, 64}}));
  EXPECT_EQ(result.accesses[0].atomics, 1u);
  EXPECT_EQ(result.accesses[1].read.size(), 8u);
  EXPECT_EQ(result.accesses[1].read[1], (ByteRange{8, 12}));
  EXPECT_TRUE(result.accesses[1].written.empty());
}

// Nor is it a wait that all threads of a large grid look at one flag, once each.
TEST(Faults, AFlagThatEveryThreadLooksAtIsNoWait) {
  const auto result =
      outcome("__global__ void k(float* out, const float* in, int n) { if (in[0] != 0) out[0] = 1; }",
              shape((1u << 13) + 8, 1024), 64, checked(), 60);
  EXPECT_EQ(result.outcome, Outcome::ok) << result.reason;
}

} // namespace
} // namespace lathe::testing
