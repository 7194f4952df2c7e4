// Sizes that a kernel is handed and does nothing with.
#include "tests/refactor/app/raw_source.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// `used` of fourteen integers are read, `launched` is the launch's, the others are other kernels'.
constexpr const char* MANY = R"(
__global__ void k(float* x, int used, int launched, int n0, int n1, int n2, int n3, int n4, int n5, int n6, int n7,
                  int n8, int n9, int n10, int n11) {
  const int all[] = {n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11};
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < used) x[i] += all[3];
}
void launch(float* x, int used, int launched, int n0, int n1, int n2, int n3, int n4, int n5, int n6, int n7,
            int n8, int n9, int n10, int n11) {
  k<<<dim3((used + 127) / 128, launched), 128>>>(x, used, launched, n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11);
}
)";

TEST(UnusedSizes, AreNoDimensions) {
  const auto raw = raw_of(MANY);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.dimensions, UnorderedElementsAre("used", "launched", "n3"));
  EXPECT_EQ(raw->candidate.arguments[3].value.text(), "1");
  EXPECT_THAT(raw->assumptions, Contains(HasSubstr("n0, n1, n2, n4, n5, n6, n7, n8, n9, n10, n11 = 1")));
}

TEST(UnusedSizes, NorHaveBuffersTheirs) {
  std::string text = MANY;
  for (std::size_t at = 0; (at = text.find("float* x,", at)) != std::string::npos; at += 9)
    text.replace(at, 9, "float* x, float* idle, const int* map,");
  text.replace(text.find("(x, used"), 8, "(x, idle, map, used");
  text.replace(text.find("x[i] +="), 7, "x[map[i]] +=");
  const auto raw = raw_of(text);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.arguments[0].count.text(), "0");
  EXPECT_EQ(raw->candidate.arguments[1].count.text(), "1");
  EXPECT_EQ(raw->candidate.arguments[2].count.text(), "0");
  EXPECT_THAT(raw->assumptions, Contains(HasSubstr("idle of one element: the kernel does nothing with it")));
}

TEST(UnusedSizes, WhatIsGivenStays) {
  WorkloadFacts facts;
  facts.arguments["n5"].value = "used";
  const auto raw = raw_of(MANY, {}, facts);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.arguments[8].value.text(), "used");
}

} // namespace
} // namespace lathe::refactor
