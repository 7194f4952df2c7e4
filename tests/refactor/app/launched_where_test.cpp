// Launches that the launcher chooses among by sizes: which one problems belong to.
#include "refactor/app/launch_conditions.h"
#include "refactor/app/raw_candidate_builder.h"
#include "refactor/app/usual_problems.h"
#include "tests/refactor/app/raw_source.h"

#include <gmock/gmock.h>
#include <regex>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// One warp for short rows, a large block for long ones.
constexpr const char* BY_LENGTH = R"(
template <int THREADS> __global__ void k(float* out, const float* in, int columns) {
  for (int i = threadIdx.x; i < columns; i += THREADS)
    out[blockIdx.x * columns + i] = in[blockIdx.x * columns + i];
}
void launch(float* out, const float* in, int rows, int columns, bool twice) {
  if (!twice)
    return;
  if (columns < 1024)
    k<32><<<rows, 32>>>(out, in, columns);
  else
    k<1024><<<rows, 1024>>>(out, in, columns);
}
)";

WorkloadFacts rows_of(std::initializer_list<std::int64_t> lengths) {
  WorkloadFacts facts;
  for (const std::int64_t length : lengths) {
    Problem problem;
    problem.dimensions = {{"rows", 4}, {"columns", length}};
    facts.problems.push_back(problem);
  }
  return facts;
}

std::vector<std::string> texts(const std::vector<Expression>& conditions) {
  std::vector<std::string> all;
  for (const Expression& condition : conditions)
    all.push_back(condition.text());
  return all;
}

TEST(LaunchedWhere, ProblemsChooseTheLaunch) {
  const auto long_rows = raw_of(BY_LENGTH, {}, rows_of({4096, 1024}));
  ASSERT_TRUE(long_rows.ok()) << long_rows.error().sentence();
  EXPECT_EQ(long_rows->candidate.instance, "k<1024>");
  EXPECT_THAT(texts(long_rows->candidate.launched_where), ElementsAre("!(columns < 1024)"));
  const auto short_rows = raw_of(BY_LENGTH, {}, rows_of({64}));
  ASSERT_TRUE(short_rows.ok()) << short_rows.error().sentence();
  EXPECT_EQ(short_rows->candidate.instance, "k<32>");
}

// What decides is asked of a size by the name of another one, which the launcher checks to be the same.
TEST(LaunchedWhere, ProblemsChooseByASizeThatIsAnother) {
  const std::string text = R"(
template <int THREADS> __global__ void k(float* out, const float* in, int rows, int d) {
  for (int i = threadIdx.x; i < d; i += THREADS)
    out[blockIdx.x * d + i] = rows * in[blockIdx.x * d + i];
}
void launch(float* out, const float* in, int rows, int rows_of_out, int d) {
  if (rows != rows_of_out)
    return;
  if (rows_of_out > 256)
    k<256><<<rows_of_out, 256>>>(out, in, rows, d);
  else
    k<64><<<rows_of_out, 64>>>(out, in, rows, d);
}
)";
  WorkloadFacts few;
  few.problems.emplace_back();
  few.problems.back().dimensions = {{"rows", 16}, {"d", 128}};
  const auto raw = raw_of(text, {}, few);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<64>");
  few.problems.back().dimensions["rows"] = 512;
  const auto many = raw_of(text, {}, few);
  ASSERT_TRUE(many.ok()) << many.error().sentence();
  EXPECT_EQ(many->candidate.instance, "k<256>");
}

TEST(LaunchedWhere, UsualSizesChooseTheLaunchWhereNobodyGivesAny) {
  const auto raw = raw_of(BY_LENGTH);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<1024>");
  EXPECT_THAT(raw->assumptions, Contains(HasSubstr("which the program does at the usual sizes")));
  // The first of those that it may have there.
  const std::string either = std::regex_replace(BY_LENGTH, std::regex("columns < 1024"), "columns <= 4096");
  const auto first = raw_of(either);
  ASSERT_TRUE(first.ok()) << first.error().sentence();
  EXPECT_EQ(first->candidate.instance, "k<32>");
  EXPECT_THAT(first->assumptions, Not(Contains(HasSubstr("which the program does at the usual sizes"))));
}

TEST(LaunchedWhere, ASiteThatIsAskedForIsTaken) {
  LaunchOverride launch;
  launch.site = 2;
  const auto raw = raw_of(BY_LENGTH, launch);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<1024>");
  // What is guessed is what it is launched for.
  std::vector<std::string> assumptions;
  for (const Problem& problem : usual_problems(raw->candidate, {}, "sm_90", assumptions))
    EXPECT_GE(problem.dimensions.at("columns"), 1024);
}

// What a program checks before it launches: sizes that are no powers of two, several at once, and such as
// nobody finds.
TEST(LaunchedWhere, GuessesMeetWhatTheProgramChecks) {
  const auto conditions = [](std::initializer_list<const char*> all) {
    std::vector<Expression> parsed;
    for (const char* text : all)
      parsed.push_back(*Expression::parse(text));
    return parsed;
  };
  Problem problem;
  problem.dimensions = {{"rows", 64}, {"d", 4096}, {"heads", 32}};
  EXPECT_TRUE(meet_conditions(conditions({"rows % 7 == 0", "d == heads * 80", "heads <= 24"}), problem));
  EXPECT_EQ(problem.dimensions.at("rows") % 7, 0);
  EXPECT_EQ(problem.dimensions.at("d"), problem.dimensions.at("heads") * 80);
  EXPECT_LE(problem.dimensions.at("heads"), 24);
  EXPECT_FALSE(meet_conditions(conditions({"rows * 3 + d * 5 == 12347"}), problem));

  Candidate raw;
  raw.types = {{"T", {"bf16", "f32"}}};
  raw.launched_where = conditions({"rows * 3 + d * 5 == 12347", "d % (16 / sizeof_T) == 0", "rows < 100"});
  Problem odd = problem, large = problem;
  problem.dimensions["rows"] = 64, problem.dimensions["d"] = 4096;
  odd.dimensions["d"] = 4100;
  large.dimensions["rows"] = 4096, large.dimensions["d"] = 4096;
  std::vector<Problem> problems{problem, odd, large};
  std::vector<std::string> notes;
  keep_to_conditions(raw, problems, notes);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems.front().dimensions.at("d"), 4096);
  EXPECT_THAT(texts(raw.launched_where), ElementsAre("d % (16 / sizeof_T) == 0", "rows < 100"));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("no sizes are known at which rows * 3 + d * 5 == 12347 holds")));
}

TEST(LaunchedWhere, GuessesAreWhatTheLaunchIsFor) {
  LaunchOverride launch;
  launch.site = 1;
  const auto raw = raw_of(BY_LENGTH, launch);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> assumptions;
  const auto problems = usual_problems(raw->candidate, {}, "sm_90", assumptions);
  ASSERT_FALSE(problems.empty());
  for (const Problem& problem : problems)
    EXPECT_LT(problem.dimensions.at("columns"), 1024);
  EXPECT_THAT(assumptions, testing::Contains(HasSubstr("or not by this launch")));
}

// A launch for other devices is nobody's either, whatever its sizes.
TEST(LaunchedWhere, ALaunchForOtherDevicesServesNothing) {
  const auto raw = raw_of(R"(
__global__ void k(float* out, int columns) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[blockIdx.x * columns + i] = i;
}
void launch(float* out, int rows, int columns) {
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  if (device.major < 7)
    k<<<rows, 64>>>(out, columns);
  else if (columns < 1024)
    k<<<rows, 32>>>(out, columns);
}
)",
                          {}, rows_of({4096}));
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.launch.block[0].text(), "32");
}

// A launch that the user states is nobody's to choose.
TEST(LaunchedWhere, ALaunchThatIsGiven) {
  LaunchOverride launch;
  launch.grid = "rows";
  launch.block = "32";
  const auto raw = raw_of(BY_LENGTH, launch, rows_of({4096}));
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_TRUE(raw->candidate.launched_where.empty());
}

// As vLLM's norms choose vectors: addresses are aligned here, and the sizes have to be.
TEST(LaunchedWhere, SizesThatHaveToHoldBesideAddresses) {
  const auto raw = raw_of(R"(
__global__ void k(float4* out, const float4* in, int columns, int stride) {
  for (int i = threadIdx.x; i < columns / 4; i += blockDim.x)
    out[blockIdx.x * (stride / 4) + i] = in[blockIdx.x * (stride / 4) + i];
}
__global__ void narrow(float* out, const float* in, int columns, int stride) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    out[blockIdx.x * stride + i] = in[blockIdx.x * stride + i];
}
void launch(float* out, const float* in, int rows, int columns, int stride) {
  const unsigned long long from = reinterpret_cast<unsigned long long>(in);
  const bool is_aligned = from % 16 == 0;
  if (is_aligned && (columns % 4 == 0 && stride % 4 == 0))
    k<<<rows, 128>>>((float4*)out, (const float4*)in, columns, stride);
  else
    narrow<<<rows, 128>>>(out, in, columns, stride);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(texts(raw->candidate.launched_where), ElementsAre("columns % 4 == 0", "stride % 4 == 0"));
}

TEST(LaunchedWhere, ConditionsThatHaveToHoldTogetherAreSeveral) {
  EXPECT_THAT(conjuncts("a % 2 == 0 && (b > 1 and (c))"), ElementsAre("a % 2 == 0", "b > 1", "c"));
  EXPECT_THAT(conjuncts("(a && b)"), ElementsAre("a", "b"));
  EXPECT_THAT(conjuncts("!(a && b)"), ElementsAre("!(a && b)"));
  EXPECT_THAT(conjuncts("a || b && c"), ElementsAre("a || b && c"));
  EXPECT_THAT(conjuncts("(a) && (b || c)"), ElementsAre("a", "b || c"));
  EXPECT_THAT(conjuncts("(band > 1) == (c)"), ElementsAre("(band > 1) == (c)"));
}

} // namespace
} // namespace lathe::refactor
