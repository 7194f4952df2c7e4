// Members of structures, by the names of the parameters that take their place.
#include "refactor/extract/member_names.h"

#include "refactor/extract/flatten.h"
#include "tests/refactor/frontend/sources.h"
#include "tuner/compile/compile.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The kernel's text, or the sentence of why there is none. It compiles as the instance.
std::string named(const std::string& text, const std::string& instance = "k") {
  static std::vector<std::unique_ptr<ParsedSource>> kept;
  kept.push_back(parse_text(text));
  const auto take = [&]() -> Result<std::string> {
    LATHE_TRY(KernelInfo kernel, find_kernel(*kept.back(), "k"));
    LATHE_TRY(ExtractedKernel extracted, extract_kernel(*kept.back(), kernel));
    LATHE_TRY(const Flattened flattened, flatten_structures(extracted, kernel, {}));
    LATHE_CHECK(name_members(extracted, kernel, {}, flattened.member_paths));
    LATHE_TRY(const CompiledKernel compiled,
              compile_kernel(extracted.text, instance, {"-std=c++17"}, "sm_90"));
    return extracted.text;
  };
  const auto made = take();
  EXPECT_TRUE(made.ok()) << made.error().sentence();
  return made.ok() ? *made : "";
}

TEST(MemberNames, AStructureOfWhichOnlyMembersAreReadIsNotMade) {
  const std::string text = named(R"(
struct Bounds { float at[2]; };
struct Params { int rows, columns; const float* in; float* out; Bounds bounds; };
__global__ void k(Params p, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.rows * p.columns) p.out[i] = fmaxf(p.bounds.at[0], (p.in[i] + p.bounds.at[1]) * scale);
}
)");
  EXPECT_THAT(text, HasSubstr("{\n  const int i"));
  EXPECT_THAT(text, HasSubstr("if (i < p_rows * p_columns) p_out[i] = fmaxf(p_bounds_at_0, "
                              "(p_in[i] + p_bounds_at_1) * scale);"));
}

// The parameter is a copy, too.
TEST(MemberNames, AMemberThatIsMovedIsAParameterThatIsMoved) {
  EXPECT_THAT(named(R"(
struct Params { const float* in; float* out; long stride; };
__global__ void k(Params p) {
  p.in += blockIdx.x * p.stride;
  p.out[blockIdx.x * p.stride] = p.in[0];
}
)"),
              AllOf(HasSubstr("p_in += blockIdx.x * p_stride;"), Not(HasSubstr("Params p{"))));
}

TEST(MemberNames, InTemplatesToo) {
  EXPECT_THAT(named(R"(
template <class T> struct View { T* data; int stride; };
template <class U> __global__ void k(View<U> view, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) view.data[i * view.stride] = U(1);
}
void launch(View<float> view, int n) { k<float><<<1, 32>>>(view, n); }
)",
                    "k<float>"),
              AllOf(HasSubstr("view_data[i * view_stride] = U(1);"), Not(HasSubstr("View<U> view{"))));
}

TEST(MemberNames, WhatIsHandedOnIsMadeStill) {
  const std::string text = named(R"(
struct Params { int n; float* out; int steps[2]; };
__device__ float last(const Params& p) { return p.out[p.n - 1]; }
__global__ void k(Params p, int i) {
  if (i < p.n) p.out[i] = last(p) + p.steps[i];
}
)");
  EXPECT_THAT(text,
              AllOf(HasSubstr("Params p{"), HasSubstr("if (i < p_n) p_out[i] = last(p) + p.steps[i];")));
}

TEST(MemberNames, WhatMayBeChangedStays) {
  for (const char* const change :
       {"change(p);", "p.steps[threadIdx.x] = 2;", "int* n = &p.n; *n = 3;",
        "auto f = [&p] { p.n = 2; }; f();", "p.n -= threadIdx.x; last(p);", "int& n = p.n; n = last(p);"})
    EXPECT_THAT(named(std::string(R"(
struct Params { int n; float* out; int steps[2]; };
__device__ void change(Params& p) { p.n = 7; }
__device__ int last(const Params& p) { return p.n - 1; }
__global__ void k(Params p, int i) {
  )") + change + R"(
  if (i < p.n) p.out[i] = p.steps[i] + last(p);
}
)"),
                AllOf(HasSubstr("Params p{"), HasSubstr("if (i < p.n) p.out[i]")))
        << change;
}

TEST(MemberNames, AConstantObjectIsTheSameWhateverIsDoneWithIt) {
  EXPECT_THAT(named(R"(
struct Params { int n; float* out; };
template <class P> __device__ int last(P&& p) { return p.n - 1; }
template <class U> __global__ void k(const Params p, U i) {
  if (i < p.n) p.out[i] = last(p) + *&p.n;
}
)",
                    "k<int>"),
              AllOf(HasSubstr("const Params p{"), HasSubstr("if (i < p_n) p_out[i] = last(p) + *&p.n;")));
}

TEST(MemberNames, WhereAMacroNamesThemTheyStay) {
  EXPECT_THAT(named(R"(
#define COUNT p.n
struct Params { int n; float* out; };
__global__ void k(Params p, int i) {
  if (i < COUNT) p.out[i] = 1;
}
)"),
              AllOf(HasSubstr("Params p{"), HasSubstr("if (i < COUNT) p_out[i] = 1;")));
}

TEST(MemberNames, KernelsWithoutStructuresStay) {
  const std::string text = "__global__ void k(float* out) { *out = 1; }\n";
  EXPECT_THAT(named(text), HasSubstr("{ *out = 1; }"));
}

} // namespace
} // namespace lathe::refactor
