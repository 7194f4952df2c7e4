#include "refactor/extract/extract.h"

#include "refactor/extract/awaited_classes.h"
#include "refactor/extract/composed_text.h"
#include "refactor/extract/declaration_graph.h"
#include "refactor/extract/device_linking.h"
#include "refactor/extract/elsewhere.h"
#include "refactor/extract/half_specialisations.h"
#include "refactor/extract/host_members.h"
#include "refactor/extract/lambda_annotations.h"
#include "refactor/extract/newer_spellings.h"
#include "refactor/extract/reached.h"
#include "refactor/extract/sequential_thrust.h"
#include "refactor/extract/source_text.h"
#include "refactor/extract/system_headers.h"
#include "refactor/frontend/standard.h"
#include "tuner/base/text.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace lathe::refactor {

using namespace clang;

namespace {

// static constexpr int threads = 128; in a class with methods that run on the host.
bool is_constant_of_launcher(const NamedDecl& named) {
  const auto* constant = dyn_cast<VarDecl>(&named);
  const auto* record = constant && constant->isStaticDataMember()
                           ? dyn_cast<CXXRecordDecl>(constant->getDeclContext())
                           : nullptr;
  return record && std::ranges::any_of(record->decls(), [](const Decl* member) {
           const FunctionDecl* function = member->isImplicit() ? nullptr : member->getAsFunction();
           return function && !function->isConstexpr() && !function->hasAttr<CUDADeviceAttr>();
         });
}

// typedef typename Converted<T>::type Tc; in a class template that launches: which type it is, its instances
// know.
bool is_open_type_of_launcher(const NamedDecl& named) {
  const auto* alias = dyn_cast<TypedefNameDecl>(&named);
  return alias && isa<CXXRecordDecl>(alias->getDeclContext()) &&
         isa<DependentNameType, TemplateTypeParmType>(
             alias->getUnderlyingType().getDesugaredType(alias->getASTContext()));
}

class Extractor {
public:
  Extractor(ParsedSourceImpl& source, const KernelInfo& kernel)
      : source_(source), kernel_(kernel), context_(source.ast().getASTContext()),
        sources_(context_.getSourceManager()), text_(source) {}

  Result<ExtractedKernel> run(const std::vector<std::string>& mentioned);

  std::string elsewhere; // of a run that failed for it: what another translation unit defines

private:
  void index();
  void index(const DeclContext* context);
  void index_macro(const Decl* declaration);
  bool says_again(const Decl* declaration) const;
  void need(const Decl* user, const NamedDecl* used);
  void follow(const Decl* user, const Decl* unit);
  bool need_what_awaits(const std::set<const Decl*>& done);
  Status check_whole(const std::vector<const Decl*>& units);
  void add_header(const std::string& path);

  ParsedSourceImpl& source_;
  const KernelInfo& kernel_;
  ASTContext& context_;
  const SourceManager& sources_;
  DeclarationGraph graph_;
  std::vector<const Decl*> waiting_;
  // Who may use what, which is needed where the classes that it is for are.
  std::vector<std::pair<const Decl*, const NamedDecl*>> awaiting_classes_;
  std::vector<const Decl*> roots_;
  std::map<const Decl*, std::vector<const Decl*>>
      companions_; // canonical unit -> specialisations, members, redeclarations, and what the same macro
                   // declares
  std::map<SourceLocation, std::vector<const Decl*>> declared_by_macros_; // by the macro's call
  std::vector<const UsingDirectiveDecl*> directives_;
  std::set<std::string> thrust_names_; // of algorithms that a thread calls
  ComposedText text_;
};

// A function that is declared once more behind its definition, in the text of a macro: what else the macro
// says, such as which instances of other templates to make, would come along.
bool Extractor::says_again(const Decl* declaration) const {
  const FunctionDecl* function = declaration->getAsFunction();
  const FunctionDecl* defined = nullptr;
  return function && declaration->getBeginLoc().isMacroID() && function->isDefined(defined) &&
         defined != function &&
         sources_.isBeforeInTranslationUnit(defined->getLocation(), function->getLocation());
}

// Everything at namespace level that belongs to something else: explicit specialisations, members defined
// outside their class, and further declarations.
void Extractor::index(const DeclContext* context) {
  for (const Decl* declaration : context->decls()) {
    if (const auto* directive = dyn_cast<UsingDirectiveDecl>(declaration)) {
      if (is_written_by_user(source_, directive))
        directives_.push_back(directive);
      continue;
    }
    if (const auto* space = dyn_cast<NamespaceDecl>(declaration)) {
      index(space);
      continue;
    }
    if (const auto* linkage = dyn_cast<LinkageSpecDecl>(declaration); linkage && linkage->hasBraces()) {
      index(linkage);
      continue;
    }
    if (declaration->isImplicit() || !is_written_by_user(source_, declaration))
      continue;
    index_macro(declaration);
    const auto belongs_to = [&](const Decl* owner) {
      const Decl* unit = owner ? unit_of(owner) : nullptr;
      if (unit)
        companions_[unit->getCanonicalDecl()].push_back(declaration);
    };
    // What is specialised brings its specialisations, and each of these what it specialises, which may be
    // known by an instance of it alone.
    const auto specialises = [&](const Decl* primary) {
      belongs_to(primary);
      if (const Decl* unit = primary ? unit_of(primary) : nullptr; unit && is_written_by_user(source_, unit))
        companions_[declaration->getCanonicalDecl()].push_back(unit);
    };
    const Decl* plain = declaration;
    if (const auto* described = dyn_cast<TemplateDecl>(declaration);
        described && described->getTemplatedDecl())
      plain = described->getTemplatedDecl();
    // A member whose class is elsewhere.
    if (const auto* record = dyn_cast<CXXRecordDecl>(plain->getDeclContext()); record && plain->isOutOfLine())
      belongs_to(record);
    if (const auto* specialised = dyn_cast<ClassTemplateSpecializationDecl>(plain)) {
      const bool is_own =
          specialised->isExplicitSpecialization() || isa<ClassTemplatePartialSpecializationDecl>(specialised);
      if (is_own && !is_of_host_types(*specialised))
        specialises(specialised->getSpecializedTemplate());
    } else if (const auto* function = dyn_cast<FunctionDecl>(plain);
               function && function->getTemplateSpecializationKind() == TSK_ExplicitSpecialization) {
      // The kernel's own are kernels beside it.
      const FunctionTemplateDecl* primary = function->getPrimaryTemplate();
      if (primary &&
          primary->getTemplatedDecl()->getCanonicalDecl() != kernel_.declaration->getCanonicalDecl())
        belongs_to(primary);
    } else if (const auto* variable = dyn_cast<VarTemplateSpecializationDecl>(plain);
               variable && variable->getSpecializationKind() == TSK_ExplicitSpecialization) {
      belongs_to(variable->getSpecializedTemplate());
    } else if (declaration->getCanonicalDecl() != declaration && !says_again(declaration)) {
      companions_[declaration->getCanonicalDecl()].push_back(declaration);
    }
  }
}

// The text of a macro's call is kept whole, with all that it declares: what one of these needs, the others
// bring along. But for kernels and host code, which are looked at on their own.
void Extractor::index_macro(const Decl* declaration) {
  if (!declaration->getBeginLoc().isMacroID())
    return;
  const FunctionDecl* function = declaration->getAsFunction();
  if (function && (!function->hasAttr<CUDADeviceAttr>() || function->hasAttr<CUDAGlobalAttr>()))
    return;
  std::vector<const Decl*>& others =
      declared_by_macros_[sources_.getExpansionLoc(declaration->getBeginLoc())];
  for (const Decl* other : others) {
    companions_[other->getCanonicalDecl()].push_back(declaration);
    companions_[declaration->getCanonicalDecl()].push_back(other);
  }
  others.push_back(declaration);
}

void Extractor::index() {
  index(context_.getTranslationUnitDecl());
}

void Extractor::add_header(const std::string& path) {
  const std::string header = nvrtc_header(path);
  if (!header.empty())
    text_.add_header(header);
}

void Extractor::need(const Decl* user, const NamedDecl* used) {
  if (const auto* space = dyn_cast<NamespaceDecl>(used)) {
    text_.add_namespace(space->getQualifiedNameAsString());
    return;
  }
  if (used->isImplicit() && !isa<CXXRecordDecl>(used) && !isa<UsingShadowDecl>(used))
    if (!isa<CXXMethodDecl>(used))
      return;
  const Decl* unit = unit_of(used);
  // typedef int int32_t; says again what a header of the system has said.
  if (const auto* alias = dyn_cast_or_null<TypedefNameDecl>(unit))
    unit = alias->getCanonicalDecl();
  if (!unit || unit->getLocation().isInvalid())
    return;
  if (!is_written_by_user(source_, unit)) {
    // std::numeric_limits<T> of a T that only an instance knows may be any that the file specialises.
    if (const auto own = companions_.find(unit->getCanonicalDecl()); own != companions_.end())
      for (const Decl* companion : own->second)
        if (const auto* specialised = dyn_cast<ClassTemplateSpecializationDecl>(companion))
          awaiting_classes_.emplace_back(user, specialised);
    if (is_sequential_thrust(*used)) {
      thrust_names_.insert(used->getNameAsString());
    } else if (!unit->isImplicit()) {
      const std::string path = sources_.getFilename(sources_.getExpansionLoc(unit->getLocation())).str();
      add_header(path);
      if (used->isInStdNamespace() && path.find("__clang_cuda") != std::string::npos)
        text_.add_header("<cmath>");
      const std::string name = used->getNameAsString(); // not every name is an identifier
      if (name == "uint" || name == "ushort" || name == "ulong")
        text_.add_line(fmt::format("typedef unsigned {} {};",
                                   name == "uint"     ? "int"
                                   : name == "ushort" ? "short"
                                                      : "long",
                                   name));
      if (const auto* alias = dyn_cast<TypedefNameDecl>(used); alias && is_host_library(path))
        text_.add_line(fmt::format(
            "typedef {} {};",
            alias->getUnderlyingType().getCanonicalType().getAsString(PrintingPolicy(context_.getLangOpts())),
            name));
    }
    return;
  }
  unit = unit->getCanonicalDecl();
  if (user)
    graph_.connect(user, unit);
  if (graph_.add(unit) || std::find(waiting_.begin(), waiting_.end(), unit) == waiting_.end())
    waiting_.push_back(unit);
}

void Extractor::follow(const Decl* user, const Decl* unit) {
  for_each_reference(unit, [&](const NamedDecl* used) {
    if (classes_of_operator(*used).empty())
      need(user, used);
    else
      awaiting_classes_.emplace_back(user, used);
  });
}

// a + b of types that only an instance knows may be any operator in sight: those are needed whose classes
// are. Whether another one was.
bool Extractor::need_what_awaits(const std::set<const Decl*>& done) {
  const auto is_needed = [&](const std::pair<const Decl*, const NamedDecl*>& use) {
    const auto* specialised = dyn_cast<ClassTemplateSpecializationDecl>(use.second);
    const std::vector<const NamedDecl*> classes =
        specialised ? classes_among_arguments(*specialised) : classes_of_operator(*use.second);
    return std::ranges::all_of(classes, [&](const NamedDecl* of) {
      const Decl* unit = unit_of(of);
      return !unit || !is_written_by_user(source_, unit) || done.contains(unit->getCanonicalDecl());
    });
  };
  const auto needed = std::stable_partition(awaiting_classes_.begin(), awaiting_classes_.end(),
                                            [&](const auto& use) { return !is_needed(use); });
  const std::vector<std::pair<const Decl*, const NamedDecl*>> uses(needed, awaiting_classes_.end());
  awaiting_classes_.erase(needed, awaiting_classes_.end());
  for (const auto& [user, used] : uses)
    need(user, used);
  return !uses.empty();
}

Result<ExtractedKernel> Extractor::run(const std::vector<std::string>& mentioned) {
  index();
  const Decl* root = unit_of(kernel_.declaration);
  if (!root)
    return Error{"cannot extract " + kernel_.name, "its declaration has no place in the file", ""};
  roots_.push_back(root->getCanonicalDecl());
  need(nullptr, kernel_.declaration);
  // Functors, functions and traits that launches pass as template arguments; what PyTorch's dispatch binds is
  // left to the specification's types.
  const std::function<void(const NamedDecl*)> argument = [&](const NamedDecl* named) {
    // Parameters and constants of the class that launches are bound there, and bring nothing of it along.
    if (named->isTemplateParameter() || is_constant_of_launcher(*named) || is_open_type_of_launcher(*named))
      return;
    if (named->getParentFunctionOrMethod()) {
      if (isa<TypedefNameDecl>(named))
        for_each_reference(named, argument);
      return;
    }
    const Decl* unit = unit_of(named);
    if (!unit || source_.is_stand_in(unit->getLocation()))
      return;
    if (const auto* function = named->getAsFunction(); function && function->hasAttr<CUDAGlobalAttr>())
      return;
    need(nullptr, named);
    if (is_written_by_user(source_, unit))
      roots_.push_back(unit->getCanonicalDecl());
  };
  for_each_kernel_argument(context_, kernel_.declaration, argument);
  for (const std::string& text : mentioned)
    for (const std::string& name : identifiers(text))
      for (const DeclContext* scope = kernel_.declaration->getDeclContext(); scope;
           scope = scope->getLookupParent())
        for (const NamedDecl* found : scope->getRedeclContext()->lookup(&context_.Idents.get(name)))
          argument(found);
  // A launcher may hand its own template arguments on: then the instantiations know them.
  if (const FunctionTemplateDecl* described = kernel_.declaration->getDescribedFunctionTemplate())
    for (const FunctionDecl* instance : described->specializations())
      if (const TemplateArgumentList* arguments = instance->getTemplateSpecializationArgs()) {
        for (const TemplateArgument& bound : arguments->asArray()) {
          if (bound.getKind() == TemplateArgument::Declaration)
            argument(bound.getAsDecl());
          else if (bound.getKind() == TemplateArgument::Type && bound.getAsType()->getAsCXXRecordDecl())
            argument(bound.getAsType()->getAsCXXRecordDecl());
          else if (bound.getKind() == TemplateArgument::Template && bound.getAsTemplate().getAsTemplateDecl())
            argument(bound.getAsTemplate().getAsTemplateDecl());
        }
      }

  std::set<const Decl*> done;
  while (!waiting_.empty() || (need_what_awaits(done) && !waiting_.empty())) {
    const Decl* unit = waiting_.back();
    waiting_.pop_back();
    if (!done.insert(unit).second)
      continue;
    follow(unit, unit);
    const auto companions = companions_.find(unit);
    if (companions == companions_.end())
      continue;
    for (const Decl* companion : companions->second) {
      graph_.connect(unit, companion->getCanonicalDecl());
      follow(unit, companion);
      if (companion->getCanonicalDecl() != unit)
        waiting_.push_back(companion->getCanonicalDecl());
    }
  }
  std::vector<const Decl*> units;
  for (const Decl* unit : graph_.reachable(roots_)) {
    units.push_back(unit);
    const auto companions = companions_.find(unit);
    if (companions != companions_.end())
      units.insert(units.end(), companions->second.begin(), companions->second.end());
  }
  LATHE_CHECK(check_whole(units));
  if (const NamedDecl* missing = defined_elsewhere(units)) {
    elsewhere = missing->getNameAsString();
    return Error{
        "cannot extract " + kernel_.name,
        fmt::format("it uses '{}', a {} the device that another translation unit defines",
                    missing->getNameAsString(), isa<VarDecl>(missing) ? "variable of" : "function for"),
        "put the file that defines it before this one with -- -include FILE, where no host code writes it"};
  }
  if (context_.getLangOpts().CPlusPlus20 || std::ranges::any_of(units, leaves_typename_out))
    text_.demand_cxx20();
  text_.add_declarations(units);
  text_.add_macros();
  text_.add_using_directives(directives_);
  for (const TemplateParameter& parameter : kernel_.template_parameters)
    if (parameter.type == "typename")
      for (const char* header : {"<cuda_bf16.h>", "<cuda_fp16.h>"})
        text_.add_header(header);
  if (!thrust_names_.empty()) {
    LATHE_TRY(std::string supplied, sequential_thrust_text(thrust_names_));
    text_.supply(std::move(supplied), SEQUENTIAL_THRUST);
  }

  ExtractedKernel result;
  result.text = with_half_specialisations(without_lambda_annotations(text_.text()));
  result.kernel = kernel_.qualified_name;
  for (std::size_t at; (at = result.kernel.find("(anonymous namespace)::")) != std::string::npos;)
    result.kernel.erase(at, std::string("(anonymous namespace)::").size());
  result.includes.assign(text_.headers().begin(), text_.headers().end());
  result.stand_ins.assign(text_.stand_ins().begin(), text_.stand_ins().end());
  return result;
}

// What the kernel reaches must have been understood completely, but for what stays behind.
Status Extractor::check_whole(const std::vector<const Decl*>& units) {
  for (const Decl* unit : units) {
    const auto span = span_of(source_, unit);
    if (!span)
      continue;
    std::optional<std::vector<TextSpan>> left_out;
    for (const ParseError& error : source_.record().errors) {
      if (error.in_instantiation || error.location.isInvalid())
        continue;
      const SourceLocation at = sources_.getExpansionLoc(error.location);
      const auto is_in = [&](const TextSpan& part) {
        return part.contains(sources_.getFileID(at), sources_.getFileOffset(at));
      };
      if (!is_in(*span))
        continue;
      if (!left_out)
        left_out = host_members(source_, unit);
      if (std::none_of(left_out->begin(), left_out->end(), is_in))
        return Error{"cannot extract " + kernel_.name, "what it needs has an error: " + error.text,
                     "add the include path or macro that it misses after --"};
    }
  }
  return Done{};
}

} // namespace

Result<ExtractedKernel> extract_kernel(ParsedSource& source, const KernelInfo& kernel,
                                       const std::vector<std::string>& mentioned) {
  return Extractor(implementation(source), kernel).run(mentioned);
}

std::string device_definition_elsewhere(ParsedSource& source, const KernelInfo& kernel) {
  Extractor extractor(implementation(source), kernel);
  return extractor.run({}).ok() ? "" : extractor.elsewhere;
}

} // namespace lathe::refactor
