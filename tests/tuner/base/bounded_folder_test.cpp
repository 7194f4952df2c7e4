#include "tuner/base/bounded_folder.h"

#include "tuner/base/files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace lathe {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

TEST(BoundedFolder, WhatWasUsedLeastRecentlyGoesWhereThereIsTooMuch) {
  const auto folder = TemporaryFolder::create("test");
  ASSERT_TRUE(folder.ok());
  const fs::path root = folder->path() / "kept";
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 10; ++i) {
    const fs::path file = root / (i % 2 == 0 ? "even" : "odd") / std::to_string(i);
    ASSERT_TRUE(write_file(file, std::string(100, 'x')).ok());
    fs::last_write_time(file, now - 1h + i * 1min);
  }
  keep_below(root, 1000);
  EXPECT_TRUE(fs::exists(root / "even/0")); // not more than the limit
  mark_used(root / "even/0");
  keep_below(root, 800);
  for (int i = 0; i < 10; ++i) // 600 bytes are left: the latest five and what was used
    EXPECT_EQ(fs::exists(root / (i % 2 == 0 ? "even" : "odd") / std::to_string(i)), i == 0 || i > 4) << i;
  mark_used(root / "gone");
  EXPECT_FALSE(fs::exists(root / "gone"));
  keep_below(root / "nowhere", 1);
}

} // namespace
} // namespace lathe
