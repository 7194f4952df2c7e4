// What CUPTI itself says about the metrics, for chips that this machine need not have.
#include "tuner/compile/compile.h"
#include "tuner/profile/profile.h"
#include "tuner/profile/range_profiler.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lathe {
namespace {

std::vector<std::filesystem::path> libraries() {
  const auto toolkit = find_cuda_toolkit();
  return RangeProfiler::library_candidates(toolkit.ok() ? toolkit->nvrtc : std::filesystem::path());
}

class Metrics : public testing::TestWithParam<const char*> {};

TEST_P(Metrics, TheMainOnesExist) {
  const auto supported = supported_metrics(libraries(), GetParam(), profile_metrics());
  if (!supported.ok() && supported.error().sentence().find("not found") != std::string::npos)
    GTEST_SKIP() << supported.error().sentence();
  ASSERT_TRUE(supported.ok()) << supported.error().sentence();
  for (const std::string& name : profile_metrics()) {
    const bool on_all_chips = name.find("imc_miss") == std::string::npos; // which newer ones do not count
    EXPECT_TRUE(!on_all_chips || std::find(supported->begin(), supported->end(), name) != supported->end())
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Metrics, testing::Values("GA100", "AD102", "GH100", "GB100"),
                         [](const auto& chip) { return std::string(chip.param); });

TEST(RangeProfiler, UnknownMetricsAreLeftOut) {
  const auto supported =
      supported_metrics(libraries(), "GH100", {"no__such_metric.sum", "gpu__time_duration.sum"});
  if (!supported.ok())
    GTEST_SKIP() << supported.error().sentence();
  EXPECT_EQ(*supported, std::vector<std::string>{"gpu__time_duration.sum"});
}

TEST(RangeProfiler, ErrorsAreSentences) {
  const auto missing = supported_metrics({"/no/such/libcupti.so.13"}, "GH100", {"gpu__time_duration.sum"});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().sentence().find("install CUPTI"), std::string::npos)
      << missing.error().sentence();
  const auto chip = supported_metrics(libraries(), "NOCHIP", {"gpu__time_duration.sum"});
  EXPECT_FALSE(chip.ok());
}

} // namespace
} // namespace lathe
