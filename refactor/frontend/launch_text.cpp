// How a launch is written, and which host code around it has known values.
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"

#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

// From `from` down to `to`, both included; empty where it is not inside.
std::vector<const Stmt*> path_between(const Stmt* from, const Stmt* to) {
  if (!from)
    return {};
  if (from == to)
    return {to};
  const auto through = [&](const Stmt* child) {
    std::vector<const Stmt*> path = path_between(child, to);
    if (!path.empty())
      path.insert(path.begin(), from);
    return path;
  };
  for (const Stmt* child : from->children())
    if (auto path = through(child); !path.empty())
      return path;
  if (const auto* closure = dyn_cast<LambdaExpr>(from))
    return through(closure->getBody());
  return {};
}

// What `scope` declares before it comes to `child`.
std::vector<const VarDecl*> declared_before(const Stmt* scope, const Stmt* child) {
  std::vector<const VarDecl*> found;
  const auto add = [&](const Stmt* statement) {
    if (const auto* declaration = dyn_cast_or_null<DeclStmt>(statement); declaration && statement != child)
      for (const Decl* declared : declaration->decls())
        if (const auto* variable = dyn_cast<VarDecl>(declared))
          found.push_back(variable);
  };
  if (const auto* block = dyn_cast<CompoundStmt>(scope)) {
    for (const Stmt* statement : block->body()) {
      if (statement == child)
        break;
      add(statement);
    }
  } else if (const auto* loop = dyn_cast<ForStmt>(scope)) {
    add(loop->getInit());
    add(loop->getConditionVariableDeclStmt());
  } else if (const auto* condition = dyn_cast<IfStmt>(scope)) {
    add(condition->getInit());
    add(condition->getConditionVariableDeclStmt());
  } else if (const auto* choice = dyn_cast<SwitchStmt>(scope)) {
    add(choice->getInit());
    add(choice->getConditionVariableDeclStmt());
  } else if (const auto* again = dyn_cast<WhileStmt>(scope)) {
    add(again->getConditionVariableDeclStmt());
  } else if (const auto* each = dyn_cast<CXXForRangeStmt>(scope)) {
    add(each->getInit());
    add(each->getLoopVarStmt());
  } else if (const auto* closure = dyn_cast<LambdaExpr>(scope)) {
    for (const ParmVarDecl* parameter : closure->getCallOperator()->parameters())
      found.push_back(parameter);
  }
  return found;
}

// Whether a value may be lost where `long long` is initialised with it.
bool may_narrow(QualType type, const ASTContext& context) {
  type = type.getNonReferenceType();
  if (type->isDependentType() || type->isUndeducedType() || !type->isIntegerType())
    return true;
  const std::uint64_t width = context.getTypeSize(type), most = context.getTypeSize(context.LongLongTy);
  return type->isSignedIntegerOrEnumerationType() ? width > most : width >= most;
}

// The text in the file, where it is in one piece there; nothing inside the body of a macro.
std::optional<std::string> text_in_file(SourceRange range, const ASTContext& context) {
  const SourceManager& sources = context.getSourceManager();
  const CharSourceRange whole =
      Lexer::makeFileCharRange(CharSourceRange::getTokenRange(range), sources, context.getLangOpts());
  if (whole.isInvalid())
    return std::nullopt;
  return Lexer::getSourceText(whole, sources, context.getLangOpts()).str();
}

std::string pointee(QualType type, const ASTContext& context) {
  type = type.getNonReferenceType();
  if (const auto* array = context.getAsArrayType(type))
    type = context.getPointerType(array->getElementType());
  if (type->isDependentType() || !type->isPointerType())
    return "";
  PrintingPolicy policy(context.getLangOpts());
  policy.SuppressTagKeyword = true;
  return type->getPointeeType().getCanonicalType().getUnqualifiedType().getAsString(policy);
}

// A statement of its own, whose value nobody uses.
bool is_statement(const std::vector<const Stmt*>& path) {
  std::size_t above = path.size() - 1;
  while (above > 0 && isa<FullExpr>(path[above - 1]))
    --above;
  return above > 0 && !isa<Expr>(path[above - 1]) && !isa<ReturnStmt>(path[above - 1]) &&
         !isa<DeclStmt>(path[above - 1]);
}

} // namespace

std::string HostReader::known_value(const VarDecl* variable) const {
  if (const auto found = frame_.variables.find(variable); found != frame_.variables.end())
    return found->second.is_integer() ? found->second.text : "";
  // A parameter that was not assigned to is the dimension that is named after it, where anything asked for
  // it.
  if (isa<ParmVarDecl>(variable))
    for (const auto& [name, owner] : names_)
      if (owner == owner_of(variable))
        return name;
  return "";
}

void HostReader::add_known_variables(const FunctionDecl* function, const std::vector<const Stmt*>& path,
                                     LaunchText& text) const {
  std::set<std::string> hidden;
  const auto add = [&](const VarDecl* variable) {
    const std::string name = variable->getNameAsString();
    if (name.empty() || !hidden.insert(name).second)
      return;
    const QualType type = variable->getType().getNonReferenceType();
    if (const std::string value = known_value(variable); !value.empty() && !type->isBooleanType())
      text.known.push_back({name, value, may_narrow(type, context_)});
  };
  for (std::size_t i = path.size() - 1; i > 0; --i) {
    // The later of two declarations of a scope does not hide the earlier one: they cannot share a name.
    for (const VarDecl* variable : declared_before(path[i - 1], path[i]))
      add(variable);
  }
  for (const ParmVarDecl* parameter : function->parameters())
    add(parameter);
}

LaunchText HostReader::written_launch(const CUDAKernelCallExpr* launch,
                                      const std::vector<HostValue>& arguments) {
  const SourceManager& sources = context_.getSourceManager();
  LaunchText result;
  std::vector<const Stmt*> path;
  const FunctionDecl* function = nullptr;
  for (auto at = functions_.rbegin(); at != functions_.rend() && path.empty(); ++at) {
    path = path_between((*at)->getBody(), launch);
    function = *at;
  }
  if (path.empty()) {
    result.fixed = "it is not followed where it is called";
    return result;
  }
  result.function = function->getNameAsString();
  const SourceLocation begin = launch->getBeginLoc();
  if (begin.isMacroID() && sources.isMacroBodyExpansion(begin)) {
    result.fixed = "it stands in the macro " +
                   Lexer::getImmediateMacroName(begin, sources, context_.getLangOpts()).str();
    return result;
  }
  const CharSourceRange range = Lexer::makeFileCharRange(
      CharSourceRange::getTokenRange(launch->getSourceRange()), sources, context_.getLangOpts());
  const auto call = text_in_file(launch->getSourceRange(), context_);
  if (!call) {
    result.fixed = "a macro makes a part of it";
    return result;
  }
  if (!is_statement(path)) {
    result.fixed = "it is a part of an expression";
    return result;
  }
  result.file = sources.getFilename(range.getBegin()).str();
  result.begin = sources.getFileOffset(range.getBegin());
  result.call = *call;
  add_known_variables(function, path, result);
  for (unsigned i = 0; i < launch->getNumArgs(); ++i) {
    const Expr* argument = launch->getArg(i);
    if (isa<CXXDefaultArgExpr>(argument))
      break;
    const auto written = text_in_file(argument->getSourceRange(), context_);
    if (!written) {
      result.fixed = fmt::format("a macro makes a part of its argument {}", i + 1);
      return result;
    }
    const QualType type = argument->IgnoreImpCasts()->getType();
    result.arguments.push_back(*written);
    result.pointees.push_back(pointee(type, context_));
    if (i < arguments.size() && arguments[i].is_integer())
      result.known.push_back({*written, arguments[i].text, may_narrow(type, context_)});
  }
  const CallExpr* configuration = launch->getConfig();
  constexpr unsigned stream_position = 3;
  if (configuration->getNumArgs() > stream_position)
    if (const Expr* stream = configuration->getArg(stream_position); !isa<CXXDefaultArgExpr>(stream)) {
      const auto written = text_in_file(stream->getSourceRange(), context_);
      if (!written) {
        result.fixed = "a macro makes its stream";
        return result;
      }
      result.stream = *written;
    }
  result.fixed.clear();
  return result;
}

} // namespace lathe::refactor
