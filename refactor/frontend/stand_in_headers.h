// Which of Lathe's own texts stands for a framework's header that is not there.
#pragma once

#include "refactor/frontend/command.h"

#include <map>
#include <string>

namespace lathe::refactor {

// Lathe's own text for a header that is not found ("lathe_torch.h"); nothing where it has none.
const char* stand_in_for(const std::string& header);

// Where a header is put so that it is found when no other folder has it, and what it says.
std::pair<std::string, std::string> stand_in_file(const ClangCommand& command, const std::string& header,
                                                  const char* stand_in);

// Headers with a stand-in that `text`, the file's, names in its #include lines, or a header of the user's
// that is included so: read as text, without regard to conditions, so that a parse need not find out which
// are missing. By path, as stand_in_file() has them.
std::map<std::string, std::string> named_stand_ins(const std::filesystem::path& file, const std::string& text,
                                                   const ClangCommand& command);

} // namespace lathe::refactor
