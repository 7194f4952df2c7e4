// Random spaces, compared with brute force in everything that a Space promises.
#include "brute_force.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace lathe {
namespace {

std::uint64_t below(Random& random, std::uint64_t bound) {
  return random() % bound;
}

template <class Items> const auto& pick(Random& random, const Items& items) {
  return items[below(random, items.size())];
}

struct RandomSpace {
  std::vector<Parameter> parameters;
  std::vector<std::string> texts;
  Dialect dialect;
};

// Operands and shapes as they occur in tuning spaces, and some that do not.
std::string operand(Random& random, const std::vector<Parameter>& parameters, int depth) {
  if (depth == 0 || below(random, 3) == 0)
    return below(random, 5) == 0 ? std::to_string(static_cast<int>(below(random, 12)) - 2)
                                 : pick(random, parameters).name;
  static const std::array<const char*, 12> operators = {"*", "*", "*",  "+",  "+", "-",
                                                        "/", "%", "//", "<<", "&", "^"};
  static const std::array<const char*, 4> functions = {"min", "max", "ceil_div", "gcd"};
  const std::string left = operand(random, parameters, depth - 1);
  const std::string right = operand(random, parameters, depth - 1);
  if (below(random, 8) == 0)
    return std::string(pick(random, functions)) + "(" + left + ", " + right + ")";
  if (below(random, 12) == 0)
    return "-" + left;
  return "(" + left + " " + pick(random, operators) + " " + right + ")";
}

std::string condition(Random& random, const std::vector<Parameter>& parameters, int depth) {
  static const std::array<const char*, 6> comparisons = {"<=", "<", ">=", ">", "==", "!="};
  switch (below(random, depth > 0 ? 10 : 6)) {
  case 0:
    return operand(random, parameters, 1) + " % " + operand(random, parameters, 2) + " == 0";
  case 1:
    return "2 <= " + operand(random, parameters, 2) + " < 40";
  case 2:
    return operand(random, parameters, 0) + " in [1, 2, " + operand(random, parameters, 1) + "]";
  case 6:
    return "(" + condition(random, parameters, depth - 1) + " || " +
           condition(random, parameters, depth - 1) + ")";
  case 7:
    return condition(random, parameters, depth - 1) + " and " + condition(random, parameters, depth - 1);
  case 8:
    return "not (" + condition(random, parameters, depth - 1) + ")";
  case 9:
    return "(" + condition(random, parameters, depth - 1) + " ? " + condition(random, parameters, depth - 1) +
           " : " + condition(random, parameters, depth - 1) + ")";
  default:
    return operand(random, parameters, 2) + " " + pick(random, comparisons) + " " +
           operand(random, parameters, 1);
  }
}

RandomSpace make_random_space(Random& random, bool only_integers) {
  RandomSpace space;
  space.dialect = below(random, 3) == 0 ? Dialect::python : Dialect::lathe;
  const std::size_t count = 1 + below(random, 6);
  std::uint64_t product = 1;
  for (std::size_t i = 0; i < count; ++i) {
    Parameter parameter{std::string(1, static_cast<char>('a' + i)), {}};
    const std::uint64_t length = 1 + below(random, product > 2000 ? 2 : 7);
    product *= length;
    const std::uint64_t style = below(random, only_integers ? 4 : 7);
    for (std::uint64_t k = 0; k < length; ++k) {
      const auto number = static_cast<std::int64_t>(k);
      if (style == 0)
        parameter.values.push_back(std::int64_t{1} << k);
      else if (style == 1)
        parameter.values.push_back(number - 2);
      else if (style <= 3)
        parameter.values.push_back(8 - number * (1 + static_cast<std::int64_t>(style)));
      else if (style == 4)
        parameter.values.push_back(0.5 * static_cast<double>(number) + 0.25);
      else if (style == 5)
        parameter.values.push_back("v" + std::to_string(k));
      else if (k % 3 == 0)
        parameter.values.push_back(number);
      else if (k % 3 == 1)
        parameter.values.push_back(0.5 + static_cast<double>(k));
      else
        parameter.values.push_back("v" + std::to_string(k));
    }
    space.parameters.push_back(std::move(parameter));
  }
  const std::uint64_t conditions = below(random, 5);
  for (std::uint64_t i = 0; i < conditions; ++i)
    space.texts.push_back(condition(random, space.parameters, 2));
  return space;
}

int hamming(const Point& a, const Point& b) {
  int distance = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    distance += a[i] != b[i] ? 1 : 0;
  return distance;
}

bool are_neighbours(const Point& a, const Point& b, Neighbourhood neighbourhood) {
  const int distance = hamming(a, b);
  if (distance == 0)
    return false;
  if (neighbourhood == Neighbourhood::wide)
    return distance <= 2;
  if (distance > 1)
    return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (neighbourhood == Neighbourhood::adjacent && std::abs(int{a[i]} - int{b[i]}) > 1)
      return false;
  return true;
}

std::string describe(const RandomSpace& space) {
  std::string text = space.dialect == Dialect::python ? "python" : "lathe";
  for (const Parameter& parameter : space.parameters) {
    text.append("\n").append(parameter.name).append(":");
    for (const Value& value : parameter.values)
      text.append(" ").append(to_string(value));
  }
  for (const std::string& condition : space.texts)
    text.append("\n").append(condition);
  return text;
}

Point random_point(Random& random, const std::vector<Parameter>& parameters) {
  Point point;
  for (const Parameter& parameter : parameters)
    point.push_back(static_cast<std::uint16_t>(below(random, parameter.values.size())));
  return point;
}

void check_index(const Space& space, const std::vector<Point>& valid) {
  ASSERT_TRUE(space.is_enumerated());
  ASSERT_TRUE(space.valid_count().exact);
  ASSERT_EQ(space.valid_count().value, static_cast<double>(valid.size()));
  for (std::size_t i = 0; i < valid.size(); ++i) {
    ASSERT_EQ(space.point(i), valid[i]);
    ASSERT_EQ(space.index_of(valid[i]), i);
    ASSERT_EQ(space.point_of(space.values(valid[i])), valid[i]);
  }
  std::vector<std::uint16_t> all;
  for (const Point& point : valid)
    all.insert(all.end(), point.begin(), point.end());
  ASSERT_EQ(space.list(), all);
}

void check_neighbours_and_repair(const Space& space, const std::vector<Point>& valid, const Point& point,
                                 Random& random) {
  const bool is_valid = std::binary_search(valid.begin(), valid.end(), point);
  ASSERT_EQ(space.contains(point), is_valid);
  ASSERT_EQ(space.index_of(point).has_value(), is_valid);
  for (const Neighbourhood neighbourhood :
       {Neighbourhood::hamming, Neighbourhood::adjacent, Neighbourhood::wide}) {
    std::vector<Point> expected;
    std::copy_if(valid.begin(), valid.end(), std::back_inserter(expected),
                 [&](const Point& other) { return are_neighbours(point, other, neighbourhood); });
    ASSERT_EQ(space.neighbours(point, neighbourhood), expected);
  }
  const Point repaired = space.repair(point, random);
  ASSERT_TRUE(std::binary_search(valid.begin(), valid.end(), repaired));
  int nearest = static_cast<int>(point.size());
  for (const Point& other : valid)
    nearest = std::min(nearest, hamming(point, other));
  ASSERT_EQ(hamming(point, repaired), nearest);
}

void check_random_spaces(std::uint64_t seed, int rounds, bool only_integers, int least_interesting) {
  Random random(seed);
  int interesting = 0;
  for (int round = 0; round < rounds; ++round) {
    const RandomSpace definition = make_random_space(random, only_integers);
    SCOPED_TRACE(describe(definition));
    const std::vector<Expression> conditions = parse_all(definition.texts, definition.dialect);
    const std::vector<Point> valid = all_valid_points(definition.parameters, conditions);
    const Result<Space> space = Space::build(definition.parameters, conditions);
    ASSERT_EQ(space.ok(), !valid.empty()) << (space.ok() ? "" : space.error().sentence());
    if (!space.ok()) {
      EXPECT_NE(space.error().why.find("condition \""), std::string::npos) << space.error().sentence();
      continue;
    }
    interesting += valid.size() > 1 && static_cast<double>(valid.size()) < space->cartesian_size() ? 1 : 0;
    ASSERT_NO_FATAL_FAILURE(check_index(*space, valid));
    for (int i = 0; i < 5; ++i) {
      ASSERT_NO_FATAL_FAILURE(check_neighbours_and_repair(*space, valid, pick(random, valid), random));
      ASSERT_NO_FATAL_FAILURE(
          check_neighbours_and_repair(*space, valid, random_point(random, definition.parameters), random));
      ASSERT_TRUE(space->contains(space->sample(random)));
    }
  }
  EXPECT_GE(interesting, least_interesting);
}

TEST(SpaceProperty, AgreesWithBruteForceOnIntegers) {
  check_random_spaces(1, 1500, true, 300);
}

TEST(SpaceProperty, AgreesWithBruteForceOnAllKinds) {
  check_random_spaces(2, 1000, false, 100);
}

// Limits so small that nothing is enumerated: membership, neighbours and repair still hold, counts are
// estimates.
TEST(SpaceProperty, SampledSpacesAgreeWithBruteForce) {
  Random random(3);
  SpaceOptions options;
  options.step_limit = 0;
  int sampled = 0;
  for (int round = 0; round < 150; ++round) {
    const RandomSpace definition = make_random_space(random, round % 2 == 0);
    SCOPED_TRACE(describe(definition));
    const std::vector<Expression> conditions = parse_all(definition.texts, definition.dialect);
    const std::vector<Point> valid = all_valid_points(definition.parameters, conditions);
    const Result<Space> space = Space::build(definition.parameters, conditions, {}, options);
    if (valid.empty()) {
      ASSERT_FALSE(space.ok());
      continue;
    }
    ASSERT_TRUE(space.ok()) << space.error().sentence();
    const ValidCount count = space->valid_count();
    ASSERT_FALSE(space->is_enumerated());
    ASSERT_FALSE(count.exact);
    // Six standard errors, and a little for estimates whose error is zero up to rounding.
    ASSERT_NEAR(count.value, static_cast<double>(valid.size()),
                6 * count.standard_error + 1e-9 * count.value);
    sampled += count.standard_error > 0 ? 1 : 0;
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(space->contains(space->sample(random)));
      const Point point = random_point(random, definition.parameters);
      const bool is_valid = std::binary_search(valid.begin(), valid.end(), point);
      ASSERT_EQ(space->contains(point), is_valid);
      ASSERT_TRUE(space->contains(space->repair(point, random)));
      if (is_valid) {
        ASSERT_EQ(space->repair(point, random), point);
      }
      for (const Neighbourhood neighbourhood :
           {Neighbourhood::hamming, Neighbourhood::adjacent, Neighbourhood::wide})
        for (const Point& other : space->neighbours(point, neighbourhood)) {
          ASSERT_TRUE(are_neighbours(point, other, neighbourhood));
          ASSERT_TRUE(std::binary_search(valid.begin(), valid.end(), other));
        }
    }
  }
  EXPECT_GT(sampled, 20);
}

} // namespace
} // namespace lathe
