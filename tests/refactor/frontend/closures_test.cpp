// Closures that kernels are handed, as objects of structures.
#include "refactor/frontend/closures.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Named {
  std::string text; // empty: nothing was written otherwise
  std::vector<std::string> told;
};

// The text with the closures of kernel k named; it has to parse.
Named named(const std::string& text) {
  Named result;
  const auto source = parse_text(text);
  if (!source)
    return result;
  EXPECT_THAT(source->errors(), IsEmpty());
  const auto kernel = find_kernel(*source, "k");
  if (!kernel.ok()) {
    ADD_FAILURE() << kernel.error().sentence();
    return result;
  }
  const auto texts = with_named_closures(*source, *kernel, result.told);
  if (texts.empty())
    return result;
  EXPECT_EQ(texts.size(), 1u);
  result.text = texts.begin()->second;
  const auto again = parse_text(result.text);
  EXPECT_TRUE(again && again->errors().empty()) << result.text;
  return result;
}

constexpr const char* EACH = R"(
template <class F> __global__ void k(int n, F what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) what(i);
}
template <class F> void each(int n, F what) { k<<<(n + 255) / 256, 256>>>(n, what); }
)";

TEST(Closures, WhatIsCapturedBecomesMembers) {
  const auto found = named(EACH + std::string(R"(
namespace lib {
struct Model {
  void scale(float* out, const float* in, float by, int n) {
    constexpr int ahead = 2;
    each(n, [=, twice = by * 2] __device__(int i) { out[i] = in[i] * by * twice + ahead; });
  }
};
}
)"));
  EXPECT_THAT(found.text, HasSubstr("struct k_closure_1 {\n"));
  EXPECT_THAT(found.text, HasSubstr("  float *out;\n"));
  EXPECT_THAT(found.text, HasSubstr("  const float *in;\n"));
  EXPECT_THAT(found.text, HasSubstr("  static constexpr int ahead = 2;\n"));
  EXPECT_THAT(found.text, HasSubstr("__device__ auto operator()(int i) const { out[i] ="));
  EXPECT_THAT(found.text, HasSubstr("each(n, k_closure_1{by * 2, out, in, by});"));
  EXPECT_LT(found.text.find("struct k_closure_1"), found.text.find("struct Model"));
  EXPECT_EQ(found.told.size(), 1u);
}

TEST(Closures, SeveralOfAFunctionAndWhatAMacroIsGiven) {
  const auto found = named(EACH + std::string(R"(
#define CHECKED(call) do { call; } while (0)
void both(int* out, int n) {
  CHECKED(each(n, [=] __device__(int i) mutable -> void { n += i; out[i] = n; }));
  each(n, [out] __device__(int i) { out[i] = 0; });
}
)"));
  EXPECT_THAT(found.text, HasSubstr("CHECKED(each(n, k_closure_1{n, out}));"));
  EXPECT_THAT(found.text, HasSubstr("__device__ void operator()(int i) { n += i;"));
  EXPECT_THAT(found.text, HasSubstr("each(n, k_closure_2{out});"));
}

TEST(Closures, WhatNoStructureSaysStays) {
  for (const char* written : {// the object that the member function is called for
                              "struct Model { float by; void scale(float* x, int n) {\n"
                              "  each(n, [=, *this] __device__(int i) { x[i] *= by; }); } };",
                              // a type that only the function knows
                              "void scale(float* x, int n) { struct Two { float by; } two{2};\n"
                              "  each(n, [=] __device__(int i) { x[i] *= two.by; }); }",
                              // an array
                              "void scale(float* x, int n) { float by[2] = {1, 2};\n"
                              "  each(n, [=] __device__(int i) { x[i] *= by[i % 2]; }); }"})
    EXPECT_THAT(named(EACH + std::string(written)).text, IsEmpty()) << written;
}

TEST(Closures, KernelsWithoutClosuresStay) {
  EXPECT_THAT(
      named(EACH + std::string("struct Zero { float* x; __device__ void operator()(int i) { x[i] = 0; } };\n"
                               "void zero(float* x, int n) { each(n, Zero{x}); }\n"))
          .text,
      IsEmpty());
}

} // namespace
} // namespace lathe::refactor
