// Which products of sizes lose bits that the raw kernel has.
#include "refactor/guard/index_arithmetic.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

const std::string TOKEN = "blockIdx.x", HEADS = "parameter 8", SIZE = "parameter 9", PLACES = "parameter 10";

// A page of the cache by its number, which is loaded, and a head by a counter's quotient.
const SizeProduct PAGE{{HEADS, SIZE, PLACES}, {HEADS, SIZE, PLACES}, {}, true, true, 64};
const SizeProduct HEAD{{SIZE, PLACES}, {SIZE, PLACES}, {SIZE}, true, false, 32};

TEST(SizeProducts, ACounterMayStartBehindASize) {
  const SizeProduct head{{HEADS, SIZE, PLACES}, {SIZE, PLACES}, {HEADS, SIZE}, true, false, 32};
  EXPECT_EQ(bits_lost(head, {PAGE, HEAD}), 0u);
  EXPECT_EQ(bits_lost(head, {PAGE}), 64u);
}

TEST(SizeProducts, WhatTheRawKernelComputesInMoreBitsKeepsThem) {
  SizeProduct page = PAGE;
  page.bits = 32;
  EXPECT_EQ(bits_lost(page, {PAGE, HEAD}), 64u);
  EXPECT_EQ(bits_lost(page, {PAGE, HEAD, page}), 0u);
  EXPECT_EQ(bits_lost(PAGE, {PAGE, HEAD}), 0u);
}

TEST(SizeProducts, AnotherNarrowProductOfTheSizesIsNoExcuse) {
  SizeProduct page = PAGE;
  page.bits = 32;
  const SizeProduct all{{HEADS, SIZE, PLACES}, {SIZE, PLACES}, {HEADS}, true, false, 32};
  EXPECT_EQ(bits_lost(page, {PAGE, all}), 64u);
}

TEST(SizeProducts, ABlocksNumberIsNoCounter) {
  const SizeProduct wide{{TOKEN, SIZE}, {TOKEN, SIZE}, {}, false, false, 64};
  const SizeProduct rows{{TOKEN, SIZE}, {SIZE}, {TOKEN}, true, false, 32};
  const SizeProduct narrow{{HEADS, SIZE}, {SIZE}, {HEADS}, true, false, 32};
  EXPECT_EQ(bits_lost(rows, {wide, narrow}), 64u);
}

TEST(SizeProducts, AreToldByAllThatTheyAreMadeOf) {
  EXPECT_EQ(PAGE.text(), "parameter 10 * parameter 8 * parameter 9");
}

} // namespace
} // namespace lathe::refactor
