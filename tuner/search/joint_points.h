// Points as a kernel reads many of them against one: by the values that groups of parameters have together.
#pragma once

#include "tuner/space/space.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lathe::search {

class CandidatePool;

// A covariance that is a product over parameters takes one look-up a parameter. Parameters have few values,
// so that several of them make one table of what they have together, and a point is one number a group.
class JointPoints {
public:
  struct Group {
    std::vector<std::size_t> parameters;
    std::size_t begin = 0, count = 0; // of its combinations, among those of all groups
  };

  // The groups follow from the parameters alone; there is one at least.
  explicit JointPoints(const std::vector<Parameter>& parameters);

  void assign(const CandidatePool& pool);
  const std::vector<Group>& groups() const { return groups_; }
  // Of all groups.
  std::size_t combinations() const { return combinations_; }
  // The products of one factor a group, by combination, of the points from `first` on.
  void multiply(std::span<const float> factors, std::size_t first, std::span<float> products) const;

private:
  std::vector<std::size_t> counts_; // values by parameter
  std::vector<Group> groups_;
  std::size_t combinations_ = 0;
  // One number a group, `combinations()` being their limit: the first parameter's value changes slowest.
  std::vector<std::uint32_t> codes_;
};

} // namespace lathe::search
