#include "refactor/extract/host_members.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclFriend.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

namespace lathe::refactor {

using namespace clang;

namespace {

// Templates of the standard library that NVRTC lacks and device code cannot have objects of.
constexpr std::array HOST_TYPES{"basic_ostream", "basic_istream", "basic_ostringstream",
                                "basic_string",  "vector",        "map",
                                "unordered_map", "set",           "function",
                                "shared_ptr",    "unique_ptr",    "complex",
                                "variant",       "any",           "deque",
                                "list"};

// The class or template of the standard library that a type is of.
const NamedDecl* standard_type(QualType type) {
  const NamedDecl* named = type->getAsCXXRecordDecl();
  if (!named) // of a template's own types
    if (const auto* instance = type->getAs<TemplateSpecializationType>())
      named = instance->getTemplateName().getAsTemplateDecl();
  return named && named->getIdentifier() && named->isInStdNamespace() ? named : nullptr;
}

// The name of the type, or nothing.
StringRef host_type(QualType type) {
  type = type.getNonReferenceType();
  while (!type.isNull() && type->isPointerType())
    type = type->getPointeeType();
  const NamedDecl* named = type.isNull() ? nullptr : standard_type(type);
  return named && std::ranges::find(HOST_TYPES, named->getName()) != HOST_TYPES.end() ? named->getName()
                                                                                      : StringRef();
}

bool names_host_type(QualType type) {
  return !host_type(type).empty();
}

const FunctionDecl* function_of(const Decl* declaration) {
  const NamedDecl* named = dyn_cast<NamedDecl>(declaration);
  if (const auto* befriended = dyn_cast<FriendDecl>(declaration))
    named = befriended->getFriendDecl();
  if (const auto* pattern = dyn_cast_or_null<FunctionTemplateDecl>(named))
    named = pattern->getTemplatedDecl();
  return dyn_cast_or_null<FunctionDecl>(named);
}

bool has_host_signature(const FunctionDecl* function) {
  return names_host_type(function->getReturnType()) ||
         std::any_of(function->param_begin(), function->param_end(),
                     [](const ParmVarDecl* parameter) { return names_host_type(parameter->getType()); });
}

// Constexpr functions are the device's too without saying so. Of these types they can use complex numbers
// alone.
bool is_constant_for_the_host(const FunctionDecl* function) {
  const auto is_host_only = [](QualType type) {
    const StringRef name = host_type(type);
    return !name.empty() && name != "complex";
  };
  return function->isConstexpr() && function->getAttr<CUDADeviceAttr>()->isImplicit() &&
         (is_host_only(function->getReturnType()) ||
          std::any_of(function->param_begin(), function->param_end(),
                      [&](const ParmVarDecl* parameter) { return is_host_only(parameter->getType()); }));
}

// What no device code can execute: throws, has a variable of a host type, or calls what takes or gives one.
class HostBody : public RecursiveASTVisitor<HostBody> {
public:
  bool VisitCXXThrowExpr(CXXThrowExpr*) { return stop(); }
  bool VisitVarDecl(VarDecl* variable) { return !names_host_type(variable->getType()) || stop(); }
  bool VisitCallExpr(CallExpr* call) {
    const FunctionDecl* callee = call->getDirectCallee();
    return !callee || !has_host_signature(callee) || stop();
  }
  bool VisitRecoveryExpr(RecoveryExpr*) {
    has_error = true;
    return true;
  }
  bool found = false, has_error = false; // an error: a header of the host's that is not there, for instance

private:
  bool stop() { return !(found = true); }
};

// What the class's members for the device call.
class CalledOnDevice : public RecursiveASTVisitor<CalledOnDevice> {
public:
  bool VisitMemberExpr(MemberExpr* access) { return add(access->getMemberDecl()->getNameAsString()); }
  bool VisitOverloadExpr(OverloadExpr* overloads) { return add(overloads->getName().getAsString()); }
  bool VisitCXXDependentScopeMemberExpr(CXXDependentScopeMemberExpr* access) {
    return add(access->getMember().getAsString());
  }
  bool VisitDeclRefExpr(DeclRefExpr* reference) { return add(reference->getNameInfo().getAsString()); }
  bool VisitCXXConstructExpr(CXXConstructExpr* made) { return add(name_of(made->getConstructor())); }
  bool VisitCXXUnresolvedConstructExpr(CXXUnresolvedConstructExpr* made) {
    const auto* record = made->getTypeAsWritten()->getAsCXXRecordDecl();
    return !record || add(record->getNameAsString());
  }
  bool calls(const FunctionDecl* function) const { return names_.contains(name_of(function)); }

private:
  // Constructors go by their class's name, without its arguments.
  static std::string name_of(const FunctionDecl* function) {
    const auto* constructor = dyn_cast<CXXConstructorDecl>(function);
    return constructor ? constructor->getParent()->getNameAsString() : function->getNameAsString();
  }
  bool add(std::string name) {
    names_.insert(std::move(name));
    return true;
  }
  std::set<std::string> names_;
};

// Whether a class says of its members which of them are for the device, and not of this one: nothing that
// runs there can call it. nvcc takes constexpr functions and what it generates itself for both.
bool is_left_to_the_host(const FunctionDecl* function) {
  const auto* record = dyn_cast<CXXRecordDecl>(function->getLexicalDeclContext());
  if (!record || function->hasAttr<CUDADeviceAttr>() || function->isConstexpr() || function->isDefaulted() ||
      function->isDeleted() || isa<CXXDestructorDecl>(function))
    return false;
  CalledOnDevice called;
  bool says = false;
  for (const Decl* member : record->decls()) {
    const FunctionDecl* other = function_of(member);
    if (!other || !other->hasAttr<CUDADeviceAttr>() || other->isImplicit() || other->isConstexpr())
      continue;
    says = true;
    if (other->isThisDeclarationADefinition() && other->getBody())
      called.TraverseStmt(other->getBody());
  }
  return says && !called.calls(function);
}

// Whether nothing on the device can call a member function: nvcc lets nothing there call what says nothing,
// but for constexpr functions and what it generates itself.
bool is_of_the_host(const Decl* declaration) {
  const FunctionDecl* function = function_of(declaration);
  return function && !function->hasAttr<CUDADeviceAttr>() && !function->hasAttr<CUDAGlobalAttr>() &&
         !function->isConstexpr() && !function->isDefaulted() && !function->isVirtualAsWritten();
}

class HostMembers : public RecursiveASTVisitor<HostMembers> {
public:
  explicit HostMembers(ParsedSourceImpl& source) : source_(source) {}
  bool TraverseDecl(Decl* declaration) {
    if (!declaration || !(is_for_the_host(declaration) || has_error_of_the_host(declaration)))
      return RecursiveASTVisitor::TraverseDecl(declaration);
    auto span = span_of(source_, declaration);
    // A friend ends where its function does; its function begins behind the word.
    if (const auto* befriended = dyn_cast<FriendDecl>(declaration);
        span && befriended && befriended->getFriendDecl())
      if (const auto inner = span_of(source_, befriended->getFriendDecl());
          inner && inner->file == span->file) {
        span->begin = std::min(span->begin, inner->begin);
        span->end = std::max(span->end, inner->end);
      }
    if (span)
      spans.push_back(*span);
    return true;
  }
  std::vector<TextSpan> spans;

private:
  // Where nothing of a statement is understood, no node of it is left that would tell.
  bool has_error_of_the_host(const Decl* declaration) const {
    if (!isa<CXXRecordDecl>(declaration->getLexicalDeclContext()) || !is_of_the_host(declaration))
      return false;
    const auto span = span_of(source_, declaration);
    const SourceManager& sources = source_.ast().getSourceManager();
    return span && std::ranges::any_of(source_.record().errors, [&](const ParseError& error) {
             if (error.in_instantiation || error.location.isInvalid())
               return false;
             const SourceLocation at = sources.getExpansionLoc(error.location);
             return span->contains(sources.getFileID(at), sources.getFileOffset(at));
           });
  }
  ParsedSourceImpl& source_;
};

} // namespace

bool is_for_the_host(const Decl* declaration) {
  if (!isa<CXXRecordDecl>(declaration->getLexicalDeclContext()))
    return false;
  // friend struct std::hash<half>: nothing of the standard library is defined by the kernel.
  if (const auto* befriended = dyn_cast<FriendDecl>(declaration); befriended && befriended->getFriendType())
    return standard_type(befriended->getFriendType()->getType()) != nullptr;
  if (const auto* alias = dyn_cast<TypedefNameDecl>(declaration))
    return names_host_type(alias->getUnderlyingType());
  const FunctionDecl* function = function_of(declaration);
  if (!function || function->hasAttr<CUDAGlobalAttr>())
    return false;
  // friend void host::launch(...): a name of another namespace, which would have to be there before.
  if (isa<FriendDecl>(declaration) && function->getQualifier() && is_of_the_host(function))
    return true;
  if (const auto* method = dyn_cast<CXXMethodDecl>(function); method && method->isVirtual())
    return false;
  // Of a class template's members for both sides, too, some are only there to say that there are none.
  HostBody body;
  if (isa<CXXMethodDecl>(function) && function->isThisDeclarationADefinition() && function->getBody())
    body.TraverseStmt(function->getBody());
  return body.found ||
         (has_host_signature(function) &&
          (!function->hasAttr<CUDADeviceAttr>() || is_constant_for_the_host(function))) ||
         (body.has_error && is_of_the_host(function)) || is_left_to_the_host(function);
}

std::vector<TextSpan> host_members(ParsedSourceImpl& source, const Decl* declaration) {
  HostMembers visitor(source);
  visitor.TraverseDecl(const_cast<Decl*>(declaration));
  return std::move(visitor.spans);
}

bool is_of_host_types(const ClassTemplateSpecializationDecl& specialised) {
  return std::ranges::any_of(specialised.getTemplateArgs().asArray(), [](const TemplateArgument& argument) {
    return argument.getKind() == TemplateArgument::Type && names_host_type(argument.getAsType());
  });
}

} // namespace lathe::refactor
