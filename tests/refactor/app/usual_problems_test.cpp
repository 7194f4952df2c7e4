// The sizes that are guessed where nobody gives any.
#include "refactor/app/usual_problems.h"

#include "refactor/app/divided_sizes.h"
#include "tests/refactor/app/raw_source.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::HasSubstr;

TEST(UsualProblems, ABlockFitsIntoTheDevice) {
  const auto raw = raw_of(R"(
__global__ void k(float* out, const float* in, int width, int depth) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < width * depth; i += blockDim.x) {
    tile[i] = in[i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < width * depth; i += blockDim.x) {
    out[i] = tile[i];
  }
}
void launch(float* out, const float* in, int width, int depth) {
  k<<<1, 256, width * depth * sizeof(float)>>>(out, in, width, depth);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> assumptions;
  const auto problems = usual_problems(raw->candidate, {}, "sm_90", assumptions);
  ASSERT_FALSE(problems.empty());
  for (const Problem& problem : problems) {
    const std::int64_t bytes = problem.dimensions.at("width") * problem.dimensions.at("depth") * 4;
    EXPECT_LE(bytes, 232448);
    EXPECT_GT(2 * bytes, 232448) << "no smaller than needed";
  }
  EXPECT_THAT(assumptions, testing::Contains(HasSubstr("halved")));
}

TEST(UsualSize, IsThatOfMostPrograms) {
  EXPECT_EQ(usual_size("layer_id"), 1);
  EXPECT_EQ(usual_size("page_size"), 16);
  EXPECT_EQ(usual_size("something"), std::nullopt);
  EXPECT_EQ(usual_size("topk"), 8);
  EXPECT_EQ(usual_size("info_order_2"), 1) << "a number of one axis, of two at least";
  EXPECT_EQ(usual_size("topk_ids_numel"), std::nullopt)
      << "a tensor's elements, not what is taken of each row";
}

// A kernel that is told how many parts a size has does nothing where that is none.
TEST(UsualProblems, AQuotientThatIsPassedIsNotZero) {
  const auto raw = raw_of(R"(
__global__ void k(float* out, const signed char* in, int part, int parts) {
  for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < parts; at += gridDim.x * blockDim.x) {
    for (int i = 0; i < part; ++i) out[at * part + i] = in[at * part + i];
  }
}
void launch(float* out, const signed char* in, int num_bytes, int part) {
  k<<<512, 256>>>(out, in, part, num_bytes / part);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> assumptions;
  const auto problems = usual_problems(raw->candidate, {}, "sm_90", assumptions);
  ASSERT_FALSE(problems.empty());
  for (const Problem& problem : problems)
    EXPECT_GE(problem.dimensions.at("num_bytes"), problem.dimensions.at("part"));
  EXPECT_THAT(assumptions, testing::Contains(HasSubstr("nothing is done")));
}

TEST(UsualProblems, WhatTheSourceFixesIsNotGuessed) {
  const auto raw = raw_of(R"(
#define ROWS 3000
__global__ void k(float* x, int rows, int width) {
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    x[(blockIdx.x % rows) * width + i] = 1;
  }
}
void launch(float* x, int width) { k<<<ROWS, 128>>>(x, ROWS, width); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.dimensions, testing::UnorderedElementsAre("ROWS", "width"));
  EXPECT_THAT(raw->own_sizes, testing::UnorderedElementsAre(testing::Pair("ROWS", 3000)));
  EXPECT_THAT(raw->assumptions, testing::Contains(HasSubstr("ROWS = 3000, as in the source")));
  std::vector<std::string> assumptions;
  const auto problems = usual_problems(raw->candidate, raw->own_sizes, "sm_90", assumptions);
  ASSERT_FALSE(problems.empty());
  for (const Problem& problem : problems)
    EXPECT_EQ(problem.dimensions.at("ROWS"), 3000);
}

TEST(UsualProblems, ABlockHasThreadsWhateverTheType) {
  const auto raw = raw_of(R"(
template <class T> __global__ void k(T* x, int m, int n) { x[blockIdx.x * n + threadIdx.x] = T(1); }
template <class T> void launch(T* x, int m, int n) { k<T><<<m, n / 4 / (4 / sizeof(T))>>>(x, m, n); }
void both(float* a, __half* b, int m, int n) { launch(a, m, n); launch(b, m, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> assumptions;
  for (const Problem& problem : usual_problems(raw->candidate, {}, "sm_90", assumptions))
    EXPECT_GE(problem.dimensions.at("n"), 8);
}

// Not 27 problems of three counts; and a row's length is not a count, nor a switch a size.
TEST(UsualProblems, NamesSayWhatSizesAreUsual) {
  const auto raw = raw_of(R"(
__global__ void k(float* out, int batch_size, int numTokens, int seq_len, int elems_per_row, int num_heads,
                  int head_dim, int top_k, int neox_style, int kernel_size, int num_bits) {
  out[blockIdx.x] = batch_size + numTokens + seq_len + elems_per_row + num_heads + head_dim + top_k +
                    neox_style + kernel_size + num_bits;
}
void launch(float* out, int batch_size, int numTokens, int seq_len, int elems_per_row, int num_heads,
            int head_dim, int top_k, int neox_style, int kernel_size, int num_bits) {
  k<<<batch_size, 128>>>(out, batch_size, numTokens, seq_len, elems_per_row, num_heads, head_dim, top_k,
                         neox_style, kernel_size, num_bits);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> assumptions;
  const auto problems = usual_problems(raw->candidate, {}, "sm_90", assumptions);
  ASSERT_EQ(problems.size(), 6u);
  for (const Problem& problem : problems) {
    EXPECT_EQ(problem.dimensions.at("elems_per_row"), 4096);
    EXPECT_EQ(problem.dimensions.at("num_heads"), 32);
    EXPECT_EQ(problem.dimensions.at("head_dim"), 128);
    EXPECT_EQ(problem.dimensions.at("top_k"), 8);
    EXPECT_EQ(problem.dimensions.at("neox_style"), 1);
    EXPECT_EQ(problem.dimensions.at("kernel_size"), 3);
    EXPECT_EQ(problem.dimensions.at("num_bits"), 8);
  }
  for (const char* count : {"batch_size", "numTokens", "seq_len"}) {
    const auto large_alone = [&](const Problem& problem) {
      return problem.dimensions.at(count) == 4096 && problem.dimensions.at("batch_size") *
                                                             problem.dimensions.at("numTokens") *
                                                             problem.dimensions.at("seq_len") ==
                                                         4096;
    };
    EXPECT_EQ(std::ranges::count_if(problems, large_alone), 1) << count;
  }
}

// A quotient of two guesses is 0, a product of two is more blocks than an axis takes.
TEST(UsualProblems, SomethingCanBeLaunched) {
  const auto raw = raw_of(R"(
__global__ void k(float* out, int hidden, int head_size, int width, int channels) {
  out[threadIdx.x] = hidden / head_size + width + channels;
}
void launch(float* out, int hidden, int head_size, int width, int channels) {
  k<<<dim3(1, 1, width * channels), hidden / head_size / 64>>>(out, hidden, head_size, width, channels);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> assumptions;
  const auto problems = usual_problems(raw->candidate, {}, "sm_90", assumptions);
  ASSERT_EQ(problems.size(), 1u);
  const auto& sizes = problems.front().dimensions;
  EXPECT_GE(sizes.at("hidden") / sizes.at("head_size") / 64, 1);
  EXPECT_LE(sizes.at("hidden") / sizes.at("head_size") / 64, 1024);
  EXPECT_LE(sizes.at("width") * sizes.at("channels"), 65535);
  EXPECT_THAT(assumptions, testing::Contains(HasSubstr("at which nothing is done, or not by this launch")));
}

TEST(UsualProblems, AGridThatNeedsLargeSizesHasBlocks) {
  const auto raw = raw_of(R"(
__global__ void k(float* out, int rounds) { out[threadIdx.x] = rounds; }
void launch(float* out, int size, int rounds) { k<<<size / 8 / 128 / 256, 256>>>(out, rounds); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> assumptions;
  const auto problems = usual_problems(raw->candidate, {}, "sm_90", assumptions);
  ASSERT_FALSE(problems.empty());
  EXPECT_GE(problems.front().dimensions.at("size"), 8 * 128 * 256);
}

TEST(UsualProblems, BuffersAreNoLargerThanADevice) {
  Candidate raw;
  Argument matrix;
  matrix.name = "matrix";
  matrix.dtype = "f32";
  matrix.count = *Expression::parse("n * n");
  raw.arguments.push_back(matrix);
  std::vector<Problem> problems(3);
  problems[0].dimensions = {{"n", 1 << 10}};
  problems[1].dimensions = {{"n", 1 << 20}};
  problems[2].dimensions = {{"n", 1 << 24}};
  std::vector<std::string> assumptions;
  fit_to_memory(raw, problems, assumptions);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].dimensions.at("n"), 1 << 10);
  EXPECT_EQ(problems[1].dimensions.at("n"), 1 << 15);
  EXPECT_THAT(assumptions, testing::Contains(HasSubstr("n = 32768 in place of 1048576")));
}

// A block of min(width / 128, 512) threads is none of a width below 128.
TEST(UsualProblems, SizesThatAreHalvedLeaveSomethingToLaunch) {
  Candidate raw;
  Argument matrix;
  matrix.name = "matrix";
  matrix.dtype = "f32";
  matrix.count = *Expression::parse("rows * width * width * width * width * width");
  raw.arguments.push_back(matrix);
  for (auto* sides : {&raw.launch.grid, &raw.launch.block})
    sides->fill(*Expression::parse("1"));
  raw.launch.grid[0] = *Expression::parse("rows");
  raw.launch.block[0] = *Expression::parse("min(width / 128, 512)");
  std::vector<Problem> problems(1);
  problems[0].dimensions = {{"rows", 16}, {"width", 4096}};
  std::vector<std::string> assumptions;
  fit_to_memory(raw, problems, assumptions);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].dimensions.at("width"), 128);
}

TEST(UsualProblems, CountsAreNoMoreThanTheirTypesHold) {
  const auto raw = raw_of(R"(
template <class T> __global__ void k(T* x, unsigned n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
template <class T> void launch(int megabytes) {
  T* x;
  const int n = megabytes * 1024 * 1024 / sizeof(T);
  cudaMalloc((void**)&x, n * sizeof(T));
  k<T><<<1, 256>>>(x, n);
}
template void launch<float>(int);
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  // As many elements as the launcher allocates, whatever the type.
  EXPECT_THAT(raw->candidate.arguments[0].count.text(), HasSubstr("megabytes"));
  Candidate counted = raw->candidate;
  counted.arguments.erase(counted.arguments.begin());
  std::vector<Problem> problems(2);
  problems[0].dimensions = {{"megabytes", 64}};
  problems[1].dimensions = {{"megabytes", 1 << 15}};
  std::vector<std::string> assumptions;
  fit_to_memory(counted, problems, assumptions);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].dimensions.at("megabytes"), 64);
  EXPECT_EQ(problems[1].dimensions.at("megabytes"), 1 << 12) << "elements of two bytes";
}

TEST(UsualProblems, RowsOfATokenAreAsLongAsModelsHaveThem) {
  const auto raw = raw_of(R"(
__global__ void k(float* out, const float* in, long stride_d2, long stride_d3, long stride_d4, int shape_d2,
                  int hidden_size) {
  const float* row = in + blockIdx.x / shape_d2 * stride_d3 + blockIdx.x % shape_d2 * stride_d2 + stride_d4;
  for (int i = threadIdx.x; i < hidden_size; i += blockDim.x) out[blockIdx.x * hidden_size + i] = row[i];
}
void launch(float* out, const float* in, long stride_d2, long stride_d3, long stride_d4, int shape_d2,
            int num_tokens, int hidden_size) {
  k<<<num_tokens, 256>>>(out, in, stride_d2, stride_d3, stride_d4, shape_d2, hidden_size);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> assumptions;
  const auto problems = usual_problems(raw->candidate, {}, "sm_90", assumptions);
  ASSERT_FALSE(problems.empty());
  for (const Problem& problem : problems) {
    EXPECT_EQ(problem.dimensions.at("hidden_size"), 4096);
    for (const char* stride : {"stride_d2", "stride_d3", "stride_d4"})
      EXPECT_GE(problem.dimensions.at(stride), 4096) << stride;
  }
}

TEST(UsualProblems, ANumberOfColumnsIsARowsLength) {
  const auto raw = raw_of(R"(
__global__ void k(float* out, const float* in, int numRows, int numCols) {
  for (int i = threadIdx.x; i < numCols; i += blockDim.x)
    out[blockIdx.x * numCols + i] = in[blockIdx.x * numCols + i];
}
void launch(float* out, const float* in, int numRows, int numCols) {
  k<<<numRows, 128>>>(out, in, numRows, numCols);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> assumptions;
  const auto problems = usual_problems(raw->candidate, raw->own_sizes, "sm_90", assumptions);
  ASSERT_EQ(problems.size(), 3u);
  for (const Problem& problem : problems)
    EXPECT_EQ(problem.dimensions.at("numCols"), 4096);
}

// What a row is divided into is long enough for the kernel to have something to do, at the sizes that are
// traced too; a size with a usual length of its own stays, and so does one that others are divided by.
TEST(UsualProblems, PartsOfADividedSizeAreNotEmpty) {
  const auto raw = raw_of(R"(
__global__ void k(char* out, const char* in, long row_bytes, long head_num, long pitch, int first, int last) {
  const long part = row_bytes / head_num;
  for (long head = 0; head < head_num; ++head)
    for (long i = threadIdx.x; i < part / 8; i += blockDim.x)
      ((long*)(out + blockIdx.x * pitch + head * part))[i] = ((const long*)(in + head * part))[first + i - last];
}
void launch(char* out, const char* in, long row_bytes, long head_num, long pitch, int first, int last, int blocks) {
  k<<<blocks, 128>>>(out, in, row_bytes, head_num, pitch, first, last);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  const std::vector<DividedSize> divided = divided_sizes(raw->candidate);
  ASSERT_EQ(divided.size(), 1U);
  EXPECT_EQ(divided.front().whole, "row_bytes");
  EXPECT_EQ(divided.front().parts, "head_num");
  std::vector<std::string> assumptions;
  const auto problems = usual_problems(raw->candidate, {}, "sm_90", assumptions);
  ASSERT_FALSE(problems.empty());
  for (const Problem& problem : problems) {
    EXPECT_EQ(problem.dimensions.at("head_num"), 32);
    EXPECT_GE(problem.dimensions.at("row_bytes"), 32 * 32);
  }
  EXPECT_THAT(assumptions, testing::Contains(HasSubstr("row_bytes = 1024 (say otherwise")));
  Dimensions reduced{{"row_bytes", 16}, {"head_num", 16}, {"pitch", 16}};
  keep_parts(divided, problems.front().dimensions, 16, reduced);
  EXPECT_EQ(reduced, (Dimensions{{"row_bytes", 256}, {"head_num", 16}, {"pitch", 16}}));
  const std::vector<Problem> own = usual_problems(raw->candidate, {{"row_bytes", 64}}, "sm_90", assumptions);
  EXPECT_EQ(own.front().dimensions.at("row_bytes"), 64) << "what the source says is not raised";
}

} // namespace
} // namespace lathe::refactor
