// What a kernel's buffers hold where nobody says it: null pointers, offsets, places.
#include "tests/refactor/app/raw_source.h"

#include <algorithm>
#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::HasSubstr;

const Argument& argument_of(const Subject& subject, const std::string& name) {
  return *std::ranges::find(subject.raw.arguments, name, &Argument::name);
}

// Where nothing is quantised, the other result is written.
constexpr const char* QUANTISED = R"(
__global__ void k(float* out, signed char* quantised, const float* in, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  if (quantised)
    quantised[i] = in[i] > 0 ? 1 : 0;
  else
    out[i] = in[i] * 2;
}
void launch(float* out, const float* in, int n) {
  k<<<(n + 127) / 128, 128>>>(out, nullptr, in, n);
}
)";

TEST(NullPointers, BuffersHaveRoomEitherWay) {
  const auto subject = subject_of(QUANTISED);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_TRUE(argument_of(*subject, "quantised").is_null);
  EXPECT_FALSE(argument_of(*subject, "out").is_null);
  EXPECT_EQ(argument_of(*subject, "out").count.text(), "n");
  EXPECT_EQ(argument_of(*subject, "quantised").count.text(), "n");
  EXPECT_EQ(argument_of(*subject, "out").direction, Direction::out);
  EXPECT_THAT(subject->notes, Contains(HasSubstr("quantised is a null pointer, as the launcher passes it")));
}

TEST(NullPointers, AreTheUsersToSay) {
  const auto given = subject_of(QUANTISED, {"quantised=n"});
  ASSERT_TRUE(given.ok()) << given.error().sentence();
  EXPECT_FALSE(argument_of(*given, "quantised").is_null);
  const auto null = subject_of(QUANTISED, {"quantised=null"});
  ASSERT_TRUE(null.ok()) << null.error().sentence();
  EXPECT_TRUE(argument_of(*null, "quantised").is_null);
  const auto number = subject_of(QUANTISED, {"n=null"});
  ASSERT_FALSE(number.ok());
  EXPECT_THAT(number.error().sentence(), HasSubstr("cannot pass null for n"));
}

// What would lie there is of no interest: neither of what is used where it is null, nor of what is not used.
TEST(NullPointers, MayPointToAnything) {
  const std::string text = R"(
struct Nobody;
__global__ void k(float* out, const Nobody* first, Nobody* const told, const float* in, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n)
    out[i] = in[i] + (first ? 1.f : 0.f);
}
void launch(float* out, const float* in, Nobody* told, int n) {
  k<<<(n + 127) / 128, 128>>>(out, )";
  const auto subject = subject_of(text + "nullptr, told, in, n);\n}\n");
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_TRUE(argument_of(*subject, "first").is_null);
  EXPECT_TRUE(argument_of(*subject, "told").is_null);
  EXPECT_THAT(subject->notes, Contains(HasSubstr("told is a null pointer, as the kernel does not use it")));
  const auto said = subject_of(text + "nullptr, told, in, n);\n}\n", {"told=n"});
  ASSERT_TRUE(said.ok()) << said.error().sentence();
  EXPECT_FALSE(argument_of(*said, "told").is_null);
  const auto used = subject_of(text + "told, told, in, n);\n}\n");
  ASSERT_FALSE(used.ok());
  EXPECT_THAT(used.error().sentence(), HasSubstr("--argument first=null"));
}

// PyTorch's device assertions.
TEST(NullPointers, OfParametersThatAMacroAdds) {
  const auto subject = subject_of(R"(
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDADeviceAssertion.h>
__global__ void k(float* out, const float* in, int n, TORCH_DSA_KERNEL_ARGS) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  CUDA_KERNEL_ASSERT2(n > 0);
  if (i < n)
    out[i] = in[i] * 2;
}
void launch(float* out, const float* in, int n) {
  TORCH_DSA_KERNEL_LAUNCH(k, (n + 127) / 128, 128, 0, at::cuda::getCurrentCUDAStream(), out, in, n);
}
)");
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_TRUE(argument_of(*subject, "assertions_data").is_null);
  EXPECT_EQ(argument_of(*subject, "out").count.text(), "n");
}

// The ranges are read through a class, in which nothing shows what they are.
TEST(Offsets, AreTriedWhereNothingIsWritten) {
  const auto subject = subject_of(R"(
struct View {
  const int* data;
  int stride;
  __device__ int operator[](int i) const { return data[i * stride]; }
};
__global__ void k(float* out, const float* in, View starts, int rows) {
  const int row = blockIdx.x;
  const int length = starts[row + 1] - starts[row];
  for (int i = threadIdx.x; i < length; i += blockDim.x)
    out[starts[row] + i] = in[starts[row] + i];
}
void launch(float* out, const float* in, View starts, int rows) {
  k<<<rows, 64>>>(out, in, starts, rows);
}
)");
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(argument_of(*subject, "starts_data").fill.kind, Fill::Kind::offsets);
  EXPECT_THAT(argument_of(*subject, "in").count.text(), HasSubstr("rows"));
  EXPECT_FALSE(subject->writes_nothing);
}

// Two types of one array of one name are no source.
TEST(SharedMemory, OfATemplatesTypeHasOneType) {
  const auto subject = subject_of(R"(
template <class T> __global__ void k(T* out, const T* in, int n) {
  extern __shared__ T row[];
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    row[i] = in[blockIdx.x * n + i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[blockIdx.x * n + i] = row[n - 1 - i];
}
template <class T> void launch(T* out, const T* in, int rows, int n) {
  k<T><<<rows, 64, n * sizeof(T)>>>(out, in, n);
}
)");
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  ASSERT_EQ(subject->raw.types.size(), 1u);
  EXPECT_EQ(subject->raw.types[0].dtypes.size(), 1u);
  EXPECT_THAT(subject->notes, Contains(HasSubstr("its dynamic shared memory is declared as T")));
}

} // namespace
} // namespace lathe::refactor
