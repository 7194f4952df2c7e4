// Variables in constant memory, which the host writes: what stands in them where nobody does.
#include "refactor/extract/extract.h"
#include "tests/refactor/extract/extraction.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(ConstantMemory, HasNumbersThatAreNotZero) {
  const auto source = parse_text(R"(
struct Box { float low[2]; int cells; bool closed; float* data; };
__constant__ float weights[3];
__constant__ int width, height = 7;
__constant__ Box box;
__global__ void k(float* x) {
  x[threadIdx.x] *= weights[threadIdx.x % 3] * (width + height) + (box.closed ? box.low[0] / box.cells : 0.f);
}
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("weights[3] = {1.0f, 1.25f, 0.5f};"));
  EXPECT_THAT(text, HasSubstr("width = 3, height = 7;"));
  EXPECT_THAT(text, HasSubstr("box = {{1.0f, 1.25f}, 1, true, {}};"));
  expect_compiles(text, "k");
}

TEST(ConstantMemory, IsToldAmongWhatLatheSupplies) {
  const auto source = parse_text("__constant__ float scale;\n"
                                 "__global__ void k(float* x) { x[threadIdx.x] *= scale; }\n");
  ASSERT_TRUE(source);
  const auto kernel = find_kernel(*source, "k");
  ASSERT_TRUE(kernel.ok());
  const auto extracted = extract_kernel(*source, *kernel);
  ASSERT_TRUE(extracted.ok());
  EXPECT_THAT(extracted->stand_ins, Contains(HasSubstr("numbers for scale")));
}

TEST(ConstantMemory, VariablesOfOtherKindsStayAsTheyAre) {
  const auto source = parse_text(R"(
struct Made { float value; __host__ __device__ constexpr Made() : value(2) {} };
union Either { float real; int whole; };
__constant__ Made made;
__constant__ Either either;
__constant__ float* where;
__device__ float total;
__global__ void k(float* x) { x[0] = made.value + either.real + total + (where ? 1 : 0); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("Made made;"));
  EXPECT_THAT(text, HasSubstr("Either either;"));
  EXPECT_THAT(text, HasSubstr("where;"));
  EXPECT_THAT(text, HasSubstr("__device__ float total;"));
}

TEST(ConstantMemory, LongTablesHaveNumbersInFront) {
  const auto source = parse_text("__constant__ float table[2000];\n"
                                 "__global__ void k(float* x) { x[threadIdx.x] *= table[threadIdx.x]; }\n");
  const std::string text = extract(source.get(), "k");
  EXPECT_EQ(std::count(text.begin(), text.end(), ','), 1023);
  expect_compiles(text, "k");
}

} // namespace
} // namespace lathe::refactor
