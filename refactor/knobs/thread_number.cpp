#include "refactor/knobs/thread_number.h"

#include "refactor/knobs/kernel_facts.h"
#include "refactor/knobs/kernel_view.h"
#include "refactor/knobs/launch_expression.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <map>
#include <set>

namespace lathe::refactor {

using namespace clang;

namespace {

// What a call calls, as it is written: of a template the pattern, where the arguments depend on the caller's
// own parameters too. Null where that is not one function.
const FunctionDecl* written_callee(const CallExpr* call) {
  if (const FunctionDecl* callee = call->getDirectCallee()) {
    const FunctionDecl* pattern = callee->getTemplateInstantiationPattern();
    return (pattern ? pattern : callee)->getCanonicalDecl();
  }
  const auto* overloads = dyn_cast<OverloadExpr>(call->getCallee()->IgnoreParenImpCasts());
  if (!overloads || overloads->getNumDecls() != 1)
    return nullptr;
  const FunctionDecl* callee = (*overloads->decls_begin())->getUnderlyingDecl()->getAsFunction();
  return callee ? callee->getCanonicalDecl() : nullptr;
}

constexpr std::array<const char*, 3> AXES{"x", "y", "z"};

Polynomial builtin(const char* name, const char* axis) {
  return Polynomial::atom(std::string(name) + "." + axis);
}

Polynomial number_along(const char* axis) {
  return builtin("blockIdx", axis) * builtin("blockDim", axis) + builtin("threadIdx", axis);
}

// Of a grid of two axes whose blocks are counted row by row, as grids were that could not be wider than
// 65535.
Polynomial number_in_rows_of_blocks() {
  return (builtin("blockIdx", "y") * builtin("gridDim", "x") + builtin("blockIdx", "x")) *
             builtin("blockDim", "x") +
         builtin("threadIdx", "x");
}

class Reader {
public:
  Reader(const KernelView& view, const KernelInfo& kernel) : view_(view), kernel_(kernel) {}

  std::optional<std::array<std::string, 3>> counts();

private:
  using Numbers = std::array<std::optional<Polynomial>, 3>;

  // What tells the kernel's threads apart along each axis; nothing where its index values mean something
  // else.
  std::optional<Numbers> numbers() const;
  bool is_only_in_rows_of_blocks(const Expr* index) const;
  std::optional<std::size_t> axis_of(const Expr* expression, const Numbers& numbers) const;
  void hold_against(std::optional<std::size_t> axis, const Expr* bound, bool is_inclusive, const Stmt* at);
  std::optional<std::string> largest_bound(std::size_t axis) const;
  // What the kernel passes for the parameter of the function that the statement stands in.
  std::optional<std::string> parameter(const std::string& name, const Stmt* at) const;
  bool is_integer_parameter(const std::string& name) const {
    return std::ranges::any_of(kernel_.parameters, [&](const KernelParameter& parameter) {
      return parameter.name == name && parameter.is_integer && !parameter.is_enumeration;
    });
  }

  const KernelView& view_;
  const KernelInfo& kernel_;
  std::array<std::map<std::string, Polynomial>, 3> bounds_; // by their texts
  bool is_open_ = false; // a bound that no expression over the parameters is
};

// The index of a block's row counts nothing but blocks: it stands within the number of a thread.
bool Reader::is_only_in_rows_of_blocks(const Expr* index) const {
  static const Polynomial number = number_in_rows_of_blocks();
  for (const Stmt* above = index; above; above = view_.parent(above))
    if (const auto* expression = dyn_cast<Expr>(above); expression && view_.evaluate(expression) == number)
      return true;
  return false;
}

std::optional<Reader::Numbers> Reader::numbers() const {
  std::set<std::string> used;
  bool is_in_rows = true;
  view_.visit([&](const Stmt* statement) {
    const auto* expression = dyn_cast<Expr>(statement);
    const std::string name = expression ? KernelView::builtin_name(expression) : "";
    if (name.empty())
      return;
    used.insert(name);
    if (name == "blockIdx.y")
      is_in_rows &= is_only_in_rows_of_blocks(expression);
  });
  Numbers numbers;
  static const std::set<std::string> of_rows{"threadIdx.x", "blockIdx.x", "blockDim.x",
                                             "gridDim.x",   "blockIdx.y", "gridDim.y"};
  if (std::ranges::includes(of_rows, used)) {
    if (!is_in_rows)
      return std::nullopt;
    numbers[0] = used.contains("blockIdx.y") ? number_in_rows_of_blocks() : number_along("x");
    return numbers;
  }
  for (std::size_t axis = 0; axis < AXES.size(); ++axis)
    if (used.contains(std::string("threadIdx.") + AXES[axis]) ||
        used.contains(std::string("blockIdx.") + AXES[axis]))
      numbers[axis] = number_along(AXES[axis]);
  return numbers;
}

std::optional<std::size_t> Reader::axis_of(const Expr* expression, const Numbers& numbers) const {
  const auto* reference = dyn_cast<DeclRefExpr>(expression->IgnoreParenCasts());
  const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  // A grid-stride loop begins with it and changes it.
  const bool is_local = variable && variable->isLocalVarDecl() && variable->getInit();
  const Polynomial value = view_.evaluate(is_local ? variable->getInit() : expression);
  const auto found = std::ranges::find(numbers, std::optional(value));
  return found == numbers.end() ? std::nullopt
                                : std::optional(static_cast<std::size_t>(found - numbers.begin()));
}

std::optional<std::string> Reader::parameter(const std::string& name, const Stmt* at) const {
  const FunctionDecl* function = view_.enclosing_function(at);
  if (function == view_.kernel())
    return is_integer_parameter(name) ? std::optional(name) : std::nullopt;
  const auto parameters = function->parameters();
  const auto own = std::ranges::find(parameters, name, [](const ParmVarDecl* p) { return p->getName(); });
  const auto index = static_cast<unsigned>(own - parameters.begin());
  std::set<std::string> passed;
  bool is_called_by_kernel = true;
  view_.visit([&](const Stmt* statement) {
    const auto* call = dyn_cast<CallExpr>(statement);
    if (!call || written_callee(call) != function->getCanonicalDecl())
      return;
    const auto* argument = index < call->getNumArgs()
                               ? dyn_cast<DeclRefExpr>(call->getArg(index)->IgnoreParenImpCasts())
                               : nullptr;
    is_called_by_kernel &= argument && view_.enclosing_function(call) == view_.kernel();
    if (argument)
      passed.insert(argument->getDecl()->getNameAsString());
  });
  const bool is_known = own != parameters.end() && is_called_by_kernel && passed.size() == 1 &&
                        is_integer_parameter(*passed.begin());
  return is_known ? std::optional(*passed.begin()) : std::nullopt;
}

void Reader::hold_against(std::optional<std::size_t> axis, const Expr* bound, bool is_inclusive,
                          const Stmt* at) {
  if (!axis)
    return;
  LaunchFacts facts;
  facts.grid = facts.block = {"", "", ""};
  facts.parameter = [&](const std::string& name) { return parameter(name, at); };
  facts.template_parameter = facts.size_of = [](const std::string&) { return std::nullopt; };
  const auto text = launch_expression(view_, bound, facts);
  // A first thread that does more than the others (i == 0, i < 1) is no bound.
  if (const auto constant = view_.evaluate(bound).as_constant(); constant)
    return;
  is_open_ |= !text;
  if (!text)
    return;
  // A helper's parameters have names of their own.
  const Polynomial value =
      view_.enclosing_function(at) == view_.kernel() ? view_.evaluate(bound) : Polynomial::atom(*text);
  bounds_[*axis].emplace(is_inclusive ? *text + " + 1" : *text,
                         is_inclusive ? value + Polynomial::constant(1) : value);
}

// The only bound, or the one that all others lie a number below (i < n and i < n - 1, of a stencil).
std::optional<std::string> Reader::largest_bound(std::size_t axis) const {
  for (const auto& [text, value] : bounds_[axis])
    if (std::ranges::all_of(bounds_[axis], [&, &largest = value](const auto& other) {
          const auto below = (largest - other.second).as_constant();
          return below && *below >= 0;
        }))
      return text;
  return std::nullopt;
}

std::optional<std::array<std::string, 3>> Reader::counts() {
  const auto known = numbers();
  if (!known)
    return std::nullopt;
  view_.visit([&](const Stmt* statement) {
    const auto comparison = binary_parts(statement);
    if (!comparison)
      return;
    const auto& [left, right, operation] = *comparison;
    if (operation == BO_LT || operation == BO_GE) // i < n, i >= n
      hold_against(axis_of(left, *known), right, false, statement);
    if (operation == BO_LE || operation == BO_GT)
      hold_against(axis_of(left, *known), right, true, statement);
    if (operation == BO_GT || operation == BO_LE) // n > i, n <= i
      hold_against(axis_of(right, *known), left, false, statement);
    if (operation == BO_GE || operation == BO_LT)
      hold_against(axis_of(right, *known), left, true, statement);
  });
  std::array<std::string, 3> counts{"1", "1", "1"};
  for (std::size_t axis = 0; axis < AXES.size(); ++axis) {
    if (!(*known)[axis])
      continue;
    const auto bound = is_open_ ? std::nullopt : largest_bound(axis);
    if (!bound)
      return std::nullopt;
    counts[axis] = *bound;
  }
  return counts;
}

std::optional<std::int64_t> threads_at_most(const KernelView& view) {
  const auto* bounds = view.kernel()->getAttr<CUDALaunchBoundsAttr>();
  if (!bounds || !bounds->getMaxThreads())
    return std::nullopt;
  return view.evaluate(bounds->getMaxThreads()).as_constant();
}

} // namespace

std::optional<IndependentThreads> independent_threads(ParsedSource& source, const KernelInfo& kernel) {
  const KernelFacts facts = kernel_facts(source, kernel);
  if (facts.barriers + facts.warp_primitives + facts.shared_variables > 0)
    return std::nullopt;
  const KernelView view(source, kernel);
  // Groups of threads are asked for by functions of a header.
  if (std::ranges::any_of(view.external_calls(), [](const std::string& name) {
        return name.find("this_") != std::string::npos || name.find("sync") != std::string::npos ||
               name.find("partition") != std::string::npos;
      }))
    return std::nullopt;
  auto counts = Reader(view, kernel).counts();
  if (!counts)
    return std::nullopt;
  const auto* bounds = view.kernel()->getAttr<CUDALaunchBoundsAttr>();
  const auto largest = threads_at_most(view);
  if (bounds && !largest) // the block is what a template argument says
    return std::nullopt;
  return IndependentThreads{std::move(*counts), largest};
}

} // namespace lathe::refactor
