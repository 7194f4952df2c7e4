#include "refactor/rewrite/tile_knob.h"

#include "refactor/knobs/geometry.h"
#include "refactor/knobs/inline_assembly.h"
#include "refactor/rewrite/launch_facts.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/StmtCXX.h>
#include <clang/AST/TypeLoc.h>

#include <algorithm>
#include <regex>

namespace lathe::refactor {

using namespace clang;

namespace {

// A whole number that has a name in the kernel's text.
bool is_named_constant(const KernelView& view, const VarDecl* variable) {
  const QualType type = variable->getType();
  return type->isIntegralOrEnumerationType() && !type->isBooleanType() && variable->hasInit() &&
         !isa<ParmVarDecl>(variable) && (variable->isConstexpr() || type.isConstQualified()) &&
         view.in_main_file(variable->getLocation()) && view.evaluate(variable->getInit()).as_constant();
}

// Named constants that the view's kernel declares or reads.
std::vector<const VarDecl*> constants_of(const KernelView& view) {
  std::set<const VarDecl*> found;
  view.visit([&](const Stmt* statement) {
    if (const auto* declaration = dyn_cast<DeclStmt>(statement)) {
      for (const Decl* declared : declaration->decls())
        if (const auto* variable = dyn_cast<VarDecl>(declared))
          found.insert(variable);
    } else if (const auto* reference = dyn_cast<DeclRefExpr>(statement)) {
      if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
        found.insert(variable);
    }
  });
  std::vector<const VarDecl*> constants;
  for (const VarDecl* variable : found)
    if (is_named_constant(view, variable))
      constants.push_back(variable);
  return constants;
}

class TileStudy {
public:
  TileStudy(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate,
            const ConstantUnderStudy& constant, std::int64_t value)
      : view_(source, kernel), candidate_(candidate), constant_(constant), value_(value),
        facts_(launch_facts_of(kernel, candidate)) {}

  std::variant<std::string, Proposal> run() {
    keep_constants();
    if (reason_.empty())
      look_at_uses();
    if (reason_.empty())
      look_at_shared_arrays();
    if (reason_.empty())
      follow_launch();
    if (reason_.empty() && blocks_.empty() && !steps_)
      reason_ = "neither blocks nor a loop cover the work in steps of it";
    if (!reason_.empty())
      return reason_;
    add_limits();
    return std::move(proposal_);
  }

private:
  KernelView view_;
  const Candidate& candidate_;
  const ConstantUnderStudy& constant_;
  const std::int64_t value_;
  const LaunchFacts facts_;
  std::string atom_, reason_;
  std::map<std::string, std::string> names_;   // atom of a named constant -> its name
  std::map<std::string, std::int64_t> values_; // of named constants
  struct Step {
    std::int64_t value = 0;
    std::string text;
  };
  std::map<std::string, Step> blocks_; // "blockIdx.x" where it is multiplied by the constant, and by what
  // Axis of threads that deal the rows of a block's tile out to groups (warps), and the threads of a group.
  std::map<std::size_t, std::int64_t> groups_;
  bool steps_ = false;
  Proposal proposal_;

  void refuse(const std::string& reason) {
    if (reason_.empty())
      reason_ = reason;
  }
  void require(const std::string& condition, const std::string& why) {
    proposal_.conditions.push_back(make_condition(condition, why));
  }

  // Named constants stay names, so that conditions hold whichever of them become knobs.
  void keep_constants() {
    const std::vector<const VarDecl*> constants = constants_of(view_);
    std::map<const VarDecl*, std::int64_t> initial;
    for (const VarDecl* variable : constants)
      initial[variable] = *view_.evaluate(variable->getInit()).as_constant();
    for (const VarDecl* variable : constants) {
      const bool literal =
          isa<IntegerLiteral>(variable->getInit()->IgnoreParenCasts()) || variable == constant_.declaration;
      if (variable != constant_.declaration && literal && initial[variable] == value_)
        refuse(variable->getNameAsString() + " has the same value");
      if (!literal)
        continue; // follows others
      const std::string atom = "constant:" + variable->getNameAsString();
      view_.keep(variable, atom);
      names_[atom] = variable->getNameAsString();
      values_[variable->getNameAsString()] = initial[variable];
    }
    if (const FunctionTemplateDecl* described = view_.kernel()->getDescribedFunctionTemplate())
      for (const NamedDecl* parameter : *described->getTemplateParameters())
        if (const auto* number = dyn_cast<NonTypeTemplateParmDecl>(parameter)) {
          const std::string name = number->getNameAsString();
          names_[view_.atom_of(number)] = name;
          const auto given = facts_.template_parameter(name);
          const auto fixed = given ? constant_of(make_expression(*given)) : std::nullopt;
          for (const Knob& knob : candidate_.knobs)
            if (knob.name == name)
              values_[name] = constant_of(knob.default_value).value_or(0);
          if (fixed)
            values_[name] = *fixed;
        }
    atom_ = view_.atom_of(constant_.declaration);
  }

  // As a Lathe expression over dimensions and names of constants; nothing where it holds anything else.
  std::optional<std::string> expression_of(const Polynomial& value) const {
    std::string sum;
    for (const auto& [monomial, coefficient] : value.terms()) {
      std::string product = std::to_string(coefficient);
      for (const std::string& atom : monomial) {
        std::optional<std::string> factor;
        if (const auto name = names_.find(atom); name != names_.end())
          factor = name->second;
        else if (atom.rfind("param:", 0) == 0)
          factor = value_of_parameter(candidate_, atom.substr(6));
        if (!factor)
          return std::nullopt;
        product += " * (" + *factor + ")";
      }
      sum += (sum.empty() ? "" : " + ") + product;
    }
    return sum.empty() ? "0" : sum;
  }

  void look_at_uses() {
    static const std::regex warp(
        "__shfl.*|__ballot.*|__any_sync|__all_sync|__match.*|__reduce_.*|__activemask");
    for (const std::string& callee : view_.external_calls())
      if (std::regex_match(callee, warp))
        refuse("the threads of a warp communicate by " + callee);
    std::set<const Expr*> seen;
    view_.visit([&](const Stmt* statement) {
      if (!reason_.empty())
        return;
      if (isa<AsmStmt>(statement) && !passes_nothing_on(cast<AsmStmt>(statement)))
        return refuse("inline assembly at " + view_.at_line(statement->getBeginLoc()));
      if (const auto* literal = dyn_cast<IntegerLiteral>(statement)) {
        if (value_ > 2 && literal->getValue() == static_cast<std::uint64_t>(value_) && !is_own(literal))
          refuse("the number at " + view_.at_line(literal->getBeginLoc()) + " may mean the same");
        return;
      }
      if (const auto* loop = dyn_cast<ForStmt>(statement))
        return look_at_loop(loop);
      const auto parts = binary_parts(statement);
      if (!parts)
        return;
      if (parts->operation == BO_Div || parts->operation == BO_Rem)
        look_at_division(*parts);
      note_blocks(view_.evaluate(cast<Expr>(statement)));
    });
  }

  bool is_own(const IntegerLiteral* literal) const {
    const auto* variable = dyn_cast<VarDecl>(constant_.declaration);
    return variable && variable->getInit() && view_.within(variable->getInit(), literal);
  }

  void note_blocks(const Polynomial& value) {
    bool is_start = false; // of a block: blockIdx times the constant alone
    for (const auto& [monomial, coefficient] : value.terms())
      if (std::find(monomial.begin(), monomial.end(), atom_) != monomial.end())
        for (const std::string& atom : monomial)
          if (atom.rfind("blockIdx.", 0) == 0) {
            note_step(atom, monomial, coefficient);
            is_start |= monomial.size() == 2 && coefficient == 1;
          }
    if (!is_start)
      return;
    // blockIdx.y * TILE + threadIdx.x / 32: no loop, so that the block has a group for each.
    static const std::regex group(R"(\(threadIdx\.([xyz])/(\d+)\))");
    std::smatch parts;
    for (const auto& [monomial, coefficient] : value.terms())
      if (coefficient == 1 && monomial.size() == 1 && std::regex_match(monomial.front(), parts, group))
        groups_[static_cast<std::size_t>(parts[1].str()[0] - 'x')] = std::stoll(parts[2]);
  }

  // What a block covers along an axis: the constant, times others that the index has beside it.
  void note_step(const std::string& block, const Polynomial::Monomial& monomial, std::int64_t coefficient) {
    Step step{coefficient, coefficient == 1 ? "" : std::to_string(coefficient)};
    for (const std::string& atom : monomial) {
      if (atom == block)
        continue;
      const auto name = names_.find(atom);
      const auto number = name == names_.end() ? std::nullopt : value_of(name->second);
      if (!number)
        continue; // a size of the problem: what follows the axis is the tile alone
      step.value *= *number;
      step.text += (step.text.empty() ? "" : " * ") +
                   (stays_named(name->second, atom) ? name->second : std::to_string(*number));
    }
    Step& known = blocks_[block];
    if (step.value > known.value)
      known = step;
  }

  // Knobs, and constants that the same rule may yet turn into knobs.
  bool stays_named(const std::string& name, const std::string& atom) const {
    return std::any_of(candidate_.knobs.begin(), candidate_.knobs.end(),
                       [&](const Knob& knob) { return knob.name == name; }) ||
           atom.rfind("template:", 0) == atom_.rfind("template:", 0);
  }

  std::optional<std::int64_t> value_of(const std::string& name) const {
    if (name == constant_.name)
      return value_;
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  // Divisions of one constant by another: exact in the raw kernel, and to stay so.
  void look_at_division(const BinaryParts& parts) {
    const Polynomial left = view_.evaluate(parts.left), right = view_.evaluate(parts.right);
    if ((!left.mentions(atom_) && !right.mentions(atom_)) || parts.operation == BO_Rem)
      return;
    const auto dividend = expression_of(left), divisor = expression_of(right);
    const bool constants = dividend && divisor && !left.mentions("param:") && !right.mentions("param:");
    if (constants)
      require("(" + *dividend + ") % (" + *divisor + ") == 0", "a division of constants leaves no rest");
  }

  void look_at_loop(const ForStmt* loop) {
    const auto* condition = dyn_cast_or_null<BinaryOperator>(loop->getCond());
    const auto* start = dyn_cast_or_null<DeclStmt>(loop->getInit());
    const auto* advance = loop->getInc();
    if (!condition || !condition->isComparisonOp() || !start || !advance)
      return;
    // Every `counter += step` of the increment, with the counter's own start.
    view_.visit(advance, [&](const Stmt* statement) {
      const auto* step = dyn_cast<CompoundAssignOperator>(statement);
      const auto* reference = step ? dyn_cast<DeclRefExpr>(step->getLHS()->IgnoreParenImpCasts()) : nullptr;
      const auto* counter = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (!counter || !counter->hasInit())
        return;
      const Polynomial first = view_.evaluate(counter->getInit()), by = view_.evaluate(step->getRHS());
      if (step->getOpcode() != BO_AddAssign) {
        if (first.mentions(atom_))
          require("is_pow2(" + constant_.name + ")", "a loop halves it");
        return;
      }
      const auto* compared = dyn_cast<DeclRefExpr>(condition->getLHS()->IgnoreParenImpCasts());
      if (!compared || compared->getDecl() != counter || !condition->isRelationalOp())
        return;
      Polynomial length = view_.evaluate(condition->getRHS()) - first;
      if (condition->getOpcode() == BO_LE)
        length = length + Polynomial::constant(1);
      if (!by.mentions(atom_) && !length.mentions(atom_))
        return;
      if (length.mentions("threadIdx.") || length.mentions("blockIdx.") || by.mentions("Dim.") ||
          (!by.mentions(atom_) && by.as_constant() == 1))
        return; // dealt out to threads, or one by one
      const auto whole = expression_of(length), piece = expression_of(by);
      if (!whole || !piece)
        return refuse("the loop at " + view_.at_line(loop->getBeginLoc()) +
                      " steps by it to an end that is not known before the launch");
      steps_ |= by.mentions(atom_) && !length.as_constant();
      require("(" + *whole + ") % (" + *piece + ") == 0", "a loop takes whole steps");
    });
  }

  void look_at_shared_arrays() {
    std::string bytes;
    bool any = false;
    view_.visit([&](const Stmt* statement) {
      const auto* declaration = dyn_cast<DeclStmt>(statement);
      if (!declaration)
        return;
      for (const Decl* declared : declaration->decls()) {
        const auto* variable = dyn_cast<VarDecl>(declared);
        if (!variable || !variable->hasAttr<CUDASharedAttr>() || !variable->getTypeSourceInfo())
          continue;
        Polynomial elements = Polynomial::constant(1);
        TypeLoc location = variable->getTypeSourceInfo()->getTypeLoc();
        for (auto array = location.getAs<ArrayTypeLoc>(); array; array = location.getAs<ArrayTypeLoc>()) {
          if (!array.getSizeExpr())
            return; // dynamic: its size is the launch's
          elements = elements * view_.evaluate(array.getSizeExpr());
          location = array.getElementLoc();
        }
        any |= elements.mentions(atom_);
        const QualType element = location.getType();
        std::string size;
        if (!element->isDependentType())
          size = std::to_string(view_.context().getTypeSizeInChars(element).getQuantity());
        for (const TypeParameter& type : candidate_.types)
          if (element.getAsString(view_.context().getPrintingPolicy()) == type.name)
            size = "sizeof_" + type.name;
        const auto count = expression_of(elements);
        if (size.empty() || !count)
          return refuse("the size of the shared array at " + view_.at_line(variable->getLocation()) +
                        " is not known before the launch");
        bytes += (bytes.empty() ? "" : " + ") + ("(" + *count + ") * " + size);
      }
    });
    if (any)
      require(bytes + " <= 49152", "static shared memory holds at most 48 KiB");
  }

  void follow_launch() {
    LaunchGeometry launch = candidate_.launch;
    for (const auto& [axis, threads] : groups_) {
      if (constant_of(launch.block[axis]) != value_ * threads)
        return refuse("a block of " + launch.block[axis].text() + " threads does not have a group of " +
                      std::to_string(threads) + " for each step of it");
      launch.block[axis] = make_expression(constant_.name + " * " + std::to_string(threads));
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::string letter(1, "xyz"[axis]);
      if (value_ > 1 && constant_of(launch.block[axis]) == value_)
        launch.block[axis] = make_expression(constant_.name);
      const auto block = blocks_.find("blockIdx." + letter);
      if (block == blocks_.end())
        continue;
      int count = 0;
      // As part of a product that an earlier constant has brought in by name.
      if (has_word(launch.grid[axis].text(), constant_.name))
        continue;
      const std::string product = "(" + block->second.text + ")";
      const std::string before = replace_word(product, constant_.name, std::to_string(value_));
      const std::pair<Expression, std::string> forms[] = {{Expression(Value{value_}), constant_.name},
                                                          {Expression(Value{block->second.value}), product},
                                                          {make_expression(before), product}};
      for (const auto& [divisor, text] : forms) {
        auto rounded = replace_ceil_div(launch.grid[axis], divisor, text, count);
        if (rounded.ok() && count > 0) {
          launch.grid[axis] = std::move(rounded).value();
          break;
        }
      }
      if (count > 0)
        continue;
      // n / TILE: the raw launcher takes whole tiles only.
      const ExpressionNode& root = launch.grid[axis].root();
      if (root.operation == Operation::divide_truncate &&
          format_tree(root.children[1], launch.grid[axis].names()) == std::to_string(value_)) {
        const std::string whole = format_tree(root.children[0], launch.grid[axis].names());
        launch.grid[axis] = make_expression("(" + whole + ") / " + constant_.name);
        require("(" + whole + ") % " + constant_.name + " == 0", "the grid takes whole tiles");
        continue;
      }
      return refuse("the grid " + launch.grid[axis].text() + " does not divide by it, although blockIdx." +
                    letter + " counts in steps of it");
    }
    proposal_.launch = launch;
  }

  void add_limits() {
    const LaunchGeometry& launch = *proposal_.launch;
    const std::string threads = block_threads(launch);
    require(threads + " <= device.max_threads_per_block",
            "a block has no more threads than the device allows");
    const LaunchBounds bounds = launch_bounds_of(view_);
    if (!bounds.values.empty() && bounds.values[0])
      require(threads + " <= " + std::to_string(*bounds.values[0]), "the kernel's launch bounds");
    std::vector<std::int64_t> values;
    for (std::int64_t size = 4; size <= 256; size *= 2)
      if (size * 8 >= value_ && size <= value_ * 8)
        values.push_back(size);
    if (std::find(values.begin(), values.end(), value_) == values.end())
      values.push_back(value_);
    std::sort(values.begin(), values.end());
    proposal_.knobs.push_back(make_knob(constant_.name, KnobKind::tile, constant_.type, values,
                                        constant_.default_text,
                                        "the work is covered in steps of it, " + constant_.where));
  }
};

} // namespace

std::variant<std::string, Proposal> study_tile(ParsedSource& source, const KernelInfo& kernel,
                                               const Candidate& candidate,
                                               const ConstantUnderStudy& constant) {
  const auto value = constant_of(make_expression(constant.default_text));
  if (!value || *value < 2)
    return constant.name + " (" + constant.where + "): it is not a whole number above 1";
  auto studied = TileStudy(source, kernel, candidate, constant, *value).run();
  if (auto* reason = std::get_if<std::string>(&studied))
    return constant.name + " (" + constant.where + "): " + *reason;
  return studied;
}

std::map<std::string, std::string> values_of_constants(const KernelView& view) {
  std::map<std::string, std::string> values;
  for (const VarDecl* variable : constants_of(view))
    values[variable->getNameAsString()] = std::to_string(*view.evaluate(variable->getInit()).as_constant());
  return values;
}

void settle_names(const Candidate& candidate, const std::map<std::string, std::string>& values,
                  Proposal& proposal) {
  const auto is_knob = [&](const std::string& name) {
    const auto named = [&](const Knob& knob) { return knob.name == name; };
    return std::any_of(candidate.knobs.begin(), candidate.knobs.end(), named) ||
           std::any_of(proposal.knobs.begin(), proposal.knobs.end(), named);
  };
  const auto settle = [&](Expression& expression) {
    std::string text = expression.text();
    for (const auto& [name, value] : values)
      if (!is_knob(name))
        text = replace_word(text, name, "(" + value + ")");
    if (text != expression.text())
      expression = make_expression(text);
  };
  for (Condition& condition : proposal.conditions)
    settle(condition.expression);
  if (proposal.launch) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      settle(proposal.launch->grid[axis]);
      settle(proposal.launch->block[axis]);
    }
    settle(proposal.launch->shared_bytes);
  }
}

} // namespace lathe::refactor
