#include "refactor/extract/object_image.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecordLayout.h>

#include <fmt/format.h>
#include <map>

namespace lathe::refactor {
namespace {

using namespace clang;

Error obstacle(std::string why) {
  return {"", std::move(why), ""};
}

class ImageReader {
public:
  ImageReader(ASTContext& context, std::map<const Type*, std::string> parameters, std::size_t most)
      : context_(context), parameters_(std::move(parameters)), most_(most), policy_(context.getLangOpts()) {
    policy_.SuppressTagKeyword = true;
    policy_.FullyQualifiedName = true;
  }

  // `follows`: the member's type follows the kernel's template arguments.
  Status read(QualType type, bool follows, const std::string& name, const std::string& path,
              std::uint64_t offset) {
    if (image.members.size() >= most_)
      return obstacle("it has more than " + std::to_string(most_) + " members");
    const QualType plain = type.getCanonicalType().getUnqualifiedType();
    if (plain->isReferenceType())
      return obstacle("'" + path + "' is a reference");
    if (is_number_or_pointer(plain)) {
      image.members.push_back({spelled(plain, follows), name, path, offset});
      return Done{};
    }
    if (const auto* array = context_.getAsConstantArrayType(plain)) {
      const auto each =
          static_cast<std::uint64_t>(context_.getTypeSizeInChars(array->getElementType()).getQuantity());
      for (std::uint64_t i = 0; i < array->getSize().getZExtValue(); ++i)
        LATHE_CHECK(read(array->getElementType(), follows, fmt::format("{}_{}", name, i),
                         fmt::format("{}[{}]", path, i), offset + i * each));
      return Done{};
    }
    const CXXRecordDecl* record = plain->getAsCXXRecordDecl();
    if (!record || !record->hasDefinition())
      return obstacle("its member '" + path + "' is of type " + plain.getAsString(policy_));
    return read_record(*record->getDefinition(), name, path, offset);
  }

  ObjectImage image;

private:
  std::string spelled(QualType type, bool follows) const {
    if (!follows)
      return type.getAsString(policy_);
    const QualType of = type->isPointerType() ? type->getPointeeType() : type;
    const auto found = parameters_.find(of.getCanonicalType().getUnqualifiedType().getTypePtr());
    if (found == parameters_.end())
      return type.getAsString(policy_);
    return (of.isConstQualified() ? "const " : "") + found->second + (type->isPointerType() ? " *" : "");
  }

  Status read_record(const CXXRecordDecl& record, const std::string& name, const std::string& path,
                     std::uint64_t offset) {
    if (record.isDynamicClass())
      return obstacle("'" + path + "' has virtual functions");
    const ASTRecordLayout& layout = context_.getASTRecordLayout(&record);
    for (const CXXBaseSpecifier& base : record.bases()) {
      const CXXRecordDecl* of = base.getType()->getAsCXXRecordDecl();
      if (of && !of->isEmpty())
        LATHE_CHECK(
            read_record(*of, name, path,
                        offset + static_cast<std::uint64_t>(layout.getBaseClassOffset(of).getQuantity())));
    }
    const CXXRecordDecl* pattern = record.getTemplateInstantiationPattern();
    if (const auto* instance = dyn_cast<ClassTemplateSpecializationDecl>(&record); !pattern && instance)
      pattern = instance->getSpecializedTemplate()->getTemplatedDecl();
    std::map<unsigned, bool> follows; // by position
    if (pattern)
      for (const FieldDecl* field : pattern->fields())
        follows[field->getFieldIndex()] = field->getType()->isDependentType();
    const FieldDecl* largest = nullptr;
    for (const FieldDecl* field : record.fields()) {
      if (field->isBitField())
        return obstacle("'" + path + "' has members of some bits");
      if (!largest || context_.getTypeSize(field->getType()) > context_.getTypeSize(largest->getType()))
        largest = field;
    }
    for (const FieldDecl* field : record.fields()) {
      if (record.isUnion() && field != largest)
        continue;
      const std::string member = field->getNameAsString(); // empty: an anonymous structure
      LATHE_CHECK(read(field->getType(), follows[field->getFieldIndex()],
                       member.empty() ? name : name + "_" + member,
                       member.empty() ? path : path + "." + member,
                       offset + layout.getFieldOffset(field->getFieldIndex()) / 8));
    }
    return Done{};
  }

  ASTContext& context_;
  std::map<const Type*, std::string> parameters_; // of the kernel template, by what they are bound to
  std::size_t most_;
  PrintingPolicy policy_;
};

} // namespace

bool is_number_or_pointer(QualType type) {
  if (type->isArithmeticType() || type->isEnumeralType() || type->isPointerType())
    return true;
  const CXXRecordDecl* record = type->isDependentType() ? nullptr : type->getAsCXXRecordDecl();
  // CUDA's own small types, and PyTorch's.
  return record &&
         (record->getQualifiedNameAsString().starts_with("c10::") || record->getName() == "__half" ||
          record->getName() == "__nv_bfloat16" || record->getName().starts_with("__nv_fp8"));
}

bool is_object_in_instances(const FunctionDecl& kernel, unsigned index) {
  const FunctionTemplateDecl* described = kernel.getDescribedFunctionTemplate();
  const QualType written = kernel.getParamDecl(index)->getType().getCanonicalType();
  if (!described || !isa<TemplateTypeParmType, DependentNameType>(written) ||
      described->spec_begin() == described->spec_end())
    return false;
  return std::ranges::all_of(described->specializations(), [&](const FunctionDecl* instance) {
    if (index >= instance->getNumParams())
      return false;
    const QualType type = instance->getParamDecl(index)->getType();
    return type->getAsCXXRecordDecl() && !is_number_or_pointer(type);
  });
}

Result<ObjectImage> image_of_parameter(const FunctionDecl& kernel, unsigned index, std::size_t most) {
  const FunctionDecl* instance = &kernel;
  std::map<const Type*, std::string> parameters;
  if (const FunctionTemplateDecl* described = kernel.getDescribedFunctionTemplate()) {
    if (described->spec_begin() == described->spec_end())
      return obstacle("no instance of the kernel is known");
    instance = *described->spec_begin();
    const TemplateArgumentList* arguments = instance->getTemplateSpecializationArgs();
    const TemplateParameterList& names = *described->getTemplateParameters();
    for (unsigned i = 0; arguments && i < arguments->size() && i < names.size(); ++i)
      if (arguments->get(i).getKind() == TemplateArgument::Type)
        parameters.emplace(arguments->get(i).getAsType().getCanonicalType().getUnqualifiedType().getTypePtr(),
                           names.getParam(i)->getNameAsString());
  }
  if (index >= instance->getNumParams())
    return obstacle("its instances have other parameters");
  const ParmVarDecl* parameter = instance->getParamDecl(index);
  const QualType type = parameter->getType().getCanonicalType().getUnqualifiedType();
  if (type->isDependentType() || type->isIncompleteType())
    return obstacle("its type is not known");
  if (const CXXRecordDecl* record = type->getAsCXXRecordDecl(); record && record->isLambda())
    return obstacle("it is a closure, whose type has no name: write it as a structure with operator()");
  ASTContext& context = instance->getASTContext();
  ImageReader reader(context, std::move(parameters), most);
  const std::string name = parameter->getNameAsString();
  LATHE_CHECK(reader.read(type, false, name, name, 0));
  reader.image.bytes = static_cast<std::uint64_t>(context.getTypeSizeInChars(type).getQuantity());
  return std::move(reader.image);
}

} // namespace lathe::refactor
