#include "refactor/knobs/offset_buffers.h"

#include <clang/AST/ExprCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// An element of a buffer that a pointer parameter, of the kernel or of a helper, points to.
struct Element {
  const Expr* expression = nullptr;
  const ParmVarDecl* pointer = nullptr;
  Polynomial index;
  std::vector<const Expr*> indices; // its summands as written
};

// __ldg(p + i) and its like: p[i].
bool is_cached_load(const KernelView& view, const CallExpr* call) {
  const std::string name = view.text(call->getCallee());
  return call->getNumArgs() == 1 && name.starts_with("__ld") && name != "__ldmatrix";
}

bool is_atomic(const KernelView& view, const CallExpr* call) {
  return view.text(call->getCallee()).find("atomic") != std::string::npos;
}

// The function that is called, as it is defined; null where that is not known.
const FunctionDecl* callee_of(const CallExpr* call) {
  const FunctionDecl* callee = call->getDirectCallee();
  if (callee && callee->getTemplateInstantiationPattern())
    callee = callee->getTemplateInstantiationPattern();
  const FunctionDecl* definition = nullptr;
  return callee && callee->hasBody(definition) ? definition : nullptr;
}

class Ranges {
public:
  explicit Ranges(const KernelView& view) : view_(view) {
    view.visit([&](const Stmt* statement) { note(statement); });
    find_roots();
  }

  std::vector<OffsetBuffer> find() {
    std::vector<OffsetBuffer> found;
    for (const ParmVarDecl* parameter : view_.kernel()->parameters()) {
      if (!parameter->getType()->isPointerType() || written_.contains(parameter))
        continue;
      const std::vector<const Element*> own = elements_of(parameter);
      const auto [begins, ends] = handed_round(own);
      if (!delimit_ranges(own) && !bound_a_range(begins, ends))
        continue;
      std::vector<const Expr*> offsets;
      for (const Element* element : own)
        offsets.push_back(element->expression);
      for (const Parts& parts : {begins, ends})
        for (const Stmt* part : parts)
          offsets.push_back(cast<Expr>(part));
      found.push_back({parameter->getNameAsString(), ranged_by(parameter, offsets)});
    }
    return found;
  }

private:
  const KernelView& view_;
  std::vector<Element> elements_;
  std::map<const Stmt*, std::size_t> by_expression_;
  std::map<const VarDecl*, std::vector<const Expr*>> sources_; // what variables and parameters are made of
  std::map<const ParmVarDecl*, std::set<const ParmVarDecl*>> handed_; // a helper's pointer <- its callers'
  std::map<const ParmVarDecl*, std::set<const ParmVarDecl*>> roots_;  // the kernel's own behind a pointer
  std::set<const ParmVarDecl*> written_;                              // of the kernel's
  std::map<const FunctionDecl*, std::vector<const Expr*>> returned_;
  std::vector<const Expr*> writes_;
  std::vector<const Stmt*> relations_;                           // comparisons and differences
  std::vector<std::pair<const Expr*, const Expr*>> assignments_; // to, from
  std::map<const VarDecl*, std::vector<const ArraySubscriptExpr*>> elements_of_arrays_; // the innermost

  void note(const Stmt* statement) {
    if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(statement)) {
      add(subscript, subscript);
      if (const VarDecl* array = array_of(subscript))
        elements_of_arrays_[array].push_back(subscript);
    } else if (const auto* unary = dyn_cast<UnaryOperator>(statement)) {
      if (unary->getOpcode() == UO_Deref)
        add(unary, unary->getSubExpr());
      if (unary->isIncrementDecrementOp())
        writes_.push_back(unary->getSubExpr());
    } else if (const auto* declaration = dyn_cast<DeclStmt>(statement)) {
      for (const Decl* declared : declaration->decls())
        if (const auto* variable = dyn_cast<VarDecl>(declared); variable && variable->hasInit())
          sources_[variable->getCanonicalDecl()].push_back(variable->getInit());
    } else if (const auto* call = dyn_cast<CallExpr>(statement); call && !isa<CXXOperatorCallExpr>(call)) {
      note_call(call);
    } else if (const auto* result = dyn_cast<ReturnStmt>(statement)) {
      if (result->getRetValue())
        returned_[view_.enclosing_function(result)].push_back(result->getRetValue());
    }
    const auto binary = binary_parts(statement);
    if (!binary)
      return;
    if (BinaryOperator::isAssignmentOp(binary->operation)) {
      writes_.push_back(binary->left);
      assignments_.emplace_back(binary->left, binary->right);
      if (const auto* reference = dyn_cast<DeclRefExpr>(binary->left->IgnoreParenCasts()))
        if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
          sources_[variable->getCanonicalDecl()].push_back(binary->right);
    } else if (BinaryOperator::isComparisonOp(binary->operation) || binary->operation == BO_Sub) {
      relations_.push_back(statement);
    }
  }

  void note_call(const CallExpr* call) {
    if (is_cached_load(view_, call))
      add(call, call->getArg(0));
    if (is_atomic(view_, call) && call->getNumArgs() > 0)
      writes_.push_back(call->getArg(0));
    const FunctionDecl* definition = callee_of(call);
    if (!definition)
      return;
    for (unsigned i = 0; i < std::min(call->getNumArgs(), definition->getNumParams()); ++i) {
      const ParmVarDecl* parameter = definition->getParamDecl(i);
      sources_[parameter->getCanonicalDecl()].push_back(call->getArg(i));
      if (parameter->getType()->isPointerType())
        if (const ParmVarDecl* base = view_.base_pointer(call->getArg(i)))
          handed_[parameter].insert(base);
    }
  }

  // `address`: a pointer, or p[i] itself.
  void add(const Expr* expression, const Expr* address) {
    Element element;
    element.expression = expression;
    const Expr* pointer = address->IgnoreParenImpCasts();
    if (const auto* unary = dyn_cast<UnaryOperator>(pointer); unary && unary->getOpcode() == UO_AddrOf)
      pointer = unary->getSubExpr()->IgnoreParenImpCasts();
    if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(pointer)) {
      // Either side may be the pointer, and which is not known of an index whose type depends on a parameter.
      element.pointer = view_.base_pointer(subscript->getLHS());
      if (!element.pointer)
        element.pointer = view_.base_pointer(subscript->getRHS());
      element.index = view_.evaluate(subscript->getLHS()) + view_.evaluate(subscript->getRHS());
      element.indices = {subscript->getLHS(), subscript->getRHS()};
    } else {
      element.pointer = view_.base_pointer(pointer);
      element.index = view_.evaluate(pointer);
      element.indices = {pointer};
    }
    if (!element.pointer)
      return;
    element.index = element.index - Polynomial::atom(view_.atom_of(element.pointer));
    by_expression_[expression] = elements_.size();
    elements_.push_back(std::move(element));
  }

  void find_roots() {
    for (const ParmVarDecl* parameter : view_.kernel()->parameters())
      roots_[parameter] = {parameter};
    for (bool grows = true; grows;) {
      grows = false;
      for (const auto& [pointer, bases] : handed_)
        for (const ParmVarDecl* base : bases)
          for (const ParmVarDecl* root : std::set(roots_[base]))
            grows |= roots_[pointer].insert(root).second;
    }
    for (const Expr* place : writes_) {
      const Expr* bare = place->IgnoreParenCasts();
      const auto found = by_expression_.find(bare);
      const ParmVarDecl* pointer =
          found != by_expression_.end() ? elements_[found->second].pointer : view_.base_pointer(bare);
      // A pointer that is moved is not written through.
      if (!pointer || (isa<DeclRefExpr>(bare) && found == by_expression_.end()))
        continue;
      written_.insert(roots_[pointer].begin(), roots_[pointer].end());
    }
  }

  using Parts = std::set<const Stmt*>;

  // Whether the value of an expression is made of one of the parts, through variables and what helpers
  // return. What is loaded from memory is made of nothing else.
  bool comes_from(const Stmt* value, const Parts& wanted) const {
    std::set<const Decl*> seen;
    std::function<bool(const Stmt*)> look = [&](const Stmt* part) {
      if (wanted.contains(part))
        return true;
      if (by_expression_.contains(part))
        return false;
      const auto any_of = [&](const std::vector<const Expr*>& sources) {
        return std::ranges::any_of(sources, [&](const Expr* source) { return look(source); });
      };
      if (const auto* reference = dyn_cast<DeclRefExpr>(part)) {
        const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
        const auto found = variable ? sources_.find(variable->getCanonicalDecl()) : sources_.end();
        return found != sources_.end() && seen.insert(found->first).second && any_of(found->second);
      }
      if (const auto* call = dyn_cast<CallExpr>(part))
        if (const auto found = returned_.find(callee_of(call));
            found != returned_.end() && seen.insert(found->first).second && any_of(found->second))
          return true;
      return std::ranges::any_of(part->children(), [&](const Stmt* child) { return child && look(child); });
    };
    return look(value);
  }

  std::vector<const Element*> elements_of(const ParmVarDecl* parameter) const {
    std::vector<const Element*> own;
    for (const Element& element : elements_)
      if (const auto roots = roots_.find(element.pointer);
          roots != roots_.end() && roots->second.contains(parameter))
        own.push_back(&element);
    return own;
  }

  // The array that an element of it, of whatever rank, is of.
  static const VarDecl* array_of(const ArraySubscriptExpr* element) {
    const Expr* base = element->getBase()->IgnoreParenImpCasts();
    while (const auto* outer = dyn_cast<ArraySubscriptExpr>(base))
      base = outer->getBase()->IgnoreParenImpCasts();
    const auto* reference = dyn_cast<DeclRefExpr>(base);
    const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    return variable && variable->getType()->isArrayType() ? variable : nullptr;
  }

  // if (lane < 2) ends[warp][lane] = p[row + lane]; two threads load what the others of their warp read as
  // ends[warp][0] and ends[warp][1]: these, for the buffer of which `own` are the elements.
  std::pair<Parts, Parts> handed_round(const std::vector<const Element*>& own) const {
    std::pair<Parts, Parts> found;
    for (const Element* element : own)
      for (const auto& [to, from] : assignments_) {
        const auto* place = dyn_cast<ArraySubscriptExpr>(to->IgnoreParenImpCasts());
        const VarDecl* array = place ? array_of(place) : nullptr;
        if (!array || from->IgnoreParenCasts() != element->expression)
          continue;
        const Polynomial lane = view_.evaluate(place->getIdx());
        const std::vector<std::string> others = (element->index - lane).atoms();
        const auto is_other = [&](const std::string& atom) {
          return std::ranges::find(others, atom) != others.end();
        };
        if (!is_below_two(lane) || std::ranges::any_of(lane.atoms(), is_other))
          continue;
        for (const ArraySubscriptExpr* read : elements_of_arrays_.at(array))
          if (const auto which = view_.evaluate(read->getIdx()).as_constant(); which == 0)
            found.first.insert(read);
          else if (which == 1)
            found.second.insert(read);
      }
    return found;
  }

  bool is_below_two(const Polynomial& lane) const {
    return !lane.as_constant() && std::ranges::any_of(relations_, [&](const Stmt* relation) {
      const auto parts = *binary_parts(relation);
      return parts.operation == BO_LT && view_.evaluate(parts.left).text() == lane.text() &&
             view_.evaluate(parts.right).as_constant() == 2;
    });
  }

  bool delimit_ranges(const std::vector<const Element*>& own) const {
    for (const Element* lower : own)
      for (const Element* upper : own)
        if (upper->pointer == lower->pointer && (upper->index - lower->index).as_constant() == 1 &&
            bound_a_range({lower->expression}, {upper->expression}))
          return true;
    return false;
  }

  bool bound_a_range(const Parts& begin, const Parts& end) const {
    std::set<std::string> above_begin, below_end; // numbers that each is compared with
    for (const Stmt* relation : relations_) {
      const auto parts = *binary_parts(relation);
      for (const auto& [one, other] : {std::pair(parts.left, parts.right), {parts.right, parts.left}}) {
        if (!comes_from(one, end)) {
          if (comes_from(one, begin) && parts.operation != BO_Sub)
            above_begin.insert(view_.evaluate(other).text());
        } else if (comes_from(other, begin)) {
          if (parts.operation != BO_Sub || is_a_length(relation))
            return true;
        } else if (parts.operation != BO_Sub) {
          below_end.insert(view_.evaluate(other).text());
        }
      }
    }
    return std::ranges::any_of(below_end,
                               [&](const std::string& text) { return above_begin.contains(text); });
  }

  // A difference that something is compared with: that of neighbours in an image is not.
  bool is_a_length(const Stmt* difference) const {
    return std::ranges::any_of(relations_, [&](const Stmt* relation) {
      return binary_parts(relation)->operation != BO_Sub && comes_from(relation, {difference});
    });
  }

  // What the elements of the ranges are: places whose index is made of an offset.
  std::vector<RangedBuffer> ranged_by(const ParmVarDecl* offsets, const std::vector<const Expr*>& own) const {
    const Parts parts(own.begin(), own.end());
    std::map<std::string, std::string> steps;
    for (const Element& element : elements_) {
      if (std::ranges::none_of(element.indices, [&](const Expr* index) { return comes_from(index, parts); }))
        continue;
      const auto roots = roots_.find(element.pointer);
      for (const ParmVarDecl* root : roots == roots_.end() ? std::set<const ParmVarDecl*>() : roots->second) {
        const std::string step = element.pointer == root ? step_of(element, own) : "";
        const auto [known, is_new] = steps.emplace(root->getNameAsString(), step);
        if (!is_new && known->second != step)
          known->second.clear();
      }
    }
    steps.erase(offsets->getNameAsString());
    std::vector<RangedBuffer> ranged;
    for (const auto& [name, step] : steps)
      ranged.push_back({name, step});
    return ranged;
  }

  // By how much the index grows with an offset: what the offset, or a variable that is made of it, is
  // multiplied by.
  std::string step_of(const Element& element, const std::vector<const Expr*>& own) const {
    const Parts parts(own.begin(), own.end());
    std::set<std::string> offsets;
    for (const Expr* offset : own)
      offsets.insert(view_.evaluate(offset).text());
    for (const auto& [variable, sources] : sources_)
      if (view_.is_modified(variable) &&
          std::ranges::any_of(sources, [&](const Expr* source) { return comes_from(source, parts); }))
        offsets.insert(view_.atom_of(variable));
    std::set<std::string> steps;
    for (const std::string& atom : element.index.atoms())
      if (offsets.contains(atom)) {
        const auto step = element.index.quotient_by(atom);
        steps.insert(step ? over_parameters(*step) : "");
      } else if (std::ranges::any_of(offsets, [&, &whole = atom](const std::string& offset) {
                   return whole.find(offset) != std::string::npos;
                 })) {
        steps.insert(""); // something is computed from it
      }
    return steps.size() == 1 ? *steps.begin() : "";
  }

  // As C++ over the kernel's parameters; empty where it has anything else in it.
  static std::string over_parameters(const Polynomial& number) {
    constexpr std::string_view PARAMETER = "param:";
    std::string text;
    for (const auto& [monomial, coefficient] : number.terms()) {
      if (coefficient <= 0)
        return {};
      text += (text.empty() ? "" : " + ");
      text += coefficient == 1 && !monomial.empty() ? "" : std::to_string(coefficient);
      for (std::size_t i = 0; i < monomial.size(); ++i) {
        if (!monomial[i].starts_with(PARAMETER))
          return {};
        text += (i == 0 && coefficient == 1 ? "" : " * ") + monomial[i].substr(PARAMETER.size());
      }
    }
    return text;
  }
};

} // namespace

std::vector<OffsetBuffer> offset_buffers(const KernelView& view) {
  return Ranges(view).find();
}

} // namespace lathe::refactor
