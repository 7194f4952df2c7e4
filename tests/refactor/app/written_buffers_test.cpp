// What a kernel's text writes, whatever its runs do.
#include "refactor/app/written_buffers.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Candidate candidate() {
  Candidate raw;
  raw.text = R"(
__device__ void raise(int* counter) { atomicAdd(counter, 1); }
__global__ void k(float* sorted, float* unchanged, const float* limits, int* counter, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n && sorted[i] > sorted[i + 1] + unchanged[i] + limits[i]) {
    sorted[i] = sorted[i + 1];
    raise(counter);
  }
}
)";
  raw.kernel = raw.instance = "k";
  for (const char* name : {"sorted", "unchanged", "limits", "counter"}) {
    Argument buffer;
    buffer.name = name;
    buffer.dtype = buffer.name == "counter" ? "i32" : "f32";
    buffer.direction = Direction::in;
    raw.arguments.push_back(buffer);
  }
  return raw;
}

std::vector<std::string> written(const Candidate& raw) {
  std::vector<std::string> names;
  for (const Argument& argument : raw.arguments)
    if (argument.direction != Direction::in)
      names.push_back(argument.name);
  return names;
}

TEST(WrittenBuffers, WhatTheTextStoresToIsNoInputAlone) {
  Candidate raw = candidate();
  std::vector<std::string> notes;
  mark_written(raw, {}, {}, notes);
  EXPECT_THAT(written(raw), ElementsAre("sorted", "counter"));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("sorted is read and written"), HasSubstr("counter")));
}

TEST(WrittenBuffers, ElementsAreHandedToFunctionsThatMayChangeThem) {
  Candidate raw = candidate();
  raw.text = R"(
template <class T> __device__ void exchange(T& a, T& b) { T held = a; a = b; b = held; }
template <class T> __device__ T larger(T a, const T& b) { return a < b ? b : a; }
struct Pair { float key; float value; };
__device__ void reset(float& key) { key = 0; }
template <class T> __global__ void of_any(T* sorted, T* unchanged, const T* limits, T* counter, int n) {
  if (sorted[threadIdx.x] > larger(unchanged[threadIdx.x], unchanged[0]))
    exchange(sorted[threadIdx.x], *(sorted + n));
}
__global__ void k(float* sorted, float* unchanged, const float* limits, Pair* counter, int n) {
  if (larger(unchanged[threadIdx.x], limits[0]) > 0) {
    exchange(sorted[threadIdx.x], sorted[n]);
    reset(counter[threadIdx.x].key);
  }
}
)";
  std::vector<std::string> notes;
  mark_written(raw, {}, {}, notes);
  EXPECT_THAT(written(raw), ElementsAre("sorted", "counter"));
  Candidate any = candidate();
  any.text = raw.text;
  any.kernel = "of_any";
  any.instance = "of_any<float>";
  mark_written(any, {}, {}, notes);
  EXPECT_THAT(written(any), ElementsAre("sorted"));
}

TEST(WrittenBuffers, WhatTheUserSaysStays) {
  Candidate raw = candidate();
  std::vector<std::string> notes;
  mark_written(raw, {"sorted", "counter"}, {}, notes);
  EXPECT_THAT(written(raw), testing::IsEmpty());
}

} // namespace
} // namespace lathe::refactor
