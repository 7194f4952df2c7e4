// Tables of pointers as numbers.
#include "refactor/extract/flatten.h"
#include "refactor/extract/pointer_tables.h"
#include "tests/refactor/frontend/sources.h"

#include "tuner/compile/compile.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Numbered {
  std::string text;
  std::vector<std::string> parameters;
  std::vector<PointerTable> tables;
};

Numbered numbered(const std::string& text) {
  const auto source = parse_text(text);
  EXPECT_THAT(source->errors(), IsEmpty());
  auto kernel = find_kernel(*source, "k");
  EXPECT_TRUE(kernel.ok()) << kernel.error().sentence();
  auto extracted = extract_kernel(*source, *kernel);
  EXPECT_TRUE(extracted.ok()) << extracted.error().sentence();
  const auto flat = flatten_structures(*extracted, *kernel, {});
  EXPECT_TRUE(flat.ok()) << flat.error().sentence();
  auto tables = number_pointer_tables(*extracted, *kernel, {}, flat->member_paths);
  EXPECT_TRUE(tables.ok()) << tables.error().sentence();
  Numbered result{extracted->text, {}, tables.ok() ? *tables : std::vector<PointerTable>{}};
  for (const KernelParameter& parameter : kernel->parameters)
    result.parameters.push_back(parameter.name);
  return result;
}

void expect_compiles(const Numbered& kernel, const std::string& instance) {
  const auto compiled = compile_kernel(kernel.text, instance, {"-std=c++17"}, "sm_90");
  EXPECT_TRUE(compiled.ok()) << compiled.error().sentence() << "\n" << kernel.text;
}

TEST(PointerTables, EntriesAreComputed) {
  const auto kernel = numbered(R"(
template <class T> __global__ void k(T** out, const T* const* __restrict__ in, int n) {
  const T* row = in[blockIdx.x];
  T* to = *(out + blockIdx.x);
  if (threadIdx.x < n) to[threadIdx.x] = row[threadIdx.x] + in[blockIdx.x][n - 1];
}
)");
  EXPECT_THAT(kernel.parameters, ElementsAre("out_places", "out_pitch", "out_elements", "in_places",
                                             "in_pitch", "in_elements", "n"));
  EXPECT_THAT(kernel.text, HasSubstr("const T *in_elements"));
  ASSERT_EQ(kernel.tables.size(), 2u);
  EXPECT_EQ(kernel.tables[0].pitch, "out_pitch");
  expect_compiles(kernel, "k<float>");
}

TEST(PointerTables, OneTableMayChooseFromAnother) {
  const auto kernel = numbered(R"(
__global__ void k(float** out, int** which, int n) { out[which[0][blockIdx.x]][threadIdx.x] = *which[n]; }
)");
  EXPECT_EQ(kernel.tables.size(), 2u);
  expect_compiles(kernel, "k");
}

TEST(PointerTables, IntegersThatAreCastToPointers) {
  const auto kernel = numbered(R"(
#include <cstdint>
template <class T> __global__ void k(const int64_t* keys, uint64_t* values, const int64_t* plain, int n) {
  const T* from = reinterpret_cast<const T*>(keys[blockIdx.x]);
  T* to = (T*)values[blockIdx.x];
  to[threadIdx.x] = from[threadIdx.x + plain[blockIdx.x]] + n;
}
)");
  EXPECT_THAT(kernel.parameters, ElementsAre("keys_places", "keys_pitch", "keys_elements", "values_places",
                                             "values_pitch", "values_elements", "plain", "n"));
  expect_compiles(kernel, "k<float>");
}

TEST(PointerTables, MembersOfStructures) {
  const auto kernel = numbered(R"(
struct Batch { float** rows; const void* const* raw; int n; };
__global__ void k(Batch batch) {
  float* row = batch.rows[blockIdx.x];
  if (threadIdx.x < batch.n) row[threadIdx.x] = static_cast<const float*>(batch.raw[blockIdx.x])[threadIdx.x];
}
)");
  EXPECT_THAT(kernel.parameters,
              ElementsAre("batch_rows_places", "batch_rows_pitch", "batch_rows_elements", "batch_raw_places",
                          "batch_raw_pitch", "batch_raw_elements", "batch_n"));
  expect_compiles(kernel, "k");
}

// What the kernel does otherwise than read an entry cannot be told from its own text.
TEST(PointerTables, OtherUsesStay) {
  for (const char* body :
       {"x[0] = x[1];", "float** y = x + n; y[0][0] = 1;", "f(x, n);", "float*& p = *&x[0]; p[0] = 1;"}) {
    const auto kernel = numbered("__device__ void f(float** x, int n) { x[n][0] = 1; }\n"
                                 "__global__ void k(float** x, int n) { " +
                                 std::string(body) + " }\n");
    EXPECT_THAT(kernel.tables, IsEmpty()) << body;
    EXPECT_THAT(kernel.parameters, ElementsAre("x", "n"));
  }
}

TEST(PointerTables, MembersThatAreAlsoReadElsewhereStay) {
  const auto kernel = numbered(R"(
struct Batch { float** rows; int n; };
__device__ float* row_of(const Batch& batch, int i) { return batch.rows[i]; }
__global__ void k(Batch batch) { batch.rows[0][threadIdx.x] = *row_of(batch, 1); }
)");
  EXPECT_THAT(kernel.tables, IsEmpty());
}

TEST(PointerTables, IntegersAreNoTables) {
  const auto kernel = numbered(
      "#include <cstdint>\n__global__ void k(const int64_t* x, int64_t* y) { y[threadIdx.x] = x[0]; }\n");
  EXPECT_THAT(kernel.tables, IsEmpty());
}

} // namespace
} // namespace lathe::refactor
