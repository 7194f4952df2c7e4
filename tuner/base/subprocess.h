// Running another program with a deadline, without a shell.
#pragma once

#include "tuner/base/result.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe {

struct SubprocessOptions {
  std::chrono::milliseconds timeout{0};                         // 0: none
  std::string_view input;                                       // written to the child's standard input
  std::vector<std::pair<std::string, std::string>> environment; // added to the parent's
  std::filesystem::path folder;                                 // empty: the parent's
  std::size_t output_limit = 16u << 20; // bytes kept of each stream; the rest is read and dropped
};

struct SubprocessResult {
  int exit_code = -1;     // valid when signal == 0 and !timed_out
  int signal = 0;         // the signal that ended the child, or 0
  bool timed_out = false; // the child and its process group were killed at the deadline
  std::string output;
  std::string errors;

  bool succeeded() const { return !timed_out && signal == 0 && exit_code == 0; }
  // "exit code 3", "signal 11 (Segmentation fault)" or "timed out".
  std::string ending() const;
};

// Runs `command[0]` (looked up in PATH) in its own process group. An Error means that it could not be
// started; everything that happens afterwards is in the result.
Result<SubprocessResult> run_subprocess(const std::vector<std::string>& command,
                                        const SubprocessOptions& options = {});

} // namespace lathe
