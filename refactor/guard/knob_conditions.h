// The conditions over knobs that a template's own text makes, and those that the specification's suggest:
// what a sample of configurations must meet both ways, or code that only one configuration in thousands has
// is never looked at.
#pragma once

#include "tuner/spec/spec.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

class KnobConditions {
public:
  // Comparisons and the conditions of `if`, `?:` and `#if` over knobs, sizes of types and constants made of
  // them, each on its own and joined as the text joins them, and those of the specification's launch: a block
  // or a buffer may be too small at one value. What depends on anything else is left out.
  // And for two knobs that a condition of the specification names alone: that both are far from `usual`,
  // their defaults at some problem (none: not known). One changes what the other means there, and a value
  // next to the default, such as one round that is kept, may be too few to show it.
  KnobConditions(const std::string& template_text, const TuningSpec& spec, const KnobValues& usual);

  std::size_t size() const { return conditions_.size(); }
  const Expression& operator[](std::size_t i) const { return conditions_[i]; }
  // Whether each holds; nothing where it cannot be evaluated.
  std::vector<std::optional<bool>> values(const Workload& workload, const KnobValues& knobs) const;

private:
  std::vector<Expression> conditions_;
};

} // namespace lathe::refactor
