// The command line of `lathe optimize`, read and checked.
#pragma once

#include "refactor/agents/loop.h"
#include "refactor/app/model_options.h"
#include "refactor/app/subject.h"
#include "refactor/guard/guard.h"

#include <filesystem>
#include <optional>
#include <string>

namespace lathe::refactor {

// What `lathe optimize` was asked for.
struct OptimizeRun {
  SubjectRequest subject;
  std::string name;
  std::filesystem::path folder;
  agents::LoopOptions loop;
  std::string planner;
  bool model_writes = false;
  std::optional<ModelOptions> model;        // planner, coder and debugger
  std::optional<ModelOptions> policy_model; // the policy, where it is a language model
  std::optional<std::filesystem::path> memory_file, policy_file, queue, baselines;
  std::string device;
  int evaluations = 0; // 0: by the device
  GuardOptions guard;
  bool final_tuning = true, json = false;
};

CommandLine make_optimize_line();
Result<OptimizeRun> read_optimize_run(const CommandLine& line, const Arguments& arguments);

} // namespace lathe::refactor
