#include "refactor/knobs/kernel_view.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/ASTUnit.h>
#include <clang/Lex/Lexer.h>

namespace lathe::refactor {

using namespace clang;

namespace {

// Children as written: the syntactic form of property references (threadIdx.x), the bodies of lambdas.
template <class Visitor> void for_each_child(const Stmt* statement, Visitor visit) {
  if (const auto* pseudo = dyn_cast<PseudoObjectExpr>(statement)) {
    visit(pseudo->getSyntacticForm());
    return;
  }
  if (const auto* lambda = dyn_cast<LambdaExpr>(statement)) {
    for (const Expr* capture : lambda->capture_inits())
      if (capture)
        visit(capture);
    if (lambda->getBody())
      visit(lambda->getBody());
    return;
  }
  for (const Stmt* child : statement->children())
    if (child)
      visit(child);
}

} // namespace

KernelView::KernelView(ParsedSource& source, const KernelInfo& kernel,
                       std::map<std::string, std::int64_t> defaults)
    : context_(source.ast().getASTContext()), defaults_(std::move(defaults)) {
  const FunctionDecl* definition = nullptr;
  kernel_ = kernel.declaration;
  if (kernel_ && kernel_->hasBody(definition))
    kernel_ = definition;
  file_text_ = context_.getSourceManager().getBufferData(context_.getSourceManager().getMainFileID()).str();
  collect_functions();
  collect_modified();
  collect_given();
}

bool KernelView::in_main_file(SourceLocation location) const {
  const SourceManager& manager = context_.getSourceManager();
  return location.isValid() &&
         manager.getFileID(manager.getExpansionLoc(location)) == manager.getMainFileID();
}

std::optional<TextRange> KernelView::range(SourceRange source_range) const {
  const SourceManager& manager = context_.getSourceManager();
  if (source_range.isInvalid() || source_range.getBegin().isMacroID() || source_range.getEnd().isMacroID())
    return std::nullopt;
  if (!in_main_file(source_range.getBegin()) || !in_main_file(source_range.getEnd()))
    return std::nullopt;
  const SourceLocation end =
      Lexer::getLocForEndOfToken(source_range.getEnd(), 0, manager, context_.getLangOpts());
  if (end.isInvalid())
    return std::nullopt;
  return TextRange{manager.getFileOffset(source_range.getBegin()), manager.getFileOffset(end)};
}

std::optional<TextRange> KernelView::written_range(SourceRange source_range) const {
  const SourceManager& manager = context_.getSourceManager();
  const CharSourceRange written =
      Lexer::makeFileCharRange(CharSourceRange::getTokenRange(source_range), manager, context_.getLangOpts());
  if (written.isInvalid() || !in_main_file(written.getBegin()) || !in_main_file(written.getEnd()))
    return std::nullopt;
  return TextRange{manager.getFileOffset(written.getBegin()), manager.getFileOffset(written.getEnd())};
}

std::string KernelView::text(TextRange bytes) const {
  return file_text_.substr(bytes.begin, bytes.end - bytes.begin);
}

std::string KernelView::text(const Expr* expression) const {
  const auto bytes = range(expression->getSourceRange());
  return bytes ? text(*bytes) : std::string();
}

std::string KernelView::type_text(QualType type) const {
  return type.getUnqualifiedType().getAsString(context_.getPrintingPolicy());
}

int KernelView::line(SourceLocation location) const {
  return static_cast<int>(context_.getSourceManager().getExpansionLineNumber(location));
}

std::string KernelView::at_line(SourceLocation location) const {
  return "line " + std::to_string(line(location));
}

void KernelView::index_body(const FunctionDecl* function) {
  std::function<void(const Stmt*)> walk = [&](const Stmt* statement) {
    owners_[statement] = function;
    for_each_child(statement, [&](const Stmt* child) {
      parents_[child] = statement;
      walk(child);
    });
  };
  walk(function->getBody());
}

void KernelView::visit(const Stmt* root, const std::function<void(const Stmt*)>& visitor) const {
  visitor(root);
  for_each_child(root, [&](const Stmt* child) { visit(child, visitor); });
}

void KernelView::visit(const std::function<void(const Stmt*)>& visitor) const {
  for (const FunctionDecl* function : functions_)
    visit(function->getBody(), visitor);
}

const Stmt* KernelView::parent(const Stmt* statement) const {
  const auto found = parents_.find(statement);
  return found == parents_.end() ? nullptr : found->second;
}

const Stmt* KernelView::meaningful_parent(const Stmt* statement) const {
  const Stmt* above = parent(statement);
  while (above &&
         (isa<ParenExpr>(above) || isa<CastExpr>(above) || isa<PseudoObjectExpr>(above) ||
          isa<FullExpr>(above) || isa<MaterializeTemporaryExpr>(above) || isa<OpaqueValueExpr>(above)))
    above = parent(above);
  return above;
}

const CallExpr* KernelView::call_of(const Stmt* name) const {
  const auto* call = dyn_cast_or_null<CallExpr>(meaningful_parent(name));
  return call && call->getCallee()->IgnoreParenImpCasts() == name ? call : nullptr;
}

bool KernelView::within(const Stmt* root, const Stmt* wanted) const {
  for (const Stmt* at = wanted; at; at = parent(at))
    if (at == root)
      return true;
  return false;
}

const FunctionDecl* KernelView::enclosing_function(const Stmt* statement) const {
  const auto found = owners_.find(statement);
  return found == owners_.end() ? nullptr : found->second;
}

std::vector<const DeclRefExpr*> KernelView::uses(const ValueDecl* declaration) const {
  std::vector<const DeclRefExpr*> found;
  visit([&](const Stmt* statement) {
    if (const auto* reference = dyn_cast<DeclRefExpr>(statement))
      if (reference->getDecl()->getCanonicalDecl() == declaration->getCanonicalDecl())
        found.push_back(reference);
  });
  return found;
}

} // namespace lathe::refactor
