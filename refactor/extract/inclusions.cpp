#include "refactor/extract/inclusions.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/FileManager.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

std::vector<Replacement> inclusions_within(ParsedSourceImpl& source, const std::vector<const Decl*>& units) {
  const SourceManager& sources = source.ast().getASTContext().getSourceManager();
  std::vector<Replacement> found;
  for (const Inclusion& inclusion : source.record().inclusions) {
    if (inclusion.system || inclusion.hash.isInvalid() || !source.is_user_file(inclusion.hash))
      continue;
    TextSpan line;
    line.file = sources.getFileID(inclusion.hash);
    line.begin = sources.getFileOffset(inclusion.hash);
    const llvm::StringRef text = sources.getBufferData(line.file);
    line.end = static_cast<unsigned>(std::min(text.find('\n', line.begin), text.size()));
    const bool is_statement = std::any_of(units.begin(), units.end(), [&](const Decl* unit) {
      const FunctionDecl* function = unit->getAsFunction();
      const Stmt* body = function ? function->getBody() : nullptr;
      return body && sources.getFileID(body->getBeginLoc()) == line.file &&
             sources.getFileOffset(body->getBeginLoc()) < line.begin &&
             line.end <= sources.getFileOffset(body->getEndLoc());
    });
    const auto file =
        is_statement ? sources.getFileManager().getOptionalFileRef(inclusion.path) : std::nullopt;
    const FileID included = file ? sources.translateFile(*file) : FileID();
    found.push_back({line, included.isValid() ? sources.getBufferData(included).str() : ""});
  }
  return found;
}

} // namespace lathe::refactor
