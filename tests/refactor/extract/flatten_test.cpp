// Structures that kernels take by value, member by member.
#include "refactor/extract/flatten.h"
#include "tests/refactor/frontend/sources.h"

#include "tuner/compile/compile.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Flat {
  std::string text;
  KernelInfo kernel;
  std::vector<std::string> told;
};

Result<Flat> flatten(const std::string& text) {
  static std::vector<std::unique_ptr<ParsedSource>> kept;
  kept.push_back(parse_text(text));
  if (!kept.back())
    return Error{"no parse", "", ""};
  EXPECT_THAT(kept.back()->errors(), testing::IsEmpty());
  LATHE_TRY(KernelInfo kernel, find_kernel(*kept.back(), "k"));
  LATHE_TRY(ExtractedKernel extracted, extract_kernel(*kept.back(), kernel));
  LATHE_TRY(const Flattened flattened, flatten_structures(extracted, kernel, {}));
  return Flat{extracted.text, kernel, flattened.told};
}

std::vector<std::string> names(const KernelInfo& kernel) {
  std::vector<std::string> result;
  for (const KernelParameter& parameter : kernel.parameters)
    result.push_back(parameter.name);
  return result;
}

void expect_compiles(const Flat& flat, const std::string& instance) {
  const auto compiled = compile_kernel(flat.text, instance, {"-std=c++17"}, "sm_90");
  EXPECT_TRUE(compiled.ok()) << compiled.error().sentence() << "\n" << flat.text;
}

TEST(Flatten, MembersBecomeParametersInOrder) {
  const auto flat = flatten(R"(
struct Bounds { float at[2]; };
struct Params { int rows, columns; const float* __restrict__ in; float* out; Bounds bounds; };
__global__ void k(const Params p, float scale);
__global__ void k(const Params p, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.rows * p.columns) p.out[i] = fminf(p.bounds.at[1], fmaxf(p.bounds.at[0], p.in[i] * scale));
}
void launch(const float* in, float* out, int rows, int columns) {
  Params p;
  p.rows = rows;
  p.columns = columns;
  p.in = in;
  p.out = out;
  k<<<(rows * columns + 255) / 256, 256>>>(p, 2.f);
}
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel),
              ElementsAre("p_rows", "p_columns", "p_in", "p_out", "p_bounds_at_0", "p_bounds_at_1", "scale"));
  EXPECT_TRUE(flat->kernel.parameters[2].is_pointer && flat->kernel.parameters[2].is_const_pointee);
  EXPECT_TRUE(flat->kernel.parameters[0].is_integer && flat->kernel.parameters[4].is_real);
  EXPECT_THAT(flat->told, ElementsAre(HasSubstr("p is passed member by member")));
  ASSERT_EQ(flat->kernel.launches.size(), 1u);
  EXPECT_EQ(flat->kernel.launches[0].arguments.at("p_rows"), "rows");
  expect_compiles(*flat, "k");
}

TEST(Flatten, TemplatesOfStructuresAndVectorTypes) {
  const auto flat = flatten(R"(
template <class T> struct View { T* data; int stride; };
template <class U> __global__ void k(View<U> view, uint3 divisor, int n) {
  if (threadIdx.x < n) view.data[threadIdx.x * view.stride / divisor.x] = U(1);
}
void launch(View<float> view, uint3 divisor, int n) { k<float><<<1, 32>>>(view, divisor, n); }
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel),
              ElementsAre("view_data", "view_stride", "divisor_x", "divisor_y", "divisor_z", "n"));
  EXPECT_EQ(flat->kernel.parameters[0].element, "U");
  expect_compiles(*flat, "k<float>");
}

TEST(Flatten, FunctorsWithoutDataAreMadeInTheKernel) {
  const auto flat = flatten(R"(
struct Twice { __device__ float operator()(float x) const { return 2 * x; } };
template <class F> __global__ void k(F f, float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = f(x[threadIdx.x]);
}
void launch(float* x, int n) { k<<<1, 32>>>(Twice(), x, n); }
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel), ElementsAre("x", "n"));
  expect_compiles(*flat, "k<Twice>");
}

TEST(Flatten, ObjectsWhoseClassIsATemplateParameterAreThoseOfTheInstances) {
  const auto flat = flatten(R"(
struct Scale { float by; int from; __device__ float operator()(int i, float x) const { return i < from ? x : by * x; } };
template <class F> __global__ void k(F f, float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = f(threadIdx.x, x[threadIdx.x]);
}
template <class F> void apply(F f, float* x, int n) { k<<<1, 32>>>(f, x, n); }
void launch(float* x, int n) { apply(Scale{2.f, 3}, x, n); }
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel), ElementsAre("f_by", "f_from", "x", "n"));
  EXPECT_THAT(flat->text, HasSubstr("static_assert(sizeof(F) == 8"));
  expect_compiles(*flat, "k<Scale>");
}

TEST(Flatten, ElementsOfTheirStructureFollowTheKernelsTypes) {
  const auto flat = flatten(R"(
template <class T> struct Rows { T* data; int count; };
template <class T, class P> __global__ void k(const P p, T scale) {
  if (threadIdx.x < p.count) p.data[threadIdx.x] = p.data[threadIdx.x] * scale;
}
template <class T> void launch(T* x, int n) {
  Rows<T> rows{x, n};
  k<T><<<1, 32>>>(rows, T(2));
}
template void launch<float>(float*, int);
template void launch<double>(double*, int);
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel), ElementsAre("p_data", "p_count", "scale"));
  EXPECT_EQ(flat->kernel.parameters[0].element, "T");
  expect_compiles(*flat, "k<float, Rows<float>>");
  expect_compiles(*flat, "k<double, Rows<double>>");
}

TEST(Flatten, ClosuresHaveNoName) {
  const auto flat = flatten(R"(
template <class F> __global__ void k(F f, float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = f(x[threadIdx.x]);
}
void launch(float* x, int n, float by) {
  const auto f = [by](float v) { return by * v; };
  k<<<1, 32>>>(f, x, n);
}
)");
  ASSERT_FALSE(flat.ok());
  EXPECT_THAT(flat.error().sentence(), HasSubstr("closure"));
}

TEST(Flatten, NamesThatAreTakenAreAvoided) {
  const auto flat = flatten(R"(
struct P { int n; };
__global__ void k(float* x, P p) { const int p_n = 3; x[0] = p_n + p.n; }
void launch(float* x, P p) { k<<<1, 1>>>(x, p); }
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel), ElementsAre("x", "p_n_"));
  expect_compiles(*flat, "k");
}

TEST(Flatten, OfAUnionTheLargestMemberIsPassed) {
  const auto flat = flatten(R"(
struct Pixel { union { float lightness; struct { float red, green, blue; }; }; __host__ __device__ Pixel() {} };
__global__ void k(float* x, Pixel p) { x[0] = p.red + p.green; }
void launch(float* x) { k<<<1, 1>>>(x, Pixel()); }
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel), ElementsAre("x", "p_red", "p_green", "p_blue"));
  expect_compiles(*flat, "k");
}

TEST(Flatten, KernelsWithoutStructuresStay) {
  const std::string text =
      "__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }\n";
  const auto flat = flatten(text);
  ASSERT_TRUE(flat.ok());
  EXPECT_TRUE(flat->told.empty());
  EXPECT_THAT(names(flat->kernel), ElementsAre("x", "n"));
}

TEST(Flatten, ObjectsThatNoListMakesAreMadeOfTheirBytes) {
  const auto flat = flatten(R"(
template <class T> class View {
public:
  __host__ __device__ View(T* data, long first, long second) : data_(data) { sizes_[0] = first; sizes_[1] = second; }
  __device__ T* row(long i) const { return data_ + i * sizes_[1]; }
  __device__ long columns() const { return sizes_[1]; }
private:
  T* data_;
  long sizes_[2];
};
template <class T> __global__ void k(View<T> out, const View<const T> in, int n) {
  if (blockIdx.x < n)
    for (int i = threadIdx.x; i < out.columns(); i += blockDim.x) out.row(blockIdx.x)[i] = in.row(blockIdx.x)[i];
}
template __global__ void k(View<float>, const View<const float>, int);
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel), ElementsAre("out_data_", "out_sizes__0", "out_sizes__1", "in_data_",
                                               "in_sizes__0", "in_sizes__1", "n"));
  EXPECT_THAT(flat->text, HasSubstr("T *out_data_"));
  EXPECT_THAT(flat->text, HasSubstr("const T *in_data_"));
  EXPECT_THAT(flat->text, HasSubstr("static_assert(sizeof(View<T>) == 24"));
  expect_compiles(*flat, "k<float>");
  expect_compiles(*flat, "k<double>");
}

// The text of the template says nothing of where its bases end.
TEST(Flatten, TemplatesThatDeriveFromThemselvesAreMadeOfTheirBytes) {
  const std::string text = R"(
template <class T, int N> struct View;
template <class T, int N> struct View<const T, N> { const T* data; int steps[N]; };
template <class T, int N> struct View : View<const T, N> {
  __device__ T* at(int i) const { return const_cast<T*>(this->data) + i * this->steps[0]; }
};
template <class T> __global__ void k(View<T, 2> out, int n) {
  if (threadIdx.x < n) *out.at(threadIdx.x) = T(1);
}
)";
  const auto flat = flatten(text + "template __global__ void k(View<float, 2>, int);\n");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel), ElementsAre("out_data", "out_steps_0", "out_steps_1", "n"));
  expect_compiles(*flat, "k<float>");
  const auto open = flatten(text);
  ASSERT_FALSE(open.ok());
  EXPECT_THAT(open.error().sentence(), HasSubstr("instances of its own class template"));
}

// Nothing says which types the kernel is used with; constructors that take other things do not stand in the
// way.
TEST(Flatten, PublicMembersOfClassesWithConstructorsAreSet) {
  const auto flat = flatten(R"(
struct Counted { long size; __host__ __device__ explicit Counted(long n) : size(n) {} };
template <class T> class View : public Counted {
public:
  long strides[2];
  T* data;
  __host__ __device__ View() : Counted(0), strides(), data(nullptr) {}
  __host__ __device__ View(T* from, const long* steps) : Counted(1), strides{steps[0], steps[1]}, data(from) {}
  View(const View&) = default;
};
template <class T> class Constant : public View<const T> { public: dim3 from; Constant(View<T>& other); };
template <class T> __global__ void k(View<T> out, const View<const T> in, Constant<char> mask, int n) {
  if (threadIdx.x < n && mask.data[mask.from.x])
    out.data[threadIdx.x * out.strides[0]] = in.data[threadIdx.x * in.strides[1]];
}
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel),
              ElementsAre("out_size", "out_strides_0", "out_strides_1", "out_data", "in_size", "in_strides_0",
                          "in_strides_1", "in_data", "mask_size", "mask_strides_0", "mask_strides_1",
                          "mask_data", "mask_from_x", "mask_from_y", "mask_from_z", "n"));
  EXPECT_EQ(flat->kernel.parameters[3].element, "T");
  EXPECT_TRUE(flat->kernel.parameters[7].is_const_pointee);
  EXPECT_THAT(flat->text, HasSubstr("out.strides[1] = out_strides_1;"));
  EXPECT_THAT(flat->text, HasSubstr("const View<const T>& in = in_object;"));
  EXPECT_THAT(flat->text, testing::Not(HasSubstr("static_assert")));
  expect_compiles(*flat, "k<float>");
  expect_compiles(*flat, "k<double>");
}

TEST(Flatten, WhatCannotBeSetIsLeftToTheInstances) {
  const auto constant = flatten(R"(
struct Bounds { const int most; int least; __host__ __device__ Bounds(int a, int b) : most(a), least(b) {} };
__global__ void k(float* out, Bounds bounds) { out[0] = bounds.most; }
)");
  ASSERT_TRUE(constant.ok()) << constant.error().sentence();
  EXPECT_THAT(constant->text, HasSubstr("static_assert(sizeof(Bounds) == 8"));
  expect_compiles(*constant, "k");
  const auto hidden = flatten(R"(
template <class T> class Box { public: Box(T x) : value(x) {} __device__ T get() const { return value; } private: T value; };
template <class T> __global__ void k(T* out, Box<T> box) { out[0] = box.get(); }
)");
  ASSERT_FALSE(hidden.ok());
  EXPECT_THAT(hidden.error().sentence(), HasSubstr("no instance of the kernel is known"));
}

TEST(Flatten, AccessorsOfTypesThatOnlyTheKernelKnows) {
  const auto flat = flatten(R"(
#include <torch/extension.h>
template <class V> __global__ void k(const at::PackedTensorAccessor32<V, 2, at::RestrictPtrTraits> x, V* out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = x[threadIdx.x][1];
}
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel),
              ElementsAre("x_data_", "x_sizes__0", "x_sizes__1", "x_strides__0", "x_strides__1", "out", "n"));
  EXPECT_THAT(flat->text, HasSubstr("V *x_data_"));
  expect_compiles(*flat, "k<float>");
}

TEST(Flatten, TypesThatAMacroNames) {
  const auto flat = flatten(R"(
#include <torch/types.h>
using namespace torch;
#define ROWS PackedTensorAccessor32<V, 2, RestrictPtrTraits>
namespace lib {
template <class V> __global__ void k(const ROWS x, ROWS out, int n) {
  if (threadIdx.x < n) out[threadIdx.x][0] = x[threadIdx.x][1];
}
}
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel), testing::IsSupersetOf({"x_data_", "out_data_", "out_strides__1", "n"}));
  expect_compiles(*flat, "lib::k<float>");
  // One macro for two parameters is no type's name.
  EXPECT_FALSE(flatten(R"(
struct Pair { int a, b; };
#define TWO Pair first, Pair
__global__ void k(TWO second, int* out) { out[0] = first.a + second.b; }
)")
                   .ok());
}

TEST(Flatten, ParametersThatAMacroWrites) {
  const auto flat = flatten(R"(
struct Pair { float x, y; };
enum Shape { CUBE, BALL };
#define EDGES Pair first, Pair second
#define BOX Shape shape, EDGES
__global__ void k(int n, BOX, const float (*in)[2], float* __restrict__ out);
__global__ void k(int n, BOX, const float (*in)[2], float* __restrict__ out) {
  if (threadIdx.x < n) out[threadIdx.x] = shape == BALL ? first.x * in[threadIdx.x][0] : second.y;
}
void launch(int n, BOX, const float (*in)[2], float* out) { k<<<1, 128>>>(n, shape, first, second, in, out); }
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel),
              ElementsAre("n", "shape", "first_x", "first_y", "second_x", "second_y", "in", "out"));
  expect_compiles(*flat, "k");
}

TEST(Flatten, AccessorsOf64BitIntegersKeepTheirNames) {
  const auto flat = flatten(R"(
#include <torch/extension.h>
template <class V> __global__ void k(const torch::PackedTensorAccessor64<int64_t, 2, torch::RestrictPtrTraits> rows,
                                     torch::PackedTensorAccessor32<long long, 1> steps, V* out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = rows[threadIdx.x][1] + steps[threadIdx.x];
}
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(flat->text, HasSubstr("int64_t *rows_data_"));
  EXPECT_THAT(flat->text, HasSubstr("long long *steps_data_"));
  expect_compiles(*flat, "k<float>");
}

TEST(Flatten, ElementsThatAreStructuresAreThoseOfTheInstance) {
  const auto flat = flatten(R"(
template <class U> struct Divisor { U magic, shift; __device__ U divide(U x) const { return x * magic >> shift; } };
template <class V, int N> struct Row { V data[N]; };
template <class T, int N> __global__ void k(T* x, Row<Divisor<unsigned>, N> by, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = by.data[N - 1].divide(threadIdx.x);
}
template __global__ void k<float, 2>(float*, Row<Divisor<unsigned>, 2>, int);
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel), ElementsAre("x", "by_data_0_magic", "by_data_0_shift", "by_data_1_magic",
                                               "by_data_1_shift", "n"));
  expect_compiles(*flat, "k<float, 2>");
}

TEST(Flatten, VirtualFunctionsAreRefused) {
  const auto flat = flatten(R"(
struct Shape { __device__ virtual float area() const { return side * side; } float side; };
__global__ void k(float* out, Shape shape) { out[0] = shape.area(); }
)");
  ASSERT_FALSE(flat.ok());
  EXPECT_THAT(flat.error().sentence(), HasSubstr("virtual"));
}

TEST(Flatten, PointersTo64BitIntegersKeepTheirNames) {
  const auto flat = flatten(R"(
#include <cstdint>
#include <cstddef>
struct Params { const uintptr_t* __restrict__ tables; std::uint64_t* out; size_t* sizes; int64_t n; };
__global__ void k(const Params p) { if (threadIdx.x < p.n) p.out[threadIdx.x] = p.tables[threadIdx.x] + p.sizes[0]; }
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(flat->text, HasSubstr("const uintptr_t *p_tables"));
  expect_compiles(*flat, "k");
}

TEST(Flatten, MemoryWithoutATypeIsWhatTheKernelReadsItAs) {
  const auto flat = flatten(R"(
template <class T, int n> class Vec { uint4 data; };
struct Params { const void* in; void* out; const void* index; void* both; int n; };
template <class T> __device__ T load_as(const void* p, int i) { return static_cast<const T*>(p)[i]; }
template <class T> __device__ void store_as(void* p, T x, int i) { static_cast<T*>(p)[i] = x; }
template <class T, class I> __global__ void k(const Params p) {
  using vec = Vec<T, 16 / sizeof(T)>;
  const auto& [in, out, index, both, n] = p;
  const int i = static_cast<const I*>(index)[threadIdx.x];
  if (i < n) store_as<vec>(p.out, load_as<vec>(in, i), i);
  store_as<float>(both, load_as<int>(p.both, i), i);
}
template __global__ void k<float, int>(const Params);
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  std::map<std::string, std::string> elements;
  for (const KernelParameter& parameter : flat->kernel.parameters)
    elements[parameter.name] = parameter.element_by_casts;
  EXPECT_EQ(elements["p_in"], "T");
  EXPECT_EQ(elements["p_out"], "T");
  EXPECT_EQ(elements["p_index"], "I");
  EXPECT_EQ(elements["p_both"], "");
}

TEST(Flatten, ATypeThatAnotherClassSaysIsThatOfTheInstance) {
  const auto flat = flatten(R"(
template <int D> struct Extent { long at[D]; __device__ long all() const { long n = 1; for (long a : at) n *= a; return n; } };
template <int D> struct Sizes { typedef Extent<D> Type; };
template <int D> __global__ void k(float* x, typename Sizes<D>::Type extent) {
  if (threadIdx.x < extent.all()) x[threadIdx.x] = 0;
}
void launch(float* x, Extent<2> extent) { k<2><<<1, 32>>>(x, extent); }
)");
  ASSERT_TRUE(flat.ok()) << flat.error().sentence();
  EXPECT_THAT(names(flat->kernel), ElementsAre("x", "extent_at_0", "extent_at_1"));
  expect_compiles(*flat, "k<2>");
}

} // namespace
} // namespace lathe::refactor
