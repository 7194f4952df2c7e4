// Constants of which other constants are computed, which NVRTC takes only as constexpr.
#include "refactor/extract/extract.h"
#include "tests/refactor/extract/extraction.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ConstantInitialisers, RealNumbersThatOthersAreComputedFromAreConstexpr) {
  const auto source = parse_text(R"(
#define SCALE 8.f
static const float width = 2.f * SCALE;
static const float inverse = 1.f / width, half = width / 2;
const int cells = int(width) + 1;
__global__ void k(float* x) { x[threadIdx.x] *= inverse + half + cells; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("constexpr static const float width"));
  EXPECT_THAT(text, HasSubstr("constexpr static const float inverse"));
  EXPECT_THAT(text, HasSubstr("constexpr const int cells"));
  expect_compiles(text, "k");
}

TEST(ConstantInitialisers, OthersStayAsTheyAre) {
  const auto source = parse_text(R"(
const float plain = 2.f;
const int count = 4;
const int twice = 2 * count;
constexpr float fixed = 3.f;
const float more = fixed + 1.f;
__global__ void k(float* x) { x[threadIdx.x] *= plain + twice + more; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("const float plain"));
  EXPECT_THAT(text, Not(HasSubstr("constexpr const")));
  expect_compiles(text, "k");
}

} // namespace
} // namespace lathe::refactor
