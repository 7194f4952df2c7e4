// Sizes that a program passes to its launchers.
#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* LAUNCHER = R"(
#include <cstdlib>
#define SIDE 4096
__global__ void k(float* x, int n, int m) { x[n % SIDE] = m; }
void launch(float* x, int n, int m) { k<<<(n + 255) / 256, 256>>>(x, n, m); }
template <class T> void launch_as(T* x, int n, int m) { k<<<(n + 127) / 128, 128>>>(x, n, m); }
)";

std::map<std::string, std::int64_t> sizes_with(const std::string& program) {
  const auto sites = launches(LAUNCHER + program);
  return sites.empty() ? std::map<std::string, std::int64_t>() : sites.front().fixed_sizes;
}

TEST(CallerSizes, AreConstantsAndVariablesThatStayOnes) {
  EXPECT_THAT(sizes_with("int main() { int n = SIDE; launch(nullptr, n, 3 * 100); }"),
              ElementsAre(Pair("m", 300), Pair("n", 4096)));
}

TEST(CallerSizes, AreTheLargestOfSeveralCalls) {
  EXPECT_THAT(sizes_with("int main() { launch(nullptr, 5000, 7); launch(nullptr, 800, 9); }"),
              ElementsAre(Pair("m", 9), Pair("n", 5000)));
}

TEST(CallerSizes, AreNoneOfWhatIsChangedOrComesFromElsewhere) {
  EXPECT_THAT(sizes_with("int main(int c, char** v) { int n = 5000, m = 8; m += c; launch(nullptr, n, m); }"),
              ElementsAre(Pair("n", 5000)));
  EXPECT_THAT(
      sizes_with("int main(int c, char** v) { launch(nullptr, 5000, 8); launch(nullptr, atoi(v[1]), 8); }"),
      ElementsAre(Pair("m", 8)));
  EXPECT_THAT(sizes_with(""), IsEmpty());
}

TEST(CallerSizes, ReachTemplates) {
  const auto sites = launches(std::string(LAUNCHER) + "int main() { launch_as<float>(nullptr, 6000, 2); }");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[1].fixed_sizes, ElementsAre(Pair("m", 2), Pair("n", 6000)));
}

} // namespace
} // namespace lathe::refactor
