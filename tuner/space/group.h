// One group of parameters that depend on each other and on no others.
#pragma once

#include "tuner/space/diagram.h"
#include "tuner/space/model.h"
#include "tuner/space/sampler.h"

#include <memory>
#include <optional>
#include <vector>

namespace lathe::space {

class Group {
public:
  enum class State { enumerated, sampled, empty, unknown };

  // Enumerates in declaration order or, where that has too many states, in a better one; samples when neither
  // fits into the limits. `unknown`: sampled, and no valid tuple was found.
  static State build(const std::shared_ptr<Problem>& problem, const Component& component,
                     const SolverLimits& limits, std::vector<Group>& groups);

  const std::vector<std::int32_t>& parameters() const { return parameters_; } // in declaration order
  bool is_enumerated() const { return sampler_ == nullptr; }
  Count total() const { return diagram_.total(); } // enumerated
  double count() const { return is_enumerated() ? static_cast<double>(total()) : sampler_->count(); }
  double standard_error() const { return is_enumerated() ? 0 : sampler_->standard_error(); }

  // Every tuple of an enumerated group, one behind the other, ascending.
  std::vector<std::uint16_t> tuples() const;

  // Tuples are in declaration order.
  bool contains(const Tuple& tuple) const;
  Tuple sample(Random& random) const;
  std::vector<Near> near(const Tuple& tuple, int distance, Step step) const;
  Tuple nearest(const Tuple& tuple, Random& random) const;

  // Walks an enumerated group value by value in declaration order.
  class Cursor {
  public:
    explicit Cursor(const Group& group);
    struct Branch {
      std::uint16_t value;
      Count completions;
      std::uint32_t edge;
    };
    // The values that the next parameter may take after those chosen, ascending.
    const std::vector<Branch>& branches();
    void choose(const Branch& branch);
    Count completions() const { return completions_; } // of what was chosen so far

  private:
    void count_by_value();

    const Group* group_;
    std::size_t level_ = 0; // in declaration order
    NodeId node_;
    Count completions_;
    std::vector<Branch> branches_;
    std::vector<std::optional<std::uint16_t>> fixed_; // of each level of the diagram
  };

private:
  Tuple to_levels(const Tuple& tuple) const;
  Tuple from_levels(const Tuple& tuple) const;

  std::vector<std::int32_t> parameters_;
  std::vector<std::size_t> sizes_;    // lengths of the value lists, level by level
  std::vector<std::size_t> level_of_; // of each parameter; the identity when enumerated in declaration order
  bool in_order_ = true;
  Diagram diagram_;
  std::shared_ptr<const Sampler> sampler_;
};

} // namespace lathe::space
