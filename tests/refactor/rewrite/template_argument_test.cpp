// Template arguments between C++ and Lathe's expressions.
#include "refactor/rewrite/edits.h"
#include "refactor/rewrite/template_argument.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

TEST(TemplateArgument, PlainTextStays) {
  for (const char* text : {"16", "16 / sizeof({T})", "Op::value", "maximum(3)", "limits::max()", "T"}) {
    EXPECT_EQ(to_template_argument(text), text);
    EXPECT_EQ(fold_extrema(text), text);
  }
}

TEST(TemplateArgument, ExtremaBecomeChoices) {
  EXPECT_EQ(to_template_argument("max(16 / sizeof({T}), (128) / 32)"),
            "((16 / sizeof({T})) > ((128) / 32) ? (16 / sizeof({T})) : ((128) / 32))");
  EXPECT_EQ(to_template_argument("64 / std::min(4, 8)"), "64 / ((4) < (8) ? (4) : (8))");
}

TEST(TemplateArgument, ComparisonsDoNotEndTheList) {
  EXPECT_EQ(to_template_argument("1 > 2 ? 1 : 2"), "(1 > 2 ? 1 : 2)");
  const InstanceName instance = split_instance("k<{T}, " + to_template_argument("1 > (3) ? 1 : 4") + ", 8>");
  EXPECT_EQ(instance.arguments, (std::vector<std::string>{"{T}", "(1 > (3) ? 1 : 4)", "8"}));
  EXPECT_EQ(instance.text(), "k<{T}, (1 > (3) ? 1 : 4), 8>");
}

TEST(TemplateArgument, FoldingIsTheReverse) {
  for (const char* text : {"max(16 / sizeof_T, 128 / 32)", "64 / max(2, 4) * min(3, 5)",
                           "min(16, max(1, sizeof_T * 64))", "max(max(1, 2), min(3, 4))"})
    EXPECT_EQ(fold_extrema(to_template_argument(text)), text);
}

TEST(TemplateArgument, AnotherChoiceIsNotFolded) {
  for (const char* text : {"((a) > (b) ? (a) : (c))", "((a) > (b) ? (b) : (a))", "((a) >= (b) ? (a) : (b))"})
    EXPECT_EQ(fold_extrema(text), text);
}

} // namespace
} // namespace lathe::refactor
