// Kernels that crash, hang, cheat or spill over: each costs one configuration and is called what it is, and
// an honest one after it is measured as if nothing had happened.
#include "tests/gpu/cases.h"

#include <chrono>

namespace lathe::test {
namespace {

constexpr const char* RAW = R"(
__global__ void raw(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2.0f + in[n - 1 - i];
}
)";

constexpr const char* KERNEL = R"(
#include <cuda_bf16.h>
enum { HONEST, ILLEGAL_ADDRESS, INFINITE_LOOP, TRAP, PAST_END, BEFORE_START, UNWRITTEN_TAIL, NOTHING, CHANGES_INPUT,
       MISALIGNED, ONE_WRONG, ZEROS, NARROWED, LATER_CALLS_SKIP, DOES_NOT_COMPILE, STACK_OVERFLOW, HONEST_SHARED,
       TOO_MUCH_SHARED, TOO_MANY_REGISTERS, SKIPS_LARGE_INPUTS, FIRST_CALL_ONLY, LAST_BLOCK_MISSING, BARRIER_HANG };
__device__ int calls;
template <int V> __device__ int deep(volatile int* p, int depth) {
  volatile int frame[256];
  frame[depth & 255] = *p;
  return depth <= 0 ? frame[3] : deep<V>(p, depth - 1 + (int)(frame[depth & 255] == 0x7fffffff)) + frame[depth & 127];
}
template <int V> __global__ void kernel(float* out, float* in, int n) {
  extern __shared__ float shared[];
  static_assert(V != DOES_NOT_COMPILE);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (V == ILLEGAL_ADDRESS && i == 0) *(volatile float*)16 = 1;
  if (V == INFINITE_LOOP && i == 0) { volatile float* p = out; while (p[0] != 12345.0f) {} }
  if (V == TRAP && i == 7) __trap();
  if (V == MISALIGNED && i == 0) *(volatile double*)((char*)out + 4) = 1;
  if (V == PAST_END && i == 0) out[n] = 1;
  if (V == BEFORE_START && i == 0) ((char*)out)[-1] = 1;
  if (V == UNWRITTEN_TAIL && i >= n - 1) return;
  if (V == NOTHING) return;
  if (V == CHANGES_INPUT && i == 5) in[5] += 0.0f * in[5] + 1e-3f;
  if (V == STACK_OVERFLOW && i == 0) out[0] = deep<V>((volatile int*)in, 1 << 22);
  if (V == LAST_BLOCK_MISSING && blockIdx.x == gridDim.x - 1 && gridDim.x > 1) return;
  if (V == LATER_CALLS_SKIP || V == FIRST_CALL_ONLY) {
    __shared__ int mine;
    if (threadIdx.x == 0) mine = blockIdx.x == 0 ? atomicAdd(&calls, 1) : *(volatile int*)&calls;
    __syncthreads();
    if (mine > (V == FIRST_CALL_ONLY ? 1 : 5)) return;
  }
  if (V == HONEST_SHARED) { shared[threadIdx.x + 20000] = in[i < n ? i : 0]; __syncthreads(); }
  if (i >= n) return;
  float r = in[i] * 2.0f + in[n - 1 - i];
  if (V == HONEST_SHARED) r = shared[threadIdx.x + 20000] * 2.0f + in[n - 1 - i];
  if (V == ONE_WRONG && i == n / 2) r += 1e-2f;
  if (V == ZEROS) r = 0;
  if (V == NARROWED) r = __bfloat162float(__float2bfloat16(in[i])) * 2.0f + in[n - 1 - i];
  if (V == SKIPS_LARGE_INPUTS && r > 6.0f) return;
  out[i] = r;
}
)";

enum {
  HONEST,
  ILLEGAL_ADDRESS,
  INFINITE_LOOP,
  TRAP,
  PAST_END,
  BEFORE_START,
  UNWRITTEN_TAIL,
  NOTHING,
  CHANGES_INPUT,
  MISALIGNED,
  ONE_WRONG,
  ZEROS,
  NARROWED,
  LATER_CALLS_SKIP,
  DOES_NOT_COMPILE,
  STACK_OVERFLOW,
  HONEST_SHARED,
  TOO_MUCH_SHARED,
  TOO_MANY_THREADS,
  SKIPS_LARGE_INPUTS,
  FIRST_CALL_ONLY,
  LAST_BLOCK_MISSING
};

struct Expected {
  int variant;
  Outcome outcome;
  const char* reason; // part of it
};

TEST(Misbehaviour, EachCostsOneConfigurationAndIsCalledWhatItIs) {
  Case test_case(RAW, "raw", {"ceil_div(n, 256)", "256", "0"}, KERNEL, "kernel<{V}>",
                 {"V == 18 ? ceil_div(n, 2048) : ceil_div(n, 256)", "V == 18 ? 2048 : 256",
                  "V == 16 ? 100000 : V == 17 ? 400000 : 0"},
                 {buffer("out", "f32", Direction::out, "n"), buffer("in", "f32", Direction::in, "n"),
                  scalar("n", "i32", "n")},
                 {{"n", 1000003}});
  std::unique_ptr<Backend> backend = prepared(test_case, test_case.options());
  ASSERT_TRUE(backend);
  EXPECT_GT(backend->raw_timing().median_us, 0.5);
  const std::vector<Expected> expected{
      {HONEST, Outcome::ok, ""},
      {ILLEGAL_ADDRESS, Outcome::runtime_error, "ILLEGAL_ADDRESS"},
      {HONEST, Outcome::ok, ""},
      {INFINITE_LOOP, Outcome::timeout, "did not end"},
      {HONEST_SHARED, Outcome::ok, ""},
      {TRAP, Outcome::runtime_error, ""},
      {PAST_END, Outcome::wrong_result, "outside out, 0 bytes past its end"},
      {BEFORE_START, Outcome::wrong_result, "outside out, 1 bytes before its start"},
      {UNWRITTEN_TAIL, Outcome::wrong_result, "was not written"},
      {NOTHING, Outcome::wrong_result, "was not written"},
      {CHANGES_INPUT, Outcome::wrong_result, "changed its input in"},
      {HONEST, Outcome::ok, ""},
      {MISALIGNED, Outcome::runtime_error, "MISALIGNED"},
      {ONE_WRONG, Outcome::wrong_result, "out[500001]"},
      {ZEROS, Outcome::wrong_result, ""},
      {NARROWED, Outcome::wrong_result, ""},
      {LATER_CALLS_SKIP, Outcome::wrong_result, "timed call"},
      {FIRST_CALL_ONLY, Outcome::wrong_result, ""},
      {DOES_NOT_COMPILE, Outcome::compile_error, "static assertion"},
      {STACK_OVERFLOW, Outcome::runtime_error, ""},
      {TOO_MUCH_SHARED, Outcome::resource_limit, "shared memory"},
      {TOO_MANY_THREADS, Outcome::resource_limit, ""},
      {SKIPS_LARGE_INPUTS, Outcome::wrong_result, "was not written"},
      {LAST_BLOCK_MISSING, Outcome::wrong_result, "was not written"},
      {HONEST, Outcome::ok, ""},
  };
  std::vector<KnobValues> configurations;
  for (const Expected& one : expected)
    configurations.push_back(Case::knob(one.variant));
  const auto start = std::chrono::steady_clock::now();
  const auto measured = backend->evaluate(configurations, 0);
  ASSERT_TRUE(measured.ok()) << measured.error().sentence();
  std::printf("%zu configurations in %.1f s\n", expected.size(),
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Measurement& one = (*measured)[i];
    std::printf("  V=%-2d %-14s %8.3f us  error %.3g  %.3f s  %s\n", expected[i].variant,
                std::string(to_string(one.outcome)).c_str(), one.timing.median_us, one.error, one.run_seconds,
                one.reason.c_str());
    EXPECT_EQ(to_string(one.outcome), to_string(expected[i].outcome))
        << "V=" << expected[i].variant << ": " << one.reason;
    EXPECT_NE(one.reason.find(expected[i].reason), std::string::npos) << one.reason;
    if (one.outcome == Outcome::ok) {
      EXPECT_LE(one.error, 1);
      EXPECT_GT(one.timing.median_us, 0.5);
    }
  }
}

// Updates in place: inputs are restored before every verified and every timed run.
TEST(Misbehaviour, InPlaceKernelsAreJudgedOnFreshInputs) {
  constexpr const char* raw = R"(
__global__ void raw(double* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] = x[i] * 3.0; y[i] = y[i] + 1.0f; }
}
)";
  constexpr const char* kernel = R"(
template <int V> __global__ void kernel(double* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] = x[i] * 3.0;
  if (V == 1) x[i] = x[i] * 3.0;           // applied twice
  if (V == 2 && i % 1000 == 0) return;      // y stays stale here and there
  y[i] = y[i] + 1.0f;
}
)";
  Case test_case(raw, "raw", {"ceil_div(n, 256)", "256", "0"}, kernel, "kernel<{V}>",
                 {"ceil_div(n, 256)", "256", "0"},
                 {buffer("x", "f64", Direction::inout, "n"), buffer("y", "f32", Direction::inout, "n"),
                  scalar("n", "i32", "n")},
                 {{"n", 70001}});
  std::unique_ptr<Backend> backend = prepared(test_case, test_case.options());
  ASSERT_TRUE(backend);
  const std::vector<KnobValues> configurations{Case::knob(0), Case::knob(1), Case::knob(2)};
  const auto measured = backend->evaluate(configurations, 0);
  ASSERT_TRUE(measured.ok()) << measured.error().sentence();
  EXPECT_EQ((*measured)[0].outcome, Outcome::ok) << (*measured)[0].reason;
  EXPECT_EQ((*measured)[0].error, 0);
  EXPECT_EQ((*measured)[1].outcome, Outcome::wrong_result);
  EXPECT_EQ((*measured)[2].outcome, Outcome::wrong_result);
}

// A reference that fails is no configuration's fault: preparing says so.
TEST(Misbehaviour, RawKernelThatFailsIsReported) {
  constexpr const char* raw = R"(
__global__ void raw(int* out) { *(volatile int*)8 = 1; out[0] = 1; }
)";
  Case test_case(raw, "raw", {"1", "1", "0"},
                 "template <int V> __global__ void kernel(int* out) { out[0] = 1; }", "kernel<{V}>",
                 {"1", "1", "0"}, {buffer("out", "i32", Direction::out, "1")}, {});
  auto backend = make_cuda_backend(0);
  ASSERT_TRUE(backend.ok());
  const Status status = (*backend)->prepare(test_case.workload(), test_case.options());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().sentence().find("ILLEGAL_ADDRESS"), std::string::npos)
      << status.error().sentence();
}

// Nor is one that does not end: that is said when its time is over, and the device is there for others.
TEST(Misbehaviour, RawKernelThatDoesNotEndIsReportedInTime) {
  constexpr const char* kernel = "template <int V> __global__ void kernel(int* out) { out[0] = 1; }";
  constexpr double LIMIT_S = 2, ENOUGH_S = 40;
  const auto prepare = [&](const char* raw, Status& status) {
    Case test_case(raw, "raw", {"1", "1", "0"}, kernel, "kernel<{V}>", {"1", "1", "0"},
                   {buffer("out", "i32", Direction::out, "1")}, {});
    MeasureOptions options = test_case.options();
    options.time_limit_s = LIMIT_S;
    auto backend = make_cuda_backend(0);
    ASSERT_TRUE(backend.ok());
    status = (*backend)->prepare(test_case.workload(), options);
  };
  const auto start = std::chrono::steady_clock::now();
  Status status = Done{};
  prepare("__global__ void raw(int* out) { while (*(volatile int*)out != 12345) {} out[0] = 1; }", status);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().sentence().find("did not end within 2 s"), std::string::npos)
      << status.error().sentence();
  EXPECT_LT(spent.count(), ENOUGH_S);
  std::printf("a raw kernel that does not end: %.1f s\n", spent.count());
  prepare("__global__ void raw(int* out) { out[0] = 1; }", status);
  EXPECT_TRUE(status.ok()) << status.error().sentence();
}

} // namespace
} // namespace lathe::test
