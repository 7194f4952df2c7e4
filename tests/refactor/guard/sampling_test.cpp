// Which configurations are looked at under every seed: knobs that the specification ties to each other meet
// at values far from their defaults, and what is wrong at one value alone is met at the ends and where the
// launch names the value.
#include "refactor/guard/knob_conditions.h"
#include "refactor/guard/subject.h"
#include "tuner/spec/spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

namespace lathe::refactor {
namespace {

std::int64_t knob_of(const Configuration& configuration, const std::string& name) {
  const auto& knobs = configuration.workload->spec->knobs;
  for (std::size_t k = 0; k < knobs.size(); ++k)
    if (knobs[k].name == name)
      if (const auto* number = std::get_if<std::int64_t>(&configuration.knobs[k]))
        return *number;
  ADD_FAILURE() << "no number " << name;
  return 0;
}

bool samples(const TuningSpec& spec, std::uint64_t seed, const std::string& knob, std::int64_t value) {
  const auto preparation = prepare(spec, {}, seed);
  if (!preparation) {
    ADD_FAILURE() << preparation.error().sentence();
    return false;
  }
  return std::ranges::any_of(preparation->subject->sampled, [&](const Configuration& configuration) {
    return knob_of(configuration, knob) == value;
  });
}

// KEEP = 0 makes LOAD_EARLY = 1 inadmissible, and with KEEP = 1 no round comes behind the first.
TEST(Sampling, KnobsOfOneConditionMeetFarFromTheirDefaults) {
  const auto spec = read_spec(std::filesystem::path(LATHE_SOURCE_DIR) / "search_spaces" / "rmsnorm.json");
  ASSERT_TRUE(spec.ok()) << spec.error().sentence();
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const GuardOptions options;
    const auto preparation = prepare(*spec, options, seed);
    ASSERT_TRUE(preparation.ok()) << preparation.error().sentence();
    const auto& sampled = preparation->subject->sampled;
    EXPECT_TRUE(std::ranges::any_of(sampled,
                                    [](const Configuration& configuration) {
                                      return knob_of(configuration, "LOAD_EARLY") == 1 &&
                                             knob_of(configuration, "KEEP") > 2;
                                    }))
        << "seed " << seed;
  }
}

// 17 values, and 8 samples.
TEST(Sampling, TheLargestValueIsLookedAt) {
  const auto spec = read_spec(std::filesystem::path(LATHE_SOURCE_DIR) / "search_spaces" /
                              "lightning_attention_decode.json");
  ASSERT_TRUE(spec.ok()) << spec.error().sentence();
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    EXPECT_TRUE(samples(*spec, seed, "BLOCK", 1024)) << "seed " << seed;
}

TEST(Sampling, AValueThatTheLaunchNamesIsLookedAt) {
  auto spec = read_spec(std::filesystem::path(LATHE_SOURCE_DIR) / "search_spaces" / "store_kv_cache.json");
  ASSERT_TRUE(spec.ok()) << spec.error().sentence();
  const auto shared = Expression::parse("BLOCK == 448 and length > 0 ? 16 : 0");
  ASSERT_TRUE(shared.ok()) << shared.error().sentence();
  spec->kernel.launch.shared_bytes = *shared;
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    EXPECT_TRUE(samples(*spec, seed, "BLOCK", 448)) << "seed " << seed;
}

// Three knobs of three values each: what is wrong for two of them together is run under every seed.
TEST(Sampling, EveryPairOfValuesIsRun) {
  const auto spec = read_spec(std::filesystem::path(LATHE_TEST_DATA) / "roll.json");
  ASSERT_TRUE(spec.ok()) << spec.error().sentence();
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const GuardOptions options;
    const auto preparation = prepare(*spec, options, seed);
    ASSERT_TRUE(preparation.ok()) << preparation.error().sentence();
    const JudgedPair& subject = *preparation->subject;
    std::set<std::array<std::int64_t, 4>> pairs;
    for (const auto* configurations : {&subject.defaults, &subject.sampled, &subject.swept})
      for (const Configuration& configuration : *configurations)
        for (std::int64_t a = 0; a < 3; ++a)
          for (std::int64_t b = 0; b < a; ++b)
            pairs.insert({a, knob_of(configuration, spec->knobs[static_cast<std::size_t>(a)].name), b,
                          knob_of(configuration, spec->knobs[static_cast<std::size_t>(b)].name)});
    EXPECT_EQ(pairs.size(), 27U) << "seed " << seed;
  }
}

// Nothing in them compares: a shift, a bit, a remainder.
TEST(Sampling, RemaindersOverKnobsAreConditions) {
  const auto spec = read_spec(std::filesystem::path(LATHE_TEST_DATA) / "roll.json");
  ASSERT_TRUE(spec.ok()) << spec.error().sentence();
  const auto has = [&](const std::string& text, const std::string& condition) {
    const KnobConditions conditions(text, *spec, {});
    const auto wanted = Expression::parse(condition);
    EXPECT_TRUE(wanted.ok()) << condition;
    for (std::size_t i = 0; wanted.ok() && i < conditions.size(); ++i)
      if (conditions[i] == *wanted)
        return true;
    return false;
  };
  EXPECT_TRUE(has("int x = ROWS >> 1;", "((ROWS) >> (1)) == 0"));
  EXPECT_TRUE(has("int x = BLOCK * VEC & 512;", "(BLOCK * VEC) % (2 * (512)) >= (512)"));
  EXPECT_TRUE(has("int x = BLOCK % 96;", "((BLOCK) % (96)) == 0"));
}

} // namespace
} // namespace lathe::refactor
