// Templates with fewer barriers than the raw kernel. Whether one was needed is a question that runs can
// answer: the host executor finds two accesses that nothing orders whatever the order of threads, so that
// what has not shown in blocks of several warps, in loops that went on, is not there.
#pragma once

#include "refactor/guard/host_trial.h"
#include "refactor/guard/subject.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace lathe::refactor {

struct MissingBarriers {
  std::string where;    // "1 barrier where the raw kernel has 2 at TILE=16 ..."; empty: none is missing
  std::string obstacle; // why runs cannot tell whether it was needed; empty: they can
  bool is_asked() const { return !where.empty() && obstacle.empty(); }
};

// "1 barrier", "2 barriers".
std::string counted_barriers(int count);

// At the defaults, or where no barrier is left at all: loops that are unrolled in other ways change the
// number elsewhere.
MissingBarriers missing_barriers(const JudgedPair& subject);

// What the runs of a template with fewer barriers covered. Safe to call from several threads.
class BarrierRuns {
public:
  // A run of the template in which equal writes were races, too, and in which there was none.
  void note(const Configuration& configuration, const Workload& workload, const TrialResult& result);
  // Why the runs do not answer the question for `configurations`, or nothing.
  std::string gap(const std::vector<const Configuration*>& configurations) const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> threads_; // of a block at most, by the configuration
  // By line and column: loops in which threads of several warps exchange something, and whether one went on.
  std::map<std::pair<unsigned, unsigned>, bool> loops_;
};

} // namespace lathe::refactor
