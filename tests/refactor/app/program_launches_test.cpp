// The launches that a program has besides the one that is templatized: which of them are choices.
#include "refactor/app/program_launches.h"
#include "tests/refactor/app/raw_source.h"

#include <gmock/gmock.h>
#include <regex>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<ProgramLaunch> launches_of(const std::string& text, const LaunchOverride& launch = {}) {
  ParseOptions options;
  options.overlay["/lathe/k.cu"] = text;
  const auto source = ParsedSource::parse("/lathe/k.cu", options);
  EXPECT_TRUE(source.ok()) << source.error().sentence();
  const auto kernel = find_kernel(**source, "k");
  EXPECT_TRUE(kernel.ok()) << kernel.error().sentence();
  const auto extracted = extract_kernel(**source, *kernel);
  EXPECT_TRUE(extracted.ok()) << extracted.error().sentence();
  const auto raw = make_raw_candidate(*kernel, *extracted, {}, launch, "sm_90");
  EXPECT_TRUE(raw.ok()) << raw.error().sentence();
  return program_launches(*kernel, *extracted, {}, launch, "sm_90", *raw);
}

std::vector<std::string> instances(const std::vector<ProgramLaunch>& launches) {
  std::vector<std::string> all;
  for (const ProgramLaunch& launch : launches) {
    std::string text;
    for (const std::string& argument : launch.template_arguments)
      text += (text.empty() ? "" : ", ") + argument;
    all.push_back(text);
  }
  return all;
}

std::vector<std::string> needs(const ProgramLaunch& launch) {
  std::vector<std::string> all;
  for (const Expression& need : launch.needs)
    all.push_back(need.text());
  return all;
}

// Rows by how many there are, columns by what divides them.
constexpr const char* TILES = R"(
template <int ROWS, int COLUMNS> __global__ void k(float* out, const float* in, int n, int d) {
  const int row = blockIdx.y * ROWS, column = blockIdx.x * COLUMNS;
  for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x)
    if (row + i / COLUMNS < n)
      out[(row + i / COLUMNS) * d + column + i % COLUMNS] = in[(row + i / COLUMNS) * d + column + i % COLUMNS];
}
void launch(float* out, const float* in, int n, int d) {
  if (n > 256)
    k<128, 64><<<dim3(d / 64, (n + 127) / 128), 256>>>(out, in, n, d);
  else if (d % 128 == 0)
    k<16, 128><<<dim3(d / 128, (n + 15) / 16), 128>>>(out, in, n, d);
  else
    k<16, 64><<<dim3(d / 64, (n + 15) / 16), 128>>>(out, in, n, d);
}
)";

TEST(ProgramLaunches, WhatOnlyChoosesIsNoNeed) {
  LaunchOverride first;
  first.site = 1;
  const auto launches = launches_of(TILES, first);
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_THAT(instances(launches), ElementsAre("128, 64", "16, 128", "16, 64"));
  EXPECT_EQ(launches[0].where, "k.cu:10");
  EXPECT_EQ(launches[1].launch.block[0].text(), "128");
  EXPECT_THAT(needs(launches[1]), ElementsAre("d % 128 == 0")); // not n <= 256: the grid follows n
  EXPECT_THAT(needs(launches[2]), IsEmpty());
}

TEST(ProgramLaunches, TheOneThatIsTakenComesFirst) {
  LaunchOverride last;
  last.site = 3;
  EXPECT_THAT(instances(launches_of(TILES, last)), ElementsAre("16, 64", "128, 64"));
  // 16, 128 is for multiples of 128 alone, which the last launch never sees.
}

TEST(ProgramLaunches, ASizeThatOneBlockHoldsIsALimit) {
  const std::string rows = R"(
template <int WIDTH> __global__ void k(float* out, const float* in, int d) {
  if (threadIdx.x * WIDTH < d)
    for (int i = 0; i < WIDTH; ++i)
      out[blockIdx.x * d + threadIdx.x * WIDTH + i] = in[blockIdx.x * d + threadIdx.x * WIDTH + i];
}
void launch(float* out, const float* in, int n, int d) {
  if (d <= 1024)
    k<1><<<n, 1024>>>(out, in, d);
  else if (d <= 4096)
    k<4><<<n, 1024>>>(out, in, d);
}
)";
  LaunchOverride narrow, wide;
  narrow.site = 1;
  wide.site = 2;
  const auto launches = launches_of(rows, narrow);
  ASSERT_EQ(launches.size(), 2u); // four times as wide holds all of it too
  EXPECT_THAT(needs(launches[1]), ElementsAre("d <= 4096"));
  EXPECT_THAT(launches_of(rows, wide), IsEmpty()); // beyond 1024 the other one is too narrow
}

TEST(ProgramLaunches, InstancesOfALauncherThatIsATemplate) {
  const auto launches = launches_of(R"(
template <int THREADS, int EACH> __global__ void k(float* out, const float* in, int n) {
  for (int i = 0; i < EACH; ++i) {
    const int at = (blockIdx.x * EACH + i) * THREADS + threadIdx.x;
    if (at < n) out[at] = in[at];
  }
}
template <int EACH> void launch(float* out, const float* in, int n) {
  k<256, EACH><<<(n + 256 * EACH - 1) / (256 * EACH), 256>>>(out, in, n);
}
void choose(float* out, const float* in, int n) {
  if (n > 1000000) launch<8>(out, in, n);
  else if (n > 10000) launch<2>(out, in, n);
  else launch<1>(out, in, n);
}
)");
  EXPECT_THAT(instances(launches), testing::UnorderedElementsAre("256, 8", "256, 2", "256, 1"));
}

TEST(ProgramLaunches, OtherArgumentsAndSwitchesAreNoChoice) {
  const std::string two = R"(
template <bool TWICE, int THREADS> __global__ void k(float* out, const float* in, int n, int first) {
  const int i = first + blockIdx.x * THREADS + threadIdx.x;
  if (i < n) out[i] = (TWICE ? 2 : 1) * in[i];
}
void launch(float* out, const float* in, int n, bool twice) {
  if (twice) k<true, 128><<<(n + 127) / 128, 128>>>(out, in, n, 0);
  else k<true, 256><<<(n + 255) / 256, 256>>>(out, in, n, OTHER);
}
)";
  // Reached where a flag is not set, which is no size.
  EXPECT_THAT(launches_of(std::regex_replace(two, std::regex("OTHER"), "0")), IsEmpty());
  const std::string by_size = std::regex_replace(two, std::regex("if \\(twice\\)"), "if (n > 4096)");
  EXPECT_THAT(instances(launches_of(std::regex_replace(by_size, std::regex("OTHER"), "0"))),
              testing::UnorderedElementsAre("true, 128", "true, 256"));
  EXPECT_THAT(launches_of(std::regex_replace(by_size, std::regex("OTHER"), "n / 2")), IsEmpty());
}

TEST(ProgramLaunches, NoneWhereTheLaunchIsGiven) {
  LaunchOverride given;
  given.grid = "n";
  given.block = "256";
  EXPECT_THAT(launches_of(TILES, given), IsEmpty());
}

} // namespace
} // namespace lathe::refactor
