// Which configurations run at which sizes.
#pragma once

#include "refactor/guard/reference_runs.h"
#include "refactor/guard/shapes.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lathe::refactor {

// One configuration at one size.
struct Task {
  Configuration configuration;
  const ReferenceRuns* shape = nullptr;
  bool is_brief = false;     // one run
  bool has_own_data = false; // and a few on data of its own: at a size of the specification's
};

class RunPlan {
public:
  // The sizes at which the raw kernel runs clean, by the choice of types.
  using Shapes = std::map<std::map<std::string, std::string>, std::vector<std::unique_ptr<ReferenceRuns>>>;
  // Runs the raw kernel at more sizes and keeps those where it is clean. `brief`: with the fewest runs;
  // `for_all`: beside the sizes of all configurations, otherwise for the one that asks.
  using RunRaw = std::function<std::vector<const ReferenceRuns*>(
      const std::vector<std::shared_ptr<const Workload>>&, bool brief, bool for_all)>;

  // Refers to what it is given.
  RunPlan(const JudgedPair& subject, const Shapes& shapes, const ShapeLimits& limits, RunRaw run_raw)
      : subject_(subject), shapes_(shapes), limits_(limits), run_raw_(std::move(run_raw)) {}

  // Runs the raw kernel at the extreme sizes of all sampled configurations beside each other, before they are
  // added one by one.
  void foresee(const std::vector<Configuration>& configurations);
  // Sizes that lie in every way to a sampled configuration's tiles. False: it is admitted at no size at which
  // the raw kernel runs clean.
  bool add_sampled(const Configuration& configuration);
  // A configuration that is run in brief, at sizes that were chosen for others: as many as lie otherwise to
  // its tiles.
  void add_swept(const Configuration& configuration);
  // The default of each size at that size; at few of them where its machine code is the raw kernel's.
  void add_defaults(bool same_code);
  // Configurations that have been added, in brief at the specification's own problems, or at what is left of
  // them where they are too large.
  void add_problems(const std::vector<Configuration>& configurations);
  // One pair; whether the configuration is admitted at the size and was not planned for it.
  bool add(const Configuration& configuration, const ReferenceRuns& shape) {
    return add(configuration, shape, limits_, MOST_INSTANCES);
  }
  // The same for code that nothing else reaches: in brief beyond the limits, and with a size that is fixed in
  // an instance of its own.
  bool add_to_reach(const Configuration& configuration, const ReferenceRuns& shape);
  const std::vector<Task>& tasks() const { return tasks_; }

private:
  // In each group ever longer sizes: the last that does not take long is run.
  using Groups = std::vector<std::vector<std::shared_ptr<const Workload>>>;

  // A size that is fixed in the instance makes a kernel of its own for each, to be compiled.
  static constexpr std::size_t MOST_INSTANCES = 4;

  bool add(const Configuration& configuration, const ReferenceRuns& shape, const ShapeLimits& limits,
           std::size_t most_instances);
  std::size_t add_shared_sizes(const Configuration& configuration);
  std::size_t add_largest(const Configuration& configuration);
  std::size_t add_telling(const Configuration& configuration, std::size_t most);
  std::size_t add_own_sizes(const Configuration& configuration);
  void add_written_sizes(const Configuration& configuration);
  void add_left_over(const Configuration& configuration);
  void add_extremes(const Configuration& configuration);
  Groups extremes_of(const Configuration& configuration) const;
  // Where the configuration stands among those that are run: what each has few of, they take in turns.
  std::size_t turn_of(const Configuration& configuration) const;
  // A size of which one dimension is a small number and no power of two, where the problems have none such,
  // with the most of all else. Returns how many were added.
  std::size_t add_odd(const Configuration& configuration);
  std::vector<const ReferenceRuns*> run_extremes(const Groups& wanted);
  void add_blocks_beside_each_other(const Configuration& configuration);

  const JudgedPair& subject_;
  const Shapes& shapes_;
  const ShapeLimits& limits_;
  RunRaw run_raw_;
  std::vector<Task> tasks_;
  std::map<std::string, const ReferenceRuns*> extremes_; // by the workload's key; null where it is of no use
};

} // namespace lathe::refactor
