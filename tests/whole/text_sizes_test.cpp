// Kernels whose own text fixes sizes at which no run is affordable: judged with smaller numbers in their
// place.
#include "tests/whole/command.h"

#include <nlohmann/json.hpp>

namespace lathe {
namespace {

using Json = nlohmann::json;

// 16 million threads whatever it is told: one run of it would be possible, and would say little.
constexpr const char* UPDATE = R"(
#define SIDE 4096
__global__ void update(float* a, int n, int k) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  const int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i > k && j > k && i < SIDE && j < SIDE)
    a[i * SIDE + j] = a[i * SIDE + j] - a[i * SIDE + k] * a[k * SIDE + j];
}
void launch(float* a, int k) {
  dim3 block(32, 8), grid((SIDE + 31) / 32, (SIDE + 7) / 8);
  update<<<grid, block>>>(a, SIDE, k);
}
)";

// Too much work to end.
constexpr const char* SQUARE = R"(
#define SIDE 4096
__global__ void square(float* c, const float* a) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  const int i = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0.f;
  for (int k = 0; k < SIDE; ++k)
    sum += a[i * SIDE + k] * a[j * SIDE + k];
  c[i * SIDE + j] = sum;
}
void launch(float* c, const float* a) {
  dim3 block(32, 8), grid(SIDE / 32, SIDE / 8);
  square<<<grid, block>>>(c, a);
}
)";

class TextSizes : public CommandTest {
protected:
  void is_judged_at_smaller_sizes(const std::string& kernel, const std::string& text,
                                  const std::vector<std::string>& options = {}) {
    write(kernel + ".cu", text);
    std::vector<std::string> arguments{"templatize", kernel + ".cu", "--kernel",
                                       kernel,       "--rules",      "launch-bounds"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto made = lathe(arguments);
    ASSERT_EQ(made.exit_code, 0) << made.errors << made.output;
    const Json spec = Json::parse(*read_file(folder() / ("search_spaces/" + kernel + ".json")));
    const Json sizes = spec["Lathe"]["TextSizes"];
    ASSERT_EQ(sizes.size(), 1u) << spec["Lathe"];
    EXPECT_EQ(sizes[0]["Value"], 4096);
    for (const Json& trial : sizes[0]["Trials"])
      EXPECT_LE(trial, 512);
  }
};

TEST_F(TextSizes, ALaunchThatIsTooLargeIsTheLastResort) {
  is_judged_at_smaller_sizes("update", UPDATE, {"--problem", "k=7"});
}

TEST_F(TextSizes, ARunThatDoesNotEndIsMadeWithSmallerNumbers) {
  is_judged_at_smaller_sizes("square", SQUARE);
}

} // namespace
} // namespace lathe
