#include "refactor/frontend/parsed_source.h"

#include <clang/Frontend/ASTUnit.h>

namespace lathe::refactor {

Result<std::string> mended_text(const std::string& text, const std::string& instance,
                                const ParseOptions& options) {
  const std::filesystem::path file = "/lathe/mended.cu";
  const std::string pin = "\nstatic void* const lathe_mended_instance = (void*)&" + instance + ";\n";
  ParseOptions pinned = options;
  pinned.overlay[file] = text + pin;
  LATHE_TRY(const std::unique_ptr<ParsedSource> source, ParsedSource::parse(file, pinned));
  const clang::SourceManager& manager = source->ast().getSourceManager();
  std::string read(manager.getBufferData(manager.getMainFileID()));
  // Mending inserts into the text; what it inserted into the pin, if anything, goes with the pin.
  const std::size_t end = read.rfind("\nstatic void* const lathe_mended_instance");
  return end == std::string::npos ? text : read.substr(0, end);
}

} // namespace lathe::refactor
