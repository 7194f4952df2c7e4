// Launches through objects that are made from a grid and a block, and kernels that constants stand for.
#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string LAUNCHER = R"(
struct Launcher {
  explicit Launcher(dim3 grid_dim, dim3 block_dim, cudaStream_t stream, unsigned long shared_bytes = 0)
      : config{grid_dim, block_dim, shared_bytes, stream, nullptr, 0} {}
  Launcher& overlapping(bool) { return *this; }
  template <class K, class... A> void operator()(K kernel, A... arguments) const {
    cudaLaunchKernelEx(&config, kernel, arguments...);
  }
  template <class K, class... A> void launch(K kernel, A... arguments) const { (*this)(kernel, arguments...); }
  cudaLaunchConfig_t config;
};
struct Params {
  const float* in;
  float* out;
  int n;
};
template <class T, int width, bool half> __global__ void k(const Params p) {}
)";

TEST(LaunchObject, ATemporaryLaunches) {
  const auto sites = launches(LAUNCHER + R"(
void run(const float* in, float* out, int rows, int n, cudaStream_t stream) {
  const auto params = Params{.in = in, .out = out, .n = n};
  Launcher(rows, 128, stream)(k<float, 4, true>, params);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].grid[0], "rows");
  EXPECT_EQ(sites[0].block[0], "128");
  EXPECT_EQ(sites[0].shared_bytes, "0");
  EXPECT_EQ(sites[0].arguments.at("p.n"), "n");
}

TEST(LaunchObject, EnumeratorsOfAClassTemplate) {
  const auto sites = launches(R"(
template <class T> __global__ void k(T* out, const T* in, unsigned long width) {}
template <class T> struct Transpose {
  enum { TILE = 32, NEXT, ROWS = 8, OWN = sizeof(T) };
  void run(T* out, const T* in, unsigned long width, unsigned long height) {
    k<<<dim3((width - 1) / TILE + 1, (height - 1) / NEXT + 1), dim3(TILE, ROWS)>>>(out, in, width);
  }
};
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].grid[0], "(width - 1) / 32 + 1");
  EXPECT_EQ(sites[0].grid[1], "(height - 1) / 33 + 1");
  EXPECT_EQ(sites[0].block[0], "32");
  EXPECT_EQ(sites[0].block[1], "8");
}

// A structure of a program's own has a name of its own for shared memory, or none.
TEST(LaunchObject, SettingsOfTheProgramsOwn) {
  const auto sites = launches(R"(
struct Settings { dim3 gridDim, blockDim; unsigned long shared; };
struct Few { dim3 gridDim, blockDim; };
struct Stream {
  template <class... P> void launch(void (*kernel)(P...), const Settings& settings, P... arguments) {
    void* all[] = {&arguments...};
    cudaLaunchKernel((void*)kernel, settings.gridDim, settings.blockDim, all, settings.shared, 0);
  }
  template <class... P> void launch_few(void (*kernel)(P...), const Few& settings, P... arguments) {}
};
__global__ void k(float* x, int n) {}
void run(Stream& stream, float* x, int n) {
  stream.launch(k, {dim3(n), dim3(64), n * 4ul}, x, n);
  stream.launch_few(k, {dim3(n), dim3(32)}, x, n);
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].block[0], "64");
  EXPECT_EQ(sites[0].shared_bytes, "n * 4");
  EXPECT_EQ(sites[1].block[0], "32");
  EXPECT_EQ(sites[1].shared_bytes, "0");
}

TEST(LaunchObject, MethodsGiveTheLauncherBackOrLaunch) {
  const auto sites = launches(LAUNCHER + R"(
void run(Params params, int rows, cudaStream_t stream) {
  Launcher launcher(dim3(rows, 2), dim3(32, 4), stream, rows * 8);
  launcher.overlapping(true).launch(k<float, 4, true>, params);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].grid[1], "2");
  EXPECT_EQ(sites[0].block[1], "4");
  EXPECT_EQ(sites[0].shared_bytes, "rows * 8");
}

TEST(LaunchObject, ConstantsOfAClassTemplateStandForKernels) {
  const auto sites = launches(LAUNCHER + R"(
template <class T, bool half> struct Operator {
  template <int width> static constexpr auto kernel = k<T, width, half>;
  static constexpr int threads = 64 * sizeof(T);
  static void run(Params params, int rows, cudaStream_t stream) {
    const auto kernel_of_width = params.n % 4 == 0 ? kernel<4> : kernel<1>;
    Launcher(rows, threads, stream).overlapping(half)(kernel_of_width, params);
  }
};
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("T", "4", "half"));
  EXPECT_THAT(sites[1].template_arguments, ElementsAre("T", "1", "half"));
  EXPECT_EQ(sites[0].block[0], "64 * sizeof_T");
}

TEST(LaunchObject, ATableOfKernelsNamesEachAtItsIndex) {
  const auto sites = launches(LAUNCHER + R"(
template <class T, bool half> struct Operator {
  template <int width> static constexpr auto kernel = k<T, width, half>;
  static void run(Params params, int rows, int mode, cudaStream_t stream) {
    using Kernel = std::decay_t<decltype(k<T, 1, half>)>;
    static constexpr Kernel table[2] = {[1] = kernel<4>, [0] = kernel<2>};
    Launcher(rows, 64, stream)(table[static_cast<int>(mode)], params);
  }
};
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("T", "2", "half"));
  EXPECT_THAT(sites[0].conditions, ElementsAre("mode == 0"));
  EXPECT_THAT(sites[1].template_arguments, ElementsAre("T", "4", "half"));
}

TEST(LaunchObject, AScopedEnumeratorIsCast) {
  const auto sites = launches(LAUNCHER + R"(
enum class Kind { plain, gated };
template <class T, Kind kind> __global__ void act(const Params p) {}
template <class T> struct Operator {
  template <Kind kind> static constexpr auto kernel = act<T, kind>;
  static void run(Params params, int rows, cudaStream_t stream) {
    Launcher(rows, 64, stream)(kernel<Kind::gated>, params);
  }
};
)",
                              "act");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("T", "static_cast<Kind>(1)"));
}

TEST(LaunchObject, AFunctionIsHandedTheKernelAndItsSettings) {
  const auto sites = launches(R"(
struct Settings {
  Settings(const dim3& block_nums_, const dim3& block_dims_, int shmem_, cudaStream_t stream_)
      : block_nums(block_nums_), block_dims(block_dims_), shmem(shmem_), stream(stream_) {}
  dim3 block_nums, block_dims;
  int shmem;
  cudaStream_t stream;
};
template <class K, class... A> void launch(K kernel, const Settings& settings, A&&... arguments) {
  kernel<<<settings.block_nums, settings.block_dims, settings.shmem, settings.stream>>>(arguments...);
}
template <float (*f)(float), class T> __global__ void k(const T* in, T* out, int n) {}
float twice(float x) { return 2 * x; }
template <float (*f)(float), class T> void run(const T* in, T* out, int count, cudaStream_t stream) {
  const Settings settings = Settings((count + 255) / 256, 256, 0, stream);
  launch(k<f, T>, settings, in, out, count);
}
void all(const float* in, float* out, int n) { run<twice>(in, out, n, nullptr); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"count", 1000}, {"n", 1000}}), 4);
  EXPECT_EQ(sites[0].block[0], "256");
}

// An object that only keeps a grid and a block launches nothing, and one whose dimensions have no names that
// tell them apart is not guessed at.
TEST(LaunchObject, OtherObjectsDoNotLaunch) {
  EXPECT_THAT(launches(LAUNCHER + R"(
struct Pair {
  Pair(dim3 first, dim3 second);
  template <class... A> void operator()(A...) const;
};
void run(Params params, int rows, cudaStream_t stream) {
  Pair(rows, 128)(k<float, 4, true>, params);
  Launcher launcher(rows, 128, stream);
  launcher.overlapping(true);
}
)"),
              IsEmpty());
}

TEST(LaunchObjects, MembersThatAConstructorNamesAreWhatItIsGiven) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
struct Settings {
  dim3 grid;
  dim3 block;
  int bytes;
  Settings(int blocks, int threads, int shared = 0) : grid(blocks), block(threads), bytes(shared) {}
};
Settings settings_for(int n) {
  const int threads = 128;
  return Settings{(n + threads - 1) / threads, threads};
}
void launch(float* x, int n) {
  const Settings settings = settings_for(n);
  k<<<settings.grid, settings.block>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, testing::IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 129}}), 2);
  EXPECT_EQ(value_of(sites[0].block[0], {}), 128);
}

// What the body of a constructor does is not read.
TEST(LaunchObjects, MembersThatAConstructorComputesAreNotKnown) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
struct Settings {
  int blocks;
  Settings(int n) : blocks(1) { while (blocks * 128 < n) blocks *= 2; }
};
void launch(float* x, int n) {
  const Settings settings(n);
  k<<<settings.blocks, 128>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_NE(sites[0].grid[0], "1");
}

// Nor does a number convert to an enumeration without a scope; an enumerator that is a number to the kernel
// stays one.
TEST(LaunchObjects, EnumeratorsWithoutAScopeAsTemplateArguments) {
  const auto sites = launches(R"(
namespace ways { enum Order { UP, DOWN }; enum { WIDTH = 4 }; }
constexpr ways::Order ORDER = ways::DOWN;
template <ways::Order ORDER, int WIDTH, int PLACE> __global__ void k(float* x, int n) {
  x[threadIdx.x] = ORDER == ways::UP ? WIDTH : PLACE + n;
}
void launch(float* x, int n) { k<ORDER, ways::WIDTH, ways::DOWN><<<1, 32>>>(x, n); }
)");
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("static_cast<ways::Order>(1)", "4", "1"));
}

} // namespace
} // namespace lathe::refactor
