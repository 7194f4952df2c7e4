// A second runner process on the device, for what must not happen in the one that measures: counters, which
// change how a context runs, and views that a kernel may fault on.
#pragma once

#include "tuner/measure/cuda_protocol.h"
#include "tuner/measure/runner_process.h"
#include "tuner/profile/profile.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lathe {

class SideRunner {
public:
  explicit SideRunner(std::vector<std::string> command, DeviceTurns turns = {})
      : process_(std::move(command), std::move(turns)) {}

  // Another problem follows: what the process holds is of no use.
  void forget() { state_ = State::empty; }
  void stop();
  // Starts the process, which opens its context meanwhile; whether that worked is seen when it is asked.
  void warm_up();

  // Counters of one launch. Where they are denied or absent, the first error is the answer ever after.
  Result<Profile> profile(const SetupRequest& setup, const RunnerKernel& kernel, double time_limit_s);

  // Whether the kernel is right on buffers that begin one element behind an aligned address. Done where the
  // raw kernel itself does not run on such views; `subject` names what shares that answer.
  Status check_views(const SetupRequest& setup, const std::string& subject, const RunnerKernel& kernel,
                     double time_limit_s);

private:
  enum class State { empty, aligned, shifted };
  // The process with the buffers of `setup`.
  Status prepare(const SetupRequest& setup, State wanted);

  RunnerProcess process_;
  State state_ = State::empty;
  std::optional<Error> denied_;
  std::set<std::string> without_views_; // subjects whose raw kernel wants aligned buffers
};

} // namespace lathe
