// From a compile command (nvcc's, clang's) or bare flags to the command line that Clang parses CUDA with.
#pragma once

#include "refactor/frontend/frontend.h"

namespace lathe::refactor {

struct ClangCommand {
  std::vector<std::string> arguments; // "clang++ -x cuda ...", without the source file
  bool states_standard = false;       // the user's flags have -std=
  std::filesystem::path folder; // relative paths in the flags are meant from here; empty: the current one
  // Folders whose headers belong to the user although Clang searches them as system headers.
  std::vector<std::filesystem::path> user_folders;
  std::vector<std::filesystem::path> toolkit_folders; // of the CUDA toolkit
  std::filesystem::path stand_ins;                    // folder of Lathe's own headers
};

// Fails when the toolkit, Clang's own headers or the compile database's entry for `file` is missing.
Result<ClangCommand> clang_command(const std::filesystem::path& file, const ParseOptions& options);

} // namespace lathe::refactor
