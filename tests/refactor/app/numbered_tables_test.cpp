// What the numbers are that tables of pointers were made.
#include "refactor/app/numbered_tables.h"

#include "tests/refactor/app/raw_source.h"

#include <algorithm>
#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::HasSubstr;

const Argument& argument(const Subject& subject, const std::string& name) {
  return *std::ranges::find(subject.raw.arguments, name, &Argument::name);
}

constexpr const char* BATCHED = R"(
__global__ void k(float* const* out, const float* const* in, int batches, int columns) {
  const float* from = in[blockIdx.x];
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[blockIdx.x][i] = 2 * from[i];
}
void launch(float* const* out, const float* const* in, int batches, int columns) {
  k<<<batches, 128>>>(out, in, batches, columns);
}
)";

TEST(NumberedTables, EntriesAreThePiecesOfABuffer) {
  const auto subject = subject_of(BATCHED);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_THAT(subject->raw.dimensions, testing::UnorderedElementsAre("batches", "columns"));
  EXPECT_EQ(argument(*subject, "in_places").count.text(), "batches");
  EXPECT_EQ(argument(*subject, "in_places").fill.kind, Fill::Kind::permutation);
  EXPECT_EQ(argument(*subject, "in_pitch").value.text(), "16 * ceil_div((columns) * 4, 16)");
  EXPECT_THAT(argument(*subject, "out_elements").count.text(), HasSubstr("batches"));
  EXPECT_EQ(argument(*subject, "out_elements").direction, Direction::out);
  EXPECT_EQ(argument(*subject, "in_elements").direction, Direction::in);
  EXPECT_THAT(subject->notes, testing::Contains(HasSubstr("is passed as numbers")));
  EXPECT_THAT(subject->notes, testing::Not(testing::Contains(HasSubstr("in_elements has"))));
}

TEST(NumberedTables, APitchThatIsGivenStays) {
  const auto subject =
      subject_of(BATCHED, {"in_pitch=1024 * columns", "in_elements=256 * columns * batches"});
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(argument(*subject, "in_pitch").value.text(), "1024 * columns");
  EXPECT_EQ(argument(*subject, "in_elements").count.text(), "256 * columns * batches");
}

TEST(NumberedTables, ATableThatIsPassedOnIsNamed) {
  const auto subject = subject_of(R"(
__device__ float first(const float* const* in, int i) { return in[i][0]; }
__global__ void k(float* out, const float* const* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = first(in, i);
}
void launch(float* out, const float* const* in, int n) { k<<<(n + 127) / 128, 128>>>(out, in, n); }
)");
  ASSERT_FALSE(subject.ok());
  EXPECT_THAT(subject.error().sentence(), HasSubstr("parameter 'in' is a table of pointers"));
}

} // namespace
} // namespace lathe::refactor
