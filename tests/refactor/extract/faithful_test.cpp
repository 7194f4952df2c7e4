// An extracted kernel is the kernel: nvcc makes the same PTX of it as of the original file, and so does NVRTC
// where no shared memory is in use (nvcc addresses that with 32 bits, NVRTC with 64, of the same source).
#include "refactor/extract/extract.h"
#include "tests/refactor/extract/ptx.h"

#include "tuner/base/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

// Every instance of every kernel that the file launches. Returns how many were compared.
int compare_all(const fs::path& file, const std::vector<std::string>& flags) {
  const fs::path nvcc = find_nvcc();
  ParseOptions options;
  options.flags = flags;
  auto source = ParsedSource::parse(file, options);
  if (!source.ok()) {
    ADD_FAILURE() << source.error().sentence();
    return 0;
  }
  EXPECT_TRUE((*source)->missing_headers().empty());
  const auto original = ptx_by_nvcc(nvcc, file, flags);
  if (!original.ok()) {
    ADD_FAILURE() << original.error().sentence();
    return 0;
  }
  int compared = 0;
  const std::vector<KernelInfo> kernels = find_kernels(**source);
  for (const KernelInfo& kernel : kernels) {
    // Explicit specialisations go with their template.
    if (kernel.template_parameters.empty() && std::ranges::any_of(kernels, [&](const KernelInfo& other) {
          return other.qualified_name == kernel.qualified_name && !other.template_parameters.empty();
        }))
      continue;
    const auto extracted = extract_kernel(**source, kernel);
    EXPECT_TRUE(extracted.ok()) << extracted.error().sentence();
    if (!extracted.ok())
      continue;
    EXPECT_TRUE(extracted->stand_ins.empty());
    std::vector<std::vector<std::string>> instances{{}};
    if (!kernel.template_parameters.empty()) {
      instances.clear();
      for (const LaunchSite& site : kernel.launches)
        instances.insert(instances.end(), site.instances.begin(), site.instances.end());
      if (instances.size() > 2)
        instances.resize(2);
    }
    for (const std::vector<std::string>& arguments : instances) {
      const std::string instance =
          extracted->kernel + (arguments.empty() ? "" : fmt::format("<{}>", fmt::join(arguments, ", ")));
      const auto by_nvrtc = ptx_by_nvrtc(extracted->text, instance);
      EXPECT_TRUE(by_nvrtc.ok()) << by_nvrtc.error().sentence();
      if (!by_nvrtc.ok())
        continue;
      const fs::path alone = file.parent_path() / "lathe_alone.cu";
      EXPECT_TRUE(
          write_file(alone, extracted->text + "\nvoid* lathe_use() { return (void*)&" + instance + "; }\n")
              .ok());
      const auto by_nvcc = ptx_by_nvcc(nvcc, alone, {});
      fs::remove(alone);
      EXPECT_TRUE(by_nvcc.ok()) << by_nvcc.error().sentence();
      if (!by_nvcc.ok())
        continue;
      const std::string there = normal_ptx(*original, by_nvrtc->entry);
      EXPECT_FALSE(there.empty()) << instance << " (" << by_nvrtc->entry << ")";
      EXPECT_EQ(normal_ptx(*by_nvcc, by_nvrtc->entry), there) << file << ": " << instance;
      if (there.find("shared") == std::string::npos) {
        EXPECT_EQ(normal_ptx(by_nvrtc->text, by_nvrtc->entry), there) << file << ": " << instance;
      }
      ++compared;
    }
  }
  return compared;
}

class Faithful : public testing::Test {
protected:
  void SetUp() override {
    if (find_nvcc().empty())
      GTEST_SKIP() << "no nvcc beside NVRTC";
    auto folder = TemporaryFolder::create("faithful");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
  }
  fs::path write(const std::string& name, const std::string& text) {
    const fs::path file = folder_->path() / name;
    EXPECT_TRUE(write_file(file, text).ok());
    return file;
  }
  std::optional<TemporaryFolder> folder_;
};

TEST_F(Faithful, TheComparisonSeesADifferentConstant) {
  const fs::path file = write("k.cu", "__global__ void k(float* x) { x[threadIdx.x] *= 3.f; }\n");
  const auto original = ptx_by_nvcc(find_nvcc(), file, {});
  ASSERT_TRUE(original.ok()) << original.error().sentence();
  const auto same = ptx_by_nvrtc("__global__ void k(float* x) { x[threadIdx.x] *= 3.f; }\n", "k");
  const auto other = ptx_by_nvrtc("__global__ void k(float* x) { x[threadIdx.x] *= 5.f; }\n", "k");
  ASSERT_TRUE(same.ok() && other.ok());
  EXPECT_EQ(normal_ptx(*original, "_Z1kPf"), normal_ptx(same->text, same->entry));
  EXPECT_NE(normal_ptx(*original, "_Z1kPf"), normal_ptx(other->text, other->entry));
}

// Types, constants and helpers of the repository's headers, found through its own include path.
TEST_F(Faithful, HeadersMacrosAndNamespaces) {
  write("include/lib/vec.h", R"(#pragma once
#include <cstdint>
namespace lib {
template <class T, int N> struct alignas(sizeof(T) * N) Vec { T at[N]; };
constexpr int kWidth = 4;
}
)");
  write("include/lib/reduce.cuh", R"(#pragma once
#include "vec.h"
#define FULL_MASK 0xffffffffu
#define FOR_LANES(step) for (int step = 16; step > 0; step /= 2)
namespace lib { namespace detail {
template <class T> __device__ __forceinline__ T warp_sum(T value) {
  FOR_LANES(step) value += __shfl_xor_sync(FULL_MASK, value, step);
  return value;
}
} }
)");
  const fs::path file = write("src/norm.cu", R"(#include <lib/reduce.cuh>
#include <cuda_fp16.h>
#include <cmath>
namespace app {
namespace {
__device__ float square(float x) { return x * x; }
}
template <class T> struct Limits { static constexpr float eps = 1e-5f; };
template <> struct Limits<__half> { static constexpr float eps = 1e-3f; };
template <class T, int BLOCK> __global__ void __launch_bounds__(BLOCK) norm(T* out, const T* in, int columns) {
  using V = lib::Vec<T, lib::kWidth>;
  __shared__ float partial[BLOCK / 32];
  const V* row = reinterpret_cast<const V*>(in + static_cast<size_t>(blockIdx.x) * columns);
  float sum = 0;
  for (int i = threadIdx.x; i < columns / lib::kWidth; i += BLOCK) {
    const V v = row[i];
#pragma unroll
    for (int e = 0; e < lib::kWidth; ++e) sum += square(static_cast<float>(v.at[e]));
  }
  sum = lib::detail::warp_sum(sum);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < BLOCK / 32; ++i) sum += partial[i];
  const float scale = rsqrtf(sum / columns + Limits<T>::eps);
  for (int i = threadIdx.x; i < columns; i += BLOCK)
    out[static_cast<size_t>(blockIdx.x) * columns + i] = static_cast<T>(static_cast<float>(in[static_cast<size_t>(blockIdx.x) * columns + i]) * scale);
}
template <class T> void launch(T* out, const T* in, int rows, int columns) { norm<T, 256><<<rows, 256>>>(out, in, columns); }
template void launch(float*, const float*, int, int);
template void launch(__half*, const __half*, int, int);
}
)");
  EXPECT_EQ(compare_all(file, {"-I" + (folder_->path() / "include").string()}), 2);
}

// A functor, an explicit specialisation of the kernel's helper, constant memory, a macro that writes a
// kernel.
TEST_F(Faithful, FunctorsConstantsAndKernelsByMacro) {
  const fs::path file = write("apply.cu", R"(#include <cstdint>
__constant__ float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
struct Twice { __device__ float operator()(float x) const { return 2 * x; } };
struct Weigh { __device__ float operator()(float x) const { return weights[static_cast<int>(x) & 7] * x; } };
template <class T> __device__ T limit(T x) { return x; }
template <> __device__ int limit(int x) { return x > 100 ? 100 : x; }
template <class F> __global__ void apply(float* x, std::int64_t n, F f) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) x[i] = f(x[i]);
}
#define CLAMP_KERNEL(name, type) \
  __global__ void name(type* x, int n) { \
    extern __shared__ unsigned char raw[]; \
    type* tile = reinterpret_cast<type*>(raw); \
    const int i = blockIdx.x * blockDim.x + threadIdx.x; \
    tile[threadIdx.x] = i < n ? x[i] : type(0); \
    __syncthreads(); \
    if (i < n) x[i] = limit(tile[blockDim.x - 1 - threadIdx.x]); \
  }
CLAMP_KERNEL(clamp_int, int)
CLAMP_KERNEL(clamp_double, double)
void launch(float* x, int* y, double* z, int n) {
  apply<<<(n + 255) / 256, 256>>>(x, n, Twice());
  apply<<<(n + 255) / 256, 256>>>(x, n, Weigh());
  clamp_int<<<(n + 127) / 128, 128, 128 * sizeof(int)>>>(y, n);
  clamp_double<<<(n + 127) / 128, 128, 128 * sizeof(double)>>>(z, n);
}
)");
  EXPECT_EQ(compare_all(file, {}), 4);
}

// An explicit specialisation of the kernel itself, between launchers that are no part of it.
TEST_F(Faithful, KernelsWithExplicitSpecialisations) {
  const fs::path file = write("special.cu", R"(#include <cuda_fp16.h>
template <class T> __global__ void scale(T* x, float by) { x[threadIdx.x] = static_cast<T>(static_cast<float>(x[threadIdx.x]) * by); }
template <> __global__ void scale(__half* x, float by) { x[threadIdx.x] = __hmul(x[threadIdx.x], __float2half(by)); }
template <class T> void launch(T* x, float by) { scale<T><<<1, 64>>>(x, by); }
template void launch(float*, float);
template void launch(__half*, float);
)");
  EXPECT_GE(compare_all(file, {}), 1);
}

TEST_F(Faithful, TheShippedKernels) {
  const char* root = std::getenv("LATHE_SOURCE_DIR");
  ASSERT_NE(root, nullptr);
  int files = 0, compared = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(root) / "sglang_kernels"))
    if (entry.path().extension() == ".cu") {
      ++files;
      const fs::path copy = write(entry.path().filename(), *read_file(entry.path()));
      compared += compare_all(copy, {std::string("-I") + root + "/sglang_kernels", std::string("-I") + root});
    }
  EXPECT_GE(files, 10);
  EXPECT_GE(compared, files);
}

} // namespace
} // namespace lathe::refactor
