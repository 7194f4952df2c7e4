#include "refactor/frontend/closures.h"

#include "refactor/frontend/constant_variables.h"
#include "refactor/frontend/parsed_source.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

using namespace clang;

// A closure's expression and the function that it is written in: the innermost that is none of a closure.
struct Written {
  const LambdaExpr* closure = nullptr;
  const FunctionDecl* function = nullptr;
};

class ClosureFinder : public RecursiveASTVisitor<ClosureFinder> {
public:
  explicit ClosureFinder(std::set<const CXXRecordDecl*> classes) : classes_(std::move(classes)) {}
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool VisitLambdaExpr(LambdaExpr* closure) {
    if (!classes_.contains(closure->getLambdaClass()->getCanonicalDecl()))
      return true;
    const DeclContext* around = closure->getLambdaClass()->getDeclContext();
    while (around && !around->isFileContext()) {
      const auto* function = dyn_cast<FunctionDecl>(around);
      const auto* method = dyn_cast<CXXMethodDecl>(around);
      if (function && !(method && method->getParent()->isLambda())) {
        found.push_back({closure, function});
        break;
      }
      around = around->getParent();
    }
    return true;
  }
  std::vector<Written> found;

private:
  std::set<const CXXRecordDecl*> classes_;
};

// The closures' classes among the arguments of the kernel's instances.
std::set<const CXXRecordDecl*> closures_of(const FunctionDecl& kernel) {
  std::set<const CXXRecordDecl*> classes;
  const FunctionTemplateDecl* described = kernel.getDescribedFunctionTemplate();
  if (!described)
    return classes;
  for (const FunctionDecl* instance : described->specializations())
    for (const ParmVarDecl* parameter : instance->parameters())
      if (const CXXRecordDecl* record = parameter->getType().getNonReferenceType()->getAsCXXRecordDecl();
          record && record->isLambda())
        classes.insert(record->getCanonicalDecl());
  return classes;
}

class ClosureWriter {
public:
  ClosureWriter(ParsedSourceImpl& source, const std::string& kernel)
      : source_(source), kernel_(kernel), context_(source.ast().getASTContext()),
        sources_(context_.getSourceManager()), policy_(context_.getLangOpts()) {
    policy_.SuppressTagKeyword = true;
    policy_.FullyQualifiedName = true;
  }

  void write(const Written& written, std::vector<std::string>& told);
  std::map<std::filesystem::path, std::string> texts() const;

private:
  struct Place {
    FileID file;
    std::size_t begin = 0, end = 0;
    auto operator<=>(const Place& other) const {
      return std::tuple(file.getHashValue(), begin, end) <=>
             std::tuple(other.file.getHashValue(), other.begin, other.end);
    }
    bool operator==(const Place&) const = default;
  };
  struct Change {
    std::size_t begin, end;
    std::string text;
  };
  struct Captured {
    std::string type, name, value;
  };
  // Where it is written in a file, be it a macro's argument.
  std::optional<Place> place_of(SourceRange range) const;
  std::string text_of(const Place& place) const {
    return sources_.getBufferData(place.file).substr(place.begin, place.end - place.begin).str();
  }
  // A type that means the same in front of the function; empty where it has no such name.
  std::string name_of(QualType type) const;
  std::optional<std::vector<Captured>> captured(const LambdaExpr& closure) const;
  // Members for what the body names of the function's own and does not capture: numbers that the compiler
  // knows. Nothing where it names something else.
  std::optional<std::string> constants(const LambdaExpr& closure) const;
  std::string call_operator(const LambdaExpr& closure, const Place& body) const;

  ParsedSourceImpl& source_;
  const std::string& kernel_;
  ASTContext& context_;
  SourceManager& sources_;
  PrintingPolicy policy_;
  std::set<Place> done_;
  std::map<FileID, std::vector<Change>> changes_;
};

std::optional<ClosureWriter::Place> ClosureWriter::place_of(SourceRange range) const {
  const auto in_file = [&](SourceLocation location) {
    while (location.isMacroID() && sources_.isMacroArgExpansion(location))
      location = sources_.getImmediateSpellingLoc(location);
    return location;
  };
  const SourceLocation first = in_file(range.getBegin()), last = in_file(range.getEnd());
  if (first.isInvalid() || last.isInvalid() || first.isMacroID() || last.isMacroID())
    return std::nullopt;
  const auto [file, begin] = sources_.getDecomposedLoc(first);
  const auto [other, end] = sources_.getDecomposedLoc(last);
  if (file != other || !source_.is_user_file(first))
    return std::nullopt;
  return Place{file, begin, end + Lexer::MeasureTokenLength(last, sources_, context_.getLangOpts())};
}

std::string ClosureWriter::name_of(QualType type) const {
  type = type.getNonReferenceType();
  const QualType plain = type.getCanonicalType().getUnqualifiedType();
  const Type* inner = plain->getPointeeOrArrayElementType();
  const auto* record = inner->getAsCXXRecordDecl();
  if (plain->isArrayType() || plain->isDependentType() || inner->isFunctionType() ||
      (record && (record->isLambda() || record->isLocalClass() || record->getAccess() == AS_private)))
    return "";
  return plain.getAsString(policy_);
}

std::optional<std::vector<ClosureWriter::Captured>> ClosureWriter::captured(const LambdaExpr& closure) const {
  std::vector<Captured> found;
  auto value = closure.capture_init_begin();
  for (const LambdaCapture& capture : closure.captures()) {
    const Expr* initial = *value++;
    if (!capture.capturesVariable() || capture.getCaptureKind() != LCK_ByCopy)
      return std::nullopt;
    const ValueDecl* variable = capture.getCapturedVar();
    const std::string type = name_of(variable->getType()), name = variable->getNameAsString();
    if (type.empty())
      return std::nullopt;
    std::string given = name;
    if (const auto* own = dyn_cast<VarDecl>(variable); own && own->isInitCapture()) {
      const auto place = initial ? place_of(initial->getSourceRange()) : std::nullopt;
      if (!place)
        return std::nullopt;
      given = text_of(*place);
    }
    found.push_back({type, name, given});
  }
  return found;
}

std::optional<std::string> ClosureWriter::constants(const LambdaExpr& closure) const {
  class Names : public RecursiveASTVisitor<Names> {
  public:
    bool VisitDeclRefExpr(DeclRefExpr* reference) {
      if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
        named.insert(variable);
      return true;
    }
    std::set<const VarDecl*> named;
  } names;
  names.TraverseStmt(closure.getBody());
  std::string members;
  for (const VarDecl* variable : names.named) {
    const DeclContext* around = variable->getDeclContext();
    const bool is_captured = std::ranges::any_of(closure.captures(), [&](const LambdaCapture& capture) {
      return capture.capturesVariable() && capture.getCapturedVar() == variable;
    });
    if (is_captured || around->isFileContext() || closure.getCallOperator()->Encloses(around))
      continue;
    if (!variable->getType()->isIntegralOrEnumerationType() || variable->getType()->isDependentType())
      return std::nullopt;
    const APValue* known = constant_value(*variable);
    if (!known || !known->isInt())
      return std::nullopt;
    members += fmt::format("  static constexpr {} {} = {};\n", name_of(variable->getType()),
                           variable->getNameAsString(), known->getAsString(context_, variable->getType()));
  }
  return members;
}

std::string ClosureWriter::call_operator(const LambdaExpr& closure, const Place& body) const {
  const CXXMethodDecl* called = closure.getCallOperator();
  std::string parameters;
  for (const ParmVarDecl* parameter : called->parameters()) {
    const auto place = place_of(parameter->getSourceRange());
    if (!place)
      return "";
    parameters += (parameters.empty() ? "" : ", ") + text_of(*place);
  }
  const std::string result = closure.hasExplicitResultType() ? name_of(called->getReturnType()) : "auto";
  return result.empty() ? ""
                        : fmt::format("  __device__ {} operator()({}){} {}\n", result, parameters,
                                      closure.isMutable() ? "" : " const", text_of(body));
}

void ClosureWriter::write(const Written& written, std::vector<std::string>& told) {
  const LambdaExpr& closure = *written.closure;
  const auto whole = place_of(closure.getSourceRange());
  const auto body = place_of(closure.getBody()->getSourceRange());
  if (!whole || !body || !done_.insert(*whole).second || closure.isGenericLambda() ||
      written.function->isTemplateInstantiation())
    return;
  // The outermost class or function, with what stands in front of it.
  const Decl* around = written.function;
  while (!around->getLexicalDeclContext()->isFileContext())
    around = cast<Decl>(around->getLexicalDeclContext());
  const auto before = place_of(around->getSourceRange());
  const auto members = captured(closure);
  const auto known = constants(closure);
  const std::string call = call_operator(closure, *body);
  if (!before || before->file != whole->file || !members || !known || call.empty())
    return;
  const std::string name = fmt::format("{}_closure_{}", kernel_, done_.size());
  std::string declared, values;
  for (const Captured& member : *members) {
    declared += fmt::format("  {}{}{};\n", member.type, member.type.ends_with("*") ? "" : " ", member.name);
    values += (values.empty() ? "" : ", ") + member.value;
  }
  std::vector<Change>& changes = changes_[whole->file];
  changes.push_back(
      {before->begin, before->begin, fmt::format("struct {} {{\n{}{}{}}};\n", name, declared, *known, call)});
  changes.push_back({whole->begin, whole->end, fmt::format("{}{{{}}}", name, values)});
  told.push_back(fmt::format("the closure at {} is written as a structure, {}",
                             source_.place(closure.getBeginLoc()), name));
}

std::map<std::filesystem::path, std::string> ClosureWriter::texts() const {
  std::map<std::filesystem::path, std::string> written;
  for (auto [file, changes] : changes_) {
    std::string text = sources_.getBufferData(file).str();
    std::ranges::stable_sort(changes, std::greater<>(), &Change::begin);
    for (const Change& change : changes)
      text.replace(change.begin, change.end - change.begin, change.text);
    written[sources_.getFilename(sources_.getLocForStartOfFile(file)).str()] = std::move(text);
  }
  return written;
}

} // namespace

std::map<std::filesystem::path, std::string>
with_named_closures(ParsedSource& source, const KernelInfo& kernel, std::vector<std::string>& told) {
  std::set<const CXXRecordDecl*> classes = closures_of(*kernel.declaration);
  if (classes.empty())
    return {};
  ParsedSourceImpl& parsed = implementation(source);
  ClosureFinder finder(std::move(classes));
  finder.TraverseAST(parsed.ast().getASTContext());
  ClosureWriter writer(parsed, kernel.name);
  for (const Written& written : finder.found)
    writer.write(written, told);
  return writer.texts();
}

} // namespace lathe::refactor
