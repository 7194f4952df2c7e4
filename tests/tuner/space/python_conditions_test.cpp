// Conditions in Python's own words, as spaces. The counts are Python's, over the product of the lists below.
#include "brute_force.h"

namespace lathe {
namespace {

const std::vector<Parameter> parameters = {{"bx", integers({1, 2, 4, 8, 16, 24, 32, 48, 64})},
                                           {"by", integers({1, 2, 4, 8, 16})},
                                           {"bz", integers({1, 2, 3})},
                                           {"use", {Value{std::string("a")}, Value{std::string("b")}}}};

TEST(PythonConditions, CountWhatPythonCounts) {
  const std::pair<const char*, std::size_t> cases[] = {
      {"lambda p: p['bx'] * p['by'] <= 256", 234},
      {"len([v for v in (bx, by, bz) if v > 1]) <= 2", 142},
      {"(bx, by) not in [(16, 16), (32, 8)]", 258},
      {"bx in range(16, 257, 16)", 120},
      {"bx * by not in range(100, 4 * bz)", 270},
      {"math.log2(bx * by) % 1 == 0", 210},
      {"sum([bx, by, bz]) <= 64 and any(bx % i == 0 for i in [3, 5, 16])", 114},
      {"use is not None and (use == 'a' or bx > 16)", 195},
      {"len(set([bx, by, bz])) == 3", 192},
      {"math.ceil(bx / by) * by - bx in (0, 1, 2)", 216},
      {"max([bx, by]) / min([bx, by]) <= 8", 198},
      {"not (by > 4 and bz in {2, 3}) or bx is None", 198},
      {"math.sqrt(bx * by) == int(math.sqrt(bx * by))", 108},
      {"round(bx / by) % 2 == 0", 228},
      {"all(bx % (i * by) == 0 for i in [1, 2])", 162},
      {"pow(bx, 2) <= 3 * by if bz > 1 else bx >= by", 114},
      {"np.prod([bx, by]) <= 128", 204},
      {"math.gcd(bx, by) == by and math.lcm(bx, bz) <= 64", 184},
  };
  for (const auto& [text, count] : cases) {
    const std::vector<Expression> conditions = parse_all({text}, Dialect::python);
    const Result<Space> space = Space::build(parameters, conditions, {});
    ASSERT_TRUE(space.ok()) << text;
    EXPECT_EQ(space->valid_count().value, static_cast<double>(count)) << text;
    EXPECT_EQ(all_valid_points(parameters, conditions).size(), count) << text;
  }
}

} // namespace
} // namespace lathe
