// The headers that many texts begin with, parsed once and kept.
#pragma once

#include <string>
#include <vector>

namespace lathe::refactor {

// The Clang command with Lathe's forced header and the toolkit's and standard headers that `text` begins with
// already parsed; as it is where that fails, or where a folder that the command searches has other headers of
// these names. The text keeps its #include lines, whose guards then skip the files.
std::vector<std::string> with_precompiled_headers(const std::vector<std::string>& command,
                                                  const std::string& text);

// Whether a message of Clang's is about precompiled headers that it could not use: another process may have
// removed them in the meantime, or they may be damaged. The command without them does then.
bool blames_precompiled_headers(const std::string& message);

} // namespace lathe::refactor
