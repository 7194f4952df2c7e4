// Enumerates the valid assignments of a group: depth first, one parameter a level, all its values at once.
#pragma once

#include "tuner/space/diagram.h"
#include "tuner/space/term.h"

#include <memory>
#include <vector>

namespace lathe::space {

// Conjuncts compiled for one order of the parameters. At each level the terms that its parameter completes
// are evaluated for all its values; what later levels need of the values chosen so far are the live terms,
// and states that agree in those have the same completions.
class Program {
public:
  enum class Pruning { off, on };
  // `pool` grows by the conjuncts arranged for the order, and by the bounds that prune partial assignments.
  Program(TermPool& pool, const std::vector<TermId>& conjuncts, std::vector<std::int32_t> order,
          Pruning pruning = Pruning::on);

  struct Step {
    TermId term;
    bool is_check; // only lanes where the term is true go on
  };
  struct Level {
    std::int32_t parameter;
    std::vector<Step> steps;
    std::vector<TermId> kept;          // this level's terms that later levels need
    std::vector<TermId> live;          // everything that the levels after this one need: the state
    std::vector<TermId> live_fallible; // of these, the ones that may fail
  };
  const std::vector<Level>& levels() const { return levels_; }
  const TermPool& pool() const { return *pool_; }
  int level_of(TermId term) const { return level_of_[static_cast<std::size_t>(term)]; }
  TermId variable_of(std::int32_t parameter) const {
    return variable_of_parameter_[static_cast<std::size_t>(parameter)];
  }
  std::size_t term_count() const { return level_of_.size(); }

private:
  template <class Function> void for_operands(TermId term, Function function) const;
  void compute_levels();
  void add_bounds(std::vector<TermId>& conjuncts);
  void schedule(TermId term, int level, std::vector<bool>& scheduled);

  TermPool* pool_;
  std::vector<std::int32_t> order_;
  std::vector<int> position_of_parameter_;
  std::vector<TermId> variable_of_parameter_;
  std::vector<int> level_of_;
  std::vector<Level> levels_;
};

// Scratch memory to run a program. Not shared between threads.
class Machine {
public:
  explicit Machine(const Program& program);

  // Evaluates a level given the values chosen above it. Returns the lanes (positions in the domain) that
  // survive.
  const std::vector<std::uint32_t>& run(std::size_t level);
  // Fixes the level's parameter to a lane of the last run.
  void choose(std::size_t level, std::uint32_t lane);
  // What the levels below depend on, after choose().
  void state(std::size_t level, std::vector<std::int64_t>& key) const;
  std::size_t lane_count(std::size_t level) const { return scratch_[level].lanes; }
  std::uint64_t steps() const { return steps_; }

private:
  struct Scratch {
    std::size_t lanes = 0;
    std::vector<std::int64_t> values; // of each of the level's terms, lane by lane
    std::vector<std::uint8_t> failed;
    std::vector<std::uint8_t> alive;
    std::vector<std::uint32_t> survivors;
  };
  struct Operation {
    const Term* term = nullptr;
    Lanes a, b, c;
    std::int64_t* values = nullptr;
    std::uint8_t* failed = nullptr;
    bool is_check = false;
  };
  Lanes lanes_of(TermId term, std::size_t level) const;
  void run_generic(const Operation& operation, std::size_t level);

  const Program* program_;
  std::vector<std::int64_t> chosen_; // value of every term above the current level
  std::vector<std::uint8_t> chosen_failed_;
  std::vector<std::size_t> offset_; // of a term in its level's scratch
  std::vector<Scratch> scratch_;
  std::vector<std::vector<Operation>> operations_;
  std::vector<Term> terms_; // copies: the pool may grow
  std::uint64_t steps_ = 0;
};

// All valid assignments, or nothing when a limit is reached.
std::optional<Diagram> enumerate(const Program& program, const SolverLimits& limits);

} // namespace lathe::space
