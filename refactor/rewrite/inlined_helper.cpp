#include "refactor/rewrite/inlined_helper.h"

#include "refactor/knobs/variables.h"
#include "refactor/rewrite/identifiers.h"
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace lathe::refactor {

using namespace clang;

namespace {

using Reason = std::optional<std::string>;

const std::map<std::string, std::string> NO_NAMES;

// What a template's type parameter stands for where an argument of one type is passed as the other.
std::optional<QualType> deduced(QualType parameter, QualType argument, const TemplateTypeParmDecl* wanted) {
  parameter = parameter.getNonReferenceType();
  argument = argument.getNonReferenceType();
  if (const auto* type = parameter->getAs<TemplateTypeParmType>())
    return type->getIndex() == wanted->getIndex() && !argument->isUndeducedType() &&
                   !argument->isPlaceholderType()
               ? std::optional(argument.getUnqualifiedType())
               : std::nullopt;
  if (parameter->isPointerType() && argument->isPointerType())
    return deduced(parameter->getPointeeType(), argument->getPointeeType(), wanted);
  if (parameter->isPointerType() && argument->isArrayType())
    return deduced(parameter->getPointeeType(), QualType(argument->getArrayElementTypeNoTypeQual(), 0),
                   wanted);
  return std::nullopt;
}

class Inliner {
public:
  Inliner(const KernelView& view, const HelperCall& call, std::set<std::string>& taken)
      : view_(view), call_(call), helper_(*call.helper), taken_(taken) {}

  Reason run(std::vector<Edit>& edits) {
    const auto body = view_.range(helper_.getBody()->getSourceRange());
    const auto kernel = view_.range(view_.kernel()->getBody()->getSourceRange());
    const auto statement = whole_statement(view_, call_.statement);
    if (!body || !kernel || !statement || view_.text(*statement).back() != ';')
      return "a macro spells " + helper_.getNameAsString() + ", its call or the kernel";
    kernel_names_ = identifier_names(view_.file_text().substr(
        declaration_start(view_, view_.kernel()), kernel->end - declaration_start(view_, view_.kernel())));
    kernel_names_.insert(taken_.begin(), taken_.end());
    body_ = {body->begin + 1, body->end - 1};
    find_declared();
    if (auto reason = name_template_parameters())
      return reason;
    if (auto reason = name_parameters())
      return reason;
    if (auto reason = rename_variables())
      return reason;
    if (auto reason = means_the_same())
      return reason;
    return write(*statement, edits);
  }

private:
  // All that the helper's body declares, how often, and what of it is known in the whole body.
  void find_declared() {
    const auto declare = [&](const NamedDecl* declared) { ++declared_[declared->getNameAsString()]; };
    view_.visit(helper_.getBody(), [&](const Stmt* part) {
      if (const auto* declaration = dyn_cast<DeclStmt>(part))
        for (const Decl* one : declaration->decls())
          if (const auto* named = dyn_cast<NamedDecl>(one)) {
            declare(named);
            if (view_.parent(declaration) == helper_.getBody())
              outermost_.push_back(named);
          }
      if (const auto* lambda = dyn_cast<LambdaExpr>(part))
        for (const ParmVarDecl* parameter : lambda->getCallOperator()->parameters())
          declare(parameter);
    });
    for (const ParmVarDecl* parameter : helper_.parameters())
      declare(parameter);
  }

  Reason name_template_parameters() {
    const FunctionTemplateDecl* described = helper_.getDescribedFunctionTemplate();
    if (!described)
      return std::nullopt;
    const TemplateParameterList& list = *described->getTemplateParameters();
    for (unsigned i = 0; i < list.size(); ++i) {
      const NamedDecl* parameter = list.getParam(i);
      const std::string name = parameter->getNameAsString();
      const auto argument = template_argument(parameter, i);
      if (!argument)
        return "what " + name + " of " + helper_.getNameAsString() + " stands for is not written";
      if (name.empty() || *argument == name)
        continue; // of one name: the kernel's own
      if (is_a_name(*argument) && !declared_.contains(*argument)) {
        names_[name] = *argument;
        continue;
      }
      const auto* value = dyn_cast<NonTypeTemplateParmDecl>(parameter);
      const bool is_type = isa<TemplateTypeParmDecl>(parameter);
      if (!is_type && !(value && value->getType()->isIntegralOrEnumerationType()))
        return name + " of " + helper_.getNameAsString() + " is neither a type nor a number";
      const std::string named = new_name(name);
      const std::string type = value ? rename_identifiers(view_.type_text(value->getType()), names_) : "";
      lines_.push_back(is_type ? "using " + named + " = " + *argument + ";"
                               : "constexpr " + type + " " + named + " = " + *argument + ";");
      template_names_.insert(name);
    }
    return std::nullopt;
  }

  static bool is_a_name(const std::string& text) {
    return std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; }) &&
           !std::isdigit(static_cast<unsigned char>(text.front()));
  }

  std::optional<std::string> template_argument(const NamedDecl* parameter, unsigned index) const {
    if (parameter->isParameterPack() || isa<TemplateTemplateParmDecl>(parameter))
      return std::nullopt;
    const auto* callee = call_.call->getCallee()->IgnoreParenImpCasts();
    llvm::ArrayRef<TemplateArgumentLoc> written;
    const FunctionDecl* instance = nullptr;
    if (const auto* reference = dyn_cast<DeclRefExpr>(callee)) {
      written = reference->template_arguments();
      instance = dyn_cast<FunctionDecl>(reference->getDecl());
    } else if (const auto* lookup = dyn_cast<OverloadExpr>(callee)) {
      written = lookup->template_arguments();
    }
    if (index < written.size()) {
      const auto range = view_.range(written[index].getSourceRange());
      return range ? std::optional(view_.text(*range)) : std::nullopt;
    }
    const auto* type = dyn_cast<TemplateTypeParmDecl>(parameter);
    for (unsigned i = 0; type && i < helper_.getNumParams() && i < call_.call->getNumArgs(); ++i)
      if (const auto found = deduced(helper_.getParamDecl(i)->getType(),
                                     call_.call->getArg(i)->IgnoreParenImpCasts()->getType(), type))
        return view_.type_text(*found);
    if (!instance || !instance->getTemplateSpecializationArgs())
      return std::nullopt;
    const TemplateArgument& argument = instance->getTemplateSpecializationArgs()->get(index);
    if (argument.getKind() == TemplateArgument::Type)
      return view_.type_text(argument.getAsType());
    if (argument.getKind() == TemplateArgument::Integral && !argument.getIntegralType()->isEnumeralType())
      return std::to_string(argument.getAsIntegral().getExtValue());
    return std::nullopt;
  }

  Reason name_parameters() {
    for (unsigned i = 0; i < helper_.getNumParams(); ++i) {
      const ParmVarDecl* parameter = helper_.getParamDecl(i);
      const auto argument = argument_text(i);
      if (!argument)
        return "an argument of " + helper_.getNameAsString() + " comes from a macro";
      if (parameter->getName().empty()) {
        if (i < call_.call->getNumArgs() && call_.call->getArg(i)->HasSideEffects(view_.context()))
          return "an argument that nobody reads has side effects";
        continue;
      }
      const std::string name = parameter->getNameAsString();
      if (is_passed_on(i, parameter))
        continue; // the kernel's own variable
      const auto type = declared_type(parameter);
      if (!type)
        return "the declaration of " + name + " of " + helper_.getNameAsString() + " comes from a macro";
      if (auto reason = can_rename(parameter))
        return reason;
      const std::string named = new_name(name);
      lines_.push_back(rename_identifiers(type->first, names_) + named +
                       rename_identifiers(type->second, names_) + " = " + *argument + ";");
    }
    return std::nullopt;
  }

  std::optional<std::string> argument_text(unsigned index) const {
    const Expr* value = index < call_.call->getNumArgs() ? call_.call->getArg(index) : nullptr;
    const bool is_default = !value || isa<CXXDefaultArgExpr>(value);
    if (is_default) {
      const ParmVarDecl* parameter = helper_.getParamDecl(index);
      value = parameter->hasDefaultArg() && !parameter->hasUninstantiatedDefaultArg()
                  ? parameter->getDefaultArg()
                  : nullptr;
    }
    const auto range = value ? view_.written_range(value->getSourceRange()) : std::nullopt;
    return range ? std::optional(rename_identifiers(view_.text(*range), is_default ? names_ : NO_NAMES))
                 : std::nullopt;
  }

  // The kernel's variable of the same name and type, which the helper does not change.
  bool is_passed_on(unsigned index, const ParmVarDecl* parameter) const {
    if (index >= call_.call->getNumArgs() || view_.is_modified(parameter))
      return false;
    const auto* reference = dyn_cast<DeclRefExpr>(call_.call->getArg(index)->IgnoreParenImpCasts());
    const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    if (!variable || variable->getNameAsString() != parameter->getNameAsString() ||
        is_handed_on_twice(variable, index))
      return false;
    const QualType from = variable->getType().getUnqualifiedType(),
                   to = parameter->getType().getNonReferenceType().getUnqualifiedType();
    if (!from->isDependentType() || !to->isDependentType())
      return view_.context().hasSameUnqualifiedType(from, to);
    const std::string type = view_.type_text(to);
    return rename_identifiers(type, names_) == view_.type_text(from) &&
           std::ranges::none_of(identifiers(type),
                                [&](const Identifier& part) { return template_names_.contains(part.name); });
  }

  // Another parameter may be the variable itself, by reference or address, and the helper change it so.
  bool is_handed_on_twice(const VarDecl* variable, unsigned index) const {
    for (unsigned i = 0; i < call_.call->getNumArgs(); ++i) {
      const Expr* argument = call_.call->getArg(i)->IgnoreParenImpCasts();
      if (const auto* address = dyn_cast<UnaryOperator>(argument);
          address && address->getOpcode() == UO_AddrOf)
        argument = address->getSubExpr()->IgnoreParens();
      if (i != index && named_variable(argument) == variable)
        return true;
    }
    return false;
  }

  // What stands before the name of a parameter, and behind it.
  std::optional<std::pair<std::string, std::string>> declared_type(const ParmVarDecl* parameter) const {
    if (isa<DecayedType>(parameter->getType()))
      return std::pair(view_.type_text(parameter->getType()) + " ", std::string());
    const auto whole = view_.range(
        {parameter->getOuterLocStart(), parameter->getTypeSourceInfo()->getTypeLoc().getEndLoc()});
    const auto name = view_.range(parameter->getLocation());
    const auto begin = view_.range(parameter->getOuterLocStart());
    if (!name || !begin || !whole)
      return std::nullopt;
    const std::size_t end = std::max(whole->end, name->end);
    return std::pair(view_.text({begin->begin, name->begin}), view_.text({name->end, end}));
  }

  std::string new_name(const std::string& name) {
    if (!kernel_names_.contains(name)) {
      added_.push_back(name);
      return name;
    }
    const std::vector<std::string> taken = [&] {
      std::vector<std::string> all(kernel_names_.begin(), kernel_names_.end());
      all.insert(all.end(), added_.begin(), added_.end());
      return all;
    }();
    const std::string named = free_name(view_.file_text(), name, taken);
    names_[name] = named;
    added_.push_back(named);
    return named;
  }

  Reason rename_variables() {
    for (const NamedDecl* declared : outermost_) {
      const std::string name = declared->getNameAsString();
      if (!call_.is_in_block)
        continue; // braces keep it to itself
      if (kernel_names_.contains(name))
        if (auto reason = can_rename(declared))
          return reason;
      new_name(name);
    }
    return std::nullopt;
  }

  Reason can_rename(const NamedDecl* declared) const {
    const std::string name = declared->getNameAsString();
    if (!kernel_names_.contains(name))
      return std::nullopt;
    if (declared_.at(name) > 1)
      return name + " of " + helper_.getNameAsString() + " is declared more than once";
    if (const auto* value = dyn_cast<ValueDecl>(declared))
      for (const DeclRefExpr* use : view_.uses(value))
        if (!view_.written_range(use->getSourceRange()))
          return "a macro names " + name + " of " + helper_.getNameAsString();
    return std::nullopt;
  }

  // What the helper takes from outside is not what the kernel calls by the same name.
  Reason means_the_same() const {
    std::set<std::string> of_kernel = template_parameter_names();
    for (const ParmVarDecl* parameter : view_.kernel()->parameters())
      of_kernel.insert(parameter->getNameAsString());
    view_.visit(view_.kernel()->getBody(), [&](const Stmt* part) {
      if (const auto* declaration = dyn_cast<DeclStmt>(part))
        for (const Decl* one : declaration->decls())
          if (const auto* named = dyn_cast<NamedDecl>(one))
            of_kernel.insert(named->getNameAsString());
    });
    of_kernel.insert(taken_.begin(), taken_.end());
    std::set<std::string> own;
    for (const auto& [name, count] : declared_)
      own.insert(name);
    if (const FunctionTemplateDecl* described = helper_.getDescribedFunctionTemplate())
      for (const NamedDecl* parameter : *described->getTemplateParameters())
        own.insert(parameter->getNameAsString());
    for (const std::string& name : identifier_names(view_.text(body_)))
      if (!own.contains(name) && of_kernel.contains(name))
        return name + " is something else in " + helper_.getNameAsString() + " than in the kernel";
    return std::nullopt;
  }

  std::set<std::string> template_parameter_names() const {
    std::set<std::string> names;
    if (const FunctionTemplateDecl* described = view_.kernel()->getDescribedFunctionTemplate())
      for (const NamedDecl* parameter : *described->getTemplateParameters())
        names.insert(parameter->getNameAsString());
    return names;
  }

  Reason write(TextRange statement, std::vector<Edit>& edits) {
    const std::string& text = view_.file_text();
    TextRange copied = body_;
    std::string value;
    if (call_.result) {
      const auto result = whole_statement(view_, call_.result);
      const auto expression = view_.written_range(call_.result->getRetValue()->getSourceRange());
      const auto call = view_.range(call_.call->getSourceRange());
      if (!result || !expression || !call)
        return "a macro spells what " + helper_.getNameAsString() + " returns";
      copied.end = result->begin;
      value = view_.text({statement.begin, call->begin}) +
              converted(rename_identifiers(view_.text(*expression), names_)) +
              view_.text({call->end, statement.end});
    }
    const std::string indent = indentation(text, statement.begin);
    const bool has_braces = !call_.is_in_block;
    const std::string inner = has_braces ? indent + "  " : indent;
    std::string written = has_braces ? "{" : "";
    for (const std::string& line : lines_)
      written += (written.empty() ? "" : "\n" + inner) + line;
    for (const std::string& line : body_lines(copied, inner))
      written +=
          (written.empty() ? line.substr(std::min(line.find_first_not_of(' '), line.size())) : "\n" + line);
    if (has_braces)
      written += "\n" + indent + "}";
    if (!value.empty())
      written += (written.empty() ? "" : "\n" + indent) + value;
    // Directives and comments to the end of a line want lines of their own.
    const TextRange line = with_line(text, statement);
    const bool is_alone = line.begin != statement.begin || line.end != statement.end;
    edits.push_back(replace(statement, is_alone ? written : "\n" + inner + written + "\n" + indent));
    take_definition_away(edits);
    taken_.insert(added_.begin(), added_.end());
    return std::nullopt;
  }

  // As the type that the call has, where the variable that gets it may have another.
  std::string converted(const std::string& value) const {
    if (view_.context().hasSameUnqualifiedType(call_.assigned->getType(), helper_.getReturnType()) &&
        view_.context().hasSameUnqualifiedType(call_.result->getRetValue()->getType(),
                                               helper_.getReturnType()))
      return named_variable(call_.result->getRetValue()->IgnoreParenImpCasts()) ? value : "(" + value + ")";
    return "static_cast<" + rename_identifiers(view_.type_text(helper_.getReturnType()), names_) + ">(" +
           value + ")";
  }

  // The helper's statements, indented as the place that they come to.
  std::vector<std::string> body_lines(TextRange copied, const std::string& indent) const {
    std::vector<std::string> lines;
    std::istringstream stream(rename_identifiers(view_.text(copied), names_));
    for (std::string line; std::getline(stream, line);)
      lines.push_back(line);
    const auto is_blank = [](const std::string& line) {
      return line.find_first_not_of(" \t\r") == std::string::npos;
    };
    while (!lines.empty() && is_blank(lines.front()))
      lines.erase(lines.begin());
    while (!lines.empty() && is_blank(lines.back()))
      lines.pop_back();
    std::size_t before = std::string::npos;
    for (const std::string& line : lines)
      if (!is_blank(line) && line[line.find_first_not_of(" \t")] != '#')
        before = std::min(before, line.find_first_not_of(" \t"));
    for (std::string& line : lines) {
      const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
      line = is_blank(line) ? std::string() : indent + line.substr(std::min(first, before));
    }
    return lines;
  }

  void take_definition_away(std::vector<Edit>& edits) const {
    const std::string& text = view_.file_text();
    const std::string name = helper_.getNameAsString();
    const auto range = view_.range(helper_.getBody()->getSourceRange());
    const auto all = identifiers(text);
    // Its definition and its call: a qualified call is no identifier of the scope.
    const auto mentions = std::ranges::count_if(all, [&](const Identifier& one) { return one.name == name; });
    if (!range || mentions > 2)
      return;
    TextRange definition{declaration_start(view_, &helper_), range->end};
    definition = with_line(text, definition);
    while (definition.end < text.size() && text[definition.end] == '\n' &&
           (definition.begin < 2 || text[definition.begin - 2] == '\n'))
      ++definition.end; // the blank line behind it
    edits.push_back(replace(definition, ""));
  }

  const KernelView& view_;
  const HelperCall& call_;
  const FunctionDecl& helper_;
  std::set<std::string>& taken_;
  TextRange body_;
  std::set<std::string> kernel_names_;
  std::map<std::string, int> declared_;
  std::vector<const NamedDecl*> outermost_;
  std::vector<std::string> lines_;           // declarations of the parameters
  std::map<std::string, std::string> names_; // of the helper's, and what they are called in the kernel
  std::set<std::string> template_names_;     // template parameters that are declared
  std::vector<std::string> added_;
};

} // namespace

std::optional<std::string> inline_helper(const KernelView& view, const HelperCall& call,
                                         std::set<std::string>& taken, std::vector<Edit>& edits) {
  return Inliner(view, call, taken).run(edits);
}

} // namespace lathe::refactor
