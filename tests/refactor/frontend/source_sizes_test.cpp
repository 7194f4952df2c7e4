// Sizes that a program fixes in its text and gives to kernels that take them at run time.
#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// The first launch of kernel k.
LaunchSite launch_in(const std::string& text, bool frees_text_sizes = false) {
  static std::vector<std::unique_ptr<ParsedSource>> kept;
  ParseOptions options;
  options.free_text_sizes = frees_text_sizes;
  kept.push_back(parse_text(text, options));
  if (!kept.back())
    return {};
  EXPECT_THAT(kept.back()->errors(), IsEmpty());
  const auto found = find_kernel(*kept.back(), "k");
  if (!found.ok() || found->launches.empty()) {
    ADD_FAILURE() << text;
    return {};
  }
  return found->launches.front();
}

const std::string KERNEL =
    "__global__ void k(float* x, int n, int rows) { if (threadIdx.x < n) x[rows] = n; }\n";

TEST(SourceSizes, MacrosAndConstantsAreDimensions) {
  const LaunchSite site =
      launch_in("#define N (1 << 20)\nconst int ROWS = 4096;\n" + KERNEL +
                "void run(float* x) { k<<<dim3((N + 255) / 256, ROWS), 256>>>(x, N, ROWS); }");
  EXPECT_EQ(site.grid[0], "(N + 255) / 256");
  EXPECT_EQ(site.grid[1], "ROWS");
  EXPECT_EQ(site.arguments.at("n"), "N");
  EXPECT_EQ(site.arguments.at("rows"), "ROWS");
  EXPECT_THAT(site.fixed_sizes, UnorderedElementsAre(Pair("N", 1 << 20), Pair("ROWS", 4096)));
}

TEST(SourceSizes, AMacroMadeOfAnotherFollowsIt) {
  const LaunchSite site = launch_in("#define N 1024\n#define TOTAL (N * 3)\n" + KERNEL +
                                    "void run(float* x) { k<<<TOTAL / 128, 128>>>(x, TOTAL, N); }");
  EXPECT_EQ(site.arguments.at("n"), "N * 3");
  EXPECT_EQ(site.grid[0], "N * 3 / 128");
  EXPECT_THAT(site.fixed_sizes, UnorderedElementsAre(Pair("N", 1024)));
}

TEST(SourceSizes, AVariableOfTheLaunchersIsOneUnlessItChanges) {
  const std::string launch = "k<<<n / 64, 64>>>(x, n, 1); }";
  EXPECT_THAT(launch_in(KERNEL + "void run(float* x) { int n = 1 << 22; " + launch).fixed_sizes,
              UnorderedElementsAre(Pair("n", 1 << 22)));
  EXPECT_THAT(
      launch_in(KERNEL + "void run(float* x, bool half) { int n = 1 << 22; if (half) n /= 2; " + launch)
          .fixed_sizes,
      IsEmpty());
  EXPECT_THAT(
      launch_in("void ask(int*);\n" + KERNEL + "void run(float* x) { int n = 1 << 22; ask(&n); " + launch)
          .fixed_sizes,
      IsEmpty());
}

TEST(SourceSizes, WhatTheKernelOrTheBlockHasByNumberIsNone) {
  // The kernel's own text would not follow.
  EXPECT_THAT(launch_in("#define N 4096\n__global__ void k(float* x, int n, int rows) { x[N - n] = 1; }\n"
                        "void run(float* x) { k<<<N / 64, 64>>>(x, N, 1); }")
                  .fixed_sizes,
              IsEmpty());
  EXPECT_THAT(launch_in("#define THREADS 512\n" + KERNEL +
                        "void run(float* x) { k<<<64, THREADS>>>(x, THREADS, 1); }")
                  .fixed_sizes,
              IsEmpty());
  EXPECT_THAT(launch_in("const int THREADS = 512;\n" + KERNEL +
                        "void run(float* x) { dim3 block(THREADS); k<<<64, block>>>(x, THREADS, 1); }")
                  .fixed_sizes,
              IsEmpty());
  // Another size would be another instance.
  const std::string instance =
      "template <int PER_THREAD> __global__ void k(float* x, int n, int rows) { x[rows] = n * PER_THREAD; }\n"
      "void run(float* x) { const int N = 1 << 20, M = 1 << 21; const int EACH = N / 256;\n";
  EXPECT_THAT(launch_in(instance + "k<EACH / 64><<<64, 64>>>(x, N, M); }").fixed_sizes,
              UnorderedElementsAre(Pair("M", 1 << 21)));
  EXPECT_THAT(launch_in("#define N 4096\n" + instance.substr(0, instance.find("void run")) +
                        "void run(float* x) { k<N / 64><<<64, 64>>>(x, N, 1); }")
                  .fixed_sizes,
              IsEmpty());
  // Nor are small numbers, and macros with parameters.
  EXPECT_THAT(launch_in("#define RADIUS 3\n#define TWICE(a) (2 * (a))\n" + KERNEL +
                        "void run(float* x) { k<<<64, 64>>>(x, TWICE(4096), RADIUS); }")
                  .fixed_sizes,
              IsEmpty());
}

// struct Options { int rows = 4096; };: what an object of nothing but its class has is the program's own
// number.
TEST(SourceSizes, MembersThatAClassInitialisesAreDimensions) {
  const std::string options =
      "struct Options {\n  static const int THREADS = 128;\n  const int n = 6 * THREADS;\n"
      "  int rows = 4096;\n  const float limit = 0.25f;\n  int open;\n  Options() {}\n};\n";
  const std::string kernel = "__global__ void k(float* x, int n, int rows, float limit, int open) {"
                             " if (threadIdx.x < n) x[rows] = limit + open; }\n";
  const LaunchSite site = launch_in(options + kernel +
                                    "void run(float* x) { Options o; const int n = o.n, all = o.n * o.rows;\n"
                                    "k<<<all, o.THREADS>>>(x, n, o.rows, o.limit, o.open); }");
  EXPECT_EQ(site.block[0], "128");
  EXPECT_EQ(site.arguments.at("n"), "n");
  EXPECT_EQ(site.arguments.at("limit"), "0.25");
  EXPECT_THAT(site.fixed_sizes,
              testing::IsSupersetOf({std::pair<const std::string, std::int64_t>("n", 768),
                                     std::pair<const std::string, std::int64_t>("o_rows", 4096)}));
  EXPECT_FALSE(site.fixed_sizes.contains("o_open"));
}

// An object that the function is handed, or that somebody's constructor makes, may have others.
TEST(SourceSizes, MembersOfObjectsThatMayBeOthersAreFixedByNothing) {
  const std::string options = "struct Options { int rows = 4096; };\n"
                              "struct Read { Read(const char* file); int rows = 4096; };\n"
                              "struct Set { Set() { rows = 17; } int rows = 4096; };\n";
  for (const char* run : {"void run(float* x, Options o) { k<<<o.rows, 128>>>(x, 1, o.rows); }",
                          "void run(float* x) { Read o(\"file\"); k<<<o.rows, 128>>>(x, 1, o.rows); }",
                          "void run(float* x) { Set o; k<<<o.rows, 128>>>(x, 1, o.rows); }",
                          "void run(float* x) { Options o{17}; k<<<o.rows, 128>>>(x, 1, o.rows); }"})
    EXPECT_THAT(launch_in(options + KERNEL + run).fixed_sizes, IsEmpty()) << run;
}

LaunchSite freed_launch_in(const std::string& text) {
  return launch_in(text, true);
}

TEST(SourceSizes, ThoseOfDeviceTextAreDimensionsWhereTheyAreFreed) {
  const std::string text =
      "#define NX 512\n#define NY (4 * 64)\n#define ALL (NX * NY)\nconstexpr int ROWS = 4096;\n"
      "__global__ void k(float (*m)[NX], float* x) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < ALL) x[i] = m[i % ROWS][i % NX];\n}\n"
      "void run(float (*m)[NX], float* x) { k<<<ALL / 128, 128>>>(m, x); }";
  const LaunchSite site = freed_launch_in(text);
  EXPECT_EQ(site.grid[0], "NX * NY / 128");
  EXPECT_THAT(site.fixed_sizes, UnorderedElementsAre(Pair("NX", 512), Pair("NY", 256), Pair("ROWS", 4096)));
  EXPECT_THAT(site.text_sizes,
              UnorderedElementsAre(Pair("NX", "NX"), Pair("NY", "NY"), Pair("ROWS", "ROWS")));
  EXPECT_THAT(launch_in(text).text_sizes, IsEmpty());
}

// Tiles, blocks, template arguments and small numbers are no sizes, and what is computed from a size follows
// it.
TEST(SourceSizes, WhatDeviceTextNamesBesidesIsLeftAsItIs) {
  const LaunchSite site = freed_launch_in(
      "#define TILE 64\n#define BLOCK 128\n#define RADIUS 3\n#define WIDE 256\n#define N 8192\n"
      "#define MASK 0xffff\n#define NONE 100000\n"
      "constexpr int HALF = N / 2;\n"
      "template <int W> __global__ void __launch_bounds__(BLOCK) k(float* x) {\n"
      "  __shared__ float tile[TILE];\n  float own[WIDE];\n  own[threadIdx.x] = tile[RADIUS];\n"
      "  int mark = NONE;\n  if (threadIdx.x & MASK) x[mark] = 0;\n"
      "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
      "  if (i < HALF) x[i] = tile[i % TILE] + own[i % WIDE] + W + N;\n}\n"
      "#define WIDTH 512\nvoid run(float* x) { k<WIDTH><<<HALF / BLOCK, BLOCK>>>(x); }");
  EXPECT_THAT(site.text_sizes, UnorderedElementsAre(Pair("N", "N")));
}

} // namespace
} // namespace lathe::refactor
