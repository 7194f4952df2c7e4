// Each rule by table: sources that it must take and sources that it must refuse, with the reason.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

class Table : public ::testing::TestWithParam<Row> {};

TEST_P(Table, TakesOrRefuses) {
  check(GetParam());
}

const std::string shared_loop =
    "  __shared__ float s[1];\n  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i];\n"
    "  if (threadIdx.x == 0) s[0] = in[0];\n  __syncthreads();\n  out[d] = s[0];";

INSTANTIATE_TEST_SUITE_P(
    BlockSize, Table,
    ::testing::Values(
        Row{"BlockStride", "expose-block-size",
            plain(kernel(
                "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[blockIdx.x * d + i] = in[i];")),
            "BLOCK", ""},
        Row{"ThroughNames", "expose-block-size",
            plain(kernel("  const long first = threadIdx.x;\n  const long step = blockDim.x;\n  for (long i "
                         "= first; i < d; i += step) out[i] = in[i];")),
            "BLOCK", ""},
        Row{"WhileLoop", "expose-block-size",
            plain(kernel(
                "  int i = threadIdx.x;\n  while (i < d) {\n    out[i] = in[i];\n    i += blockDim.x;\n  }")),
            "BLOCK", ""},
        Row{"GridStride", "expose-block-size",
            plain(kernel("  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * "
                         "gridDim.x) out[i] = in[i];"),
                  {"256"}, {"132"}),
            "BLOCK", ""},
        Row{"GuardedIndex", "expose-block-size",
            plain(kernel("  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = in[i];"),
                  {"256"}, {"(n + 255) / 256"}),
            "BLOCK", ""},
        Row{"Rounds", "expose-block-size",
            plain(kernel(
                "  int rounds = (d + blockDim.x - 1) / blockDim.x;\n  for (int r = 0; r < rounds; ++r) {\n   "
                " int i = r * blockDim.x + threadIdx.x;\n    if (i < d) out[i] = in[i];\n  }")),
            "BLOCK", ""},
        Row{"RowsOfWarps", "expose-block-size",
            plain(kernel(
                "  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;\n  for (int r = warp; r < n; r += "
                "blockDim.x / 32)\n    for (int i = lane; i < d; i += 32) out[r * d + i] = in[r * d + i];")),
            "BLOCK", ""},
        Row{"TreeReduction", "expose-block-size",
            plain(kernel("  extern __shared__ float s[];\n  float v = 0;\n  for (int i = threadIdx.x; i < d; "
                         "i += blockDim.x) v += in[i];\n  s[threadIdx.x] = v;\n  __syncthreads();\n  for "
                         "(int k = blockDim.x / 2; k > 0; k >>= 1) {\n    if (threadIdx.x < k) "
                         "s[threadIdx.x] += s[threadIdx.x + k];\n    __syncthreads();\n  }\n  if "
                         "(threadIdx.x == 0) out[blockIdx.x] = s[0];"),
                  {"256"}),
            "BLOCK", ""},
        Row{"OneElementAThread", "expose-block-size",
            plain(kernel("  out[blockIdx.x * blockDim.x + threadIdx.x] = in[0];"), {"256"}, {"n / 256"}),
            "BLOCK", ""},
        Row{"OneElementAThreadAndOneABlock", "expose-block-size",
            plain(kernel(
                      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  out[i] = in[i] * in[blockIdx.x];"),
                  {"256"}, {"n / 256"}),
            "", "a block's number stands for itself"},
        Row{"CubIsToldHowManyThreads", "expose-block-size",
            plain(
                "#include <cub/block/block_reduce.cuh>\n" +
                kernel("  using Reduce = cub::BlockReduce<float, 1024>;\n  __shared__ typename "
                       "Reduce::TempStorage s;\n"
                       "  float v = 0;\n  for (int i = threadIdx.x; i < d; i += blockDim.x) v += "
                       "in[blockIdx.x * d + i];\n"
                       "  v = Reduce(s).Sum(v, blockDim.x);\n  if (threadIdx.x == 0) out[blockIdx.x] = v;")),
            "BLOCK", ""},
        Row{"CubIsMadeForTheBlock", "expose-block-size",
            plain("#include <cub/block/block_reduce.cuh>\n" +
                  kernel("  using Reduce = cub::BlockReduce<float, 256>;\n  __shared__ typename "
                         "Reduce::TempStorage s;\n"
                         "  float v = 0;\n  for (int i = threadIdx.x; i < d; i += blockDim.x) v += "
                         "in[blockIdx.x * d + i];\n"
                         "  v = Reduce(s).Sum(v);\n  if (threadIdx.x == 0) out[blockIdx.x] = v;")),
            "", "not told how many threads"},
        Row{"OneElementAThreadAndSharedMemory", "expose-block-size",
            plain(kernel("  extern __shared__ float s[];\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         "  s[threadIdx.x] = in[i];\n  __syncthreads();\n  out[i] = s[blockDim.x - 1 - "
                         "threadIdx.x];"),
                  {"256"}, {"n / 256"}),
            "", ""},
        Row{"ThreadIsTheColumn", "expose-block-size",
            plain(kernel("  out[blockIdx.x * d + threadIdx.x] = in[threadIdx.x] * blockDim.x;"), {"d"}), "",
            "block size"},
        Row{"BlockDealtOut", "expose-block-size",
            plain(kernel("  int chunk = d / blockDim.x;\n  for (int i = threadIdx.x * chunk; i < "
                         "(threadIdx.x + 1) * chunk; ++i) out[i] = in[i];")),
            "", "step of i"},
        Row{"OtherStep", "expose-block-size",
            plain(kernel("  for (int i = threadIdx.x; i < d; i += 2 * blockDim.x) out[i] = in[i];")), "",
            "step of i"},
        Row{"FixedRounds", "expose-block-size",
            plain(kernel("  for (int r = 0; r < 4; ++r) {\n    int i = r * blockDim.x + threadIdx.x;\n    if "
                         "(i < d) out[i] = in[i];\n  }")),
            "", "fixed number of rounds"},
        Row{"SizeAsValue", "expose-block-size",
            plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i] / blockDim.x;")),
            "", "blockDim.x"},
        Row{"GridDoesNotFollow", "expose-block-size",
            plain(kernel("  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = in[i];"),
                  {"256"}, {"n / 256"}),
            "BLOCK", ""},
        Row{"DividedWithoutAName", "expose-block-size",
            plain(kernel(
                      "  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % "
                      "32;\n  const int row = warp / 4, part = warp % 4;\n  if (row >= n) return;\n  "
                      "out[(row * 4 + part) * 32 + lane] = in[row];"),
                  {"256"}, {"(n * 4 + 7) / 8"}),
            "BLOCK", ""},
        Row{"DividedAndLeftOver", "expose-block-size",
            plain(
                kernel("  const int place = (blockIdx.x * blockDim.x + threadIdx.x) % 48;\n  if (place < n) "
                       "out[blockIdx.x * 48 + place] = in[place];"),
                {"256"}, {"n"}),
            "", "stands for itself"},
        Row{"NotRead", "expose-block-size", plain(kernel("  if (threadIdx.x < 1) out[blockIdx.x] = in[0];")),
            "", "does not read blockDim"}),
    [](const auto& tested) { return std::string(tested.param.name); });

constexpr const char* ROWS_OF_BLOCKS = "  int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + "
                                       "threadIdx.x;\n  if (i < n) out[i] = in[i];";

INSTANTIATE_TEST_SUITE_P(
    GridsOfTwoAxes, Table,
    ::testing::Values(Row{"OneRowOfBlocks", "expose-block-size",
                          plain(kernel(ROWS_OF_BLOCKS), {"256"}, {"(n + 255) / 256", "1"}), "BLOCK", ""},
                      Row{"RowsOfBlocks", "expose-block-size",
                          plain(kernel(ROWS_OF_BLOCKS), {"256"}, {"(n + 255) / 256", "d"}), "",
                          "does not divide"},
                      Row{"OneBlock", "expose-block-size", plain(kernel(ROWS_OF_BLOCKS), {"256"}, {"1", "1"}),
                          "", "does not divide"}),
    [](const auto& tested) { return std::string(tested.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Constants, Table,
    ::testing::Values(
        Row{"NamespaceThreads", "expose-constant",
            [] {
              Facts f;
              f.text = guarded;
              f.instance = "plus_one<{T}>";
              f.grid = {"(n + 255) / 256"};
              return f;
            }(),
            "kThreads", ""},
        Row{"PackOfBytes", "expose-constant",
            [] {
              Facts f;
              f.text = packed;
              f.instance = "negate<{T}>";
              f.grid = {"(n / (16 / sizeof_T) + 127) / 128"};
              f.block = {"128"};
              return f;
            }(),
            "pack", ""},
        Row{"PackWithoutGrid", "expose-constant",
            [] {
              Facts f;
              f.text = packed;
              f.instance = "negate<{T}>";
              f.grid = {"(n / 8 + 127) / 128"};
              f.block = {"128"};
              return f;
            }(),
            "", "does not show how it follows"},
        Row{"ScaleIsNotAKnob", "expose-constant",
            plain(kernel("  const int levels = 255;\n  for (int i = threadIdx.x; i < d; i += blockDim.x) "
                         "out[i] = in[i] * levels;")),
            "", "levels"},
        // Scales addresses and sizes a shared array, but no thread takes PAGE elements at once.
        Row{"LayoutOfTheData", "expose-constant",
            plain(
                kernel("  constexpr int PAGE = 16;\n  __shared__ float tile[8][PAGE + 1];\n  for (int i = "
                       "threadIdx.x; i < 8 * PAGE; i += blockDim.x) tile[i / PAGE][i % PAGE] = "
                       "in[blockIdx.x * d * PAGE + i];\n  __syncthreads();\n  for (int i = threadIdx.x; i < "
                       "8 * PAGE; i += blockDim.x) out[blockIdx.x * d * PAGE + i] = tile[i % 8][i / 8];")),
            "", "does not both scale an index and count the elements of a pack"},
        Row{"MemberOfAPack", "expose-constant",
            [] {
              Facts f;
              f.text = "template <typename T> __global__ void k(T* out, const T* in, int n) {\n  const int "
                       "pack = 16 / sizeof(T);\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= "
                       "n / pack) return;\n  uint4 v = *reinterpret_cast<const uint4*>(in + i * pack);\n  "
                       "for (int j = 0; j < pack; ++j) reinterpret_cast<T*>(&v)[j] = T(0);\n  v.x = 0;\n  "
                       "*reinterpret_cast<uint4*>(out + i * pack) = v;\n}\n";
              f.instance = "k<{T}>";
              f.dtypes = {"f32"};
              f.grid = {"(n / (16 / sizeof_T) + 255) / 256"};
              return f;
            }(),
            "", "member is named"},
        Row{"TemplateThreads", "adopt-template-parameter",
            [] {
              Facts f;
              f.text = "template <int THREADS> __global__ void k(float* out, const float* in, int n) {\n  "
                       "int i = blockIdx.x * THREADS + threadIdx.x;\n  if (i < n) out[i] = in[i];\n}\n";
              f.instance = "k<256>";
              f.dtypes.clear();
              f.grid = {"(n + 255) / 256"};
              return f;
            }(),
            "THREADS", ""},
        Row{"HeadSizeIsLayout", "adopt-template-parameter",
            [] {
              Facts f;
              f.text = "template <int HEAD> __global__ void k(float* out, const float* in) {\n  for (int i = "
                       "threadIdx.x; i < HEAD; i += blockDim.x) out[i * HEAD] = in[i];\n}\n";
              f.instance = "k<{d}>";
              f.dtypes.clear();
              return f;
            }(),
            "", "size of the problem"}),
    [](const auto& tested) { return std::string(tested.param.name); });

// What a kernel's template argument does to each element.
Facts with_a_function(const std::string& body) {
  Facts f = plain(
      "__device__ float each(const float& x) { " + body +
      " }\ntemplate <float (*EACH)(const float&)> __global__ void k(float* out, const float* in, "
      "int n, int d) {\n  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = EACH(in[i]);\n}\n");
  f.instance = "k<each>";
  return f;
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, Table,
    ::testing::Values(
        Row{"BlockOfARow", "vectorize-loop",
            plain(kernel(
                "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[blockIdx.x * d + i] = in[i] * "
                "in[blockIdx.x * d + i];")),
            "VEC", ""},
        Row{"ThroughPointersOfTheRow", "vectorize-loop",
            plain(
                kernel("  const float* row = in + blockIdx.x * d;\n  float* target = out + blockIdx.x * d;\n"
                       "  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n    const float x = row[i];\n"
                       "    target[i] = x > 0 ? x : 0.1f * x;\n  }")),
            "VEC", ""},
        Row{"WholeGrid", "vectorize-loop",
            plain(kernel("  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * "
                         "blockDim.x)\n    out[i] += in[i];"),
                  {"256"}, {"132"}),
            "VEC", ""},
        Row{"Sum", "vectorize-loop",
            plain(
                kernel("  float sum = 0;\n  for (int i = threadIdx.x; i < d; i += blockDim.x) sum += in[i];\n"
                       "  atomicAdd(out, sum);")),
            "VEC", ""},
        Row{"VectorOnlySome", "vectorize-loop",
            plain(kernel(
                "  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n    if (i > 3) out[i] = in[i] + "
                "in[2 * i];\n  }")),
            "", "neighbouring"},
        Row{"VectorConditionalStore", "vectorize-loop",
            plain(kernel(
                "  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n    const float x = in[i];\n    "
                "if (x > 0) out[i] = x;\n  }")),
            "VEC", ""},
        Row{"VectorTwoPasses", "vectorize-loop",
            plain(
                kernel("  float sum = 0;\n  for (int i = threadIdx.x; i < d; i += blockDim.x) sum += in[i];\n"
                       "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i] / sum;")),
            "VEC", ""},
        Row{"VectorNotAThreadsOwn", "vectorize-loop",
            plain(kernel("  for (int i = 0; i < d; ++i) out[threadIdx.x * d + i] = in[i];")), "", ""},
        Row{"VectorNotByThread", "vectorize-loop",
            plain(
                kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i] * threadIdx.x;")),
            "", "which thread"},
        Row{"VectorNotByThreadsName", "vectorize-loop",
            plain(kernel("  const int lane = threadIdx.x % 32;\n  const float mine = lane * 0.5f;\n"
                         "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i] * mine;")),
            "", "which thread"},
        Row{"VectorNotByRound", "vectorize-loop",
            plain(kernel(
                "  int round = 0;\n  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n    out[i] = "
                "in[i] * round;\n    ++round;\n  }")),
            "", "round to round"},
        Row{"VectorNotUntilFound", "vectorize-loop",
            plain(kernel(
                "  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n    if (in[i] < 0) break;\n    "
                "out[i] = in[i];\n  }")),
            "", "more than an element's work"},
        Row{"VectorNotReadElsewhere", "vectorize-loop",
            plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i];\n  out[d] = "
                         "out[threadIdx.x];")),
            "", "outside of the loop"},
        Row{"VectorNotShared", "vectorize-loop",
            plain(kernel(
                "  __shared__ float s[1024];\n  for (int i = threadIdx.x; i < d; i += blockDim.x) s[i] = "
                "in[i];\n  out[threadIdx.x] = s[threadIdx.x];")),
            "", "on the chip"},
        Row{"VectorNotEverySecond", "vectorize-loop",
            plain(kernel("  for (int i = 2 * threadIdx.x; i < d; i += 2 * blockDim.x) out[i] = in[i];")), "",
            "in turn"},
        Row{"VectorNotWithTheRoundsBefore", "vectorize-loop",
            plain(kernel(
                "  float decay = 1;\n  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n    decay *= "
                "0.9f;\n    out[i] = in[i] * decay;\n  }")),
            "", "round to round"},
        Row{"VectorLargest", "vectorize-loop",
            plain(kernel(
                "  float most = 0;\n  for (int i = threadIdx.x; i < d; i += blockDim.x) most = fmaxf(most, "
                "in[i]);\n  atomicAdd(out, most);")),
            "VEC", ""},
        Row{"VectorNotShuffledInAFunction", "vectorize-loop",
            plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = lib::outer(in[i]);",
                         "namespace lib {\n__device__ float inner(float x) { return "
                         "__shfl_xor_sync(0xffffffffu, x, 1); "
                         "}\n__device__ float outer(float x) { return inner(x); }\n}\n")),
            "", "communicate"},
        Row{"VectorReadOnlyLoads", "vectorize-loop",
            plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x)\n"
                         "    out[blockIdx.x * d + i] = __ldg(&in[blockIdx.x * d + i]) * __ldg(in + i);")),
            "VEC", ""},
        Row{"VectorReadOnlyLoadsOfAMacro", "vectorize-loop",
            plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = LOAD(&in[i]);",
                         "#define LOAD(arg) __ldg(arg)\n")),
            "VEC", ""},
        Row{"VectorNotLoadsThatAMacroHides", "vectorize-loop",
            plain(kernel(
                "  float sum = 0;\n  for (int i = threadIdx.x; i < d; i += blockDim.x) sum += LOAD(i);\n"
                "  atomicAdd(out, sum);",
                "#define LOAD(i) __ldg(&in[i])\n")),
            "", "neighbouring"},
        Row{"VectorNotReadOnlyLoadsOfWhatIsWritten", "vectorize-loop",
            plain(kernel(
                "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = __ldg(&out[i + d]) + in[i];\n"
                "  out[threadIdx.x] = __ldg(out + threadIdx.x);")),
            "", "outside of the loop"},
        Row{"VectorConversionInAssembly", "vectorize-loop",
            plain(
                kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = rounded(in[i]);",
                       "__device__ float rounded(float x) {\n  int y;\n  asm volatile(\"cvt.rni.s32.f32 %0, "
                       "%1;\" : \"=r\"(y) : \"f\"(x));\n  return y;\n}\n")),
            "VEC", ""},
        Row{"VectorNotThreadsNumberInAssembly", "vectorize-loop",
            plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i] + lane();",
                         "__device__ int lane() {\n  int y;\n  asm volatile(\"mov.u32 %0, %%laneid;\" : "
                         "\"=r\"(y));\n  return y;\n}\n")),
            "", "told apart"},
        Row{"VectorOfNamedTypes", "vectorize-loop",
            plain(
                kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = (stored)(in[i] * 2);",
                       "typedef signed char byte;\nstruct stored { unsigned short bits; __device__ explicit "
                       "stored(byte b) : bits(b) {} };\n",
                       "stored* out, const byte* in, int n, int d")),
            "VEC", ""},
        Row{"VectorNotOfThreeBytes", "vectorize-loop",
            plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i];",
                         "struct pixel { unsigned char r, g, b; };\n",
                         "pixel* out, const pixel* in, int n, int d")),
            "", "elements of type pixel"},
        Row{"VectorFunctionOfTheTemplate", "vectorize-loop", with_a_function("return 2 * x;"), "VEC", ""},
        Row{"VectorNotAFunctionOfTheTemplateThatShuffles", "vectorize-loop",
            with_a_function("return __shfl_xor_sync(0xffffffffu, x, 1);"), "", "communicate"},
        Row{"VectorNotAFunctionOfTheTemplateByThread", "vectorize-loop",
            with_a_function("return x * threadIdx.x;"), "", "told apart"},
        Row{"VectorNotShuffled", "vectorize-loop",
            plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = "
                         "__shfl_xor_sync(0xffffffffu, in[i], 1);")),
            "", "communicate"}),
    [](const auto& tested) { return std::string(tested.param.name); });

const std::string leaves = "  if (i >= n) return;\n", inside = "  if (i < n) ";

INSTANTIATE_TEST_SUITE_P(
    Elements, Table,
    ::testing::Values(
        Row{"ElementBehindReturn", "vectorize-element",
            one_a_thread(leaves, "  const float x = in[i];\n  out[i] = x * x;"), "VEC", ""},
        Row{"ElementInBranch", "vectorize-element", one_a_thread(inside, "out[i] += in[i];"), "VEC", ""},
        Row{"ElementOfARow", "vectorize-element",
            one_a_thread("  if (i >= d || row >= n)\n    return;\n",
                         "  out[row * d + i] = in[row * d + i] + in[i];", "  const int row = blockIdx.y;\n"),
            "VEC", ""},
        Row{"ElementThroughAnIndex", "vectorize-element",
            one_a_thread("  if (i >= d) return;\n",
                         "  const int at = blockIdx.y * d + i;\n  out[at] = in[at] + 1;"),
            "VEC", ""},
        Row{"ElementNotThroughMemory", "vectorize-element",
            one_a_thread(leaves, "  const int at = static_cast<int>(in[i]) + i;\n  out[at] = 1;"), "VEC", ""},
        Row{"ElementBackwards", "vectorize-element", one_a_thread("  if (n > i) {", " out[i] = in[i]; }"),
            "VEC", ""},
        Row{"ElementNumberedInOldProducts", "vectorize-element",
            plain(kernel("  const unsigned i = __umul24(blockIdx.x, blockDim.x) + threadIdx.x;\n"
                         "  if (i >= n) return;\n  out[i] = in[i];"),
                  {"256"}, {"(n + 255) / 256"}),
            "VEC", ""},
        Row{"BlockOfOldProducts", "expose-block-size",
            plain(kernel("  const unsigned i = __umul24(blockIdx.x, blockDim.x) + threadIdx.x;\n"
                         "  if (i >= n) return;\n  out[i] = in[i];"),
                  {"256"}, {"(n + 255) / 256"}),
            "BLOCK", ""},
        Row{"ElementNumberedByAFunction", "vectorize-element",
            plain(kernel("  const int i = number();\n  if (i >= n) return;\n  out[i] = in[i];",
                         "__device__ int number() { return blockIdx.x * blockDim.x + threadIdx.x; }\n"),
                  {"256"}, {"(n + 255) / 256"}),
            "VEC", ""},
        Row{"BlockOfANumberByAFunction", "expose-block-size",
            plain(kernel("  const int i = number();\n  if (i >= n) return;\n  out[i] = in[i];",
                         "__device__ int number() { return blockIdx.x * blockDim.x + threadIdx.x; }\n"),
                  {"256"}, {"(n + 255) / 256"}),
            "BLOCK", ""},
        Row{"BlockNotWhereAFunctionReads", "expose-block-size",
            plain(kernel("  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         "  if (i >= n) return;\n  out[i] = in[i] + own(in);",
                         "__device__ float own(const float* p) { return p[threadIdx.x]; }\n"),
                  {"256"}, {"(n + 255) / 256"}),
            "", "alone"},
        Row{"BlockNotByANumberOfTheThread", "expose-block-size",
            plain(kernel("  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         "  if (i >= n) return;\n  out[i] = in[i] * own(2);",
                         "__device__ int own(int k) { return threadIdx.x * k; }\n"),
                  {"256"}, {"(n + 255) / 256"}),
            "", "threadIdx.x"},
        Row{"ElementOfDependentRow", "vectorize-element",
            one_a_thread(inside, "out[i] = in[i] * in[row];", "  const int row = i / d;\n"), "VEC", ""},
        Row{"ElementNotSecondTime", "vectorize-element", one_a_thread(inside, "out[2 * i] = in[2 * i];"), "",
            "neighbouring"},
        Row{"ElementNotWithoutGuard", "vectorize-element", one_a_thread("", "  out[i] = in[i];"), "",
            "guard"},
        Row{"ElementInsideOfABorder", "vectorize-element",
            one_a_thread("  if (i >= n - 1 || i == 0) return;\n", "  out[i] = in[i - 1] + in[i + 1];"), "VEC",
            ""},
        Row{"ElementOfSomeRows", "vectorize-element",
            one_a_thread("  if (i < n && row > 0) ", "out[i] = in[i];", "  const int row = i / d;\n"), "VEC",
            ""},
        Row{"ElementNotGuardOfThread", "vectorize-element",
            one_a_thread("  if (i >= n || lane > 3) return;\n", "  out[i] = in[i];",
                         "  const int lane = threadIdx.x % 32;\n"),
            "", "asks more"},
        Row{"ElementNotBehindACount", "vectorize-element",
            one_a_thread(leaves, "  out[i] = in[i] + before;",
                         "  const float before = atomicAdd(out + n, 1.f);\n"),
            "", "more than a computation"},
        Row{"ElementNotVolatile", "vectorize-element",
            plain(
                kernel("  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = in[i];",
                       "", "volatile float* out, const volatile float* in, int n, int d"),
                {"256"}, {"(n + 255) / 256"}),
            "", "neighbouring"},
        Row{"ElementNotAfterwards", "vectorize-element",
            one_a_thread(inside, "out[i] = in[i];\n  if (i == 0) out[n] = 1;"), "",
            "behind the guarded work"},
        Row{"ElementNotByThread", "vectorize-element",
            one_a_thread(leaves, "  out[i] = in[i] * threadIdx.x;"), "", "which thread"},
        Row{"ElementNotByBlock", "vectorize-element",
            one_a_thread(leaves, "  out[i] = in[i] + in[first];", "  const int first = blockIdx.x * 4;\n"),
            "", "which thread"},
        Row{"ElementNotByGrid", "vectorize-element", one_a_thread(leaves, "  out[i] = in[i] * gridDim.x;"),
            "", "which thread"},
        Row{"ElementNotWithBarrier", "vectorize-element",
            one_a_thread(leaves, "  __syncthreads();\n  out[i] = in[i];"), "", "communicate"},
        Row{"ElementNotShared", "vectorize-element",
            one_a_thread(leaves, "  s[threadIdx.y] = in[i];\n  out[i] = s[0];",
                         "  __shared__ float s[256];\n"),
            "", "on the chip"},
        Row{"ElementNotWhatWasBefore", "vectorize-element",
            one_a_thread(leaves, "  x += in[i];\n  out[i] = x;", "  float x = 1;\n"), "",
            "outside of the element's work"},
        Row{"ElementNotFurtherReturns", "vectorize-element",
            one_a_thread(leaves, "  if (in[i] < 0) return;\n  out[i] = in[i];"), "",
            "more than an element's work"},
        Row{"ElementOnlyWhatItReads", "vectorize-element",
            one_a_thread(leaves, "  out[i] = in[i];\n  out[i + 1] = in[i];"), "VEC", ""}),
    [](const auto& tested) { return std::string(tested.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Others, Table,
    ::testing::Values(
        Row{"UnrollRunTimeLoop", "expose-unroll",
            plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i];")), "UNROLL",
            ""},
        Row{"UnrollNotConstantLoop", "expose-unroll",
            plain(kernel("  for (int i = 0; i < 4; ++i) out[i] = in[i];")), "", "run time"},
        Row{"UnrollNotWhatIsLongAlready", "expose-unroll",
            plain("__device__ float step(float x) {\n  for (int a = 0; a < 32; ++a)\n    for (int b = 0; b < "
                  "32; "
                  "++b) x = x * 2 + b;\n  return x;\n}\n" +
                  kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = step(in[i]);")),
            "", "operations a round as it is"},
        Row{"UnrollCallsOfFew", "expose-unroll",
            plain("__device__ float step(float x) {\n  for (int a = 0; a < 4; ++a) x = x * 2 + a;\n  return "
                  "x;\n}\n" +
                  kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = step(in[i]);")),
            "UNROLL", ""},
        Row{"UnrollPragma", "expose-unroll",
            plain(kernel(
                "#pragma unroll 4\n  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i];")),
            "UNROLL", ""},
        Row{"BoundsAbsent", "launch-bounds", plain(kernel("  out[0] = in[0];")), "MIN_BLOCKS", ""},
        Row{"SplitStride", "split-block",
            plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i];")), "SPLIT",
            ""},
        Row{"SplitNotShared", "split-block", plain(kernel(shared_loop)), "", "communicate"},
        Row{"SplitNotGridY", "split-block",
            plain(kernel(
                      "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[blockIdx.y * d + i] = in[i];"),
                  {"256"}, {"1", "n"}),
            "", "second axis"},
        Row{"RowsOfBlocks", "rows-per-block", plain(kernel(shared_loop + "\n  out[blockIdx.x] = 0;")), "ROWS",
            ""},
        Row{"RowsNotGridStride", "rows-per-block",
            plain(kernel("  for (int i = blockIdx.x; i < n; i += gridDim.x) out[i] = in[i];")), "",
            "grid's size"},
        Row{"RowsNotReturnBeforeBarrier", "rows-per-block",
            plain(kernel("  if (blockIdx.x * 8 + threadIdx.x > n) return;\n  __syncthreads();\n  "
                         "out[blockIdx.x] = in[0];")),
            "", "return early"},
        Row{"RowsNotReturnInLoop", "rows-per-block",
            plain(kernel(
                "  for (int i = 0; i < d; ++i)\n    if (in[i] > 0) return;\n  out[blockIdx.x] = in[0];")),
            "", "return inside a loop"},
        Row{"CacheOfStores", "cache-hints", plain(kernel("  out[blockIdx.x] = in[blockIdx.x];")),
            "STORE_CACHE", ""},
        Row{"CacheNotShared", "cache-hints", plain(kernel("  __shared__ float s[4];\n  s[threadIdx.x] = 1;")),
            "", "no load or store"},
        Row{"Pack", "launch-bounds",
            [] {
              Facts f;
              f.text = "template <class... Ts> __global__ void k(float* out, Ts... rest) { out[0] = 0; }\n";
              f.instance = "k<int>";
              f.dtypes.clear();
              return f;
            }(),
            "", "parameter pack"}),
    [](const auto& tested) { return std::string(tested.param.name); });

// `body` behind the index of a thread and the number of all threads.
std::string over_grid(const std::string& body) {
  return kernel("  const int first = blockIdx.x * blockDim.x + threadIdx.x;\n"
                "  const int all = blockDim.x * gridDim.x;\n" +
                body);
}
Facts on_grid(const std::string& body) {
  return plain(over_grid(body), {"256"}, {"min((n + 255) / 256, 1024)"});
}
const std::string grid_loop = "  for (int i = first; i < n; i += all) ";

INSTANTIATE_TEST_SUITE_P(
    GridSize, Table,
    ::testing::Values(
        Row{"GridOfElements", "expose-grid-size", on_grid(grid_loop + "out[i] = in[i];"), "BLOCKS_PER_SM",
            ""},
        Row{"GridOfRows", "expose-grid-size",
            plain(kernel("  for (int row = blockIdx.x; row < n; row += gridDim.x)\n    for (int i = "
                         "threadIdx.x; i < d; "
                         "i += blockDim.x) out[row * d + i] = in[row * d + i];")),
            "BLOCKS_PER_SM", ""},
        Row{"GridInOnePiece", "expose-grid-size",
            plain(
                kernel("  for (long i = 4l * (blockIdx.x * (long)blockDim.x + threadIdx.x); i < n; i += 4l * "
                       "blockDim.x * gridDim.x) out[i] = in[i];")),
            "BLOCKS_PER_SM", ""},
        Row{"GridSumByAtomics", "expose-grid-size",
            on_grid("  float sum = 0;\n" + grid_loop + "sum += in[i];\n  atomicAdd(out, sum);"),
            "BLOCKS_PER_SM", ""},
        Row{"GridAndItsFirstThread", "expose-grid-size",
            on_grid(grid_loop + "out[i + 1] = in[i];\n  if (first == 0) out[0] = 1;"), "BLOCKS_PER_SM", ""},
        Row{"GridTwoLoops", "expose-grid-size",
            on_grid(grid_loop +
                    "out[i] = in[i];\n  for (int i = first; i < d; i += all) out[n + i] = in[i];"),
            "BLOCKS_PER_SM", ""},
        Row{"GridPartialSums", "expose-grid-size",
            on_grid("  float sum = 0;\n" + grid_loop + "sum += in[i];\n  out[blockIdx.x] = sum;"), "",
            "blockIdx.x at line"},
        Row{"GridPartialSumOfTheFirst", "expose-grid-size",
            on_grid("  float sum = 0;\n" + grid_loop + "sum += in[i];\n  if (first == 0) out[0] = sum;"), "",
            "may depend on sum"},
        Row{"GridRunningSum", "expose-grid-size",
            on_grid("  float sum = 0;\n" + grid_loop + "{\n    sum += in[i];\n    out[i] = sum;\n  }"), "",
            "may depend on sum"},
        Row{"GridStoreOfEveryBlock", "expose-grid-size",
            on_grid(grid_loop + "out[i] = in[i];\n  out[n + threadIdx.x] = 1;"), "", "made by every block"},
        Row{"GridSizeInTheWork", "expose-grid-size", on_grid(grid_loop + "out[i] = in[i] * gridDim.x;"), "",
            "gridDim.x at line"},
        Row{"GridShareOfEachBlock", "expose-grid-size",
            plain(kernel("  const int share = (n + gridDim.x - 1) / gridDim.x;\n  for (int i = blockIdx.x * "
                         "share; i < n; "
                         "++i) out[i] = in[i];")),
            "", "no loop steps by the whole grid"},
        Row{"GridGuardBefore", "expose-grid-size",
            on_grid("  if (first >= d) return;\n" + grid_loop + "out[i] = in[i];"), "", "blockIdx.x at line"},
        Row{"GridLastBlock", "expose-grid-size",
            on_grid(grid_loop + "out[i] = in[i];\n  if (blockIdx.x == gridDim.x - 1) out[n] = 1;"), "",
            "at line"},
        Row{"GridOneElementAThread", "expose-grid-size",
            plain(kernel("  out[blockIdx.x * 256 + threadIdx.x] = 1;")), "",
            "no loop steps by the whole grid"}),
    [](const auto& tested) { return std::string(tested.param.name); });

} // namespace
} // namespace lathe::refactor::testing
