// From parameters and conditions to groups of parameters that do not depend on each other.
#pragma once

#include "tuner/base/result.h"
#include "tuner/space/term.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace lathe::space {

// A connected component of parameters and conjuncts, in declaration order.
struct Component {
  std::vector<std::int32_t> parameters;
  std::vector<TermId> conjuncts;
};

// Conditions over parameters, with every name resolved.
struct BoundCondition {
  Expression expression;
  std::vector<std::int32_t> parameter_of_slot; // -1: a constant
  std::vector<Value> constant_of_slot;
};

struct Problem {
  Model model; // domains are already filtered by the conditions over one parameter
  std::vector<BoundCondition> conditions;
  std::vector<Component> components;
  std::unique_ptr<TermPool> pool; // over `model`
  bool contradictory = false;     // some domain is empty; nothing else is filled in then
};

// Checks and simplifies. Errors as Space::build() promises, but for contradictions.
Result<std::unique_ptr<Problem>> make_problem(std::vector<Parameter> parameters,
                                              const std::vector<Expression>& conditions,
                                              const Lookup& constants);

// Finds a value in a list, whatever the type that it is written in: 1, 1.0 and true are the same value.
class ValueIndex {
public:
  // The position of `value`, which is added when it is new.
  std::size_t add(const Value& value);
  std::optional<std::size_t> find(const Value& value) const;

private:
  std::unordered_map<std::int64_t, std::size_t> integers_;
  std::unordered_map<std::uint64_t, std::size_t> reals_; // by bits
  std::unordered_map<std::string, std::size_t> texts_;
  std::size_t size_ = 0;
};

} // namespace lathe::space
