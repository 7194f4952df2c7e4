#include "refactor/frontend/left_out_templates.h"

#include <clang/AST/RecursiveASTVisitor.h>

#include <optional>

namespace lathe::refactor {
namespace {

using namespace clang;

// `one op other`, whether or not an operator for other types is in sight, such as half precision's.
struct Operation {
  const Expr *one, *other;
  SourceLocation place;
  bool is_less, is_greater;
};

std::optional<Operation> operation_of(const Expr* expression) {
  if (const auto* binary = dyn_cast<BinaryOperator>(expression))
    return Operation{binary->getLHS(), binary->getRHS(), binary->getOperatorLoc(),
                     binary->getOpcode() == BO_LT, binary->getOpcode() == BO_GT};
  if (const auto* call = dyn_cast<CXXOperatorCallExpr>(expression); call && call->isInfixBinaryOp())
    return Operation{call->getArg(0), call->getArg(1), call->getOperatorLoc(), call->getOperator() == OO_Less,
                     call->getOperator() == OO_Greater};
  return std::nullopt;
}

const Expr* last_operand(const Expr* expression) {
  while (const auto operation = operation_of(expression))
    expression = operation->other;
  return expression;
}

const Expr* first_operand(const Expr* expression) {
  while (const auto operation = operation_of(expression))
    expression = operation->one;
  return expression;
}

class Finder : public RecursiveASTVisitor<Finder> {
public:
  Finder(const SourceManager& sources, std::vector<ParseError>& found) : sources_(sources), found_(found) {}

  bool VisitBinaryOperator(BinaryOperator* expression) {
    look_at(expression);
    return true;
  }
  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr* expression) {
    look_at(expression);
    return true;
  }

private:
  // `... member<N>(...)`, without spaces: what comparisons in a row look like only if they are none.
  void look_at(const Expr* expression) {
    const auto greater = operation_of(expression);
    if (!greater || !greater->is_greater)
      return;
    const auto less = operation_of(greater->one);
    const Expr* brackets = first_operand(greater->other);
    if (!less || !less->is_less || !isa<ParenExpr, ParenListExpr>(brackets) ||
        brackets->getBeginLoc() != greater->place.getLocWithOffset(1))
      return;
    const Expr* member = last_operand(less->one);
    if (const auto* dependent = dyn_cast<CXXDependentScopeMemberExpr>(member);
        dependent && !dependent->isImplicitAccess() && !dependent->hasExplicitTemplateArgs())
      add_before(less->place, dependent->getMemberNameInfo());
    else if (const auto* qualified = dyn_cast<DependentScopeDeclRefExpr>(member);
             qualified && !qualified->hasExplicitTemplateArgs())
      add_before(less->place, qualified->getNameInfo());
  }

  void add_before(SourceLocation bracket, const DeclarationNameInfo& name) {
    const auto length = static_cast<int>(name.getName().getAsString().size());
    if (name.getLoc().getLocWithOffset(length) == bracket)
      add(name.getLoc());
  }

  void add(SourceLocation location) {
    const PresumedLoc place = sources_.getPresumedLoc(location);
    if (location.isInvalid() || location.isMacroID() || place.isInvalid())
      return;
    ParseError error;
    error.location = location;
    error.message = "missing 'template' keyword";
    error.file = place.getFilename();
    error.offset = sources_.getFileOffset(location);
    found_.push_back(std::move(error));
  }

  const SourceManager& sources_;
  std::vector<ParseError>& found_;
};

} // namespace

std::vector<ParseError> left_out_templates(ASTContext& context) {
  const SourceManager& sources = context.getSourceManager();
  std::vector<ParseError> found;
  Finder finder(sources, found);
  for (Decl* declaration : context.getTranslationUnitDecl()->decls())
    if (!sources.isInSystemHeader(sources.getExpansionLoc(declaration->getLocation())))
      finder.TraverseDecl(declaration);
  return found;
}

} // namespace lathe::refactor
