#include "refactor/rewrite/edits.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

TEST(Edits, ApplyInAnyOrderOfTheList) {
  const auto text = apply_edits("abcdef", {{4, 1, "E"}, {0, 2, "AB"}, {6, 0, "!"}});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "ABcdEf!");
}

TEST(Edits, InsertionsAtOnePlaceKeepTheirOrder) {
  const auto text = apply_edits("xy", {{1, 0, "1"}, {1, 0, "2"}, {1, 1, "Y"}});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "x12Y");
}

TEST(Edits, OverlapIsAnErrorThatNamesTheLine) {
  const auto text = apply_edits("one\ntwo\n", {{4, 3, "2"}, {5, 1, "w"}});
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().why.find("line 2"), std::string::npos) << text.error().sentence();
}

TEST(Edits, EndOfTextIsRespected) {
  EXPECT_FALSE(apply_edits("abc", {{2, 2, ""}}).ok());
  EXPECT_FALSE(apply_edits("abc", {{4, 0, "x"}}).ok());
}

TEST(InstanceName, SplitsAtTopLevelCommas) {
  const InstanceName name = split_instance("ns::k<{T}, f<1, 2>, 16 / sizeof({T}), (a < b)>");
  EXPECT_EQ(name.name, "ns::k");
  ASSERT_EQ(name.arguments.size(), 4u);
  EXPECT_EQ(name.arguments[1], "f<1, 2>");
  EXPECT_EQ(name.arguments[2], "16 / sizeof({T})");
  EXPECT_EQ(split_instance("plain").text(), "plain");
  EXPECT_EQ(split_instance("k<a,b>").text(), "k<a, b>");
}

} // namespace
} // namespace lathe::refactor
