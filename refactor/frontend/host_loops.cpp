// Loops in host code: those whose rounds are known, those that round a number, and what the others leave
// behind.
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"
#include "refactor/frontend/value_range.h"

#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

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

// Variables that a statement may change, closures included.
class Changes : public RecursiveASTVisitor<Changes> {
public:
  std::set<const VarDecl*> changed;
  std::set<const VarDecl*> computed; // of these, those that are set to something else than what it is told
  std::set<const VarDecl*> whole;    // of these, those that change otherwise than member by member
  std::map<const VarDecl*, std::set<std::string>> members; // that change

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
    std::string name; // of a variable's member
    while (const Expr* object = whole_of(target)) {
      const auto* member = dyn_cast<MemberExpr>(target);
      name = member ? member->getMemberNameInfo().getAsString() : "";
      target = object;
    }
    if (const auto* reference = dyn_cast<DeclRefExpr>(target))
      if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl())) {
        changed.insert(variable);
        if (name.empty())
          whole.insert(variable);
        else
          members[variable].insert(name);
        if (!is_told(value))
          computed.insert(variable);
      }
  }
};

// Whether a statement has a `break` or `continue`.
bool leaves_early(const Stmt& statement) {
  if (isa<BreakStmt, ContinueStmt>(statement))
    return true;
  for (const Stmt* child : statement.children())
    if (child && leaves_early(*child))
      return true;
  return false;
}

// The launches that a statement has, closures left out.
class LaunchCalls : public RecursiveASTVisitor<LaunchCalls> {
public:
  std::vector<SourceLocation> found;

  bool VisitCUDAKernelCallExpr(CUDAKernelCallExpr* call) {
    found.push_back(call->getBeginLoc());
    return true;
  }
};

} // namespace

void HostReader::forget(const Stmt* statement, const std::string& why, bool as_sizes) {
  Changes visitor;
  visitor.TraverseStmt(const_cast<Stmt*>(statement));
  for (const VarDecl* variable : visitor.changed) {
    HostValue& value = frame_.variables[variable];
    // Of a grid, the sides that change.
    if (is_dim3(variable->getType()) && value.kind == HostValue::Kind::structure &&
        !visitor.whole.contains(variable)) {
      for (const std::string& side : visitor.members[variable]) {
        const std::string name = variable->getNameAsString() + "_" + side;
        value.members[side] = as_sizes ? query(fmt::format("{} of {}", name, owner_of(variable)), name)
                                       : HostValue::unknown(why, name);
      }
      continue;
    }
    value = (!as_sizes && visitor.computed.contains(variable)) || !is_size(variable->getType())
                ? HostValue::unknown(why, variable->getNameAsString())
                : dimension(variable);
  }
}

// `for (int n : {128, 256, 512})` over numbers that are written out: one round after the other.
std::optional<HostReader::Flow> HostReader::unroll_list(const CXXForRangeStmt& loop) {
  constexpr unsigned MOST_NUMBERS = 32;
  const Expr* range = loop.getRangeInit();
  while (range) {
    const Expr* inner = plain(range);
    if (const auto* made = dyn_cast<CXXStdInitializerListExpr>(inner))
      inner = plain(made->getSubExpr());
    if (inner == range)
      break;
    range = inner;
  }
  const auto* list = dyn_cast_or_null<InitListExpr>(range);
  if (!list || list->getNumInits() > MOST_NUMBERS || leaves_early(*loop.getBody()))
    return std::nullopt;
  std::vector<HostValue> numbers;
  for (const Expr* element : list->inits())
    numbers.push_back(evaluate(element));
  if (std::ranges::any_of(
          numbers, [](const HostValue& number) { return !number.is_integer() || follows_size(number); }))
    return std::nullopt;
  for (const HostValue& number : numbers) {
    frame_.variables[loop.getLoopVariable()] = number;
    if (const Flow flow = execute(loop.getBody()); flow != Flow::next)
      return flow;
  }
  return Flow::next;
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

bool HostReader::round_in_loop(const Expr* condition, const Expr* step, const Stmt* body) {
  // n % tile, n % tile != 0, n % tile > 0.
  const Expr* remainder = condition ? plain(condition) : nullptr;
  const auto is_zero = [&](const Expr* side) {
    const auto* literal = dyn_cast<IntegerLiteral>(plain(side));
    return literal && literal->getValue() == 0;
  };
  if (const auto* compared = dyn_cast_or_null<BinaryOperator>(remainder);
      compared && (compared->getOpcode() == BO_NE || compared->getOpcode() == BO_GT) &&
      is_zero(compared->getRHS()))
    remainder = plain(compared->getLHS());
  const auto* divided = dyn_cast_or_null<BinaryOperator>(remainder);
  if (!divided || divided->getOpcode() != BO_Rem)
    return false;
  const Expr* change = only_change(step, body);
  if (!change)
    return false;
  const Expr* changed = nullptr;
  bool grows = false;
  if (const auto* counted = dyn_cast<UnaryOperator>(plain(change));
      counted && counted->isIncrementDecrementOp()) {
    changed = counted->getSubExpr();
    grows = counted->isIncrementOp();
  } else if (const auto* added = dyn_cast<CompoundAssignOperator>(plain(change));
             added && (added->getOpcode() == BO_AddAssign || added->getOpcode() == BO_SubAssign) &&
             evaluate(added->getRHS()).text == "1") {
    changed = added->getLHS();
    grows = added->getOpcode() == BO_AddAssign;
  }
  const VarDecl* variable = variable_of(changed);
  if (!variable || variable_of(divided->getLHS()) != variable || variable_of(divided->getRHS()) == variable)
    return false;
  const HostValue before = evaluate(divided->getLHS()), tile = evaluate(divided->getRHS());
  if (!before.is_integer() || !tile.is_integer())
    return false;
  assign(changed,
         combine(BO_Mul, grows ? call("ceil_div", {before, tile}) : combine(BO_Div, before, tile), tile));
  return true;
}

void HostReader::read_later_rounds(const ForStmt& loop, const Frame& first, std::size_t recorded) {
  constexpr int MOST_ROUNDS = 16;
  LaunchCalls calls;
  calls.TraverseStmt(const_cast<Stmt*>(loop.getBody()));
  const auto is_known = [&](SourceLocation location, std::size_t end) {
    return std::any_of(launches.begin() + static_cast<std::ptrdiff_t>(std::min(recorded, end)),
                       launches.begin() + static_cast<std::ptrdiff_t>(end), [&](const LaunchRecord& launch) {
                         return launch.context == &context_ && launch.location == location;
                       });
  };
  const auto is_left = [&] {
    return std::ranges::any_of(calls.found,
                               [&](SourceLocation location) { return !is_known(location, launches.size()); });
  };
  if (!is_left() || !loop.getCond() || !loop.getInc())
    return;
  frame_ = first;
  for (int round = 0; round < MOST_ROUNDS && is_left(); ++round) {
    const HostValue again = evaluate(loop.getCond());
    if (!again.is_number() || again.text == "false" || again.text == "0" ||
        decided_for_all_sizes(again.text) == false)
      return;
    const std::size_t known = launches.size();
    if (execute(loop.getBody()) == Flow::returns)
      return;
    for (std::size_t i = launches.size(); i-- > known;)
      if (is_known(launches[i].location, known))
        launches.erase(launches.begin() + static_cast<std::ptrdiff_t>(i));
    evaluate(loop.getInc());
  }
}

void HostReader::note_first_round(const Stmt* body, const Frame& first, std::size_t recorded) {
  recorded = std::min(recorded, launches.size());
  std::vector<LaunchRecord> read(
      std::make_move_iterator(launches.begin() + static_cast<std::ptrdiff_t>(recorded)),
      std::make_move_iterator(launches.end()));
  launches.resize(recorded);
  const auto changes = [](const LaunchRecord& launch) {
    return std::ranges::any_of(launch.site.arguments,
                               [](const auto& argument) { return argument.second.empty(); });
  };
  if (std::ranges::any_of(read, changes)) {
    const Frame after = frame_;
    frame_ = first;
    execute(body);
    frame_ = after;
  }
  const auto number = [](const std::string& text) -> std::optional<std::int64_t> {
    const auto expression = Expression::parse(text);
    if (!expression.ok() || !expression->names().empty())
      return std::nullopt;
    const auto value = expression->evaluate_integer([](std::string_view) { return std::nullopt; });
    return value.ok() ? std::optional(*value) : std::nullopt;
  };
  for (LaunchRecord& launch : read) {
    const auto begun =
        std::find_if(launches.begin() + static_cast<std::ptrdiff_t>(recorded), launches.end(),
                     [&](const LaunchRecord& other) {
                       return other.context == launch.context && other.location == launch.location;
                     });
    if (begun == launches.end())
      continue;
    launch.site.first_round.insert(begun->site.first_round.begin(),
                                   begun->site.first_round.end()); // of inner loops
    for (const auto& [name, text] : launch.site.arguments)
      if (const auto known = begun->site.arguments.find(name);
          text.empty() && known != begun->site.arguments.end())
        if (const auto value = number(known->second))
          launch.site.first_round.emplace(name, *value);
  }
  launches.resize(recorded);
  std::ranges::move(read, std::back_inserter(launches));
}

void HostReader::execute_loop(const Stmt* loop, const Stmt* body) {
  const auto* counted = dyn_cast<ForStmt>(loop);
  const auto* repeated = dyn_cast<WhileStmt>(loop);
  if ((counted && round_in_loop(counted->getCond(), counted->getInc(), body)) ||
      (repeated && round_in_loop(repeated->getCond(), nullptr, body)))
    return;
  if ((counted && double_in_loop(counted->getCond(), counted->getInc(), body)) ||
      (repeated && double_in_loop(repeated->getCond(), nullptr, body)))
    return;
  if ((counted && unroll_loop(counted->getCond(), counted->getInc(), body)) ||
      (repeated && unroll_loop(repeated->getCond(), nullptr, body)))
    return;
  const std::string why = fmt::format("{} {}", CHANGES_IN_LOOP, line(loop->getBeginLoc()));
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
  if (counted)
    read_later_rounds(*counted, before, recorded);
  note_first_round(body, before, recorded);
  frame_.path.resize(std::min(path, frame_.path.size()));
  if (frame_.returned.size() > returned) {
    frame_.returned.resize(returned);
    frame_.returned.push_back({HostValue::unknown(why), HostValue::unknown(why), {}});
  }
  forget(loop, why, loops_leave_sizes_);
  if (loops_leave_sizes_)
    for (const auto& [variable, value] : frame_.variables) {
      const auto old = before.variables.find(variable);
      if (old == before.variables.end() || old->second == value)
        continue;
      const auto note = [&](const HostValue& left) {
        if (left.is_integer() && names_.contains(left.text))
          left_by_loops_.try_emplace(left.text, line(loop->getBeginLoc()));
      };
      note(value);
      for (const auto& [name, member] : value.members)
        if (const auto was = old->second.members.find(name);
            was != old->second.members.end() && !(was->second == member))
          note(member);
    }
}

} // namespace lathe::refactor
