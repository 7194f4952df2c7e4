// Interface: the same parameters in the same order with the same qualifiers; what is new among the template
// parameters is a knob of the specification, and is used.
#include "refactor/guard/checks.h"
#include "refactor/guard/raw_kernels.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Frontend/ASTUnit.h>

#include <algorithm>
#include <set>

namespace lathe::refactor {
namespace {

// Template parameters that the pattern's body, attributes or types mention.
struct UseVisitor : clang::RecursiveASTVisitor<UseVisitor> {
  std::set<std::string> used;
  bool VisitDeclRefExpr(clang::DeclRefExpr* reference) {
    if (llvm::isa<clang::NonTypeTemplateParmDecl>(reference->getDecl()))
      used.insert(reference->getDecl()->getNameAsString());
    return true;
  }
  // `#pragma unroll N` hangs on its loop as an attribute, which the visitor does not enter.
  bool VisitAttributedStmt(clang::AttributedStmt* statement) {
    for (const clang::Attr* attribute : statement->getAttrs())
      if (const auto* hint = llvm::dyn_cast<clang::LoopHintAttr>(attribute); hint && hint->getValue())
        TraverseStmt(hint->getValue());
    return true;
  }
  bool VisitTemplateTypeParmTypeLoc(clang::TemplateTypeParmTypeLoc location) {
    if (const auto* declaration = location.getDecl())
      used.insert(declaration->getNameAsString());
    return true;
  }
};

std::string parameter_text(const clang::ParmVarDecl* parameter) {
  return parameter->getType().getCanonicalType().getUnqualifiedType().getAsString();
}

bool mentions(const Expression& expression, const std::string& name) {
  return std::find(expression.names().begin(), expression.names().end(), name) != expression.names().end();
}

bool in_launch(const LaunchGeometry& launch, const std::string& name) {
  return std::any_of(launch.grid.begin(), launch.grid.end(),
                     [&](const Expression& e) { return mentions(e, name); }) ||
         std::any_of(launch.block.begin(), launch.block.end(),
                     [&](const Expression& e) { return mentions(e, name); }) ||
         mentions(launch.shared_bytes, name);
}

void compare_parameters(const clang::FunctionDecl* raw, const clang::FunctionDecl* templated,
                        Findings& findings) {
  if (raw->getNumParams() != templated->getNumParams()) {
    findings.fail("the template has " + std::to_string(templated->getNumParams()) +
                  " parameters, the raw kernel " + std::to_string(raw->getNumParams()));
    return;
  }
  for (unsigned i = 0; i < raw->getNumParams(); ++i) {
    const clang::ParmVarDecl *a = raw->getParamDecl(i), *b = templated->getParamDecl(i);
    const std::string where = "parameter " + std::to_string(i + 1) + " ('" + a->getNameAsString() + "')";
    if (parameter_text(a) != parameter_text(b))
      findings.fail(where + " is " + parameter_text(b) + " where the raw kernel has " + parameter_text(a));
    else if (a->getType().isRestrictQualified() != b->getType().isRestrictQualified())
      findings.fail(where + (b->getType().isRestrictQualified()
                                 ? " promises __restrict__, which the raw kernel does not"
                                 : " lost its __restrict__"));
    else if (a->getType().isVolatileQualified() != b->getType().isVolatileQualified())
      findings.fail(where + " differs in volatile");
    if (a->getName() != b->getName())
      findings.report(where + " is called '" + b->getNameAsString() + "' in the template");
  }
}

} // namespace

CheckResult check_interface(JudgedPair& subject) {
  Findings findings("interface");
  const TuningSpec& spec = subject.spec;
  const KernelInfo &raw = subject.raw.kernel, &templated = subject.templated.kernel;
  for (const Configuration& configuration : subject.defaults) {
    const auto a = subject.raw.source_facts.find(configuration.raw_instance);
    const auto b = subject.templated.source_facts.find(configuration.template_instance);
    if (a != subject.raw.source_facts.end() && b != subject.templated.source_facts.end())
      compare_parameters(a->second.function, b->second.function, findings);
  }

  UseVisitor uses;
  const clang::FunctionDecl* definition = nullptr;
  if (templated.declaration && templated.declaration->hasBody(definition))
    uses.TraverseDecl(const_cast<clang::FunctionDecl*>(definition));
  std::set<std::string> raw_names, template_names;
  if (const auto kernels = kernels_of(subject.raw, spec.reference); kernels.ok())
    for (const KernelInfo& kernel : *kernels)
      for (const TemplateParameter& parameter : kernel.template_parameters)
        raw_names.insert(parameter.name);
  std::size_t added = 0;
  for (const TemplateParameter& parameter : templated.template_parameters) {
    template_names.insert(parameter.name);
    const Knob* knob = spec.find_knob(parameter.name);
    if (!raw_names.contains(parameter.name)) {
      ++added;
      if (!knob)
        findings.fail("template parameter '" + parameter.name + "' is neither the raw kernel's nor a knob");
      if (!uses.used.contains(parameter.name))
        findings.fail("template parameter '" + parameter.name + "' is never used");
    }
    if (knob && spec.kernel.instance.find("{" + parameter.name + "}") == std::string::npos)
      findings.fail("the instance does not bind knob '" + parameter.name + "'");
  }
  for (const TemplateParameter& parameter : raw.template_parameters)
    if (!template_names.contains(parameter.name) && parameter.type == "typename")
      findings.report("the raw kernel's type parameter '" + parameter.name + "' is gone");
  for (const Knob& knob : spec.knobs)
    if (!knob.is_macro && !template_names.contains(knob.name) && !in_launch(spec.kernel.launch, knob.name))
      findings.fail("knob '" + knob.name + "' reaches neither the template nor the launch");
  return findings.conclude(Verdict::proved, std::to_string(raw.parameters.size()) +
                                                " parameters as in the raw kernel, " + std::to_string(added) +
                                                " new template parameters, each a knob in use");
}

} // namespace lathe::refactor
