#include "refactor/llm/declarations.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/ASTUnit.h>
#include <clang/Lex/Lexer.h>

#include <set>
#include <vector>

namespace lathe::refactor::llm {
namespace {

using namespace clang;

// A declaration that only the raw kernel may bring, with what identifies it.
struct Suspect {
  std::string key; // kind, name and words
  std::string what;
  unsigned line = 0;
};

class SuspectVisitor : public RecursiveASTVisitor<SuspectVisitor> {
public:
  explicit SuspectVisitor(ASTContext& context) : context_(context), manager_(context.getSourceManager()) {}
  std::vector<Suspect> found;

  bool TraverseDecl(Decl* declaration) {
    if (!declaration || isa<TranslationUnitDecl>(declaration) ||
        manager_.isInMainFile(manager_.getExpansionLoc(declaration->getLocation())))
      return RecursiveASTVisitor::TraverseDecl(declaration);
    return true;
  }

  bool VisitFunctionDecl(FunctionDecl* function) {
    if (function->isImplicit() || function->isDefaulted() || function->isDeleted() ||
        isa<CXXDeductionGuideDecl>(function))
      return true;
    const std::string name = "'" + function->getQualifiedNameAsString() + "'";
    if (function->hasAttr<CUDAGlobalAttr>())
      // The body is what a template may change.
      add("kernel " + function->getQualifiedNameAsString(), "a kernel " + name, function);
    else if (function->isExternC())
      add("C function " + words(function), "a function " + name + " with C linkage", function);
    else if (!function->hasAttr<CUDADeviceAttr>() && !function->isConstexpr())
      add("host function " + words(function), "a host function " + name, function);
    if (function->isOverloadedOperator()) {
      const auto kind = function->getOverloadedOperator();
      if (kind == OO_New || kind == OO_Delete || kind == OO_Array_New || kind == OO_Array_Delete)
        add("allocation " + words(function), "an allocation function", function);
    }
    return true;
  }

  bool VisitVarDecl(VarDecl* variable) {
    if (isa<ParmVarDecl>(variable) || !variable->hasGlobalStorage() || variable->hasAttr<CUDASharedAttr>() ||
        variable->isConstexpr())
      return true;
    add("variable " + variable->getQualifiedNameAsString() + " " + words(variable),
        "a variable '" + variable->getNameAsString() + "' that is neither local, __shared__ nor constexpr",
        variable);
    return true;
  }

  bool VisitNamespaceDecl(NamespaceDecl* space) {
    const std::string name = space->getQualifiedNameAsString();
    if (name == "std" || name.starts_with("std::") || name == "cuda" || name.starts_with("cuda::"))
      add("namespace " + words(space), "declarations in the namespace " + name, space);
    return true;
  }

  bool VisitFileScopeAsmDecl(FileScopeAsmDecl* assembly) {
    add("assembly " + words(assembly), "assembly", assembly);
    return true;
  }

private:
  // The declaration's words between blanks: comments and layout do not count.
  std::string words(const Decl* declaration) const {
    std::string text;
    const SourceRange range = declaration->getSourceRange();
    const SourceLocation end = Lexer::getLocForEndOfToken(manager_.getExpansionLoc(range.getEnd()), 0,
                                                          manager_, context_.getLangOpts());
    SourceLocation at = manager_.getExpansionLoc(range.getBegin());
    Token token;
    while (at.isValid() && manager_.isBeforeInTranslationUnit(at, end) &&
           !Lexer::getRawToken(at, token, manager_, context_.getLangOpts(), true)) {
      text += Lexer::getSpelling(token, manager_, context_.getLangOpts()) + " ";
      at = token.getEndLoc();
    }
    return text;
  }

  void add(std::string key, std::string what, const Decl* declaration) {
    found.push_back({std::move(key), std::move(what),
                     manager_.getExpansionLineNumber(manager_.getExpansionLoc(declaration->getLocation()))});
  }

  ASTContext& context_;
  const SourceManager& manager_;
};

std::vector<Suspect> suspects_of(ParsedSource& source) {
  ASTContext& context = source.ast().getASTContext();
  SuspectVisitor visitor(context);
  visitor.TraverseDecl(context.getTranslationUnitDecl());
  return std::move(visitor.found);
}

} // namespace

Status screen_declarations(ParsedSource& templated, ParsedSource& raw) {
  std::set<std::string> allowed;
  for (const Suspect& suspect : suspects_of(raw))
    allowed.insert(suspect.key);
  for (const Suspect& suspect : suspects_of(templated))
    if (!allowed.contains(suspect.key))
      return Error{"the template is refused",
                   "line " + std::to_string(suspect.line) + ": " + suspect.what +
                       ", which the raw kernel's text does not have",
                   ""};
  return Done{};
}

} // namespace lathe::refactor::llm
