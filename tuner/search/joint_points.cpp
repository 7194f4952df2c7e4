#include "tuner/search/joint_points.h"

#include "tuner/search/candidate_pool.h"

namespace lathe::search {

namespace {

// Combinations of a group, unless one parameter alone has more: tables of all groups stay in the first-level
// cache, and making them costs little beside some hundred points that are looked up.
constexpr std::size_t most_combinations = 256;

} // namespace

JointPoints::JointPoints(const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters)
    counts_.push_back(parameter.values.size());
  for (std::size_t p = 0; p < counts_.size(); ++p) {
    if (counts_[p] < 2) // says nothing
      continue;
    if (groups_.empty() || groups_.back().count * counts_[p] > most_combinations)
      groups_.push_back({{}, 0, 1});
    groups_.back().parameters.push_back(p);
    groups_.back().count *= counts_[p];
  }
  if (groups_.empty())
    groups_.push_back({{}, 0, 1});
  for (Group& group : groups_) {
    group.begin = combinations_;
    combinations_ += group.count;
  }
}

void JointPoints::assign(const CandidatePool& pool) {
  codes_.clear();
  codes_.reserve(pool.size() * groups_.size());
  for (std::size_t c = 0; c < pool.size(); ++c) {
    const std::span<const std::uint16_t> point = pool.row(c);
    for (const Group& group : groups_) {
      std::size_t code = 0;
      for (std::size_t p : group.parameters)
        code = code * counts_[p] + point[p];
      codes_.push_back(static_cast<std::uint32_t>(group.begin + code));
    }
  }
}

void JointPoints::multiply(std::span<const float> factors, std::size_t first,
                           std::span<float> products) const {
  const std::uint32_t* code = codes_.data() + first * groups_.size();
  for (float& product : products) {
    product = 1;
    for (std::size_t group = 0; group < groups_.size(); ++group)
      product *= factors[*code++];
  }
}

} // namespace lathe::search
