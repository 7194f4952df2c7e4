// Which of its modes a kernel is run in, where its launcher leaves them open.
#include "refactor/app/subject.h"
#include "tuner/base/files.h"

#include <algorithm>
#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::HasSubstr;

Result<Subject> subject_with(const std::string& body, std::vector<std::string> arguments = {}) {
  const auto folder = TemporaryFolder::create("modes");
  EXPECT_TRUE(folder.ok());
  SubjectRequest request;
  request.source = folder->path() / "k.cu";
  request.kernel = "k";
  request.arguments = std::move(arguments);
  EXPECT_TRUE(write_file(request.source, "enum Mode { DEFAULT, SQUARE = 5, TWICE = 2 };\n"
                                         "__global__ void k(float* x, Mode mode, int n) {\n"
                                         "  const int i = blockIdx.x * 128 + threadIdx.x;\n  " +
                                             body +
                                             "\n}\n"
                                             "void launch(float* x, Mode mode, int n) {\n"
                                             "  k<<<(n + 127) / 128, 128>>>(x, mode, n);\n}\n")
                  .ok());
  LATHE_TRY(const auto source, ParsedSource::parse(request.source, {}));
  return prepare_subject(request, *source);
}

std::string mode_of(const Subject& subject) {
  return std::ranges::find(subject.raw.arguments, "mode", &Argument::name)->value.text();
}

TEST(EnumeratedModes, TheFirstThatRuns) {
  const auto subject =
      subject_with("if (mode != SQUARE && mode != TWICE) __trap();\n  if (i < n) x[i] *= mode;");
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(mode_of(*subject), "5");
  EXPECT_THAT(subject->notes, Contains(HasSubstr("mode = 5, as the raw kernel does not run")));
  EXPECT_THAT(subject->notes, testing::Not(Contains(HasSubstr("mode = 0 "))));
}

TEST(EnumeratedModes, TheFirstThatWrites) {
  const auto subject = subject_with("if (mode == TWICE && i < n) x[i] *= 2;");
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(mode_of(*subject), "2");
}

TEST(EnumeratedModes, TheDefaultWhereItRuns) {
  const auto subject = subject_with("if (i < n) x[i] *= mode == TWICE ? 2 : 1;");
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(mode_of(*subject), "0");
}

TEST(EnumeratedModes, WhatIsGivenStays) {
  const auto subject =
      subject_with("if (mode != SQUARE && mode != TWICE) __trap();\n  if (i < n) x[i] *= mode;", {"mode=2"});
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(mode_of(*subject), "2");
}

} // namespace
} // namespace lathe::refactor
