#include "refactor/extract/reached.h"

#include "refactor/extract/host_members.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclFriend.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <set>
#include <vector>

namespace lathe::refactor {

using namespace clang;

namespace {

// Whether the declaration may be a function that device code calls: what is no function may.
bool is_callable_on_device(const NamedDecl* declaration) {
  const FunctionDecl* function = declaration->getAsFunction();
  return !function || function->isConstexpr() || function->hasAttr<CUDADeviceAttr>() ||
         function->hasAttr<CUDAGlobalAttr>();
}

class References : public RecursiveASTVisitor<References> {
public:
  explicit References(const std::function<void(const NamedDecl*)>& found) : found_(found) {}
  bool shouldVisitImplicitCode() const { return false; }
  bool shouldVisitTemplateInstantiations() const { return false; }
  bool shouldVisitLambdaBody() const { return true; }

  // What is not extracted needs nothing.
  bool TraverseDecl(Decl* declaration) {
    return (declaration && is_for_the_host(declaration)) || RecursiveASTVisitor::TraverseDecl(declaration);
  }
  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    note(reference->getFoundDecl());
    note(reference->getDecl());
    return true;
  }
  bool VisitConceptReference(ConceptReference* reference) {
    note(reference->getNamedConcept());
    return true;
  }
  bool VisitMemberExpr(MemberExpr* member) {
    note(member->getMemberDecl());
    return true;
  }
  // Of overloads those that device code can call, where any is: the shift operators of streams are none, even
  // alone.
  bool VisitOverloadExpr(OverloadExpr* overloads) {
    const bool is_operator = overloads->getName().getNameKind() == DeclarationName::CXXOperatorName;
    const bool has_choice =
        is_operator || std::ranges::any_of(overloads->decls(), [](const NamedDecl* candidate) {
          return is_callable_on_device(candidate->getUnderlyingDecl());
        });
    for (const NamedDecl* candidate : overloads->decls()) {
      if (has_choice && !is_callable_on_device(candidate->getUnderlyingDecl()))
        continue;
      note(candidate);
      note(candidate->getUnderlyingDecl());
    }
    return true;
  }
  bool VisitCXXConstructExpr(CXXConstructExpr* construct) {
    note(construct->getConstructor());
    return true;
  }
  bool VisitTypedefTypeLoc(TypedefTypeLoc location) {
    note(location.getTypedefNameDecl());
    return true;
  }
  bool VisitTagTypeLoc(TagTypeLoc location) {
    note(location.getDecl());
    return true;
  }
  bool VisitInjectedClassNameTypeLoc(InjectedClassNameTypeLoc location) {
    note(location.getDecl());
    return true;
  }
  bool VisitUsingTypeLoc(UsingTypeLoc location) {
    note(location.getFoundDecl());
    note(location.getFoundDecl()->getTargetDecl());
    return true;
  }
  bool VisitUnresolvedUsingTypeLoc(UnresolvedUsingTypeLoc location) {
    note(location.getDecl());
    return true;
  }
  bool VisitTemplateSpecializationTypeLoc(TemplateSpecializationTypeLoc location) {
    note_template(location.getTypePtr()->getTemplateName());
    return true;
  }
  bool VisitDeducedTemplateSpecializationTypeLoc(DeducedTemplateSpecializationTypeLoc location) {
    note_template(location.getTypePtr()->getTemplateName());
    return true;
  }
  bool VisitConceptSpecializationExpr(ConceptSpecializationExpr* expression) {
    note(expression->getNamedConcept());
    return true;
  }
  bool TraverseTemplateName(TemplateName name) {
    note_template(name);
    return RecursiveASTVisitor::TraverseTemplateName(name);
  }
  bool TraverseNestedNameSpecifierLoc(NestedNameSpecifierLoc location) {
    for (NestedNameSpecifierLoc part = location; part; part = part.getPrefix()) {
      const NestedNameSpecifier* specifier = part.getNestedNameSpecifier();
      if (const NamespaceAliasDecl* alias = specifier->getAsNamespaceAlias())
        note(alias);
      // What is named so may stand in a namespace that this one opens.
      if (const NamespaceDecl* space = specifier->getAsNamespace();
          space && !space->using_directives().empty())
        note(space);
    }
    return RecursiveASTVisitor::TraverseNestedNameSpecifierLoc(location);
  }
  // friend struct detail::caster: the name must be there before.
  bool VisitFriendDecl(FriendDecl* befriended) {
    const NamedDecl* named = befriended->getFriendDecl();
    const auto* pattern = dyn_cast_or_null<ClassTemplateDecl>(named);
    if (pattern && pattern->getTemplatedDecl()->getQualifier())
      note(pattern->getCanonicalDecl());
    return true;
  }
  bool VisitUsingDirectiveDecl(UsingDirectiveDecl* directive) {
    note(directive->getNominatedNamespaceAsWritten());
    return true;
  }
  bool VisitUsingDecl(UsingDecl* declaration) {
    for (const UsingShadowDecl* shadow : declaration->shadows())
      note(shadow->getTargetDecl());
    return true;
  }
  bool VisitNamespaceAliasDecl(NamespaceAliasDecl* alias) {
    note(alias->getNamespace());
    return true;
  }

private:
  void note(const NamedDecl* declaration) {
    if (declaration)
      found_(declaration);
  }
  void note_template(TemplateName name) {
    if (const UsingShadowDecl* shadow = name.getAsUsingShadowDecl())
      note(shadow);
    note(name.getAsTemplateDecl());
  }

  const std::function<void(const NamedDecl*)>& found_;
};

// Template arguments of every mention of one kernel.
class KernelArguments : public RecursiveASTVisitor<KernelArguments> {
public:
  KernelArguments(const FunctionDecl* kernel, const std::function<void(const NamedDecl*)>& found)
      : kernel_(kernel->getCanonicalDecl()), references_(found) {}
  bool shouldVisitLambdaBody() const { return true; }

  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    if (const auto* function = dyn_cast<FunctionDecl>(reference->getDecl()); function && is_kernel(function))
      visit(reference->template_arguments());
    return true;
  }
  bool VisitUnresolvedLookupExpr(UnresolvedLookupExpr* lookup) {
    for (const NamedDecl* candidate : lookup->decls())
      if (const FunctionDecl* function = candidate->getUnderlyingDecl()->getAsFunction();
          function && is_kernel(function)) {
        visit(lookup->template_arguments());
        break;
      }
    return true;
  }

private:
  bool is_kernel(const FunctionDecl* function) const {
    const FunctionTemplateDecl* primary = function->getPrimaryTemplate();
    return function->getCanonicalDecl() == kernel_ ||
           (primary && primary->getTemplatedDecl()->getCanonicalDecl() == kernel_);
  }
  void visit(llvm::ArrayRef<TemplateArgumentLoc> arguments) {
    for (const TemplateArgumentLoc& argument : arguments)
      references_.TraverseTemplateArgumentLoc(argument);
  }

  const FunctionDecl* kernel_;
  References references_;
};

// Functions that calls in a template find by the types of their arguments only: overloads that are declared
// behind it, which the template's own text does not know of.
class FoundByArguments : public RecursiveASTVisitor<FoundByArguments> {
public:
  FoundByArguments(ASTContext& context, const std::function<void(const NamedDecl*)>& found)
      : context_(context), found_(found) {}
  bool shouldVisitLambdaBody() const { return true; }

  bool TraverseDecl(Decl* declaration) {
    return (declaration && is_for_the_host(declaration)) || RecursiveASTVisitor::TraverseDecl(declaration);
  }
  void traverse(const Decl* unit) {
    TraverseDecl(const_cast<Decl*>(unit));
    std::vector<const FunctionDecl*> instances;
    if (const auto* function = dyn_cast<FunctionTemplateDecl>(unit)) {
      for (const FunctionDecl* instance : function->specializations())
        instances.push_back(instance);
    } else if (const auto* record = dyn_cast<ClassTemplateDecl>(unit)) {
      for (const ClassTemplateSpecializationDecl* instance : record->specializations()) {
        instances.insert(instances.end(), instance->method_begin(), instance->method_end());
        if (!instance->hasDefinition()) // named, and never made
          continue;
        for (const FriendDecl* of : instance->friends())
          if (const auto* befriended = dyn_cast_or_null<FunctionDecl>(of->getFriendDecl()))
            instances.push_back(befriended);
      }
    }
    for (const FunctionDecl* instance : instances)
      if (const FunctionDecl* defined = nullptr; instance->hasBody(defined) && !is_for_the_host(defined))
        TraverseStmt(defined->getBody());
  }
  bool VisitUnresolvedLookupExpr(UnresolvedLookupExpr* lookup) {
    if (lookup->requiresADL())
      names_.insert(lookup->getName());
    return true;
  }
  // An operator between types that only an instance knows, where none is in sight.
  bool VisitBinaryOperator(BinaryOperator* operation) {
    if (operation->isTypeDependent())
      note(BinaryOperator::getOverloadedOperator(operation->getOpcode()));
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator* operation) {
    if (operation->isTypeDependent())
      note(UnaryOperator::getOverloadedOperator(operation->getOpcode()));
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    if (const auto* function = dyn_cast<FunctionDecl>(reference->getDecl()))
      called_.push_back(function);
    return true;
  }
  void tell() const {
    for (const FunctionDecl* function : called_)
      if (names_.contains(function->getDeclName()))
        found_(function);
  }

private:
  void note(OverloadedOperatorKind kind) {
    if (kind != OO_None)
      names_.insert(context_.DeclarationNames.getCXXOperatorName(kind));
  }

  ASTContext& context_;
  const std::function<void(const NamedDecl*)>& found_;
  std::set<DeclarationName> names_;
  std::vector<const FunctionDecl*> called_;
};

const Decl* pattern(const Decl* declaration) {
  if (const auto* function = dyn_cast<FunctionDecl>(declaration)) {
    if (const FunctionDecl* from = function->getTemplateInstantiationPattern(false))
      return from;
    if (const FunctionTemplateDecl* primary = function->getPrimaryTemplate();
        primary && function->getTemplateSpecializationKind() != TSK_ExplicitSpecialization)
      return primary->getTemplatedDecl();
  } else if (const auto* record = dyn_cast<CXXRecordDecl>(declaration)) {
    if (const CXXRecordDecl* from = record->getTemplateInstantiationPattern())
      return from;
    if (const auto* specialised = dyn_cast<ClassTemplateSpecializationDecl>(record);
        specialised && !specialised->isExplicitSpecialization())
      return specialised->getSpecializedTemplate()->getTemplatedDecl();
  } else if (const auto* variable = dyn_cast<VarDecl>(declaration)) {
    if (const VarDecl* from = variable->getTemplateInstantiationPattern())
      return from;
  } else if (const auto* enumeration = dyn_cast<EnumDecl>(declaration)) {
    if (const EnumDecl* from = enumeration->getTemplateInstantiationPattern())
      return from;
  }
  return declaration;
}

} // namespace

const Decl* unit_of(const Decl* declaration) {
  while (declaration) {
    if (const auto* shadow = dyn_cast<UsingShadowDecl>(declaration)) {
      declaration = cast<Decl>(shadow->getIntroducer());
      continue;
    }
    if (const Decl* from = pattern(declaration); from != declaration) {
      declaration = from;
      continue;
    }
    if (isa<NamespaceDecl>(declaration) || isa<TranslationUnitDecl>(declaration))
      return nullptr;
    const DeclContext* context = declaration->getLexicalDeclContext();
    if (const auto* linkage = dyn_cast<LinkageSpecDecl>(context); linkage && !linkage->hasBraces()) {
      declaration = linkage;
      continue;
    }
    if (context->isFileContext() || isa<LinkageSpecDecl>(context))
      break;
    declaration = Decl::castFromDeclContext(context);
  }
  if (!declaration)
    return nullptr;
  if (const auto* function = dyn_cast<FunctionDecl>(declaration);
      function && function->getDescribedFunctionTemplate())
    return function->getDescribedFunctionTemplate();
  if (const auto* record = dyn_cast<CXXRecordDecl>(declaration);
      record && record->getDescribedClassTemplate())
    return record->getDescribedClassTemplate();
  if (const auto* variable = dyn_cast<VarDecl>(declaration); variable && variable->getDescribedVarTemplate())
    return variable->getDescribedVarTemplate();
  if (const auto* alias = dyn_cast<TypeAliasDecl>(declaration); alias && alias->getDescribedAliasTemplate())
    return alias->getDescribedAliasTemplate();
  return declaration;
}

void for_each_reference(const Decl* unit, const std::function<void(const NamedDecl*)>& found) {
  References visitor(found);
  visitor.TraverseDecl(const_cast<Decl*>(unit));
  if (isa<FunctionTemplateDecl, ClassTemplateDecl>(unit)) {
    FoundByArguments by_arguments(unit->getASTContext(), found);
    by_arguments.traverse(unit);
    by_arguments.tell();
  }
}

void for_each_kernel_argument(ASTContext& context, const FunctionDecl* kernel,
                              const std::function<void(const NamedDecl*)>& found) {
  KernelArguments visitor(kernel, found);
  visitor.TraverseAST(context);
}

} // namespace lathe::refactor
