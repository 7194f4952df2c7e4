// Guessed problem sizes at which the raw kernel does not run.
#include "refactor/app/runnable_problems.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

// Sums the channels of each group into `out`; divides by the number of channels a group.
Candidate grouped_sum() {
  Candidate raw;
  raw.text = R"(
__global__ void k(float* out, const float* x, int n, int channels, int groups) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * channels) out[i / channels * groups + i % channels / (channels / groups)] = x[i];
}
)";
  raw.kernel = raw.instance = "k";
  raw.dimensions = {"n", "channels", "groups"};
  const auto read = [](const std::string& expression) { return *Expression::parse(expression); };
  raw.launch.grid = {read("(n * channels + 63) / 64"), read("1"), read("1")};
  raw.launch.block = {read("64"), read("1"), read("1")};
  raw.launch.shared_bytes = read("0");
  for (const auto& [name, count, direction] :
       {std::tuple("out", "n * groups", Direction::out), {"x", "n * channels", Direction::in}}) {
    Argument buffer;
    buffer.name = name;
    buffer.dtype = "f32";
    buffer.direction = direction;
    buffer.count = read(count);
    raw.arguments.push_back(buffer);
  }
  for (const std::string& name : raw.dimensions) {
    Argument scalar;
    scalar.name = name;
    scalar.is_buffer = false;
    scalar.dtype = "i32";
    scalar.value = read(name);
    raw.arguments.push_back(scalar);
  }
  return raw;
}

std::vector<Problem> problems(const std::vector<Sizes>& all) {
  std::vector<Problem> result;
  for (const Sizes& sizes : all) {
    Problem problem;
    problem.dimensions = sizes;
    result.push_back(problem);
  }
  return result;
}

TEST(RunnableProblems, ThoseThatRunStay) {
  const Sizes good{{"n", 4096}, {"channels", 64}, {"groups", 8}},
      bad{{"n", 16}, {"channels", 64}, {"groups", 128}};
  std::vector<Problem> kept = problems({bad, good});
  std::vector<std::string> notes;
  keep_runnable(grouped_sum(), "sm_90", kept, notes);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].dimensions, good);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], testing::HasSubstr("groups = 128"));
}

TEST(RunnableProblems, WhereNoneRunsSizesAreMadeSmallerUntilTheyDo) {
  std::vector<Problem> kept = problems(
      {{{"n", 16}, {"channels", 64}, {"groups", 128}}, {{"n", 4096}, {"channels", 64}, {"groups", 128}}});
  std::vector<std::string> notes;
  keep_runnable(grouped_sum(), "sm_90", kept, notes);
  ASSERT_EQ(kept.size(), 2u);
  for (const Problem& problem : kept) {
    EXPECT_EQ(problem.dimensions.at("channels"), 64);
    EXPECT_EQ(problem.dimensions.at("groups"), 64);
  }
  EXPECT_EQ(kept[1].dimensions.at("n"), 4096);
}

// A size that was small already stays so, and a grid has no more blocks along y than a launch may have.
TEST(RunnableProblems, WhatTakesTheirPlaceCanBeLaunched) {
  Candidate raw = grouped_sum();
  raw.launch.grid[1] = *Expression::parse("(n * groups + 4095) // 4096");
  // None of these runs: more groups than channels.
  std::vector<Problem> kept = problems({{{"n", 16}, {"channels", 64}, {"groups", 128}},
                                        {{"n", 16}, {"channels", 4}, {"groups", 8}},
                                        {{"n", 1 << 24}, {"channels", 64}, {"groups", 128}}});
  std::vector<std::string> notes;
  keep_runnable(raw, "sm_90", kept, notes);
  ASSERT_FALSE(kept.empty());
  for (const Problem& problem : kept) {
    EXPECT_LE(problem.dimensions.at("groups"), problem.dimensions.at("channels"));
    EXPECT_LE(problem.dimensions.at("n") * problem.dimensions.at("groups"), std::int64_t{4096} * 65535);
  }
}

TEST(RunnableProblems, GivenOnesThatDoNotRunAreSaid) {
  const std::vector<Problem> given = problems(
      {{{"n", 4096}, {"channels", 64}, {"groups", 8}}, {{"n", 16}, {"channels", 64}, {"groups", 128}}});
  std::vector<std::string> notes;
  tell_unrunnable(grouped_sum(), "sm_90", given, notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], testing::HasSubstr("groups = 128"));
  EXPECT_THAT(notes[0], testing::HasSubstr("--argument"));
}

TEST(RunnableProblems, NothingIsSaidWhereAllRun) {
  std::vector<Problem> kept = problems({{{"n", 16}, {"channels", 64}, {"groups", 4}}});
  std::vector<std::string> notes;
  keep_runnable(grouped_sum(), "sm_90", kept, notes);
  EXPECT_EQ(kept.size(), 1u);
  EXPECT_TRUE(notes.empty());
}

std::string count_of(const Candidate& raw, const std::string& name) {
  return std::ranges::find(raw.arguments, name, &Argument::name)->count.text();
}

// The small sizes of traced runs did not show all that the kernel reaches.
TEST(RunnableProblems, BuffersThatAreTooSmallAtTheProblemsAreMadeLarger) {
  Candidate raw = grouped_sum();
  raw.arguments[1].count = *Expression::parse("n");
  const std::vector<Problem> wanted = problems({{{"n", 512}, {"channels", 2}, {"groups", 2}}});
  std::vector<std::string> notes{"x has n elements (the product that fits; ...)"};
  make_room(raw, {}, "sm_90", wanted, notes);
  EXPECT_EQ(count_of(raw, "x"), "2 * (n)");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], testing::HasSubstr("--argument x=COUNT"));
}

// It runs at the first of the problems, and reaches a little further at the second; at the third far beyond.
TEST(RunnableProblems, BuffersThatAreALittleTooSmallAtAnotherProblemAreMadeLarger) {
  Candidate raw = grouped_sum();
  raw.arguments[1].count = *Expression::parse("n * channels - n / 8");
  const std::vector<Problem> wanted = problems({{{"n", 4}, {"channels", 4}, {"groups", 2}},
                                                {{"n", 512}, {"channels", 4}, {"groups", 2}},
                                                {{"n", 16}, {"channels", 64}, {"groups", 128}}});
  std::vector<std::string> notes;
  make_room(raw, {}, "sm_90", wanted, notes);
  EXPECT_EQ(count_of(raw, "x"), "2 * (n * channels - n / 8)");
  ASSERT_EQ(notes.size(), 1u);
  Candidate given = grouped_sum();
  given.arguments[1].count = raw.arguments[1].count = *Expression::parse("n * channels - n / 8");
  make_room(given, {"x"}, "sm_90", wanted, notes);
  EXPECT_EQ(count_of(given, "x"), "n * channels - n / 8");
}

TEST(RunnableProblems, BuffersThatSomebodySizedStay) {
  Candidate raw = grouped_sum();
  raw.arguments[1].count = *Expression::parse("n");
  std::vector<std::string> notes;
  make_room(raw, {"x"}, "sm_90", problems({{{"n", 512}, {"channels", 2}, {"groups", 2}}}), notes);
  EXPECT_EQ(count_of(raw, "x"), "n");
  EXPECT_TRUE(notes.empty());
}

// More room does not mend an index that has nothing to do with the buffer.
TEST(RunnableProblems, WhereMoreRoomDoesNotHelpBuffersStay) {
  Candidate raw = grouped_sum();
  raw.arguments[1].count = *Expression::parse("n");
  std::vector<std::string> notes;
  make_room(raw, {}, "sm_90", problems({{{"n", 512}, {"channels", 256}, {"groups", 2}}}), notes);
  EXPECT_EQ(count_of(raw, "x"), "n");
  EXPECT_TRUE(notes.empty());
}

// As FlashInfer's rotary embedding, whose vectors of single precision would begin between two of four
// numbers.
TEST(RunnableTypes, VectorsThatAreMisalignedForOneType) {
  Candidate raw = grouped_sum();
  raw.text = R"(
template <class T> __global__ void k(float* out, const float* x, int n, int channels, int groups) {
  constexpr int VEC = 16 / sizeof(T);
  const float4 first = *reinterpret_cast<const float4*>(x + threadIdx.x % 2 * VEC / 2);
  if (blockIdx.x * blockDim.x + threadIdx.x < n * groups) out[blockIdx.x * blockDim.x + threadIdx.x] = first.x;
}
)";
  raw.instance = "k<{T}>";
  raw.launch.grid[0] = *Expression::parse("(n * groups + 63) / 64");
  raw.types = {{"T", {"f16", "bf16", "f32"}}};
  const std::vector<Problem> sizes = problems({{{"n", 64}, {"channels", 64}, {"groups", 8}}});
  std::vector<std::string> notes;
  Candidate told = raw;
  keep_runnable_types(told, {"T"}, "sm_90", sizes, notes);
  EXPECT_THAT(told.types[0].dtypes, testing::ElementsAre("f16", "bf16", "f32"));
  keep_runnable_types(raw, {}, "sm_90", sizes, notes);
  EXPECT_THAT(raw.types[0].dtypes, testing::ElementsAre("f16", "bf16"));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], testing::HasSubstr("with f32 the raw kernel does not run"));
  // Where it runs with none, it is not the type.
  raw.types = {{"T", {"f32", "i32"}}};
  keep_runnable_types(raw, {}, "sm_90", sizes, notes);
  EXPECT_EQ(raw.types[0].dtypes.size(), 2u);
}

// A real number says which row is read: below zero there is none.
TEST(RunnableProblems, RealNumbersThatArePlacesAreNotBelowZero) {
  Candidate raw = grouped_sum();
  raw.text = R"(
__global__ void k(float* out, const float* x, const float* where, int n, int channels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * channels) out[i] = x[(int)(where[i / channels] * (n - 1)) * channels + i % channels];
}
)";
  raw.dimensions = {"n", "channels"};
  std::erase_if(raw.arguments, [](const Argument& argument) { return argument.name == "groups"; });
  raw.arguments[0].count = *Expression::parse("n * channels");
  Argument where = raw.arguments[1];
  where.name = "where";
  where.count = *Expression::parse("n");
  raw.arguments.insert(raw.arguments.begin() + 2, where);
  const std::vector<Problem> wanted =
      problems({{{"n", 512}, {"channels", 64}}, {{"n", 64}, {"channels", 64}}});
  std::vector<std::string> notes;
  make_room(raw, {}, "sm_90", wanted, notes);
  EXPECT_EQ(raw.arguments[2].fill.kind, Fill::Kind::uniform);
  EXPECT_EQ(raw.arguments[2].fill.low, 0);
  EXPECT_EQ(raw.arguments[1].fill.kind, Fill::Kind::normal) << "what is read there may be any number";
  EXPECT_EQ(count_of(raw, "x"), "n * channels");
  EXPECT_THAT(notes, testing::Contains(testing::HasSubstr("where holds numbers from 0 to 1")));
}

} // namespace
} // namespace lathe::refactor
