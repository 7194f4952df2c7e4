#include "refactor/knobs/vector_model.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/AST/StmtCXX.h>
#include <clang/AST/TypeLoc.h>

#include <algorithm>
#include <string_view>

namespace lathe::refactor {

using namespace clang;

namespace {

// Mentions outside statements: array extents and template arguments of types. What the threads of a block
// share is no thread's pack.
class TypeUses : public RecursiveASTVisitor<TypeUses> {
public:
  explicit TypeUses(const ValueDecl* wanted) : wanted_(wanted) {}
  bool shouldWalkTypesOfTypeLocs() const { return true; }
  bool TraverseVarDecl(VarDecl* variable) {
    return variable->hasAttr<CUDASharedAttr>() || RecursiveASTVisitor::TraverseVarDecl(variable);
  }
  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    if (reference->getDecl()->getCanonicalDecl() == wanted_->getCanonicalDecl())
      ++count;
    return true;
  }
  int count = 0;

private:
  const ValueDecl* wanted_;
};

// Built-in vector types named in a body.
class PackTypes : public RecursiveASTVisitor<PackTypes> {
public:
  explicit PackTypes(const KernelView& view) : view_(view) {}
  bool VisitTypedefTypeLoc(TypedefTypeLoc location) {
    note(location.getTypedefNameDecl()->getName(), location.getSourceRange(), location.getType());
    return true;
  }
  bool VisitRecordTypeLoc(RecordTypeLoc location) {
    note(location.getDecl()->getName(), location.getSourceRange(), location.getType());
    return true;
  }
  struct Found {
    TextRange range;
    std::int64_t bytes;
  };
  std::vector<Found> found;
  bool hidden = false; // one comes from a macro

private:
  const KernelView& view_;
  void note(StringRef name, SourceRange where, QualType type) {
    static const std::set<std::string> names{"uint4",     "int4",       "float4", "uint2",   "int2",
                                             "float2",    "double2",    "short4", "ushort4", "char4",
                                             "longlong2", "ulonglong2", "uint1",  "int1"};
    if (!names.count(name.str()))
      return;
    if (const auto bytes = view_.range(where))
      found.push_back({*bytes, view_.context().getTypeSizeInChars(type).getQuantity()});
    else
      hidden = true;
  }
};

const Expr* peel(const Expr* expression) {
  return expression ? expression->IgnoreParenCasts() : nullptr;
}

} // namespace

std::optional<BytesOverSize> bytes_over_size(const KernelView& view, const Expr* expression) {
  const auto* division = dyn_cast_or_null<BinaryOperator>(peel(expression));
  if (!division || division->getOpcode() != BO_Div)
    return std::nullopt;
  const auto bytes = view.evaluate(division->getLHS()).as_constant();
  const auto* size = dyn_cast<UnaryExprOrTypeTraitExpr>(peel(division->getRHS()));
  if (!bytes || !size || size->getKind() != UETT_SizeOf || !size->isArgumentType())
    return std::nullopt;
  return BytesOverSize{*bytes, size->getArgumentType().getAsString(view.context().getPrintingPolicy())};
}

namespace {

class Analysis {
public:
  Analysis(KernelView& view, const ValueDecl* constant)
      : view_(view), constant_(constant), atom_("constant:" + constant->getNameAsString()) {}

  std::variant<VectorRefusal, VectorModel> run() {
    int in_statements = 0;
    if (const auto* variable = dyn_cast<VarDecl>(constant_))
      view_.keep(variable, atom_);
    atom_ = view_.atom_of(constant_);
    for (const DeclRefExpr* use : view_.uses(constant_)) {
      ++in_statements;
      classify(use);
      if (!refusal_.empty())
        return VectorRefusal{refusal_};
    }
    for (const FunctionDecl* function : view_.functions()) {
      TypeUses types(constant_);
      types.TraverseDecl(const_cast<FunctionDecl*>(function));
      all_ += types.count;
    }
    const bool in_types = all_ > in_statements;
    if (!scales_ || (!inner_loop_ && !in_types))
      return VectorRefusal{"it does not both scale an index and count the elements of a pack"};
    check_addresses();
    if (!refusal_.empty())
      return VectorRefusal{refusal_};
    link_pack_types();
    if (!refusal_.empty())
      return VectorRefusal{refusal_};
    return model_;
  }

private:
  KernelView& view_;
  const ValueDecl* constant_;
  std::string atom_;
  VectorModel model_;
  std::string refusal_;
  bool scales_ = false, inner_loop_ = false;
  int all_ = 0;
  std::set<std::string> pack_counters_; // atoms of loop variables that run over a pack

  void refuse(SourceLocation location, const std::string& what) {
    if (refusal_.empty())
      refusal_ = what + " at " + view_.at_line(location);
  }

  void classify(const DeclRefExpr* use) {
    const Stmt* above = view_.meaningful_parent(use);
    // Products of constants (C * sizeof(T), C * threads) act as the constant does.
    const Expr* top = use;
    for (auto product = binary_parts(above); product && product->operation == BO_Mul;
         product = binary_parts(above)) {
      scales_ = true;
      top = cast<Expr>(above);
      above = view_.meaningful_parent(above);
    }
    if (const auto binary = binary_parts(above)) {
      const bool is_right = view_.within(binary->right, top);
      const bool divides = binary->operation == BO_Div || binary->operation == BO_Rem;
      if (divides && is_right) {
        scales_ = true;
        note_parameters(view_.evaluate(binary->left));
        return;
      }
      if (top != use && !BinaryOperator::isEqualityOp(binary->operation))
        return; // a scaled index
      if ((binary->operation == BO_LT || binary->operation == BO_NE) && is_right &&
          is_counter(binary->left)) {
        inner_loop_ = true;
        for (const std::string& name : view_.evaluate(binary->left).atoms())
          pack_counters_.insert(name);
        return;
      }
      return refuse(use->getLocation(), "it is used other than as a scale, a divisor or a count of elements");
    }
    if (top != use)
      return; // the scaled index goes into a variable, a subscript or a call
    if (isa_and_nonnull<CallExpr>(above) || isa_and_nonnull<CXXUnresolvedConstructExpr>(above))
      return refuse(use->getLocation(), "it is passed to a function as a value");
    if (isa_and_nonnull<DeclStmt>(above))
      return; // a template argument or an extent, or another name for it
    refuse(use->getLocation(), "it is used other than as a scale, a divisor or a count of elements");
  }

  bool is_counter(const Expr* expression) const {
    const auto* reference = dyn_cast<DeclRefExpr>(peel(expression));
    const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    return variable && variable->hasInit() && view_.is_modified(variable) &&
           view_.evaluate(variable->getInit()).as_constant() == 0;
  }

  // Integer parameters that are factors of the polynomial's terms, one a term.
  void note_parameters(const Polynomial& value) {
    for (const auto& [monomial, coefficient] : value.terms()) {
      for (const std::string& factor : monomial)
        if (factor.rfind("param:", 0) == 0) {
          model_.divided_parameters.insert(factor.substr(6));
          break;
        }
    }
  }

  bool is_address(const Expr* expression) const {
    if (expression->getType()->isPointerType() || view_.base_pointer(expression))
      return true;
    return isa_and_nonnull<ArraySubscriptExpr>(view_.meaningful_parent(expression));
  }

  void check_addresses() {
    view_.visit([&](const Stmt* statement) {
      const auto* expression = dyn_cast<Expr>(statement);
      if (!expression || !refusal_.empty())
        return;
      const auto parts = binary_parts(statement);
      if (parts && BinaryOperator::isRelationalOp(parts->operation))
        check_bound(*parts);
      const auto is_sum = [](const std::optional<BinaryParts>& binary) {
        return binary && (binary->operation == BO_Add || binary->operation == BO_Sub);
      };
      if (!is_sum(parts) && !isa<DeclRefExpr>(expression))
        return;
      if (is_sum(binary_parts(view_.meaningful_parent(expression))))
        return;
      const Polynomial value = view_.evaluate(expression);
      if (!value.mentions(atom_))
        return;
      for (const std::string& name : value.atoms())
        if (name.find("blockIdx.") != std::string::npos && name.find(atom_) != std::string::npos)
          model_.grid_follows = true;
      for (const auto& [monomial, coefficient] : value.terms()) {
        bool has_constant = false, has_block = false;
        for (const std::string& factor : monomial) {
          has_constant |= factor == atom_;
          has_block |= factor.find("blockIdx.") != std::string::npos;
        }
        bool has_block_size = false;
        for (const std::string& factor : monomial)
          has_block_size |= factor == "blockDim.x" || factor.rfind("template:", 0) == 0;
        model_.grid_follows |= has_constant && has_block && has_block_size;
      }
      if (is_address(expression) && !view_.is_on_chip(expression))
        check_address(expression, value);
    });
  }

  // A pack that starts below a bound ends below it when both are multiples of the constant.
  void check_bound(const BinaryParts& comparison) {
    for (const auto& [index, bound] :
         {std::pair(comparison.left, comparison.right), std::pair(comparison.right, comparison.left)}) {
      const auto scaled = view_.evaluate(index).quotient_by(atom_);
      const Polynomial limit = view_.evaluate(bound);
      if (scaled && !scaled->is_zero() && !limit.mentions(atom_))
        note_parameters(limit);
    }
  }

  // Terms that are not multiples of the constant must be made so by a condition on a parameter.
  void check_address(const Expr* expression, const Polynomial& value) {
    if (!value.quotient_by(atom_) || value.quotient_by(atom_)->is_zero())
      return;
    for (const std::string& factor : value.atoms())
      if (factor.starts_with("var:"))
        note_whole_rounds(factor);
    for (const auto& [monomial, coefficient] : value.terms()) {
      bool fine = false, pointer = false;
      for (const std::string& factor : monomial) {
        fine |= factor == atom_ || pack_counters_.count(factor) > 0;
        if (factor.rfind("param:", 0) == 0 && !fine) {
          const ParmVarDecl* parameter = parameter_named(factor.substr(6));
          if (parameter && parameter->getType()->isPointerType()) {
            pointer = true;
          } else if (parameter) {
            model_.divided_parameters.insert(factor.substr(6));
            fine = true;
          }
        }
        pointer |= factor.rfind("var:", 0) == 0 && monomial.size() == 1;
        if (!fine && factor.starts_with("template:") && factor != atom_ && !has_constant(monomial)) {
          model_.divided_constants.insert(factor.substr(std::string_view("template:").size()));
          fine = true;
        }
        // d - d % (threads * C): divisible when d is.
        if (factor.find(atom_) != std::string::npos)
          fine = true;
      }
      if (!fine && !pointer)
        return refuse(expression->getBeginLoc(), "an address is not known to be a multiple of it");
    }
  }

  bool has_constant(const Polynomial::Monomial& monomial) const {
    return std::ranges::find(monomial, atom_) != monomial.end();
  }

  void note_whole_rounds(const std::string& counter) {
    const auto rounds = whole_rounds(view_, counter);
    if (!rounds || !view_.evaluate(rounds->per_round).mentions(atom_) ||
        view_.evaluate(rounds->total).mentions(atom_))
      return;
    const auto is_known = [&](const WholeRounds& other) { return other.total == rounds->total; };
    if (std::ranges::none_of(model_.whole_rounds, is_known))
      model_.whole_rounds.push_back(*rounds);
  }

  const ParmVarDecl* parameter_named(const std::string& name) const {
    for (const ParmVarDecl* parameter : view_.kernel()->parameters())
      if (parameter->getName() == name)
        return parameter;
    return nullptr;
  }

  void link_pack_types() {
    const Expr* initialiser = nullptr;
    if (const auto* variable = dyn_cast<VarDecl>(constant_))
      initialiser = variable->getInit();
    const auto form = initialiser ? bytes_over_size(view_, initialiser) : std::nullopt;
    if (form) {
      model_.pack_bytes = form->bytes;
      model_.pack_element = form->type;
    }
    PackTypes packs(view_);
    packs.TraverseStmt(view_.kernel()->getBody());
    if (packs.hidden)
      return refuse(constant_->getLocation(),
                    "a vector type that may be linked to it comes from a macro; it is");
    if (packs.found.empty())
      return;
    for (const auto& pack : packs.found) {
      if (!form || pack.bytes != form->bytes)
        return refuse(constant_->getLocation(), "the kernel names a vector type of " +
                                                    std::to_string(pack.bytes) +
                                                    " bytes that is not shown to follow the constant");
      model_.pack_types.push_back(pack.range);
    }
    view_.visit(view_.kernel()->getBody(), [&](const Stmt* statement) {
      const auto* member = dyn_cast<MemberExpr>(statement);
      if (member && is_pack(member->getBase()->getType()))
        refuse(member->getMemberLoc(), "the linked vector type's member is named");
      const auto* call = dyn_cast<CallExpr>(statement);
      if (call && call->getDirectCallee() && !call->getDirectCallee()->isImplicit() &&
          !isa<CXXOperatorCallExpr>(call))
        for (const Expr* argument : call->arguments()) {
          QualType type = argument->getType();
          if (is_pack(type) || (type->isPointerType() && is_pack(type->getPointeeType())))
            refuse(call->getBeginLoc(), "a value of the linked vector type is passed to a function");
        }
    });
  }

  static bool is_pack(QualType type) {
    const auto* record = type->getAsRecordDecl();
    return record && record->getIdentifier() && record->getDeclContext()->isTranslationUnit() &&
           std::isdigit(static_cast<unsigned char>(record->getName().back()));
  }
};

} // namespace

std::variant<VectorRefusal, VectorModel> analyse_vector(KernelView& view, const ValueDecl* constant) {
  return Analysis(view, constant).run();
}

} // namespace lathe::refactor
