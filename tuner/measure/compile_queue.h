// The compilations that one problem's configurations wait for.
#pragma once

#include "tuner/compile/compile.h"
#include "tuner/spec/spec.h"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lathe {

// What a configuration becomes before it is compiled.
struct PlannedConfiguration {
  std::string instance;
  Launch launch;
  std::vector<std::string> options; // macros

  // Equal for configurations that are the same code.
  std::string code() const;
};

Result<PlannedConfiguration> plan_configuration(const Workload& workload, const KernelSource& source,
                                                const KnobValues& knobs);

// Each code is compiled once, in the compiler's workers. submit() may be called from another thread while
// next_of() waits.
class CompileQueue {
public:
  struct Compiled {
    std::string code;
    CompileOutcome outcome;
  };

  // Of a problem: `program` is the template without instances and macros. Forgets what was before.
  void begin(Compiler& compiler, CompileRequest program);
  // Ends what is under way, and forgets it.
  void cancel();
  // What is under way ended elsewhere: its results come out of the compiler's cache when submitted again.
  void forget_under_way();

  // Queues what is neither compiled nor queued.
  void submit(const std::vector<PlannedConfiguration>& plans);
  // The next that is compiled of those that are wanted; others are kept for later calls. Nothing: nothing is
  // under way any more.
  std::optional<Compiled> next_of(const std::function<bool(const std::string& code)>& wanted);
  // Keeps what somebody else received from the compiler, where it was queued here.
  void hand_over(Compiler::Finished finished);

private:
  std::optional<Compiled> code_of(Compiler::Finished finished);
  void keep(Compiled compiled);

  Compiler* compiler_ = nullptr;
  CompileRequest program_;
  std::mutex mutex_;                                                    // of the two below
  std::map<std::pair<std::uint64_t, std::size_t>, std::string> queued_; // by ticket and place in the request
  std::map<std::string, CompileOutcome> compiled_;                      // by code, not yet asked for
};

} // namespace lathe
