// Which configurations are looked at: knobs that the specification ties to each other meet at values far from
// their defaults under every seed.
#include "refactor/guard/subject.h"
#include "tuner/spec/spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

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

} // namespace
} // namespace lathe::refactor
