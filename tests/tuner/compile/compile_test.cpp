#include "tests/tuner/compile/compile_testing.h"

#include <filesystem>
#include <fstream>
#include <map>

namespace lathe::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* SCALE = R"(
template <typename T, int BLOCK> __global__ void __launch_bounds__(BLOCK) scale(T* out, const T* in, int n) {
  static_assert(BLOCK != 96);
  __shared__ T tile[BLOCK];
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : T(0);
  __syncthreads();
  if (i < n) out[i] = tile[BLOCK - 1 - threadIdx.x] * T(2);
}
__global__ void plain(int* p) { p[threadIdx.x] = 1; }
extern "C" __global__ void c_name(int* p) { p[threadIdx.x] = 2; }
)";

TEST(Compile, GivesEachInstanceItsNameAndResources) {
  const auto pool = uncached();
  const auto outcomes =
      pool->compile(request(SCALE, {"scale<float, 128>", "scale<double, 256>", "plain", "c_name"}));
  ASSERT_EQ(outcomes.size(), 4u);
  for (const CompileOutcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.ok()) << outcome.message;
    EXPECT_GT(outcome.kernel.resources.registers, 0);
    EXPECT_TRUE(kernel_text_section(*outcome.kernel.cubin, outcome.kernel.entry).ok());
  }
  EXPECT_EQ(outcomes[0].kernel.resources.static_shared, 128 * 4);
  EXPECT_EQ(outcomes[1].kernel.resources.static_shared, 256 * 8);
  EXPECT_EQ(outcomes[2].kernel.resources.static_shared, 0);
  EXPECT_EQ(outcomes[0].kernel.resources.max_threads, 128);
  EXPECT_EQ(outcomes[1].kernel.resources.max_threads, 256);
  EXPECT_EQ(outcomes[2].kernel.resources.max_threads, 1024);
  EXPECT_EQ(outcomes[3].kernel.entry, "c_name");
  EXPECT_EQ(pool->nvrtc_version().substr(0, 3), "13.");
}

TEST(Compile, SpillsAreSeen) {
  const auto pool = uncached();
  auto wanted = request(R"(
__global__ void __launch_bounds__(1024, 2) hungry(float* p) {
  float x[96];
  #pragma unroll
  for (int i = 0; i < 96; ++i) x[i] = p[i * 1024 + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 96; ++i) p[i * 1024 + threadIdx.x] = x[95 - i] * x[(i * 7) % 96];
})",
                        {"hungry"});
  const auto outcomes = pool->compile(wanted);
  ASSERT_TRUE(outcomes[0].ok()) << outcomes[0].message;
  EXPECT_GT(outcomes[0].kernel.resources.spill_bytes, 0);
  EXPECT_LE(outcomes[0].kernel.resources.registers, 32);
}

TEST(Compile, OneFaultyInstanceCostsOnlyItself) {
  const auto pool = uncached();
  std::vector<std::string> instances;
  for (int block = 32; block <= 512; block += 32)
    instances.push_back("scale<float, " + std::to_string(block) + ">");
  instances.push_back("no_such_kernel<3>");
  const auto outcomes = pool->compile(request(SCALE, instances));
  for (std::size_t i = 0; i < instances.size(); ++i)
    if (instances[i] == "scale<float, 96>" || instances[i] == "no_such_kernel<3>") {
      EXPECT_EQ(outcomes[i].kind, CompileOutcome::Kind::error);
      EXPECT_NE(outcomes[i].message.find("cannot compile " + instances[i] + ": "), std::string::npos);
      EXPECT_EQ(outcomes[i].message.find('\n'), std::string::npos);
    } else {
      EXPECT_TRUE(outcomes[i].ok()) << outcomes[i].message;
    }
  EXPECT_NE(outcomes[2].message.find("kernel.cu(3): error: static assertion failed"), std::string::npos)
      << outcomes[2].message;
}

TEST(Compile, TakesNvccsOptions) {
  const auto pool = uncached();
  auto wanted = request("__global__ void k(float* p) { p[0] = VALUE + OTHER; }", {"k"});
  wanted.options = {"-O3",
                    "--expt-relaxed-constexpr",
                    "-Xcompiler",
                    "-fPIC",
                    "-gencode",
                    "arch=compute_80,code=sm_80",
                    "-D",
                    "VALUE=1.0f",
                    "-DOTHER=2",
                    "-Wall",
                    "-std=c++17",
                    "-lineinfo",
                    "-ccbin",
                    "g++",
                    "-use_fast_math"};
  const auto outcomes = pool->compile(wanted);
  EXPECT_TRUE(outcomes[0].ok()) << outcomes[0].log;
  wanted.options = {"-D"};
  const auto incomplete = pool->compile(wanted);
  EXPECT_NE(incomplete[0].message.find("its value is missing"), std::string::npos) << incomplete[0].message;
}

TEST(Compile, SeveralRequestsAtOnceKeepTheirTickets) {
  const auto pool = uncached();
  std::map<std::uint64_t, int> expected;
  for (int i = 0; i < 5; ++i) {
    auto wanted = request(SCALE, {"scale<float, 64>", "plain"});
    wanted.options = {"-DUNUSED=" + std::to_string(i)};
    expected[pool->submit(wanted)] = 2;
  }
  while (const auto finished = pool->next()) {
    EXPECT_TRUE(finished->outcome.ok()) << finished->outcome.message;
    --expected.at(finished->ticket);
  }
  for (const auto& [ticket, left] : expected)
    EXPECT_EQ(left, 0);
  EXPECT_FALSE(pool->next().has_value());
}

TEST(Compile, CancelDropsEverything) {
  const auto pool = uncached();
  std::vector<std::string> instances;
  for (int block = 128; block <= 1024; block += 32)
    instances.push_back("scale<double, " + std::to_string(block) + ">");
  pool->submit(request(SCALE, instances));
  pool->cancel();
  EXPECT_FALSE(pool->next().has_value());
  EXPECT_TRUE(pool->compile(request(SCALE, {"plain"}))[0].ok());
}

class Cache : public testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("cache-test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
    options_.cache_folder = folder_->path() / "cache";
  }
  // Compiles one instance by a new compiler and says whether it came from the cache.
  bool is_cached(const CompileRequest& wanted) {
    const auto outcomes = compiler(options_)->compile(wanted);
    EXPECT_TRUE(outcomes[0].ok()) << outcomes[0].message;
    last_ = outcomes[0].kernel;
    return outcomes[0].kernel.cached;
  }
  std::vector<fs::path> files(const std::string& extension) const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(options_.cache_folder))
      if (entry.is_regular_file() && entry.path().extension() == extension)
        found.push_back(entry.path());
    return found;
  }

  std::optional<TemporaryFolder> folder_;
  CompilerOptions options_;
  CompiledKernel last_;
};

TEST_F(Cache, KnowsWhatItHasAndNothingElse) {
  const CompileRequest wanted = request(SCALE, {"scale<float, 128>"});
  EXPECT_FALSE(is_cached(wanted));
  const CompiledKernel fresh = last_;
  EXPECT_TRUE(is_cached(wanted));
  EXPECT_EQ(*last_.cubin, *fresh.cubin);
  EXPECT_EQ(last_.entry, fresh.entry);
  EXPECT_EQ(last_.resources.registers, fresh.resources.registers);
  EXPECT_EQ(last_.resources.static_shared, fresh.resources.static_shared);
  CompileRequest other = wanted;
  other.architecture = "sm_80";
  EXPECT_FALSE(is_cached(other));
  other = wanted;
  other.options = {"-DX=1"};
  EXPECT_FALSE(is_cached(other));
  other = wanted;
  other.source += " ";
  EXPECT_FALSE(is_cached(other));
  other = wanted;
  other.instances = {"scale<float, 256>"};
  EXPECT_FALSE(is_cached(other));
}

TEST_F(Cache, SeesChangesInIncludedHeaders) {
  const fs::path source = folder_->path() / "kernel.cu";
  CompileRequest wanted = request("#include \"outer.h\"\n__global__ void k(int* p) { p[0] = VALUE; }", {"k"});
  wanted.file_name = source.string();
  ASSERT_TRUE(write_file(folder_->path() / "outer.h", "# include \"deep/inner.h\"\n").ok());
  ASSERT_TRUE(write_file(folder_->path() / "deep/inner.h", "#define VALUE 1\n").ok());
  EXPECT_FALSE(is_cached(wanted));
  EXPECT_TRUE(is_cached(wanted));
  const std::string text = image(last_).text;
  ASSERT_TRUE(write_file(folder_->path() / "deep/inner.h", "#define VALUE 77\n").ok());
  EXPECT_FALSE(is_cached(wanted));
  EXPECT_NE(image(last_).text, text);
  // A header whose name is computed cannot be followed: such a source is compiled every time.
  wanted.source = "#define NAME \"outer.h\"\n#include NAME\n__global__ void k(int* p) { p[0] = VALUE; }";
  EXPECT_FALSE(is_cached(wanted));
  EXPECT_FALSE(is_cached(wanted));
}

TEST_F(Cache, DamagedEntriesAreCompiledAgain) {
  const CompileRequest wanted = request(SCALE, {"scale<float, 128>"});
  EXPECT_FALSE(is_cached(wanted));
  const std::string good = image(last_).text;
  for (const char* extension : {".cubin", ".kernel"}) {
    for (const auto damage : {0, 1, 2}) {
      const std::vector<fs::path> found = files(extension);
      ASSERT_EQ(found.size(), 1u);
      std::string bytes = read_file(found[0]).value();
      if (damage == 0)
        bytes.resize(bytes.size() / 2);
      else if (damage == 1)
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
      else
        bytes.clear();
      ASSERT_TRUE(write_file(found[0], bytes).ok());
      EXPECT_FALSE(is_cached(wanted)) << extension << damage;
      EXPECT_EQ(image(last_).text, good);
      EXPECT_TRUE(is_cached(wanted));
    }
  }
}

TEST_F(Cache, StaysUnderItsLimit) {
  options_.cache_limit = 60000;
  for (int block = 32; block <= 1024; block += 32)
    if (block != 96)
      is_cached(request(SCALE, {"scale<float, " + std::to_string(block) + ">"}));
  compiler(options_);
  std::uintmax_t total = 0;
  for (const char* extension : {".cubin", ".kernel"})
    for (const fs::path& path : files(extension))
      total += fs::file_size(path);
  EXPECT_LE(total, options_.cache_limit);
  EXPECT_GT(total, 0u);
  EXPECT_TRUE(is_cached(request(SCALE, {"scale<float, 1024>"})))
      << "the last one used must be among those kept";
}

TEST_F(Cache, AFolderThatCannotBeUsedCostsOnlyTime) {
  ASSERT_TRUE(write_file(folder_->path() / "file", "in the way").ok());
  options_.cache_folder = folder_->path() / "file/cache";
  EXPECT_FALSE(is_cached(request(SCALE, {"plain"})));
  EXPECT_FALSE(is_cached(request(SCALE, {"plain"})));
}

TEST(CompileKernel, ReportsOneSentence) {
  const auto failed = compile_kernel("__global__ void a(int* p) { *p = 1 }", "a", {}, "sm_90");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().sentence(), "cannot compile a: kernel.cu(1): error: expected a \";\"");
  EXPECT_TRUE(compile_kernel("__global__ void a(int* p) { *p = 1; }", "a", {}, "sm_120").ok());
  EXPECT_FALSE(compile_kernel("__global__ void a(int* p) { *p = 1; }", "a", {}, "sm_42").ok());
}

// What failed once is not asked of the compiler again: what stands beside it keeps its place.
TEST(CompileKernels, FailuresKeepTheirPlacesWhenAskedAgain) {
  const std::string source = R"(
template <int N> __global__ void k(int* p) { static_assert(N % 2 == 0, "N is even"); *p = N; }
)";
  for (int round = 0; round < 2; ++round) {
    const auto kernels = compile_kernels(source, {"k<1>", "k<2>", "k<3>", "k<4>"}, {}, "sm_90");
    ASSERT_EQ(kernels.size(), 4u);
    for (const std::size_t odd : {0u, 2u}) {
      ASSERT_FALSE(kernels[odd].ok());
      EXPECT_EQ(kernels[odd].error().sentence(),
                "cannot compile k<" + std::to_string(odd + 1) +
                    ">: kernel.cu(2): error: static assertion failed with \"N is even\"");
    }
    for (const std::size_t even : {1u, 3u}) {
      ASSERT_TRUE(kernels[even].ok()) << kernels[even].error().sentence();
      EXPECT_NE(kernels[even]->entry, kernels[4 - even]->entry);
    }
  }
  // The same failure under other options is another one.
  EXPECT_TRUE(compile_kernels("__global__ void k() { static_assert(N == 2); }", {"k"}, {"-DN=2"}, "sm_90")
                  .front()
                  .ok());
  EXPECT_FALSE(compile_kernels("__global__ void k() { static_assert(N == 2); }", {"k"}, {"-DN=3"}, "sm_90")
                   .front()
                   .ok());
  EXPECT_TRUE(compile_kernels("__global__ void k() { static_assert(N == 2); }", {"k"}, {"-DN=2"}, "sm_90")
                  .front()
                  .ok());
}

} // namespace
} // namespace lathe::test
