#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

class Closures : public RecursiveASTVisitor<Closures> {
public:
  std::vector<const LambdaExpr*> found; // the outer ones before those inside them

  bool shouldVisitLambdaBody() const { return true; }
  bool VisitLambdaExpr(LambdaExpr* closure) {
    found.push_back(closure);
    return true;
  }
};

bool mentions(const std::string& text, const std::string& name) {
  const auto parsed = Expression::parse(text);
  return parsed.ok() && std::ranges::find(parsed->names(), name) != parsed->names().end();
}

} // namespace

void HostReader::read(const FunctionDecl* launcher) {
  const std::size_t recorded = launches.size();
  read_once(launcher, false);
  const auto follows_loop = [](const LaunchRecord& launch) {
    return std::ranges::any_of(launch.site.unreadable, [](const std::string& sentence) {
      return sentence.find(CHANGES_IN_LOOP) != std::string::npos;
    });
  };
  if (std::none_of(launches.begin() + static_cast<std::ptrdiff_t>(recorded), launches.end(), follows_loop))
    return;
  // What a loop leaves behind and nothing else says is a size of its own.
  launches.resize(recorded);
  read_once(launcher, true);
}

void HostReader::read_once(const FunctionDecl* launcher, bool loops_leave_sizes) {
  loops_leave_sizes_ = loops_leave_sizes;
  left_by_loops_.clear();
  assumed_.clear();
  frame_ = Frame();
  callers_path_.clear();
  queries_.clear();
  computed_.clear();
  asked_.clear();
  names_.clear();
  bound_.clear();
  open_arguments_.clear();
  classes_of_instances_.clear();
  entered_.clear();
  not_unrolled_.clear();
  rounds_ = calls_ = 0;
  depth_ = 0;
  launcher_ = launcher->getNameAsString();
  sizes_.read(launcher);
  fixed_sizes_.clear();
  functions_ = {launcher};
  program_arguments_.clear();
  program_texts_ = nullptr;
  for (const auto& [parameter, size] : caller_sizes_.of(launcher))
    fixed_sizes_[dimension(parameter).text] = size;
  if (launcher->isMain() && launcher->getNumParams() > 0)
    program_arguments_ = dimension(launcher->getParamDecl(0)).text;
  if (launcher->isMain() && launcher->getNumParams() > 1)
    program_texts_ = launcher->getParamDecl(1);
  if (const FunctionTemplateDecl* described = launcher->getDescribedFunctionTemplate()) {
    std::vector<const TemplateArgumentList*> instances;
    for (const FunctionDecl* instance : described->specializations())
      instances.push_back(instance->getTemplateSpecializationArgs());
    bind_parameters(*described->getTemplateParameters(), instances);
  }
  if (const auto* record = dyn_cast<CXXRecordDecl>(launcher->getParent());
      record && record->getDescribedClassTemplate()) {
    std::vector<const TemplateArgumentList*> instances;
    for (const ClassTemplateSpecializationDecl* instance :
         record->getDescribedClassTemplate()->specializations())
      instances.push_back(&instance->getTemplateArgs());
    bind_parameters(*record->getDescribedClassTemplate()->getTemplateParameters(), instances);
  }
  const auto recorded = static_cast<std::ptrdiff_t>(launches.size());
  execute(launcher->getBody());
  // Closures that are called in a way that is not followed, for kernels that are not launched otherwise: some
  // stand in a branch that is never taken.
  std::set<const FunctionDecl*> launched;
  for (auto launch = launches.begin() + recorded; launch != launches.end(); ++launch)
    launched.insert(launch->kernel.kernel);
  const auto followed = static_cast<std::ptrdiff_t>(launches.size());
  Closures closures;
  closures.TraverseStmt(launcher->getBody());
  for (const LambdaExpr* closure : closures.found) {
    HostValue value;
    value.kind = HostValue::Kind::closure;
    value.closure = closure;
    called_elsewhere(value);
  }
  launches.erase(
      std::remove_if(launches.begin() + followed, launches.end(),
                     [&](const LaunchRecord& launch) { return launched.contains(launch.kernel.kernel); }),
      launches.end());
}

void HostReader::bind_parameters(const TemplateParameterList& parameters,
                                 const std::vector<const TemplateArgumentList*>& instances) {
  for (unsigned i = 0; i < parameters.size(); ++i) {
    if (const NamedDecl* type = parameters.getParam(i); isa<TemplateTypeParmDecl>(type)) {
      std::vector<const CXXRecordDecl*> classes;
      for (const TemplateArgumentList* arguments : instances)
        classes.push_back(arguments && i < arguments->size() &&
                                  arguments->get(i).getKind() == TemplateArgument::Type
                              ? arguments->get(i).getAsType()->getAsCXXRecordDecl()
                              : nullptr);
      classes_of_instances_[type] = std::move(classes);
    }
    // A class template (`template <class> class Op`): the one of the first instance.
    if (const auto* described = dyn_cast<TemplateTemplateParmDecl>(parameters.getParam(i)))
      for (const TemplateArgumentList* arguments : instances)
        if (arguments && i < arguments->size() && arguments->get(i).getKind() == TemplateArgument::Template)
          if (const TemplateDecl* meant = arguments->get(i).getAsTemplate().getAsTemplateDecl()) {
            bound_.try_emplace(described, HostValue::unknown("", meant->getQualifiedNameAsString()));
            break;
          }
    const auto* parameter = dyn_cast<NonTypeTemplateParmDecl>(parameters.getParam(i));
    if (!parameter)
      continue;
    std::vector<std::string> values;
    for (const TemplateArgumentList* arguments : instances) {
      const bool is_number =
          arguments && i < arguments->size() && arguments->get(i).getKind() == TemplateArgument::Integral;
      const llvm::APSInt number = is_number ? arguments->get(i).getAsIntegral() : llvm::APSInt();
      values.push_back(!is_number                               ? ""
                       : !parameter->getType()->isBooleanType() ? llvm::toString(number, 10)
                       : number.getBoolValue()                  ? "true"
                                                                : "false");
    }
    if (values.empty() || std::ranges::count(values, "") > 0)
      continue;
    if (std::ranges::count(values, values.front()) == std::ssize(values))
      bound_[parameter] = HostValue::integer(values.front());
    else
      open_arguments_[unique_name(parameter->getNameAsString(), owner_of(parameter))] = values;
  }
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
    HostValue value = result->getRetValue() ? evaluate(result->getRetValue()) : HostValue::unknown("");
    State kernels;
    for (const auto& [variable, known] : frame_.variables)
      if (known.kind == HostValue::Kind::kernel)
        kernels.emplace(variable, known);
    frame_.returned.push_back({condition, std::move(value), std::move(kernels)});
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
    if (const auto flow = unroll_list(*loop))
      return *flow;
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
    if (ends_here(plain))
      return Flow::returns;
    if (!note_check(expression))
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
  if (auto size = fixed_size(variable)) {
    frame_.variables[variable] = std::move(*size);
    return;
  }
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
  value = kept_in(variable, initialiser, std::move(value), queries, names);
  if (value.kind == HostValue::Kind::unknown && type.getNonReferenceType()->isIntegralType(context_) &&
      !type->isBooleanType()) {
    value = HostValue::integer(unique_name(wanted, owner_of(variable)));
  } else if (value.kind == HostValue::Kind::unknown && value.text.empty()) {
    value.text = wanted;
  }
  // Inside `case 8:`, the first constant 8 stands for what the switch is over; another is a number of its
  // own.
  if (value.is_integer() && (variable->isConstexpr() || type.isConstQualified())) {
    const auto meant = std::find_if(frame_.cases.rbegin(), frame_.cases.rend(), [&](const Case& one) {
      return !one.is_named && value.text == std::to_string(one.number);
    });
    if (meant != frame_.cases.rend()) {
      meant->is_named = true;
      value = meant->subject;
    }
  }
  frame_.variables[variable] = std::move(value);
}

HostValue* HostReader::place(const Expr* target) {
  target = target->IgnoreParenImpCasts();
  if (const auto* reference = dyn_cast<DeclRefExpr>(target)) {
    const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
    return variable ? &frame_.variables[variable] : nullptr;
  }
  // *grid and grid->x, where the pointer is the address of a variable.
  const auto pointed_at = [&](const Expr* pointer) -> HostValue* {
    const HostValue value = evaluate(pointer);
    return value.kind == HostValue::Kind::address ? &frame_.variables[value.variable] : nullptr;
  };
  if (const auto* indirect = dyn_cast<UnaryOperator>(target))
    return indirect->getOpcode() == UO_Deref ? pointed_at(indirect->getSubExpr()) : nullptr;
  if (const auto* member = dyn_cast<MemberExpr>(target)) {
    HostValue* object = member->isArrow() ? pointed_at(member->getBase()) : nullptr;
    if (!object)
      object = place(member->getBase());
    if (!object)
      return nullptr;
    if (object->kind == HostValue::Kind::unknown)
      object->kind = HostValue::Kind::structure;
    return object->kind == HostValue::Kind::structure
               ? &object->members[member->getMemberNameInfo().getAsString()]
               : nullptr;
  }
  // grid[0], of an array of the function's own.
  if (const Expr* array = element_of_array(target)) {
    HostValue* object = place(array);
    const auto position =
        object ? number_of(evaluate(cast<ArraySubscriptExpr>(target)->getIdx())) : std::nullopt;
    if (!position || *position >= MOST_ELEMENTS)
      return nullptr;
    if (object->kind == HostValue::Kind::unknown)
      object->kind = HostValue::Kind::list;
    if (object->kind != HostValue::Kind::list)
      return nullptr;
    object->elements.resize(std::max(object->elements.size(), *position + 1));
    return &object->elements[*position];
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
  while (const Expr* whole = whole_of(base))
    base = whole;
  if (const auto* reference = dyn_cast<DeclRefExpr>(base))
    if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
      frame_.variables[variable] = HostValue::unknown(
          fmt::format("'{}' is changed in {}", variable->getNameAsString(), line(target->getExprLoc())),
          variable->getNameAsString());
}

HostValue HostReader::dimension(const VarDecl* variable) {
  return HostValue::integer(unique_name(variable->getNameAsString(), owner_of(variable)));
}

HostValue HostReader::kept_in(const VarDecl* variable, const Expr* from, HostValue value,
                              const std::map<std::string, std::string>& queries,
                              const std::map<std::string, std::uintptr_t>& names) {
  const QualType type = variable->getType();
  if (!value.is_integer() || type->isBooleanType())
    return value;
  if (!program_arguments_.empty() && mentions(value.text, program_arguments_))
    return dimension(variable);
  // What it is where the program is told nothing: `find_argument(argv, "-n", 4096)`.
  if (program_texts_ && is_size(type) && names_variable(from, program_texts_)) {
    // Named in the function that looks for it.
    if (names_.contains(value.text) && !names.contains(value.text))
      return dimension(variable);
    const auto told = Expression::parse(value.text);
    const auto number = told.ok() && told->names().empty() ? told->evaluate_integer({}) : Error{};
    if (number.ok()) {
      const HostValue size = dimension(variable);
      fixed_sizes_[size.text] = *number;
      return size;
    }
  }
  const bool is_integer = type.getNonReferenceType()->isIntegralType(context_) || type->isUndeducedType() ||
                          type->isDependentType();
  if (!is_integer || queries_.size() <= queries.size())
    return value;
  std::vector<std::string> fresh;
  for (const auto& [key, name] : queries_)
    if (!queries.contains(key))
      fresh.push_back(key);
  // What functions of other files make of sizes besides is what they were read for.
  const auto is_fresh = [&](const std::string& name) {
    return std::ranges::any_of(fresh, [&](const std::string& key) { return queries_[key] == name; });
  };
  if (const auto parsed = Expression::parse(value.text);
      others_ && parsed.ok() && !std::ranges::all_of(parsed->names(), is_fresh))
    return value;
  const bool is_one = fresh.size() == 1 && value.text == queries_[fresh[0]];
  // What is computed from sizes that have names is no name for them.
  if (!is_one && std::ranges::all_of(
                     fresh, [](const std::string& key) { return key.ends_with(std::string(".") + UNWRAP); }))
    return value;
  // `int ld = x.stride(0)` keeps the name that says what it is.
  if (is_one && fresh[0].find("_stride[") != std::string::npos &&
      StringRef(variable->getName()).lower().find("stride") == std::string::npos)
    return value;
  const bool is_asked =
      std::ranges::any_of(fresh, [&](const std::string& key) { return asked_.contains(queries_[key]); });
  Computed computed{value.text, {}};
  for (const std::string& key : fresh)
    computed.asked[queries_[key]] = key;
  queries_ = queries;
  names_ = names;
  HostValue kept = dimension(variable);
  if (is_one)
    queries_[fresh[0]] = kept.text;
  // Of a variable that is computed in two ways it is not known which of them a launch meets.
  if (const auto [known, is_new] = computed_.try_emplace(kept.text, computed);
      !is_new && known->second.text != computed.text)
    known->second = {};
  if (is_asked)
    asked_.insert(kept.text);
  // Of sizes that the text fixes: what it fixes this one at.
  if (const auto parsed = Expression::parse(value.text); parsed.ok() && !parsed->names().empty()) {
    const auto number = parsed->evaluate_integer([&](std::string_view name) -> std::optional<Value> {
      const auto fixed = fixed_sizes_.find(std::string(name));
      return fixed == fixed_sizes_.end() ? std::nullopt : std::optional<Value>(fixed->second);
    });
    if (number.ok())
      fixed_sizes_.try_emplace(kept.text, *number);
  }
  return kept;
}

void HostReader::merge(const HostValue& condition, const State& yes, const State& no,
                       const std::string& why) {
  State merged;
  for (const auto& [variable, value] : yes) {
    const auto other = no.find(variable);
    merged[variable] = other == no.end() ? value : choose(condition, value, other->second, why);
    if (other != no.end() && (is_size(variable->getType()) || is_dim3(variable->getType())))
      merged[variable] = readable_way(condition, value, other->second, std::move(merged[variable]));
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
      frame_.cases.push_back({subject, *number});
    // Where the subject cannot be read, the case says what it is. To ask for its place makes one.
    if (!subject.is_number() && number && place(statement->getCond()))
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
