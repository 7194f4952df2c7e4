// How many configurations are under way while a search learns.
#pragma once

#include <algorithm>
#include <cstddef>

namespace lathe {

// What is asked for before results count is asked for blindly, and what is not asked for leaves compilers
// idle. So few are under way at first, and more the more is known. It depends on the number of results alone,
// so that a search proposes the same whatever the machine's cores do.
class Pace {
public:
  // `most`: configurations evaluated together at most; up to twice as many are under way.
  explicit Pace(std::size_t most) : most_(std::max<std::size_t>(1, most)) {}
  // Where nothing is learned from results there is nothing to wait for: so many are under way that compilers
  // have work while the device measures, and enough of it to compile some together.
  static Pace blind(std::size_t most) {
    Pace pace(most);
    pace.is_blind_ = true;
    return pace;
  }

  // With so many results known: configurations that may be without one.
  std::size_t under_way(std::size_t known) const {
    return is_blind_ ? blind_depth * most_ : std::min(2 * most_, first + known / growth);
  }
  // And how many of these are evaluated before results count again.
  std::size_t together(std::size_t known) const {
    return is_blind_ ? most_ : std::clamp<std::size_t>(known / together_growth, 1, most_);
  }

private:
  static constexpr std::size_t first = 12, growth = 4, together_growth = 8, blind_depth = 8;
  std::size_t most_;
  bool is_blind_ = false;
};

} // namespace lathe
