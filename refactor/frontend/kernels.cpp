#include "refactor/frontend/element_types.h"
#include "refactor/frontend/kernel_launches.h"
#include "refactor/frontend/pointer_casts.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Lex/Lexer.h>
#include <llvm/Support/GlobPattern.h>

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace lathe::refactor {
namespace {

using namespace clang;

std::string text_of(SourceRange range, ASTContext& context) {
  return Lexer::getSourceText(CharSourceRange::getTokenRange(range), context.getSourceManager(),
                              context.getLangOpts())
      .str();
}

std::string text_of(QualType type, ASTContext& context) {
  return type.getAsString(PrintingPolicy(context.getLangOpts()));
}

std::string number_text(QualType type, ASTContext& context) {
  const QualType number = number_of(type);
  return number.isNull() ? "" : text_of(number, context);
}

// The type as the author wrote it ("const scalar_t*"), without the parameter's name.
KernelParameter describe(const ParmVarDecl& parameter, ASTContext& context) {
  KernelParameter result;
  result.name = parameter.getNameAsString();
  result.is_named_in_body = parameter.isReferenced();
  const QualType type = parameter.getType();
  result.type = text_of(type, context);
  result.is_restrict = type.isRestrictQualified();
  const QualType plain = type.getNonReferenceType();
  if (plain->isPointerType() || plain->isArrayType()) {
    const QualType pointee = plain->isPointerType() ? plain->getPointeeType()
                                                    : QualType(plain->getArrayElementTypeNoTypeQual(), 0);
    result.is_pointer = true;
    result.is_const_pointee = pointee.isConstQualified();
    result.element = text_of(pointee.getUnqualifiedType(), context);
    result.element_number = number_text(pointee, context);
    result.is_plain_structure = is_plain_structure(pointee, parameter);
  } else if (plain->isArithmeticType() || plain->isEnumeralType() || plain->getAsCXXRecordDecl()) {
    // A structure of several numbers is no number; one of CUDA's own small types is.
    const bool is_number =
        !plain->getAsCXXRecordDecl() || number_of(plain) == plain.getCanonicalType().getUnqualifiedType();
    result.number = is_number ? number_text(plain, context) : "";
  }
  result.is_integer = plain->isIntegralOrEnumerationType();
  result.is_enumeration = plain->isEnumeralType();
  result.is_real = plain->isRealFloatingType();
  return result;
}

class Unresolved : public RecursiveASTVisitor<Unresolved> {
public:
  Unresolved(ASTContext& context, std::vector<std::string>& names) : context_(context), names_(names) {}
  bool VisitRecoveryExpr(RecoveryExpr* expression) {
    std::string text = text_of(expression->getSourceRange(), context_);
    add(text.substr(0, text.find('\n')));
    return true;
  }
  void add(const std::string& name) {
    if (std::find(names_.begin(), names_.end(), name) == names_.end())
      names_.push_back(name);
  }

private:
  ASTContext& context_;
  std::vector<std::string>& names_;
};

class KernelFinder : public RecursiveASTVisitor<KernelFinder> {
public:
  KernelFinder(ParsedSourceImpl& source) : source_(source), context_(source.ast().getASTContext()) {}

  bool TraverseDecl(Decl* declaration) {
    // Nothing of a system header is a kernel of the user's; function bodies hold none.
    if (declaration && !isa<TranslationUnitDecl>(declaration) &&
        (declaration->isImplicit() || source_.is_elsewhere(*declaration)))
      return true;
    return RecursiveASTVisitor::TraverseDecl(declaration);
  }
  bool TraverseStmt(Stmt*) { return true; }

  bool VisitFunctionDecl(FunctionDecl* function) {
    if (!function->hasAttr<CUDAGlobalAttr>() || function->isTemplateInstantiation() ||
        !function->getIdentifier())
      return true;
    const FunctionDecl* definition = nullptr;
    if (!function->doesThisDeclarationHaveABody() && function->hasBody(definition))
      return true;
    for (const KernelInfo& known : kernels)
      if (known.declaration->getCanonicalDecl() == function->getCanonicalDecl())
        return true;
    add(function);
    return true;
  }

  std::vector<KernelInfo> kernels;

private:
  void add(FunctionDecl* function) {
    KernelInfo kernel;
    kernel.name = function->getNameAsString();
    kernel.qualified_name = function->getQualifiedNameAsString();
    kernel.location = source_.place(function->getLocation());
    kernel.declaration = function;
    if (const FunctionTemplateDecl* described = function->getDescribedFunctionTemplate())
      for (const NamedDecl* parameter : *described->getTemplateParameters())
        kernel.template_parameters.push_back(describe_template(*parameter, *described));
    for (const ParmVarDecl* parameter : function->parameters()) {
      kernel.parameters.push_back(describe(*parameter, context_));
      if (kernel.parameters.back().element == "void")
        kernel.parameters.back().element_by_casts =
            element_by_casts(*function, parameter->getFunctionScopeIndex(), context_);
      if (kernel.parameters.back().is_pointer && kernel.parameters.back().element_number.empty())
        kernel.parameters.back().element_number =
            element_in_instances(*function, parameter->getFunctionScopeIndex(), context_);
      if (const QualType type = type_in_instances(*function, parameter->getFunctionScopeIndex());
          !type.isNull()) {
        KernelParameter& described_parameter = kernel.parameters.back();
        described_parameter.type = text_of(type, context_);
        described_parameter.is_integer = type->isIntegralOrEnumerationType();
        described_parameter.is_real = type->isRealFloatingType();
      }
    }
    if (!function->hasBody())
      kernel.unresolved.push_back("it is only declared here");
    find_unresolved(*function, kernel.unresolved);
    kernels.push_back(std::move(kernel));
  }

  TemplateParameter describe_template(const NamedDecl& parameter, const FunctionTemplateDecl& described) {
    TemplateParameter result;
    result.name = parameter.getNameAsString();
    // Defaults may stand on an earlier declaration of the template.
    const auto position = std::find(described.getTemplateParameters()->begin(),
                                    described.getTemplateParameters()->end(), &parameter) -
                          described.getTemplateParameters()->begin();
    for (const TemplateDecl* redeclared : described.redecls()) {
      const NamedDecl* same = redeclared->getTemplateParameters()->getParam(static_cast<unsigned>(position));
      SourceRange range;
      if (const auto* type = dyn_cast<TemplateTypeParmDecl>(same); type && type->hasDefaultArgument())
        range = type->getDefaultArgument().getSourceRange();
      else if (const auto* value = dyn_cast<NonTypeTemplateParmDecl>(same);
               value && value->hasDefaultArgument())
        range = value->getDefaultArgument().getSourceRange();
      if (range.isValid() && result.default_argument.empty())
        result.default_argument = text_of(range, context_);
    }
    if (const auto* value = dyn_cast<NonTypeTemplateParmDecl>(&parameter))
      result.type = text_of(value->getType(), context_);
    else
      result.type = isa<TemplateTypeParmDecl>(parameter) ? "typename" : "template";
    if (parameter.isParameterPack())
      result.type += "...";
    return result;
  }

  void find_unresolved(const FunctionDecl& function, std::vector<std::string>& names) {
    Unresolved visitor(context_, names);
    if (!function.hasBody()) {
      visitor.add("its body");
      return;
    }
    const SourceManager& sources = context_.getSourceManager();
    const SourceLocation begin = sources.getExpansionLoc(function.getBeginLoc());
    const SourceLocation end = sources.getExpansionLoc(function.getEndLoc());
    for (const ParseError& error : source_.record().errors) {
      if (error.in_instantiation || error.location.isInvalid())
        continue;
      const SourceLocation at = sources.getExpansionLoc(error.location);
      if (sources.getFileID(at) == sources.getFileID(begin) &&
          sources.getFileOffset(begin) <= sources.getFileOffset(at) &&
          sources.getFileOffset(at) <= sources.getFileOffset(end))
        visitor.add(source_.place(error.location) + ": " + error.message);
    }
    visitor.TraverseStmt(function.getBody());
  }

  ParsedSourceImpl& source_;
  ASTContext& context_;
};

// "name:line" chooses between kernels of one name.
bool matches(const KernelInfo& kernel, const std::string& wanted) {
  // What stands in a namespace without a name is named as if it stood around it.
  std::string spoken = kernel.qualified_name;
  const std::string unnamed = "(anonymous namespace)::";
  for (std::size_t at; (at = spoken.find(unnamed)) != std::string::npos;)
    spoken.erase(at, unnamed.size());
  if (kernel.name == wanted || kernel.qualified_name == wanted || spoken == wanted)
    return true;
  const std::size_t colon = kernel.location.rfind(':');
  return kernel.name + kernel.location.substr(colon) == wanted ||
         kernel.qualified_name + kernel.location.substr(colon) == wanted;
}

} // namespace

std::vector<KernelInfo> find_kernels(ParsedSource& source) {
  ParsedSourceImpl& parsed = implementation(source);
  KernelFinder finder(parsed);
  finder.TraverseAST(parsed.ast().getASTContext());
  for (LaunchRecord& launch : host_launches(parsed, nullptr))
    for (KernelInfo& kernel : finder.kernels)
      if (kernel.declaration->getCanonicalDecl() == launch.kernel.kernel)
        kernel.launches.push_back(std::move(launch.site));
  for (KernelInfo& kernel : finder.kernels)
    settle_instances(kernel);
  // A declaration whose parameters differ from the definition's is no kernel of its own.
  std::set<std::string> defined;
  for (const KernelInfo& kernel : finder.kernels)
    if (kernel.declaration->hasBody())
      defined.insert(kernel.qualified_name);
  std::erase_if(finder.kernels, [&](const KernelInfo& kernel) {
    return !kernel.declaration->hasBody() && defined.contains(kernel.qualified_name);
  });
  // The file's own kernels come first; the order of the text otherwise.
  const SourceManager& sources = parsed.ast().getSourceManager();
  std::stable_partition(finder.kernels.begin(), finder.kernels.end(), [&](const KernelInfo& kernel) {
    return sources.isInMainFile(sources.getExpansionLoc(kernel.declaration->getLocation()));
  });
  return std::move(finder.kernels);
}

Result<KernelInfo> find_kernel(ParsedSource& source, const std::string& name) {
  std::vector<KernelInfo> kernels = find_kernels(source), found;
  for (const KernelInfo& kernel : kernels)
    if (matches(kernel, name))
      found.push_back(kernel);
  if (found.empty()) {
    if (auto pattern = llvm::GlobPattern::create(name)) {
      for (const KernelInfo& kernel : kernels)
        if (pattern->match(kernel.name) || pattern->match(kernel.qualified_name))
          found.push_back(kernel);
    } else {
      llvm::consumeError(pattern.takeError());
    }
  }
  // Explicit specialisations belong to their template, which alone is launched by name.
  if (found.size() > 1) {
    std::vector<KernelInfo> primary = found;
    std::erase_if(primary, [](const KernelInfo& kernel) {
      return kernel.declaration->getTemplateSpecializationKind() == TSK_ExplicitSpecialization;
    });
    if (primary.size() == 1)
      found = std::move(primary);
  }
  if (found.size() == 1)
    return found.front();
  std::string listed;
  for (const KernelInfo& kernel : found.empty() ? kernels : found)
    listed += (listed.empty() ? "" : ", ") + kernel.qualified_name +
              (found.empty() ? "" : kernel.location.substr(kernel.location.rfind(':')));
  if (found.empty())
    return usage_error("no kernel '" + name + "' in " + source.file().string(),
                       listed.empty() ? why_no_kernel(source) : "it has " + listed,
                       listed.empty() ? "name a file that defines one" : "");
  return usage_error(fmt::format("'{}' names {} kernels", name, found.size()), "they are " + listed,
                     "name one of them as shown");
}

std::string why_no_kernel(const ParsedSource& source) {
  if (source.errors().empty())
    return "it has no function with __global__";
  return "Clang found no function with __global__ in what it could read of it; its first error: " +
         source.errors().front();
}

} // namespace lathe::refactor
