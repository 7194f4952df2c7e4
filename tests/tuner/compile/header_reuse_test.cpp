// Headers that are precompiled once and used by batch after batch.
#include "tests/tuner/compile/compile_testing.h"
#include "tuner/compile/header_reuse.h"
#include "tuner/compile/toolkit.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace lathe::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* KERNEL = R"(
template <int BLOCK> __global__ void sum(float* out, const float* in) {
  using Reduce = cub::BlockReduce<float, BLOCK>;
  __shared__ typename Reduce::TempStorage storage;
  const float all = Reduce(storage).Sum(in[blockIdx.x * BLOCK + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = all;
}
)";
const std::string INCLUDE = "#include <cub/block/block_reduce.cuh>\n";

std::size_t headers_in(const fs::path& folder) {
  std::error_code failure;
  return static_cast<std::size_t>(
      std::count_if(fs::directory_iterator(folder, failure), fs::directory_iterator(),
                    [](const fs::directory_entry& entry) { return entry.path().extension() == ".pch"; }));
}

CompileJob job(const std::string& source, const std::string& instance) {
  auto request = lathe::test::request(source, {instance});
  const auto toolkit = find_cuda_toolkit();
  EXPECT_TRUE(toolkit.ok());
  const auto given = program_options(request, *toolkit);
  EXPECT_TRUE(given.ok());
  return {source, "kernel.cu", given->options, {instance}, false};
}

TEST(LeadingDirectives, EndAtTheFirstOtherLine) {
  EXPECT_EQ(leading_directives("#include <a>\n\n  // note\n#define B \\\n 1\nint x;\n#include <c>\n"),
            "#include <a>\n\n  // note\n#define B \\\n 1\n");
  EXPECT_EQ(leading_directives("/* one\n two */ #include <a>\nint x;"), "/* one\n two */ #include <a>\n");
  EXPECT_EQ(leading_directives("/* one */ int x;\n#include <a>\n"), "");
  EXPECT_EQ(leading_directives("#include <a>"), "#include <a>");
  EXPECT_EQ(leading_directives(""), "");
}

TEST(HeaderReuse, GivesTheSameCode) {
  const auto toolkit = find_cuda_toolkit();
  ASSERT_TRUE(toolkit.ok());
  const auto nvrtc = Nvrtc::open(toolkit->nvrtc);
  ASSERT_TRUE(nvrtc.ok()) << nvrtc.error().sentence();
  if (!nvrtc->reserve_header_heap())
    GTEST_SKIP() << "this NVRTC precompiles no headers";
  const auto folder = TemporaryFolder::create("test");
  ASSERT_TRUE(folder.ok());
  const HeaderReuse reuse(folder->path()), none("");
  const CompileJob one = job(INCLUDE + KERNEL, "sum<128>"), other = job(INCLUDE + KERNEL, "sum<256>");
  const CompileReply plain = none.compile(*nvrtc, one);
  ASSERT_TRUE(plain.compiled) << plain.log;
  EXPECT_EQ(headers_in(folder->path()), 0u);
  const CompileReply making = reuse.compile(*nvrtc, one);
  EXPECT_EQ(headers_in(folder->path()), 1u);
  const CompileReply using_it = reuse.compile(*nvrtc, one);
  EXPECT_EQ(making.cubin, plain.cubin);
  EXPECT_EQ(using_it.cubin, plain.cubin);
  EXPECT_EQ(using_it.resources[0].registers, plain.resources[0].registers);
  EXPECT_EQ(reuse.compile(*nvrtc, other).cubin, none.compile(*nvrtc, other).cubin);
  EXPECT_EQ(headers_in(folder->path()), 1u);
  // Another beginning is another header; CUDA's own headers are not worth one.
  EXPECT_TRUE(
      reuse.compile(*nvrtc, job("#define OTHER_BEGINNING 1\n" + INCLUDE + KERNEL, "sum<128>")).compiled);
  EXPECT_EQ(headers_in(folder->path()), 2u);
  EXPECT_TRUE(
      reuse.compile(*nvrtc, job("#include <cuda_fp16.h>\n__global__ void k(__half*) {}", "k")).compiled);
  EXPECT_EQ(headers_in(folder->path()), 2u);
}

TEST(HeaderReuse, DoesWithoutWhatCannotBeWritten) {
  const auto toolkit = find_cuda_toolkit();
  ASSERT_TRUE(toolkit.ok());
  const auto nvrtc = Nvrtc::open(toolkit->nvrtc);
  ASSERT_TRUE(nvrtc.ok());
  if (!nvrtc->reserve_header_heap())
    GTEST_SKIP() << "this NVRTC precompiles no headers";
  const CompileJob one = job(INCLUDE + KERNEL, "sum<128>");
  const CompileReply nowhere = HeaderReuse("/proc/nowhere").compile(*nvrtc, one);
  EXPECT_TRUE(nowhere.compiled) << nowhere.log;
  const auto folder = TemporaryFolder::create("test");
  ASSERT_TRUE(folder.ok());
  const HeaderReuse reuse(folder->path());
  EXPECT_EQ(reuse.compile(*nvrtc, one).cubin, nowhere.cubin);
  // A worker that has died while it made one: the others do without.
  for (const auto& entry : fs::directory_iterator(folder->path()))
    if (entry.path().extension() == ".pch")
      fs::remove(entry.path());
  EXPECT_EQ(reuse.compile(*nvrtc, one).cubin, nowhere.cubin);
  EXPECT_EQ(headers_in(folder->path()), 0u);
  // What is wrong with the kernel is told as ever.
  const CompileReply wrong =
      reuse.compile(*nvrtc, job(INCLUDE + "__global__ void k(int* p) { *p = nothing; }", "k"));
  EXPECT_FALSE(wrong.compiled);
  EXPECT_NE(wrong.log.find("\"nothing\" is undefined"), std::string::npos) << wrong.log;
}

} // namespace
} // namespace lathe::test
