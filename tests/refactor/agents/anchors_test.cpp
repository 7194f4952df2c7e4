// Grounded edits: what a coder may change, byte for byte.
#include "refactor/agents/anchors.h"

#include <gtest/gtest.h>

namespace lathe::refactor::agents {
namespace {

const std::string base = "one\ntwo\nthree\nfour\nfive\nsix\n";

std::vector<Anchor> two_spans() {
  const auto anchors =
      read_anchors(base, "one\n// <<<IMPROVE BEGINS a>>>\ntwo\n// <<<IMPROVE ENDS a>>>\nthree\n"
                         "<<<IMPROVE BEGINS b>>>\nfour\nfive\n<<<IMPROVE ENDS b>>>\nsix\n");
  EXPECT_TRUE(anchors.ok()) << (anchors.ok() ? "" : anchors.error().sentence());
  return anchors.ok() ? *anchors : std::vector<Anchor>{};
}

TEST(Anchors, AreReadWithTheirLines) {
  const auto anchors = two_spans();
  ASSERT_EQ(anchors.size(), 2u);
  EXPECT_EQ(base.substr(anchors[0].begin, anchors[0].end - anchors[0].begin), "two\n");
  EXPECT_EQ(base.substr(anchors[1].begin, anchors[1].end - anchors[1].begin), "four\nfive\n");
  EXPECT_EQ(anchors[1].first_line, 4);
  EXPECT_EQ(anchors[1].last_line, 5);
  const auto again = read_anchors(base, mark(base, anchors));
  ASSERT_TRUE(again.ok()) << again.error().sentence();
  EXPECT_EQ((*again)[1].begin, anchors[1].begin);
}

TEST(Anchors, MalformedOnesAreRefused) {
  const std::string begins = "<<<IMPROVE BEGINS>>>\n", ends = "<<<IMPROVE ENDS>>>\n";
  const std::vector<std::string> wrong{
      base,                                                                    // none
      begins + base,                                                           // unbalanced
      base + ends,                                                             // ends without a beginning
      begins + ends + base,                                                    // empty
      begins + "one\n" + begins + "two\n" + ends + "three\nfour\nfive\nsix\n", // nested
      begins + "one\n" + ends + begins + "two\n" + ends + "three\nfour\nfive\nsix\n", // one name twice
      "one <<<IMPROVE BEGINS>>>\ntwo\n" + ends + "three\nfour\nfive\nsix\n",          // not alone on its line
      begins + "ONE\n" + ends + "two\nthree\nfour\nfive\nsix\n", // the kernel was changed
  };
  for (const std::string& text : wrong)
    EXPECT_FALSE(read_anchors(base, text).ok()) << text;
}

TEST(Anchors, ChangesInsideAreAccepted) {
  const auto anchors = two_spans();
  for (const char* changed : {"one\ntwo\nthree\nfour\nfive\nsix\n", "one\nTWO\nthree\nFOUR\nsix\n",
                              "one\n\nthree\nsix\n", "one\nthree\nthree\nthree\nsix\n"})
    EXPECT_TRUE(check_grounded(base, anchors, changed).ok()) << changed;
}

// Every byte outside the spans, changed, removed or doubled.
TEST(Anchors, AnyByteChangedOutsideIsRejected) {
  const auto anchors = two_spans();
  int tried = 0;
  for (std::size_t i = 0; i < base.size(); ++i) {
    if ((i >= anchors[0].begin && i < anchors[0].end) || (i >= anchors[1].begin && i < anchors[1].end))
      continue;
    std::string changed = base;
    changed[i] = '#';
    EXPECT_FALSE(check_grounded(base, anchors, changed).ok()) << "byte " << i << " changed";
    ++tried;
    std::string removed = base;
    removed.erase(i, 1);
    EXPECT_FALSE(check_grounded(base, anchors, removed).ok()) << "byte " << i << " removed";
  }
  EXPECT_EQ(tried, static_cast<int>(std::string("one\nthree\nsix\n").size()));
  EXPECT_FALSE(check_grounded(base, anchors, "zero\n" + base).ok());
  EXPECT_FALSE(check_grounded(base, anchors, base + "seven\n").ok());
}

TEST(Anchors, AMarkerThatIsLeftIsRejected) {
  const auto anchors = two_spans();
  EXPECT_FALSE(check_grounded(base, anchors, mark(base, anchors)).ok());
}

TEST(Anchors, SpansThatOverlapInTheAnswerAreRejected) {
  const auto anchors = read_anchors("a\nb\na\n", "<<<IMPROVE BEGINS>>>\na\nb\n<<<IMPROVE ENDS>>>\na\n");
  ASSERT_TRUE(anchors.ok());
  EXPECT_TRUE(check_grounded("a\nb\na\n", *anchors, "a\n").ok());
  EXPECT_FALSE(check_grounded("a\nb\na\n", *anchors, "").ok());
}

TEST(Anchors, LinesBecomeASpan) {
  const auto anchors = anchor_lines(base, 2, 3);
  ASSERT_TRUE(anchors.ok());
  EXPECT_EQ(base.substr(anchors->front().begin, anchors->front().end - anchors->front().begin),
            "two\nthree\n");
  EXPECT_FALSE(anchor_lines(base, 3, 9).ok());
  EXPECT_FALSE(anchor_lines(base, 0, 1).ok());
}

} // namespace
} // namespace lathe::refactor::agents
