#include "refactor/knobs/thread_number.h"

#include "refactor/knobs/kernel_facts.h"
#include "refactor/knobs/kernel_view.h"
#include "refactor/knobs/launch_expression.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
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

class Reader {
public:
  Reader(const KernelView& view, const KernelInfo& kernel) : view_(view), kernel_(kernel) {}

  std::optional<std::string> count();

private:
  bool uses_one_axis() const;
  bool is_thread_number(const Expr* expression) const;
  void hold_against(const Expr* number, const Expr* bound, bool is_inclusive, const Stmt* at);
  // What the kernel passes for the parameter of the function that the statement stands in.
  std::optional<std::string> parameter(const std::string& name, const Stmt* at) const;
  bool is_integer_parameter(const std::string& name) const {
    return std::ranges::any_of(kernel_.parameters, [&](const KernelParameter& parameter) {
      return parameter.name == name && parameter.is_integer && !parameter.is_enumeration;
    });
  }

  const KernelView& view_;
  const KernelInfo& kernel_;
  std::set<std::string> bounds_;
  bool is_open_ = false; // a bound that no expression over the parameters is
};

bool Reader::uses_one_axis() const {
  static const std::set<std::string> wanted{"threadIdx.x", "blockIdx.x", "blockDim.x", "gridDim.x"};
  bool is_one = true;
  view_.visit([&](const Stmt* statement) {
    if (const auto* expression = dyn_cast<Expr>(statement))
      if (const std::string name = KernelView::builtin_name(expression); !name.empty())
        is_one &= wanted.contains(name);
  });
  return is_one;
}

bool Reader::is_thread_number(const Expr* expression) const {
  static const Polynomial number =
      Polynomial::atom("blockIdx.x") * Polynomial::atom("blockDim.x") + Polynomial::atom("threadIdx.x");
  const auto* reference = dyn_cast<DeclRefExpr>(expression->IgnoreParenCasts());
  const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  // A grid-stride loop begins with it and changes it.
  const bool is_local = variable && variable->isLocalVarDecl() && variable->getInit();
  return view_.evaluate(is_local ? variable->getInit() : expression) == number;
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

void Reader::hold_against(const Expr* number, const Expr* bound, bool is_inclusive, const Stmt* at) {
  if (!is_thread_number(number))
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
  if (text)
    bounds_.insert(is_inclusive ? *text + " + 1" : *text);
}

std::optional<std::string> Reader::count() {
  if (!uses_one_axis())
    return std::nullopt;
  view_.visit([&](const Stmt* statement) {
    const auto comparison = binary_parts(statement);
    if (!comparison)
      return;
    const auto& [left, right, operation] = *comparison;
    if (operation == BO_LT || operation == BO_GE) // i < n, i >= n
      hold_against(left, right, false, statement);
    if (operation == BO_LE || operation == BO_GT)
      hold_against(left, right, true, statement);
    if (operation == BO_GT || operation == BO_LE) // n > i, n <= i
      hold_against(right, left, false, statement);
    if (operation == BO_GE || operation == BO_LT)
      hold_against(right, left, true, statement);
  });
  return !is_open_ && bounds_.size() == 1 ? std::optional(*bounds_.begin()) : std::nullopt;
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
  auto count = Reader(view, kernel).count();
  if (!count)
    return std::nullopt;
  const auto* bounds = view.kernel()->getAttr<CUDALaunchBoundsAttr>();
  const auto largest = threads_at_most(view);
  if (bounds && !largest) // the block is what a template argument says
    return std::nullopt;
  return IndependentThreads{std::move(*count), largest};
}

} // namespace lathe::refactor
