// The integers of the program's other launches as knobs: what is taken, with which conditions, what is not.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gmock/gmock.h>

namespace lathe::refactor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Each block has ROWS rows and COLUMNS columns of them; what is left over of the columns is nobody's.
const char* const tiles = R"(
template <typename T, int ROWS, int COLUMNS, int WARPS>
__global__ void tiles(float* out, const T* in, int n, int d) {
  const int blocks = d / COLUMNS;
  const int row = blockIdx.x / blocks * ROWS, column = blockIdx.x % blocks * COLUMNS;
  for (int i = threadIdx.x; i < ROWS * COLUMNS; i += WARPS * 32)
    if (row + i / COLUMNS < n)
      out[(row + i / COLUMNS) * d + column + i % COLUMNS] =
          2 * static_cast<float>(in[(row + i / COLUMNS) * d + column + i % COLUMNS]);
}
)";

ProgramLaunch launched(const std::string& where, std::vector<std::string> arguments, const std::string& grid,
                       const std::string& block, const std::vector<std::string>& needs = {}) {
  ProgramLaunch launch{where, std::move(arguments), {}, {}};
  launch.launch.grid[0] = *Expression::parse(grid);
  launch.launch.block[0] = *Expression::parse(block);
  launch.launch.shared_bytes = *Expression::parse("0");
  for (const std::string& need : needs)
    launch.needs.push_back(*Expression::parse(need));
  return launch;
}

const char* const grid_of_64 = "(n + 15) / 16 * (d / 64)";
const char* const grid_of_32 = "(n + 7) / 8 * (d / 32)";

Candidate tiles_candidate() {
  Facts facts = plain(tiles, {"128"}, {grid_of_64});
  facts.instance = "tiles<{T}, 16, 64, 4>";
  Candidate candidate = make_candidate(facts);
  candidate.program_launches = {launched("t.cu:10", {"{T}", "16", "64", "4"}, grid_of_64, "128"),
                                launched("t.cu:20", {"{T}", "8", "32", "2"}, grid_of_32, "64", {"n <= 512"})};
  return candidate;
}

Outcome adopt(const Candidate& candidate, const std::vector<std::string>& rules = {"adopt-instances"}) {
  auto result = rewrite(candidate, rules, ParseOptions{});
  EXPECT_TRUE(result.ok()) << result.error().sentence();
  Outcome outcome;
  if (result.ok()) {
    outcome.candidate = result->candidate;
    for (const RuleReport& report : result->reports)
      if (report.rule == "adopt-instances")
        outcome.report = report;
  }
  return outcome;
}

std::int64_t blocks_at(const Expression& size, std::int64_t rows, std::int64_t n) {
  const auto value = size.evaluate_integer([&](std::string_view name) -> std::optional<Value> {
    if (name == "ROWS")
      return Value{rows};
    if (name == "COLUMNS")
      return Value{std::int64_t{rows == 16 ? 64 : 32}};
    if (name == "WARPS")
      return Value{std::int64_t{rows == 16 ? 4 : 2}};
    return name == "n"   ? std::optional(Value{n})
           : name == "d" ? std::optional(Value{std::int64_t{128}})
                         : std::nullopt;
  });
  return value.ok() ? *value : -1;
}

TEST(AdoptInstances, ArgumentsThatTheProgramLaunchesTogether) {
  const Candidate raw = tiles_candidate();
  const Outcome outcome = adopt(raw);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_THAT(outcome.report.knobs, ::testing::ElementsAre("ROWS", "COLUMNS", "WARPS"));
  EXPECT_EQ(outcome.candidate.instance, "tiles<{T}, {ROWS}, {COLUMNS}, {WARPS}>");
  EXPECT_EQ(outcome.candidate.text, raw.text);
  EXPECT_EQ(outcome.knob("ROWS")->default_value.text(), "16");
  EXPECT_THAT(outcome.knob("ROWS")->why, HasSubstr("the program launches 16 at t.cu:10 and 8 at t.cu:20"));
  EXPECT_TRUE(outcome.has_condition("(ROWS == 16 && COLUMNS == 64 && WARPS == 4) || (ROWS == 8 && COLUMNS == "
                                    "32 && WARPS == 2)"));
  const LaunchGeometry& launch = outcome.candidate.launch;
  EXPECT_EQ(blocks_at(launch.grid[0], 16, 100), 7 * 2);
  EXPECT_EQ(blocks_at(launch.grid[0], 8, 100), 13 * 4);
  EXPECT_EQ(blocks_at(launch.block[0], 16, 100), 128);
  EXPECT_EQ(blocks_at(launch.block[0], 8, 100), 64);
  EXPECT_EQ(
      machine_code(tiles, "tiles<__half, 8, 32, 2>"),
      machine_code(outcome.candidate.text,
                   bound_instance(outcome.candidate, "f16", {{"ROWS", 8}, {"COLUMNS", 32}, {"WARPS", 2}})));
}

TEST(AdoptInstances, NothingIsLeftOverOfWhatEitherLaunchRoundsDown) {
  const Outcome outcome = adopt(tiles_candidate());
  const std::string other = "!(ROWS == 8 && COLUMNS == 32 && WARPS == 2) || ";
  EXPECT_TRUE(outcome.has_condition(other + "(n <= 512)"));
  EXPECT_TRUE(outcome.has_condition(other + "(d) % 64 == 0"));
  EXPECT_TRUE(outcome.has_condition(other + "(d) % 32 == 0"));
  for (const Condition& condition : outcome.candidate.conditions) // rounded up
    EXPECT_THAT(condition.expression.text(), Not(HasSubstr("% 16")));
}

TEST(AdoptInstances, StepsOfLoopsLeaveNothingOver) {
  Facts facts = plain(R"(
template <int STEP> __global__ void sums(float* out, const float* in, int n, int d) {
  float sum = 0;
  for (int k = 0; k < d; k += STEP)
    for (int j = 0; j < STEP; ++j)
      sum += in[blockIdx.x * d + k + j];
  out[blockIdx.x] = sum;
}
)",
                      {"1"}, {"n"});
  facts.instance = "sums<8>";
  facts.dtypes = {};
  Candidate candidate = make_candidate(facts);
  Argument size{"d", false, "i32", Direction::in, {}, *Expression::parse("d"), {}, false};
  candidate.arguments.push_back(size);
  candidate.program_launches = {launched("t.cu:10", {"8"}, "n", "1"), launched("t.cu:20", {"16"}, "n", "1")};
  const Outcome outcome = adopt(candidate);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has_condition("!(STEP == 16) || (d) % 16 == 0"));
  EXPECT_TRUE(outcome.has_condition("!(STEP == 16) || (d) % 8 == 0"));
}

// The block size is a knob by itself; it is the other launch's where the rows are.
TEST(AdoptInstances, AParameterThatIsAKnobHasTheValueOfTheLaunch) {
  Facts facts = plain(R"(
template <int ROWS, int THREADS> __global__ void k(float* out, const float* in, int n, int d) {
  for (int row = 0; row < ROWS; ++row)
    for (int i = threadIdx.x; i < d; i += THREADS)
      out[(blockIdx.x * ROWS + row) * d + i] = ROWS * in[(blockIdx.x * ROWS + row) * d + i] - 1;
}
)",
                      {"128"}, {"n / 4"});
  facts.instance = "k<4, 128>";
  facts.dtypes = {};
  Candidate candidate = make_candidate(facts);
  candidate.conditions.push_back({*Expression::parse("n % 4 == 0"), "of a rule before"});
  candidate.program_launches = {launched("t.cu:10", {"4", "128"}, "n / 4", "128"),
                                launched("t.cu:20", {"2", "64"}, "n / 2", "64"),
                                launched("t.cu:30", {"2", "100"}, "n / 2", "100")};
  const Outcome outcome = adopt(candidate, {"adopt-template-parameter", "adopt-instances"});
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.instance, "k<{ROWS}, {THREADS}>");
  EXPECT_TRUE(outcome.has_condition("!(ROWS == 2) || THREADS == (64)"));
  EXPECT_TRUE(
      outcome.has_condition("!(ROWS == 4) || (n % 4 == 0)")); // what was asked before is the default's
  EXPECT_EQ(outcome.candidate.launch.block[0].text(), "(ROWS == 2) ? (64) : (THREADS)");
}

TEST(AdoptInstances, OtherKnobsRestWhereAnotherLaunchIsTaken) {
  Candidate padded = tiles_candidate();
  padded.knobs.push_back({"PADDING",
                          KnobKind::tile,
                          "int",
                          {Value{std::int64_t{0}}, Value{std::int64_t{8}}},
                          *Expression::parse("0"),
                          false,
                          {},
                          ""});
  padded.knobs.push_back({"HINT",
                          KnobKind::cache,
                          "int",
                          {Value{std::int64_t{0}}, Value{std::int64_t{1}}},
                          *Expression::parse("0"),
                          false,
                          {},
                          ""});
  auto result = rewrite(padded, {"adopt-instances"}, ParseOptions{});
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  std::string conditions;
  for (const Condition& condition : result->candidate.conditions)
    conditions += condition.expression.text() + "\n";
  EXPECT_THAT(conditions, HasSubstr("!(ROWS == 8 && COLUMNS == 32 && WARPS == 2) || PADDING == (0)"));
  EXPECT_THAT(conditions, Not(HasSubstr("HINT")));
}

TEST(AdoptInstances, LaunchBoundsFollowTheChoice) {
  const Outcome outcome = adopt(tiles_candidate(), {"adopt-instances", "launch-bounds"});
  EXPECT_TRUE(
      outcome.has("__launch_bounds__(MIN_BLOCKS == 0 ? 0 : (((ROWS == 8) && (COLUMNS == 32) && (WARPS == "
                  "2)) ? 64 : 128), MIN_BLOCKS)"))
      << outcome.candidate.text;
  EXPECT_EQ(machine_code(tiles, "tiles<float, 16, 64, 4>"),
            machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32")));
  const std::string bounded =
      machine_code(outcome.candidate.text,
                   bound_instance(outcome.candidate, "f32",
                                  {{"ROWS", 8}, {"COLUMNS", 32}, {"WARPS", 2}, {"MIN_BLOCKS", 2}}));
  EXPECT_NE(bounded.rfind("error", 0), 0u) << bounded;
}

TEST(AdoptInstances, ArgumentsThatAreNoNumbersAreRefused) {
  Facts facts = plain(R"(
template <bool TWICE, int WIDTH> __global__ void k(float* out, const float* in, int n, int d) {
  for (int i = threadIdx.x; i < d; i += WIDTH) out[blockIdx.x * d + i] = (TWICE ? 2 : 1) * in[blockIdx.x * d + i];
}
)",
                      {"128"}, {"n"});
  facts.instance = "k<true, 128>";
  facts.dtypes = {};
  Candidate candidate = make_candidate(facts);
  candidate.program_launches = {launched("t.cu:10", {"true", "128"}, "n", "128"),
                                launched("t.cu:20", {"false", "64"}, "n", "64")};
  const Outcome outcome = adopt(candidate);
  EXPECT_FALSE(outcome.report.applied);
  EXPECT_THAT(outcome.report.detail, HasSubstr("t.cu:20: it has TWICE = false, which is no number"));
}

TEST(AdoptInstances, ParameterThatIsAKnobAlreadyIsRefused) {
  Facts facts = plain(R"(
template <int THREADS> __global__ void k(float* out, const float* in, int n, int d) {
  for (int i = threadIdx.x; i < d; i += THREADS) out[blockIdx.x * d + i] = in[blockIdx.x * d + i];
}
)",
                      {"128"}, {"n"});
  facts.instance = "k<128>";
  facts.dtypes = {};
  Candidate candidate = make_candidate(facts);
  candidate.program_launches = {launched("t.cu:10", {"128"}, "n", "128"),
                                launched("t.cu:20", {"64"}, "n", "64")};
  const Outcome outcome = adopt(candidate, {"adopt-template-parameter", "adopt-instances"});
  EXPECT_FALSE(outcome.report.applied);
  EXPECT_THAT(outcome.report.detail, HasSubstr("THREADS is a knob already"));
}

TEST(AdoptInstances, WithoutOtherLaunchesThereIsNothing) {
  Candidate candidate = tiles_candidate();
  candidate.program_launches.clear();
  const Outcome outcome = adopt(candidate);
  EXPECT_FALSE(outcome.report.applied);
  EXPECT_THAT(outcome.report.detail, HasSubstr("no launch that differs in integers of the template alone"));
}

} // namespace
} // namespace lathe::refactor::testing
