#include "refactor/frontend/kernel_launches.h"

#include "tuner/base/text.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>

namespace lathe::refactor {
namespace {

using namespace clang;

// The template arguments of the instances that are explicit specialisations, or of the others.
std::vector<std::vector<std::string>> instances_of(const FunctionDecl& kernel, bool is_specialised) {
  std::vector<std::vector<std::string>> instances;
  const FunctionTemplateDecl* described = kernel.getDescribedFunctionTemplate();
  if (!described)
    return instances;
  for (const FunctionDecl* instance : described->specializations())
    if (const TemplateArgumentList* arguments = instance->getTemplateSpecializationArgs();
        arguments &&
        (instance->getTemplateSpecializationKind() == TSK_ExplicitSpecialization) == is_specialised)
      instances.push_back(HostReader::texts(arguments->asArray(), kernel.getASTContext()));
  return instances;
}

// Reads every host function of the user's files that mentions a launch.
class LauncherFinder : public RecursiveASTVisitor<LauncherFinder> {
public:
  // `names`: of these, one has to stand in the function; none: any function.
  LauncherFinder(ParsedSourceImpl& source, HostReader& reader, std::vector<std::string> names)
      : source_(source), reader_(reader), names_(std::move(names)) {}

  bool TraverseDecl(Decl* declaration) {
    return (declaration && source_.is_elsewhere(*declaration)) ||
           RecursiveASTVisitor::TraverseDecl(declaration);
  }
  bool TraverseStmt(Stmt*) { return true; }

  bool VisitFunctionDecl(FunctionDecl* function) {
    if (!function->doesThisDeclarationHaveABody() || function->isTemplateInstantiation() ||
        function->hasAttr<CUDAGlobalAttr>() ||
        function->isDependentContext() !=
            (function->getDescribedFunctionTemplate() || function->getParent()->isDependentContext()) ||
        (function->hasAttr<CUDADeviceAttr>() && !function->hasAttr<CUDAHostAttr>()) || !has_name(*function))
      return true;
    reader_.read(function);
    return true;
  }

private:
  bool has_name(const FunctionDecl& function) const {
    const ASTContext& context = function.getASTContext();
    const SourceManager& sources = context.getSourceManager();
    const std::vector<std::string> words =
        names_.empty()
            ? names_
            : identifiers(
                  Lexer::getSourceText(CharSourceRange::getTokenRange(
                                           sources.getExpansionRange(function.getSourceRange()).getAsRange()),
                                       sources, context.getLangOpts())
                      .str());
    return names_.empty() || std::ranges::any_of(names_, [&](const std::string& name) {
             return std::ranges::find(words, name) != words.end();
           });
  }

  ParsedSourceImpl& source_;
  HostReader& reader_;
  std::vector<std::string> names_;
};

// A launch in a function template that was read where that is called, with its template arguments, is the
// same launch read where it stands, without them, and says more.
void leave_to_instances(std::vector<LaunchRecord>& launches) {
  const std::vector<LaunchRecord> all = launches;
  std::erase_if(launches, [&](const LaunchRecord& launch) {
    return !launch.of_instance && std::ranges::any_of(all, [&](const LaunchRecord& other) {
      return other.of_instance && other.site.unreadable.empty() &&
             other.kernel.kernel == launch.kernel.kernel && other.context == launch.context &&
             other.location == launch.location;
    });
  });
}

} // namespace

std::vector<LaunchRecord> host_launches(ParsedSourceImpl& source, OtherDefinitions* others,
                                        const std::vector<std::string>& names) {
  HostReader reader(source, others);
  LauncherFinder(source, reader, names).TraverseAST(source.ast().getASTContext());
  leave_to_instances(reader.launches);
  return std::move(reader.launches);
}

void settle_instances(KernelInfo& kernel) {
  // A launch inside a template has no types of its own: the file's instantiations of the kernel are its.
  const std::vector<std::vector<std::string>> all = instances_of(*kernel.declaration, false);
  kernel.specialised = instances_of(*kernel.declaration, true);
  const auto is_specialised = [&](const std::vector<std::string>& arguments) {
    return std::ranges::find(kernel.specialised, arguments) != kernel.specialised.end();
  };
  // What launches a specialisation launches another kernel.
  std::erase_if(kernel.launches,
                [&](const LaunchSite& site) { return is_specialised(site.template_arguments); });
  for (LaunchSite& site : kernel.launches) {
    std::erase_if(site.instances, is_specialised);
    if (site.instances.empty())
      site.instances = all;
  }
}

std::vector<LaunchSite> launches_through(ParsedSource& caller, const KernelInfo& kernel,
                                         OtherDefinitions& others, const std::vector<std::string>& names) {
  KernelInfo reached = kernel;
  reached.launches.clear();
  for (LaunchRecord& launch : host_launches(implementation(caller), &others, names))
    if (launch.kernel.kernel == kernel.declaration->getCanonicalDecl())
      reached.launches.push_back(std::move(launch.site));
  settle_instances(reached);
  return reached.launches;
}

bool asks_elsewhere(ParsedSource& source, const KernelInfo& kernel, const LaunchSite& launch) {
  for (const LaunchRecord& record : host_launches(implementation(source), nullptr))
    if (record.asks_elsewhere && record.kernel.kernel == kernel.declaration->getCanonicalDecl() &&
        record.site.location == launch.location)
      return true;
  return false;
}

} // namespace lathe::refactor
