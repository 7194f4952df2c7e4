#include "tuner/search/bandit.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace lathe::search {
namespace {

TEST(Bandit, ConvergesToTheOnlyArmThatImproves) {
  Bandit bandit(3);
  std::array<int, 3> uses{};
  for (int i = 0; i < 6000; ++i) {
    const std::size_t arm = bandit.ranking().front();
    ++uses[arm];
    bandit.begin(arm);
    bandit.report(arm, arm == 1);
  }
  EXPECT_GT(uses[1], 5800);
  EXPECT_GT(uses[0], 0);
  EXPECT_GT(uses[2], 0);
}

// The constant-time update against the sum in the definition.
TEST(Bandit, AreaUnderCurveMatchesItsDefinition) {
  constexpr std::size_t window = 20;
  Bandit bandit(2, {0.05, window});
  std::vector<std::pair<std::size_t, bool>> uses;
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    uses.emplace_back(random() % 2, random() % 3 == 0);
    bandit.report(uses.back().first, uses.back().second);
    if (uses.size() > window)
      uses.erase(uses.begin());
    for (std::size_t arm = 0; arm < 2; ++arm) {
      double n = 0, sum = 0;
      for (const auto& [user, hit] : uses)
        if (user == arm) {
          ++n;
          sum += hit ? n : 0;
        }
      EXPECT_NEAR(bandit.area_under_curve(arm), n > 0 ? 2 * sum / (n * (n + 1)) : 0, 1e-12);
      if (n > 0) {
        EXPECT_NEAR(bandit.score(arm),
                    2 * sum / (n * (n + 1)) +
                        0.05 * std::sqrt(2 * std::log2(static_cast<double>(uses.size())) / n),
                    1e-12);
      }
    }
  }
}

TEST(Bandit, PendingUsesCountAsUses) {
  Bandit bandit(2);
  bandit.begin(0);
  EXPECT_EQ(bandit.ranking().front(), 1u);
  bandit.begin(1);
  bandit.begin(1);
  EXPECT_EQ(bandit.ranking().front(), 0u);
}

} // namespace
} // namespace lathe::search
