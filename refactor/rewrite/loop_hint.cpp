#include "refactor/rewrite/loop_hint.h"

#include <clang/AST/Attr.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

namespace lathe::refactor {

using namespace clang;

LoopHint loop_hint_of(const KernelView& view, const Stmt* loop) {
  LoopHint hint;
  if (loop->getBeginLoc().isMacroID() || !view.range(SourceRange(loop->getBeginLoc(), loop->getBeginLoc()))) {
    hint.unreadable = true;
    return hint;
  }
  const auto* attributed = dyn_cast_or_null<AttributedStmt>(view.parent(loop));
  if (!attributed)
    return hint;
  for (const Attr* attribute : attributed->getAttrs()) {
    const auto* loop_hint = dyn_cast<LoopHintAttr>(attribute);
    if (!loop_hint)
      continue;
    hint.present = true;
    if (loop_hint->getOption() == LoopHintAttr::UnrollCount && loop_hint->getValue()) {
      view.visit(loop_hint->getValue(), [&](const Stmt* inside) {
        if (const auto* reference = dyn_cast<DeclRefExpr>(inside))
          if (const std::string name = reference->getDecl()->getNameAsString(); name != hint.owner)
            hint.owner += (hint.owner.empty() ? "" : " ") + name;
      });
      hint.factor = view.evaluate(loop_hint->getValue()).as_constant();
    } else if (loop_hint->getState() == LoopHintAttr::Disable) {
      hint.factor = 1;
    }
    // The pragma's own line, without its indentation.
    const std::string& text = view.file_text();
    const SourceManager& manager = view.context().getSourceManager();
    const std::size_t at = manager.getFileOffset(manager.getExpansionLoc(loop_hint->getLocation()));
    std::size_t begin = text.find('#', line_start(text, at));
    std::size_t end = text.find('\n', at);
    const std::size_t comment = text.find("//", begin);
    if (comment < end)
      end = comment;
    hint.unreadable |=
        begin == std::string::npos || begin > at || !view.in_main_file(loop_hint->getLocation());
    hint.line = {begin, end};
  }
  return hint;
}

Edit set_loop_hint(const KernelView& view, const Stmt* loop, const LoopHint& hint,
                   const std::string& pragma) {
  if (hint.present)
    return replace(hint.line, pragma);
  const std::string& text = view.file_text();
  const auto bytes = view.range(SourceRange(loop->getBeginLoc(), loop->getBeginLoc()));
  const std::size_t start = line_start(text, bytes->begin);
  const bool alone = text.find_first_not_of(" \t", start) == bytes->begin;
  return alone ? insert(start, pragma + "\n") : insert(bytes->begin, "\n" + pragma + "\n");
}

} // namespace lathe::refactor
