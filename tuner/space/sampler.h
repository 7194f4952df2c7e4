// Groups that are too large to enumerate: everything by trying.
#pragma once

#include "tuner/space/diagram.h"
#include "tuner/space/model.h"
#include "tuner/space/solver.h"

#include <memory>
#include <optional>

namespace lathe::space {

// Safe to share between threads: every call has its own scratch memory.
class Sampler {
public:
  // `problem` holds what `program` was compiled from.
  Sampler(std::shared_ptr<const Problem> problem, Program program);

  // Draws descents (Knuth 1975, "Estimating the efficiency of backtrack programs"): the product of the
  // numbers of choices along a random descent is an unbiased estimate of the number of leaves. False when no
  // valid tuple was found within the step limit, not even by search.
  bool estimate(Random& random, std::uint64_t step_limit);
  double count() const { return count_; }
  double standard_error() const { return standard_error_; }

  bool contains(const Tuple& tuple) const;
  // From a batch of descents, one is drawn in proportion to its weight, which removes the bias towards sparse
  // branches up to what the batch can (importance resampling); a random search where all descents end early.
  Tuple sample(Random& random) const;
  std::vector<Near> near(const Tuple& tuple, int distance, Step step) const;
  // One or two changes where that suffices, else a search that tries close values first.
  Tuple nearest(const Tuple& tuple, Random& random) const;

private:
  struct Descent {
    Tuple tuple;
    double weight = 0; // 0: a dead end
  };
  Descent descend(Machine& machine, Random& random) const;
  // Depth first; `closest`: towards that tuple, else in random order.
  std::optional<Tuple> search(Machine& machine, Random& random, const Tuple* closest,
                              std::uint64_t step_limit) const;
  std::uint16_t value_at(std::size_t level, std::uint32_t lane) const;

  std::shared_ptr<const Problem> problem_;
  Program program_;
  Tuple known_; // a valid tuple
  double count_ = 0;
  double standard_error_ = 0;
};

} // namespace lathe::space
