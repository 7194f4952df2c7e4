// The set of valid configurations of a tuning space.
#pragma once

#include "tuner/base/result.h"
#include "tuner/expression/expression.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace lathe {

using Random = std::mt19937_64;

struct Parameter {
  std::string name;
  std::vector<Value> values;
};

// A configuration: for every parameter the index of its value.
using Point = std::vector<std::uint16_t>;

enum class Neighbourhood {
  hamming,  // differs in one parameter, any value
  adjacent, // differs in one parameter by one step in its value list
  wide,     // differs in at most two parameters
};

struct ValidCount {
  double value = 0;
  bool exact = true; // false: estimated by sampling
  double standard_error = 0;
};

struct SpaceOptions {
  std::uint64_t memory_limit_bytes = 200u << 20; // above this the space is sampled, not stored
  // Values tried before the space is sampled; a billion takes some ten seconds.
  std::uint64_t step_limit = 1'000'000'000;
};

// Immutable and safe to share between threads.
class Space {
public:
  // Conditions may mention parameters and the names that `constants` knows. A condition whose evaluation
  // fails for a point (division by zero, overflow) makes that point invalid. Errors: no parameter, an empty
  // or duplicate value list, a condition over an unknown name, no valid point at all (names a condition that
  // excludes everything).
  static Result<Space> build(std::vector<Parameter> parameters, const std::vector<Expression>& conditions,
                             const Lookup& constants = {}, SpaceOptions options = {});
  ~Space();
  Space(Space&&) noexcept;
  Space& operator=(Space&&) noexcept;

  const std::vector<Parameter>& parameters() const;
  double cartesian_size() const;
  ValidCount valid_count() const;
  bool is_enumerated() const; // and fewer than 2^64 are valid: index_of and point are available

  bool contains(const Point& point) const;
  std::optional<std::uint64_t> index_of(const Point& point) const;
  Point
  point(std::uint64_t index) const; // 0 <= index < valid_count; order: lexicographic in declaration order
  // Every valid point, one behind the other, in the order of their indices. For spaces whose points fit into
  // memory, and only where is_enumerated().
  std::vector<std::uint16_t> list() const;
  Point sample(Random& random) const; // uniform over the valid points
  std::vector<Point> neighbours(const Point& point, Neighbourhood neighbourhood) const;
  // A valid point near `point` (which may be invalid); itself when valid. With the fewest parameters changed,
  // and of those the shortest steps in the value lists, where the space is enumerated.
  Point repair(const Point& point, Random& random) const;

  std::vector<Value> values(const Point& point) const;
  std::optional<Point> point_of(const std::vector<Value>& values) const; // nothing for unknown values

  class Implementation;

private:
  explicit Space(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

} // namespace lathe
