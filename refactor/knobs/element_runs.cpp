#include "refactor/knobs/element_runs.h"

#include "refactor/knobs/round_accesses.h"
#include "refactor/knobs/variables.h"
#include "refactor/knobs/work_text.h"

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

class Reader {
public:
  Reader(const KernelView& view, const ElementWork& work) : view_(view), work_(work), text_(view, work) {}

  std::vector<ElementAccess> read() const {
    std::vector<ElementAccess> runs;
    bool stores = false;
    text_.visit_parts([&](const Stmt* statement) {
      const auto* pointed = dyn_cast<UnaryOperator>(statement);
      stores |= pointed && pointed->getOpcode() == UO_Deref && view_.is_on_chip(pointed->getSubExpr());
      const auto* element = dyn_cast<ArraySubscriptExpr>(statement);
      if (!element || !view_.is_on_chip(element->getBase()))
        return;
      const PlaceUse use = use_of_place(view_, element);
      stores |= !use.known || use.stores;
      const VarDecl* array = named_variable(element->getBase()->IgnoreParenCasts());
      const Expr* run = run_of(element->getIdx());
      const auto place = view_.written_range(element->getSourceRange());
      const auto text = run ? text_.known_text(element) : std::nullopt;
      const std::string length = run ? view_.text(run) : "";
      if (!array || view_.is_modified(array) || !place || !text || length.empty() ||
          element->getType().isVolatileQualified() || !text_.is_unconditional(element))
        return;
      const auto known = std::ranges::find(runs, *text, &ElementAccess::text);
      if (known != runs.end())
        return known->places.push_back(*place);
      ElementAccess access;
      access.text = *text;
      access.name = array->getNameAsString();
      access.buffer = array;
      access.on_chip = access.reads = true;
      access.run = length;
      access.element = element->getType().getUnqualifiedType();
      access.places = {*place};
      runs.push_back(std::move(access));
    });
    return stores ? std::vector<ElementAccess>() : runs;
  }

private:
  const KernelView& view_;
  const ElementWork& work_;
  const WorkText text_;

  // i / n or i % n of the element's number, by what it is of n, where it stands or a variable of the work is
  // it.
  std::optional<BinaryParts> part_of_number(const Expr* expression) const {
    expression = expression->IgnoreParenCasts();
    if (const VarDecl* variable = named_variable(expression);
        variable && text_.is_declared_in_body(variable) && !view_.is_modified(variable) &&
        variable->hasInit())
      expression = variable->getInit()->IgnoreParenCasts();
    const auto parts = binary_parts(expression);
    const bool is_part = parts && (parts->operation == BO_Div || parts->operation == BO_Rem) &&
                         named_variable(parts->left->IgnoreParenCasts()) == work_.number &&
                         is_stable(view_, view_.evaluate(parts->right));
    return is_part ? parts : std::nullopt;
  }

  // The n of p[(i / n) * row + i % n], whose elements lie one behind the other until i / n changes.
  const Expr* run_of(const Expr* index) const {
    const auto sum = binary_parts(index->IgnoreParenImpCasts());
    if (!sum || sum->operation != BO_Add)
      return nullptr;
    for (const auto& [row, column] : {std::pair(sum->left, sum->right), std::pair(sum->right, sum->left)}) {
      const auto product = binary_parts(row->IgnoreParenImpCasts());
      const auto remainder = part_of_number(column);
      if (!product || product->operation != BO_Mul || !remainder || remainder->operation != BO_Rem)
        continue;
      for (const auto& [number, length] :
           {std::pair(product->left, product->right), std::pair(product->right, product->left)}) {
        const auto quotient = part_of_number(number);
        if (quotient && quotient->operation == BO_Div && is_stable(view_, view_.evaluate(length)) &&
            view_.evaluate(quotient->right) == view_.evaluate(remainder->right))
          return remainder->right;
      }
    }
    return nullptr;
  }
};

} // namespace

std::vector<ElementAccess> runs_on_chip(const KernelView& view, const ElementWork& work) {
  return Reader(view, work).read();
}

} // namespace lathe::refactor
