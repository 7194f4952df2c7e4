// The generator of wrong templates, and the judge of what becomes of them: a mutant that is the original in
// other words is told from one that was missed.
#include "refactor/guard/mutants.h"

#include "tuner/base/files.h"
#include "tuner/spec/spec.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

namespace lathe::refactor {
namespace {

using Fate = MutantVerdict::Fate;

class Mutants : public testing::Test {
protected:
  void SetUp() override {
    auto spec = read_spec(std::filesystem::path(LATHE_TEST_DATA) / "scale.json");
    ASSERT_TRUE(spec.ok()) << spec.error().sentence();
    spec_ = std::move(*spec);
    auto text = read_file(spec_.kernel.file);
    ASSERT_TRUE(text.ok()) << text.error().sentence();
    text_ = std::move(*text);
  }

  Mutant with(const std::string& from, const std::string& to, bool shown_by_runs = true) {
    Mutant mutant{"by-hand", from + " -> " + to, text_, spec_, shown_by_runs};
    EXPECT_NE(mutant.text.find(from), std::string::npos) << from;
    for (std::size_t at = mutant.text.find(from); at != std::string::npos;
         at = mutant.text.find(from, at + to.size()))
      mutant.text.replace(at, from.size(), to);
    return mutant;
  }
  Mutant with_one_block_more(bool shown_by_runs) {
    Mutant mutant{"by-hand", "one block more", text_, spec_, shown_by_runs};
    Expression& grid = mutant.spec.kernel.launch.grid[0];
    auto longer = Expression::parse("(" + grid.text() + ") + 1", grid.dialect());
    EXPECT_TRUE(longer.ok());
    grid = std::move(*longer);
    return mutant;
  }
  MutantVerdict judged(const Mutant& mutant) {
    GuardOptions options;
    options.seed = 11;
    auto judge = MutantJudge::create(spec_, options);
    EXPECT_TRUE(judge.ok());
    auto verdict = judge->judge(mutant);
    EXPECT_TRUE(verdict.ok()) << verdict.error().sentence();
    return verdict.ok() ? *verdict : MutantVerdict{};
  }

  TuningSpec spec_;
  std::string text_;
};

TEST_F(Mutants, AreOfManyKindsAndTheSeedDecidesWhich) {
  const std::vector<std::string> kinds = mutation_kinds();
  EXPECT_EQ(std::set<std::string>(kinds.begin(), kinds.end()).size(), kinds.size());
  EXPECT_GE(kinds.size(), 25u);
  const auto describe = [&](std::uint64_t seed) {
    std::vector<std::string> all;
    for (const Mutant& mutant : make_mutants(spec_, text_, seed, 20))
      all.push_back(mutant.kind + " " + mutant.description);
    return all;
  };
  EXPECT_EQ(describe(3).size(), 20u);
  EXPECT_EQ(describe(3), describe(3));
  EXPECT_NE(describe(3), describe(4));
}

TEST_F(Mutants, ExchangeWhatLooksAlike) {
  const std::string text =
      "template <int N>\n__global__ void scale_kernel(float* out, const float* in, int wide, int high) {\n"
      "  int i = threadIdx.x * wide / high;\n"
      "  for (int j = 0; j < high; ++j) {\n"
      "    if (j == 3)\n"
      "      continue;\n"
      "    i = i + j;\n"
      "    out[i] = in[j] > 0.f ? in[j] : max(in[j], -1.f);\n"
      "  }\n"
      "}\n";
  std::map<std::string, std::string> texts;
  for (const Mutant& mutant : make_mutants(spec_, text, 1, 1000))
    texts[mutant.kind] += mutant.text;
  EXPECT_THAT(texts["other-size"], testing::HasSubstr("j < wide;"));
  EXPECT_THAT(texts["other-end"], testing::HasSubstr("break;"));
  EXPECT_THAT(texts["swap-choice"], testing::HasSubstr("> 0.f ? max(in[j], -1.f) : in[j];"));
  EXPECT_THAT(texts["drop-choice"], testing::HasSubstr("> 0.f ? in[j] : in[j];"));
  EXPECT_THAT(texts["drop-assignment"], testing::HasSubstr("continue;\n    ;\n"));
  EXPECT_THAT(texts["lose-sign"], testing::HasSubstr("unsigned i = "));
  EXPECT_THAT(texts["divide-first"], testing::HasSubstr("threadIdx.x / high * wide;"));
}

TEST_F(Mutants, RoundToATypeThatLosesSomething) {
  // The kernel stores 16-bit types: rounded to one of them a value that was read from memory stays as it is.
  const auto rounded = [&] {
    std::string texts;
    for (const Mutant& mutant : make_mutants(spec_, text_, 1, 1000))
      if (mutant.kind == "round-on-the-way")
        texts += mutant.text;
    return texts;
  };
  spec_.types[0].dtypes = {"f32"};
  EXPECT_THAT(rounded(), testing::HasSubstr("__float2half("));
  spec_.types[0].dtypes = {"f16"};
  EXPECT_THAT(rounded(), testing::HasSubstr("__float2bfloat16("));
  spec_.types[0].dtypes = {"f32", "f16", "bf16"};
  EXPECT_THAT(rounded(), testing::HasSubstr("__nv_fp8_e5m2("));
}

// Beside a float, and behind a pragma.
TEST_F(Mutants, OfNarrowVariablesAndLostLoopsCompile) {
  std::set<std::string> seen;
  for (const Mutant& mutant : make_mutants(spec_, text_, 1, 1000))
    if ((mutant.kind == "narrow-accumulator" || mutant.kind == "drop-loop") &&
        seen.insert(mutant.kind).second) {
      const MutantVerdict verdict = judged(mutant);
      EXPECT_EQ(verdict.fate, Fate::refused) << verdict.detail;
    }
  EXPECT_EQ(seen.size(), 2u);
}

TEST_F(Mutants, ThatAreWrongAreRefusedOrBroken) {
  EXPECT_EQ(judged(with("factor * value", "factor + value")).fate, Fate::refused);
  EXPECT_EQ(judged(with("factor * value", "factor value")).fate, Fate::broken);
}

TEST_F(Mutants, WithTheOriginalsMachineCodeAreEquivalent) {
  EXPECT_EQ(judged(with("factor * value", "value * factor")).fate, Fate::equivalent);
  // Another instruction, unless the block's size is known.
  EXPECT_EQ(judged(with("item) * BLOCK", "item) * blockDim.x")).fate, Fate::equivalent);
  // Other registers.
  EXPECT_EQ(judged(with("void scale_kernel", "void __launch_bounds__(1024, 2) scale_kernel")).fate,
            Fate::equivalent);
}

TEST_F(Mutants, ThatNoRunTellsApartAreAlikeWhereRunsWouldShowThem) {
  const MutantVerdict alike = judged(with_one_block_more(true));
  EXPECT_EQ(alike.fate, Fate::alike) << alike.check << " " << alike.detail;
  const MutantVerdict survived = judged(with_one_block_more(false));
  EXPECT_EQ(survived.fate, Fate::survived);
  EXPECT_THAT(survived.detail, testing::HasSubstr("no run shows"));
}

} // namespace
} // namespace lathe::refactor
