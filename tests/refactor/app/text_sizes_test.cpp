// Kernels whose own text fixes their sizes.
#include "refactor/app/text_sizes.h"
#include "tests/refactor/app/raw_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Result<Subject> freed_subject_of(const std::string& text) {
  LATHE_TRY(const TemporaryFolder folder, TemporaryFolder::create("subject"));
  SubjectRequest request;
  request.source = folder.path() / "k.cu";
  request.kernel = "k";
  request.parse.free_text_sizes = true;
  LATHE_CHECK(write_file(request.source, text));
  LATHE_TRY(const auto source, ParsedSource::parse(request.source, request.parse));
  return prepare_subject(request, *source);
}

const std::string MATRIX =
    "#define ROWS 8192\nconstexpr int COLUMNS = 16384;\n"
    "__global__ void k(const float* in, float* out) {\n"
    "  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;\n"
    "  if (column < COLUMNS) out[column * ROWS + row] = in[row * COLUMNS + column];\n}\n"
    "void run(const float* in, float* out) {\n"
    "  k<<<dim3((COLUMNS + 127) / 128, ROWS), 128>>>(in, out);\n}\n";

TEST(TextSizes, AreDimensionsWithNumbersToTry) {
  const auto subject = freed_subject_of(MATRIX);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  const Candidate& raw = subject->raw;
  ASSERT_EQ(raw.text_sizes.size(), 2u);
  for (const TextSize& size : raw.text_sizes) {
    EXPECT_EQ(size.value, size.dimension == "ROWS" ? 8192 : 16384);
    EXPECT_EQ(size.macro, "LATHE_SIZE_" + size.dimension);
    EXPECT_GE(size.trials.size(), 2u);
    for (const std::int64_t trial : size.trials)
      EXPECT_LT(trial, 512);
  }
  for (const Argument& argument : raw.arguments)
    EXPECT_THAT(argument.count.names(), testing::UnorderedElementsAre("ROWS", "COLUMNS"));
  ASSERT_EQ(subject->facts.problems.size(), 1u);
  EXPECT_EQ(subject->facts.problems[0].dimensions,
            (std::map<std::string, std::int64_t>{{"ROWS", 8192}, {"COLUMNS", 16384}}));
  EXPECT_THAT(
      raw.text,
      HasSubstr(
          "#ifndef LATHE_SIZE_ROWS\n#define LATHE_SIZE_ROWS 8192\n#endif\n#define ROWS LATHE_SIZE_ROWS\n"));
  EXPECT_THAT(raw.text, HasSubstr("#ifndef LATHE_SIZE_COLUMNS\n#define LATHE_SIZE_COLUMNS 16384\n#endif\n"
                                  "constexpr int COLUMNS = LATHE_SIZE_COLUMNS;"));
  EXPECT_THAT(subject->notes, Contains(HasSubstr("the kernel's text fixes")));
}

// What is defined in two ways is not one number.
TEST(TextSizes, AreFreedWhereTheTextHasOneDefinition) {
  const auto subject =
      freed_subject_of("#ifdef LARGE\n#define ROWS 8192\n#else\n#define ROWS 4096\n#endif\n" +
                       MATRIX.substr(MATRIX.find("constexpr")));
  // The branch that is not taken is no part of what is extracted.
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_THAT(subject->raw.text, HasSubstr("#define LATHE_SIZE_ROWS 4096"));
  const auto none = freed_subject_of("__global__ void k(float* x, int n) { x[blockIdx.x] = n; }\n"
                                     "void run(float* x, int n) { k<<<n, 64>>>(x, n); }\n");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().sentence(), HasSubstr("its text fixes none"));
}

// A kernel that needs multiples is tried with parts of its own size.
TEST(TextSizes, AreSuchAsTheKernelRunsCleanWith) {
  const auto subject = freed_subject_of(
      "#define N 65536\n__global__ void k(float* x) {\n"
      "  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;\n"
      "  for (int j = 0; j < 4; ++j) x[(i + j) % N] = j;\n  if (N % 64 != 0) x[-1000] = 0;\n}\n"
      "void run(float* x) { k<<<N / 256, 64>>>(x); }\n");
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  ASSERT_EQ(subject->raw.text_sizes.size(), 1u);
  for (const std::int64_t trial : subject->raw.text_sizes[0].trials)
    EXPECT_EQ(trial % 64, 0) << trial;
}

TEST(TextSizes, ConditionsNameThem) {
  const auto condition = [](const char* text) { return Condition{*Expression::parse(text), ""}; };
  std::vector<Condition> conditions{condition("ceil_div(N, 32) * 32 >= (4096) || N % 40960 == 0"),
                                    condition("BLOCK <= 4096"), condition("M * BLOCK <= 4096")};
  name_text_sizes({{"N", "LATHE_SIZE_N", 4096, {64}}, {"M", "LATHE_SIZE_M", 128, {8}}}, conditions);
  EXPECT_EQ(conditions[0].expression.text(), "ceil_div(N, 32) * 32 >= (N) || N % 40960 == 0");
  EXPECT_EQ(conditions[1].expression.text(), "BLOCK <= 4096");
  EXPECT_EQ(conditions[2].expression.text(), "M * BLOCK <= 4096");
}

TEST(TextSizes, ProblemsKeepThem) {
  Candidate raw;
  raw.text_sizes = {{"N", "N", 4096, {64}}};
  std::vector<Problem> problems(2);
  problems[0].dimensions = {{"N", 128}, {"rows", 3}};
  problems[1].dimensions = {{"N", 4096}, {"rows", 3}};
  keep_text_sizes(raw, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].dimensions.at("N"), 4096);
}

} // namespace
} // namespace lathe::refactor
