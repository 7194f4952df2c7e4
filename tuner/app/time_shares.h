// What of a time budget the next search may take, so that the others get theirs.
#pragma once

#include <cstddef>

namespace lathe {

// A search is followed by the comparison of its finalists with the raw kernel and by counters, and problems
// that are not searched take their time, too: what both have taken so far in the mean is kept back for those
// that are to come. Until one was seen, nothing is.
class TimeShares {
public:
  // `least_s`: below it a slice is spent on preparing.
  explicit TimeShares(double least_s) : least_s_(least_s) {}

  void add_finishing(double seconds) { finishing_.add(seconds); }  // of a search, behind its last evaluation
  void add_assessment(double seconds) { assessing_.add(seconds); } // of a problem that is not searched, whole

  void add_counters(double seconds) { counters_s_ += seconds; }

  // Whether the counters of one more problem may be read after `spent_s` of all devices together. They tell
  // why, and win nothing, so that they get a tenth of the time: half of it as long as any problem may have
  // them, the other half only where they `explain` a time that is far from a copy's.
  bool affords_counters(double spent_s, bool explain) const;
  // Seconds of searching for one of `searches` (at least 1) that share what is left with `assessments`.
  // `left_s`: of all devices together. Each search first gets half of an equal share, or the least slice
  // where that is more and everybody can have it; never less than it takes to try one portion, even where
  // finishing takes all that is left: a problem without a single result is worth the least.
  double slice(double left_s, std::size_t searches, std::size_t assessments) const;
  // How many searches that have ended can go on in what is left: a least slice and finishing each.
  std::size_t able_to_go_on(double left_s) const;
  // What `assessments` take, by those seen so far.
  double assessing(std::size_t assessments) const {
    return assessing_.or_else(0) * static_cast<double>(assessments);
  }
  // Seconds that one of `assessments` may spend on candidates beyond the winners.
  double choosing(double left_s, std::size_t assessments) const;

private:
  class Mean {
  public:
    void add(double value) {
      sum_ += value;
      ++count_;
    }
    double or_else(double unknown) const { return count_ ? sum_ / static_cast<double>(count_) : unknown; }

  private:
    double sum_ = 0;
    std::size_t count_ = 0;
  };

  double least_s_;
  double counters_s_ = 0;
  Mean finishing_, assessing_;
};

} // namespace lathe
