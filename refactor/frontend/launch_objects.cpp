// Objects that launch: made from a grid and a block, and then called with a kernel and its arguments.
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

// Where a constructor takes what a launch takes.
struct Settings {
  unsigned grid = 0, block = 0;
  std::optional<unsigned> shared;
};

constexpr std::array SHARED_WORDS{"shared", "smem", "shmem", "bytes"};

bool is_named_after(llvm::StringRef written, llvm::ArrayRef<const char*> words) {
  std::string name;
  for (const char letter : written)
    if (letter != '_')
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return std::ranges::any_of(words, [&](const char* word) { return name.find(word) != std::string::npos; });
}

// Two parameters of type dim3 are a launch's, and their names say which is which; dynamic shared memory is a
// number that is named so.
std::optional<Settings> settings_of(const FunctionDecl& constructor) {
  std::optional<unsigned> grid, block, shared;
  for (unsigned i = 0; i < constructor.getNumParams(); ++i) {
    const ParmVarDecl& parameter = *constructor.getParamDecl(i);
    const bool is_dimensions = is_dim3(parameter.getType());
    if (is_dimensions && !grid && is_named_after(parameter.getName(), {"grid", "blocks", "blocknum"}))
      grid = i;
    else if (is_dimensions && !block && is_named_after(parameter.getName(), {"block", "thread", "cta"}))
      block = i;
    else if (is_size(parameter.getType()) && !shared && is_named_after(parameter.getName(), SHARED_WORDS))
      shared = i;
  }
  if (!grid || !block)
    return std::nullopt;
  return Settings{*grid, *block, shared};
}

// The class's constructor that takes a launch's settings among so many arguments; nothing: any number.
std::optional<Settings> settings_of(QualType type, std::optional<std::size_t> arguments = std::nullopt) {
  const CXXRecordDecl* record = type.isNull() ? nullptr : type.getNonReferenceType()->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition())
    return std::nullopt;
  for (const Decl* member : record->getDefinition()->decls()) {
    if (const auto* described = dyn_cast<FunctionTemplateDecl>(member))
      member = described->getTemplatedDecl();
    const auto* constructor = dyn_cast<CXXConstructorDecl>(member);
    if (constructor && (!arguments || (constructor->getMinRequiredArguments() <= *arguments &&
                                       *arguments <= constructor->getNumParams())))
      if (const auto settings = settings_of(*constructor))
        return settings;
  }
  return std::nullopt;
}

// What the first of a chain of calls is called on: `Launcher(...)` of
// `Launcher(...).waiting(true).launch(...)`.
const Expr* root_of(const Expr* expression) {
  for (;;) {
    expression = plain(expression);
    const auto* call = dyn_cast<CallExpr>(expression);
    if (!call)
      return expression;
    const Expr* callee = call->getCallee()->IgnoreParenImpCasts();
    const Expr* object = isa<CXXOperatorCallExpr>(call) && call->getNumArgs() > 0 ? call->getArg(0) : callee;
    if (const auto* access = dyn_cast<MemberExpr>(callee))
      object = access->getBase();
    else if (const auto* named = dyn_cast<CXXDependentScopeMemberExpr>(callee))
      object = named->isImplicitAccess() ? nullptr : named->getBase();
    else if (const auto* overloads = dyn_cast<UnresolvedMemberExpr>(callee))
      object = overloads->isImplicitAccess() ? nullptr : overloads->getBase();
    else if (object == callee && !isa<CallExpr>(plain(callee)))
      return expression;
    if (!object)
      return expression;
    expression = object;
  }
}

// The members are called as cudaLaunchConfig_t's.
constexpr const char *GRID = "gridDim", *BLOCK = "blockDim", *SHARED = "dynamicSmemBytes";

bool launches_when_called(const HostValue& object) {
  return object.kind == HostValue::Kind::structure && object.members.contains(GRID) &&
         object.members.contains(BLOCK);
}

// A structure of the program's own may call it otherwise, or leave it out.
HostValue shared_bytes_of(const HostValue& object) {
  if (const auto found = object.members.find(SHARED); found != object.members.end())
    return found->second;
  const auto own = std::ranges::find_if(
      object.members, [](const auto& member) { return is_named_after(member.first, SHARED_WORDS); });
  return own == object.members.end() ? HostValue::integer("0") : own->second;
}

} // namespace

std::optional<HostValue> HostReader::launch_object(QualType type, llvm::ArrayRef<const Expr*> arguments) {
  const auto settings = arguments.size() < 2 ? std::nullopt : settings_of(type, arguments.size());
  if (!settings || std::max(settings->grid, settings->block) >= arguments.size())
    return std::nullopt;
  HostValue object;
  object.kind = HostValue::Kind::structure;
  object.members[GRID] = evaluate(arguments[settings->grid]);
  object.members[BLOCK] = evaluate(arguments[settings->block]);
  const bool is_given = settings->shared && *settings->shared < arguments.size() &&
                        !isa<CXXDefaultArgExpr>(arguments[*settings->shared]);
  object.members[SHARED] = is_given ? evaluate(arguments[*settings->shared]) : HostValue::integer("0");
  return object;
}

// launcher(kernel, arguments...) and launcher.launch(kernel, arguments...); other methods set attributes, and
// give the launcher back.
std::optional<HostValue> HostReader::call_launch_object(const Expr* object,
                                                        llvm::ArrayRef<const Expr*> written, bool is_operator,
                                                        SourceLocation location) {
  // Most objects are others: what a chain of calls comes to is not evaluated once more to see that.
  const Expr* root = root_of(object);
  const auto* reference = dyn_cast<DeclRefExpr>(root);
  const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  const auto known = variable ? frame_.variables.find(variable) : frame_.variables.end();
  if (!settings_of(root->getType()) &&
      (known == frame_.variables.end() || !launches_when_called(known->second)))
    return std::nullopt;
  const HostValue launcher = evaluate(object);
  if (!launches_when_called(launcher))
    return std::nullopt;
  const HostValue callee = written.empty() ? HostValue() : evaluate(written[0]);
  if (callee.kind != HostValue::Kind::kernel)
    return is_operator ? std::nullopt : std::optional(launcher);
  record_launch_by_object(callee, launcher, written.drop_front(), location);
  return HostValue::unknown("");
}

// launch(kernel, settings, arguments...): the object is made from a grid and a block, a function launches.
bool HostReader::record_launch_with_settings(const HostValue& kernel, llvm::ArrayRef<const Expr*> written,
                                             SourceLocation location) {
  const std::size_t own = kernel.kernels.front().kernel->getNumParams();
  if (written.size() != own + 1)
    return false;
  const HostValue settings = evaluate(written.front());
  if (!launches_when_called(settings))
    return false;
  record_launch_by_object(kernel, settings, written.drop_front(), location);
  return true;
}

void HostReader::record_launch_by_object(const HostValue& kernels, const HostValue& settings,
                                         llvm::ArrayRef<const Expr*> written, SourceLocation location) {
  std::vector<HostValue> arguments;
  for (const Expr* argument : written)
    arguments.push_back(evaluate(argument));
  LaunchText text;
  text.fixed = "it goes through an object that launches";
  for (const KernelReference& kernel : kernels.kernels)
    record(kernel, settings.members.at(GRID), settings.members.at(BLOCK), shared_bytes_of(settings),
           arguments, text, location);
}

} // namespace lathe::refactor
