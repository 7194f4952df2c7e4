#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include "tuner/base/files.h"
#include "tuner/compile/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Parse, TemplateInNamespaceWithDefaultsAndQualifiers) {
  auto source = parse_text(R"(
#include <cuda_bf16.h>
namespace outer { namespace {
template <typename T, unsigned N = 4>
__global__ void __launch_bounds__(256) scale(const T* __restrict__ in, T* out, int n, float factor) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = T(float(in[i]) * factor * N);
}
} }
__global__ void plain(unsigned char* bytes) { bytes[threadIdx.x] = 0; }
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
  auto kernel = find_kernel(*source, "scale");
  ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();
  EXPECT_THAT(kernel->qualified_name, HasSubstr("outer::"));
  EXPECT_THAT(kernel->location, testing::EndsWith("input.cu:5"));
  ASSERT_EQ(kernel->template_parameters.size(), 2u);
  EXPECT_EQ(kernel->template_parameters[0].type, "typename");
  EXPECT_EQ(kernel->template_parameters[1].name, "N");
  EXPECT_EQ(kernel->template_parameters[1].type, "unsigned int");
  EXPECT_EQ(kernel->template_parameters[1].default_argument, "4");
  ASSERT_EQ(kernel->parameters.size(), 4u);
  EXPECT_TRUE(kernel->parameters[0].is_pointer && kernel->parameters[0].is_const_pointee &&
              kernel->parameters[0].is_restrict);
  EXPECT_EQ(kernel->parameters[0].element, "T");
  EXPECT_FALSE(kernel->parameters[1].is_const_pointee);
  EXPECT_TRUE(kernel->parameters[2].is_integer);
  EXPECT_TRUE(kernel->parameters[3].is_real);
  EXPECT_TRUE(kernel->is_whole());
}

// NVIDIA's own installations: CUDA_HOME/include is a link into CUDA_HOME/targets.
TEST(Parse, TheToolkitsIncludeFolderMayBeALink) {
  namespace fs = std::filesystem;
  const auto toolkit = find_cuda_toolkit();
  ASSERT_TRUE(toolkit.ok()) << toolkit.error().sentence();
  auto folder = TemporaryFolder::create("toolkit");
  ASSERT_TRUE(folder.ok());
  const fs::path home = folder->path(), target = home / "targets" / "x86_64-linux";
  fs::create_directories(target / "include");
  for (const fs::directory_entry& entry : fs::directory_iterator(toolkit->includes.front()))
    fs::create_symlink(entry.path(), target / "include" / entry.path().filename());
  fs::create_symlink("targets/x86_64-linux/include", home / "include");
  fs::create_symlink(toolkit->nvrtc.parent_path(), home / "lib64");
  for (const char* part : {"bin", "nvvm"})
    if (fs::exists(toolkit->home / part))
      fs::create_symlink(toolkit->home / part, home / part);
  const char* before = std::getenv("LATHE_CUDA_HOME");
  const std::string kept = before ? before : "";
  ::setenv("LATHE_CUDA_HOME", home.c_str(), 1);
  auto source =
      parse_text("#include <cuda_fp16.h>\n__global__ void k(__half* x) { x[threadIdx.x] = 1.f; }\n");
  before ? ::setenv("LATHE_CUDA_HOME", kept.c_str(), 1) : ::unsetenv("LATHE_CUDA_HOME");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
  EXPECT_TRUE(find_kernel(*source, "k").ok());
}

TEST(Parse, WhereNoKernelIsFoundTheFirstErrorIsNamed) {
  auto source = parse_text("no_such_type x;\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(why_no_kernel(*source), HasSubstr("unknown type name 'no_such_type'"));
}

TEST(Parse, MissingHeadersAreListedAndDoNotStopIt) {
  auto source = parse_text("#include <no/such/framework.h>\n#include \"missing_too.cuh\"\n"
                           "__global__ void k(float* x) { x[threadIdx.x] += 1.f; }\n"
                           "void host(framework::Tensor t) { t.go(); }\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->missing_headers(), ElementsAre("no/such/framework.h", "missing_too.cuh"));
  EXPECT_FALSE(source->errors().empty());
  const auto kernel = find_kernel(*source, "k");
  ASSERT_TRUE(kernel.ok());
  EXPECT_TRUE(kernel->is_whole()) << kernel->unresolved.front();
}

TEST(Parse, WhatTheKernelMissesIsNamed) {
  auto source = parse_text("__global__ void k(float* x) { x[threadIdx.x] = unknown_constant * 2.f; }\n"
                           "template <class T> __global__ void m(T* x) { lost::helper(x); }\n");
  ASSERT_TRUE(source);
  auto kernel = find_kernel(*source, "k");
  ASSERT_TRUE(kernel.ok());
  ASSERT_FALSE(kernel->is_whole());
  EXPECT_THAT(kernel->unresolved, testing::Contains(HasSubstr("unknown_constant")));
  kernel = find_kernel(*source, "m");
  ASSERT_TRUE(kernel.ok());
  EXPECT_FALSE(kernel->is_whole());
}

TEST(Parse, DeviceModeAndArchitecture) {
  const std::string text =
      "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000\n"
      "__global__ void newest() {}\n"
      "#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900 && __CUDACC_VER_MAJOR__ >= 13\n"
      "__global__ void hopper() {}\n"
      "#else\n__global__ void wrong() {}\n#endif\n";
  auto source = parse_text(text);
  ASSERT_TRUE(source);
  EXPECT_TRUE(find_kernel(*source, "hopper").ok());
  ParseOptions options;
  options.architecture = "sm_100";
  source = parse_text(text, options);
  ASSERT_TRUE(source);
  EXPECT_TRUE(find_kernel(*source, "newest").ok());
}

// Sources that other compilers read too say __host__ __device__ under the macro that nvcc defines.
TEST(Parse, NvccsMacroIsDefined) {
  auto source = parse_text("#ifdef __NVCC__\n#define BOTH __host__ __device__\n#else\n#define BOTH\n#endif\n"
                           "BOTH float twice(float x) { return 2 * x; }\n"
                           "__global__ void k(float* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
}

TEST(Parse, FlagsReachTheSource) {
  ParseOptions options;
  options.flags = {"-O3", "-Xcompiler", "-fPIC", "--expt-relaxed-constexpr", "-D", "WIDTH=8", "-std=c++20"};
  auto source = parse_text("template <int N> concept Even = N % 2 == 0;\n"
                           "template <int N> requires Even<N> __global__ void k(int (&)[WIDTH]) {}\n",
                           options);
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
}

TEST(Parse, CompileDatabase) {
  auto folder = TemporaryFolder::create("test");
  ASSERT_TRUE(folder.ok());
  const auto at = folder->path();
  ASSERT_TRUE(
      write_file(at / "src/a.cu", "#include \"width.h\"\n__global__ void k(int* x) { x[WIDTH] = FLAG; }\n")
          .ok());
  ASSERT_TRUE(write_file(at / "src/b.cu", "__global__ void k() {}\n").ok());
  ASSERT_TRUE(write_file(at / "headers/width.h", "#define WIDTH 3\n").ok());
  ASSERT_TRUE(
      write_file(
          at / "build/compile_commands.json",
          "[{\"directory\": \"" + (at / "build").string() +
              "\", \"command\": \"/usr/local/cuda/bin/nvcc -forward-unknown-to-host-compiler -DFLAG=2 "
              "-I../headers --generate-code=arch=compute_90,code=[sm_90] -x cu -c ../src/a.cu -o a.o\", "
              "\"file\": \"../src/a.cu\"}]")
          .ok());
  ParseOptions options;
  options.compile_database = at / "build";
  auto source = ParsedSource::parse(at / "src/a.cu", options);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_THAT((*source)->errors(), IsEmpty());
  const auto other = ParsedSource::parse(at / "src/b.cu", options);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().failure, Failure::usage);
  EXPECT_THAT(other.error().sentence(), HasSubstr("no compile command"));
}

TEST(Parse, RepositoryHeadersAreFoundWithoutFlags) {
  auto folder = TemporaryFolder::create("test");
  ASSERT_TRUE(folder.ok());
  const auto at = folder->path();
  ASSERT_TRUE(write_file(at / "include/utils.h", "#define WIDTH 3\n").ok());
  ASSERT_TRUE(
      write_file(at / "csrc/moe/a.cu", "#include \"utils.h\"\n__global__ void k(int* x) { x[WIDTH] = 1; }\n")
          .ok());
  auto source = ParsedSource::parse(at / "csrc/moe/a.cu", {});
  ASSERT_TRUE(source.ok());
  EXPECT_THAT((*source)->missing_headers(), IsEmpty());
  EXPECT_THAT((*source)->errors(), IsEmpty());
}

TEST(Parse, SpellingsThatOnlyNvccAcceptsAreChangedInTheCopy) {
  auto source = parse_text(R"(
template <class T> struct Cast { template <int N> static __device__ T to(T x) { return x * N; } };
template <class T> __global__ void k(T* x) {
  int lane;
  asm volatile("mov.s32 %0, %laneid;" : "=r"(lane));
  x[lane] = Cast<T>::to<3>(x[lane]);
}
template __global__ void k<float>(float*);
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
  EXPECT_EQ(source->stand_ins().size(), 2u);
  EXPECT_TRUE(find_kernel(*source, "k")->is_whole());
}

TEST(Parse, RegisterIsLeftOut) {
  const auto source =
      parse_text("__global__ void k(float* x) {\n  register float v = x[0];\n  x[1] = v;\n}\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), testing::IsEmpty());
  EXPECT_THAT(source->stand_ins(), testing::Contains(testing::HasSubstr("register is left out")));
}

TEST(Parse, HeadersThatOtherFilesIncludeBefore) {
  const auto source = parse_text("#include <iosfwd>\n"
                                 "struct Settings {\n  std::string name() const { return \"k\"; }\n};\n"
                                 "__global__ void k(float* x) { x[0] = 0; }\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), testing::IsEmpty());
}

TEST(Parse, StandardTypesOfASourceWithoutHeaders) {
  const auto source = parse_text("typedef unsigned char uint8_t;\ntypedef unsigned long long uint64_t;\n"
                                 "typedef uint64_t word;\n"
                                 "__global__ void k(uint64_t* x, uint8_t* y) { x[0] = word(y[0]); }\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), testing::IsEmpty());
  EXPECT_THAT(source->stand_ins(), testing::Contains(testing::HasSubstr("uint64_t is the standard's own")));
}

// Where a library is missing, what a structure consists of may have no end.
TEST(Parse, StructuresOfUnknownClasses) {
  const auto source =
      parse_text("template <class T> using Vec = Missing::Matrix<T, 3, 1>;\n"
                 "template <class T> struct Box {\n  Vec<T> low, high;\n  Box<T>* next;\n};\n"
                 "template <class T> struct Self { Self<T> inner; Vec<T> own; };\n"
                 "template <class T> __global__ void k(const Box<T>* b, Self<T>* s, float* x) {\n"
                 "  x[0] = 1;\n}\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), testing::Not(testing::IsEmpty()));
  EXPECT_EQ(find_kernels(*source).size(), 1u);
}

TEST(Parse, BlanksInTheBracketsOfALaunch) {
  const auto source = parse_text(R"(
template <int N> __global__ void k(float* x, int n) { x[n] = N; }
void launch(float* x, int n) {
  int shifted = n << 2 > 3;
  k<2> << <n, 64 >> > (x, shifted);
  k<3> << < dim3(n >> 1), dim3(64, 2), 0 >> >(x, n);
}
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), testing::IsEmpty());
  const auto kernel = find_kernel(*source, "k");
  ASSERT_TRUE(kernel.ok());
  ASSERT_EQ(kernel->launches.size(), 2u);
  EXPECT_EQ(kernel->launches[0].grid[0], "n");
  EXPECT_EQ(kernel->launches[1].block[1], "2");
}

TEST(Parse, AnyHeaderOfTorchHasAStandIn) {
  const auto source = parse_text("#include <ATen/cuda/nothing/OfThisName.cuh>\n"
                                 "void run(const at::Tensor& x);\n"
                                 "__global__ void k(float* x) { x[0] = FLT_MAX; }\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), testing::IsEmpty());
  EXPECT_THAT(source->missing_headers(), testing::IsEmpty());
}

TEST(Parse, AnyHeaderOfTvmFfiHasAStandIn) {
  const auto source =
      parse_text("#include <tvm/ffi/extra/cuda/nothing_of_this_name.h>\n"
                 "void run(tvm::ffi::TensorView x) {\n"
                 "  tvm::ffi::CUDADeviceGuard guard(x.device().device_id);\n"
                 "  if (x.ndim() != 2) TVM_FFI_LOG_AND_THROW(ValueError) << \"two of them\";\n"
                 "}\n");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), testing::IsEmpty());
  EXPECT_THAT(source->missing_headers(), testing::IsEmpty());
}

TEST(Parse, BuiltInVariablesThatAreCopiedAreADim3OrAUint3) {
  auto source = parse_text(R"(
template <class B> __device__ int at(int x, B block) { return x * block.x + block.y; }
template <class T> __global__ void k(T* out) {
  const auto thread = threadIdx;
  auto blocks = gridDim;
  out[thread.x] = at(blockDim.x + thread.y, blockDim) + at(1, blockIdx) + blocks.x;
}
template __global__ void k<int>(int*);
void run(int* out) { k<<<1, 64>>>(out); }
)");
  EXPECT_THAT(source->errors(), IsEmpty());
  EXPECT_THAT(source->stand_ins(), Contains(HasSubstr("blockDim is handed on as a dim3")));
  EXPECT_THAT(source->stand_ins(), Contains(HasSubstr("threadIdx is handed on as a uint3")));
  const auto kernel = find_kernel(*source, "k");
  ASSERT_TRUE(kernel.ok());
  EXPECT_TRUE(kernel->is_whole());
}

TEST(Parse, BracesBetweenALaunchsBracketsAreADim3) {
  const auto source = parse_text(R"(
template <int X> __global__ void k(float* x, int n) { x[threadIdx.x] = n; }
void run(float* x, int n) {
  int counts[] = {1, 2};
  k<3><<<n, {32, 4, 1}, 0>>>(x, counts[0]);
  k<4><<<{1, 2}, 32>>>(x, counts[1]);
}
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
  const auto kernel = find_kernel(*source, "k");
  ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();
  ASSERT_EQ(kernel->launches.size(), 2u);
  EXPECT_THAT(kernel->launches[0].block, ElementsAre("32", "4", "1"));
  EXPECT_THAT(kernel->launches[1].grid, ElementsAre("1", "2", "1"));
}

TEST(Parse, WhatHostsAskOpenMpAndMpiForHasAStandIn) {
  const auto source = parse_text(R"(
#include <mpi.h>
#include <omp.h>
__global__ void k(float* x, int n) { x[threadIdx.x] = n; }
void run(float* x, int n, MPI_Comm comm) {
  int rank = 0, size = 1;
  if (MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || comm == MPI_COMM_NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Request requests[2];
  MPI_Irecv(x, n, MPI_FLOAT, (rank + 1) % size, 0, comm, &requests[0]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  const double begin = omp_get_wtime() + MPI_Wtime();
#pragma omp parallel num_threads(omp_get_max_threads())
  k<<<n / 64, 64>>>(x, n);
}
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
  const auto kernel = find_kernel(*source, "k");
  ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();
  EXPECT_EQ(kernel->launches.size(), 1u);
}

TEST(Parse, ChecksOfALoggingLibraryHaveAStandIn) {
  const std::string text = R"(
template <class T> struct Owner {
  T* data;
  __host__ __device__ T* get() const { CHECK(data != nullptr) << "nothing"; return data; }
  void show() const { LOG(INFO) << "at " << data; CHECK_EQ(sizeof(T), 4) << 1; }
};
__global__ void k(Owner<float> x) { x.get()[threadIdx.x] = 0; }
)";
  const auto source = parse_text("#include <glog/logging.h>\n" + text);
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
  EXPECT_THAT(source->stand_ins(), testing::Contains("lathe_logging.h stands in for <glog/logging.h>"));
  const auto without = parse_text(text);
  ASSERT_TRUE(without);
  EXPECT_THAT(without->errors(), testing::Not(IsEmpty()));
}

TEST(FindKernel, NamespacesWithoutANameNeedNotBeSpoken) {
  const auto source =
      parse_text("namespace lib { namespace { __global__ void k(float* x) { x[0] = 1; } } }\n");
  ASSERT_TRUE(source);
  EXPECT_TRUE(find_kernel(*source, "lib::k").ok());
  EXPECT_TRUE(find_kernel(*source, "lib::(anonymous namespace)::k").ok());
  EXPECT_FALSE(find_kernel(*source, "other::k").ok());
}

TEST(FindKernel, AmbiguousAndUnknownNamesAreSentences) {
  auto source =
      parse_text("namespace a { __global__ void k(float*) {} }\nnamespace b { __global__ void k(int*) {} }\n"
                 "__global__ void over(int*) {}\n__global__ void over(float*) {}\n");
  ASSERT_TRUE(source);
  EXPECT_EQ(find_kernels(*source).size(), 4u);
  auto found = find_kernel(*source, "k");
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().sentence(), HasSubstr("a::k:1, b::k:2"));
  EXPECT_TRUE(find_kernel(*source, "b::k").ok());
  EXPECT_TRUE(find_kernel(*source, "over:4").ok());
  EXPECT_TRUE(find_kernel(*source, "a::*").ok());
  found = find_kernel(*source, "none");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().failure, Failure::usage);
  EXPECT_THAT(found.error().sentence(), HasSubstr("it has a::k, b::k, over, over"));
}

TEST(FindKernel, DeclarationThenDefinitionIsOneKernelAndMacrosMakeKernels) {
  auto source =
      parse_text("template <class T> __global__ void k(T* x);\n"
                 "template <class T> __global__ void k(T* x) { *x = 1; }\n"
                 "#define UNARY(name, op) __global__ void name##_kernel(float* x) { *x = op(*x); }\n"
                 "UNARY(sine, sinf)\nUNARY(exponential, expf)\n");
  ASSERT_TRUE(source);
  const auto kernels = find_kernels(*source);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_THAT(kernels[0].location, testing::EndsWith(":2"));
  EXPECT_EQ(kernels[1].name, "sine_kernel");
  EXPECT_THAT(kernels[2].location, testing::EndsWith(":5"));
}

TEST(Kernels, NumbersOfComputedTypeAreThoseOfTheInstances) {
  const auto source = parse_text(R"(
template <class T> struct wide { using type = float; };
template <> struct wide<double> { using type = double; };
template <class T> __global__ void k(T* out, const typename wide<T>::type scale) { out[0] = scale; }
template __global__ void k<float>(float*, float);
)");
  ASSERT_NE(source, nullptr);
  const auto kernel = find_kernel(*source, "k");
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->parameters[1].type, "float");
  EXPECT_TRUE(kernel->parameters[1].is_real);
}

bool is_read_as(const ParsedSource& source, const std::string& standard) {
  const std::vector<std::string>& command = source.command();
  return std::find(command.begin(), command.end(), "-std=" + standard) != command.end();
}

TEST(Parse, SourcesOfCxx20AreReadSo) {
  for (const std::string text :
       {"template <class T> concept Number = sizeof(T) > 1;\n"
        "template <Number T> __global__ void k(T* x) { x[threadIdx.x] += T(1); }\n",
        "template <class T> __device__ T twice(T x) requires(sizeof(T) == 4) { return x + x; }\n"
        "__global__ void k(float* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }\n",
        "#include <type_traits>\n"
        "template <class T> __global__ void k(T* x) { std::remove_cvref_t<T> one = 1; x[threadIdx.x] = one; "
        "}\n",
        "#if __cplusplus < 202002L\n#error \"C++20 is needed\"\n#endif\n__global__ void k(float* x) {}\n"}) {
    const auto source = parse_text(text);
    ASSERT_TRUE(source);
    EXPECT_THAT(source->errors(), IsEmpty()) << text;
    EXPECT_TRUE(is_read_as(*source, "c++20")) << text;
    EXPECT_FALSE(is_read_as(*source, "c++17")) << text;
  }
}

TEST(Parse, OtherErrorsAndStatedStandardsStayWithCxx17) {
  const auto unknown = parse_text("__global__ void k(float* x) { x[threadIdx.x] = nowhere(1); }\n");
  ASSERT_TRUE(unknown);
  EXPECT_TRUE(is_read_as(*unknown, "c++17"));
  const auto in_vain = parse_text("__global__ void k(float* x) { x[threadIdx.x] = std::nowhere(1); }\n");
  ASSERT_TRUE(in_vain);
  EXPECT_TRUE(is_read_as(*in_vain, "c++17"));
  ParseOptions stated;
  stated.flags = {"-std=c++17"};
  const auto decided =
      parse_text("template <class T> concept Any = true;\n__global__ void k(float* x) {}\n", stated);
  ASSERT_TRUE(decided);
  EXPECT_FALSE(decided->errors().empty());
  EXPECT_TRUE(is_read_as(*decided, "c++17"));
}

class InRepository : public testing::Test {
protected:
  void SetUp() override {
    auto folder = TemporaryFolder::create("repository");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
    write(".git/HEAD", "ref: refs/heads/main\n");
  }
  void write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(write_file(folder_->path() / file, text).ok());
  }
  std::optional<TemporaryFolder> folder_;
};

TEST_F(InRepository, HeadersThatLieElsewhereInItAreFound) {
  write("kernels/math/scale.cuh",
        "#include \"detail/factor.h\"\n__device__ float scale(float x) { return FACTOR * x; }\n");
  write("kernels/parts/detail/factor.h", "#define FACTOR 3\n");
  // Of two the one that is nearer, and not one of another folder's.
  write("old/copy/math/scale.cuh", "__device__ float scale(int x, int y);\n");
  write("kernels/other/scale.cuh", "#error not this one\n");
  write("kernels/bind/gpu/k.cu", "#include \"math/scale.cuh\"\n#include \"no/such.h\"\n"
                                 "__global__ void k(float* x) { x[threadIdx.x] = scale(x[threadIdx.x]); }\n");
  const auto source = ParsedSource::parse(folder_->path() / "kernels/bind/gpu/k.cu", {});
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_THAT((*source)->errors(), IsEmpty());
  EXPECT_THAT((*source)->missing_headers(), ElementsAre("no/such.h"));
}

TEST_F(InRepository, OfHeadersForSeveralCompilersThoseForCudaAreTaken) {
  write("syntax/acc/marks.h", "#define FOR_DEVICES\n");
  write("syntax/cu/marks.h", "#define FOR_DEVICES __device__\n");
  write("src/k.cu", "#include \"marks.h\"\nFOR_DEVICES float twice(float x) { return 2 * x; }\n"
                    "__global__ void k(float* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }\n");
  const auto source = ParsedSource::parse(folder_->path() / "src/k.cu", {});
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_THAT((*source)->errors(), IsEmpty());
}

TEST_F(InRepository, WhatLeavesAsManyErrorsIsNotTaken) {
  write("host/tools.h", "struct Tools;\n#error not for devices\n");
  write("gpu/k.cu", "#include <tools.h>\n__global__ void k(Unknown* x) { x[threadIdx.x] = 0; }\n");
  const auto source = ParsedSource::parse(folder_->path() / "gpu/k.cu", {});
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_THAT((*source)->missing_headers(), ElementsAre("tools.h"));
}

TEST_F(InRepository, HeadersThatTheBuildWritesAreWrittenFromTheirPatterns) {
  write("inc/config.hpp.cmake",
        "#pragma once\n// @PROJECT_NAME@\n#define DEBUG @DEBUG@\n#define ROWS ${ROWS}\n"
        "#cmakedefine DOUBLE_PRECISION\n#cmakedefine01 WIDE\n"
        "#ifdef DOUBLE_PRECISION\ntypedef double Real;\n#else\ntypedef float Real;\n#endif\n");
  write("gpu/k.cu", "#include \"config.hpp\"\n#if DEBUG || WIDE\n#error\n#endif\n"
                    "__global__ void k(Real* x) { x[threadIdx.x % ROWS] = 0; }\n");
  const auto source = ParsedSource::parse(folder_->path() / "gpu/k.cu", {});
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_THAT((*source)->errors(), IsEmpty());
  EXPECT_THAT((*source)->stand_ins(), Contains(HasSubstr("config.hpp is written as config.hpp.cmake says")));
  const auto kernel = find_kernel(**source, "k");
  ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();
  EXPECT_EQ(kernel->parameters[0].element_number, "float");
}

TEST_F(InRepository, PatternsThatLeaveAsManyErrorsAreNot) {
  write("gpu/config.h.in", "#define ROWS @ROWS@\n#error not for devices\n");
  write("gpu/k.cu", "#include \"config.h\"\n__global__ void k(Unknown* x) { x[threadIdx.x] = 0; }\n");
  const auto source = ParsedSource::parse(folder_->path() / "gpu/k.cu", {});
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_THAT((*source)->missing_headers(), ElementsAre("config.h"));
}

TEST(Parse, MemoryOfPyTorchsAllocatorIsKnown) {
  const auto source = parse_text(R"(
#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
inline void* room(size_t bytes, cudaStream_t stream) {
  at::globalContext().lazyInitCUDA();
  return c10::cuda::CUDACachingAllocator::raw_alloc_with_stream(bytes, stream);
}
inline void drop(void* room) { c10::cuda::CUDACachingAllocator::raw_delete(room); }
__global__ void k(float* x) { x[threadIdx.x] = 0; }
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
}

TEST(Parse, WhatNvccBuildsInIsThere) {
  const auto source = parse_text(R"(
struct Log { void say(int n) { printf("%d", n); } }; // of the host's, in a text that includes nothing
__global__ void k(unsigned short* out, double x, unsigned value) {
  __stcs(out, value);
  out[1] = __signbit(x) ? 1 : 0;
  printf("%d", out[0]);
}
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
}

TEST(Parse, RestrictOfArrayParametersIsLeftOut) {
  const auto source = parse_text(R"(
template <int N> __device__ float sum(const __restrict__ float row[4 * N], const float __restrict__ other[4]) {
  return row[0] + other[0];
}
__global__ void k(float* __restrict__ x) { x[0] = sum<2>(x, x + 8); }
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
  EXPECT_THAT(source->stand_ins(), testing::Contains(HasSubstr("__restrict__ is left out")));
}

// Nothing instantiates the template, and what is read as comparisons is right as such.
TEST(Parse, TemplateIsNamedInWhatNobodyInstantiates) {
  const auto source = parse_text(R"(
template <int N> struct Row {
  float* at;
  template <int M> __device__ float sum(int from, int to) { return at[from] + at[to] * M * N; }
  template <int M> static __device__ float half(float x) { return x / M; }
  int length = 3;
};
struct Half { float x; };
__device__ bool operator<(Half one, Half other) { return one.x < other.x; }
__device__ bool operator>(Half one, Half other) { return one.x > other.x; }
template <int N> __global__ void k(float* x) {
  Row<N> row{x};
  x[0] = row.sum<N>(1, 2) + Row<N>(row).sum<2>(0, (3)) + Row<N>::half<2>(x[3]);
  if (row.length < N || N > (x[1] < 2.f)) x[2] = 0.f;
}
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
  EXPECT_THAT(source->stand_ins(), testing::SizeIs(3)) << "one for each call";
  EXPECT_THAT(source->stand_ins(), testing::Each(HasSubstr("named with `template`")));
}

TEST(Parse, WhatCubNoLongerHasIsSupplied) {
  const auto source = parse_text(R"(
namespace cub { struct Kept {}; }
__global__ void k(unsigned* x) {
  x[threadIdx.x] = cub::LaneId() + (cub::LaneMaskLt() & 1u) + cub::Int2Type<4>::VALUE;
  cub::CTA_SYNC();
}
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), testing::IsEmpty());
  EXPECT_THAT(source->stand_ins(), testing::Contains(testing::HasSubstr("lathe_earlier_cub.h")));
}

// Clang suggests another function of that name, and names the place by its qualifier then.
TEST(Parse, OperatorsThatCubNoLongerHas) {
  const auto source = parse_text(R"(
namespace cuda { template <class T = void> struct maximum {}; }
namespace cub { struct DeviceReduce { static void Max(); }; template <class T> void reduce(T) {} }
void f() { cub::reduce(cub::Max{}); cub::reduce(cub::Max()); }
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), testing::IsEmpty());
  EXPECT_THAT(source->stand_ins(), testing::Contains(testing::HasSubstr("cub::Max is no longer in cub")));
}

TEST(Parse, WhatCubNeverHadIsAnError) {
  const auto source = parse_text(R"(
namespace cub { struct Kept {}; }
__global__ void k(unsigned* x) { x[threadIdx.x] = cub::NoSuchLane(); }
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), testing::Not(testing::IsEmpty()));
}

} // namespace
} // namespace lathe::refactor
