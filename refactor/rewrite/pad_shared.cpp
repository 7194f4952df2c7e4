// pad-shared: rows of two-dimensional shared arrays become longer by a knob, so that the threads of a warp
// that go down a column meet different banks; the padding that rows of dynamic shared memory have is one.
#include "refactor/knobs/geometry.h"
#include "refactor/knobs/padded_rows.h"
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/TypeLoc.h>

#include <fmt/format.h>
#include <set>

namespace lathe::refactor {

using namespace clang;

namespace {

constexpr std::size_t most_arrays = 2; // every knob multiplies the search space
// Static shared memory of a block (CUDA C++ Programming Guide, technical specifications).
constexpr std::int64_t static_shared_bytes = 48 * 1024;

// The brackets of an array's dimensions as written, outermost first; one that comes from a macro has no
// range.
std::vector<std::optional<TextRange>> brackets_of(const KernelView& view, const VarDecl* array) {
  std::vector<std::optional<TextRange>> brackets;
  TypeLoc at = array->getTypeSourceInfo() ? array->getTypeSourceInfo()->getTypeLoc() : TypeLoc();
  for (auto dimension = at.getAs<ArrayTypeLoc>(); dimension;
       dimension = dimension.getElementLoc().getAs<ArrayTypeLoc>()) {
    const auto open = view.range(SourceRange(dimension.getLBracketLoc()));
    const auto close = view.range(SourceRange(dimension.getRBracketLoc()));
    // `extern __shared__ float all[];`
    if (!isa<ConstantArrayType>(dimension.getTypePtr()) &&
        !isa<DependentSizedArrayType>(dimension.getTypePtr()))
      return {};
    brackets.push_back(open && close ? std::optional(TextRange{open->end, close->begin}) : std::nullopt);
  }
  return brackets;
}

// Bytes of the array where they are numbers, per element of its rows; 0 where they are not.
std::int64_t bytes_of_column(const KernelView& view, const VarDecl* array) {
  const auto* outer = dyn_cast<ConstantArrayType>(array->getType()->getAsArrayTypeUnsafe());
  const ConstantArrayType* row = outer;
  while (row && row->getElementType()->isArrayType())
    row = dyn_cast<ConstantArrayType>(row->getElementType()->getAsArrayTypeUnsafe());
  if (!row || row->isDependentType() || row->getSize().isZero())
    return 0;
  return view.context().getTypeSizeInChars(array->getType()).getQuantity() /
         static_cast<std::int64_t>(row->getSize().getZExtValue());
}

// The indices of array[i][j], or nothing where the use is not of one element's value.
std::optional<std::vector<const Expr*>> element_of(const KernelView& view, const DeclRefExpr* use,
                                                   std::size_t dimensions) {
  std::vector<const Expr*> indices;
  const Stmt* child = use;
  for (const Stmt* above = view.parent(use); above; child = above, above = view.parent(above)) {
    if (isa<ParenExpr>(above))
      continue;
    if (const auto* conversion = dyn_cast<ImplicitCastExpr>(above)) {
      if (conversion->getCastKind() == CK_LValueToRValue && indices.size() == dimensions)
        return indices;
      continue;
    }
    const auto* subscript = dyn_cast<ArraySubscriptExpr>(above);
    if (subscript && indices.size() < dimensions && view.within(subscript->getBase(), child)) {
      indices.push_back(subscript->getIdx());
      continue;
    }
    const auto* unary = dyn_cast<UnaryOperator>(above);
    const bool operand = binary_parts(above) || (unary && unary->getOpcode() != UO_AddrOf);
    return operand && indices.size() == dimensions ? std::optional(indices) : std::nullopt;
  }
  return std::nullopt;
}

class PadShared : public Rule {
public:
  std::string_view name() const override { return "pad-shared"; }
  std::string_view summary() const override {
    return "makes the rows of shared arrays longer by a knob where threads go down their columns; the "
           "padding that rows have is one, too";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    KernelView view = view_of(source, kernel, candidate);
    std::vector<const VarDecl*> arrays;
    view.visit(view.kernel()->getBody(), [&](const Stmt* statement) {
      if (const auto* declaration = dyn_cast<DeclStmt>(statement))
        for (const Decl* declared : declaration->decls())
          if (const auto* variable = dyn_cast<VarDecl>(declared);
              variable && variable->hasAttr<CUDASharedAttr>() && variable->getType()->isArrayType())
            arrays.push_back(variable);
    });
    Proposal proposal;
    std::string reasons = arrays.empty() ? "the kernel has no static shared array" : "";
    for (const VarDecl* array : arrays)
      if (const std::string reason = pad(view, candidate, array, proposal); !reason.empty())
        reasons += (reasons.empty() ? "" : "; ") + array->getNameAsString() + " " + reason;
    if (const std::string reason = repad(view, candidate, proposal); !reason.empty())
      reasons += (reasons.empty() ? "" : "; ") + reason;
    if (proposal.knobs.empty())
      return Refusal{reasons};
    return proposal;
  }

private:
  // The padding of rows of dynamic shared memory as a knob. The reason why not, or nothing.
  static std::string repad(const KernelView& view, const Candidate& candidate, Proposal& proposal) {
    const auto found = find_padded_rows(view);
    if (const auto* reason = std::get_if<std::string>(&found))
      return *reason;
    const auto& rows = std::get<PaddedRows>(found);
    const auto length = value_of_parameter(candidate, rows.length->getNameAsString());
    if (!length)
      return "what " + rows.length->getNameAsString() + " is at the launch is not known";
    std::vector<std::string> taken;
    for (const Knob& knob : proposal.knobs)
      taken.push_back(knob.name);
    const std::string name = free_name(candidate.text, "PAD", taken);
    const std::string row = fmt::format("({}) + ", *length);
    int count = 0;
    auto shared =
        replace_subtree(candidate.launch.shared_bytes, make_expression(row + std::to_string(rows.padding)),
                        "(" + row + name + ")", count);
    if (!shared.ok() || count == 0)
      return fmt::format("the launch's shared memory has no rows of {} + {}", *length, rows.padding);
    proposal.launch = candidate.launch;
    proposal.launch->shared_bytes = std::move(shared).value();
    proposal.conditions.push_back(
        make_condition("(" + proposal.launch->shared_bytes.text() + ") <= device.shared_per_block_optin",
                       "a block's shared memory"));
    for (const TextRange& place : rows.places)
      proposal.edits.push_back(replace(place, name));
    std::set<std::int64_t> values{0, 1, 2, 4, 8, rows.padding};
    std::string arrays;
    for (const VarDecl* array : rows.arrays)
      arrays += (arrays.empty() ? "" : ", ") + array->getNameAsString();
    proposal.knobs.push_back(make_knob(name, KnobKind::tile, "int", {values.begin(), values.end()},
                                       std::to_string(rows.padding),
                                       "elements behind each row of " + arrays));
    return "";
  }

  // The reason why not, or nothing.
  static std::string pad(const KernelView& view, const Candidate& candidate, const VarDecl* array,
                         Proposal& proposal) {
    const auto brackets = brackets_of(view, array);
    if (brackets.empty())
      return "is dynamic";
    if (brackets.size() < 2)
      return "has no rows";
    if (!brackets.back())
      return "gets its rows from a macro";
    bool down_a_column = false;
    for (const DeclRefExpr* use : view.uses(array)) {
      const auto indices = element_of(view, use, brackets.size());
      if (!indices)
        return "is used otherwise than by elements at " + view.at_line(use->getBeginLoc());
      for (std::size_t i = 0; i + 1 < indices->size(); ++i)
        down_a_column |= view.evaluate((*indices)[i]).mentions("threadIdx.x");
    }
    if (!down_a_column)
      return "has no column that threads go down";
    if (proposal.knobs.size() == most_arrays)
      return "is the third of its kind";
    std::vector<std::string> taken;
    for (const Knob& knob : proposal.knobs)
      taken.push_back(knob.name);
    const std::string name = free_name(candidate.text, "PAD", taken);
    proposal.edits.push_back(insert(brackets.back()->begin, "("));
    proposal.edits.push_back(insert(brackets.back()->end, ") + " + name));
    if (const std::int64_t column = bytes_of_column(view, array); column > 0) {
      const std::int64_t all = view.context().getTypeSizeInChars(array->getType()).getQuantity();
      proposal.conditions.push_back(
          make_condition(fmt::format("{} + {} * {} <= {}", all, column, name, static_shared_bytes),
                         "static shared memory of a block"));
    }
    proposal.knobs.push_back(make_knob(name, KnobKind::tile, "unsigned", {0, 1, 2, 4, 8}, "0",
                                       "elements behind each row of " + array->getNameAsString() +
                                           ", whose columns " + "threads go down"));
    return "";
  }
};

} // namespace

std::unique_ptr<Rule> make_pad_shared() {
  return std::make_unique<PadShared>();
}

} // namespace lathe::refactor
