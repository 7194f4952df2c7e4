// Which bytes a template must write, and which it need not.
#include "refactor/guard/trial_comparison.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

class Accesses : public testing::Test {
protected:
  // One buffer of four bytes, of which the raw kernel writes all and the template the first two.
  std::string compare(Direction direction, const std::vector<std::byte>& templated,
                      const std::vector<std::byte>& raw) {
    Workload workload;
    workload.spec = &spec_;
    workload.buffers = {{"state", "u8", direction, 4, {}}};
    workload.parameters = {{true, 0, "u8", {}}};
    TrialResult own, reference;
    own.contents = {templated};
    reference.contents = {raw};
    own.accesses = {{0, {}, {{0, 2}}, 0}};
    reference.accesses = {{0, {}, {{0, 4}}, 0}};
    return compare_accesses(workload, own, reference);
  }

  static std::vector<std::byte> bytes(int last) {
    return {std::byte{1}, std::byte{2}, std::byte{3}, static_cast<std::byte>(last)};
  }

  TuningSpec spec_;
};

TEST_F(Accesses, WhatIsStoredAsItWasMayBeLeft) {
  EXPECT_EQ(compare(Direction::inout, bytes(4), bytes(4)), "");
}

TEST_F(Accesses, WhatChangesMayNot) {
  EXPECT_EQ(compare(Direction::inout, bytes(4), bytes(5)),
            "does not write byte 3 of 'state', which the raw kernel does");
}

TEST_F(Accesses, AnOutputIsWrittenWhateverItHeld) {
  EXPECT_EQ(compare(Direction::out, bytes(4), bytes(4)),
            "does not write byte 2 of 'state', which the raw kernel does");
}

} // namespace
} // namespace lathe::refactor
