#include "refactor/extract/newer_spellings.h"

#include <clang/AST/RecursiveASTVisitor.h>

namespace lathe::refactor {

using namespace clang;

namespace {

class Finder : public RecursiveASTVisitor<Finder> {
public:
  bool found = false;

  // Clang fills in the keyword, and has no place for it; bases, which are types in every standard, have none.
  bool VisitDependentNameTypeLoc(DependentNameTypeLoc name) {
    found |= name.getTypePtr()->getKeyword() == ElaboratedTypeKeyword::Typename &&
             name.getElaboratedKeywordLoc().isInvalid();
    return !found;
  }
};

} // namespace

bool leaves_typename_out(const Decl* declaration) {
  Finder finder;
  finder.TraverseDecl(const_cast<Decl*>(declaration)); // the visitor only looks
  return finder.found;
}

} // namespace lathe::refactor
