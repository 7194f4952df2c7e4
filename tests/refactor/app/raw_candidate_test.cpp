// From a source file to what the rules start with: template arguments, types, sizes.
#include "tests/refactor/app/raw_source.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The launcher computes the pack from the type and the row, as the largest of two.
constexpr const char* PACKED = R"(
#include <algorithm>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <int ROW, int PACK, int LANES, typename T, typename Index>
__global__ void k(T* out, const T* in, const Index* rows, int n) {
  static_assert(ROW == PACK * LANES);
  const int i = blockIdx.x * blockDim.y + threadIdx.y;
  if (i < n) {
    const Index row = rows[i] % 8;
    for (int e = 0; e < PACK; ++e) {
      out[i * ROW + threadIdx.x * PACK + e] = in[row * ROW + threadIdx.x * PACK + e];
    }
  }
}
template <typename T, typename Index, int ROW> void launch(T* out, const T* in, const Index* rows, int n) {
  constexpr int pack = std::max(16 / int(sizeof(T)), ROW / 32);
  constexpr int lanes = ROW / pack;
  k<ROW, pack, lanes, T, Index><<<(n + 3) / 4, dim3(lanes, 4)>>>(out, in, rows, n);
}
)";

// What is copied may be anything: the size of its elements is the launcher's alone.
TEST(RawCandidate, ASizeOfAnElementThatTheKernelDoesNotKnow) {
  const auto raw = raw_of(R"(
__global__ void k(int width, const float4* in, float4* out) {
  for (int i = threadIdx.x; i < width; i += blockDim.x) out[blockIdx.x * width + i] = in[blockIdx.x * width + i];
}
template <class T> void launch(int rows, int width, T* in, T* out) {
  width = width / (16 / sizeof(T));
  k<<<rows, 512>>>(width, (float4*)in, (float4*)out);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.dimensions, testing::UnorderedElementsAre("rows", "width"));
  EXPECT_EQ(raw->candidate.arguments[0].value.text().find("sizeof"), std::string::npos);
  EXPECT_THAT(raw->assumptions, testing::Contains(testing::HasSubstr("sizeof(T) at the launch is 2")));
}

TEST(RawCandidate, ALauncherParameterThatNothingSaysIsTold) {
  const auto raw = raw_of(PACKED);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->assumed_template_arguments, ElementsAre("--template-argument ROW=128"));
}

// In single precision the kernel is a specialisation.
constexpr const char* SPECIALISED = R"(
#include <cuda_fp16.h>
template <typename T> __global__ void k(T* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = static_cast<T>(2.f * static_cast<float>(x[i]));
}
template <> __global__ void k<float>(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 3.f * x[i];
}
template <typename T> void launch(T* x, int n) { k<T><<<(n + 255) / 256, 256>>>(x, n); }
)";

TEST(RawCandidate, ASpecialisationIsAnotherKernel) {
  const auto raw = raw_of(SPECIALISED);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.text.find("3.f"), std::string::npos);
  ASSERT_EQ(raw->candidate.types.size(), 1u);
  EXPECT_THAT(raw->candidate.types.front().dtypes, ElementsAre("bf16", "f16"));
}

TEST(RawCandidate, AFileThatLaunchesOnlyASpecialisation) {
  const auto raw = raw_of(std::string(SPECIALISED) +
                          "void launch_float(float* x, int n) { k<float><<<(n + 63) / 64, 64>>>(x, n); }");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.launch.block[0].text(), "256");
}

// The half types convert to several numbers on the host, of which std::tanh takes each.
TEST(RawCandidate, OfTypesThatNothingNamesThoseThatCannotBeRunAreLeftOut) {
  const auto raw = raw_of(R"(
#include <cmath>
template <typename T> __global__ void k(T* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = std::tanh(x[i]);
}
template <typename T> void launch(T* x, int n) { k<T><<<(n + 255) / 256, 256>>>(x, n); }
template void launch<float>(float*, int);
template void launch<double>(double*, int);
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  ASSERT_EQ(raw->candidate.types.size(), 1u);
  EXPECT_THAT(raw->candidate.types.front().dtypes, ElementsAre("f32"));
}

// A launcher of which the file has several instances, the first of which does not get to the launch.
constexpr const char* INSTANCES = R"(
template <int N> __global__ void k(float* x, int n) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * N;
  if (i < n) x[i] = 1;
}
template <int WIDTH> void launch(float* x, int n) {
  if (WIDTH > 1)
    k<WIDTH><<<(n + 64 * WIDTH - 1) / (64 * WIDTH), 64>>>(x, n);
}
void all(float* x, int n) {
  launch<1>(x, n);
  launch<4>(x, n);
  launch<8>(x, n);
}
)";

TEST(RawCandidate, OfSeveralInstancesOfALauncherTheFirstThatLaunchesIsTaken) {
  const auto raw = raw_of(INSTANCES);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<4>");
  EXPECT_THAT(raw->candidate.dimensions, ElementsAre("n"));
  EXPECT_THAT(raw->candidate.launch.grid[0].text(), HasSubstr("64 * 4"));
  EXPECT_THAT(raw->assumptions, testing::Contains(AllOf(HasSubstr("WIDTH = 4"), HasSubstr("others have 1, 8"),
                                                        HasSubstr("--template-argument WIDTH=..."))));
}

TEST(RawCandidate, AnotherInstanceOfALauncherCanBeAskedFor) {
  LaunchOverride launch;
  launch.template_arguments["WIDTH"] = "8";
  const auto raw = raw_of(INSTANCES, launch);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.instance, HasSubstr("8"));
  EXPECT_THAT(raw->candidate.dimensions, ElementsAre("n"));
}

TEST(RawCandidate, TheSizeOfALaunchersTypeIsThatOfTheOnlyElementType) {
  const auto raw = raw_of(R"(
template <typename T> __global__ void k(T* out, const T* in, int n) {
  extern __shared__ char room[];
  T* mine = reinterpret_cast<T*>(room);
  mine[threadIdx.x] = in[blockIdx.x * n + threadIdx.x % n];
  out[blockIdx.x * n + threadIdx.x % n] = mine[threadIdx.x];
}
template <typename In> In* device_cast(In* x) { return x; }
template <typename In> void launch(In* out, const In* in, int rows, int n) {
  k<<<rows, 128, 128 * sizeof(In)>>>(device_cast(out), device_cast(in), n);
}
void all(float* x, int rows, int n) { launch<float>(x, x, rows, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.launch.shared_bytes.text(), "128 * sizeof_T");
  EXPECT_THAT(raw->assumptions, testing::Contains(HasSubstr("sizeof(In) at the launch")));
}

TEST(RawCandidate, AVectorThatDividesTheSizeIsTheWidest) {
  const auto raw = raw_of(R"(
#include <cuda_bf16.h>
#include <numeric>
template <unsigned BLOCK, unsigned VEC, typename T> __global__ void k(T* out, const T* in, unsigned d) {
  for (unsigned i = threadIdx.x * VEC; i < d; i += BLOCK * VEC)
    for (unsigned j = 0; j < VEC; ++j) out[blockIdx.x * d + i + j] = in[blockIdx.x * d + i + j];
}
template <typename T> void launch(T* out, const T* in, unsigned rows, unsigned d) {
  const unsigned vec = std::gcd(16 / sizeof(T), d);
  switch (vec) {
  case 8: { constexpr unsigned VEC = 8; k<128, VEC, T><<<rows, 128>>>(out, in, d); break; }
  case 4: { constexpr unsigned VEC = 4; k<128, VEC, T><<<rows, 128>>>(out, in, d); break; }
  case 2: { constexpr unsigned VEC = 2; k<128, VEC, T><<<rows, 128>>>(out, in, d); break; }
  case 1: { constexpr unsigned VEC = 1; k<128, VEC, T><<<rows, 128>>>(out, in, d); break; }
  }
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<128, 16 / sizeof({T}), {T}>");
  EXPECT_THAT(raw->assumptions, testing::Contains(HasSubstr("is a multiple of it")));
}

TEST(RawCandidate, AByteIsNoSize) {
  const auto raw = raw_of(R"(
__global__ void k(char* x, char value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value;
}
void launch(char* x, int rank, int n) { k<<<(n + 127) / 128, 128>>>(x, rank, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.dimensions, ElementsAre("n"));
  EXPECT_EQ(raw->candidate.arguments[1].value.text(), "1");
  EXPECT_THAT(raw->assumptions, testing::Contains(HasSubstr("value = 1")));
}

TEST(RawCandidate, ASwitchIsWhatTheLaunchPasses) {
  const auto raw = raw_of(R"(
__global__ void k(float* x, bool doubled, bool shifted, bool halved, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) x[i] = x[i] * (doubled ? 2.f : 1.f) + (shifted ? 1.f : 0.f) - (halved ? x[i] / 2 : 0.f);
}
void launch(float* x, bool shifted, int n) { k<<<(n + 255) / 256, 256>>>(x, false, shifted, true, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.arguments[1].value.text(), "0");
  EXPECT_EQ(raw->candidate.arguments[2].value.text(), "1");
  EXPECT_EQ(raw->candidate.arguments[3].value.text(), "1");
  EXPECT_THAT(raw->assumed_switches, ElementsAre("shifted"));
}

TEST(RawCandidate, TexturesAreNoNumbers) {
  const auto raw = raw_of(R"(
__global__ void k(float* out, const cudaTextureObject_t image, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = image != 0;
}
void launch(float* out, cudaTextureObject_t image, int n) { k<<<1, 64>>>(out, image, n); }
)");
  ASSERT_FALSE(raw.ok());
  EXPECT_THAT(raw.error().sentence(), HasSubstr("'image' is a texture"));
}

TEST(RawCandidate, AFixedGridIsASize) {
  const auto raw = raw_of(R"(
__global__ void k(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
void launch(float* x) { k<<<dim3(4096 / 64, 2), 64>>>(x); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.dimensions, ElementsAre("blocks_x", "blocks_y"));
  EXPECT_THAT(raw->own_sizes, ElementsAre(testing::Pair("blocks_x", 64), testing::Pair("blocks_y", 2)));
}

TEST(RawCandidate, ArgumentsThatTheLauncherComputesCompile) {
  LaunchOverride launch;
  launch.template_arguments["ROW"] = "128";
  const auto raw = raw_of(PACKED, launch);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.instance, HasSubstr(" ? "));
  EXPECT_THAT(raw->candidate.instance, testing::Not(HasSubstr("max")));
  const auto lanes =
      raw->candidate.launch.block[0].evaluate_integer([](std::string_view name) -> std::optional<Value> {
        return name == "sizeof_T" ? std::optional(Value{std::int64_t{2}}) : std::nullopt;
      });
  ASSERT_TRUE(lanes.ok()) << lanes.error().sentence();
  EXPECT_EQ(*lanes, 16);
}

// What a launcher builds of its own parameters is in the kernel's namespace, and in none of its parameters.
constexpr const char* TRAITS = R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace ops {
template <int WIDTH, typename T> struct Traits { static constexpr int width = WIDTH; using element = T; };
template <typename Traits>
__global__ void k(void* out, const void* in, int n) {
  using element = typename Traits::element;
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * Traits::width;
  for (int e = i; e < i + Traits::width && e < n; ++e)
    static_cast<element*>(out)[e] = static_cast<const element*>(in)[e];
}
template <int W, typename Element> void launch(void* out, const void* in, int n) {
  k<Traits<W, Element>><<<(n + 127) / 128, 128>>>(out, in, n);
}
}
)";

TEST(RawCandidate, ADifferenceThatNothingElseFollowsIsASize) {
  const std::string kernel = R"(
__global__ void k(float* x, int n, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < rounds && i < n; ++round) x[i] += round;
}
)";
  const auto alone = raw_of(kernel + R"(
void launch(float* x, int n, int first, int last) { k<<<(n + 255) / 256, 256>>>(x, n, last - first + 1); }
)");
  ASSERT_TRUE(alone.ok()) << alone.error().sentence();
  EXPECT_EQ(alone->candidate.arguments[2].value.text(), "rounds");
  EXPECT_THAT(alone->candidate.dimensions, testing::UnorderedElementsAre("n", "rounds"));
  // What the launch follows as well stays what it is.
  const auto shared = raw_of(kernel + R"(
void launch(float* x, int first, int last) { k<<<(first + 255) / 256, 256>>>(x, first, last - first); }
)");
  ASSERT_TRUE(shared.ok()) << shared.error().sentence();
  EXPECT_THAT(shared->candidate.arguments[2].value.text(), HasSubstr("last"));
}

TEST(RawCandidate, ANumberInsideAnArgumentIsTold) {
  const auto raw = raw_of(TRAITS);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.instance, HasSubstr("ops::Traits<4, {Element}>"));
  EXPECT_THAT(raw->assumptions, testing::Contains(HasSubstr("W = 4, which compiles")));
}

TEST(RawCandidate, ATypeInsideAnArgumentIsAnElementType) {
  LaunchOverride launch;
  launch.template_arguments["W"] = "4";
  const auto raw = raw_of(TRAITS, launch);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.instance, HasSubstr("ops::Traits<4, {Element}>"));
  ASSERT_EQ(raw->candidate.types.size(), 1u);
  EXPECT_EQ(raw->candidate.types[0].name, "Element");
  EXPECT_THAT(raw->candidate.types[0].dtypes, ElementsAre("bf16", "f16", "f32"));
}

TEST(RawCandidate, MemoryWithoutATypeIsWhatTheKernelReadsItAs) {
  const auto raw = raw_of(R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <typename T> __device__ void copy(void* to, const void* from, int i) {
  const auto* values = reinterpret_cast<const T*>(from);
  reinterpret_cast<T*>(to)[i] = values[i];
}
template <typename T> __global__ void k(void* out, void* in, const void* rows, void* packs, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    copy<T>(out, in, reinterpret_cast<const int*>(rows)[i]);
  reinterpret_cast<int4*>(packs)[2 * i + 1] = reinterpret_cast<int4*>(packs)[2 * i];
}
template <typename T> void launch(void* out, void* in, const void* rows, void* packs, int n) {
  k<T><<<(n + 127) / 128, 128>>>(out, in, rows, packs, n);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.arguments[0].dtype, "T");
  EXPECT_EQ(raw->candidate.arguments[1].dtype, "T");
  EXPECT_EQ(raw->candidate.arguments[2].dtype, "i32");
  EXPECT_EQ(raw->candidate.arguments[2].fill.kind, Fill::Kind::zero);
  EXPECT_EQ(raw->candidate.arguments[3].dtype, "u8"); // copied in packs, whatever it is
}

// A launcher's types that the program never has apart are one.
TEST(RawCandidate, TypesThatAreTheSameInAllInstancesAreOne) {
  const auto raw_with = [](const std::string& instances, const WorkloadFacts& facts = {}) {
    return raw_of(R"(
template <int N, class A, class B> struct Traits { using in_t = A; using weight_t = B; };
template <class Traits> __global__ void k(void* out, const void* in, const void* weight, int n) {
  using in_t = typename Traits::in_t;
  using weight_t = typename Traits::weight_t;
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n)
    static_cast<in_t*>(out)[i] =
        in_t(float(static_cast<const in_t*>(in)[i]) * float(static_cast<const weight_t*>(weight)[i]));
}
template <class in_t, class weight_t> void launch(void* out, const void* in, const void* weight, int n) {
  k<Traits<4, in_t, weight_t>><<<(n + 63) / 64, 64, sizeof(weight_t)>>>(out, in, weight, n);
}
template void launch<float, float>(void*, const void*, const void*, int);
)" + instances,
                  {}, facts);
  };
  const auto same = raw_with("template void launch<double, double>(void*, const void*, const void*, int);\n");
  ASSERT_TRUE(same.ok()) << same.error().sentence();
  ASSERT_EQ(same->candidate.types.size(), 1u);
  EXPECT_EQ(same->candidate.types[0].name, "in_t");
  EXPECT_THAT(same->candidate.instance, HasSubstr("Traits<4, {in_t}, {in_t}>"));
  EXPECT_EQ(same->candidate.arguments[2].dtype, "in_t");
  EXPECT_EQ(same->candidate.launch.shared_bytes.text(), "sizeof_in_t");
  EXPECT_THAT(same->assumptions, testing::Contains(HasSubstr("weight_t = in_t, as in all instances")));
  const std::string mixed = "template void launch<float, double>(void*, const void*, const void*, int);\n";
  const auto apart = raw_with(mixed);
  ASSERT_TRUE(apart.ok()) << apart.error().sentence();
  EXPECT_EQ(apart->candidate.types.size(), 2u);
  WorkloadFacts told;
  told.types["weight_t"] = {"f32"};
  const auto given = raw_with("", told);
  ASSERT_TRUE(given.ok()) << given.error().sentence();
  EXPECT_EQ(given->candidate.types.size(), 2u);
}

TEST(RawCandidate, DataAndIndexTypesAreToldApart) {
  LaunchOverride launch;
  launch.template_arguments["ROW"] = "128";
  const auto raw = raw_of(PACKED, launch);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  ASSERT_EQ(raw->candidate.types.size(), 2u);
  EXPECT_EQ(raw->candidate.types[0].name, "T");
  EXPECT_THAT(raw->candidate.types[0].dtypes, ElementsAre("bf16", "f16", "f32"));
  EXPECT_THAT(raw->candidate.types[1].dtypes, ElementsAre("i32"));
  // Anything but zero could point outside the rows.
  EXPECT_EQ(raw->candidate.arguments[2].name, "rows");
  EXPECT_EQ(raw->candidate.arguments[2].fill.kind, Fill::Kind::zero);
  EXPECT_NE(raw->candidate.arguments[1].fill.kind, Fill::Kind::zero);
}

TEST(RawCandidate, OfAKernelThatNothingLaunchesSwitchesAreOnAndNumbersTaken) {
  LaunchOverride launch;
  launch.grid = "ceil_div(n, 256)";
  launch.block = "256";
  const std::string text = R"(
template <class T, bool is_same, int N> __global__ void k(T* out, const T* in, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = is_same ? in[i] : in[i / N];
}
)";
  const auto taken = raw_of(text, launch);
  ASSERT_TRUE(taken.ok()) << taken.error().sentence();
  EXPECT_THAT(taken->assumptions, testing::Contains(HasSubstr("N = 128, which compiles")));
  launch.template_arguments["N"] = "4";
  const auto raw = raw_of(text, launch);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<{T}, true, 4>");
  EXPECT_THAT(raw->assumptions, testing::Contains(HasSubstr("is_same = true")));
}

// What all instances have integers for compiles as a real number too, and is an index.
TEST(RawCandidate, IntegersOfAllInstancesAreNoRealNumbers) {
  const auto types_of = [](const std::string& instances) {
    const auto raw = raw_of(R"(
template <class T, class Id> __global__ void k(T* out, const T* in, const Id* first, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = in[long(first[i])];
}
template <class T, class Id> void launch(T* out, const T* in, const Id* first, int n) {
  k<T, Id><<<(n + 255) / 256, 256>>>(out, in, first, n);
}
)" + instances);
    EXPECT_TRUE(raw.ok()) << raw.error().sentence();
    return raw.ok() ? raw->candidate.types : std::vector<TypeParameter>();
  };
  const std::string with = "template void launch<double, int>(double*, const double*, const int*, int);\n"
                           "template void launch<float, long>(float*, const float*, const long*, int);\n";
  const auto integers = types_of(with);
  ASSERT_EQ(integers.size(), 2u);
  EXPECT_THAT(integers[0].dtypes, ElementsAre("bf16", "f16", "f32"));
  EXPECT_THAT(integers[1].dtypes, ElementsAre("i32", "i64"));
  const auto mixed =
      types_of(with + "template void launch<float, float>(float*, const float*, const float*, int);\n");
  ASSERT_EQ(mixed.size(), 2u);
  EXPECT_THAT(mixed[1].dtypes, ElementsAre("bf16", "f16", "f32"));
}

// So does what is named as an index where nothing instantiates the kernel.
TEST(RawCandidate, TypesThatAreNamedAsIndicesAreIntegers) {
  const auto raw = raw_of(R"(
template <class T, class IdxType, class Id> __global__ void k(T* out, const T* in, const IdxType* first, Id n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = in[long(first[i])];
}
template <class T, class IdxType> void launch(T* out, const T* in, const IdxType* first, long n) {
  k<T, IdxType><<<(n + 255) / 256, 256>>>(out, in, first, n);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  ASSERT_EQ(raw->candidate.types.size(), 3u);
  EXPECT_THAT(raw->candidate.types[0].dtypes, ElementsAre("bf16", "f16", "f32"));
  EXPECT_THAT(raw->candidate.types[1].dtypes, ElementsAre("i32"));
}

TEST(RawCandidate, FunctionsAndSwitchesOfALauncherAreThoseOfAnInstance) {
  const auto raw = raw_of(R"(
#include <cstdint>
using std::uintptr_t;
template <typename T> __device__ T* direct(T* base, const uintptr_t*, int row) { return base + row; }
template <typename T> __device__ T* by_table(T*, const uintptr_t* table, int row) {
  return reinterpret_cast<T*>(table[row]);
}
template <auto PLACE, bool TWICE>
__global__ void k(float* out, float* in, const uintptr_t* table, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = *PLACE(in, table, i) * (TWICE ? 2.f : 1.f);
  }
}
template <auto PLACE, bool TWICE> void launch(float* out, float* in, const uintptr_t* table, int n) {
  k<PLACE, TWICE><<<(n + 255) / 256, 256>>>(out, in, table, n);
}
void copy(float* out, float* in, int n) { launch<direct<float>, true>(out, in, nullptr, n); }
void gather(float* out, const uintptr_t* table, int n) { launch<by_table<float>, false>(out, nullptr, table, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<direct<float>, true>");
  EXPECT_THAT(raw->assumptions, testing::Contains(HasSubstr("PLACE = direct<float>, as in the first of 2")));
  EXPECT_EQ(raw->candidate.arguments[2].dtype, "u64");
}

// Names that the source gives to types, qualifiers and enumerations do not hide what is passed.
TEST(RawCandidate, TypesBehindTheirNames) {
  const auto raw = raw_of(R"(
typedef float real;
enum Mode { first, second };
struct Point { float x, y; };
struct Entry { int key; double value; };
template <class T> __global__ void k(real* out, const Point* points, const Entry* entries, const T scale, const enum Mode mode, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = real(points[i].x + entries[i].key * float(scale) + mode);
}
void launch(real* out, const Point* points, const Entry* entries, float scale, Mode mode, int n) {
  k<float><<<(n + 255) / 256, 256>>>(out, points, entries, scale, mode, n);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> dtypes;
  for (const Argument& argument : raw->candidate.arguments)
    dtypes.push_back(argument.dtype);
  EXPECT_THAT(dtypes, ElementsAre("f32", "f32", "u8", "T", "u32", "i32"));
}

// What consists of T's is a buffer of T's: by the class template, or by what the file's instances have there.
TEST(RawCandidate, StructuresOfAKernelsOwnType) {
  const auto raw = raw_of(R"(
template <class U> struct Vec { U x, y; };
template <class U> struct Box { Vec<U> low, high; U volume[2]; };
template <class U> struct Packed;
template <> struct Packed<float> { typedef float4 type; };
template <> struct Packed<double> { typedef double2 type; };
template <class T> __global__ void k(T* out, const Vec<T>* points, const Box<T>* boxes,
                                     const typename Packed<T>::type* packs, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = points[i].x + boxes[i].high.y + packs[i].x;
}
template <class T> void launch(T* out, const Vec<T>* points, const Box<T>* boxes, const typename Packed<T>::type* packs, int n) {
  k<T><<<(n + 255) / 256, 256>>>(out, points, boxes, packs, n);
}
template void launch<float>(float*, const Vec<float>*, const Box<float>*, const float4*, int);
template void launch<double>(double*, const Vec<double>*, const Box<double>*, const double2*, int);
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> dtypes;
  for (const Argument& argument : raw->candidate.arguments)
    dtypes.push_back(argument.dtype);
  EXPECT_THAT(dtypes, ElementsAre("T", "T", "T", "T", "i32"));
}

// Structures with pointers are bytes to a kernel that has nothing to do with these.
TEST(RawCandidate, StructuresWhosePointersNobodyNames) {
  const std::string state = R"(
template <class U> struct State { const U* data; int length; U largest; struct Part { short a, b; } parts[2]; };
)";
  const auto raw = raw_of(state + R"(
template <class T> __global__ void k(T* out, const State<T>* states, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = states[threadIdx.x].largest + T(states[threadIdx.x].length);
}
void launch(float* out, const State<float>* states, int n) { k<float><<<1, 256>>>(out, states, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.arguments[1].dtype, "u8");
  const auto followed = raw_of(state + R"(
template <class T> __device__ T first(const State<T>& state) { return state.data[0]; }
template <class T> __global__ void k(T* out, const State<T>* states, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = first(states[threadIdx.x]);
}
void launch(float* out, const State<float>* states, int n) { k<float><<<1, 256>>>(out, states, n); }
)");
  ASSERT_FALSE(followed.ok());
  EXPECT_THAT(followed.error().sentence(), HasSubstr("has no dtype"));
}

// An object whose class is the kernel's template parameter is that of the instance; T is as it is there.
TEST(RawCandidate, AnObjectOfTheInstancesClass) {
  const auto raw = raw_of(R"(
namespace {
template <class T> struct Plus { __device__ T operator()(T a, T b) const { return a + b; } };
}
template <class T, class F> __global__ void k(T* out, const T* in, T by, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = F()(in[i], by);
}
template <class T, class F> void launch(T* out, const T* in, T by, F, int n) {
  k<T, F><<<(n + 255) / 256, 256>>>(out, in, by, n);
}
void use(double* out, const double* in, int n) { launch(out, in, 2.0, Plus<double>(), n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<{T}, Plus<double>>");
  ASSERT_EQ(raw->candidate.types.size(), 1u);
  EXPECT_THAT(raw->candidate.types.front().dtypes, ElementsAre("f64"));
}

TEST(RawCandidate, TypesOfTheFilesOwnInstanceWhereNoSingleTypeWillDo) {
  const auto raw = raw_of(R"(
#include <cuda_fp16.h>
template <class V> struct Parts;
template <> struct Parts<float2> { using type = float; };
template <> struct Parts<__half2> { using type = __half; };
template <class V, class A> __global__ void k(V* x, A by, int n) {
  typename Parts<V>::type one = x[threadIdx.x].x;
  if (threadIdx.x < n) x[threadIdx.x].y = one;
}
template <class V> void launch(V* x, int n) { k<V, float><<<1, 64>>>(x, 1.f, n); }
void entry(__half2* x, int n) { launch(x, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.instance, HasSubstr("k<__half2"));
  EXPECT_EQ(raw->candidate.arguments[0].dtype, "f16");
}

// A number of the kernel's that follows from the number of multiprocessors fixes the grid that follows from
// it too.
// A generator that is asked for by a type's name: no other type of its size will do.
TEST(RawCandidate, TypesOfAnInstanceAsTheyAreWrittenWhereTheyAreAskedForByName) {
  const auto raw = raw_of(R"(
template <class T> struct Generator {
  template <class U> __device__ U next();
};
template <> template <> __device__ unsigned long Generator<unsigned long>::next<unsigned long>() { return 7; }
template <class T, class Source> __global__ void k(T* out, int n) {
  Source source;
  if (threadIdx.x < n) out[threadIdx.x] = source.template next<T>();
}
template <class T, class Source> void fill(T* out, int n) { k<T, Source><<<1, n>>>(out, n); }
void use(unsigned long* out, int n) { fill<unsigned long, Generator<unsigned long>>(out, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<unsigned long, Generator<unsigned long>>");
  EXPECT_EQ(raw->candidate.arguments[0].dtype, "u64");
}

TEST(RawCandidate, TypesOfAnInstanceAsTheCompilerOfTheDeviceNamesThem) {
  const auto raw = raw_of(R"(
#include <cstdint>
#include <type_traits>
template <class T> struct Generator {
  static_assert(std::is_same<T, std::uint32_t>::value || std::is_same<T, std::uint64_t>::value);
  __device__ T next() { return T(7); }
};
template <class Source> __global__ void k(std::uint64_t* out, int n) {
  Source source;
  if (threadIdx.x < n) out[threadIdx.x] = source.next();
}
template <class Source> void fill(std::uint64_t* out, int n) { k<Source><<<1, n>>>(out, n); }
void use(std::uint64_t* out, int n) { fill<Generator<std::uint64_t>>(out, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<Generator<std::uint64_t>>");
}

TEST(RawCandidate, TypesThatValuesAreQuantisedTo) {
  const auto raw = raw_of(R"(
template <class T, class Small> __global__ void k(Small* out, const T* in, int n) {
  static_assert(sizeof(Small) == 1 && sizeof(T) > 1);
  if (threadIdx.x < n) out[threadIdx.x] = Small(float(in[threadIdx.x]));
}
template <class T, class Small> void launch(Small* out, const T* in, int n) { k<T, Small><<<1, n>>>(out, in, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.types[0].dtypes, ElementsAre("bf16", "f16", "f32"));
  EXPECT_THAT(raw->candidate.types[1].dtypes, ElementsAre("i8"));
}

TEST(RawCandidate, WhatNoNarrowerTypeWillDoForIsDoublePrecision) {
  const auto raw = raw_of(R"(
template <class T> __global__ void k(T* x, const T by, int n) {
  static_assert(sizeof(T) == sizeof(double));
  if (threadIdx.x < n) x[threadIdx.x] *= by;
}
template <class T> void launch(T* x, T by, int n) { k<T><<<1, n>>>(x, by, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.types[0].dtypes, ElementsAre("f64"));
}

TEST(RawCandidate, DeviceLimitsInScalarsBecomeNumbers) {
  const auto raw = raw_of(R"(
#include <cuda_runtime.h>
__global__ void k(float* x, int n, int part) {
  for (int i = blockIdx.x * part + threadIdx.x; i < min(n, (blockIdx.x + 1) * part); i += 64) x[i] = 0;
}
void launch(float* x, int n) {
  int device = 0, count = 0;
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  k<<<count, 64>>>(x, n, (n + count - 1) / count);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.launch.grid[0].text().find("device"), std::string::npos);
  EXPECT_EQ(raw->candidate.arguments[2].value.text().find("device"), std::string::npos);
  EXPECT_THAT(raw->assumptions, testing::Contains(HasSubstr("device.multiprocessors = ")));
}

// FlashInfer's norms that quantise: no instance is in sight, and the output's type is one of 8 bits.
TEST(RawCandidate, OutputsThatHaveTraitsForRealNumbersOf8BitsAlone) {
  const auto raw = raw_of(R"(
#include <cuda_fp8.h>
template <class O> struct Limits;
template <> struct Limits<__nv_fp8_e4m3> { static constexpr float most = 448.f; };
template <class T, class O> __global__ void k(O* out, const T* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = O(fminf(static_cast<float>(in[i]), Limits<O>::most));
}
template <class T, class O> void launch(O* out, const T* in, int n) {
  k<T, O><<<(n + 255) / 256, 256>>>(out, in, n);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  ASSERT_EQ(raw->candidate.types.size(), 2u);
  EXPECT_THAT(raw->candidate.types[0].dtypes, ElementsAre("bf16", "f16", "f32"));
  EXPECT_THAT(raw->candidate.types[1].dtypes, ElementsAre("e4m3"));
}

} // namespace
} // namespace lathe::refactor
