// The guard on honest templates, which it must accept, and on templates with one mistake, each of which it
// must refuse, by the check that is there for it.
#include "refactor/guard/guard.h"
#include "tuner/base/files.h"
#include "tuner/spec/spec.h"

#include <gmock/gmock.h>

#include <filesystem>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

struct Change {
  std::string from, to;
};

struct Mistake {
  const char* name;
  const char* fixture;
  std::vector<Change> in_template, in_spec;
  const char* check; // that refuses first; empty: any
};

void PrintTo(const Mistake& mistake, std::ostream* stream) {
  *stream << mistake.name;
}

std::string changed(std::string text, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    const std::size_t at = text.find(change.from);
    EXPECT_NE(at, std::string::npos) << change.from;
    if (at != std::string::npos)
      text.replace(at, change.from.size(), change.to);
  }
  return text;
}

class Judge {
public:
  Result<Certificate> operator()(const std::string& fixture, const std::vector<Change>& in_template = {},
                                 const std::vector<Change>& in_spec = {}, bool stop_at_failure = false,
                                 const std::vector<Change>& in_raw = {}) {
    LATHE_TRY(const TemporaryFolder folder, TemporaryFolder::create("guard-test"));
    const fs::path data(LATHE_TEST_DATA);
    for (const char* part : {"_raw.cu", "_template.cu", ".json"}) {
      LATHE_TRY(const std::string text, read_file(data / (fixture + part)));
      const bool is_template = std::string_view(part) == "_template.cu";
      const bool is_spec = std::string_view(part) == ".json";
      LATHE_CHECK(write_file(folder.path() / (fixture + part), changed(text, is_template ? in_template
                                                                             : is_spec   ? in_spec
                                                                                         : in_raw)));
    }
    LATHE_TRY(const TuningSpec spec, read_spec(folder.path() / (fixture + ".json")));
    GuardOptions options;
    options.seed = 11;
    options.stop_at_failure = stop_at_failure;
    return judge(spec, options);
  }
};

// Of the band fixture: the program passes no bias.
const Change NULL_BIAS{"\"Count\": \"width\"\n", "\"Count\": \"width\", \"Null\": true\n"};

std::string findings(const Certificate& certificate) {
  std::string text;
  for (const CheckResult& check : certificate.checks)
    text += check.check + ": " + std::string(to_string(check.verdict)) + ": " + check.detail + "\n";
  return text;
}

const CheckResult& check_of(const Certificate& certificate, const std::string& name) {
  for (const CheckResult& check : certificate.checks)
    if (check.check == name)
      return check;
  ADD_FAILURE() << "no check " << name;
  return certificate.checks.front();
}

// And the rung of the identity ladder it must reach: row_norm's default unrolls a loop that the raw kernel
// leaves to the compiler.
struct HonestFixture {
  const char* name;
  const char* identity;
};

class Honest : public testing::TestWithParam<HonestFixture> {};

TEST_P(Honest, TemplateIsAccepted) {
  const auto certificate = Judge()(GetParam().name);
  ASSERT_TRUE(certificate.ok()) << certificate.error().sentence();
  EXPECT_TRUE(certificate->accepted()) << findings(*certificate);
  EXPECT_EQ(certificate->identity_level, GetParam().identity) << findings(*certificate);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Honest,
                         testing::Values(HonestFixture{"scale", "L0"}, HonestFixture{"row_norm", "L3"},
                                         HonestFixture{"transpose", "L0"}, HonestFixture{"activate", "L0"},
                                         HonestFixture{"pages", "L0"}, HonestFixture{"tickets", "L0"},
                                         HonestFixture{"wide", "L0"}, HonestFixture{"slots", "L3"},
                                         HonestFixture{"totals", "L3"}, HonestFixture{"orient", "L0"},
                                         HonestFixture{"half_sums", "L0"}, HonestFixture{"permute", "L0"},
                                         HonestFixture{"sort_bins", "L0"},
                                         // Small numbers are none that its widths may be.
                                         HonestFixture{"parcels", "L0"}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Evidence, PointersThatTheProgramPassesAsNull) {
  const auto certificate = Judge()("band", {}, {NULL_BIAS});
  ASSERT_TRUE(certificate.ok()) << certificate.error().sentence();
  EXPECT_TRUE(certificate->accepted()) << findings(*certificate);
}

TEST(Evidence, NamesTheKernelsOwnBuffers) {
  // A function among the template arguments is not the kernel.
  const auto certificate = Judge()("activate");
  ASSERT_TRUE(certificate.ok());
  EXPECT_THAT(check_of(*certificate, "effects").evidence,
              testing::UnorderedElementsAre("'out' written", "'in' read"));
}

TEST(Evidence, SaysWhichOtherIntegersWereRun) {
  auto certificate = Judge()("slots");
  ASSERT_TRUE(certificate.ok());
  EXPECT_THAT(
      check_of(*certificate, "differential").evidence,
      testing::Contains("the raw kernel also takes numbers below zero, 0 in 'slots', and runs do so too"));
  certificate = Judge()("totals");
  ASSERT_TRUE(certificate.ok());
  EXPECT_THAT(
      check_of(*certificate, "differential").evidence,
      testing::Contains("the raw kernel also takes numbers of 31 bits, numbers below zero, 0 in 'values', "
                        "and runs do so too"));
}

// Runs say nothing of what no code reads: a structure's members that another of its kernels has.
TEST(Evidence, NothingIsAskedOfWhatNeitherKernelUses) {
  const Change more{"const int count)", "const int count, const int* spare, const int mode)"},
      told{R"({"Name": "count", "Dtype": "i32", "Value": "count"})",
           R"({"Name": "count", "Dtype": "i32", "Value": "count"},
      {"Name": "spare", "Dtype": "i32", "Direction": "in", "Count": "count", "Fill": {"Kind": "zero"}},
      {"Name": "mode", "Dtype": "i32", "Value": "5"})"};
  const auto unused = Judge()("scale", {more}, {told}, false, {more});
  ASSERT_TRUE(unused.ok()) << unused.error().sentence();
  EXPECT_TRUE(unused->accepted()) << findings(*unused);
  for (const std::string& sentence : check_of(*unused, "differential").evidence)
    EXPECT_THAT(sentence, testing::Not(testing::HasSubstr("also takes"))) << sentence;
  const Change used{"if (index < count) {", "if (index < count && mode != 6) {"};
  const auto raw_uses = Judge()("scale", {more, used, used}, {told}, false, {more, used});
  ASSERT_TRUE(raw_uses.ok()) << raw_uses.error().sentence();
  EXPECT_THAT(check_of(*raw_uses, "differential").evidence,
              testing::Contains(testing::HasSubstr("the raw kernel also takes 'mode' of ")));
  // A use that the template alone has is found by the same numbers.
  const auto template_uses = Judge()("scale", {more, used, used}, {told}, false, {more});
  ASSERT_TRUE(template_uses.ok()) << template_uses.error().sentence();
  EXPECT_FALSE(template_uses->accepted()) << findings(*template_uses);
}

TEST(Evidence, SaysThatBarriersAreCountedByArrivals) {
  const auto certificate = Judge()("handover");
  ASSERT_TRUE(certificate.ok()) << certificate.error().sentence();
  EXPECT_TRUE(certificate->accepted()) << findings(*certificate);
  EXPECT_THAT(check_of(*certificate, "differential").evidence,
              testing::Contains(testing::HasSubstr("counted by arrivals")));
}

TEST(Seed, DecidesEverything) {
  const auto first = Judge()("scale"), second = Judge()("scale");
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_EQ(first->checks.size(), second->checks.size());
  for (std::size_t i = 0; i < first->checks.size(); ++i) {
    EXPECT_EQ(first->checks[i].detail, second->checks[i].detail);
    EXPECT_EQ(first->checks[i].evidence, second->checks[i].evidence);
  }
}

TEST(RawKernel, ThatDoesNotCompileIsAnErrorAndNotAVerdict) {
  auto folder = TemporaryFolder::create("guard-test");
  ASSERT_TRUE(folder.ok());
  for (const char* part : {"_raw.cu", "_template.cu", ".json"}) {
    const auto text = read_file(fs::path(LATHE_TEST_DATA) / (std::string("scale") + part));
    ASSERT_TRUE(text.ok());
    const std::string broken = std::string_view(part) == "_raw.cu" ? "nonsense;\n" + *text : *text;
    ASSERT_TRUE(write_file(folder->path() / (std::string("scale") + part), broken).ok());
  }
  const auto spec = read_spec(folder->path() / "scale.json");
  ASSERT_TRUE(spec.ok());
  const auto certificate = judge(*spec, {});
  ASSERT_FALSE(certificate.ok());
  EXPECT_THAT(certificate.error().sentence(), testing::HasSubstr("scale_raw.cu does not compile"));
}

class Wrong : public testing::TestWithParam<Mistake> {};

TEST_P(Wrong, TemplateIsRefused) {
  const Mistake& mistake = GetParam();
  const auto certificate = Judge()(mistake.fixture, mistake.in_template, mistake.in_spec, true);
  ASSERT_TRUE(certificate.ok()) << certificate.error().sentence();
  EXPECT_FALSE(certificate->accepted()) << findings(*certificate);
  if (*mistake.check) {
    EXPECT_EQ(check_of(*certificate, mistake.check).verdict, Verdict::failed) << findings(*certificate);
  }
}

// Where the body of scale_kernel begins, and one item of it.
const std::string SCALE_BODY = "  if constexpr (ITEMS == 1) {\n";
const std::string ITEM =
    "const int index = (blockIdx.x * ITEMS + item) * BLOCK + threadIdx.x;\n      if (index < count)";

INSTANTIATE_TEST_SUITE_P(
    Mistakes, Wrong,
    testing::Values(
        // Sums that differ from order to order, of which not one addend may be missing.
        Mistake{"LosesTheLastAddend", "half_sums", {{"i < n", "i < n - 1"}}, {}, "differential"},
        Mistake{"LosesABlocksLastAddend",
                "half_sums",
                {{"i < n", "i < n && (BLOCK < 256 || threadIdx.x != 255)"}},
                {},
                ""},
        Mistake{"PartsForNodes",
                "parcels",
                {{"blockIdx.y) * nodes", "blockIdx.y) * (BLOCK == 64 ? parts : nodes)"}},
                {},
                ""},
        // A pointer that the program passes as null and others need not, and the reverse.
        Mistake{"NullIsRead", "band", {{"if (bias != nullptr)\n", "\n"}}, {NULL_BIAS}, "differential"},
        Mistake{"NullIsTakenForGranted",
                "band",
                {{"if (bias != nullptr)\n      result += bias[c];\n", ""}},
                {NULL_BIAS},
                ""},
        Mistake{"LeavesTheWeightOut", "half_sums", {{"__hmul(values[i], weights[i])", "values[i]"}}, {}, ""},
        Mistake{"SyntaxError", "scale", {{"float value", "float 1value"}}, {}, "well-formed"},
        Mistake{"BringsItsOwnFile",
                "scale",
                {{"#include <cuda_bf16.h>", "#include \"mine.h\""}},
                {},
                "well-formed"},
        Mistake{"LostRestrict", "scale", {{"T* __restrict__ out", "T* out"}}, {}, "interface"},
        Mistake{
            "OtherParameterType", "scale", {{"const int count", "const unsigned count"}}, {}, "interface"},
        Mistake{"UnusedKnob", "transpose", {{"TILE + PAD", "TILE + 1"}}, {}, "interface"},
        Mistake{"ReadsTheClock",
                "scale",
                {{SCALE_BODY, "  if (clock64() == 0) return;\n" + SCALE_BODY}},
                {},
                "effects"},
        Mistake{"ReadsTheClockBehindAFunctionArgument",
                "activate",
                {{"  if (index", "  if (clock64() == 0) return;\n  if (index"}},
                {},
                "effects"},
        Mistake{"Traps",
                "scale",
                {{SCALE_BODY, "  if (gridDim.x == 77777u) __trap();\n" + SCALE_BODY}},
                {},
                "effects"},
        Mistake{"Prints",
                "scale",
                {{SCALE_BODY, "  if (gridDim.x == 77777u) printf(\"x\");\n" + SCALE_BODY}},
                {},
                "effects"},
        Mistake{"KeepsState",
                "scale",
                {{"template <typename T", "__device__ int calls;\ntemplate <typename T"},
                 {SCALE_BODY, "  if (threadIdx.x == 0) ++calls;\n" + SCALE_BODY}},
                {},
                "effects"},
        Mistake{"WritesItsInput",
                "scale",
                {{"out[index] = static_cast<T>(factor * value);\n    }\n  }",
                  "out[index] = static_cast<T>(factor * value);\n      const_cast<T*>(in)[index] = "
                  "in[index];\n    }\n  }"}},
                {},
                ""},
        Mistake{"InlineAssembly",
                "scale",
                {{SCALE_BODY, "  asm volatile(\"membar.gl;\");\n" + SCALE_BODY}},
                {},
                "effects"},
        Mistake{"DropsTheBarrier", "row_norm", {{"  __syncthreads();\n", ""}}, {}, "differential"},
        Mistake{"DivergentBarrier",
                "row_norm",
                {{"  __syncthreads();\n", "  if (threadIdx.x < 32) __syncthreads();\n"}},
                {},
                ""},
        Mistake{"BarrierForSomeBlocks",
                "row_norm",
                {{"  __syncthreads();\n", "  if (BLOCK < 512) __syncthreads();\n"}},
                {},
                ""},
        Mistake{"TakesBeforeItIsBrought",
                "handover",
                {{"    return;\n  }\n  __syncthreads();\n", "    return;\n  }\n"}},
                {},
                ""},
        Mistake{
            "HalfAWarpWaits",
            "handover",
            {{"  __syncthreads();\n#pragma unroll UNROLL\n  for (int i = 0; i < 2; ++i)\n    out",
              "  if (lane < 16) __syncthreads();\n  __syncwarp();\n  for (int i = 0; i < 2; ++i)\n    out"}},
            {},
            ""},
        Mistake{"FenceDropped",
                "tickets",
                {{"    __threadfence();\n    float", "    float"}},
                {},
                "synchronisation"},
        Mistake{"FenceBeforeWhatItPublishes",
                "tickets",
                {{"    __stcg(&partial[row * PARTS + part], all);\n    __threadfence();\n",
                  "    __threadfence();\n    __stcg(&partial[row * PARTS + part], all);\n"}},
                {},
                "synchronisation"},
        Mistake{"ReadOnlyLoadOfWhatOthersWrite", "tickets", {{"__ldcg(", "__ldg("}}, {}, "effects"},
        Mistake{
            "FloatUnderAnotherName",
            "wide",
            {{"double sum = 0", "float running = 0"}, {"sum +=", "running +="}, {"(float)sum", "running"}},
            {},
            "precision"},
        Mistake{
            "NarrowCounterUnderAnotherName",
            "wide",
            {{"for (long long z = 0; z < depth; z += 1)", "for (int plane = 0; plane < depth; plane += 1)"},
             {"in[z *", "in[plane *"}},
            {},
            "precision"},
        Mistake{"QuotientInFloatingPoint",
                "wide",
                {{"i / width]", "(int)((float)i / (float)width)]"}},
                {},
                "precision"},
        Mistake{"QuotientByAReciprocal",
                "wide",
                {{"i / width]", "__umulhi((unsigned)i, 0xffffffffu / width + 1u)]"}},
                {},
                "precision"},
        Mistake{"BoundedByAMinimum", "wide", {{"z < depth;", "z < min(depth, 1ll << 20);"}}, {}, "literals"},
        Mistake{"CutBehindALongOffset",
                "scale",
                {{"if (index < count) {\n      const float value = static_cast<float>(in[index]);\n      "
                  "out[index]",
                  "if (index < count && !(blockIdx.x >> 20)) {\n      const float value = "
                  "static_cast<float>(in[index]);\n      out[index]"}},
                {},
                ""},
        Mistake{"CappedGrid",
                "row_norm",
                {},
                {{"\"Launch\": {\"Grid\": [\"rows\"", "\"Launch\": {\"Grid\": [\"min(rows, 65535)\""}},
                "resources"},
        Mistake{"NarrowShuffleMask", "row_norm", {{"0xffffffffu", "0x0000ffffu"}}, {}, "synchronisation"},
        Mistake{"ShortReduction", "row_norm", {{"int offset = 16", "int offset = 8"}}, {}, "differential"},
        Mistake{"OneWarpForgotten", "row_norm", {{"int warp = 0", "int warp = 1"}}, {}, "differential"},
        Mistake{"SharedTooSmall", "row_norm", {{"partial[BLOCK / 32];", "partial[BLOCK / 64];"}}, {}, ""},
        Mistake{
            "NoBound", "scale", {{ITEM, ITEM.substr(0, ITEM.find("if (index")) + "if (true)"}}, {}, "bounds"},
        Mistake{"WeakBound",
                "scale",
                {{ITEM, ITEM.substr(0, ITEM.find("if (index")) + "if (index <= count)"}},
                {},
                "differential"},
        Mistake{"StrongBound",
                "scale",
                {{ITEM, ITEM.substr(0, ITEM.find("if (index")) + "if (index < count - 1)"}},
                {},
                ""},
        Mistake{"SwappedBounds",
                "transpose",
                {{"first_row + r < rows && column < columns", "first_row + r < columns && column < rows"}},
                {},
                "differential"},
        Mistake{"HalfAccumulator",
                "row_norm",
                {{"float sum = 0.f", "__half sum = 0.f"}, {"// out", "#include <cuda_fp16.h>\n// out"}},
                {},
                ""},
        Mistake{
            "FastMath", "row_norm", {{"rsqrtf(total + eps)", "__frsqrt_rn(total + eps)"}}, {}, "precision"},
        Mistake{"HardCodedSize",
                "row_norm",
                {{"c < columns; c += BLOCK) {\n", "c < 1024; c += BLOCK) {\n"}},
                {},
                ""},
        Mistake{"OtherConstant",
                "scale",
                {{"static_cast<T>(factor * value);\n      }\n    }",
                  "static_cast<T>(factor * value * 1.0001f);\n      }\n    }"}},
                {},
                "literals"},
        Mistake{"AccumulatesOntoOldOutput",
                "scale",
                {{"out[index] = static_cast<T>(factor * value);\n      }",
                  "out[index] += static_cast<T>(factor * value);\n      }"}},
                {},
                ""},
        Mistake{"SkipsEveryOtherItem", "scale", {{"++item", "item += 2"}}, {}, "differential"},
        Mistake{"WrongItem",
                "scale",
                {{"(blockIdx.x * ITEMS + item) * BLOCK", "(blockIdx.x + item) * BLOCK"}},
                {},
                "differential"},
        Mistake{"LostLastBlock",
                "scale",
                {},
                {{"ceil_div(count, BLOCK * ITEMS)", "count / (BLOCK * ITEMS)"}},
                ""},
        Mistake{
            "HalfTheThreads", "scale", {}, {{"\"Block\": [\"BLOCK\"]", "\"Block\": [\"BLOCK / 2\"]"}}, ""},
        Mistake{"TooManyThreads",
                "transpose",
                {},
                {{"{\"Expression\": \"TILE * STEP <= device.max_threads_per_block\", \"Why\": \"threads of a "
                  "block\"}",
                  ""},
                 {"[4, 8, 16]", "[4, 8, 32]"}},
                ""},
        Mistake{"RaceInSharedMemory",
                "transpose",
                {{"tile[r][threadIdx.x] =", "tile[r][threadIdx.x / 2] ="}},
                {},
                "differential"},
        Mistake{
            "ReadsBeforeTheBarrier",
            "transpose",
            {{"  __syncthreads();\n", ""},
             {"  const int first_out_row",
              "  const float early = tile[threadIdx.x][0];\n  __syncthreads();\n  const int first_out_row"},
             {"= tile[threadIdx.x][r];", "= r == threadIdx.y && r == 0 ? early : tile[threadIdx.x][r];"}},
            {},
            "differential"}),
    [](const auto& test) { return std::string(test.param.name); });

} // namespace
} // namespace lathe::refactor
