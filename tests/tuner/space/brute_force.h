// The slow and obvious way, to compare with.
#pragma once

#include "tuner/space/space.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lathe {

inline std::vector<Value> integers(std::vector<std::int64_t> values) {
  return {values.begin(), values.end()};
}

inline std::vector<Expression> parse_all(const std::vector<std::string>& texts,
                                         Dialect dialect = Dialect::lathe) {
  std::vector<Expression> expressions;
  for (const std::string& text : texts) {
    Result<Expression> parsed = Expression::parse(text, dialect);
    EXPECT_TRUE(parsed.ok()) << text << ": " << (parsed.ok() ? "" : parsed.error().sentence());
    expressions.push_back(parsed.ok() ? *parsed : Expression());
  }
  return expressions;
}

// Every valid point, in lexicographic order: each condition is evaluated on each point of the product.
inline std::vector<Point> all_valid_points(const std::vector<Parameter>& parameters,
                                           const std::vector<Expression>& conditions,
                                           const Lookup& constants = {}) {
  std::vector<Point> valid;
  Point point(parameters.size(), 0);
  const Lookup lookup = [&](std::string_view name) -> std::optional<Value> {
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].name == name)
        return parameters[i].values[point[i]];
    return constants ? constants(name) : std::nullopt;
  };
  while (true) {
    bool holds = true;
    for (const Expression& condition : conditions) {
      const Result<bool> result = condition.evaluate_condition(lookup);
      holds = holds && result.ok() && *result;
    }
    if (holds)
      valid.push_back(point);
    std::size_t i = parameters.size();
    while (i > 0 && ++point[i - 1] == parameters[i - 1].values.size())
      point[--i] = 0;
    if (i == 0)
      return valid;
  }
}

} // namespace lathe
