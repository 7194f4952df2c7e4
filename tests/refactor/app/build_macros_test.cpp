// Code that only the macros of its own build let the compiler see.
#include "refactor/app/build_macros.h"

#include "refactor/app/launched_kernel.h"
#include "tuner/base/files.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<ParsedSource> parsed(const std::string& text) {
  ParseOptions options;
  options.overlay["/lathe/k.cu"] = text;
  auto source = ParsedSource::parse("/lathe/k.cu", options);
  EXPECT_TRUE(source.ok()) << source.error().sentence();
  return source.ok() ? std::move(*source) : nullptr;
}

constexpr const char* GUARDED = R"(
#ifndef SCALE_CU
#define SCALE_CU
#ifdef WITH_GPU
#if USE_HALF && defined(FAST) // both
template <class T> __global__ void
scale(T* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= T(2); }
#endif
#else
__global__ void only_without(float* x) { x[0] = 0; }
#endif
#if 0
__global__ void never(float* x) { x[0] = 0; }
#endif
#if defined(USE_ROCM)
__global__ void elsewhere(float* x) { x[0] = 0; }
#endif
#if LEVEL >= 3
__global__ void compared(float* x) { x[0] = 0; }
#endif
#endif
)";

TEST(BuildMacros, ThoseAroundTheKernel) {
  const auto source = parsed(GUARDED);
  ASSERT_TRUE(source);
  EXPECT_THAT(macros_of_kernel(*source, "scale"), ElementsAre("WITH_GPU", "USE_HALF", "FAST"));
  EXPECT_THAT(macros_of_kernel(*source, "lib::scale:7"), ElementsAre("WITH_GPU", "USE_HALF", "FAST"));
  for (const char* kernel : {"only_without", "never", "elsewhere", "compared", "none"})
    EXPECT_THAT(macros_of_kernel(*source, kernel), IsEmpty()) << kernel;
}

TEST(BuildMacros, OfValuesTheFirst) {
  const auto source = parsed("#if PRECISION == 1\ntypedef float Real;\n#endif\n"
                             "#if (PRECISION == 2) && defined(WIDE)\ntypedef double Real;\n#endif\n"
                             "__global__ void k(Real* x) { x[0] = 0; }\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(macros_of_errors(*source), ElementsAre("PRECISION=1", "WIDE"));
}

TEST(BuildMacros, NegationsThatHoldAskForNothing) {
  const auto source = parsed("#define FIXED\n#if !defined DISABLED && defined(HAVE_ALL) && !SLOW\n"
                             "__global__ void k(float* x) {}\n#endif\n"
                             "#if !defined(FIXED) && FAST\n__global__ void other(float* x) {}\n#endif\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(macros_of_kernel(*source, "k"), ElementsAre("HAVE_ALL"));
  EXPECT_THAT(macros_of_kernel(*source, "other"), IsEmpty());
}

TEST(BuildMacros, ThoseAroundCudasHeaders) {
  const auto source = parsed(R"(
#if ENABLE_BF16
#include <cuda_bf16.h>
#endif
#ifdef __HIPCC__
#include <cuda_fp8.h>
#endif
__global__ void k(__nv_bfloat16* x) { x[threadIdx.x] = __nv_bfloat16(0.f); }
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(macros_of_cuda_headers(*source), ElementsAre("ENABLE_BF16"));
}

TEST(BuildMacros, ThoseThatAnErrorAsksFor) {
  const auto source = parsed(R"(
#ifndef LEVEL
#error LEVEL is not set
#endif
#ifdef SINGLE
#undef SINGLE
#define SINGLE 1
#else
#define SINGLE 0
#endif
#if SINGLE + defined(DOUBLE) != 1
#error one precision
#endif
#if __cplusplus < 300000L
#error too early
#endif
#ifdef NEVER
#error not met
#endif
__global__ void k(float* x) { x[0] = 0; }
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(macros_of_demands(*source), ElementsAre("LEVEL", "SINGLE", "DOUBLE"));
}

TEST(BuildMacros, ABuildsOwnMayBeginWithUnderscores) {
  const auto source = parsed("#if defined(__OFFLOAD_CUDA) || defined(__OFFLOAD_HIP)\n"
                             "typedef cudaStream_t stream_type;\n#endif\n"
                             "#ifdef __CUDACC_RTC__\ntypedef int stream_type;\n#endif\n"
                             "void run(stream_type stream);\n__global__ void k(float* x) {}\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(macros_of_errors(*source), ElementsAre("__OFFLOAD_CUDA"));
}

TEST(BuildMacros, ThoseAroundWhatTheErrorsName) {
  const auto source = parsed(R"(
#ifdef ENABLE_PAIRS
struct Pair { float x, y; };
#endif
#ifdef ENABLE_MORE
struct Triple { float x, y, z; };
#endif
__global__ void k(Pair* x, int n) {
#if defined(BY_ROWS)
  if (threadIdx.x < n) x[threadIdx.x].x = 0;
#elif defined(BY_COLUMNS)
  if (threadIdx.x < n) x[threadIdx.x].y = 0;
#else
#error choose one
#endif
}
#ifdef __HIPCC__
#error not for this
#endif
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(macros_of_errors(*source), ElementsAre("ENABLE_PAIRS", "BY_ROWS"));
}

class OpenSource : public testing::Test {
protected:
  void SetUp() override {
    auto folder = TemporaryFolder::create("macros");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
    ASSERT_TRUE(write_file(folder_->path() / ".git/HEAD", "ref: refs/heads/main\n").ok());
    request_.source = folder_->path() / "k.cu";
    request_.kernel = "k";
    ASSERT_TRUE(write_file(request_.source, R"(
#ifdef WITH_GPU
#if USE_HALF
#include <cuda_fp16.h>
#endif
__global__ void k(__half* x, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) x[i] = __float2half(2.f);
}
void launch(__half* x, int n) { k<<<(n + 127) / 128, 128>>>(x, n); }
#endif
)")
                    .ok());
  }
  SubjectRequest request_;
  std::optional<TemporaryFolder> folder_;
};

TEST_F(OpenSource, DefinesWhatTheKernelStandsUnder) {
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_THAT(request_.assumed_macros, ElementsAre("WITH_GPU", "USE_HALF"));
  std::vector<std::string> notes;
  const auto kernel = launched_kernel(request_, **source, notes);
  ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();
  EXPECT_EQ(kernel->launches.size(), 1u);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("WITH_GPU, USE_HALF are defined")));
}

TEST_F(OpenSource, AMacroNamedAfterTheArchitectureIsItsNumber) {
  ASSERT_TRUE(write_file(request_.source, R"(
#if !defined(MY_CUDA_ARCH)
#error "the build defines MY_CUDA_ARCH"
#endif
constexpr int width = MY_CUDA_ARCH >= 900 ? 8 : 4;
__global__ void k(float* x, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i * width < n) x[i * width] = 2;
}
void launch(float* x, int n) { k<<<(n + 127) / 128, 128>>>(x, n); }
)")
                  .ok());
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_THAT(request_.assumed_macros, ElementsAre("MY_CUDA_ARCH=900"));
}

TEST_F(OpenSource, OfOverloadsTheFirstThatIsLaunchedIsTaken) {
  ASSERT_TRUE(write_file(request_.source, R"(
__global__ void k(double* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = 1;
}
__global__ void k(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = 2;
}
void launch(float* x, int n) { k<<<1, 128>>>(x, n); }
)")
                  .ok());
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_EQ(request_.kernel, "k:5");
  EXPECT_THAT(request_.passed_over, ElementsAre("k:2"));
  std::vector<std::string> notes;
  const auto kernel = launched_kernel(request_, **source, notes);
  ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();
  EXPECT_EQ(kernel->launches.size(), 1u);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("k:5 is taken (others: k:2;")));
}

// Of a file that has no kernel otherwise, so that the answer names those that there are.
TEST_F(OpenSource, DefinesWhatAnyKernelStandsUnderWhereTheNameIsWrong) {
  request_.kernel = "kk";
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  std::vector<std::string> notes;
  const auto kernel = launched_kernel(request_, **source, notes);
  ASSERT_FALSE(kernel.ok());
  EXPECT_THAT(kernel.error().sentence(), HasSubstr("it has k"));
}

TEST_F(OpenSource, LeavesWhatIsUndefinedByHand) {
  request_.parse.flags = {"-UWITH_GPU"};
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_THAT(request_.assumed_macros, IsEmpty());
  EXPECT_FALSE(find_kernel(**source, "k").ok());
}

// The build names the header on its own command line; the file that launches the kernel includes it.
TEST_F(OpenSource, ReadsAFileBehindTheHeadersOfTheOneThatLaunchesIt) {
  const auto folder = folder_->path();
  request_.source = folder / "kernels/k.cu";
  ASSERT_TRUE(write_file(request_.source, R"(
__global__ void k(real* x, int n) {
  const int i = blockIdx.x * WIDTH + threadIdx.x;
  if (i < n) x[i] = 2;
}
)")
                  .ok());
  ASSERT_TRUE(write_file(folder / "include/types.h", "typedef float real;\n#define WIDTH 128\n"
                                                     "__global__ void k(real* x, int n);\n")
                  .ok());
  ASSERT_TRUE(write_file(folder / "step.cu", R"(
#include "types.h"
#include "not_there.h"
void launch(real* x, int n) {
#ifdef WITH_GPU
  k<<<(n + WIDTH - 1) / WIDTH, WIDTH>>>(x, n);
#endif
}
)")
                  .ok());
  request_.parse.flags = {"-I" + (folder / "include").string()};
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  std::vector<std::string> notes;
  const auto kernel = launched_kernel(request_, **source, notes);
  ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();
  ASSERT_EQ(kernel->launches.size(), 1u);
  EXPECT_THAT(kernel->launches.front().unreadable, IsEmpty());
  EXPECT_THAT(notes, Contains(HasSubstr("read behind the headers of step.cu, which launches it")));
  EXPECT_THAT(notes, Contains(HasSubstr("WITH_GPU defined for the launch in step.cu")));
}

TEST_F(OpenSource, FindsALaunchThatOnlyTheBuildsMacrosLetTheCompilerSee) {
  ASSERT_TRUE(write_file(request_.source, R"(
__global__ void k(float* x, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) x[i] = 2;
}
void launch(float* x, int n) {
#ifdef WITH_GPU
  k<<<(n + 127) / 128, 128>>>(x, n);
#endif
}
)")
                  .ok());
  const auto launches = [&] {
    const auto source = open_source(request_);
    EXPECT_TRUE(source.ok());
    std::vector<std::string> notes;
    const auto kernel = launched_kernel(request_, **source, notes);
    EXPECT_TRUE(kernel.ok());
    return kernel->launches.size();
  };
  EXPECT_EQ(launches(), 1u);
  request_.parse.flags = {"-UWITH_GPU"};
  EXPECT_EQ(launches(), 0u);
}

// What lies under a condition, and what the compiler drops because a type of its parameters is not known, is
// not said to be absent.
TEST_F(OpenSource, SaysWhyAKernelOfTheTextIsNotThere) {
  const auto why = [&](const std::string& text) {
    EXPECT_TRUE(write_file(request_.source, text).ok());
    const auto source = open_source(request_);
    std::vector<std::string> notes;
    if (!source.ok())
      return source.error().sentence();
    const auto kernel = launched_kernel(request_, **source, notes);
    return kernel.ok() ? "" : kernel.error().sentence();
  };
  EXPECT_THAT(why("#if LEVEL >= 3\n__global__ void k(float* x) { x[0] = 0; }\n#endif\n"),
              HasSubstr("k.cu:2) lies under a condition that does not hold"));
  const std::string lost = why("#include <no/such.h>\n\nnamespace lib = no::such;\n__global__ void\n"
                               "k(lib::Step<float> x, int n) { x(n) = 0; }\n");
  EXPECT_THAT(lost, HasSubstr("k.cu:5"));
  EXPECT_THAT(lost, HasSubstr("add the folder of 'no/such.h'"));
  EXPECT_THAT(why("void k(float* x);\nvoid other();\n"), HasSubstr("it has no function with __global__"));
}

TEST_F(OpenSource, SizesOfTheBuildsCommandAreThoseThatItsFilesHave) {
  ASSERT_TRUE(write_file(request_.source, R"(
__global__ void k(float* x, int n) {
  __shared__ float row[_N_];
  row[threadIdx.x % _N_] = x[threadIdx.x % STEPS] * Width;
  __syncthreads();
  if (threadIdx.x < n) x[threadIdx.x] = row[0];
}
void launch(float* x, int n) { k<<<1, 128>>>(x, n); }
)")
                  .ok());
  ASSERT_TRUE(write_file(folder_->path() / "setup.py", R"(
T_MAX = 2048 # at most
size = settings.size
flags = ["-O3", f"-D_N_={size}", "-DSTEPS=" + str(T_MAX), "-DWidth=12", "-DOTHER=7"]
)")
                  .ok());
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_TRUE(find_kernel(**source, "k")->is_whole());
  EXPECT_THAT(request_.assumed_macros, testing::UnorderedElementsAre("_N_=64", "STEPS=2048", "Width=12"));
}

// A number that a condition asks for is the build's, not the first that would do; the source named from its
// own folder.
TEST_F(OpenSource, WhatAConditionComparesIsAsTheBuildHasIt) {
  ASSERT_TRUE(write_file(folder_->path() / "src/k.cu", R"(
#if PRECISION == 1
typedef float Real;
#endif
#if PRECISION == 2
typedef double Real;
#endif
__global__ void k(Real* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = 0;
}
void launch(Real* x, int n) { k<<<1, 128>>>(x, n); }
)")
                  .ok());
  ASSERT_TRUE(write_file(folder_->path() / "builds/make.type.gas",
                         "#DFLAGS += -DPRECISION=1\nDFLAGS += -DPRECISION=2\n")
                  .ok());
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_->path() / "src");
  request_.source = "k.cu";
  const auto source = open_source(request_);
  std::filesystem::current_path(before);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_THAT(request_.assumed_macros, ElementsAre("PRECISION=2"));
}

// Modes of which there must be one, and what CMake's lists of definitions give with a value.
TEST_F(OpenSource, WhatAnErrorAsksForIsDefinedAsTheBuildHasIt) {
  ASSERT_TRUE(write_file(request_.source, R"(
#ifndef ORDER
#error ORDER is not set
#endif
#if defined(SINGLE) + defined(DOUBLE) != 1
#error one precision
#endif
#ifdef SINGLE
using real = float;
#elif defined(DOUBLE)
using real = double;
#endif
__global__ void k(real* x, SCALAR factor, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = factor * ORDER;
}
void launch(real* x, int n) { k<<<1, 128>>>(x, 2, n); }
)")
                  .ok());
  ASSERT_TRUE(write_file(folder_->path() / "CMakeLists.txt", R"(
foreach(WHICH IN ITEMS 6 8)
  list(APPEND DEFINITIONS OTHER_ORDER=3 ORDER=${WHICH})
endforeach()
if(PRECISION STREQUAL "s")
  list(APPEND DEFINITIONS SINGLE)
endif()
target_compile_definitions(k PRIVATE ${DEFINITIONS})
target_compile_definitions(k PRIVATE SCALAR=double)
message("ORDER=9")
)")
                  .ok());
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  ASSERT_TRUE(find_kernel(**source, "k").ok());
  EXPECT_TRUE(find_kernel(**source, "k")->is_whole());
  EXPECT_THAT(request_.assumed_macros, testing::UnorderedElementsAre("ORDER=6", "SINGLE", "SCALAR=double"));
}

// What device code's linker would bring together.
TEST_F(OpenSource, FunctionsForTheDeviceThatAnotherFileDefinesAreReadBeforeIt) {
  ASSERT_TRUE(write_file(request_.source, R"(
namespace lib { __device__ float step(float x, int n); }
__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = lib::step(x[threadIdx.x], n); }
void launch(float* x, int n) { k<<<1, 128>>>(x, n); }
)")
                  .ok());
  ASSERT_TRUE(write_file(folder_->path() / "a_user.cu", R"(
namespace lib { __device__ float step(float x, int n); }
__device__ float other(float x) { return lib::step(x, 1); }
)")
                  .ok());
  ASSERT_TRUE(write_file(folder_->path() / "b_step.cu", R"(
namespace lib {
__device__ float scale(float x) { return 2 * x; }
__device__ float step(float x, int n) { return scale(x) + n; }
}
)")
                  .ok());
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  std::vector<std::string> notes;
  const auto kernel = launched_kernel(request_, **source, notes);
  ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();
  const auto extracted = extract_kernel(**source, *kernel);
  ASSERT_TRUE(extracted.ok()) << extracted.error().sentence();
  EXPECT_THAT(extracted->text, HasSubstr("return scale(x) + n;"));
  EXPECT_THAT(notes, Contains(HasSubstr("read behind b_step.cu, which defines what it uses on the device")));
}

TEST_F(OpenSource, VariablesOfTheDeviceThatAnotherFileDefinesAreReadBeforeIt) {
  ASSERT_TRUE(write_file(request_.source, R"(
extern __constant__ float lookup[4];
__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= lookup[n % 4]; }
void launch(float* x, int n) { k<<<1, 128>>>(x, n); }
)")
                  .ok());
  ASSERT_TRUE(write_file(folder_->path() / "a_user.cu", R"(
extern __constant__ float lookup[4];
__device__ float other(int n) { return lookup[n]; }
)")
                  .ok());
  ASSERT_TRUE(
      write_file(folder_->path() / "b_lookup.cu", "__constant__ float lookup[4] = {1, 2, 3, 4};\n").ok());
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  std::vector<std::string> notes;
  const auto kernel = launched_kernel(request_, **source, notes);
  ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();
  const auto extracted = extract_kernel(**source, *kernel);
  ASSERT_TRUE(extracted.ok()) << extracted.error().sentence();
  EXPECT_THAT(extracted->text, HasSubstr("lookup[4] = {1, 2, 3, 4};"));
  EXPECT_THAT(notes, Contains(HasSubstr("read behind b_lookup.cu, which defines what it uses")));
}

TEST_F(OpenSource, FunctionsForTheDeviceThatNoFileDefinesAreNamed) {
  ASSERT_TRUE(write_file(request_.source, R"(
__device__ float step(float x, int n);
__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = step(x[threadIdx.x], n); }
void launch(float* x, int n) { k<<<1, 128>>>(x, n); }
)")
                  .ok());
  ASSERT_TRUE(write_file(folder_->path() / "user.cu", "__device__ float step(float x, int n);\n"
                                                      "__device__ float other() { return step(1, 2); }\n")
                  .ok());
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  const auto extracted = extract_kernel(**source, *find_kernel(**source, "k"));
  ASSERT_FALSE(extracted.ok());
  EXPECT_THAT(extracted.error().sentence(), HasSubstr("it uses 'step', a function for the device"));
}

TEST_F(OpenSource, SizesOfAHeaderThatTheBuildWritesAreThoseOfItsPattern) {
  ASSERT_TRUE(write_file(request_.source, R"(
#include "config.h"
__global__ void k(float* x, int n) {
  __shared__ float row[ROW_BYTES / 4];
  row[threadIdx.x % 16] = x[threadIdx.x % STEPS] * WITH_SCALE;
  __syncthreads();
  if (threadIdx.x < n) x[threadIdx.x] = row[0];
}
void launch(float* x, int n) { k<<<1, 128>>>(x, n); }
)")
                  .ok());
  ASSERT_TRUE(write_file(folder_->path() / "config.h.in",
                         "#pragma once\n#define ROW_BYTES @ROW_BYTES@\n#define STEPS 32\n"
                         "#cmakedefine WITH_SCALE\n#define OTHER @OTHER@\n")
                  .ok());
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_TRUE(find_kernel(**source, "k")->is_whole());
  // The header itself is written; a switch is off there, and its value is asked for.
  EXPECT_THAT(request_.assumed_macros, testing::UnorderedElementsAre("WITH_SCALE=1"));
  EXPECT_THAT((*source)->stand_ins(), testing::Contains(testing::HasSubstr("config.h is written as")));
}

TEST_F(OpenSource, WhatNoFileOfTheBuildDefinesStaysUnknown) {
  ASSERT_TRUE(write_file(request_.source, R"(
__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = limit + _N_; }
void launch(float* x, int n) { k<<<1, 128>>>(x, n); }
)")
                  .ok());
  ASSERT_TRUE(write_file(folder_->path() / "setup.py", "limit = 3\nflags = ['-D_N_', '-Dlimits=4']\n").ok());
  const auto source = open_source(request_);
  EXPECT_THAT(request_.assumed_macros, testing::IsEmpty());
  EXPECT_FALSE(source.ok() && find_kernel(**source, "k")->is_whole());
}

TEST_F(OpenSource, ReadsAPartOfAPartWhereTheWholeIs) {
  const auto write = [&](const char* file, const char* text) {
    ASSERT_TRUE(write_file(folder_->path() / file, text).ok());
  };
  request_.source = folder_->path() / "parts/body.hxx";
  write("parts/body.hxx",
        "__global__ void k(Row* x, int n) { if (threadIdx.x < n) x[threadIdx.x].a = 0; }\n");
  write("parts/all.hxx", "#pragma once\n#include \"body.hxx\"\n");
  write("main.cu", "struct Row { float a; };\n#include \"parts/all.hxx\"\n"
                   "void launch(Row* x, int n) { k<<<1, 64>>>(x, n); }\n");
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_EQ((*source)->file().filename(), "main.cu");
}

TEST_F(OpenSource, ReadsAPartWhereTheWholeStandsUnderTheBuildsMacros) {
  const auto write = [&](const char* file, const char* text) {
    ASSERT_TRUE(write_file(folder_->path() / file, text).ok());
  };
  request_.source = folder_->path() / "body.h";
  write("body.h", "__global__ void k(Row* x, int n) { if (threadIdx.x < n) x[threadIdx.x].a = 0; }\n");
  write("main.cu", "#if defined(BUILD_CUDA)\nstruct Row { float a; };\n#endif\n#include \"body.h\"\n"
                   "void launch(Row* x, int n) { k<<<1, 64>>>(x, n); }\n");
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_EQ((*source)->file().filename(), "main.cu");
  EXPECT_THAT(request_.assumed_macros, ElementsAre("BUILD_CUDA"));
}

TEST_F(OpenSource, DefinesWhatTheLaunchNeeds) {
  ASSERT_TRUE(write_file(request_.source, R"(
#ifdef BUILD_CUDA
typedef cudaStream_t stream_type;
#endif
__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 0; }
struct Context { stream_type stream; void run(float* x, int n) { k<<<n / 64, 64, 0, stream>>>(x, n); } };
)")
                  .ok());
  const auto source = open_source(request_);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_THAT(request_.assumed_macros, ElementsAre("BUILD_CUDA"));
  EXPECT_EQ(find_kernel(**source, "k")->launches.size(), 1u);
}

// Without its macro the conversion has nothing but a failure, and so has the kernel.
constexpr const char* FAILING = R"(#include <cassert>
template <class T> __device__ T converted(float x) {
#ifdef WITH_NARROW
  if (sizeof(T) == 1)
    return T(x * 16);
#endif
  assert(false);
  __builtin_unreachable();
}
#ifdef WITH_OTHERS
int other();
#endif
__device__ int unreached() {
  assert(false && "never called");
  return 0;
}
__global__ void k(unsigned char* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = converted<unsigned char>(in[i]);
}
void run(unsigned char* out, const float* in, int n) { k<<<(n + 127) / 128, 128>>>(out, in, n); }
)";

TEST(BuildMacros, WithoutWhichThereIsNothingButAFailure) {
  const auto source = parsed(FAILING);
  ASSERT_TRUE(source);
  EXPECT_THAT(macros_of_failures(*source), ElementsAre("WITH_NARROW"));
  auto folder = TemporaryFolder::create("failing");
  ASSERT_TRUE(folder.ok() && write_file(folder->path() / "k.cu", FAILING).ok());
  SubjectRequest request;
  request.source = folder->path() / "k.cu";
  request.kernel = "k";
  auto opened = open_source(request);
  ASSERT_TRUE(opened.ok()) << opened.error().sentence();
  EXPECT_THAT(request.assumed_macros, ElementsAre("WITH_NARROW"));
  SubjectRequest decided;
  decided.source = request.source;
  decided.kernel = "k";
  decided.parse.flags = {"-UWITH_NARROW"};
  ASSERT_TRUE(open_source(decided).ok());
  EXPECT_THAT(decided.assumed_macros, IsEmpty());
}

} // namespace
} // namespace lathe::refactor
