// What stands in front of every kernel's text: preprocessed once a process for the same flags, and parsed
// once for all units that are compiled alike.
#pragma once

#include "tuner/measure/host_executor/compiler.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::host {

struct Prelude {
  std::string text;            // preprocessed
  std::string macros;          // as it leaves them, in #define lines
  std::set<std::string> files; // that are read once and are not to be read again
};

// The prelude under a command that preprocesses its standard input. The same command's is not made again:
// what lies in its include folders is taken for what it was.
Result<std::shared_ptr<const Prelude>> prelude_of(const std::vector<std::string>& preprocess, bool checked,
                                                  double time_limit_s, std::string_view file_name);

// What becomes of `text` behind the prelude.
Result<std::string> preprocess_behind(const Prelude& prelude, const std::vector<std::string>& preprocess,
                                      bool checked, std::string_view text, double time_limit_s,
                                      std::string_view file_name);

// The prelude as a precompiled header for units that `generate` compiles, in `folder`; empty where none can
// be made. `several_threads`: RewriteOptions::several_threads.
std::filesystem::path precompiled(const Compiler& compiler, const Prelude& prelude,
                                  const std::vector<std::string>& generate, bool several_threads,
                                  const std::filesystem::path& folder, double time_limit_s);

} // namespace lathe::host
