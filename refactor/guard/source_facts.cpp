#include "refactor/guard/source_facts.h"

#include "refactor/guard/arithmetic_width.h"
#include "refactor/guard/fences.h"
#include "refactor/guard/loop_counters.h"
#include "refactor/guard/shared_rows.h"
#include "refactor/guard/thread_place.h"
#include "refactor/guard/value_range.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/GlobalDecl.h>
#include <clang/AST/Mangle.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/ASTUnit.h>

#include <cmath>
#include <utility>

namespace lathe::refactor {
namespace {

using namespace clang;

constexpr const char* PIN = "lathe_guard_instance_";

constexpr int SMALL_INTEGER_BITS = 16;

// A sum, difference or product of numbers that are not constant: neither bits picked from a word nor a
// number.
bool is_arithmetic(const Expr* expression) {
  const auto* operation = dyn_cast<BinaryOperator>(expression->IgnoreParenImpCasts());
  return operation && (operation->isAdditiveOp() || operation->getOpcode() == BO_Mul) &&
         !operation->isValueDependent();
}

// Finds the kernel that the pin of one instance points to; its template arguments may name functions too.
struct PinVisitor : RecursiveASTVisitor<PinVisitor> {
  explicit PinVisitor(FunctionDecl*& found) : function(found) {}
  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    if (auto* declared = dyn_cast<FunctionDecl>(reference->getDecl());
        declared && declared->hasAttr<CUDAGlobalAttr>())
      function = declared;
    return true;
  }
  bool TraverseTemplateArgumentLoc(const TemplateArgumentLoc&) { return true; }
  FunctionDecl*& function;
};

class FactVisitor : public RecursiveASTVisitor<FactVisitor> {
public:
  FactVisitor(ASTContext& context, SourceFacts& facts) : context_(context), facts_(facts) {}

  void enter(FunctionDecl* function) {
    const FunctionDecl* definition = nullptr;
    if (!function->hasBody(definition))
      return note_library(function);
    if (!in_users_text(definition->getLocation()))
      return note_library(function);
    if (stack_.count(definition)) {
      facts_.recursive = true;
      return;
    }
    if (!visited_.insert(definition).second)
      return;
    stack_.insert(definition);
    const std::string outer = std::exchange(function_, definition->getNameAsString());
    if (const auto* constructor = dyn_cast<CXXConstructorDecl>(definition))
      for (const CXXCtorInitializer* initializer : constructor->inits())
        if (initializer->getInit())
          TraverseStmt(initializer->getInit());
    TraverseStmt(definition->getBody());
    function_ = outer;
    stack_.erase(definition);
  }

  bool VisitCallExpr(CallExpr* call) {
    if (FunctionDecl* callee = call->getDirectCallee()) {
      note_bound(callee, call);
      enter(callee);
    } else if (!isa<CXXPseudoDestructorExpr>(call->getCallee()))
      ++facts_.library_calls["a function through a pointer"];
    return true;
  }
  bool VisitCXXConstructExpr(CXXConstructExpr* construction) {
    if (!construction->getConstructor()->isTrivial())
      enter(construction->getConstructor());
    return true;
  }
  bool VisitCXXNewExpr(CXXNewExpr*) { return ++facts_.library_calls["new"], true; }
  bool VisitCXXDeleteExpr(CXXDeleteExpr*) { return ++facts_.library_calls["delete"], true; }

  bool VisitAsmStmt(AsmStmt* assembly) {
    ++facts_.assembly[assembly->generateAsmString(context_)];
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
        variable && variable->hasGlobalStorage()) {
      const bool shared = variable->hasAttr<CUDASharedAttr>();
      const bool constant = variable->isConstexpr() || variable->hasAttr<CUDAConstantAttr>() ||
                            variable->getType().isConstQualified() || !in_users_text(variable->getLocation());
      if (constant && !variable->isLocalVarDecl() && in_users_text(variable->getLocation()) &&
          constants_.insert(variable).second)
        note_numbers(variable->getAnyInitializer());
      if (!shared)
        (constant ? facts_.constants : facts_.globals).insert(variable->getQualifiedNameAsString());
    }
    return true;
  }
  bool VisitForStmt(ForStmt* loop) {
    if (const VarDecl* counter = counter_of_few_steps(loop, context_))
      counters_.insert(counter);
    if (const VarDecl* counter = bounded_counter(loop))
      facts_.bounded_counters.emplace(function_, counter->getNameAsString());
    return true;
  }
  // Of `for (int i = ...; i < n; i += ...)`, n an int: what it counts fits.
  const VarDecl* bounded_counter(const ForStmt* loop) const {
    const auto* step = dyn_cast_or_null<BinaryOperator>(loop->getInc());
    const auto* end = dyn_cast_or_null<BinaryOperator>(loop->getCond());
    if (!step || !step->isCompoundAssignmentOp() || !end || !end->isRelationalOp())
      return nullptr;
    const VarDecl* counter = assigned_variable(step->getLHS());
    const auto width = counter ? arithmetic_width(context_, counter->getType()) : std::nullopt;
    if (!width || width->first != 'i')
      return nullptr;
    const auto is_counter = [&](const Expr* side) {
      const auto* reference = dyn_cast<DeclRefExpr>(side->IgnoreParenImpCasts());
      return reference && reference->getDecl() == counter;
    };
    for (const auto& [side, other] :
         {std::pair(end->getLHS(), end->getRHS()), std::pair(end->getRHS(), end->getLHS())}) {
      const auto bound = arithmetic_width(context_, other->IgnoreParenImpCasts()->getType());
      if (is_counter(side) && bound && bound->first == 'i' && bound->second <= width->second)
        return counter;
    }
    return nullptr;
  }
  bool VisitVarDecl(VarDecl* variable) {
    if (const auto width = arithmetic_width(context_, variable->getType());
        width && !variable->isConstexpr()) {
      const auto place = std::pair(function_, variable->getNameAsString());
      note_width(facts_.with_counters, place, *width);
      if (!counters_.contains(variable))
        note_width(facts_.variables, place, *width);
    }
    return true;
  }
  bool VisitFloatingLiteral(FloatingLiteral* literal) {
    ++facts_.real_literals[text_of(*literal)];
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator* operation) {
    if (operation->isAdditiveOp() || operation->getOpcode() == BO_Mul)
      for (const Expr* side : {operation->getLHS(), operation->getRHS()})
        note_operand(without_casts(side));
    facts_.real_products += operation->getOpcode() == BO_Mul && operation->getType()->isRealFloatingType();
    if (operation->isComparisonOp()) {
      const std::string relation = BinaryOperator::getOpcodeStr(operation->getOpcode()).str();
      note_bound(relation, operation->getLHS(), operation->getRHS());
      note_bound(relation, operation->getRHS(), operation->getLHS());
      if (operation->isEqualityOp()) {
        note_equal(operation->getLHS(), operation->getRHS());
        note_equal(operation->getRHS(), operation->getLHS());
      }
    }
    return true;
  }
  bool VisitCompoundAssignOperator(CompoundAssignOperator* operation) {
    if (operation->getOpcode() == BO_AddAssign || operation->getOpcode() == BO_SubAssign)
      if (const VarDecl* variable = assigned_variable(operation->getLHS()))
        facts_.accumulators.emplace(function_, variable->getNameAsString());
    return true;
  }
  // "if (i >> 16)" asks what "i >= 65536" does.
  bool VisitIfStmt(IfStmt* branch) { return note_truth(branch->getCond()), true; }
  bool VisitConditionalOperator(ConditionalOperator* choice) { return note_truth(choice->getCond()), true; }
  bool VisitCaseStmt(CaseStmt* label) {
    Expr::EvalResult value;
    if (!label->getLHS()->isValueDependent() && label->getLHS()->EvaluateAsInt(value, context_))
      facts_.compared_integers.insert("== " + std::to_string(value.Val.getInt().getExtValue()));
    return true;
  }
  bool VisitCastExpr(CastExpr* cast) {
    if (const auto vectors = vectors_across_rows(cast, context_))
      facts_.vectors_across_rows.insert(*vectors);
    const auto from = arithmetic_width(context_, cast->getSubExpr()->getType());
    const auto to = arithmetic_width(context_, cast->getType());
    Expr::EvalResult value;
    if (from && to && from->first == to->first && to->second < from->second &&
        !cast->getSubExpr()->isValueDependent() && !cast->getSubExpr()->EvaluateAsRValue(value, context_))
      facts_.narrowing_casts.insert(width_text(*from) + "->" + width_text(*to));
    if (from && to && from->first == 'i' && to->first == 'i' && to->second <= SMALL_INTEGER_BITS &&
        to->second < from->second && is_arithmetic(cast->getSubExpr()) && !holds(cast))
      facts_.narrowed_arithmetic.insert(width_text(*from) + "->" + width_text(*to));
    return true;
  }
  // Statements that `if constexpr` discarded are no longer in an instantiation; types and attributes are not
  // code.
  bool TraverseTypeLoc(TypeLoc) { return true; }
  bool TraverseStaticAssertDecl(StaticAssertDecl*) { return true; }

private:
  bool in_users_text(SourceLocation location) const {
    const SourceManager& manager = context_.getSourceManager();
    const SourceLocation place = manager.getExpansionLoc(location);
    if (manager.isInMainFile(place))
      return true;
    if (place.isInvalid() || manager.isInSystemHeader(place))
      return false;
    const auto main = manager.getFileEntryRefForID(manager.getMainFileID());
    return main && manager.getFilename(place).starts_with(main->getDir().getName());
  }

  static std::string text_of(const FloatingLiteral& literal) {
    llvm::SmallString<32> text;
    llvm::APFloat value = literal.getValue();
    value.clearSign();
    value.toString(text);
    return std::string(text.str());
  }

  // The real numbers of a constant of the file, such as a table.
  void note_numbers(const Stmt* part) {
    if (!part)
      return;
    if (const auto* real = dyn_cast<FloatingLiteral>(part))
      ++facts_.real_literals[text_of(*real)];
    for (const Stmt* inside : part->children())
      note_numbers(inside);
  }

  void note_operand(const Expr* side) {
    if (const auto* integer = dyn_cast<IntegerLiteral>(side))
      facts_.integer_operands.insert(static_cast<double>(integer->getValue().getLimitedValue()));
    else if (const auto* real = dyn_cast<FloatingLiteral>(side))
      ++facts_.real_operands[text_of(*real)];
  }

  // Whether the type has room for all that the text may compute.
  bool holds(const CastExpr* cast) const {
    const auto room = range_of_type(cast->getType(), context_),
               needed = range_of(cast->getSubExpr(), context_);
    return room && needed && needed->least >= room->least && needed->most <= room->most;
  }

  static void note_width(SourceFacts::Widths& widths, const std::pair<std::string, std::string>& place,
                         std::pair<char, int> width) {
    const auto [at, fresh] = widths.emplace(place, width);
    if (!fresh && at->second.first == width.first)
      at->second.second = std::min(at->second.second, width.second);
    else if (width.first == 'f')
      at->second = width; // an index may have the name that a sum has in another scope
  }

  void note_library(const FunctionDecl* function) {
    std::string name = function->getQualifiedNameAsString();
    if (isa<CXXConstructorDecl>(function) && function->getNumParams() > 0)
      name.append("(")
          .append(function->getParamDecl(0)->getType().getUnqualifiedType().getAsString())
          .append(")");
    ++facts_.library_calls[name];
  }

  // The value of an expression of numbers alone, such as 1 << 16 and 32 * 4096. A template parameter's value
  // counts as the parameter, a constant's and a type's size as what they are named.
  std::optional<std::uint64_t> number_of(const Expr* expression) const {
    const Expr* bare = without_casts(expression);
    if (const auto* literal = dyn_cast<IntegerLiteral>(bare))
      return literal->getValue().getLimitedValue();
    const auto* operation = dyn_cast<BinaryOperator>(bare);
    Expr::EvalResult value;
    if (!operation || !number_of(operation->getLHS()) || !number_of(operation->getRHS()) ||
        operation->isValueDependent() || !operation->EvaluateAsInt(value, context_))
      return std::nullopt;
    return value.Val.getInt().getLimitedValue();
  }

  // Clang's own way of doing this looks through template parameters to their values.
  static const Expr* without_casts(const Expr* bare) {
    for (const Expr* previous = nullptr; bare != previous;) {
      previous = bare;
      if (const auto* paren = dyn_cast<ParenExpr>(bare))
        bare = paren->getSubExpr();
      else if (const auto* cast = dyn_cast<CastExpr>(bare))
        bare = cast->getSubExpr();
      else if (const auto* temporary = dyn_cast<MaterializeTemporaryExpr>(bare))
        bare = temporary->getSubExpr();
    }
    return bare;
  }

  void note_equal(const Expr* side, const Expr* other) {
    Expr::EvalResult number, value;
    if (side->isValueDependent() || other->isValueDependent() ||
        !side->getType()->isIntegralOrEnumerationType() || !side->EvaluateAsInt(number, context_) ||
        other->EvaluateAsRValue(value, context_) || is_place_in_block(other, context_))
      return;
    if (const auto mark = number.Val.getInt().tryExtValue(); mark && *mark != 0 && *mark != 1)
      facts_.equalled_integers.insert(*mark);
  }

  void note_bound(const std::string& relation, const Expr* side, const Expr* other) {
    const std::optional<std::uint64_t> number = number_of(side);
    Expr::EvalResult value;
    if (!number || *number <= 1 || other->isValueDependent() || other->EvaluateAsRValue(value, context_) ||
        is_place_in_block(other, context_))
      return;
    facts_.compared_integers.insert(relation + " " + std::to_string(*number));
  }

  // min(d, 65536) hides what is behind; and so does min(end, begin + 131072).
  void note_bound(const FunctionDecl* callee, const CallExpr* call) {
    static const std::set<std::string> BOUNDS{"min",   "max",   "umin",   "umax",
                                              "llmin", "llmax", "ullmin", "ullmax"};
    if (call->getNumArgs() != 2 || !BOUNDS.contains(callee->getNameAsString()) ||
        !call->getArg(0)->getType().getNonReferenceType()->isIntegerType())
      return;
    for (const unsigned i : {0u, 1u}) {
      const Expr *side = call->getArg(i), *other = call->getArg(1 - i);
      note_bound(callee->getNameAsString(), side, other);
      if (const auto* sum = dyn_cast<BinaryOperator>(without_casts(side)); sum && sum->isAdditiveOp())
        for (const Expr* part : {sum->getLHS(), sum->getRHS()})
          if (number_of(part).value_or(0) >= LARGE)
            note_bound(callee->getNameAsString() + " +", part, other);
    }
  }

  void note_truth(const Expr* condition) {
    const Expr* bare = condition ? without_casts(condition) : nullptr;
    if (const auto* negation = dyn_cast_or_null<UnaryOperator>(bare);
        negation && negation->getOpcode() == UO_LNot)
      return note_truth(negation->getSubExpr());
    const auto* operation = dyn_cast_or_null<BinaryOperator>(bare);
    if (!operation)
      return;
    if (operation->isLogicalOp()) {
      note_truth(operation->getLHS());
      return note_truth(operation->getRHS());
    }
    const std::uint64_t number = number_of(operation->getRHS()).value_or(0);
    if ((operation->getOpcode() == BO_Shr && number >= LARGE_SHIFT) ||
        (operation->getOpcode() == BO_Div && number >= LARGE))
      note_bound(BinaryOperator::getOpcodeStr(operation->getOpcode()).str(), operation->getRHS(),
                 operation->getLHS());
  }

  // The variable that an assignment changes, also one of its elements.
  static const VarDecl* assigned_variable(const Expr* target) {
    for (target = without_casts(target); const auto* element = dyn_cast<ArraySubscriptExpr>(target);)
      target = without_casts(element->getBase());
    const auto* reference = dyn_cast<DeclRefExpr>(target);
    return reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  }

  // Numbers that are added to a bound and are no vector's or tile's width.
  static constexpr std::uint64_t LARGE = 4096, LARGE_SHIFT = 12;

  ASTContext& context_;
  SourceFacts& facts_;
  std::set<const FunctionDecl*> visited_, stack_;
  std::set<const VarDecl*> counters_;  // of loops with few steps
  std::set<const VarDecl*> constants_; // of the file, whose numbers are known
  std::string function_;               // that is being traversed
};

std::string mangled_name(ASTContext& context, const FunctionDecl* function) {
  const std::unique_ptr<MangleContext> mangler(context.createMangleContext());
  const GlobalDecl declaration = function->hasAttr<CUDAGlobalAttr>()
                                     ? GlobalDecl(function, KernelReferenceKind::Kernel)
                                     : GlobalDecl(function);
  if (!mangler->shouldMangleDeclName(function))
    return function->getNameAsString();
  std::string name;
  llvm::raw_string_ostream stream(name);
  mangler->mangleName(declaration, stream);
  return name;
}

int integer(const Expr* expression, const ASTContext& context) {
  Expr::EvalResult value;
  if (!expression || expression->isValueDependent() || !expression->EvaluateAsInt(value, context))
    return 0;
  return static_cast<int>(value.Val.getInt().getExtValue());
}

} // namespace

std::string with_instances(const std::string& text, const std::vector<std::string>& instances) {
  std::string result = text;
  if (!result.empty() && result.back() != '\n')
    result += '\n';
  for (std::size_t i = 0; i < instances.size(); ++i)
    result += "static void* const " + (PIN + std::to_string(i)) + " = (void*)&" + instances[i] + ";\n";
  return result;
}

Result<SourceFacts> source_facts(ParsedSource& source, std::size_t index) {
  ASTContext& context = source.ast().getASTContext();
  const std::string wanted = PIN + std::to_string(index);
  FunctionDecl* function = nullptr;
  for (NamedDecl* declaration : context.getTranslationUnitDecl()->lookup(&context.Idents.get(wanted)))
    if (auto* variable = dyn_cast<VarDecl>(declaration); variable && variable->hasInit())
      PinVisitor(function).TraverseStmt(variable->getInit());
  if (!function)
    return Error{"the instance could not be formed",
                 source.errors().empty() ? "clang gives no reason" : source.errors()[0], ""};

  SourceFacts facts;
  const FunctionDecl* definition = nullptr;
  if (!function->hasBody(definition))
    return Error{"the instance has no body",
                 source.errors().empty() ? "clang gives no reason" : source.errors()[0], ""};
  facts.function = definition;
  facts.mangled = mangled_name(context, definition);
  if (const auto* bounds = definition->getAttr<CUDALaunchBoundsAttr>())
    facts.launch_bounds =
        std::pair(integer(bounds->getMaxThreads(), context), integer(bounds->getMinBlocks(), context));
  FactVisitor(context, facts).enter(function);
  facts.fences = fences_of(definition);
  return facts;
}

} // namespace lathe::refactor
