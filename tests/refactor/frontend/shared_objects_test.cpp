// Objects in shared memory that have constructors.
#include "refactor/frontend/shared_objects.h"

#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string mended(std::string text, const std::string& name) {
  const auto storage = storage_of_shared_object(text, text.find(name));
  if (!storage)
    return "";
  return text.replace(storage->begin, storage->length, storage->text);
}

TEST(SharedObjects, AreMemoryAndAReference) {
  EXPECT_EQ(mended("{ __shared__ Task task; }", "task"),
            "{ alignas(Task) __shared__ unsigned char task_storage[sizeof(Task)]; auto& task = "
            "*reinterpret_cast<Task*>(task_storage); }");
  EXPECT_EQ(mended("__shared__ Pair<int, 4> pairs[2][N];", "pairs"),
            "alignas(Pair<int, 4>) __shared__ unsigned char pairs_storage[sizeof(Pair<int, 4>[2][N])]; auto& "
            "pairs = "
            "*reinterpret_cast<Pair<int, 4>(*)[2][N]>(pairs_storage);");
}

TEST(SharedObjects, EachNameOfADeclarationAndItsAlignment) {
  const std::string text = mended("static __shared__ __align__(16) typename K::Task\n  a, b[3];", "a,");
  EXPECT_THAT(text, HasSubstr("alignas(typename K::Task) alignas(16)"));
  EXPECT_THAT(text, HasSubstr("auto& a = *reinterpret_cast<typename K::Task*>(a_storage)"));
  EXPECT_THAT(text, HasSubstr("auto& b = *reinterpret_cast<typename K::Task(*)[3]>(b_storage)"));
  EXPECT_THAT(text, Not(HasSubstr("static")));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

TEST(SharedObjects, OtherDeclarationsStay) {
  for (const char* text :
       {"__shared__ Task x = {};", "__shared__ Task* x;", "__shared__ struct { int n; } x;", "Task x;",
        "__shared__ Task y; Task x;", "__shared__ volatile Task x;"})
    EXPECT_EQ(mended(text, "x"), "") << text;
}

TEST(SharedObjects, AKernelWithOneIsWhole) {
  const auto source = parse_text(R"(
struct Task { int first; float best; __device__ Task() : first(0), best(1) {} };
template <class T> struct Pair { T a; __device__ Pair() { a = 0; } };
__global__ void k(float* x) {
  __shared__ Task task, tasks[4];
  __shared__ Pair<float> pairs[32];
  if (threadIdx.x == 0) { task.best = x[0]; tasks[1] = task; }
  pairs[threadIdx.x].a = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tasks[1].best + pairs[threadIdx.x ^ 1].a;
}
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
  EXPECT_THAT(source->stand_ins(), Contains(HasSubstr("an object in shared memory is memory alone")));
  EXPECT_TRUE(find_kernel(*source, "k")->is_whole());
}

TEST(SharedObjects, AnInitialiserStaysAnError) {
  const auto source = parse_text("__global__ void k(float* x) { __shared__ float sum = 1; x[0] = sum; }\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), Contains(HasSubstr("initialization is not supported")));
}

} // namespace
} // namespace lathe::refactor
