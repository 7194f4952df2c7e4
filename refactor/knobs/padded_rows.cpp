#include "refactor/knobs/padded_rows.h"

#include "refactor/knobs/strided_loop.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Stmt.h>

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

constexpr std::int64_t MOST_PADDING = 16; // elements; more is a size

// `length + padding` as it stands in the text.
struct Stride {
  const Expr* sum = nullptr;
  const IntegerLiteral* padding = nullptr;
};

class Reader {
public:
  Reader(const KernelView& view, const ParmVarDecl* length, std::int64_t padding)
      : view_(view), length_(length), padding_(padding) {}

  std::variant<std::string, PaddedRows> read(const std::vector<Stride>& strides) {
    PaddedRows rows{length_, padding_, {}, {}};
    for (const Stride& stride : strides) {
      const auto place = view_.range(stride.padding->getSourceRange());
      if (!place)
        return "a row's padding comes from a macro" + at(stride.sum);
      rows.places.push_back(*place);
      if (auto reason = counts_rows(stride.sum))
        return *reason;
    }
    if (arrays_.empty())
      return text() + " is no row of dynamic shared memory";
    for (const VarDecl* array : arrays_)
      if (auto reason = is_used_by_rows(array))
        return *reason;
    if (auto reason = lie_behind_all_others())
      return *reason;
    rows.arrays = arrays_;
    return rows;
  }

private:
  const KernelView& view_;
  const ParmVarDecl* length_;
  std::int64_t padding_;
  std::vector<const VarDecl*> arrays_; // in the order in which they are met
  std::set<const Stmt*> places_;       // elements, and sums with a pointer, in which rows are counted

  std::string text() const { return fmt::format("{} + {}", length_->getNameAsString(), padding_); }
  std::string at(const Stmt* statement) const { return " at " + view_.at_line(statement->getBeginLoc()); }
  std::string otherwise(const Stmt* statement) const {
    return text() + " is more than the length of a row" + at(statement);
  }

  const Stmt* above(const Stmt* statement) const {
    const Stmt* up = view_.parent(statement);
    while (up && (isa<ParenExpr>(up) || isa<CastExpr>(up)))
      up = view_.parent(up);
    return up;
  }

  // Dynamic shared memory that the variable is, or points into; null otherwise.
  const VarDecl* memory_of(const VarDecl* variable) const {
    constexpr int MOST_STEPS = 32;
    for (int step = 0; variable && step < MOST_STEPS; ++step) {
      if (variable->getType()->isArrayType())
        return variable->hasAttr<CUDASharedAttr>() && variable->hasExternalStorage() ? variable : nullptr;
      variable = source_of(variable);
    }
    return nullptr;
  }

  // What a pointer is computed from: a pointer or an array.
  const VarDecl* source_of(const VarDecl* pointer) const {
    if (isa<ParmVarDecl>(pointer) || !pointer->getType()->isPointerType() || !pointer->hasInit() ||
        view_.is_modified(pointer))
      return nullptr;
    const VarDecl* source = nullptr;
    view_.visit(pointer->getInit(), [&](const Stmt* part) {
      const VarDecl* named = named_variable(part);
      if (!source && named && (named->getType()->isPointerType() || named->getType()->isArrayType()))
        source = named;
    });
    return source;
  }

  // Nothing where the expression is a factor of an element's row, or of where an array begins.
  std::optional<std::string> counts_rows(const Expr* stride) {
    const Stmt* up = above(stride);
    if (const auto* declaration = dyn_cast_or_null<DeclStmt>(up)) {
      const auto* variable =
          declaration->isSingleDecl() ? dyn_cast<VarDecl>(declaration->getSingleDecl()) : nullptr;
      if (!variable || view_.is_modified(variable) || !variable->getType()->isIntegerType())
        return otherwise(stride);
      for (const DeclRefExpr* use : view_.uses(variable))
        if (auto reason = counts_rows(use))
          return reason;
      return std::nullopt;
    }
    auto parts = up ? binary_parts(up) : std::nullopt;
    if (!parts || parts->operation != BO_Mul)
      return otherwise(stride);
    const Expr* rows = view_.within(parts->left, stride) ? parts->right : parts->left;
    // rows * stride, and what is added to that: a column, or a pointer.
    const Expr* column = nullptr;
    const Stmt* below = up;
    for (up = above(up); up; below = up, up = above(up)) {
      if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(up))
        return view_.within(subscript->getIdx(), stride) ? takes_element(subscript, column)
                                                         : otherwise(stride);
      parts = binary_parts(up);
      if (!parts || parts->operation != BO_Add)
        return otherwise(stride);
      const Expr* other = view_.within(parts->left, below) ? parts->right : parts->left;
      if (const VarDecl* pointer = named_variable(other->IgnoreParenCasts());
          pointer && memory_of(pointer) && !column) {
        if (!is_alike_for_all(rows))
          return "a row has a pointer of its own" + at(stride);
        add(pointer);
        places_.insert(up);
        return std::nullopt;
      }
      if (column)
        return otherwise(stride);
      column = other;
    }
    return otherwise(stride);
  }

  std::optional<std::string> takes_element(const ArraySubscriptExpr* element, const Expr* column) {
    const VarDecl* array = named_variable(element->getBase()->IgnoreParenCasts());
    if (!array || !memory_of(array))
      return otherwise(element);
    if (column && !is_within_row(column, element))
      return "a column may lie behind its row" + at(element);
    add(array);
    places_.insert(element);
    return std::nullopt;
  }

  void add(const VarDecl* array) {
    if (std::ranges::find(arrays_, array) == arrays_.end())
      arrays_.push_back(array);
  }

  // Where another array begins is one place for all threads and rounds; what a row's own pointer reaches is
  // not looked at.
  bool is_alike_for_all(const Expr* rows) const {
    const Polynomial count = view_.evaluate(rows);
    return is_stable(view_, count) && !count.mentions("Idx.") && !count.mentions(loop_atom);
  }

  bool is_length(const Expr* expression) const {
    return view_.evaluate(expression) == Polynomial::atom(view_.atom_of(length_));
  }

  // A remainder by the length, a variable that is one, or the counter of a loop that ends at the length.
  bool is_within_row(const Expr* column, const Stmt* element) const {
    const Expr* plain = column->IgnoreParenCasts();
    if (const auto parts = binary_parts(plain); parts && parts->operation == BO_Rem)
      return is_length(parts->right);
    const VarDecl* variable = named_variable(plain);
    if (!variable)
      return false;
    if (!view_.is_modified(variable) && variable->hasInit())
      return is_within_row(variable->getInit(), element);
    for (const Stmt* up = view_.parent(element); up; up = view_.parent(up))
      if (const auto* loop = dyn_cast<ForStmt>(up))
        if (const auto strided = read_strided_loop(view_, loop); strided && strided->counter == variable)
          return is_length(strided->bound);
    return false;
  }

  std::optional<std::string> is_used_by_rows(const VarDecl* array) const {
    for (const DeclRefExpr* use : view_.uses(array)) {
      const Stmt* up = view_.parent(use);
      while (up && !places_.contains(up) && !isa<ArraySubscriptExpr>(up) &&
             (isa<ParenExpr>(up) || isa<CastExpr>(up) || binary_parts(up)))
        up = view_.parent(up);
      if (!up || !places_.contains(up))
        return array->getNameAsString() + " is used otherwise than by rows of " + text() + at(use);
    }
    return std::nullopt;
  }

  // Other arrays of the same memory are what these begin behind, or begin behind these by whole rows.
  std::optional<std::string> lie_behind_all_others() const {
    std::set<const VarDecl*> known(arrays_.begin(), arrays_.end()), memories;
    for (const VarDecl* array : arrays_) {
      memories.insert(memory_of(array));
      for (const VarDecl* source = source_of(array); source; source = source_of(source))
        known.insert(source);
      known.insert(memory_of(array));
    }
    std::optional<std::string> reason;
    view_.visit(view_.kernel()->getBody(), [&](const Stmt* statement) {
      const auto* declaration = dyn_cast<DeclStmt>(statement);
      if (!declaration || reason)
        return;
      for (const Decl* declared : declaration->decls()) {
        const auto* variable = dyn_cast<VarDecl>(declared);
        if (!variable || known.contains(variable) || !memories.contains(memory_of(variable)))
          continue;
        bool begins_behind = false;
        for (const VarDecl* source = source_of(variable); source; source = source_of(source))
          begins_behind |= std::ranges::find(arrays_, source) != arrays_.end();
        if (!begins_behind)
          reason = variable->getNameAsString() + " may lie behind rows of " + text() + at(statement);
      }
    });
    return reason;
  }
};

} // namespace

std::variant<std::string, PaddedRows> find_padded_rows(const KernelView& view) {
  struct Rows {
    const ParmVarDecl* length;
    std::int64_t padding;
    std::vector<Stride> strides;
  };
  std::vector<Rows> found; // in the order of the text
  const auto add = [&](const Expr* sum, const ParmVarDecl* length, const IntegerLiteral* number) {
    const auto padding = static_cast<std::int64_t>(number->getValue().getZExtValue());
    auto rows = std::ranges::find_if(
        found, [&](const Rows& known) { return known.length == length && known.padding == padding; });
    if (rows == found.end())
      rows = found.insert(rows, Rows{length, padding, {}});
    rows->strides.push_back({sum, number});
  };
  view.visit(view.kernel()->getBody(), [&](const Stmt* statement) {
    const auto parts = binary_parts(statement);
    if (!parts || parts->operation != BO_Add)
      return;
    for (const auto& [size, number] :
         {std::pair(parts->left, parts->right), std::pair(parts->right, parts->left)}) {
      const auto* length = dyn_cast_or_null<ParmVarDecl>(named_variable(size->IgnoreParenCasts()));
      const auto* padding = dyn_cast<IntegerLiteral>(number->IgnoreParenCasts());
      if (length && padding && length->getType()->isIntegerType() && !view.is_modified(length) &&
          padding->getValue().ult(MOST_PADDING + 1))
        add(cast<Expr>(statement), length, padding);
    }
  });
  std::string reason = "no row of dynamic shared memory is longer than what is in it";
  for (const Rows& rows : found) {
    auto read = Reader(view, rows.length, rows.padding).read(rows.strides);
    if (std::holds_alternative<PaddedRows>(read))
      return read;
    reason = std::get<std::string>(read);
  }
  return reason;
}

} // namespace lathe::refactor
