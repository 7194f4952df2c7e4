// Helpers whose every way has to do what they say, as no run of a template need take each.
#include "refactor/rewrite/helper_texts.h"
#include "tests/tuner/measure/host_executor/support.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

constexpr int ROOM = 64, PLACES = 17;

// In a row of its own for each place from 0 to 16, COUNT elements from there on are 1, 2, ..., and no others.
template <class T> void expect_stored(const std::string& type, int count) {
  const std::string values = "lathe_packed<" + type + ", " + std::to_string(count) + ">";
  const std::string kernel = std::string(PACKED_STORE_HELPERS) + "__global__ void k(" + type +
                             "* out, const " + type + "* in, int n) {\n  " + values +
                             " values;\n  for (int i = 0; i < " + std::to_string(count) +
                             "; ++i) values.element[i] = i + 1;\n  for (int place = 0; place < n; ++place) "
                             "lathe_store_packed(values, out + place * " +
                             std::to_string(ROOM) + " + static_cast<int>(in[place]));\n}\n";
  std::vector<T> places, expected(ROOM * PLACES, T{0});
  for (int place = 0; place < PLACES; ++place) {
    places.push_back(static_cast<T>(place));
    for (int i = 0; i < count; ++i)
      expected[static_cast<std::size_t>(place * ROOM + place + i)] = static_cast<T>(i + 1);
  }
  EXPECT_EQ(testing::run<T>(kernel, testing::shape(1, 1), expected.size(), places, {}, testing::checked()),
            expected)
      << values;
}

TEST(HelperTexts, PackedStoresGoToAlignedPlacesAndToOthers) {
  expect_stored<unsigned char>("unsigned char", 8);
  expect_stored<unsigned char>("unsigned char", 16);
  expect_stored<unsigned char>("unsigned char", 3);
  expect_stored<float>("float", 4);
  expect_stored<float>("float", 8);
}

} // namespace
} // namespace lathe::refactor
