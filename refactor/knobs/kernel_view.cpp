#include "refactor/knobs/kernel_view.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>
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

const FunctionDecl* pattern_of(const FunctionDecl* function) {
  if (const FunctionDecl* pattern = function->getTemplateInstantiationPattern())
    function = pattern;
  const FunctionDecl* definition = nullptr;
  return function->hasBody(definition) ? definition : function;
}

// Functions of the main file by name, for callees that depend on template parameters.
class NamedFunctions : public RecursiveASTVisitor<NamedFunctions> {
public:
  explicit NamedFunctions(const KernelView& view) : view_(view) {}
  bool VisitFunctionDecl(FunctionDecl* function) {
    if (function->doesThisDeclarationHaveABody() && view_.in_main_file(function->getLocation()))
      by_name[function->getDeclName()].push_back(function);
    return true;
  }
  std::map<DeclarationName, std::vector<const FunctionDecl*>> by_name;

private:
  const KernelView& view_;
};

// Of a pointer or a reference to a function, or nothing.
const FunctionProtoType* function_type(QualType type) {
  const QualType target = type->isReferenceType() ? type.getNonReferenceType() : type->getPointeeType();
  return target.isNull() ? nullptr : target->getAs<FunctionProtoType>();
}

const Expr* strip(const Expr* expression) {
  while (expression) {
    expression = expression->IgnoreParenImpCasts();
    if (const auto* cast = dyn_cast<ExplicitCastExpr>(expression)) {
      expression = cast->getSubExpr();
    } else if (const auto* construct = dyn_cast<CXXUnresolvedConstructExpr>(expression);
               construct && construct->getNumArgs() == 1) {
      expression = construct->getArg(0);
    } else if (const auto* list = dyn_cast<InitListExpr>(expression); list && list->getNumInits() == 1) {
      expression = list->getInit(0);
    } else if (const auto* constant = dyn_cast<ConstantExpr>(expression)) {
      expression = constant->getSubExpr();
    } else if (const auto* replaced = dyn_cast<SubstNonTypeTemplateParmExpr>(expression)) {
      expression = replaced->getReplacement();
    } else {
      break;
    }
  }
  return expression;
}

} // namespace

std::optional<BinaryParts> binary_parts(const Stmt* statement) {
  if (const auto* binary = dyn_cast_or_null<BinaryOperator>(statement))
    return BinaryParts{binary->getLHS(), binary->getRHS(), binary->getOpcode()};
  const auto* call = dyn_cast_or_null<CXXOperatorCallExpr>(statement);
  if (call && call->isInfixBinaryOp() && call->getNumArgs() == 2)
    return BinaryParts{call->getArg(0), call->getArg(1),
                       BinaryOperator::getOverloadedOpcode(call->getOperator())};
  const auto* function = dyn_cast_or_null<CallExpr>(statement);
  if (const FunctionDecl* callee = function ? function->getDirectCallee() : nullptr;
      callee && callee->getIdentifier() && function->getNumArgs() == 2 &&
      (callee->getName() == "__mul24" || callee->getName() == "__umul24"))
    return BinaryParts{function->getArg(0), function->getArg(1), BO_Mul};
  return std::nullopt;
}

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

std::vector<const FunctionDecl*>
KernelView::functions_passed_as(const NonTypeTemplateParmDecl* parameter) const {
  const auto found = passed_functions_.find(parameter);
  return found == passed_functions_.end() ? std::vector<const FunctionDecl*>{} : found->second;
}

void KernelView::collect_functions() {
  if (!kernel_ || !kernel_->getBody())
    return;
  NamedFunctions named(*this);
  named.TraverseAST(context_);
  std::vector<const FunctionDecl*> pending{kernel_};
  std::set<const FunctionDecl*> seen{kernel_};
  const auto reach = [&](const FunctionDecl* callee) {
    callee = pattern_of(callee);
    if (!callee->doesThisDeclarationHaveABody() || !in_main_file(callee->getLocation())) {
      external_calls_.insert(callee->getNameAsString());
      return;
    }
    if (seen.insert(callee).second)
      pending.push_back(callee);
  };
  const auto reach_name = [&](DeclarationName name) {
    const auto found = named.by_name.find(name);
    if (found == named.by_name.end()) {
      external_calls_.insert(name.getAsString());
      return;
    }
    for (const FunctionDecl* function : found->second)
      reach(function);
  };
  const auto reach_passed = [&](const NonTypeTemplateParmDecl* parameter) {
    const FunctionProtoType* type = function_type(parameter->getType());
    if (!type || passed_functions_.contains(parameter))
      return;
    std::vector<const FunctionDecl*>& passed = passed_functions_[parameter];
    for (const auto& [name, functions] : named.by_name)
      for (const FunctionDecl* function : functions)
        if (function->getNumParams() == type->getNumParams() && !function->hasAttr<CUDAGlobalAttr>() &&
            !isa<CXXMethodDecl>(function)) {
          passed.push_back(pattern_of(function));
          reach(function);
        }
    if (passed.empty())
      external_calls_.insert(parameter->getNameAsString());
  };
  while (!pending.empty()) {
    const FunctionDecl* function = pending.front();
    pending.erase(pending.begin());
    functions_.push_back(function);
    index_body(function);
    visit(function->getBody(), [&](const Stmt* statement) {
      if (const auto* reference = dyn_cast<DeclRefExpr>(statement)) {
        if (const auto* callee = dyn_cast<FunctionDecl>(reference->getDecl()))
          reach(callee);
        else if (const auto* passed = dyn_cast<NonTypeTemplateParmDecl>(reference->getDecl()))
          reach_passed(passed);
      } else if (const auto* member = dyn_cast<MemberExpr>(statement)) {
        if (const auto* callee = dyn_cast<FunctionDecl>(member->getMemberDecl()))
          reach(callee);
      } else if (const auto* construct = dyn_cast<CXXConstructExpr>(statement)) {
        if (!construct->getConstructor()->isImplicit() &&
            in_main_file(construct->getConstructor()->getLocation()))
          reach(construct->getConstructor());
      } else if (const auto* lookup = dyn_cast<OverloadExpr>(statement)) {
        bool any = false;
        for (const NamedDecl* candidate : lookup->decls()) {
          candidate = candidate->getUnderlyingDecl();
          if (const auto* of_template = dyn_cast<FunctionTemplateDecl>(candidate))
            candidate = of_template->getTemplatedDecl();
          if (const auto* callee = dyn_cast<FunctionDecl>(candidate)) {
            any = true;
            reach(callee);
          }
        }
        if (!any)
          reach_name(lookup->getName());
      } else if (const auto* dependent = dyn_cast<CXXDependentScopeMemberExpr>(statement)) {
        reach_name(dependent->getMember());
      } else if (const auto* scoped = dyn_cast<DependentScopeDeclRefExpr>(statement)) {
        reach_name(scoped->getDeclName());
      } else if (const auto* call = dyn_cast<CXXOperatorCallExpr>(statement)) {
        if (call->isTypeDependent())
          reach_name(context_.DeclarationNames.getCXXOperatorName(call->getOperator()));
      } else if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(statement)) {
        if (subscript->getBase()->isTypeDependent())
          reach_name(context_.DeclarationNames.getCXXOperatorName(OO_Subscript));
      }
    });
  }
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

void KernelView::collect_modified() {
  const auto mark = [&](const Expr* target) {
    if (const auto* reference = dyn_cast<DeclRefExpr>(target->IgnoreParenCasts()))
      if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
        modified_.insert(variable->getCanonicalDecl());
  };
  visit([&](const Stmt* statement) {
    if (const auto* binary = dyn_cast<BinaryOperator>(statement)) {
      if (binary->isAssignmentOp())
        mark(binary->getLHS());
    } else if (const auto* unary = dyn_cast<UnaryOperator>(statement)) {
      if (unary->isIncrementDecrementOp() || unary->getOpcode() == UO_AddrOf)
        mark(unary->getSubExpr());
    } else if (const auto* call = dyn_cast<CallExpr>(statement)) {
      // Passed by reference: the call may write it. Dependent callees may take anything by reference.
      const FunctionDecl* callee = call->getDirectCallee();
      const auto operation = binary_parts(call);
      const bool computes = operation && !BinaryOperator::isAssignmentOp(operation->operation);
      for (unsigned i = 0; i < call->getNumArgs(); ++i) {
        const Expr* argument = call->getArg(i);
        if (!isa<DeclRefExpr>(argument->IgnoreParens()))
          continue; // an rvalue conversion stands above a value argument
        const auto* reference = cast<DeclRefExpr>(argument->IgnoreParens());
        if (computes && reference->getType()->isPointerType())
          continue; // no operator that is not an assignment may change a pointer
        const bool is_const = reference->getType().isConstQualified();
        const bool by_value =
            callee && i < callee->getNumParams() && !callee->getParamDecl(i)->getType()->isReferenceType();
        if (!is_const && !by_value)
          mark(argument);
      }
    } else if (const auto* declaration = dyn_cast<DeclStmt>(statement)) {
      for (const Decl* declared : declaration->decls())
        if (const auto* variable = dyn_cast<VarDecl>(declared);
            variable && variable->hasInit() && variable->getType()->isReferenceType() &&
            !variable->getType()->getPointeeType().isConstQualified())
          mark(variable->getInit());
    }
  });
}

std::string KernelView::builtin_name(const Expr* expression) {
  expression = strip(expression);
  if (const auto* pseudo = dyn_cast_or_null<PseudoObjectExpr>(expression))
    expression = pseudo->getSyntacticForm()->IgnoreParenImpCasts();
  const Expr* base = nullptr;
  std::string member;
  if (const auto* property = dyn_cast_or_null<MSPropertyRefExpr>(expression)) {
    base = property->getBaseExpr()->IgnoreParenImpCasts();
    if (const auto* opaque = dyn_cast<OpaqueValueExpr>(base))
      base = opaque->getSourceExpr();
    member = property->getPropertyDecl()->getNameAsString();
  } else if (const auto* field = dyn_cast_or_null<MemberExpr>(expression)) {
    base = field->getBase();
    member = field->getMemberDecl()->getNameAsString();
  }
  if (!base)
    return {};
  base = base->IgnoreParenImpCasts();
  if (const auto* opaque = dyn_cast<OpaqueValueExpr>(base); opaque && opaque->getSourceExpr())
    base = opaque->getSourceExpr()->IgnoreParenImpCasts();
  if (const auto* reference = dyn_cast<DeclRefExpr>(base)) {
    const std::string name = reference->getDecl()->getNameAsString();
    if (name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim")
      return name + "." + member;
  }
  return {};
}

Polynomial KernelView::evaluate_by_names(const Expr* expression) const {
  knobs_by_names_ = true;
  Polynomial value = evaluate(expression);
  knobs_by_names_ = false;
  return value;
}

std::string KernelView::atom_of(const ValueDecl* variable) const {
  if (const auto* kept = dyn_cast<VarDecl>(variable))
    if (const auto found = kept_.find(kept->getCanonicalDecl()); found != kept_.end())
      return found->second;
  const std::string name = variable->getNameAsString();
  if (isa<ParmVarDecl>(variable))
    return "param:" + name;
  if (isa<NonTypeTemplateParmDecl>(variable))
    return "template:" + name;
  return "var:" + name + "@" +
         std::to_string(context_.getSourceManager().getFileOffset(
             context_.getSourceManager().getExpansionLoc(variable->getLocation())));
}

std::optional<bool> KernelView::decide(const Expr* condition) const {
  const auto* comparison = dyn_cast<BinaryOperator>(strip(condition));
  if (!comparison || !comparison->isComparisonOp())
    return std::nullopt;
  const auto left = evaluate(comparison->getLHS()).as_constant();
  const auto right = evaluate(comparison->getRHS()).as_constant();
  if (!left || !right)
    return std::nullopt;
  switch (comparison->getOpcode()) {
  case BO_EQ:
    return *left == *right;
  case BO_NE:
    return *left != *right;
  case BO_LT:
    return *left < *right;
  case BO_LE:
    return *left <= *right;
  case BO_GT:
    return *left > *right;
  case BO_GE:
    return *left >= *right;
  default:
    return std::nullopt;
  }
}

const Expr* KernelView::returned_expression(const CallExpr* call) const {
  const FunctionDecl* called = call->getDirectCallee();
  const FunctionDecl* callee = called ? pattern_of(called) : nullptr;
  if (!callee || callee->getNumParams() != call->getNumArgs() || !callee->doesThisDeclarationHaveABody() ||
      !in_main_file(callee->getLocation()))
    return nullptr;
  for (const ParmVarDecl* parameter : called->parameters())
    if (!parameter->getType()->isIntegralOrEnumerationType())
      return nullptr;
  const auto* body = dyn_cast_or_null<CompoundStmt>(callee->getBody());
  const auto* only = body && body->size() == 1 ? dyn_cast<ReturnStmt>(body->body_front()) : nullptr;
  return only ? only->getRetValue() : nullptr;
}

std::optional<Polynomial> KernelView::evaluate_call(const CallExpr* call) const {
  const Expr* value = returned_expression(call);
  if (!value)
    return std::nullopt;
  const FunctionDecl* callee = pattern_of(call->getDirectCallee());
  std::map<const VarDecl*, Polynomial> bound;
  for (unsigned i = 0; i < call->getNumArgs(); ++i)
    bound[callee->getParamDecl(i)] = evaluate(call->getArg(i));
  std::swap(bound_, bound);
  Polynomial result = evaluate(value);
  std::swap(bound_, bound);
  return result;
}

void KernelView::keep(const Expr* expression, std::string atom) {
  kept_expressions_[strip(expression)] = std::move(atom);
}

Polynomial KernelView::evaluate(const Expr* expression) const {
  expression = strip(expression);
  const auto opaque = [&](const std::string& what) { return Polynomial::atom(what); };
  if (!expression)
    return opaque("?");
  if (depth_ > 64)
    return opaque("?deep");
  ++depth_;
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{depth_};

  if (const auto kept = kept_expressions_.find(expression); kept != kept_expressions_.end())
    return Polynomial::atom(kept->second);
  if (const std::string name = builtin_name(expression); !name.empty())
    return Polynomial::atom(name);
  if (const auto* literal = dyn_cast<IntegerLiteral>(expression))
    return Polynomial::constant(static_cast<std::int64_t>(literal->getValue().getLimitedValue()));
  if (const auto* literal = dyn_cast<CXXBoolLiteralExpr>(expression))
    return Polynomial::constant(literal->getValue() ? 1 : 0);
  if (const auto* reference = dyn_cast<DeclRefExpr>(expression)) {
    const ValueDecl* declaration = reference->getDecl();
    if (const auto* variable = dyn_cast<VarDecl>(declaration)) {
      if (kept_.count(variable->getCanonicalDecl()))
        return Polynomial::atom(atom_of(variable));
      if (const auto bound = bound_.find(variable); bound != bound_.end())
        return bound->second;
      if (variable->getName() == "warpSize")
        return Polynomial::constant(32);
      const VarDecl* with_initialiser = nullptr;
      const Expr* initialiser = variable->getAnyInitializer(with_initialiser);
      const bool integral = variable->getType()->isIntegralOrEnumerationType() ||
                            variable->getType()->isDependentType() || variable->getType()->isPointerType();
      const bool fixed = variable->isLocalVarDecl()
                             ? !is_modified(variable) && !variable->isStaticLocal()
                             : variable->getType().isConstQualified() || variable->isConstexpr();
      if (initialiser && fixed && integral && !isa<ParmVarDecl>(variable))
        return evaluate(initialiser);
      return Polynomial::atom(atom_of(variable));
    }
    if (const auto* parameter = dyn_cast<NonTypeTemplateParmDecl>(declaration)) {
      if (const auto found = defaults_.find(parameter->getNameAsString());
          found != defaults_.end() && !knobs_by_names_)
        return Polynomial::constant(found->second);
      return Polynomial::atom(atom_of(parameter));
    }
    if (const auto* enumerator = dyn_cast<EnumConstantDecl>(declaration))
      return Polynomial::constant(enumerator->getInitVal().getExtValue());
    return Polynomial::atom(atom_of(declaration));
  }
  if (const auto* unary = dyn_cast<UnaryOperator>(expression)) {
    if (unary->getOpcode() == UO_Minus)
      return Polynomial() - evaluate(unary->getSubExpr());
    if (unary->getOpcode() == UO_Plus)
      return evaluate(unary->getSubExpr());
    return opaque("(" + std::string(UnaryOperator::getOpcodeStr(unary->getOpcode())) +
                  evaluate(unary->getSubExpr()).text() + ")");
  }
  if (const auto binary = binary_parts(expression)) {
    const Polynomial left = evaluate(binary->left), right = evaluate(binary->right);
    const auto constant = right.as_constant();
    const std::string symbol = BinaryOperator::getOpcodeStr(binary->operation).str();
    const std::int64_t second = constant.value_or(0);
    switch (binary->operation) {
    case BO_Add:
      return left + right;
    case BO_Sub:
      return left - right;
    case BO_Mul:
      return left * right;
    case BO_Shl:
      if (constant && second >= 0 && second < 32)
        return left * Polynomial::constant(std::int64_t{1} << second);
      break;
    case BO_Div:
      if (left.as_constant() && constant && second != 0)
        return Polynomial::constant(*left.as_constant() / second);
      break;
    case BO_Rem:
      if (left.as_constant() && constant && second != 0)
        return Polynomial::constant(*left.as_constant() % second);
      break;
    // x >> k and x & (2^k - 1) are x / 2^k and x % 2^k for the indices met here.
    case BO_Shr:
      if (constant && second > 0 && second < 32)
        return opaque("(" + left.text() + "/" + std::to_string(std::int64_t{1} << second) + ")");
      break;
    case BO_And:
      if (constant && second > 0 && ((second + 1) & second) == 0)
        return opaque("(" + left.text() + "%" + std::to_string(second + 1) + ")");
      break;
    default:
      break;
    }
    return opaque("(" + left.text() + symbol + (constant ? std::to_string(second) : right.text()) + ")");
  }
  if (const auto* choice = dyn_cast<ConditionalOperator>(expression)) {
    if (const auto decided = decide(choice->getCond()))
      return evaluate(*decided ? choice->getTrueExpr() : choice->getFalseExpr());
    return opaque("(" + evaluate(choice->getCond()).text() + "?" + evaluate(choice->getTrueExpr()).text() +
                  ":" + evaluate(choice->getFalseExpr()).text() + ")");
  }
  if (const auto* call = dyn_cast<CallExpr>(expression))
    if (auto value = evaluate_call(call))
      return *value;
  // Calls, members, sizeof, ...: the text, and the atoms inside them so that mentions() sees them.
  std::string name = text(expression);
  if (name.empty())
    name = std::string(expression->getStmtClassName()) + "@" +
           std::to_string(context_.getSourceManager().getFileOffset(
               context_.getSourceManager().getExpansionLoc(expression->getBeginLoc())));
  std::string inside;
  if (const auto* call = dyn_cast<CallExpr>(expression)) {
    for (const Expr* argument : call->arguments())
      inside += (inside.empty() ? "" : ",") + evaluate(argument).text();
    const std::string callee = text(call->getCallee());
    return opaque(callee + "(" + inside + ")");
  }
  return opaque(name);
}

const ParmVarDecl* KernelView::base_pointer(const Expr* address) const {
  address = strip(address);
  for (int steps = 0; address && steps < 64; ++steps) {
    address = strip(address);
    if (const auto binary = binary_parts(address)) {
      if (binary->operation != BO_Add && binary->operation != BO_Sub)
        return nullptr;
      const bool on_left = binary->left->getType()->isPointerType() || base_pointer(binary->left) != nullptr;
      address = on_left ? binary->left : binary->right;
    } else if (const auto* unary = dyn_cast<UnaryOperator>(address)) {
      if (unary->getOpcode() != UO_AddrOf && unary->getOpcode() != UO_Deref)
        return nullptr;
      if (unary->getOpcode() == UO_Deref)
        return nullptr; // a pointer loaded from memory
      address = unary->getSubExpr();
      if (const auto* deref = dyn_cast<UnaryOperator>(strip(address));
          deref && deref->getOpcode() == UO_Deref)
        address = deref->getSubExpr();
      else if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(strip(address)))
        address = subscript->getBase();
    } else if (const auto* reference = dyn_cast<DeclRefExpr>(address)) {
      if (const auto* parameter = dyn_cast<ParmVarDecl>(reference->getDecl()))
        return parameter->getType()->isPointerType() ? parameter : nullptr;
      const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
      if (!variable || !variable->hasInit() || !variable->isLocalVarDecl() ||
          variable->getType()->isArrayType())
        return nullptr;
      // A pointer that moves still points into the buffer that it started in, if every write adds to it.
      if (!variable->getType()->isPointerType() && !variable->getType()->isDependentType() &&
          !variable->getType()->getContainedAutoType())
        return nullptr;
      address = variable->getInit();
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

bool KernelView::is_on_chip(const Expr* address) const {
  bool on_chip = false;
  std::set<const VarDecl*> seen;
  std::function<void(const Expr*)> look = [&](const Expr* expression) {
    visit(expression, [&](const Stmt* statement) {
      const auto* reference = dyn_cast<DeclRefExpr>(statement);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (!variable || isa<ParmVarDecl>(variable) || !seen.insert(variable).second)
        return;
      if (variable->hasAttr<CUDASharedAttr>() || variable->getType()->isArrayType())
        on_chip = true;
      else if (variable->hasInit() && variable->getType()->isPointerType())
        look(variable->getInit());
    });
  };
  look(address);
  return on_chip;
}

} // namespace lathe::refactor
