// What the differential check asks of one configuration at one size.
#pragma once

#include "refactor/guard/accepted_integers.h"
#include "refactor/guard/accepted_scalars.h"
#include "refactor/guard/deciding_scalars.h"
#include "refactor/guard/infinite_scalars.h"
#include "refactor/guard/reference_runs.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace lathe::refactor {

// What comes of a run that is not what was asked for.
enum class Otherwise {
  refused,
  refused_but_for_alignment, // that an address is no multiple of a vector's size is told
  told
};

// What the template must give in one run.
struct Demand {
  TrialSettings settings;
  const TrialResult* reference = nullptr; // nothing: a run of the raw kernel of its own
  std::string suffix;
  Otherwise otherwise = Otherwise::refused;
  bool follows = false;       // asked only where the demand before it was met
  bool is_told_apart = false; // its data is there for what the template alone makes of numbers
  // Launched before, with its variables that outlive a launch; asked only where the raw kernel gives the
  // reference behind such a launch of its own.
  std::shared_ptr<const Configuration> forerun;
};

// What the raw kernel takes beside what the specification says.
struct AcceptedInputs {
  std::set<std::size_t> nullable;         // parameters that may be null pointers
  std::vector<AcceptedIntegers> integers; // by buffer
  std::vector<AcceptedScalar> scalars;
  std::vector<DecidingScalar> deciding;
  std::vector<InfiniteScalar> infinite;
  std::vector<std::int64_t> of_template; // integers of its text alone
  std::vector<double> numbers;           // at which its text may decide
  std::vector<std::int64_t> dividing;    // integers of its text by which it may divide
  bool masks = false; // infinities mean something to it: it compares with them, or takes exponentials
};

// `own_seed`: of the data that no other configuration sees. `served`: the layouts at which the configuration
// is admitted.
std::vector<Demand> demands_of(const Configuration& configuration, const ReferenceRuns& shape,
                               const AcceptedInputs& accepted, const std::set<Layout>& served,
                               std::uint64_t seed, std::uint64_t own_seed);

} // namespace lathe::refactor
