// From a source file to what the rules start with: template arguments, types, sizes.
#include "refactor/app/raw_candidate.h"
#include "refactor/app/spec_assembly.h"
#include "refactor/extract/extract.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<RawCandidate> raw_of(const std::string& text, const LaunchOverride& launch = {}) {
  ParseOptions options;
  options.overlay["/lathe/k.cu"] = text;
  LATHE_TRY(auto source, ParsedSource::parse("/lathe/k.cu", options));
  LATHE_TRY(const KernelInfo kernel, find_kernel(*source, "k"));
  LATHE_TRY(const ExtractedKernel extracted, extract_kernel(*source, kernel));
  return make_raw_candidate(kernel, extracted, {}, launch, "sm_90");
}

// The launcher computes the pack from the type and the row, as the largest of two.
constexpr const char* PACKED = R"(
#include <algorithm>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <int ROW, int PACK, int LANES, typename T, typename Index>
__global__ void k(T* out, const T* in, const Index* rows, int n) {
  static_assert(ROW == PACK * LANES);
  const int i = blockIdx.x * blockDim.y + threadIdx.y;
  if (i < n) {
    const Index row = rows[i] % 8;
    for (int e = 0; e < PACK; ++e) {
      out[i * ROW + threadIdx.x * PACK + e] = in[row * ROW + threadIdx.x * PACK + e];
    }
  }
}
template <typename T, typename Index, int ROW> void launch(T* out, const T* in, const Index* rows, int n) {
  constexpr int pack = std::max(16 / int(sizeof(T)), ROW / 32);
  constexpr int lanes = ROW / pack;
  k<ROW, pack, lanes, T, Index><<<(n + 3) / 4, dim3(lanes, 4)>>>(out, in, rows, n);
}
)";

TEST(RawCandidate, ALauncherParameterIsAskedFor) {
  const auto raw = raw_of(PACKED);
  ASSERT_FALSE(raw.ok());
  EXPECT_THAT(raw.error().sentence(), HasSubstr("--template-argument ROW=..."));
}

TEST(RawCandidate, ArgumentsThatTheLauncherComputesCompile) {
  LaunchOverride launch;
  launch.template_arguments["ROW"] = "128";
  const auto raw = raw_of(PACKED, launch);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->candidate.instance, HasSubstr(" ? "));
  EXPECT_THAT(raw->candidate.instance, testing::Not(HasSubstr("max")));
  const auto lanes =
      raw->candidate.launch.block[0].evaluate_integer([](std::string_view name) -> std::optional<Value> {
        return name == "sizeof_T" ? std::optional(Value{std::int64_t{2}}) : std::nullopt;
      });
  ASSERT_TRUE(lanes.ok()) << lanes.error().sentence();
  EXPECT_EQ(*lanes, 16);
}

TEST(RawCandidate, DataAndIndexTypesAreToldApart) {
  LaunchOverride launch;
  launch.template_arguments["ROW"] = "128";
  const auto raw = raw_of(PACKED, launch);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  ASSERT_EQ(raw->candidate.types.size(), 2u);
  EXPECT_EQ(raw->candidate.types[0].name, "T");
  EXPECT_THAT(raw->candidate.types[0].dtypes, ElementsAre("bf16", "f16", "f32"));
  EXPECT_THAT(raw->candidate.types[1].dtypes, ElementsAre("i32"));
  // Anything but zero could point outside the rows.
  EXPECT_EQ(raw->candidate.arguments[2].name, "rows");
  EXPECT_EQ(raw->candidate.arguments[2].fill.kind, Fill::Kind::zero);
  EXPECT_NE(raw->candidate.arguments[1].fill.kind, Fill::Kind::zero);
}

TEST(RawCandidate, FunctionsAndSwitchesOfALauncherAreThoseOfAnInstance) {
  const auto raw = raw_of(R"(
#include <cstdint>
using std::uintptr_t;
template <typename T> __device__ T* direct(T* base, const uintptr_t*, int row) { return base + row; }
template <typename T> __device__ T* by_table(T*, const uintptr_t* table, int row) {
  return reinterpret_cast<T*>(table[row]);
}
template <auto PLACE, bool TWICE>
__global__ void k(float* out, float* in, const uintptr_t* table, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = *PLACE(in, table, i) * (TWICE ? 2.f : 1.f);
  }
}
template <auto PLACE, bool TWICE> void launch(float* out, float* in, const uintptr_t* table, int n) {
  k<PLACE, TWICE><<<(n + 255) / 256, 256>>>(out, in, table, n);
}
void copy(float* out, float* in, int n) { launch<direct<float>, true>(out, in, nullptr, n); }
void gather(float* out, const uintptr_t* table, int n) { launch<by_table<float>, false>(out, nullptr, table, n); }
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_EQ(raw->candidate.instance, "k<direct<float>, true>");
  EXPECT_THAT(raw->assumptions, testing::Contains(HasSubstr("PLACE = direct<float>, as in the first of 2")));
  EXPECT_EQ(raw->candidate.arguments[2].dtype, "u64");
}

TEST(UsualProblems, ABlockFitsIntoTheDevice) {
  const auto raw = raw_of(R"(
__global__ void k(float* out, const float* in, int width, int depth) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < width * depth; i += blockDim.x) {
    tile[i] = in[i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < width * depth; i += blockDim.x) {
    out[i] = tile[i];
  }
}
void launch(float* out, const float* in, int width, int depth) {
  k<<<1, 256, width * depth * sizeof(float)>>>(out, in, width, depth);
}
)");
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> assumptions;
  const auto problems = usual_problems(raw->candidate, "sm_90", assumptions);
  ASSERT_FALSE(problems.empty());
  for (const Problem& problem : problems) {
    const std::int64_t bytes = problem.dimensions.at("width") * problem.dimensions.at("depth") * 4;
    EXPECT_LE(bytes, 232448);
    EXPECT_GT(2 * bytes, 232448) << "no smaller than needed";
  }
  EXPECT_THAT(assumptions, testing::Contains(HasSubstr("halved")));
}

} // namespace
} // namespace lathe::refactor
