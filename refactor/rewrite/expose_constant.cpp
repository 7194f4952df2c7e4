// expose-constant: a named constant that means threads or elements becomes a template parameter of the same
// name.
#include "refactor/rewrite/constant_knob.h"
#include "refactor/rewrite/tile_knob.h"

#include "refactor/knobs/geometry.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

class ExposeConstant : public Rule {
public:
  // `tiles`: the constants by which blocks or loops cover the work, instead of threads and packs.
  explicit ExposeConstant(bool tiles) : tiles_(tiles) {}
  std::string_view name() const override { return tiles_ ? "expose-tile" : "expose-constant"; }
  std::string_view summary() const override {
    return tiles_ ? "turns named constants by which blocks or loops cover the work into template parameters"
                  : "turns named constants that mean threads or elements a thread into template parameters";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    KernelView view = view_of(source, kernel, candidate);
    Proposal all;
    Candidate current = candidate;
    std::string reasons;
    const auto note = [&](const std::string& reason) { reasons += (reasons.empty() ? "" : "; ") + reason; };
    // Before any is looked at: conditions on one may name another.
    std::map<std::string, std::string> values;
    std::vector<const VarDecl*> found;
    for (const VarDecl* variable : constants(view))
      if (const auto value =
              value_of(view, variable, candidate)) { // else not a constant, or it follows others
        values[variable->getNameAsString()] = *value;
        found.push_back(variable);
      }
    for (const VarDecl* variable : found) {
      const std::string where = view.at_line(variable->getLocation());
      const std::string type = view.type_text(variable->getType());
      const ConstantUnderStudy constant{variable,
                                        variable->getNameAsString(),
                                        written_type(view, variable, type),
                                        values.at(variable->getNameAsString()),
                                        where,
                                        {found.begin(), found.end()}};
      Proposal own;
      if (auto reason = remove_declaration(view, variable, constant, own.edits)) {
        note(constant.name + " (" + where + "): " + *reason);
        continue;
      }
      auto studied = tiles_ ? study_tile(source, kernel, current, constant)
                            : study_constant(source, kernel, current, constant);
      if (const auto* reason = std::get_if<std::string>(&studied)) {
        note(*reason);
        continue;
      }
      Proposal& proposal = std::get<Proposal>(studied);
      all.edits.insert(all.edits.end(), own.edits.begin(), own.edits.end());
      all.edits.insert(all.edits.end(), proposal.edits.begin(), proposal.edits.end());
      all.knobs.insert(all.knobs.end(), proposal.knobs.begin(), proposal.knobs.end());
      all.conditions.insert(all.conditions.end(), proposal.conditions.begin(), proposal.conditions.end());
      if (proposal.launch)
        current.launch = *proposal.launch;
    }
    if (all.knobs.empty())
      return Refusal{!reasons.empty() ? reasons
                     : tiles_         ? "no named constant is a tile"
                                      : "no named constant means threads or elements a thread"};
    all.launch = current.launch;
    settle_names(candidate, values, all);
    return all;
  }

private:
  bool tiles_;

  // Integer constants of the kernel's body and of namespaces, in the order of their first use.
  static std::vector<const VarDecl*> constants(const KernelView& view) {
    std::vector<const VarDecl*> found;
    const auto add = [&](const VarDecl* variable) {
      const QualType type = variable->getType();
      const bool integral = type->isIntegralOrEnumerationType() && !type->isBooleanType();
      if (integral && variable->hasInit() && (variable->isConstexpr() || type.isConstQualified()) &&
          view.in_main_file(variable->getLocation()) &&
          std::find(found.begin(), found.end(), variable) == found.end())
        found.push_back(variable);
    };
    view.visit(view.kernel()->getBody(), [&](const Stmt* statement) {
      if (const auto* declaration = dyn_cast<DeclStmt>(statement)) {
        for (const Decl* declared : declaration->decls())
          if (const auto* variable = dyn_cast<VarDecl>(declared))
            add(variable);
      } else if (const auto* reference = dyn_cast<DeclRefExpr>(statement)) {
        if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
            variable && variable->isFileVarDecl())
          add(variable);
      }
    });
    return found;
  }

  static std::optional<std::string> value_of(const KernelView& view, const VarDecl* variable,
                                             const Candidate& candidate) {
    bool literal = true;
    view.visit(variable->getInit(), [&](const Stmt* statement) {
      if (isa<DeclRefExpr>(statement) || isa<CallExpr>(statement) || isa<MemberExpr>(statement))
        literal = false;
    });
    if (!literal)
      return std::nullopt;
    auto text = to_expression(view.text(variable->getInit()), candidate);
    if (!text)
      return std::nullopt;
    const Expression expression = make_expression(*text);
    for (const std::string& name : expression.names())
      if (name.rfind("sizeof_", 0) != 0)
        return std::nullopt;
    return text;
  }

  // The type as written, without const and constexpr.
  static std::string written_type(const KernelView& view, const VarDecl* variable,
                                  const std::string& fallback) {
    if (variable->getTypeSourceInfo() && !variable->getType()->getContainedAutoType()) {
      const auto range =
          view.range(variable->getTypeSourceInfo()->getTypeLoc().getUnqualifiedLoc().getSourceRange());
      if (range)
        return view.text(*range);
    }
    return fallback;
  }

  // Takes the declaration out of the text; the template parameter of the same name takes its place.
  static std::optional<std::string> remove_declaration(const KernelView& view, const VarDecl* variable,
                                                       const ConstantUnderStudy& constant,
                                                       std::vector<Edit>& edits) {
    const std::string& text = view.file_text();
    const SourceManager& manager = view.context().getSourceManager();
    std::optional<TextRange> bytes;
    if (variable->isLocalVarDecl()) {
      bool single = false;
      view.visit([&](const Stmt* statement) {
        const auto* declaration = dyn_cast<DeclStmt>(statement);
        if (declaration && std::find(declaration->decl_begin(), declaration->decl_end(), variable) !=
                               declaration->decl_end()) {
          single = declaration->isSingleDecl() && isa_and_nonnull<CompoundStmt>(view.parent(declaration));
          bytes = view.range(declaration->getSourceRange());
        }
      });
      if (!single)
        return "it is declared together with others";
      // The name must not mean something else in the kernel: a template parameter cannot be redeclared.
    } else {
      bytes = view.range(variable->getSourceRange());
      if (bytes) {
        // Every mention in the file must be in functions that can see the parameter.
        std::vector<const FunctionDecl*> users;
        std::size_t mentions = 0;
        for (const DeclRefExpr* use : view.uses(variable))
          users.push_back(view.enclosing_function(use));
        for (std::size_t at = 0; at < text.size(); ++at) {
          at = text.find(constant.name, at);
          if (at == std::string::npos)
            break;
          const bool inside =
              std::any_of(view.functions().begin(), view.functions().end(), [&](const FunctionDecl* f) {
                const std::size_t begin = declaration_start(view, f);
                const std::size_t end = manager.getFileOffset(manager.getExpansionLoc(f->getEndLoc()));
                return at >= begin && at <= end;
              });
          mentions +=
              !inside && has_word(text.substr(at > 0 ? at - 1 : 0, constant.name.size() + 2), constant.name);
        }
        if (mentions > 1)
          return "it is also used outside the kernel, where it would stay as it is";
        if (auto reason = pass_knob_down(view, constant.type, constant.name, users, edits))
          return reason;
      }
    }
    if (!bytes)
      return "its declaration comes from a macro";
    std::size_t end = text.find(';', bytes->end - 1);
    if (end == std::string::npos)
      return "its declaration cannot be read";
    ++end;
    const std::size_t start = line_start(text, bytes->begin);
    // The whole line where nothing else is on it.
    const bool alone = text.find_first_not_of(" \t", start) == bytes->begin;
    const std::size_t behind = text.find_first_not_of(" \t", end);
    if (alone && end < text.size() && text[end] == '\n')
      edits.push_back({start, end + 1 - start, ""});
    else if (alone && behind != std::string::npos && text.compare(behind, 2, "//") == 0)
      edits.push_back({bytes->begin, behind - bytes->begin, ""}); // the comment stays
    else
      edits.push_back({bytes->begin, end - bytes->begin, ""});
    return std::nullopt;
  }
};

} // namespace

std::unique_ptr<Rule> make_expose_constant() {
  return std::make_unique<ExposeConstant>(false);
}

std::unique_ptr<Rule> make_expose_tile() {
  return std::make_unique<ExposeConstant>(true);
}

} // namespace lathe::refactor
