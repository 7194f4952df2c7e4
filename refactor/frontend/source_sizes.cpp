#include "refactor/frontend/source_sizes.h"

#include "refactor/frontend/constant_variables.h"
#include "tuner/base/text.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/MacroInfo.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// Smaller numbers are more often tiles, radii or numbers of bins than sizes of a problem.
constexpr std::int64_t LARGEST_OTHER = 256;
// In device code, where what a block's shape or arrays are made of is left out.
constexpr std::int64_t LEAST_IN_DEVICE_TEXT = 64, MOST_IN_DEVICE_TEXT = std::int64_t{1} << 30;

bool is_size_in_device_text(std::int64_t value) {
  return value >= LEAST_IN_DEVICE_TEXT && value <= MOST_IN_DEVICE_TEXT;
}

// The macro in whose own text the expression begins and ends; "" where there is none.
std::string whole_macro(const Expr* expression, const ASTContext& context) {
  const SourceManager& sources = context.getSourceManager();
  const SourceLocation begin = expression->getBeginLoc(), end = expression->getEndLoc();
  if (!sources.isMacroBodyExpansion(begin) || !sources.isMacroBodyExpansion(end))
    return "";
  const StringRef name = Lexer::getImmediateMacroName(begin, sources, context.getLangOpts());
  return name == Lexer::getImmediateMacroName(end, sources, context.getLangOpts()) ? name.str() : "";
}

class Launches : public VariableUses<Launches> {
public:
  std::vector<const CUDAKernelCallExpr*> found;

  bool VisitCUDAKernelCallExpr(CUDAKernelCallExpr* call) {
    found.push_back(call);
    return true;
  }
};

// Functions of the user's that run on the device, by the text that they have.
class DeviceText : public RecursiveASTVisitor<DeviceText> {
public:
  DeviceText(ParsedSourceImpl& source, std::set<std::string>& words) : source_(source), words_(words) {}

  bool TraverseDecl(Decl* declaration) {
    return (declaration && source_.is_elsewhere(*declaration)) ||
           RecursiveASTVisitor::TraverseDecl(declaration);
  }
  bool TraverseStmt(Stmt*) { return true; }
  bool VisitFunctionDecl(FunctionDecl* function) {
    if (!function->doesThisDeclarationHaveABody() ||
        !(function->hasAttr<CUDAGlobalAttr>() || function->hasAttr<CUDADeviceAttr>()))
      return true;
    const ASTContext& context = function->getASTContext();
    const CharSourceRange range =
        Lexer::makeFileCharRange(CharSourceRange::getTokenRange(function->getSourceRange()),
                                 context.getSourceManager(), context.getLangOpts());
    for (std::string& word :
         identifiers(Lexer::getSourceText(range, context.getSourceManager(), context.getLangOpts()).str()))
      words_.insert(std::move(word));
    return true;
  }

private:
  ParsedSourceImpl& source_;
  std::set<std::string>& words_;
};

} // namespace

// What an expression is made of: constants by the variable or macro that names them.
struct SourceSizes::Found : RecursiveASTVisitor<Found> {
  const ASTContext& context;
  std::map<const VarDecl*, std::int64_t> variables;
  std::map<std::string, std::int64_t> macros;
  const bool is_whole; // what constants are made of as well

  explicit Found(const ASTContext& in, bool whole = false) : context(in), is_whole(whole) {}
  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
    const bool is_constant = variable && (variable->isLocalVarDecl() || variable->isConstexpr() ||
                                          variable->getType().isConstQualified());
    if (!is_constant || !variable->hasInit() || variable->isInitCapture())
      return true;
    const Expr* initialiser = variable->getInit();
    const auto value = constant_number(initialiser, context);
    if (value)
      variables[variable] = *value;
    if (!value || is_whole)
      TraverseStmt(const_cast<Expr*>(initialiser)); // dim3 block(threads); int n = 2 * N;
    return true;
  }
  bool VisitExpr(Expr* expression) {
    if (const std::string macro = whole_macro(expression, context); !macro.empty())
      if (const auto value = constant_number(expression, context))
        macros.try_emplace(macro, *value); // the outermost expression comes first
    return true;
  }
};

const std::set<std::string>& SourceSizes::device_words() {
  if (!device_words_) {
    device_words_.emplace();
    DeviceText(source_, *device_words_).TraverseAST(source_.ast().getASTContext());
  }
  return *device_words_;
}

// The constants of device code, those apart that sizes of arrays in it and bounds of launches are made of.
class SourceSizes::InDeviceText : public RecursiveASTVisitor<InDeviceText> {
public:
  InDeviceText(ParsedSourceImpl& source, ASTContext& context)
      : of_code(context), of_shapes(context, true), source_(source) {}

  Found of_code, of_shapes;

  bool TraverseDecl(Decl* declaration) {
    return (declaration && source_.is_elsewhere(*declaration)) ||
           RecursiveASTVisitor::TraverseDecl(declaration);
  }
  bool VisitFunctionDecl(FunctionDecl* function) {
    if (!function->doesThisDeclarationHaveABody() ||
        !(function->hasAttr<CUDAGlobalAttr>() || function->hasAttr<CUDADeviceAttr>()))
      return true;
    Operands(of_code).TraverseStmt(function->getBody());
    for (const ParmVarDecl* parameter : function->parameters()) // rows of a matrix: float m[][N]
      if (const TypeSourceInfo* type = parameter->getTypeSourceInfo())
        of_code.TraverseTypeLoc(type->getTypeLoc());
    Arrays(of_shapes).TraverseStmt(function->getBody());
    if (const auto* bounds = function->getAttr<CUDALaunchBoundsAttr>())
      for (Expr* bound : {bounds->getMaxThreads(), bounds->getMinBlocks()})
        of_shapes.TraverseStmt(bound);
    return true;
  }

private:
  // What is computed or compared with: no masks, flags and numbers that are stored as they are.
  struct Operands : RecursiveASTVisitor<Operands> {
    Found& of_code;
    explicit Operands(Found& into) : of_code(into) {}
    bool VisitBinaryOperator(BinaryOperator* operation) {
      const BinaryOperatorKind kind = operation->isCompoundAssignmentOp()
                                          ? BinaryOperator::getOpForCompoundAssignment(operation->getOpcode())
                                          : operation->getOpcode();
      if (!BinaryOperator::isComparisonOp(kind) && !BinaryOperator::isMultiplicativeOp(kind) &&
          !BinaryOperator::isAdditiveOp(kind))
        return true;
      for (Expr* operand : {operation->getLHS(), operation->getRHS()}) {
        Expr* alone = operand->IgnoreParenCasts();
        of_code.VisitExpr(alone);
        if (auto* reference = dyn_cast<DeclRefExpr>(alone))
          of_code.VisitDeclRefExpr(reference);
      }
      return true;
    }
  };
  struct Arrays : RecursiveASTVisitor<Arrays> {
    Found& of_shapes;
    explicit Arrays(Found& into) : of_shapes(into) {}
    bool VisitVarDecl(VarDecl* variable) {
      if (const TypeSourceInfo* type = variable->getTypeSourceInfo())
        of_shapes.TraverseTypeLoc(type->getTypeLoc());
      return true;
    }
  };
  ParsedSourceImpl& source_;
};

bool SourceSizes::is_object_macro(const std::string& name) const {
  return std::ranges::any_of(source_.record().macro_uses, [&](const MacroUse& use) {
    return use.name == name && use.definition && use.definition->isObjectLike();
  });
}

// What is made of other macros follows them.
bool SourceSizes::is_number_macro(const std::string& name) const {
  return is_object_macro(name) && std::ranges::none_of(source_.record().macro_uses, [&](const MacroUse& use) {
           return use.name == name && use.definition &&
                  std::ranges::any_of(use.definition->tokens(), [](const Token& token) {
                    return token.isAnyIdentifier() || token.is(tok::raw_identifier);
                  });
         });
}

void SourceSizes::free_device_text(const Found& in_blocks, const Found& in_instances) {
  ASTContext& context = source_.ast().getASTContext();
  InDeviceText device(source_, context);
  device.TraverseAST(context);
  for (const auto& [macro, value] : device.of_code.macros)
    if (is_size_in_device_text(value) && is_number_macro(macro) && !device.of_shapes.macros.contains(macro) &&
        !in_blocks.macros.contains(macro) && !in_instances.macros.contains(macro)) {
      macros_[macro] = value;
      in_device_text_[macro] = nullptr;
    }
  for (const auto& [variable, value] : device.of_code.variables) {
    // What is made of other constants follows them.
    Found made_of(context, true);
    made_of.TraverseStmt(const_cast<Expr*>(variable->getInit()));
    if (is_size_in_device_text(value) && variable->isFileVarDecl() && !variable->isStaticDataMember() &&
        made_of.variables.empty() && made_of.macros.empty() &&
        !device.of_shapes.variables.contains(variable) && !in_blocks.variables.contains(variable) &&
        !in_instances.variables.contains(variable)) {
      variables_[variable] = value;
      in_device_text_[variable->getNameAsString()] = variable;
    }
  }
}

void SourceSizes::read(const FunctionDecl* launcher) {
  variables_.clear();
  macros_.clear();
  in_device_text_.clear();
  ASTContext& context = source_.ast().getASTContext();
  Launches launches;
  launches.TraverseStmt(launcher->getBody());
  if (launches.found.empty())
    return;
  Found in_arguments(context), in_blocks(context), in_instances(context, true);
  for (const CUDAKernelCallExpr* launch : launches.found) {
    for (const Expr* argument : launch->arguments())
      if (argument->getType()->isIntegerType() && !argument->getType()->isBooleanType())
        in_arguments.TraverseStmt(const_cast<Expr*>(argument));
    if (const CallExpr* configuration = launch->getConfig(); configuration->getNumArgs() > 1)
      in_blocks.TraverseStmt(const_cast<Expr*>(configuration->getArg(1)));
    if (const auto* named = dyn_cast<DeclRefExpr>(launch->getCallee()->IgnoreParenImpCasts()))
      for (const TemplateArgumentLoc& argument : named->template_arguments())
        if (argument.getArgument().getKind() == TemplateArgument::Expression)
          in_instances.TraverseStmt(argument.getSourceExpression());
  }
  for (const auto& [variable, value] : in_arguments.variables)
    if (value > LARGEST_OTHER && !in_blocks.variables.contains(variable) &&
        !in_instances.variables.contains(variable) && !launches.is_changed(variable) &&
        (variable->isLocalVarDecl() || !device_words().contains(variable->getNameAsString())))
      variables_[variable] = value;
  for (const auto& [macro, value] : in_arguments.macros) {
    if (is_object_macro(macro) && value > LARGEST_OTHER && !in_blocks.macros.contains(macro) &&
        !in_instances.macros.contains(macro) && !device_words().contains(macro))
      macros_[macro] = value;
  }
  if (source_.frees_text_sizes())
    free_device_text(in_blocks, in_instances);
}

std::optional<std::int64_t> SourceSizes::value_of(const VarDecl* variable) const {
  const auto found = variables_.find(variable);
  return found == variables_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> SourceSizes::value_of(const std::string& macro) const {
  const auto found = macros_.find(macro);
  return found == macros_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::pair<std::string, std::int64_t>> SourceSizes::macro_of(const Expr* expression) const {
  if (macros_.empty())
    return std::nullopt;
  const ASTContext& context = source_.ast().getASTContext();
  const auto found = macros_.find(whole_macro(expression, context));
  if (found == macros_.end() || constant_number(expression, context) != found->second)
    return std::nullopt;
  return *found;
}

} // namespace lathe::refactor
