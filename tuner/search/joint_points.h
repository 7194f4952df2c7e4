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

  explicit JointPoints(const std::vector<Parameter>& parameters);

  void assign(const CandidatePool& pool);
  std::size_t size() const { return groups_.empty() ? size_ : codes_.size() / groups_.size(); }
  const std::vector<Group>& groups() const { return groups_; }
  // Of all groups.
  std::size_t combinations() const { return combinations_; }
  // One number a group, `combinations()` being their limit: the first parameter's value changes slowest.
  std::span<const std::uint32_t> codes(std::size_t point) const {
    return {codes_.data() + point * groups_.size(), groups_.size()};
  }

private:
  std::vector<std::size_t> counts_; // values by parameter
  std::vector<Group> groups_;
  std::size_t combinations_ = 0, size_ = 0;
  std::vector<std::uint32_t> codes_;
};

} // namespace lathe::search
