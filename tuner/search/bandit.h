// Shares proposals among techniques: the sliding-window area-under-the-curve bandit of OpenTuner
// (Ansel et al., "OpenTuner: An Extensible Framework for Program Autotuning", PACT 2014, section 4.2;
// Fialho et al., "Analyzing bandit-based adaptive operator selection mechanisms", 2010).
//
//   score(arm) = AUC(arm) + C * sqrt(2 * log2(|H|) / n(arm))
//   AUC(arm)   = 2 / (n (n + 1)) * sum over the arm's uses i = 1..n in the window, oldest first, of i *
//   hit(i)
//
// H is the window of the last uses of all arms, n(arm) the arm's uses in it, hit(i) whether that use found a
// new global best. An arm without a use in the window comes first.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace lathe::search {

struct BanditOptions {
  double exploration = 0.05; // C, OpenTuner's value
  std::size_t window = 500;  // |H|, OpenTuner's value
};

class Bandit {
public:
  explicit Bandit(std::size_t arms, BanditOptions options = {});
  // Arms by falling score; ties keep the order of the arms.
  std::vector<std::size_t> ranking() const;
  double score(std::size_t arm) const;
  double area_under_curve(std::size_t arm) const;
  // One finished use of an arm. Uses of a batch are reported one by one, in the order they finished.
  void report(std::size_t arm, bool found_new_best);
  // A use has begun whose result is not known yet: it counts as a use without a hit until it is reported.
  void begin(std::size_t arm) { ++pending_[arm]; }

private:
  struct Use {
    std::size_t arm;
    bool hit;
  };
  BanditOptions options_;
  std::deque<Use> window_;
  std::vector<std::size_t> uses_, pending_;
  // Sums over an arm's hits in the window: of i, and of 1; updated in constant time.
  std::vector<double> weighted_hits_, hits_;
};

} // namespace lathe::search
