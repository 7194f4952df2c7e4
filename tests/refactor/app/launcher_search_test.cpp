// Kernels whose launches stand in another file.
#include "refactor/app/launcher_search.h"

#include "refactor/app/files_near.h"
#include "refactor/app/launched_kernel.h"
#include "refactor/app/subject.h"
#include "tuner/base/files.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::HasSubstr;

class LauncherSearch : public testing::Test {
protected:
  void SetUp() override {
    auto folder = TemporaryFolder::create("launcher");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
    write(".git/HEAD", "ref: refs/heads/main\n"); // what lies beside the folder is not looked at
    write("kernels/scale.cu", "namespace lib {\n"
                              "__global__ void scale(float* x, float by, int n) {\n"
                              "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                              "  if (i < n) { x[i] = x[i] * by; }\n"
                              "}\n}\n");
    write("kernels/scale.cuh",
          "namespace lib { __global__ void scale(float* data, float factor, int count); }\n");
    write("kernels/other.cu", "// scale is described here, and never launched: scale(1)\n");
    write("ops/launch.cu", "#include \"../kernels/scale.cuh\"\n"
                           "namespace lib {\n"
                           "void run(float* data, int count) {\n"
                           "  scale<<<(count + 127) / 128, 128>>>(data, 2.f, count);\n"
                           "}\n}\n");
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(folder_->path() / name, text).ok());
  }
  std::optional<TemporaryFolder> folder_;
};

TEST_F(LauncherSearch, FindsTheFileThatLaunches) {
  const auto found = launching_files(folder_->path() / "kernels/scale.cu", "scale");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].filename(), "launch.cu");
}

TEST_F(LauncherSearch, ArgumentsAreNamedAfterTheKernelsOwnParameters) {
  const auto source = ParsedSource::parse(folder_->path() / "kernels/scale.cu", {});
  ASSERT_TRUE(source.ok());
  const auto kernel = find_kernel(**source, "scale");
  ASSERT_TRUE(kernel.ok());
  std::vector<std::string> notes;
  const auto launches = launches_in(folder_->path() / "ops/launch.cu", *kernel, {}, notes);
  ASSERT_TRUE(launches.ok()) << launches.error().sentence();
  ASSERT_EQ(launches->size(), 1u);
  EXPECT_EQ(launches->front().block[0], "128");
  EXPECT_EQ(launches->front().arguments.at("n"), "count");
  EXPECT_FALSE(launches_in(folder_->path() / "kernels/other.cu", *kernel, {}, notes).ok());
}

TEST_F(LauncherSearch, ASubjectIsLaunchedAsInTheFileThatWasFound) {
  SubjectRequest request;
  request.source = folder_->path() / "kernels/scale.cu";
  request.kernel = "scale";
  const auto source = ParsedSource::parse(request.source, {});
  ASSERT_TRUE(source.ok());
  const auto subject = prepare_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(subject->raw.launch.block[0].text(), "128");
  EXPECT_THAT(subject->notes, Contains(HasSubstr("launched as in launch.cu")));
}

TEST_F(LauncherSearch, AKernelThatIsOnlyDeclaredIsReadInTheFileThatDefinesIt) {
  SubjectRequest request;
  request.source = folder_->path() / "kernels/scale.cuh";
  request.kernel = "scale";
  const auto source = open_source(request);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_EQ(request.source, folder_->path() / "kernels/scale.cu");
  std::vector<std::string> notes;
  const auto kernel = launched_kernel(request, **source, notes);
  ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();
  EXPECT_EQ(kernel->parameters[1].name, "by"); // the definition's
  EXPECT_EQ(kernel->launches.size(), 1u);
  EXPECT_THAT(notes, Contains("read in scale.cu, which defines it: scale.cuh only declares it"));
}

TEST_F(LauncherSearch, ADeclaredKernelsWorkloadLiesBesideTheFileThatWasNamed) {
  write("kernels/scale.workload.json", "{}");
  write("device/scale.cuh",
        "namespace lib { __global__ void scale(float* data, float factor, int count); }\n");
  write("device/scale.workload.json", "{}");
  SubjectRequest request;
  request.source = folder_->path() / "device/scale.cuh";
  request.kernel = "scale";
  ASSERT_TRUE(open_source(request).ok());
  EXPECT_EQ(request.source, folder_->path() / "kernels/scale.cu");
  EXPECT_EQ(request.workload, folder_->path() / "device/scale.workload.json");
}

TEST_F(LauncherSearch, AnotherKernelOfTheNameIsNotTheDeclaredOne) {
  write("kernels/scale.cuh",
        "namespace lib { __global__ void scale(double* data, double factor, int count); }\n");
  SubjectRequest request;
  request.source = folder_->path() / "kernels/scale.cuh";
  request.kernel = "scale";
  const auto source = open_source(request);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  std::vector<std::string> notes;
  const auto kernel = launched_kernel(request, **source, notes);
  ASSERT_FALSE(kernel.ok());
  EXPECT_THAT(kernel.error().sentence(), HasSubstr("scale.cuh only declares it"));
  EXPECT_THAT(kernel.error().sentence(), HasSubstr("kernels/scale.cu"));
}

TEST_F(LauncherSearch, FindsLaunchesOfAKernelWhoseAddressAFunctionReturns) {
  write("kernels/shift.h", "struct Settings { float* x; int n, way; };\n"
                           "template <class T> void* choose(const Settings& s);\n");
  write("kernels/shift.cu", "#include \"shift.h\"\n"
                            "namespace {\n"
                            "template <class T, int way> __global__ void shift(Settings s) {\n"
                            "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                            "  if (i < s.n) { s.x[i] += static_cast<T>(way); }\n}\n"
                            "}\n"
                            "template <class T> void* choose(const Settings& s) {\n"
                            "  if (s.way == 1) { return (void*)shift<T, 1>; }\n"
                            "  if (s.way == 2) { return (void*)shift<T, 2>; }\n"
                            "  return nullptr;\n}\n"
                            "template void* choose<float>(const Settings& s);\n");
  write("ops/shift.cpp", "#include \"../kernels/shift.h\"\n"
                         "void run(float* x, int count, int way) {\n"
                         "  Settings s;\n  s.x = x;\n  s.n = count;\n  s.way = way;\n"
                         "  void* kernel = choose<float>(s);\n"
                         "  void* arguments[] = {&s};\n"
                         "  cudaLaunchKernel(kernel, (count + 63) / 64, 64, arguments, 0, 0);\n}\n");
  SubjectRequest request;
  request.source = folder_->path() / "kernels/shift.cu";
  request.kernel = "shift";
  const auto source = ParsedSource::parse(request.source, {});
  ASSERT_TRUE(source.ok());
  const auto subject = prepare_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(subject->raw.launch.block[0].text(), "64");
  EXPECT_THAT(subject->notes, Contains(HasSubstr("launched as in shift.cpp, which asks choose for it")));
}

TEST_F(LauncherSearch, FindsLaunchesThroughAMacro) {
  write("kernels/shift.cuh", "__global__ void shift(float* x, int n) {\n"
                             "  if (threadIdx.x < n) { x[threadIdx.x] += 1; }\n}\n");
  write("ops/macro.cu", "#include \"../kernels/shift.cuh\"\n"
                        "#define LAUNCH(KERNEL, n, ...) KERNEL<<<(n + 63) / 64, 64>>>(__VA_ARGS__)\n"
                        "void run(float* x, int count) { LAUNCH(shift, count, x, count); }\n");
  SubjectRequest request;
  request.source = folder_->path() / "kernels/shift.cuh";
  request.kernel = "shift";
  const auto source = ParsedSource::parse(request.source, {});
  ASSERT_TRUE(source.ok());
  const auto subject = prepare_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(subject->raw.launch.block[0].text(), "64");
}

TEST_F(LauncherSearch, FindsLaunchersInOtherBranchesOfTheTree) {
  write("common/cuda/deep.cuh", "__global__ void deep(float* x) { x[threadIdx.x] = 1; }\n");
  write("bindings/cuda/deep.cu",
        "#include \"../../common/cuda/deep.cuh\"\nvoid run(float* x) { deep<<<1, 32>>>(x); }\n");
  const auto found = launching_files(folder_->path() / "common/cuda/deep.cuh", "deep");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].filename(), "deep.cu");
}

TEST_F(LauncherSearch, StopsAtTheRepositorysRoot) {
  write("ours/.git/HEAD", "ref\n");
  write("ours/only.cu", "__global__ void only(float* x) { x[threadIdx.x] = 1; }\n");
  write("theirs/launch.cu", "void run(float* x) { only<<<1, 32>>>(x); }\n");
  EXPECT_TRUE(launching_files(folder_->path() / "ours/only.cu", "only").empty());
}

TEST_F(LauncherSearch, APartOfAFileIsReadWithTheFileThatIncludesIt) {
  write("parts/body.cuh",
        "__global__ void body(real* x, int n) {\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) x[i] = LIMIT;\n}\n");
  write("parts/notes.cu", "// #include \"body.cuh\"\n");
  write("parts/whole.cu", "typedef float real;\n#define LIMIT 3\n#include \"body.cuh\"\n"
                          "void run(real* x, int n) { body<<<(n + 63) / 64, 64>>>(x, n); }\n");
  const auto found = including_files(folder_->path() / "parts/body.cuh");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].filename(), "whole.cu");
  SubjectRequest request;
  request.source = folder_->path() / "parts/body.cuh";
  request.kernel = "body";
  const auto source = open_source(request);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  const auto subject = prepare_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(subject->raw.launch.block[0].text(), "64");
  EXPECT_THAT(subject->notes, Contains(HasSubstr("read as a part of whole.cu")));
}

TEST_F(LauncherSearch, WhatTheKernelCallsMayNeedTheIncludingFileToo) {
  write("parts/filter.cu",
        "inline __device__ byte clamped(float v) { return (byte)(v > 255.f ? 255.f : v); }\n"
        "__global__ void filter(unsigned char* x, int n) {\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) x[i] = clamped(2.f * x[i]);\n}\n");
  write("parts/program.cu", "typedef unsigned char byte;\n#include \"filter.cu\"\n"
                            "void run(byte* x, int n) { filter<<<(n + 63) / 64, 64>>>(x, n); }\n");
  SubjectRequest request;
  request.source = folder_->path() / "parts/filter.cu";
  request.kernel = "filter";
  const auto source = open_source(request);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  const auto subject = prepare_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_THAT(subject->raw.text, HasSubstr("typedef unsigned char byte"));
}

// A header whose launcher is a template: what it is used with stands in a file that includes it, and so does
// what the launcher needs.
TEST_F(LauncherSearch, AHeaderWithALauncherIsReadWhereItIsUsed) {
  write("parts/apply.cuh",
        "template <class F> __global__ void apply(float* x, int n, F f) {\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) x[i] = f(x[i]);\n}\n"
        "template <class F> void run(const std::vector<int>&, float* x, int n, F f) {\n"
        "  apply<<<(n + 63) / 64, 64>>>(x, n, f);\n}\n");
  write("parts/use.cu", "#include <vector>\n#include \"apply.cuh\"\n"
                        "struct Twice { __device__ float operator()(float v) const { return 2 * v; } };\n"
                        "void use(float* x) { run(std::vector<int>{64}, x, 64, Twice()); }\n");
  SubjectRequest request;
  request.source = folder_->path() / "parts/apply.cuh";
  request.kernel = "apply";
  const auto source = open_source(request);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  const auto subject = prepare_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(subject->raw.launch.block[0].text(), "64");
  EXPECT_THAT(subject->raw.instance, HasSubstr("Twice"));
  EXPECT_THAT(subject->notes, Contains(HasSubstr("read as a part of use.cu")));
}

TEST_F(LauncherSearch, AGridIsComputedByAnotherFile) {
  write("ops/grid.h", "dim3 grid_for(unsigned long n);\n");
  write("ops/grid.c", "#include \"grid.h\"\n"
                      "#define THREADS 512\n"
                      "dim3 grid_for(unsigned long n) {\n"
                      "  unsigned long blocks = (n - 1) / THREADS + 1;\n"
                      "  dim3 grid = {(unsigned)blocks, 1, 1};\n"
                      "  return grid;\n"
                      "}\n");
  write("ops/twice.cu", "#include \"grid.h\"\n"
                        "__global__ void twice(float* x, int n) {\n"
                        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                        "  if (i < n) { x[i] *= 2; }\n"
                        "}\n"
                        "void run(float* x, int n) { twice<<<grid_for(n), 512>>>(x, n); }\n");
  SubjectRequest request;
  request.source = folder_->path() / "ops/twice.cu";
  request.kernel = "twice";
  const auto source = ParsedSource::parse(request.source, {});
  ASSERT_TRUE(source.ok());
  const auto subject = extract_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(subject->raw.launch.grid[0].text(), "(n - 1) / 512 + 1");
  EXPECT_THAT(subject->notes, Contains("grid_for as in grid.c"));
}

TEST_F(LauncherSearch, AMethodOfAnotherFileSaysHowManyBlocks) {
  write("ops/runtime.h", "struct Runtime { int blocks(int n) const; int threads; };\n");
  write("ops/runtime.cpp", "#include \"runtime.h\"\n"
                           "int Runtime::blocks(int n) const { return (n + threads - 1) / threads; }\n");
  write("ops/thrice.cu", "#include \"runtime.h\"\n"
                         "__global__ void thrice(float* x, int n) {\n"
                         "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         "  if (i < n) { x[i] *= 3; }\n"
                         "}\n"
                         "void run(const Runtime& runtime, float* x, int n) {\n"
                         "  const int blocks = runtime.blocks(n);\n"
                         "  thrice<<<blocks, runtime.threads>>>(x, n);\n"
                         "}\n");
  SubjectRequest request;
  request.source = folder_->path() / "ops/thrice.cu";
  request.kernel = "thrice";
  const auto source = ParsedSource::parse(request.source, {});
  ASSERT_TRUE(source.ok());
  const auto subject = extract_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_THAT(subject->raw.launch.grid[0].names(), testing::UnorderedElementsAre("n", "runtime_threads"));
}

TEST_F(LauncherSearch, ACallerInAnotherFileHandsTheGridOver) {
  write("ops/wrap.h", "void half_f(dim3 grid, dim3 block, float* x, int n);\n"
                      "inline void half_of(dim3 grid, dim3 block, float* x, int n) {\n"
                      "  half_f(grid, block, x, n);\n"
                      "}\n");
  write("ops/half.cu", "#include \"wrap.h\"\n"
                       "__global__ void half_kernel(float* x, int n) {\n"
                       "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                       "  if (i < n) { x[i] /= 2; }\n"
                       "}\n"
                       "void half_f(dim3 grid, dim3 block, float* x, int n) {\n"
                       "  half_kernel<<<grid, block>>>(x, n);\n"
                       "}\n");
  write("ops/shape.cc", "void shape(int n, dim3* grid, dim3* block) {\n"
                        "  *block = dim3(128);\n"
                        "  *grid = dim3((n + 127) / 128);\n"
                        "}\n");
  write("ops/vector.cc", "#include \"wrap.h\"\n"
                         "void shape(int n, dim3* grid, dim3* block);\n"
                         "template <typename Real> struct Vector {\n"
                         "  Real* data;\n"
                         "  int dim;\n"
                         "  int size() const { return dim; }\n"
                         "  void halve() {\n"
                         "    dim3 grid, block;\n"
                         "    shape(size(), &grid, &block);\n"
                         "    half_of(grid, block, data, size());\n"
                         "  }\n"
                         "};\n");
  SubjectRequest request;
  request.source = folder_->path() / "ops/half.cu";
  request.kernel = "half_kernel";
  const auto source = ParsedSource::parse(request.source, {});
  ASSERT_TRUE(source.ok());
  const auto subject = extract_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(subject->raw.launch.block[0].text(), "128");
  ASSERT_EQ(subject->raw.dimensions.size(), 1u);
  EXPECT_THAT(subject->notes, Contains(HasSubstr("launched as in vector.cc")));
}

TEST_F(LauncherSearch, ALaunchThatCannotBeReadNamesTheSizesThatItMayBeGivenOver) {
  write("ops/alone.cu",
        "__global__ void alone(float* x, int rows, float by) { x[threadIdx.x * rows] = by; }\n");
  SubjectRequest request;
  request.source = folder_->path() / "ops/alone.cu";
  request.kernel = "alone";
  const auto source = ParsedSource::parse(request.source, {});
  ASSERT_TRUE(source.ok());
  const auto subject = extract_subject(request, **source);
  ASSERT_FALSE(subject.ok());
  EXPECT_THAT(subject.error().sentence(), HasSubstr("over rows, such as --grid rows"));
}

// A number that an including file says is not guessed.
TEST_F(LauncherSearch, AnInstanceOfAnIncludingFileGoesBeforeNumbersThatCompile) {
  write("ops/rows.cuh",
        "#pragma once\n"
        "template <int WIDTH> __global__ void k(float* x, int n) {\n"
        "  const int i = blockIdx.x * 128 + threadIdx.x;\n"
        "  if (i < n) x[i] = WIDTH;\n"
        "}\n"
        "template <int WIDTH> void run(float* x, int n) { k<WIDTH><<<(n + 127) / 128, 128>>>(x, n); }\n");
  const auto instance = [&] {
    SubjectRequest request;
    request.source = folder_->path() / "ops/rows.cuh";
    request.kernel = "k";
    const auto source = ParsedSource::parse(request.source, {});
    EXPECT_TRUE(source.ok());
    const auto subject = extract_subject(request, **source);
    return subject.ok() ? subject->raw.instance : subject.error().sentence();
  };
  EXPECT_EQ(instance(), "k<128>");
  write("ops/rows.cu", "#include \"rows.cuh\"\ntemplate void run<24>(float*, int);\n");
  EXPECT_EQ(instance(), "k<24>");
}

// A framework's class that is not there takes its methods with it, and what they launch.
TEST_F(LauncherSearch, ALauncherWithErrorsLeavesAKernelThatTakesAnElementEach) {
  const auto prepared = [&](const std::string& kernel) {
    write("ops/index.cu",
          kernel + "void Index::run(lib::Handle const& handle) { k<<<blocks(n_), 256>>>(data_, n_); }\n");
    SubjectRequest request;
    request.source = folder_->path() / "ops/index.cu";
    request.kernel = "k";
    const auto source = ParsedSource::parse(request.source, {});
    EXPECT_TRUE(source.ok());
    return extract_subject(request, **source);
  };
  const auto subject = prepared("__global__ void k(float* x, int n) {\n"
                                "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                "  if (i < n) x[i] *= 2;\n"
                                "}\n");
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(subject->raw.launch.grid[0].text(), "ceil_div(n, 256)");
  EXPECT_THAT(subject->notes, Contains(HasSubstr("nothing in sight launches k")));
  const auto shared = prepared("__global__ void k(float* x, int n) {\n"
                               "  __shared__ float tile[256];\n"
                               "  tile[threadIdx.x] = x[threadIdx.x];\n"
                               "  __syncthreads();\n"
                               "  x[threadIdx.x] = tile[n - threadIdx.x];\n"
                               "}\n");
  ASSERT_FALSE(shared.ok());
  EXPECT_THAT(shared.error().sentence(), HasSubstr("nothing in this file that is understood launches it"));
}

TEST_F(LauncherSearch, AnErrorThatAsksForAMacroIsQuoted) {
  write("ops/wide.cu", "#ifdef WIDTH\n"
                       "using Wide = float;\n"
                       "#else\n"
                       "#error WIDTH must be 32 or 64\n"
                       "#endif\n"
                       "__global__ void wide(Wide* x) { x[threadIdx.x] = 0; }\n"
                       "void run(float* x) { wide<<<1, 32>>>(x); }\n");
  SubjectRequest request;
  request.source = folder_->path() / "ops/wide.cu";
  request.kernel = "wide";
  const auto source = ParsedSource::parse(request.source, {});
  ASSERT_TRUE(source.ok());
  const auto subject = extract_subject(request, **source);
  ASSERT_FALSE(subject.ok());
  EXPECT_THAT(subject.error().sentence(), HasSubstr("#error WIDTH must be 32 or 64"));
}

TEST_F(LauncherSearch, OverloadsOfAnotherFileUnderTheBuildsMacros) {
  write("ops/sizes.h", "#ifdef WITH_CUDA\nint most_threads(const void* kernel);\n#endif\n"
                       "dim3 grid_of(long n, int threads);\n"
                       "dim3 grid_of(long n, const void* kernel);\n");
  write("ops/sizes.cu", "#include \"sizes.h\"\n"
                        "dim3 grid_of(long n, const void* kernel) {\n"
                        "  return grid_of(n, most_threads(kernel) / 4);\n"
                        "}\n"
                        "dim3 grid_of(long n, int threads) { return dim3((n + threads - 1) / threads); }\n"
                        "int most_threads(const void* kernel) { return 1024; }\n");
  write("ops/twice.cu", "#include \"sizes.h\"\n"
                        "template <int BY> __global__ void times(float* x, int n) {\n"
                        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                        "  if (i < n) { x[i] *= BY; }\n"
                        "}\n"
                        "template <int BY> void run(float* x, int n) {\n"
                        "  const void* kernel = (const void*)times<BY>;\n"
                        "  times<BY><<<grid_of(n, kernel), 256>>>(x, n);\n"
                        "}\n"
                        "void twice(float* x, int n) { run<2>(x, n); }\n");
  SubjectRequest request;
  request.source = folder_->path() / "ops/twice.cu";
  request.kernel = "times";
  const auto source = ParsedSource::parse(request.source, {});
  ASSERT_TRUE(source.ok());
  const auto subject = extract_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  const auto blocks = subject->raw.launch.grid[0].evaluate_integer(
      [](std::string_view) { return std::optional<Value>(std::int64_t{1000}); });
  ASSERT_TRUE(blocks.ok()) << subject->raw.launch.grid[0].text();
  EXPECT_EQ(*blocks, 4) << subject->raw.launch.grid[0].text();
}

TEST_F(LauncherSearch, ClosuresOfAFileThatCallsTheKernelsHelper) {
  write("loops/each.cuh", "#pragma once\n"
                          "template <class F> __global__ void each_kernel(int n, F what) {\n"
                          "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                          "  if (i < n) { what(i); }\n"
                          "}\n"
                          "template <class F> void for_each(int n, F what) {\n"
                          "  each_kernel<<<(n + 63) / 64, 64>>>(n, what);\n"
                          "}\n");
  write("loops/all.h", "#include \"each.cuh\"\n");
  write("ops/add.cu", "#include \"../loops/all.h\"\n"
                      "void add(float* out, const float* in, int n) {\n"
                      "  for_each(n, [=] __device__(int i) { out[i] += in[i]; });\n"
                      "}\n");
  write("loops/old.cu", "#include \"each.cuh\"\n// for_each(n, 1);\n");
  SubjectRequest request;
  request.source = folder_->path() / "loops/each.cuh";
  request.kernel = "each_kernel";
  ASSERT_EQ(calling_files(request.source, "each_kernel").size(), 1u);
  const auto source = ParsedSource::parse(request.source, {});
  ASSERT_TRUE(source.ok());
  const auto subject = extract_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  std::vector<std::string> names;
  for (const Argument& argument : subject->raw.arguments)
    names.push_back(argument.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("n", "what_out", "what_in"));
  EXPECT_THAT(subject->notes, Contains(HasSubstr("is written as a structure, each_kernel_closure_1")));
}

// What lies beside it in a folder like /tmp is somebody else's.
TEST_F(LauncherSearch, WhatAnybodyMayWriteIsNotLookedAt) {
  write("shared/mine/k.cu", "__global__ void k(float* x) { x[threadIdx.x] = 0; }\n");
  write("shared/mine/deep/launch.cu", "// k<<<\n");
  write("shared/others/launch.cu", "// k<<<\n");
  const auto near = [&] {
    std::vector<std::string> names;
    for (const auto& file : files_near(folder_->path() / "shared/mine/k.cu", {".cu"}))
      names.push_back(file.lexically_relative(folder_->path() / "shared").string());
    return names;
  };
  EXPECT_THAT(near(), Contains("others/launch.cu"));
  namespace fs = std::filesystem;
  fs::permissions(folder_->path() / "shared", fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(near(), testing::ElementsAre("mine/deep/launch.cu"));
}

} // namespace
} // namespace lathe::refactor
