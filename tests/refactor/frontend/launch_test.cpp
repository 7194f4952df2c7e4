// Which launches a file has, and under which conditions.
#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Launch, SwitchOverAConstantTakesOneWay) {
  const auto sites = launches(R"(
template <int N> __global__ void k(float* x) {}
void launch(float* x, int n) {
  const int threads = 256;
  switch (threads) {
  case 512: k<512><<<n, 512>>>(x); break;
  case 256: k<256><<<n, 256>>>(x); break;
  default: k<64><<<n, 64>>>(x); break;
  }
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].block[0], "256");
}

TEST(Launch, LocalsHelpersAndDim3AreInlined) {
  const auto sites = launches(R"(
#include <algorithm>
#include <numeric>
__global__ void k(float* out, int n, int d) {}
constexpr int kThreads = 64;
template <class T> constexpr T ceil_div(T a, T b) { return (a + b - 1) / b; }
inline int round_up(int a, int b) { if (a % b == 0) return a; return a + b - a % b; }
void launch(float* out, int n, int d, cudaStream_t stream) {
  const int vec = std::gcd(16 / sizeof(float), d);
  auto threads = std::min<int>(1024, d / vec);
  threads = round_up(threads, 32);
  dim3 block(threads, kThreads / 32), grid;
  grid.x = ceil_div(n, 4);
  grid.y = static_cast<unsigned>(d);
  k<<<grid, block, threads * sizeof(float) + 16, stream>>>(out, n, d / 2);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].launcher, "launch");
  EXPECT_THAT(sites[0].location, testing::EndsWith("input.cu:15"));
  EXPECT_THAT(sites[0].dimensions, UnorderedElementsAre("n", "d"));
  for (const std::int64_t d : {8, 12, 4096, 5000, 8192}) {
    const std::int64_t threads =
        (std::min<std::int64_t>(1024, d / std::gcd<std::int64_t>(4, d)) + 31) / 32 * 32;
    EXPECT_EQ(value_of(sites[0].block[0], {{"n", 7}, {"d", d}}), threads);
    EXPECT_EQ(value_of(sites[0].shared_bytes, {{"n", 7}, {"d", d}}), threads * 4 + 16);
    EXPECT_EQ(value_of(sites[0].arguments.at("d"), {{"d", d}}), d / 2);
  }
  EXPECT_EQ(sites[0].block[1], "2");
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 9}}), 3);
  EXPECT_EQ(sites[0].grid[1], "d");
  EXPECT_EQ(sites[0].grid[2], "1");
  EXPECT_EQ(sites[0].arguments.at("out"), "out");
}

TEST(Launch, BranchesGiveSeveralSitesWithTheirConditions) {
  const auto sites = launches(R"(
template <int VEC> __global__ void k(float* x, int n) {}
void launch(float* x, int n) {
  int block = 128;
  if (n > 4096) block = 256;
  if (n % 8 == 0) { k<8><<<n / 8, block>>>(x, n); return; }
  k<1><<<n, block>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("8"));
  EXPECT_THAT(sites[0].conditions, ElementsAre("n % 8 == 0"));
  EXPECT_EQ(value_of(sites[0].block[0], {{"n", 5000}}), 256);
  EXPECT_EQ(value_of(sites[0].block[0], {{"n", 80}}), 128);
  EXPECT_THAT(sites[1].conditions, ElementsAre("!(n % 8 == 0)"));
}

TEST(Launch, ConfigurationStructuresAndTheRuntimeInterface) {
  const auto sites = launches(R"(
template <int N, class T> __global__ void k(T* x, int n) {}
template <class T> cudaError_t launch(T* x, int n, int width, cudaStream_t stream) {
  cudaLaunchConfig_t config;
  dim3 blocks(n);
  config.gridDim = blocks;
  config.blockDim = 128;
  config.dynamicSmemBytes = width * sizeof(T);
  config.stream = stream;
  switch (width) {
    case 4: { constexpr int W = 4; auto kernel = k<W, T>; return cudaLaunchKernelEx(&config, kernel, x, n); }
    case 8: { constexpr int W = 8; auto kernel = k<W, T>; return cudaLaunchKernelEx(&config, kernel, x, n); }
  }
  void* args[] = {&x, &n};
  return cudaLaunchKernel((void*)k<1, T>, dim3(n, 2), dim3(32), args, 0, stream);
}
template cudaError_t launch<float>(float*, int, int, cudaStream_t);
)");
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("width", "T"));
  EXPECT_EQ(sites[0].block[0], "128");
  EXPECT_EQ(sites[0].shared_bytes, "width * sizeof_T");
  EXPECT_EQ(sites[0].grid[0], "n");
  EXPECT_EQ(sites[2].grid[1], "2");
  EXPECT_EQ(sites[2].arguments.at("n"), "n");
  EXPECT_THAT(sites[2].template_arguments, ElementsAre("1", "T"));
}

TEST(Launch, ConfigurationInitialisedInBraces) {
  const auto sites = launches(R"(
__global__ void k(int* x) {}
void one(int* x, int n, cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(n, 3);
  config.blockDim.x = 64;
  config.stream = stream;
  cudaLaunchKernelEx(&config, k, x);
}
void two(int* x, int n) {
  cudaLaunchConfig_t config{.gridDim = n, .blockDim = {32, 4}, .dynamicSmemBytes = size_t(n) * 8};
  cudaLaunchKernelEx(&config, k, x);
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].grid, ElementsAre("n", "3", "1"));
  EXPECT_THAT(sites[0].block, ElementsAre("64", "1", "1"));
  EXPECT_EQ(sites[0].shared_bytes, "0");
  EXPECT_THAT(sites[1].grid, ElementsAre("n", "1", "1"));
  EXPECT_THAT(sites[1].block, ElementsAre("32", "4", "1"));
  EXPECT_EQ(sites[1].shared_bytes, "n * 8");
}

TEST(Launch, ClosuresKernelVariablesTraitsAndMacros) {
  const auto sites = launches(R"(
template <int kThreads, class T> struct Traits { static constexpr int kItems = sizeof(T) == 4 ? 4 : 8; static constexpr int kBytes = kThreads * kItems; };
template <class Tr, bool B> __global__ void k(int* x) {}
#define LAUNCH(B) { auto kernel = flag ? &k<Tr, B> : &k<Tr, !B>; kernel<<<div_up(n, Tr::kItems), kThreads, Tr::kBytes>>>(x); }
template <int kThreads, class T> void run(int* x, int n, bool flag) {
  using Tr = Traits<kThreads, T>;
  auto div_up = [](int a, int b) { return (a + b - 1) / b; };
  LAUNCH(true)
}
void entry(int* x, int n) { run<64, float>(x, n, true); }
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("Traits<64, T>", "true"));
  EXPECT_EQ(sites[0].block[0], "64");
  EXPECT_THAT(sites[0].instances, Contains(ElementsAre("Traits<64, float>", "true")));
}

TEST(Launch, WhatCannotBeReadIsASentence) {
  const auto sites = launches(R"(
__global__ void k(float* x) {}
void launch(float* x, int n) {
  int block = 32;
  block = int(n * 0.7f);
  k<<<n, block>>>(x);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, Contains(HasSubstr("block")));
  EXPECT_THAT(sites[0].unreadable, Contains(HasSubstr("(line 5) rounds a floating-point number")));
}

TEST(Launch, BehindAReturnThatMayOrMayNotHappen) {
  const auto sites =
      main_launches("  const int n = atoi(argv[1]);\n  if (!can_read(argv[2])) return 1;\n",
                    "bool can_read(const char* name) {\n  FILE* file = fopen(name, \"r\");\n"
                    "  if (file == nullptr) return false;\n  fclose(file);\n  return true;\n}\n");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].dimensions, ElementsAre("n"));
}

TEST(Launch, OfAKernelThatAFunctionPicks) {
  const auto sites = launches(R"(
template <int PARTS> __global__ void k(float* x, int n) {}
typedef void (*kernel_type)(float*, int);
kernel_type pick(int parts) {
  if (parts == 1) return k<1>;
  if (parts == 2) return k<2>;
  return nullptr;
}
void launch(float* x, int n, int parts) {
  kernel_type kernel = pick(parts);
  kernel<<<(n + 63) / 64, 64>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("1"));
  EXPECT_THAT(sites[0].conditions, Contains("parts == 1"));
  EXPECT_THAT(sites[1].template_arguments, ElementsAre("2"));
  EXPECT_THAT(sites[1].conditions, Contains(HasSubstr("parts == 2")));
}

TEST(Launch, InAClosureThatSomebodyElseCalls) {
  const auto sites = launches(R"(
#include <functional>
#include <vector>
__global__ void k(float* x, int n) {}
void launch(float* x, int n, std::vector<std::function<void()>>& work) {
  work.push_back([=] { k<<<(n + 63) / 64, 64>>>(x, n); });
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].dimensions, ElementsAre("n"));
}

TEST(Launch, ThroughFunctionsAndMacrosThatLaunch) {
  const auto sites = launches(R"(
struct Stream {};
struct Launcher {
  template <class Kernel, class... Arguments>
  void launch(const Kernel& kernel, dim3 grid, dim3 block, unsigned long bytes, Stream stream, Arguments&&... arguments);
};
#define LAUNCH(KERNEL, ...) [&] { auto& kernel = KERNEL; Launcher().launch(kernel, __VA_ARGS__); }()
template <class T> __global__ void k(T* x, int n) {}
template <class T> void launch(T* x, int n, Stream stream) {
  LAUNCH((k<T>), (n + 63) / 64, 64, n * 4, stream, x, n);
  hipLaunchKernelGGL(k<T>, dim3(n / 8), dim3(8, 4), 0, stream, x, n);
}
template void launch<float>(float*, int, Stream);
)",
                              "k", false); // hipLaunchKernelGGL is not known
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].grid[0], "(n + 63) / 64");
  EXPECT_EQ(sites[0].block[0], "64");
  EXPECT_EQ(sites[0].shared_bytes, "n * 4");
  EXPECT_EQ(sites[0].arguments.at("n"), "n");
  EXPECT_EQ(sites[1].grid[0], "n / 8");
  EXPECT_EQ(sites[1].block[1], "4");
}

TEST(Launch, ACallThatOnlyTakesAKernelIsNone) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
template <class Kernel> void prepare(const Kernel& kernel, int bytes);
template <class Kernel> void tune(const Kernel& kernel, const char* name, float* x, float* y, int n, int m);
void launch(float* x, int n) {
  prepare(k, 1024);
  tune(k, "k", x, x, n, n);
  k<<<n, 32>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].grid[0], "n");
}

TEST(Launch, OfASpecialisationAreThoseOfAnotherKernel) {
  const auto sites = launches(R"(
template <class T> __global__ void k(T* x, int n) {}
template <> __global__ void k<float>(float* x, int n) {}
template <class T> void launch(T* x, int n) { k<T><<<n / 2, 64>>>(x, n); }
template void launch<int>(int*, int);
template void launch<float>(float*, int);
void launch_float(float* x, int n) { k<float><<<n, 32>>>(x, n); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].grid[0], "n / 2");
  EXPECT_THAT(sites[0].instances, ElementsAre(ElementsAre("int")));
}

TEST(Launch, InAClosureWithTemplateArgumentsOfItsOwn) {
  const auto sites = launches(R"(
template <int N, bool FLAG> struct Traits {};
template <typename TRAITS, int N> __global__ void k(float* x, int n) {}
void launch(float* x, int n, bool wide) {
  auto dispatch = [&]<int N, bool FLAG>(int blocks) {
    using T = Traits<N, FLAG>;
    k<T, N><<<blocks, 64 * N>>>(x, n);
  };
  if (wide) dispatch.operator()<4, true>(n / 4);
  else dispatch.operator()<2, false>(n / 2);
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("Traits<4, true>", "4"));
  EXPECT_EQ(sites[0].block[0], "256");
  EXPECT_EQ(sites[0].grid[0], "n / 4");
  EXPECT_THAT(sites[1].template_arguments, ElementsAre("Traits<2, false>", "2"));
}

TEST(Launch, AFunctionWhoseNameAMacroMakes) {
  const auto sites = launches(R"(
template <typename T> __device__ T twice(const T& x) { return x + x; }
template <typename T, T (*F)(const T&)> __global__ void k(T* x) {}
#define RUN(FUNCTION)                          \
  [&] {                                        \
    using scalar_t = float;                    \
    k<scalar_t, FUNCTION<scalar_t>><<<n, 64>>>((scalar_t*)x); \
  }()
void launch(void* x, int n) { RUN(twice); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("scalar_t", "twice<scalar_t>"));
}

TEST(Launch, InAClosureThatIsCalledOutOfSight) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
struct Runner { template <typename F> Runner(F f) {} };
void launch(float* x, int n) {
  struct Jobs { Runner run; };
  Jobs jobs{Runner([&] { k<<<(n + 63) / 64, 64>>>(x, n); })};
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].dimensions, ElementsAre("n"));
}

TEST(Launch, HelpersThatCallHelpersEndSoon) {
  std::string text =
      "__global__ void k(float* x, int n) {}\nint f0(int n) { return n > 3 ? n / 2 : n + 1; }\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "f" + std::to_string(i - 1);
    text += "int f" + std::to_string(i) + "(int n) { return n > " + std::to_string(i) + " ? " + below + "(" +
            below + "(n)) : " + below + "(n + 1) + " + below + "(n - 1); }\n";
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto sites = launches(text + "void launch(float* x, int n) { k<<<n, 64>>>(x, f11(n)); }\n");
  EXPECT_EQ(sites.size(), 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Launch, OverloadsForSeveralTypesAreAllLaunched) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
__global__ void k(double* x, int n) {}
template <class T> void launch(T* x, int n) { k<<<n / 64, 64>>>(x, n); }
template void launch<float>(float*, int);
)",
                              "k:3");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].grid[0], "n / 64");
}

TEST(Launch, OfOverloadedTemplatesTheArgumentsSayWhich) {
  const char* text = R"(
template <class T> __global__ void k(bool flag, int n, T** in, long ld) {}
template <class T, int W> __global__ void k(bool flag, int m, int n, T** in, long ld) {}
template <class T> void square(T** in, int n, long ld) { k<<<n, 16>>>(true, n, in, ld); }
template <class T> void wide(T** in, int m, int n, long ld) {
  const int W = 32;
  k<T, W><<<m * n, W>>>(true, m, n, in, ld);
}
template void square(float**, int, long);
template void wide(float**, int, int, long);
)";
  const auto of_square = launches(text, "k:2"), of_wide = launches(text, "k:3");
  ASSERT_EQ(of_square.size(), 1u);
  EXPECT_EQ(of_square[0].grid[0], "n");
  ASSERT_EQ(of_wide.size(), 1u);
  EXPECT_EQ(of_wide[0].grid[0], "m * n");
}

TEST(Launch, BlocksOfStatementsAreTheirLastExpression) {
  const auto sites = launches(R"(
#define MIN(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
__global__ void k(float* x, int n) {}
void launch(float* x, int n) { k<<<MIN((n + 127) / 128, 65535), 128>>>(x, n); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, testing::IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 1000}}), 8);
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 100000000}}), 65535);
}

TEST(Launch, MembersOfALaunchersTypeParameterAreThoseOfItsInstances) {
  const auto sites = launches(R"(
template <int W, bool FAST> __global__ void k(float* x, int n) {}
struct Common { static const bool fast; };
const bool Common::fast = true; // its value stands at another declaration
struct Small : Common { static constexpr int width = 2; enum { THREADS = 64 }; };
struct Large : Common { static constexpr int width = 4; enum { THREADS = 64 }; };
template <class Traits> void launch(float* x, int n) {
  k<Traits::width, Traits::fast><<<n / Traits::THREADS, Traits::THREADS>>>(x, n);
}
template void launch<Small>(float*, int);
template void launch<Large>(float*, int);
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, testing::IsEmpty());
  EXPECT_EQ(sites[0].block[0], "64");
  EXPECT_EQ(sites[0].grid[0], "n / 64");
  EXPECT_THAT(sites[0].template_arguments, testing::ElementsAre("Traits_width", "true"));
  EXPECT_THAT(sites[0].launcher_arguments.at("Traits_width"), testing::ElementsAre("2", "4"));
}

TEST(Launch, AHelpersTypeParameterIsNotTheLaunchers) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
struct Small { static constexpr int width = 2; };
struct Large { static constexpr int width = 4; };
template <class Traits> int blocks(int n) { return n / Traits::width; }
template <class Traits> void launch(float* x, int n) { k<<<blocks<Large>(n), 64>>>(x, n); }
template void launch<Small>(float*, int);
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_NE(sites[0].grid[0], "n / 2");
}

TEST(Launch, ALaunchersClassTemplatesAreThoseOfItsFirstInstance) {
  const auto sites = launches(R"(
namespace ops {
template <class T> struct Add { static __device__ T of(T a, T b) { return a + b; } };
template <class T> struct Most { static __device__ T of(T a, T b) { return a > b ? a : b; } };
}
template <class T, class Op> __global__ void k(T* x, int n) {}
template <template <class> class Op> void launch(float* x, int n) {
  k<float, Op<float>><<<(n + 255) / 256, 256>>>(x, n);
}
void all(float* x, int n) {
  launch<ops::Add>(x, n);
  launch<ops::Most>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].template_arguments, testing::ElementsAre("float", "ops::Add<float>"));
}

// SGLang's kernels that Python compiles: a launcher that a class template calls, which nobody uses here.
TEST(Launch, OfALauncherThatATemplateCallsWithNumbers) {
  const auto sites = launches(R"(
template <class ET, int kVec> __global__ void k(ET* x, long n) {
  const long i = blockIdx.x * 256l + threadIdx.x;
  if (i < n / kVec) x[i * kVec] = 0;
}
template <class ET, int kVec> void launch(void* x, long n) {
  k<ET, kVec><<<(n / kVec + 255) / 256, 256>>>(static_cast<ET*>(x), n);
}
template <class T> struct Caller {
  static void run(void* x, long count) {
    constexpr int kVec = 16 / sizeof(T);
    if constexpr (sizeof(T) == 2) launch<unsigned short, kVec>(x, count);
    else launch<unsigned, kVec>(x, count);
  }
};
)");
  ASSERT_EQ(sites.size(), 2u);
  const LaunchSite& site = sites.front();
  EXPECT_EQ(site.launcher, "run");
  EXPECT_THAT(site.template_arguments, ElementsAre("unsigned short", "16 / 2"));
  EXPECT_EQ(site.grid[0], "(count / (16 / 2) + 255) / 256");
  EXPECT_TRUE(site.unreadable.empty());
  EXPECT_THAT(sites.back().template_arguments, ElementsAre("unsigned int", "16 / sizeof_T"));
}

TEST(Launch, SymbolicSizesHaveNamesAndWhatIsComputedFromThemHasNone) {
  const auto sites = launches(R"(
struct Where {};
struct Size { long unwrap(Where where = {}) const; };
__global__ void k(float* x, long total, long channels, long rest) {}
void launch(float* x, long pad) {
  Size batch, channels, width;
  const long n = width.unwrap();
  const long total = batch.unwrap() * channels.unwrap() * n;
  const long rest = pad - channels.unwrap();
  k<<<(total + 255) / 256, 256>>>(x, total, channels.unwrap(), rest);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].arguments.at("total"), "batch * channels * n");
  EXPECT_EQ(sites[0].arguments.at("channels"), "channels");
  EXPECT_EQ(sites[0].arguments.at("rest"), "pad - channels");
  EXPECT_EQ(sites[0].grid[0], "(batch * channels * n + 255) / 256");
}

TEST(Launch, MembersOfTypesThatTheLauncherNamesAreWrittenOut) {
  const auto sites = launches(R"(
template <class T, int N> struct Traits {
  struct Storage { T values[N]; };
  using Pair = T[2];
  static constexpr int BLOCK = 32 * N;
};
template <class T, class Storage, class Config> __global__ void k(T* x) {}
template <class T> void launch(T* x) {
  using Config = Traits<T, 4>;
  k<T, typename Config::Storage, Config><<<1, Config::BLOCK>>>(x);
}
void of_float(float* x) {
  using Config = Traits<float, 8>;
  k<float, Config::Storage, Config><<<1, 256>>>(x);
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("T", "Traits<T, 4>::Storage", "Traits<T, 4>"));
  EXPECT_THAT(sites[1].template_arguments,
              ElementsAre("float", "Traits<float, 8>::Storage", "Traits<float, 8>"));
}

} // namespace
} // namespace lathe::refactor
