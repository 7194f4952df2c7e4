// Kernels that look right when they are checked, or fast when they are timed, and are not: results kept from
// an earlier call, work left out when nobody seems to look, answers that only a loose comparison accepts,
// accesses that only aligned buffers forgive. All must be caught, and no honest kernel beside them.
#include "tests/gpu/cases.h"

namespace lathe::test {
namespace {

struct Judged {
  int variant;
  Outcome outcome;
};

void expect_verdicts(Case& test_case, const MeasureOptions& options, const std::vector<Judged>& expected) {
  std::unique_ptr<Backend> backend = prepared(test_case, options);
  ASSERT_TRUE(backend);
  for (const Judged& one : expected) {
    // Alone: what is clearly beaten by another would not be timed, and judged, to the end.
    const auto measured = backend->evaluate(std::vector<KnobValues>{Case::knob(one.variant)}, 0);
    ASSERT_TRUE(measured.ok()) << measured.error().sentence();
    const Measurement& seen = (*measured)[0];
    std::printf("  V=%-2d %-14s %8.3f us  %s\n", one.variant, std::string(to_string(seen.outcome)).c_str(),
                seen.timing.median_us, seen.reason.c_str());
    EXPECT_EQ(to_string(seen.outcome), to_string(one.outcome)) << "V=" << one.variant << ": " << seen.reason;
  }
}

void expect_verdicts(Case& test_case, const std::vector<Judged>& expected) {
  expect_verdicts(test_case, test_case.options(), expected);
}

constexpr const char* RAW = R"(
__global__ void raw(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2.0f + in[n - 1 - i];
}
)";

// What a kernel may remember between its calls: by pointer, by count, by what lies in its output.
constexpr const char* REMEMBERING = R"(
enum { HONEST, KEEPS_FILLED_OUTPUT, CACHES_BY_POINTER, CACHES_BY_FIRST_VALUE, EVERY_OTHER_CALL, AFTER_WARM_UP,
       FIRST_RESULT_EVER, INPUT_SWAPPED_BACK };
__device__ float cache[64][16384];
__device__ unsigned finished[64];
__device__ float keys[64];
__device__ unsigned calls, first_done;
template <int V> __global__ void kernel(float* out, float* in, int n) {
  __shared__ bool known;
  __shared__ unsigned slot;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) {
    known = false;
    slot = V == CACHES_BY_POINTER ? ((unsigned long long)in >> 9) % 61
         : V == CACHES_BY_FIRST_VALUE ? __float_as_uint(in[0]) % 61 : 0;
    if (V == CACHES_BY_POINTER) known = *(volatile unsigned*)&finished[slot] >= gridDim.x;
    if (V == CACHES_BY_FIRST_VALUE) known = *(volatile unsigned*)&finished[slot] >= gridDim.x && keys[slot] == in[0];
    if (V == FIRST_RESULT_EVER) known = *(volatile unsigned*)&finished[0] >= gridDim.x;
    if (V == EVERY_OTHER_CALL || V == AFTER_WARM_UP) {
      unsigned before = atomicAdd(&calls, 1u) / gridDim.x;
      known = V == AFTER_WARM_UP ? before >= 150 && before < 400 : before % 2 == 1 && before > 8;
    }
    if (V == KEEPS_FILLED_OUTPUT) {
      int mine = min(blockIdx.x * blockDim.x, n - 1), last = min(mine + (int)blockDim.x, n) - 1;
      unsigned a = __float_as_uint(out[mine]), b = __float_as_uint(out[last]);
      known = a != 0xffffffffu && a != 0x5b5b5b5bu && b != 0xffffffffu && b != 0x5b5b5b5bu;
    }
  }
  __syncthreads();
  if (known) {
    if (V == KEEPS_FILLED_OUTPUT || V == EVERY_OTHER_CALL || V == AFTER_WARM_UP) return;
    if (i < n) out[i] = cache[slot][i];
    return;
  }
  if (i < n) {
    float r = in[i] * 2.0f + in[n - 1 - i];
    out[i] = r;
    if (V == CACHES_BY_POINTER || V == CACHES_BY_FIRST_VALUE || V == FIRST_RESULT_EVER) cache[slot][i] = r;
    if (V == INPUT_SWAPPED_BACK && i == 3) { float kept = in[3]; in[3] = 0.0f; __threadfence(); in[3] = kept; }
  }
  __syncthreads();
  if (threadIdx.x == 0) { keys[slot] = in[0]; __threadfence(); atomicAdd(&finished[slot], 1u); }
}
)";

TEST(Cheating, NothingIsGainedByRememberingAnEarlierCall) {
  enum {
    HONEST,
    KEEPS_FILLED_OUTPUT,
    CACHES_BY_POINTER,
    CACHES_BY_FIRST_VALUE,
    EVERY_OTHER_CALL,
    AFTER_WARM_UP,
    FIRST_RESULT_EVER
  };
  Case test_case(RAW, "raw", {"ceil_div(n, 256)", "256", "0"}, REMEMBERING, "kernel<{V}>",
                 {"ceil_div(n, 256)", "256", "0"},
                 {buffer("out", "f32", Direction::out, "n"), buffer("in", "f32", Direction::in, "n"),
                  scalar("n", "i32", "n")},
                 {{"n", 10007}});
  expect_verdicts(test_case,
                  {{HONEST, Outcome::ok},
                   {CACHES_BY_POINTER, Outcome::wrong_result},
                   {EVERY_OTHER_CALL, Outcome::wrong_result},
                   {AFTER_WARM_UP, Outcome::wrong_result},
                   {FIRST_RESULT_EVER, Outcome::wrong_result},
                   {HONEST, Outcome::ok},
                   // Does all its work in every call here, since every call finds its output poisoned.
                   {KEEPS_FILLED_OUTPUT, Outcome::ok}});
}

// Where a kernel writes follows from what it counts in memory: every launch has to begin with the numbers
// that the first one found there.
TEST(Cheating, CountersAreSetBackBetweenLaunches) {
  const std::string kernel = R"(
__global__ void kernel(float* out, int* taken, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[atomicAdd(&taken[i / 1024], 1) + i / 1024 * 1024] = i / 1024;
})";
  Case test_case(kernel, "kernel", {"ceil_div(n, 256)", "256", "0"}, kernel, "kernel",
                 {"ceil_div(n, 512)", "512", "0"},
                 {buffer("out", "f32", Direction::out, "n"),
                  buffer("taken", "i32", Direction::inout, "n / 1024"), scalar("n", "i32", "n")},
                 {{"n", 65536}});
  test_case.spec().arguments[1].fill.kind = Fill::Kind::zero;
  expect_verdicts(test_case, {{0, Outcome::ok}, {1, Outcome::ok}});
}

// Places that an atomic counter gives are others in each launch: of such a result only the elements count,
// and they do.
TEST(Cheating, ResultsInNoFixedOrderAreComparedAsSets) {
  const std::string kernel = R"(
template <int V> __global__ void kernel(float* out, int* taken, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || in[i] < 0) return;
  int place = atomicAdd(taken, 1);
  if (V == 1 && place == 1000) return;
  out[place] = V == 2 && i % 1024 == 0 ? in[i + 1] : in[i];
})";
  Case test_case(kernel, "kernel<0>", {"ceil_div(n, 256)", "256", "0"}, kernel, "kernel<{V}>",
                 {"ceil_div(n, 512)", "512", "0"},
                 {buffer("out", "f32", Direction::out, "n"), buffer("taken", "i32", Direction::inout, "1"),
                  buffer("in", "f32", Direction::in, "n"), scalar("n", "i32", "n")},
                 {{"n", 65536}});
  test_case.spec().arguments[1].fill.kind = Fill::Kind::zero;
  MeasureOptions options = test_case.options();
  auto device = make_cuda_backend(0);
  ASSERT_TRUE(device.ok()) << device.error().sentence();
  EXPECT_FALSE((*device)->prepare(test_case.workload(), options).ok()) << "no two launches agree";
  options.unordered = {"out"};
  expect_verdicts(
      test_case, options,
      {{0, Outcome::ok}, {1, Outcome::wrong_result}, {2, Outcome::wrong_result}, {0, Outcome::ok}});
}

// The same kernel that keeps a filled output must not look faster than the honest one.
TEST(Cheating, AnOutputThatIsThereAlreadySavesNoTime) {
  Case test_case(RAW, "raw", {"ceil_div(n, 256)", "256", "0"}, REMEMBERING, "kernel<{V}>",
                 {"ceil_div(n, 256)", "256", "0"},
                 {buffer("out", "f32", Direction::out, "n"), buffer("in", "f32", Direction::in, "n"),
                  scalar("n", "i32", "n")},
                 {{"n", 8 << 20}});
  std::unique_ptr<Backend> backend = prepared(test_case, test_case.options());
  ASSERT_TRUE(backend);
  const auto measured = backend->evaluate(std::vector<KnobValues>{Case::knob(1)}, 0);
  ASSERT_TRUE(measured.ok());
  ASSERT_EQ((*measured)[0].outcome, Outcome::ok) << (*measured)[0].reason;
  EXPECT_GT((*measured)[0].timing.median_us, 0.9 * backend->raw_timing().median_us);
}

// Outputs so small that any absolute tolerance would accept zeros, and outputs of which most are tiny.
TEST(Cheating, SmallOutputsAreComparedByTheirOwnSize) {
  constexpr const char* raw = R"(
__global__ void raw(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 1e-9f;
}
)";
  constexpr const char* kernel = R"(
template <int V> __global__ void kernel(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = V == 0 ? in[i] * 1e-9f : V == 1 ? 0.0f : V == 2 ? 1e-9f : V == 3 ? in[0] * 1e-9f : -in[i] * 1e-9f;
}
)";
  Case test_case(raw, "raw", {"ceil_div(n, 256)", "256", "0"}, kernel, "kernel<{V}>",
                 {"ceil_div(n, 256)", "256", "0"},
                 {buffer("out", "f32", Direction::out, "n"), buffer("in", "f32", Direction::in, "n"),
                  scalar("n", "i32", "n")},
                 {{"n", 100003}});
  expect_verdicts(test_case, {{0, Outcome::ok},
                              {1, Outcome::wrong_result},
                              {2, Outcome::wrong_result},
                              {3, Outcome::wrong_result},
                              {4, Outcome::wrong_result}});
}

// A number that masks is no measure for the others.
TEST(Cheating, MarksDoNotHideWhatIsBesideThem) {
  constexpr const char* raw = R"(
__global__ void raw(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i % 3 == 0 ? -1e9f : in[i] * 0.5f;
}
)";
  constexpr const char* kernel = R"(
template <int V> __global__ void kernel(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i % 3 == 0 ? -1e9f : V == 0 ? in[i] * 0.5f : V == 1 ? 0.0f : in[i] * 0.501f;
}
)";
  Case test_case(raw, "raw", {"ceil_div(n, 256)", "256", "0"}, kernel, "kernel<{V}>",
                 {"ceil_div(n, 256)", "256", "0"},
                 {buffer("out", "f32", Direction::out, "n"), buffer("in", "f32", Direction::in, "n"),
                  scalar("n", "i32", "n")},
                 {{"n", 100003}});
  expect_verdicts(test_case, {{0, Outcome::ok}, {1, Outcome::wrong_result}, {2, Outcome::wrong_result}});
}

// Long sums that another order of the terms changes by rounding alone, where the cost model says how long
// they are; an accumulator of 16 bits is a mistake all the same.
TEST(Cheating, AnotherOrderOfALongSumIsServed) {
  constexpr const char* raw = R"(
__global__ void raw(float* out, const float* in, int n, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < d; ++k) sum += in[(long long)k * n + i] * in[(long long)((k * 7 + i) % d) * n + i];
  out[i] = sum;
}
)";
  constexpr const char* kernel = R"(
template <int V> __global__ void kernel(float* out, const float* in, int n, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float part[8] = {0.0f};
  for (int k = 0; k < d; ++k) {
    float term = in[(long long)k * n + i] * in[(long long)((k * 7 + i) % d) * n + i];
    if (V == 2) part[0] = __uint_as_float(__float_as_uint(part[0] + term) & 0xffffe000u);
    else part[V == 0 ? 0 : k % 8] += term;
  }
  float sum = 0.0f;
  for (int p = 0; p < 8; ++p) sum += part[p];
  out[i] = sum;
}
)";
  Case test_case(raw, "raw", {"ceil_div(n, 256)", "256", "0"}, kernel, "kernel<{V}>",
                 {"ceil_div(n, 256)", "256", "0"},
                 {buffer("out", "f32", Direction::out, "n"), buffer("in", "f32", Direction::in, "n * d"),
                  scalar("n", "i32", "n"), scalar("d", "i32", "d")},
                 {{"n", 1 << 18}, {"d", 1024}});
  test_case.spec().cost.operations = parse("2 * n * d");
  expect_verdicts(test_case, {{0, Outcome::ok}, {1, Outcome::ok}, {2, Outcome::wrong_result}});
}

// A time that physics does not allow is an error: here the cost model says more bytes than the kernel moves.
TEST(Cheating, FasterThanMemoryIsRefused) {
  constexpr const char* raw = R"(
__global__ void raw(float* out, const float* in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i % 1024] = in[i] >= -1e30f ? 1.0f : 0.0f;
}
)";
  constexpr const char* kernel = R"(
template <int V> __global__ void kernel(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (V == 1) { if (i < 1024) out[i] = 1.0f; return; }
  for (; i < n; i += gridDim.x * blockDim.x) out[i % 1024] = in[i] >= -1e30f ? 1.0f : 0.0f;
}
)";
  Case test_case(raw, "raw", {"1056", "256", "0"}, kernel, "kernel<{V}>", {"1056", "256", "0"},
                 {buffer("out", "f32", Direction::out, "1024"), buffer("in", "f32", Direction::in, "n"),
                  scalar("n", "i32", "n")},
                 {{"n", 64 << 20}});
  test_case.spec().cost.bytes = parse("4 * n");
  expect_verdicts(test_case, {{0, Outcome::ok}, {1, Outcome::under_floor}});
}

constexpr const char* SCALAR = R"(
__global__ void raw(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + 1.0f;
}
)";
constexpr const char* VIEWS = R"(
template <int V> __global__ void kernel(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (V == 0) { if (i < n) out[i] = in[i] + 1.0f; return; }
  if (V == 2 && (((unsigned long long)out | (unsigned long long)in) & 15)) {  // the right way: a scalar path
    for (int k = 4 * i; k < min(4 * i + 4, n); ++k) out[k] = in[k] + 1.0f;
    return;
  }
  if (V == 3) {  // rounds the address down: right on aligned buffers alone
    out = (float*)((unsigned long long)out & ~15ull);
    in = (const float*)((unsigned long long)in & ~15ull);
  }
  if (4 * i + 3 < n) {
    float4 v = reinterpret_cast<const float4*>(in)[i];
    reinterpret_cast<float4*>(out)[i] = make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
  } else
    for (int k = 4 * i; k < n; ++k) out[k] = in[k] + 1.0f;
}
)";

TEST(Cheating, ViewsThatTheRawKernelServesAreServed) {
  Case test_case(SCALAR, "raw", {"ceil_div(n, 256)", "256", "0"}, VIEWS, "kernel<{V}>",
                 {"ceil_div(n, 256)", "256", "0"},
                 {buffer("out", "f32", Direction::out, "n"), buffer("in", "f32", Direction::in, "n"),
                  scalar("n", "i32", "n")},
                 {{"n", 1000003}});
  std::unique_ptr<Backend> backend = prepared(test_case, test_case.options());
  ASSERT_TRUE(backend);
  for (const auto& [variant, served] : {std::pair{0, true}, {1, false}, {2, true}, {3, false}, {0, true}}) {
    const auto compared = backend->compare(Case::knob(variant));
    EXPECT_EQ(compared.ok(), served) << variant << ": " << (compared.ok() ? "" : compared.error().sentence());
    if (!compared.ok())
      std::printf("  V=%d: %s\n", variant, compared.error().sentence().c_str());
  }
}

// Where the raw kernel itself wants aligned buffers, its templates may, too.
TEST(Cheating, AlignedKernelsAreHeldToWhatTheirRawKernelPromises) {
  Case test_case(VIEWS, "kernel<1>", {"ceil_div(n, 256)", "256", "0"}, VIEWS, "kernel<{V}>",
                 {"ceil_div(n, 256)", "256", "0"},
                 {buffer("out", "f32", Direction::out, "n"), buffer("in", "f32", Direction::in, "n"),
                  scalar("n", "i32", "n")},
                 {{"n", 1000003}});
  std::unique_ptr<Backend> backend = prepared(test_case, test_case.options());
  ASSERT_TRUE(backend);
  for (const int variant : {0, 1, 2}) {
    const auto compared = backend->compare(Case::knob(variant));
    EXPECT_TRUE(compared.ok()) << variant << ": " << compared.error().sentence();
  }
}

// A raw kernel that is itself wrong is found by its CPU reference before anything is tuned towards it.
TEST(Cheating, AWrongRawKernelIsFoundByItsReference) {
  Case test_case(SCALAR, "raw", {"ceil_div(n, 256)", "256", "0"}, VIEWS, "kernel<{V}>",
                 {"ceil_div(n, 256)", "256", "0"},
                 {buffer("out", "f32", Direction::out, "n"), buffer("in", "f32", Direction::in, "n"),
                  scalar("n", "i32", "n")},
                 {{"n", 10007}});
  const std::filesystem::path folder = test_case.spec().kernel.file.parent_path();
  test_case.spec().path = folder / "spec.json";
  test_case.spec().cpu_reference = "reference.cpp";
  for (const auto& [body, agrees] : {std::pair{"buffers[1][i] + 1", true}, {"buffers[1][i] + 1.01", false}}) {
    ASSERT_TRUE(
        write_file(
            folder / "reference.cpp",
            std::string("#include <cstdint>\nextern \"C\" void lathe_reference(const std::int64_t* d, const "
                        "double*, double* const* buffers) {\n  for (std::int64_t i = 0; i < d[0]; ++i) "
                        "buffers[0][i] = ") +
                body + ";\n}\n")
            .ok());
    auto backend = make_cuda_backend(0);
    ASSERT_TRUE(backend.ok());
    const Status status = (*backend)->prepare(test_case.workload(), test_case.options());
    if (status.ok() && (*backend)->reference_check().find("not run") != std::string::npos)
      GTEST_SKIP() << (*backend)->reference_check();
    EXPECT_EQ(status.ok(), agrees) << (status.ok() ? "" : status.error().sentence());
    std::printf("  %s\n",
                status.ok() ? (*backend)->reference_check().c_str() : status.error().sentence().c_str());
  }
}

} // namespace
} // namespace lathe::test
