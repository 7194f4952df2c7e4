// Which instance of a kernel is meant: what the launch leaves out or leaves open.
#include "tests/refactor/app/raw_source.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RawCandidateQuestions, NumbersThatCompileAreTakenAndTold) {
  const std::string text = R"(
template <int HEAD_DIM, int VEC, bool kWaits> __global__ void k(float* x, int n) {
  static_assert(HEAD_DIM % VEC == 0 && VEC <= 16);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i * HEAD_DIM] = kWaits ? VEC : 1;
}
template <int HEAD_DIM, int VEC, bool kWaits> void launch(float* x, int n) {
  k<HEAD_DIM, VEC, kWaits><<<(n + 127) / 128, 128>>>(x, n);
}
)";
  const auto taken = raw_of(text);
  ASSERT_TRUE(taken.ok()) << taken.error().sentence();
  EXPECT_EQ(taken->candidate.instance, "k<128, 4, false>");
  EXPECT_THAT(taken->assumptions,
              testing::Contains(HasSubstr("HEAD_DIM = 128, VEC = 4, kWaits = false, which compiles")));
  EXPECT_THAT(taken->assumed_template_arguments, testing::SizeIs(3));
  LaunchOverride launch;
  launch.template_arguments = {{"HEAD_DIM", "64"}, {"VEC", "8"}, {"kWaits", "true"}};
  const auto raw = raw_of(text, launch);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<64, 8, true>");
  EXPECT_THAT(raw->assumed_template_arguments, testing::IsEmpty());
}

TEST(RawCandidateQuestions, SwitchesOfAClassThatIsAnArgumentAreNoNumbers) {
  const auto taken = raw_of(R"(
template <int BYTES, bool kWaits> struct Moves {
  static_assert(BYTES % 16 == 0);
  static __device__ int number() { return kWaits ? BYTES : BYTES / 16; }
};
template <class Trait> __global__ void k(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = Trait::number();
}
template <int BYTES, bool kWaits> void launch(float* x, int n) {
  k<Moves<BYTES, kWaits>><<<(n + 127) / 128, 128>>>(x, n);
}
)");
  ASSERT_TRUE(taken.ok()) << taken.error().sentence();
  EXPECT_EQ(taken->candidate.instance, "k<Moves<128, false>>");
}

TEST(RawCandidateQuestions, NumbersMakeABlockThatMayBe) {
  const auto taken = raw_of(R"(
template <int R, int C, int F> __global__ void k(float* x, int n) {
  const int i = blockIdx.x * F + threadIdx.x;
  if (i < n) x[i] = R * C + threadIdx.y + threadIdx.z;
}
template <int R, int C, int F> void launch(float* x, int n) {
  k<R, C, F><<<(n + F - 1) / F, dim3(F, C, R)>>>(x, n);
}
)");
  ASSERT_TRUE(taken.ok()) << taken.error().sentence();
  EXPECT_EQ(taken->candidate.instance, "k<8, 8, 8>");
}

TEST(RawCandidateQuestions, WhereNoneCompileAllAreAskedFor) {
  const auto asked = raw_of(R"(
template <int A, int B> __global__ void k(float* x, int n) {
  static_assert(A == 17 && B == 23);
  if (blockIdx.x < n) x[blockIdx.x] = A + B;
}
template <int A, int B> void launch(float* x, int n) { k<A, B><<<n, 128>>>(x, n); }
)");
  ASSERT_FALSE(asked.ok());
  EXPECT_THAT(asked.error().sentence(), HasSubstr("its template arguments depend on A and B"));
  EXPECT_THAT(asked.error().sentence(),
              HasSubstr("give them with --template-argument A=... --template-argument B=..."));
}

TEST(RawCandidateQuestions, OfAKernelThatNothingLaunchesNumbersAreTakenToo) {
  LaunchOverride launch;
  launch.grid = "n";
  launch.block = "256";
  const auto asked = raw_of("template <int A, int B> __global__ void k(float* x, int n) {\n"
                            "  if (blockIdx.x < n) x[blockIdx.x] = A + B;\n}\n",
                            launch);
  ASSERT_TRUE(asked.ok()) << asked.error().sentence();
  EXPECT_EQ(asked->candidate.instance, "k<128, 128>");
}

// An instance that only newer devices have does not run on this one.
TEST(RawCandidateQuestions, LaunchesForOtherDevicesArePassedOver) {
  const auto raw = raw_of(R"(
template <bool wide> __global__ void k(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = wide ? 2 : 1;
}
void run(float* x, int n) {
  int major = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  if (major >= 10 && n > 128)
    k<true><<<(n + 511) / 512, 512>>>(x, n);
  else
    k<false><<<(n + 127) / 128, 128>>>(x, n);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<false>");
  EXPECT_EQ(raw->candidate.launch.block[0].text(), "128");
}

TEST(RawCandidateQuestions, WhatACallThatCannotBeReadGivesIsTakenLikewise) {
  const auto taken = raw_of(R"(
constexpr __host__ __device__ int power_above(int n, int factor) {
  int power = 1;
  while (power * factor < n) power *= 2;
  return power;
}
template <class T, int LANES> __global__ void k(T* x, int n) {
  static_assert(LANES == power_above(LANES, 1));
  const int i = blockIdx.x * LANES + threadIdx.x;
  if (i < n) x[i] = T(1);
}
template <class T, int ROW> struct Launcher {
  static constexpr auto lanes = power_above(ROW, 16 / sizeof(T));
  static void run(T* x, int n) { k<T, lanes><<<n, 256>>>(x, n); }
};
)");
  ASSERT_TRUE(taken.ok()) << taken.error().sentence();
  EXPECT_EQ(taken->candidate.instance, "k<{T}, 128>");
}

TEST(RawCandidateQuestions, ATypeThatTheLaunchLeavesOutIsTheInstances) {
  const auto raw = raw_of(R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <class T, bool is_scaled = false, class Scale = float, class Index = int>
__global__ void k(T* out, const T* in, Scale* scales, int n) {
  static_assert(sizeof(Scale) == sizeof(float) && sizeof(Index) == 4);
  const Index i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = is_scaled ? T(float(in[i]) * float(scales[0])) : in[i];
}
void run(__half* out, const __half* in, float* scales, int n) {
  k<__half, true><<<(n + 127) / 128, 128>>>(out, in, scales, n);
}
void run(float* out, const float* in, float* scales, int n) {
  k<float, true><<<(n + 127) / 128, 128>>>(out, in, scales, n);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.arguments[2].dtype, "Scale");
  for (const TypeParameter& type : raw->candidate.types) {
    if (type.name != "T") {
      EXPECT_EQ(type.dtypes.front(), type.name == "Scale" ? "f32" : "i32");
    }
  }
}

TEST(RawCandidateQuestions, WhatSumsAreKeptInFollowsTheElements) {
  const auto raw = raw_of(R"(
#include <ATen/OpMathType.h>
template <class T> __global__ void k(const T* in, at::opmath_type<T>* sums, const at::opmath_type<T> scale, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sums[i] = scale * static_cast<at::opmath_type<T>>(in[i]);
}
template <class T> void run(const T* in, at::opmath_type<T>* sums, at::opmath_type<T> scale, int n) {
  k<T><<<(n + 127) / 128, 128, 128 * sizeof(at::opmath_type<T>)>>>(in, sums, scale, n);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.launch.shared_bytes.text(), "128 * max(sizeof_T, 4)");
  EXPECT_EQ(raw->candidate.arguments[1].dtype, "f32");
  EXPECT_EQ(raw->candidate.arguments[2].dtype, "f32");
  ASSERT_EQ(raw->candidate.types.size(), 1u);
  EXPECT_THAT(raw->candidate.types[0].dtypes, testing::Not(testing::Contains("f64")));
}

TEST(RawCandidateQuestions, WhatADispatchCallsTheTypeOfSumsFollowsTheElementsToo) {
  const auto raw = raw_of(R"(
#include <ATen/ATen.h>
#include <ATen/OpMathType.h>
template <class T, class A> __global__ void k(T* out, const T* in, int n) {
  extern __shared__ char bytes[];
  A* sums = reinterpret_cast<A*>(bytes);
  sums[threadIdx.x] = static_cast<A>(in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < n) out[threadIdx.x] = static_cast<T>(sums[n - 1 - threadIdx.x]);
}
void run(at::Tensor out, at::Tensor in) {
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(in.scalar_type(), "run", [&] {
    using sum_t = at::opmath_type<scalar_t>;
    k<scalar_t, sum_t><<<1, 128, 128 * sizeof(sum_t)>>>(out.data_ptr<scalar_t>(), in.data_ptr<scalar_t>(), in.size(0));
  });
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.launch.shared_bytes.text(), "128 * max(sizeof_T, 4)");
}

TEST(RawCandidateQuestions, AClassOfTheFileIsNoElementType) {
  const auto raw = raw_of(R"(
struct RowMajor {
  static __device__ int at(int row, int column, int columns) { return row * columns + column; }
};
template <class T, class Layout> __global__ void k(T* out, const T* in, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column < columns) out[Layout::at(blockIdx.y, column, columns)] = in[column];
}
template <class T> void run(T* out, const T* in, int rows, int columns) {
  k<T, RowMajor><<<dim3((columns + 127) / 128, rows), 128>>>(out, in, rows, columns);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<{T}, RowMajor>");
  ASSERT_EQ(raw->candidate.types.size(), 1u);
}

// A number of axes that the launcher asks a tensor for, and has an instance for each of.
constexpr const char* AXES = R"(
#define DISPATCH(value, ...)                                                                                 \
  switch (value) {                                                                                           \
  case 2: { constexpr int n = 2; __VA_ARGS__(); break; }                                                     \
  case 3: { constexpr int n = 3; __VA_ARGS__(); break; }                                                     \
  }
template <typename T, int AXES>
__global__ void k(T* out, const T* in, long stride, long outer, int inner, int d) {
  const T* row = in + blockIdx.x * stride;
  if (AXES == 3) row = in + blockIdx.x / inner * outer + blockIdx.x % inner * stride;
  for (int i = threadIdx.x; i < d; i += blockDim.x) out[blockIdx.x * d + i] = row[i];
}
struct Shape { int axes(); long stride(int); };
void launch(float* out, const float* in, Shape shape, int rows, int d) {
  int axes = shape.axes();
  long outer = axes == 3 ? shape.stride(0) : 0;
  int inner = axes == 3 ? 4 : 1;
  DISPATCH(axes, [&] { k<float, n><<<rows, 128>>>(out, in, shape.stride(1), outer, inner, d); });
}
)";

TEST(RawCandidateQuestions, ANumberIsOneOfTheProgramsInstances) {
  LaunchOverride launch;
  const auto raw = raw_of(AXES, launch);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<{T}, 2>");
  EXPECT_THAT(raw->assumptions, testing::Contains(HasSubstr("AXES = 2, as in one of the program's own 2")));
  // What the launcher makes of that number is known with it.
  EXPECT_THAT(raw->candidate.dimensions, testing::Not(testing::Contains("axes")));
}

// The launcher asks the tensors how wide their numbers are.
TEST(RawCandidateQuestions, TheSizeOfATensorsElementsIsThatOfItsType) {
  const auto raw = raw_of(R"(
#include <torch/all.h>
template <class T, class U> __global__ void k(T* out, const U* in, int d) {
  for (int i = threadIdx.x; i < d; i += blockDim.x) out[blockIdx.x * d + i] = T(float(in[blockIdx.x * d + i]));
}
void run(torch::Tensor& result, torch::Tensor& input, int rows, int d) {
  auto dtype = input.scalar_type();
  const int pack = 16 / at::elementSize(dtype), wide = 32 / result.element_size();
  if (d % pack == 0)
    AT_DISPATCH_FLOATING_TYPES(dtype, "k", [&] {
      k<float, scalar_t><<<rows, std::min(d / pack, 32 * wide)>>>(result.data_ptr<float>(),
                                                                  input.data_ptr<scalar_t>(), d);
    });
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.dimensions, testing::UnorderedElementsAre("rows", "d"));
  const std::string block = raw->candidate.launch.block[0].text();
  EXPECT_THAT(block, HasSubstr("sizeof_U")) << "of in";
  EXPECT_THAT(block, HasSubstr("sizeof_T")) << "of out, by what is passed for it";
  ASSERT_EQ(raw->candidate.launched_where.size(), 1u);
  EXPECT_THAT(raw->candidate.launched_where.front().text(), HasSubstr("sizeof_U"));
}

constexpr const char* EQUAL_ROWS = R"(
#include <torch/all.h>
__global__ void k(float* out, const float* in, int n, int d) {
  for (int i = threadIdx.x; i < d && blockIdx.x < n; i += blockDim.x) out[blockIdx.x * d + i] = in[blockIdx.x * d + i];
}
void run(torch::Tensor& result, torch::Tensor& input) {
  const int rows = input.size(0), d = input.size(1), result_rows = result.size(0);
  TORCH_CHECK(rows == result_rows, "as many rows");
  k<<<result_rows, 256>>>(result.data_ptr<float>(), input.data_ptr<float>(), rows, d);
}
)";

TEST(RawCandidateQuestions, SizesThatTheProgramChecksToBeEqualAreOne) {
  const auto raw = raw_of(EQUAL_ROWS, {});
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.dimensions, testing::UnorderedElementsAre("rows", "d"));
  EXPECT_EQ(raw->candidate.launch.grid[0].text(), "rows");
  EXPECT_TRUE(raw->candidate.launched_where.empty());
  EXPECT_THAT(raw->assumptions, testing::Contains(HasSubstr("result_rows is rows")));
  std::string other = EQUAL_ROWS;
  other.replace(other.find("rows == result_rows"), 19, "rows <= result_rows");
  const auto apart = raw_of(other, {});
  ASSERT_TRUE(apart.ok()) << apart.error().sentence();
  EXPECT_THAT(apart->candidate.dimensions, testing::UnorderedElementsAre("rows", "d", "result_rows"));
}

// A variable of the kernel's own that is called like the launcher's is no name of the namespace.
TEST(RawCandidateQuestions, ASizeThatTheKernelHasAVariableOfTheNameOf) {
  const auto raw = raw_of(R"(
#define DISPATCH_WIDTH(width, WIDTH, ...) \
  switch (width) { \
    case 64: { constexpr int WIDTH = 64; __VA_ARGS__ break; } \
    case 128: { constexpr int WIDTH = 128; __VA_ARGS__ break; } \
  }
namespace rows {
template <int EACH, typename T> __global__ void k(T* out, const T* in) {
  constexpr int width = EACH * 32;
  for (int i = 0; i < EACH; ++i)
    out[blockIdx.x * width + i * 32 + threadIdx.x] = in[blockIdx.x * width + i * 32 + threadIdx.x];
}
template <typename T> void launch(T* out, const T* in, int count, int width) {
  DISPATCH_WIDTH(width, WIDTH, {
    constexpr int each = WIDTH / 32;
    auto kernel = k<each, T>;
    kernel<<<count, 32>>>(out, in);
  })
}
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "rows::k<128 / 32, {T}>");
}

} // namespace
} // namespace lathe::refactor
