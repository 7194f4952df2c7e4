// Kernels whose launches stand in another file.
#include "refactor/app/launcher_search.h"

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
  const auto launches = launches_in(folder_->path() / "ops/launch.cu", *kernel, {});
  ASSERT_TRUE(launches.ok()) << launches.error().sentence();
  ASSERT_EQ(launches->size(), 1u);
  EXPECT_EQ(launches->front().block[0], "128");
  EXPECT_EQ(launches->front().arguments.at("n"), "count");
  EXPECT_FALSE(launches_in(folder_->path() / "kernels/other.cu", *kernel, {}).ok());
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

} // namespace
} // namespace lathe::refactor
