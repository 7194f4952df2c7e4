#include "refactor/extract/constant_initialisers.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <map>
#include <set>

namespace lathe::refactor {

using namespace clang;

namespace {

// What an initialiser reads and calls.
class Reads : public RecursiveASTVisitor<Reads> {
public:
  std::vector<const VarDecl*> variables;
  bool has_calls = false;

  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
      variables.push_back(variable->getCanonicalDecl());
    return true;
  }

  bool VisitCallExpr(CallExpr*) {
    has_calls = true;
    return true;
  }
};

Reads reads_of(const VarDecl& variable) {
  Reads reads;
  reads.TraverseStmt(const_cast<Expr*>(variable.getInit())); // the visitor only looks
  return reads;
}

// const T name = number; outside of classes and functions, which may as well be constexpr.
bool may_be_constexpr(const VarDecl& variable) {
  const QualType type = variable.getType();
  return variable.isFileVarDecl() && !variable.isStaticDataMember() && !variable.isConstexpr() &&
         !variable.getDescribedVarTemplate() && !variable.getBeginLoc().isMacroID() &&
         type.isConstQualified() && !type.isVolatileQualified() && type->isArithmeticType() &&
         variable.hasInit() && !variable.getInit()->isValueDependent() && !reads_of(variable).has_calls &&
         variable.evaluateValue();
}

} // namespace

std::vector<Replacement> constant_initialisers(ParsedSourceImpl& source,
                                               const std::vector<const Decl*>& units) {
  // Variables that one declaration names get the word together, or not at all.
  std::map<SourceLocation, std::vector<const VarDecl*>> declared;
  std::map<const VarDecl*, SourceLocation> place;
  for (const Decl* unit : units)
    if (const auto* variable = dyn_cast<VarDecl>(unit); variable && variable->isFileVarDecl()) {
      declared[variable->getBeginLoc()].push_back(variable);
      place.emplace(variable->getCanonicalDecl(), variable->getBeginLoc());
    }
  const auto is_open = [&](SourceLocation at) {
    for (const VarDecl* variable : declared.at(at))
      if (!may_be_constexpr(*variable))
        return false;
    return true;
  };
  std::set<SourceLocation> chosen;
  std::vector<SourceLocation> waiting;
  const auto choose = [&](SourceLocation at) {
    if (!chosen.contains(at) && is_open(at)) {
      chosen.insert(at);
      waiting.push_back(at);
    }
  };
  // Integers are constants without the word where their initialisers are.
  for (const auto& [at, variables] : declared)
    for (const VarDecl* variable : variables)
      if (may_be_constexpr(*variable))
        for (const VarDecl* read : reads_of(*variable).variables)
          if (read->getType()->isRealFloatingType() && !read->isConstexpr() && place.contains(read))
            choose(at);
  while (!waiting.empty()) {
    const SourceLocation at = waiting.back();
    waiting.pop_back();
    for (const VarDecl* variable : declared.at(at))
      for (const VarDecl* read : reads_of(*variable).variables)
        if (const auto found = place.find(read); found != place.end())
          choose(found->second);
  }
  const SourceManager& sources = source.ast().getASTContext().getSourceManager();
  std::vector<Replacement> found;
  for (const SourceLocation at : chosen) {
    const unsigned offset = sources.getFileOffset(at);
    found.push_back({{sources.getFileID(at), offset, offset}, "constexpr "});
  }
  return found;
}

} // namespace lathe::refactor
