#include "refactor/extract/record_members.h"

#include "refactor/extract/object_image.h"

#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <regex>

namespace lathe::refactor {

using namespace clang;

namespace {

// Whether a structure is what the class template itself says, not one of its specialisations.
bool is_of_primary_template(const CXXRecordDecl& record) {
  const auto* instance = dyn_cast<ClassTemplateSpecializationDecl>(&record);
  return instance && !instance->isExplicitSpecialization() &&
         isa<ClassTemplateDecl*>(instance->getSpecializedTemplateOrPartial());
}

} // namespace

std::string replace_words(const std::string& text, const std::map<std::string, std::string>& words) {
  static const std::regex word(R"(\b[A-Za-z_]\w*\b)");
  std::string result;
  std::size_t end = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), word), none; at != none; ++at) {
    const auto found = words.find(at->str());
    if (found == words.end())
      continue;
    result += text.substr(end, static_cast<std::size_t>(at->position()) - end) + found->second;
    end = static_cast<std::size_t>(at->position() + at->length());
  }
  return result + text.substr(end);
}

const CXXRecordDecl* record_of(QualType type, std::map<std::string, std::string>& bound,
                               const PrintingPolicy& policy, bool as_written) {
  if (const CXXRecordDecl* record = type->getAsCXXRecordDecl();
      record && !type->isDependentType() && !(as_written && is_of_primary_template(*record)))
    return record->getDefinition();
  const auto* specialised = type->getAs<TemplateSpecializationType>();
  while (specialised && specialised->isTypeAlias())
    specialised = specialised->getAliasedType()->getAs<TemplateSpecializationType>();
  const auto* described =
      specialised ? dyn_cast_or_null<ClassTemplateDecl>(specialised->getTemplateName().getAsTemplateDecl())
                  : nullptr;
  if (!described)
    return nullptr;
  const llvm::ArrayRef<TemplateArgument> arguments = specialised->template_arguments();
  const TemplateParameterList& parameters = *described->getTemplateParameters();
  std::map<std::string, std::string> inner;
  for (unsigned i = 0; i < parameters.size() && i < arguments.size(); ++i) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    arguments[i].print(policy, stream, true);
    inner[parameters.getParam(i)->getNameAsString()] = replace_words(text, bound);
  }
  bound = std::move(inner);
  return described->getTemplatedDecl()->getDefinition();
}

std::optional<std::uint64_t> number_of_elements(const DependentSizedArrayType& array,
                                                const std::map<std::string, std::string>& bound,
                                                const PrintingPolicy& policy) {
  if (!array.getSizeExpr())
    return std::nullopt;
  std::string written;
  llvm::raw_string_ostream stream(written);
  array.getSizeExpr()->printPretty(stream, nullptr, policy);
  const std::string text = replace_words(written, bound);
  StringRef left = text;
  std::uint64_t count = 0;
  if (left.consumeInteger(10, count) || left.find_first_not_of("uUlL") != StringRef::npos)
    return std::nullopt;
  return count;
}

std::string with_parameter_names(const std::string& type, const FunctionDecl& function) {
  const FunctionTemplateDecl* described = function.getDescribedFunctionTemplate();
  static const std::regex number(R"(\btype-parameter-0-(\d+))");
  std::string result = type;
  for (std::smatch match; described && std::regex_search(result, match, number);) {
    const auto index = static_cast<unsigned>(std::stoul(match[1].str()));
    const TemplateParameterList& parameters = *described->getTemplateParameters();
    if (index >= parameters.size())
      return type;
    result.replace(static_cast<std::size_t>(match.position()), static_cast<std::size_t>(match.length()),
                   parameters.getParam(index)->getNameAsString());
  }
  return result;
}

bool names_structure(const std::string& type, const ASTContext& context) {
  if (type.ends_with('*'))
    return false;
  if (type.find('<') != std::string::npos)
    return true;
  for (const NamedDecl* named : context.getTranslationUnitDecl()->lookup(&context.Idents.get(type)))
    if (const auto* declared = dyn_cast<TypeDecl>(named))
      return !is_number_or_pointer(context.getTypeDeclType(declared));
  return false;
}

bool is_empty_object(QualType type) {
  const CXXRecordDecl* record = type->isDependentType() ? nullptr : type->getAsCXXRecordDecl();
  return record && record->hasDefinition() && record->isEmpty() && record->hasDefaultConstructor() &&
         !record->isLambda();
}

bool can_be_set(const CXXRecordDecl& record) {
  return !record.isUnion() && !record.isDynamicClass() &&
         std::ranges::all_of(record.bases(),
                             [](const CXXBaseSpecifier& base) {
                               return base.getAccessSpecifier() == AS_public && !base.isVirtual();
                             }) &&
         std::ranges::all_of(record.fields(), [](const FieldDecl* field) {
           return field->getAccess() == AS_public && !field->getType().isConstQualified();
         });
}

} // namespace lathe::refactor
