#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/value_range.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

// Variables that a statement may change, closures included.
// atoi(argv[1]) and the like: a number that the program is told when it runs.
bool is_told(const Expr* value) {
  static const std::set<std::string> readers{"atoi",     "atol", "atoll", "strtol", "strtoll", "strtoul",
                                             "strtoull", "stoi", "stol",  "stoll",  "stoul",   "stoull"};
  value = value ? value->IgnoreParenCasts() : nullptr;
  if (const auto* temporary = dyn_cast_or_null<ExprWithCleanups>(value))
    value = temporary->getSubExpr()->IgnoreParenCasts();
  const auto* call = dyn_cast_or_null<CallExpr>(value);
  const FunctionDecl* callee = call ? call->getDirectCallee() : nullptr;
  return callee && callee->getIdentifier() && readers.contains(callee->getNameAsString());
}

class Changes : public RecursiveASTVisitor<Changes> {
public:
  std::set<const VarDecl*> changed;
  std::set<const VarDecl*> computed; // of these, those that are set to something else than what it is told

  bool shouldVisitLambdaBody() const { return true; }
  bool VisitBinaryOperator(BinaryOperator* operation) {
    if (operation->isAssignmentOp())
      note(operation->getLHS(), operation->getOpcode() == BO_Assign ? operation->getRHS() : nullptr);
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator* operation) {
    if (operation->isIncrementDecrementOp() || operation->getOpcode() == UO_AddrOf)
      note(operation->getSubExpr());
    return true;
  }
  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr* operation) {
    if (operation->isAssignmentOp() && operation->getNumArgs() > 0)
      note(operation->getArg(0));
    return true;
  }

private:
  void note(const Expr* target, const Expr* value = nullptr) {
    target = target->IgnoreParenImpCasts();
    while (const auto* member = dyn_cast<MemberExpr>(target))
      target = member->getBase()->IgnoreParenImpCasts();
    if (const auto* reference = dyn_cast<DeclRefExpr>(target))
      if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl())) {
        changed.insert(variable);
        if (!is_told(value))
          computed.insert(variable);
      }
  }
};

bool is_size(QualType type) {
  return type->isIntegerType() && !type->isBooleanType();
}

bool mentions(const std::string& text, const std::string& name) {
  const auto parsed = Expression::parse(text);
  return parsed.ok() && std::ranges::find(parsed->names(), name) != parsed->names().end();
}

// A truth value that is known.
bool is_constant(const HostValue& condition) {
  return condition.text == "true" || condition.text == "false" || condition.text == "0" ||
         condition.text == "1";
}

} // namespace

void HostReader::read(const FunctionDecl* launcher) {
  frame_ = Frame();
  queries_.clear();
  names_.clear();
  bound_.clear();
  entered_.clear();
  not_unrolled_.clear();
  rounds_ = calls_ = 0;
  depth_ = 0;
  launcher_ = launcher->getNameAsString();
  program_arguments_.clear();
  if (launcher->isMain() && launcher->getNumParams() > 0)
    program_arguments_ = dimension(launcher->getParamDecl(0)).text;
  // Integers that every instantiation in use fixes to one value are that value.
  if (const FunctionTemplateDecl* described = launcher->getDescribedFunctionTemplate()) {
    const TemplateParameterList& parameters = *described->getTemplateParameters();
    for (unsigned i = 0; i < parameters.size(); ++i) {
      if (!isa<NonTypeTemplateParmDecl>(parameters.getParam(i)))
        continue;
      std::set<std::string> values;
      for (const FunctionDecl* instance : described->specializations()) {
        const TemplateArgumentList* arguments = instance->getTemplateSpecializationArgs();
        if (arguments && i < arguments->size() && arguments->get(i).getKind() == TemplateArgument::Integral)
          values.insert(llvm::toString(arguments->get(i).getAsIntegral(), 10));
        else
          values.insert("");
      }
      if (values.size() == 1 && !values.begin()->empty())
        bound_[parameters.getParam(i)] = HostValue::integer(*values.begin());
    }
  }
  execute(launcher->getBody());
}

HostReader::Flow HostReader::execute(const Stmt* statement) {
  if (!statement)
    return Flow::next;
  if (const auto* block = dyn_cast<CompoundStmt>(statement)) {
    for (const Stmt* inner : block->body())
      if (const Flow flow = execute(inner); flow != Flow::next)
        return flow;
    return Flow::next;
  }
  if (const auto* declaration = dyn_cast<DeclStmt>(statement)) {
    for (const Decl* declared : declaration->decls())
      if (const auto* variable = dyn_cast<VarDecl>(declared))
        declare(variable);
    return Flow::next;
  }
  if (const auto* condition = dyn_cast<IfStmt>(statement))
    return execute_if(condition);
  if (const auto* choice = dyn_cast<SwitchStmt>(statement))
    return execute_switch(choice);
  if (const auto* result = dyn_cast<ReturnStmt>(statement)) {
    HostValue condition = HostValue::integer("true");
    for (const HostValue& part : frame_.path)
      condition = combine(BO_LAnd, condition, part);
    frame_.returned.push_back(
        {condition, result->getRetValue() ? evaluate(result->getRetValue()) : HostValue::unknown("")});
    return Flow::returns;
  }
  if (isa<BreakStmt>(statement) || isa<ContinueStmt>(statement))
    return Flow::leaves_loop;
  if (const auto* loop = dyn_cast<ForStmt>(statement)) {
    execute(loop->getInit());
    execute_loop(loop, loop->getBody());
    return Flow::next;
  }
  if (const auto* loop = dyn_cast<WhileStmt>(statement)) {
    execute_loop(loop, loop->getBody());
    return Flow::next;
  }
  if (const auto* loop = dyn_cast<DoStmt>(statement)) {
    // `do { ... } while (0)` of a macro is no loop.
    const HostValue again = evaluate(loop->getCond());
    if (again.text == "0" || again.text == "false") {
      const Flow flow = execute(loop->getBody());
      return flow == Flow::leaves_loop ? Flow::next : flow;
    }
    execute_loop(loop, loop->getBody());
    return Flow::next;
  }
  if (const auto* loop = dyn_cast<CXXForRangeStmt>(statement)) {
    execute_loop(loop, loop->getBody());
    return Flow::next;
  }
  if (const auto* guarded = dyn_cast<CXXTryStmt>(statement))
    return execute(guarded->getTryBlock());
  if (const auto* labelled = dyn_cast<LabelStmt>(statement))
    return execute(labelled->getSubStmt());
  if (const auto* labelled = dyn_cast<AttributedStmt>(statement))
    return execute(labelled->getSubStmt());
  if (const auto* expression = dyn_cast<Expr>(statement)) {
    const Expr* plain = expression->IgnoreParenImpCasts();
    if (isa<CXXThrowExpr>(plain))
      return Flow::returns;
    evaluate(expression);
    return Flow::next;
  }
  for (const Stmt* child : statement->children())
    execute(child);
  return Flow::next;
}

void HostReader::declare(const VarDecl* variable) {
  const Expr* initialiser = variable->getInit();
  if (!initialiser)
    return;
  const QualType type = variable->getType();
  if (type->isReferenceType())
    if (const auto* reference = dyn_cast<DeclRefExpr>(initialiser->IgnoreParenImpCasts());
        reference && !type.getNonReferenceType()->isIntegralOrEnumerationType()) {
      frame_.variables[variable] = evaluate(initialiser);
      return;
    }
  const std::map<std::string, std::string> queries = queries_;
  const std::map<std::string, std::uintptr_t> names = names_;
  // In a template, `dim3 grid(min(n, 1024))` is not bound to a constructor yet.
  const auto* arguments = dyn_cast<ParenListExpr>(initialiser);
  HostValue value =
      arguments ? construct(type, const_cast<ParenListExpr*>(arguments)->exprs()) : evaluate(initialiser);
  const std::string wanted = variable->getNameAsString();
  value = kept_in(variable, std::move(value), queries, names);
  if (value.kind == HostValue::Kind::unknown && type.getNonReferenceType()->isIntegralType(context_) &&
      !type->isBooleanType()) {
    value = HostValue::integer(unique_name(wanted, owner_of(variable)));
  } else if (value.kind == HostValue::Kind::unknown && value.text.empty()) {
    value.text = wanted;
  }
  // Inside `case 8:`, a constant 8 stands for what the switch is over.
  if (value.is_integer() && (variable->isConstexpr() || type.isConstQualified()))
    for (const auto& [subject, number] : frame_.cases)
      if (value.text == std::to_string(number) && subject.is_integer())
        value = subject;
  frame_.variables[variable] = std::move(value);
}

HostValue* HostReader::place(const Expr* target) {
  target = target->IgnoreParenImpCasts();
  if (const auto* reference = dyn_cast<DeclRefExpr>(target)) {
    const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
    return variable ? &frame_.variables[variable] : nullptr;
  }
  if (const auto* member = dyn_cast<MemberExpr>(target)) {
    HostValue* object = place(member->getBase());
    if (!object)
      return nullptr;
    if (object->kind == HostValue::Kind::unknown)
      object->kind = HostValue::Kind::structure;
    return object->kind == HostValue::Kind::structure
               ? &object->members[member->getMemberNameInfo().getAsString()]
               : nullptr;
  }
  return nullptr;
}

void HostReader::assign(const Expr* target, const HostValue& value) {
  if (HostValue* where = place(target)) {
    // dim3 = 5 and config.gridDim = n convert to dim3.
    const CXXRecordDecl* record =
        target->getType().isNull() ? nullptr : target->getType()->getAsCXXRecordDecl();
    if (value.is_integer() && record && record->getName() == "dim3") {
      HostValue axes;
      axes.kind = HostValue::Kind::structure;
      axes.members = {{"x", value}, {"y", HostValue::integer("1")}, {"z", HostValue::integer("1")}};
      *where = axes;
      return;
    }
    *where = value;
    return;
  }
  // Something of a variable changed in a way that is not followed: nothing is known of it any more.
  const Expr* base = target->IgnoreParenImpCasts();
  while (const auto* member = dyn_cast<MemberExpr>(base))
    base = member->getBase()->IgnoreParenImpCasts();
  if (const auto* reference = dyn_cast<DeclRefExpr>(base))
    if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
      frame_.variables[variable] = HostValue::unknown(
          fmt::format("'{}' is changed in {}", variable->getNameAsString(), line(target->getExprLoc())),
          variable->getNameAsString());
}

void HostReader::forget(const Stmt* statement, const std::string& why, bool as_sizes) {
  Changes visitor;
  visitor.TraverseStmt(const_cast<Stmt*>(statement));
  for (const VarDecl* variable : visitor.changed)
    frame_.variables[variable] =
        (!as_sizes && visitor.computed.contains(variable)) || !is_size(variable->getType())
            ? HostValue::unknown(why, variable->getNameAsString())
            : dimension(variable);
}

HostValue HostReader::dimension(const VarDecl* variable) {
  return HostValue::integer(unique_name(variable->getNameAsString(), owner_of(variable)));
}

HostValue HostReader::kept_in(const VarDecl* variable, HostValue value,
                              const std::map<std::string, std::string>& queries,
                              const std::map<std::string, std::uintptr_t>& names) {
  const QualType type = variable->getType();
  if (!value.is_integer() || type->isBooleanType())
    return value;
  if (!program_arguments_.empty() && mentions(value.text, program_arguments_))
    return dimension(variable);
  const bool is_integer = type.getNonReferenceType()->isIntegralType(context_) || type->isUndeducedType() ||
                          type->isDependentType();
  if (!is_integer || queries_.size() <= queries.size())
    return value;
  std::vector<std::string> fresh;
  for (const auto& [key, name] : queries_)
    if (!queries.contains(key))
      fresh.push_back(key);
  const bool is_one = fresh.size() == 1 && value.text == queries_[fresh[0]];
  queries_ = queries;
  names_ = names;
  if (!is_one)
    return dimension(variable);
  return HostValue::integer(queries_[fresh[0]] = dimension(variable).text);
}

// `while (threads < columns && threads < 1024) threads *= 2;`: where the loop's own numbers are known in
// every round, it ends after a known number of rounds at most, and what it leaves behind is a choice over
// them.
bool HostReader::unroll_loop(const Expr* condition, const Expr* step, const Stmt* body) {
  // A loop that was not to be unrolled once is not tried in every round of the loops around it.
  if (!condition || not_unrolled_.contains(body))
    return false;
  constexpr int most_rounds = 32, most_rounds_in_all = 300; // of a launcher: nested loops multiply
  const State before = frame_.variables;
  const std::size_t path = frame_.path.size(), recorded = launches.size(), returned = frame_.returned.size();
  const auto give_up = [&] {
    not_unrolled_.insert(body);
    frame_.variables = before;
    frame_.path.resize(path);
    frame_.returned.resize(returned);
    launches.erase(launches.begin() + static_cast<std::ptrdiff_t>(recorded), launches.end());
    return false;
  };
  std::vector<std::pair<HostValue, State>> rounds; // the condition of each, and what holds before it
  for (int round = 0; round <= most_rounds; ++round) {
    const HostValue again = evaluate(condition);
    if (!again.is_number() || ++rounds_ > most_rounds_in_all)
      return give_up();
    // `block < min(columns, 1024)` is over once `block` is 1024.
    if (again.text == "false" || again.text == "0" || decided_for_all_sizes(again.text) == false) {
      for (; !rounds.empty(); rounds.pop_back())
        merge(rounds.back().first, frame_.variables, rounds.back().second, "it changes in a loop");
      return true;
    }
    rounds.emplace_back(again, frame_.variables);
    // A launch in a loop is recorded once, by its ordinary reading.
    if (execute(body) != Flow::next || launches.size() != recorded || frame_.returned.size() != returned)
      return give_up();
    if (step)
      evaluate(step);
  }
  return give_up();
}

void HostReader::execute_loop(const Stmt* loop, const Stmt* body) {
  const auto* counted = dyn_cast<ForStmt>(loop);
  const auto* repeated = dyn_cast<WhileStmt>(loop);
  if ((counted && unroll_loop(counted->getCond(), counted->getInc(), body)) ||
      (repeated && unroll_loop(repeated->getCond(), nullptr, body)))
    return;
  const std::string why = "a value changes in the loop of " + line(loop->getBeginLoc());
  const std::size_t path = frame_.path.size();
  // What its first round asks for holds in every round of values that do not change.
  if (const Expr* again = counted ? counted->getCond() : repeated ? repeated->getCond() : nullptr)
    if (const HostValue condition = evaluate(again); condition.is_number() && !is_constant(condition))
      frame_.path.push_back(condition);
  const Frame before = frame_;
  forget(loop, why);
  const std::size_t returned = frame_.returned.size();
  const std::size_t recorded = launches.size();
  execute(body);
  // A launch whose geometry changes from round to round (a sweep over block sizes, a triangular loop) is read
  // as in the first one; where that cannot be read either, what changes is a size of its own.
  const auto is_unreadable = [&] {
    return std::any_of(launches.begin() + static_cast<std::ptrdiff_t>(std::min(recorded, launches.size())),
                       launches.end(),
                       [](const LaunchRecord& launch) { return !launch.site.unreadable.empty(); });
  };
  for (const bool as_sizes : {false, true}) {
    if (!is_unreadable())
      break;
    launches.resize(recorded);
    frame_ = before;
    if (as_sizes)
      forget(loop, why, true);
    execute(body);
  }
  frame_.path.resize(std::min(path, frame_.path.size()));
  if (frame_.returned.size() > returned) {
    frame_.returned.resize(returned);
    frame_.returned.push_back({HostValue::unknown(why), HostValue::unknown(why)});
  }
  forget(loop, why);
}

void HostReader::merge(const HostValue& condition, const State& yes, const State& no,
                       const std::string& why) {
  State merged;
  for (const auto& [variable, value] : yes) {
    const auto other = no.find(variable);
    merged[variable] = other == no.end() ? value : choose(condition, value, other->second, why);
    // `if (argc > 1) n = atoi(argv[1]);`
    if (!program_arguments_.empty() && merged[variable].is_integer() && is_size(variable->getType()) &&
        mentions(merged[variable].text, program_arguments_))
      merged[variable] = dimension(variable);
  }
  for (const auto& [variable, value] : no)
    merged.try_emplace(variable, value);
  frame_.variables = std::move(merged);
}

HostReader::Flow HostReader::execute_if(const IfStmt* statement) {
  execute(statement->getInit());
  const HostValue condition = evaluate(statement->getCond());
  const std::string why = "it depends on the condition in " + line(statement->getIfLoc());
  if (condition.is_number() && is_constant(condition)) {
    // A constant condition leaves one way; the other one is still read for its launches when it is ordinary
    // code.
    const bool taken = condition.text == "true" || condition.text == "1";
    return execute(taken ? statement->getThen() : statement->getElse());
  }
  // A condition that cannot be read is one all the same: what returns under it returns sometimes.
  const State before = frame_.variables;
  const std::size_t path = frame_.path.size();
  frame_.path.push_back(condition);
  const Flow then_flow = execute(statement->getThen());
  const State after_then = std::move(frame_.variables);
  frame_.variables = before;
  frame_.path.resize(path);
  frame_.path.push_back(negate(condition));
  const Flow else_flow = execute(statement->getElse());
  const State after_else = std::move(frame_.variables);
  frame_.path.resize(path);
  if (then_flow != Flow::next && else_flow != Flow::next) {
    frame_.variables = after_else;
    return then_flow == else_flow ? then_flow : Flow::returns;
  }
  if (then_flow != Flow::next || else_flow != Flow::next) {
    frame_.variables = then_flow == Flow::next ? after_then : after_else;
    frame_.path.push_back(then_flow == Flow::next ? condition : negate(condition));
    return Flow::next;
  }
  merge(condition, after_then, after_else, why);
  return Flow::next;
}

HostReader::Flow HostReader::execute_switch(const SwitchStmt* statement) {
  execute(statement->getInit());
  const HostValue subject = evaluate(statement->getCond());
  const std::string why = "it depends on the switch in " + line(statement->getSwitchLoc());
  std::vector<const Stmt*> statements;
  if (const auto* block = dyn_cast<CompoundStmt>(statement->getBody()))
    statements.assign(block->body_begin(), block->body_end());
  else
    statements.push_back(statement->getBody());

  const State before = frame_.variables;
  const std::size_t path = frame_.path.size();
  std::vector<std::pair<HostValue, State>> ends; // the case's condition and what holds after it
  bool has_default = false, has_certain = false;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const auto* label = dyn_cast<SwitchCase>(statements[i]);
    if (!label)
      continue;
    HostValue condition = HostValue::integer("false");
    std::optional<std::int64_t> number;
    const Stmt* first = label;
    bool is_default = false;
    while (const auto* nested = dyn_cast<SwitchCase>(first)) {
      if (const auto* entry = dyn_cast<CaseStmt>(nested)) {
        Expr::EvalResult value;
        if (!entry->getLHS()->isValueDependent() && entry->getLHS()->EvaluateAsInt(value, context_))
          number = value.Val.getInt().getExtValue();
        const HostValue same = number ? combine(BO_EQ, subject, HostValue::integer(std::to_string(*number)))
                                      : HostValue::unknown(why);
        condition = combine(BO_LOr, condition, same);
      } else {
        is_default = true;
      }
      first = nested->getSubStmt();
    }
    // A constant subject takes one way.
    if ((condition.text == "false" && !is_default) || (is_default && has_certain))
      continue;
    has_certain |= condition.text == "true";
    frame_.variables = before;
    frame_.path.resize(path);
    if (condition.is_number() && !is_default)
      frame_.path.push_back(condition);
    if (number && subject.is_integer() && !is_default)
      frame_.cases.emplace_back(subject, *number);
    // Where the subject cannot be read, the case says what it is.
    if (const HostValue* known = place(statement->getCond()); !subject.is_number() && number && known)
      assign(statement->getCond(), HostValue::integer(std::to_string(*number)));
    Flow flow = execute(first);
    for (std::size_t next = i + 1; flow == Flow::next && next < statements.size(); ++next)
      flow = execute(isa<SwitchCase>(statements[next]) ? cast<SwitchCase>(statements[next])->getSubStmt()
                                                       : statements[next]);
    if (number && subject.is_integer() && !is_default)
      frame_.cases.pop_back();
    has_default |= is_default;
    if (flow != Flow::returns)
      ends.emplace_back(is_default ? HostValue::integer("true") : condition, frame_.variables);
  }
  frame_.path.resize(path);
  if (!has_default)
    ends.emplace_back(HostValue::integer("true"), before);
  if (ends.empty()) {
    frame_.variables = before;
    return Flow::returns;
  }
  // The default comes last in the chain of choices.
  std::stable_partition(ends.begin(), ends.end(), [](const auto& end) { return end.first.text != "true"; });
  frame_.variables = ends.back().second;
  for (std::size_t i = ends.size() - 1; i-- > 0;) {
    const State rest = frame_.variables;
    merge(ends[i].first, ends[i].second, rest, why);
  }
  return Flow::next;
}

// return statements in order, each under the condition of its path.
HostValue HostReader::returned_value(const std::vector<Returned>& returned) {
  if (returned.empty())
    return HostValue::unknown("");
  HostValue value = returned.back().value;
  for (std::size_t i = returned.size() - 1; i-- > 0;)
    value = choose(returned[i].condition, returned[i].value, value,
                   "a helper function returns in several places");
  return value;
}

} // namespace lathe::refactor
