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

TEST(Launch, LoopsThatDoubleAreChoices) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void launch(float* x, int rows, int n) {
  int threads = 32;
  while (threads < n && threads < 1024) threads *= 2;
  int parts = 1;
  for (int i = 0; i < 3; ++i) parts += 2;
  k<<<dim3(rows, parts), threads>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].grid[1], "7");
  for (const auto& [n, threads] :
       std::map<std::int64_t, std::int64_t>{{1, 32}, {33, 64}, {900, 1024}, {9000, 1024}})
    EXPECT_EQ(value_of(sites[0].block[0], {{"n", n}}), threads);
}

TEST(Launch, LoopsThatDoubleUpToASizeAreChoices) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void launch(float* x, int n) {
  int threads = 32;
  while (threads < n) threads *= 2;
  k<<<n, threads>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  for (const auto& [n, threads] :
       std::map<std::int64_t, std::int64_t>{{1, 32}, {33, 64}, {1000, 1024}, {2000, 2048}})
    EXPECT_EQ(value_of(sites[0].block[0], {{"n", n}}), threads);
}

TEST(Launch, LoopsOverNumbersAreChoices) {
  const auto sites = launches(R"(
#include <initializer_list>
__global__ void k(float* x, int n) {}
void launch(float* x, int n) {
  const int threads = [&] {
    for (int t : {128, 256, 512}) {
      if (n <= t * 4) return t;
    }
    return 1024;
  }();
  k<<<(n + threads - 1) / threads, threads>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  for (const auto& [n, threads] :
       std::map<std::int64_t, std::int64_t>{{1, 128}, {512, 128}, {513, 256}, {2048, 512}, {2049, 1024}})
    EXPECT_EQ(value_of(sites[0].block[0], {{"n", n}}), threads);
}

TEST(Launch, LoopsThatRoundAreMultiples) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void launch(float* x, int n, int tile) {
  int up = n, down = n, more = n;
  while (up % tile != 0) up++;
  while (down % 64) { down -= 1; }
  for (; more % tile > 0; ++more) {}
  k<<<dim3(up / tile, down / 64, more / tile), 64>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_THAT(sites[0].assumed, IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 65}, {"tile", 32}}), 3);
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 64}, {"tile", 32}}), 2);
  EXPECT_EQ(value_of(sites[0].grid[1], {{"n", 200}}), 3);
  EXPECT_EQ(value_of(sites[0].grid[2], {{"n", 65}, {"tile", 32}}), 3);
}

TEST(Launch, LoopsThatDoMoreThanRoundAreNotMultiples) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void launch(float* x, int n, int tile) {
  int up = n, rounds = 0;
  while (up % tile != 0) { up++; tile++; }
  k<<<up, 64>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].grid[0], "up");
}

TEST(Launch, WhatALoopLeavesBehindIsASizeOfItsOwnAndSaidToBe) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
int next(int);
void launch(float* x, const int* offsets, int n) {
  int blocks = 0;
  for (int i = 0; i < n; ++i) blocks += next(i);
  k<<<blocks, 64>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].grid[0], "blocks");
  EXPECT_THAT(sites[0].assumed, ElementsAre(HasSubstr("blocks is a size of its own: the loop of line 6")));
}

// Of a grid that a loop halves, what it leaves behind is a size too, and its block stays.
TEST(Launch, WhatALoopLeavesOfAGrid) {
  const auto sites = launches(R"(
__global__ void k(float* x, unsigned n);
int limit();
void launch(float* x, unsigned n, unsigned threads) {
  dim3 grid, block;
  block.x = threads;
  grid.x = (n + threads - 1) / threads;
  while (grid.x > 20 * limit()) grid.x >>= 1;
  k<<<grid, block, block.x * sizeof(int)>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_THAT(sites[0].grid, ElementsAre("grid_x", "1", "1"));
  EXPECT_THAT(sites[0].block, ElementsAre("threads", "1", "1"));
  EXPECT_THAT(sites[0].assumed, ElementsAre(HasSubstr("grid_x is a size of its own: the loop of line 8")));
}

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

TEST(Launch, TorchDispatchNamesDimensionsAfterVariablesAndTensors) {
  const auto sites = launches(R"(
#include <torch/all.h>
#include <ATen/cuda/CUDAContext.h>
template <typename T, bool B> __global__ void k(const T* in, T* out, int d, float eps) {}
void op(at::Tensor& out, const at::Tensor& input, double eps) {
  TORCH_CHECK(input.size(1) % 2 == 0, "even");
  int d = input.size(-1) / 2;
  const int64_t num_tokens = input.numel() / input.size(-1);
  const int sms = at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(input.scalar_type(), "k", [&] {
    uint32_t vec = 16 / sizeof(scalar_t);
    dim3 block(std::min(d / vec, 1024U));
    k<scalar_t, true><<<std::min<int64_t>(num_tokens, sms * 4), block, out.size(0) * 4, at::cuda::getCurrentCUDAStream()>>>(
        input.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), d, eps);
  });
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("scalar_t", "true"));
  EXPECT_EQ(sites[0].instances.size(), 3u);
  EXPECT_EQ(sites[0].grid[0], "min(num_tokens, device.multiprocessors * 4)");
  EXPECT_EQ(sites[0].block[0], "min(d / (16 / sizeof_scalar_t), 1024)");
  EXPECT_EQ(sites[0].shared_bytes, "out_size_0 * 4");
  EXPECT_THAT(sites[0].dimensions, UnorderedElementsAre("num_tokens", "d", "out_size_0"));
  EXPECT_EQ(sites[0].arguments.at("in"), "input");
  EXPECT_EQ(sites[0].arguments.at("d"), "d");
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

TEST(Launch, GlobalsAreSizes) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
int size;
void launch(float* x) { k<<<(size + 255) / 256, 256>>>(x, size); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"size", 257}}), 2);
  EXPECT_EQ(sites[0].arguments.at("n"), "size");
}

TEST(Launch, GeometryThatATemplateLeavesUnbound) {
  const auto sites = launches(R"(
#include <algorithm>
template <class T> __global__ void k(T* x, int n) {}
struct Shape { int rows, columns; };
template <class T> void launch(T* x, Shape shape, int n) {
  dim3 grid(shape.rows, shape.columns);
  dim3 block(std::min(n, 1024));
  k<T><<<grid, block>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].grid[0], "shape_rows");
  EXPECT_EQ(sites[0].grid[1], "shape_columns");
  EXPECT_EQ(value_of(sites[0].block[0], {{"n", 4096}}), 1024);
}

TEST(Launch, HostCodeMayCallCudasMinAndMax) {
  const auto sites = launches(R"(
template <class T> __global__ void k(T* x, int n) {
  if (threadIdx.x < min(n, 7)) x[threadIdx.x] = max(x[0], x[1]);
}
inline int blocks(int n, int threads = 512) {
  int wanted = (n + threads - 1) / threads;
  return min(wanted, 4096);
}
template <class T> void launch(T* x, int n, long rows) {
  k<T><<<blocks(n), max(32l, min(rows, 1024l))>>>(x, min(n, 100u));
}
template void launch<float>(float*, int, long);
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  for (const int n : {5, 512, 513, 1 << 24})
    EXPECT_EQ(value_of(sites[0].grid[0], {{"n", n}}), std::min((n + 511) / 512, 4096)) << n;
  for (const int rows : {1, 100, 5000})
    EXPECT_EQ(value_of(sites[0].block[0], {{"rows", rows}}), std::clamp(rows, 32, 1024)) << rows;
  EXPECT_EQ(value_of(sites[0].arguments.at("n"), {{"n", 7}}), 7);
}

// A search for the best block leaves nothing readable behind; the cases say what it was.
TEST(Launch, ACaseSaysWhatItsSubjectIs) {
  const auto sites = launches(R"(
template <int BLOCK> __global__ void k(float* x, int n) {}
int rounds_of(int n, int block);
void launch(float* x, int n) {
  int best = 32;
  for (int block = 64; block <= n; block += 32)
    if (n % block < n % best) best = block;
  dim3 block(1);
  switch (best) {
  case 32: block.x = best; k<32><<<n, block>>>(x, n); break;
  case 64: k<64><<<n, best>>>(x, n); break;
  default: break;
  }
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].block[0], "32");
  EXPECT_EQ(sites[1].block[0], "64");
}

TEST(Launch, ALoopOverLaunchesIsReadAsInItsFirstRound) {
  const auto sites = launches(R"(
__global__ void k(float* x, int step, int n) {}
void sweep(float* x, int n, int limit) {
  for (int block = 64; block <= limit; block *= 2) {
    dim3 grid((n + block - 1) / block);
    k<<<grid, block>>>(x, 1, n);
  }
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].block[0], "64");
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 65}}), 2);
}

// Bodies that no end is known of are not unrolled again in every round of the loops around them.
TEST(Launch, DeepLoopsWithoutAKnownEndAreReadInNoTime) {
  std::string body = "    sum += (i * 7 + j * 5 + l * 3 + m) % 11;\n";
  for (int i = 0; i < 6; ++i)
    body += body;
  const auto begin = std::chrono::steady_clock::now();
  const auto sites = launches("__global__ void k(float* x, int n) {}\n"
                              "int sum;\n"
                              "void launch(float* x) {\n"
                              "  for (int i = 0; i < 120; ++i)\n  for (int j = 0; j < 120; ++j)\n"
                              "  for (int l = 0; l < 120; ++l)\n  for (int m = 0; m < 120; ++m) {\n" +
                              body + "  }\n  k<<<120, 64>>>(x, 1);\n}\n");
  EXPECT_EQ(sites.size(), 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
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

// A launcher in main(): `before` in front of a launch of n elements.
std::vector<LaunchSite> main_launches(const std::string& before, const std::string& helpers = "") {
  return launches("#include <cstdio>\n#include <cstdlib>\n__global__ void k(float* x, int n) {}\n" + helpers +
                  "\nint main(int argc, char** argv) {\n  float* x = nullptr;\n" + before +
                  "  k<<<(n + 255) / 256, 256>>>(x, n);\n  return 0;\n}\n");
}

TEST(Launch, LoopsThatEndForAllSizesAreChoices) {
  const auto sites = launches(R"(
#include <algorithm>
__global__ void k(float* x, int n) {}
int block_of(int n) {
  int block = 1;
  int most = std::min(n / 4, 1024);
  while (block < most / 2) block *= 2;
  return std::max(block, 32);
}
void launch(float* x, int rows, int n) { k<<<rows, block_of(n)>>>(x, n); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  for (const auto& [n, block] :
       {std::pair(8, 32), std::pair(400, 64), std::pair(4096, 512), std::pair(1 << 20, 512)})
    EXPECT_EQ(value_of(sites[0].block[0], {{"n", n}}), block) << n;
}

TEST(Launch, WhatTheProgramIsToldIsNamedAfterTheVariable) {
  for (const char* before :
       {"  const int rows = atoi(argv[1]), columns = atoi(argv[2]);\n  const int n = rows * columns;\n",
        "  int rows, columns;\n  if (argc != 3) { return 1; }\n  else { rows = atoi(argv[1]); columns = "
        "atoi(argv[2]); }\n  int n = rows * columns;\n",
        "  int rows = 7, columns = argc > 2 ? atoi(argv[2]) : 8;\n  if (argc > 1) rows = atoi(argv[1]);\n"
        "  int n = rows * columns;\n",
        "  int rows = 7, columns = 8;\n  for (int i = 1; i < argc; ++i)\n    if (argv[i][0] == 'r') rows = "
        "atoi(argv[++i]);\n    else columns = atoi(argv[++i]);\n  int n = rows * columns;\n"}) {
    SCOPED_TRACE(before);
    const auto sites = main_launches(before);
    ASSERT_EQ(sites.size(), 1u);
    EXPECT_THAT(sites[0].unreadable, IsEmpty());
    EXPECT_THAT(sites[0].dimensions, UnorderedElementsAre("rows", "columns"));
    EXPECT_EQ(value_of(sites[0].grid[0], {{"rows", 3}, {"columns", 100}}), 2);
    for (const std::string& condition : sites[0].conditions)
      EXPECT_EQ(condition.find("argc"), std::string::npos) << condition;
  }
}

TEST(Launch, BehindAReturnThatMayOrMayNotHappen) {
  const auto sites =
      main_launches("  const int n = atoi(argv[1]);\n  if (!can_read(argv[2])) return 1;\n",
                    "bool can_read(const char* name) {\n  FILE* file = fopen(name, \"r\");\n"
                    "  if (file == nullptr) return false;\n  fclose(file);\n  return true;\n}\n");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].dimensions, ElementsAre("n"));
}

TEST(Launch, BuffersAreAsLargeAsTheLauncherAllocates) {
  const auto sites = main_launches("  const int m = atoi(argv[1]);\n  const int n = m * m;\n"
                                   "  cudaMalloc((void**)&x, sizeof(float) * n);\n");
  ASSERT_EQ(sites.size(), 1u);
  ASSERT_TRUE(sites[0].buffer_bytes.contains("x"));
  EXPECT_EQ(value_of(sites[0].buffer_bytes.at("x"), {{"m", 5}}), 100);
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

TEST(Launch, ANumberBetweenTwo) {
  const auto sites = launches(R"(
#include <algorithm>
__global__ void k(float* x, int n) {}
void launch(float* x, int n) {
  k<<<std::clamp(n / 32, 1, 4096), 32>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].grid[0], "min(max(n / 32, 1), 4096)");
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

TEST(Launch, WhatALoopComputesIsASizeOfItsOwn) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
int next(int);
void launch(float* x, int n) {
  int count = next(n);
  for (int i = 0; i < n; ++i) {
    count = next(count) * 2;
    k<<<(count + 63) / 64, 64>>>(x, count);
  }
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].dimensions.size(), 1u);
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

TEST(Launch, NumbersThatAreHandedOnAsObjects) {
  const auto sites = launches(R"(
#include <type_traits>
template <int N, int M, bool FLAG> __global__ void k(float* x, int n) {}
template <typename F> void dispatch(int n, F&& run) {
  if (n > 100) run(std::integral_constant<int, 8>{}, std::true_type{});
  else run(std::integral_constant<int, 2>(), std::false_type{});
}
void launch(float* x, int n) {
  dispatch(n, [&](auto lanes, auto flag) {
    constexpr int N = decltype(lanes)::value;
    k<N, lanes.value, flag()><<<n, 32 * N>>>(x, n);
  });
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("8", "8", "true"));
  EXPECT_EQ(sites[0].block[0], "256");
  EXPECT_THAT(sites[1].template_arguments, ElementsAre("2", "2", "false"));
}

TEST(Launch, WhatOnlyAnInstanceOfTraitsKnows) {
  const auto sites = launches(R"(
template <int N, bool WIDE> struct Traits {
  struct Storage { float tile[N]; char flags[WIDE ? 8 : 4]; };
  static constexpr int kBytes = sizeof(Storage);
};
template <typename TRAITS> __global__ void k(float* x) {}
void launch(float* x, int n) {
  auto run = [&]<bool WIDE>() {
    using T = Traits<64, WIDE>;
    int bytes = T::kBytes;
    k<T><<<n, 64, bytes>>>(x);
  };
  run.operator()<true>();
  run.operator()<false>();
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].shared_bytes, "264");
  EXPECT_EQ(sites[1].shared_bytes, "260");
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

TEST(Launch, ParametersOfALauncherHaveTheValuesOfItsInstances) {
  const auto sites = launches(R"(
template <int N> __global__ void k(float* x, int n) {}
template <typename T, int WIDTH> void launch(T* x, int n) {
  k<WIDTH><<<(n + 64 * WIDTH - 1) / (64 * WIDTH), 64>>>(x, n);
}
template <int LANES> struct Runner {
  static void run(float* x, int n) { k<LANES><<<n, LANES>>>(x, n); }
};
void all(float* x, int n) {
  launch<float, 4>(x, n);
  launch<float, 2>(x, n);
  Runner<32>::run(x, n);
  Runner<64>::run(x, n);
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].launcher_arguments, ElementsAre(testing::Pair("WIDTH", ElementsAre("4", "2"))));
  EXPECT_THAT(sites[0].dimensions, ElementsAre("n"));
  EXPECT_THAT(sites[1].launcher_arguments, ElementsAre(testing::Pair("LANES", ElementsAre("32", "64"))));
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

// Of a framework whose headers are missing.
TEST(Launch, AQuotientWithoutABodyIsReadByItsName) {
  const auto sites = launches(R"(
namespace frame { template <class T> T CeilDiv(T a, T b); int round_up(int, int); }
__global__ void k(float* x, int n) {}
void launch(float* x, int n) { k<<<frame::CeilDiv(n, 256), frame::round_up(n, 32)>>>(x, n); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].grid[0], "ceil_div(n, 256)");
  EXPECT_EQ(value_of(sites[0].block[0], {{"n", 33}}), 64);
}

TEST(Launch, AQuotientWithItsRemainder) {
  const auto sites = launches(R"(
#include <cstdlib>
int up(int n, int d) { const std::div_t both = std::div(n, d); return both.quot + (both.rem != 0 ? 1 : 0); }
__global__ void k(float* x) {}
void launch(float* x, int n) { k<<<up(n, 128), 128>>>(x); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 256}}), 2);
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 257}}), 3);
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

TEST(Launch, FieldsOfAClassTemplateAndItsBases) {
  const auto sites = launches(R"(
template <class T> struct Pitched { T* data; int step; };
template <class T> struct Matrix : Pitched<T> { int cols, rows; };
template <class T> __global__ void k(Matrix<T> x) {}
template <class T> void launch(Matrix<T> x) { k<<<(x.cols + 31) / 32, x.rows>>>(x); }
template void launch<float>(Matrix<float>);
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(value_of(sites[0].grid[0], {{"x_cols", 33}}), 2);
  EXPECT_EQ(sites[0].block[0], "x_rows");
}

TEST(Launch, ViewsOfTensorsAreContiguous) {
  const auto sites = launches(R"(
#include <torch/extension.h>
template <class T> __global__ void k(torch::PackedTensorAccessor32<T, 2> x, at::cuda::detail::TensorInfo<T, int> y) {}
void launch(torch::Tensor x, torch::Tensor y) {
  k<float><<<x.size(0), 128>>>(x.packed_accessor32<float, 2>(), at::cuda::detail::getTensorInfo<float, int>(y));
}
)");
  ASSERT_EQ(sites.size(), 1u);
  const auto& given = sites[0].arguments;
  EXPECT_EQ(given.at("x.sizes_[0]"), sites[0].grid[0]);
  EXPECT_EQ(given.at("x.strides_[0]"), given.at("x.sizes_[1]"));
  EXPECT_EQ(given.at("x.strides_[1]"), "1");
  EXPECT_EQ(given.at("y.dims"), "1");
  EXPECT_EQ(given.at("y.sizes[0]"), "y_numel");
}

TEST(Launch, AStrideOfATensorIsNamedAsOne) {
  const auto sites = launches(R"(
#include <torch/extension.h>
__global__ void k(const float* x, float* y, int rows, int columns, int ldx, int ldy) {}
void launch(torch::Tensor x, torch::Tensor y) {
  const int rows = x.size(0), columns = x.size(1);
  const int ldx = x.stride(0), y_row_stride = y.strides()[0];
  k<<<rows, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, columns, ldx, y_row_stride);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].arguments.at("columns"), "columns");
  EXPECT_EQ(sites[0].arguments.at("ldx"), "x_stride_0");
  EXPECT_EQ(sites[0].arguments.at("ldy"), "y_row_stride");
}

TEST(Launch, AMemberNamedAsWhatTheKernelIsToldIsThat) {
  const auto in_class = [](const std::string& members, const std::string& grid, const std::string& passed) {
    const auto sites = launches(
        "__global__ void k(float* x, int num_data, int num_class) {\n"
        "  const int i = blockIdx.x * 256 + threadIdx.x; if (i < num_data) x[i] = num_class; }\n"
        "struct Task { " +
        members + "; int num_class_; void run(float* x, int num_data, int other) const; };\n" +
        "void Task::run(float* x, int num_data, int other) const {\n  const int num_blocks = " + grid +
        ";\n  k<<<num_blocks, 256>>>(x, " + passed + ", num_class_);\n}\n");
    EXPECT_EQ(sites.size(), 1u);
    return sites.empty() ? LaunchSite() : sites.front();
  };
  for (const std::string member : {"num_data_", "_num_data", "m_num_data"}) {
    const LaunchSite site = in_class("int " + member, "(" + member + " + 255) / 256", "num_data");
    EXPECT_EQ(value_of(site.grid[0], {{"num_data", 1000}}), 4) << member;
    EXPECT_THAT(site.assumed, ElementsAre(HasSubstr(member + " of the launcher's class is num_data")))
        << member;
  }
  // The number itself, by its own name: nothing is assumed.
  const LaunchSite told = in_class("int num_data_", "(num_data_ + 255) / 256", "num_data_");
  EXPECT_EQ(value_of(told.grid[0], {{"num_data", 1000}}), 4);
  EXPECT_TRUE(told.assumed.empty());
  // Another name, a real number, another object's member, what is told besides.
  EXPECT_EQ(in_class("int total_", "(total_ + 255) / 256", "num_data").grid[0], "num_blocks");
  EXPECT_EQ(in_class("int num_data", "(this->num_data + 255) / 256", "other").grid[0], "num_blocks");
  EXPECT_EQ(in_class("struct { int num_data_; } of", "(of.num_data_ + 255) / 256", "num_data").grid[0],
            "num_blocks");
  EXPECT_EQ(in_class("int num_data_", "(num_data_ + 255) / 256", "num_blocks").grid[0], "num_blocks");
}

TEST(Launch, AGridComputedFromWhatTheKernelIsToldFollowsIt) {
  const std::string kernel =
      "struct Rows { int count, width; };\n"
      "__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }\n";
  const auto passed = launches(kernel + "void run(float* x, const Rows& rows) {\n"
                                        "  int blocks = (rows.count * rows.width + 255) / 256;\n"
                                        "  k<<<blocks, 256>>>(x, rows.count * rows.width);\n}\n");
  ASSERT_EQ(passed.size(), 1u);
  EXPECT_EQ(value_of(passed[0].grid[0], {{"rows_count", 100}, {"rows_width", 10}}), 4);
  // Half of it is passed, and what was computed in two ways.
  const auto half = launches(kernel + "void run(float* x, const Rows& rows) {\n"
                                      "  int blocks = (rows.count * rows.width + 255) / 256;\n"
                                      "  k<<<blocks, 256>>>(x, rows.count);\n}\n");
  ASSERT_EQ(half.size(), 1u);
  EXPECT_EQ(half[0].grid[0], "blocks");
  const auto either = launches(kernel + "void run(float* x, const Rows& rows, bool wide) {\n"
                                        "  int blocks = (rows.count + 255) / 256;\n"
                                        "  if (wide) blocks = (rows.width + 255) / 256;\n"
                                        "  k<<<blocks, 256>>>(x, rows.count);\n}\n");
  ASSERT_EQ(either.size(), 1u);
  EXPECT_NE(
      value_of(either[0].grid[0], {{"rows_count", 1000}, {"blocks", 7}, {"wide", 1}, {"rows_width", 1}}), 4);
}

TEST(Launch, TensorsOfTheStableInterfaceHaveSizes) {
  const auto found = launches(R"(
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
__global__ void k(float* out, int64_t stride) { out[blockIdx.x * stride + threadIdx.x] = 1; }
torch::stable::Tensor run(torch::stable::Tensor input) {
  STD_TORCH_CHECK(input.dim() == 2, "two of them");
  torch::stable::Tensor out = torch::stable::empty_like(input);
  const torch::stable::accelerator::DeviceGuard guard(input.get_device_index());
  if (input.scalar_type() == torch::headeronly::ScalarType::Float)
    k<<<input.size(0) / 64, 32>>>((float*)out.data_ptr(), out.stride(0));
  STD_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}
STABLE_TORCH_LIBRARY_IMPL(own, CUDA, m) { m.impl("run", TORCH_BOX(run)); }
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].unreadable, IsEmpty());
  EXPECT_EQ(value_of(found[0].grid[0], {{"input_size_0", 640}}), 10);
}

} // namespace
} // namespace lathe::refactor
