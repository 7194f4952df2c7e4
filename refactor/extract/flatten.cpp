#include "refactor/extract/flatten.h"

#include "refactor/extract/changed_parameters.h"
#include "refactor/extract/macro_parameters.h"
#include "refactor/extract/object_image.h"
#include "refactor/extract/record_members.h"
#include "refactor/frontend/parsed_source.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <regex>

namespace lathe::refactor {
namespace {

using namespace clang;

constexpr std::size_t MOST_MEMBERS = 256;

// "int64_t" and its like, where that is what a 64-bit integer is called; else empty.
std::string name_of_64_bits(QualType type) {
  for (const auto* name = type->getAs<TypedefType>(); name; name = name->desugar()->getAs<TypedefType>())
    if (const StringRef text = name->getDecl()->getName();
        text == "int64_t" || text == "uint64_t" || text == "intptr_t" || text == "uintptr_t")
      return text.str();
  return "";
}

// By their types, the names that a class's template arguments have for 64-bit integers.
std::map<std::string, std::string> names_in_arguments(QualType type) {
  std::map<std::string, std::string> names;
  const auto* specialised = type->getAs<TemplateSpecializationType>();
  for (const TemplateArgument& argument :
       specialised ? specialised->template_arguments() : llvm::ArrayRef<TemplateArgument>())
    if (argument.getKind() == TemplateArgument::Type)
      if (const std::string name = name_of_64_bits(argument.getAsType()); !name.empty())
        names.emplace(argument.getAsType().getCanonicalType().getUnqualifiedType().getAsString(), name);
  return names;
}

// One number or pointer inside a structure.
struct Member {
  std::string type, name; // of the parameter that takes its place
  std::string path;       // as the launcher names it: "params.stride"
};

class Flattener {
public:
  // `original`: the kernel in its own file, which knows its instances.
  Flattener(ParsedSourceImpl& source, const std::string& text, const FunctionDecl& kernel,
            const FunctionDecl& original)
      : source_(source), text_(text), kernel_(kernel), original_(original),
        context_(source.ast().getASTContext()), policy_(context_.getLangOpts()) {
    policy_.SuppressTagKeyword = true;
    policy_.FullyQualifiedName = true;
  }

  struct Change {
    std::size_t begin, end;
    std::string text;
  };
  // `empty`: positions of parameters whose type has no data.
  Status run(const std::vector<unsigned>& empty);
  std::vector<Change> changes;
  std::map<std::string, std::vector<Member>> members; // by parameter

private:
  // How an object is made: by a list of its members, or by setting one after the other.
  enum class Making { by_list, by_setting };
  Result<std::string> set_members(unsigned index, QualType type, std::vector<Member>& found);
  Result<std::string> place_members(unsigned index, QualType type, std::vector<Member>& found);
  std::string object_in_bytes(const std::string& type, const std::string& bytes,
                              const std::string& name) const;
  Status make_in_body(unsigned index, std::string& made);
  Result<std::string> take_apart(QualType type, const std::string& name, const std::string& path,
                                 const std::map<std::string, std::string>& bound, std::vector<Member>& found);
  Result<std::string> take_elements_apart(QualType element, std::uint64_t count, const std::string& name,
                                          const std::string& path,
                                          const std::map<std::string, std::string>& bound,
                                          std::vector<Member>& found);
  Result<std::string> take_record_apart(const CXXRecordDecl& record, const std::string& name,
                                        const std::string& path,
                                        const std::map<std::string, std::string>& bound,
                                        std::vector<Member>& found);
  std::string shown(QualType type) const;
  std::string with_argument_names(const std::string& pointer) const;
  std::string free_name(std::string name) const {
    while (std::regex_search(text_, std::regex("\\b" + name + "\\b")))
      name += "_";
    return name;
  }

  ParsedSourceImpl& source_;
  const std::string& text_;
  const FunctionDecl &kernel_, &original_;
  ASTContext& context_;
  PrintingPolicy policy_;
  Making making_ = Making::by_list;
  std::map<std::string, std::string> argument_names_; // names_in_arguments() of what is taken apart
  std::vector<const CXXRecordDecl*> open_;            // that are being taken apart, the outermost first
};

// Names that the file gives mean nothing elsewhere; those of 64-bit integers stay where a pointer is to them,
// as they stand for other types of C++ under NVRTC than here.
std::string Flattener::shown(QualType type) const {
  if (type->isDependentType())
    return type.getAsString(policy_);
  if (const QualType target = type->getPointeeType(); type->isPointerType())
    if (const std::string name = name_of_64_bits(target); !name.empty())
      return fmt::format("{}{} *", target.isConstQualified() ? "const " : "", name);
  return type.getCanonicalType().getAsString(policy_);
}

// Of what a class makes of its template arguments (a pointer's type by its traits) these names are lost:
// those that the arguments have.
std::string Flattener::with_argument_names(const std::string& pointer) const {
  for (const auto& [type, name] : argument_names_)
    for (const char* qualifier : {"", "const "})
      if (pointer == fmt::format("{}{} *", qualifier, type))
        return fmt::format("{}{} *", qualifier, name);
  return pointer;
}

// The initialiser that makes the object from parameters, which are appended to `found`.
Result<std::string> Flattener::take_apart(QualType type, const std::string& name, const std::string& path,
                                          const std::map<std::string, std::string>& bound,
                                          std::vector<Member>& found) {
  if (found.size() >= MOST_MEMBERS)
    return Error{"", "it has more than " + std::to_string(MOST_MEMBERS) + " members", ""};
  const QualType plain = type.getUnqualifiedType();
  if (is_number_or_pointer(plain) ||
      isa<TemplateTypeParmType>(plain.getTypePtr()->getUnqualifiedDesugaredType())) {
    const std::string text =
        with_argument_names(with_parameter_names(replace_words(shown(plain), bound), kernel_));
    if (names_structure(text, context_))
      return Error{"", "its member '" + path + "' is of type " + text, ""};
    const std::string parameter = free_name(name);
    found.push_back({text, parameter, path});
    return parameter;
  }
  if (const auto* array = context_.getAsConstantArrayType(plain))
    return take_elements_apart(array->getElementType(), array->getSize().getZExtValue(), name, path, bound,
                               found);
  if (const auto* array = context_.getAsDependentSizedArrayType(plain))
    if (const auto elements = number_of_elements(*array, bound, policy_))
      return take_elements_apart(array->getElementType(), *elements, name, path, bound, found);
  for (const bool as_written : {true, false}) {
    std::map<std::string, std::string> inner = bound;
    const CXXRecordDecl* record = record_of(plain, inner, policy_, as_written);
    if (!record)
      continue;
    // A template that derives from, or holds, another instance of itself ends in a specialisation, which its
    // own text does not tell.
    if (std::ranges::find(open_, record) != open_.end())
      return Error{"", "'" + path + "' is made of instances of its own class template", ""};
    const std::size_t before = found.size();
    open_.push_back(record);
    auto parts = take_record_apart(*record, name, path, inner, found);
    open_.pop_back();
    if (parts.ok() || !as_written)
      return parts;
    found.resize(before);
  }
  return Error{"", "its member '" + path + "' is of type " + type.getAsString(policy_), ""};
}

Result<std::string> Flattener::take_elements_apart(QualType element, std::uint64_t count,
                                                   const std::string& name, const std::string& path,
                                                   const std::map<std::string, std::string>& bound,
                                                   std::vector<Member>& found) {
  std::string list;
  for (std::uint64_t i = 0; i < count; ++i) {
    LATHE_TRY(const std::string part, take_apart(element, fmt::format("{}_{}", name, i),
                                                 fmt::format("{}[{}]", path, i), bound, found));
    list += (i == 0 ? "" : ", ") + part;
  }
  return "{" + list + "}";
}

Result<std::string> Flattener::take_record_apart(const CXXRecordDecl& record, const std::string& name,
                                                 const std::string& path,
                                                 const std::map<std::string, std::string>& bound,
                                                 std::vector<Member>& found) {
  // dim3 and the pairs of small numbers have constructors that take their members in order.
  const bool is_listed =
      record.getName() == "dim3" || record.getName() == "__half2" || record.getName() == "__nv_bfloat162";
  const bool is_made = making_ == Making::by_setting
                           ? can_be_set(record)
                           : !record.isUnion() && (record.isAggregate() || is_listed);
  if (!is_made)
    return Error{"", "'" + path + "' is a union or has constructors or private members", ""};
  std::string list;
  const auto append = [&](const std::string& part) { list += (list.empty() ? "" : ", ") + part; };
  for (const CXXBaseSpecifier& base : record.bases()) {
    LATHE_TRY(const std::string part, take_apart(base.getType(), name, path, bound, found));
    append(part);
  }
  for (const FieldDecl* field : record.fields()) {
    const std::string member = field->getNameAsString();
    if (member.empty() || field->isBitField())
      return Error{"", "'" + path + "' has members without a name, or of some bits", ""};
    LATHE_TRY(const std::string part,
              take_apart(field->getType(), name + "_" + member, path + "." + member, bound, found));
    append(part);
  }
  return "{" + list + "}";
}

// What no list makes may still be set member by member, whatever the types are. Its constructors do not run,
// as they do not where a launch copies it to the device.
Result<std::string> Flattener::set_members(unsigned index, QualType type, std::vector<Member>& found) {
  const ParmVarDecl* parameter = kernel_.getParamDecl(index);
  const std::string name = parameter->getNameAsString(), bytes = free_name(name + "_bytes"),
                    spelled = type.getAsString(PrintingPolicy(context_.getLangOpts()));
  const bool is_const = parameter->getType().isConstQualified();
  const std::string object = is_const ? free_name(name + "_object") : name;
  making_ = Making::by_setting;
  auto walked = take_apart(type, name, name, {}, found);
  making_ = Making::by_list;
  LATHE_CHECK(std::move(walked));
  std::string made = fmt::format("\n  alignas({0}) unsigned char {1}[sizeof({0})] = {{}};", spelled, bytes) +
                     object_in_bytes(spelled, bytes, object);
  for (const Member& member : found)
    made += fmt::format("\n  {}{} = {};", object, member.path.substr(name.size()), member.name);
  return is_const ? made + fmt::format("\n  const {}& {} = {};", spelled, name, object) : made;
}

std::string Flattener::object_in_bytes(const std::string& type, const std::string& bytes,
                                       const std::string& name) const {
  return fmt::format("\n  {0}& {1} = *reinterpret_cast<{0}*>({2});", type, name, bytes);
}

// An object that cannot be made otherwise: its members are copied to where they lie in it. What that is in
// one instance is taken for all, as far as the size says so.
Result<std::string> Flattener::place_members(unsigned index, QualType type, std::vector<Member>& found) {
  LATHE_TRY(const ObjectImage image, image_of_parameter(original_, index, MOST_MEMBERS));
  const ParmVarDecl* parameter = kernel_.getParamDecl(index);
  const std::string name = parameter->getNameAsString(), bytes = free_name(name + "_bytes"),
                    spelled = type.getAsString(PrintingPolicy(context_.getLangOpts()));
  std::string made = fmt::format("\n  alignas({0}) unsigned char {1}[sizeof({0})] = {{}};"
                                 "\n  static_assert(sizeof({0}) == {2}, \"another layout of {0}\");",
                                 spelled, bytes, image.bytes);
  for (const ImageMember& member : image.members) {
    const std::string own = free_name(member.name);
    found.push_back({member.type, own, member.path});
    made += fmt::format("\n  memcpy({0} + {1}, &{2}, sizeof({2}));", bytes, member.offset, own);
  }
  return made +
         object_in_bytes((parameter->getType().isConstQualified() ? "const " : "") + spelled, bytes, name);
}

// The parameter is made in the body from nothing: a functor without data.
Status Flattener::make_in_body(unsigned index, std::string& made) {
  const ParmVarDecl* parameter = kernel_.getParamDecl(index);
  for (const FunctionDecl* declared : kernel_.redecls()) {
    const auto own = bytes_of(context_, declared->getParamDecl(index)->getSourceRange());
    const auto neighbour =
        declared->getNumParams() == 1
            ? own
            : bytes_of(context_, declared->getParamDecl(index == 0 ? 1 : index - 1)->getSourceRange());
    if (!own || !neighbour)
      return Error{"cannot tune " + kernel_.getNameAsString(),
                   "parameter '" + parameter->getNameAsString() + "' is written by a macro",
                   "leave the parameter out of the kernel"};
    // With the comma to the parameter before it, or behind it.
    const std::size_t begin = index == 0 ? own->first : neighbour->second,
                      end = index == 0 && declared->getNumParams() > 1 ? neighbour->first : own->second;
    changes.push_back({begin, end, ""});
  }
  members[parameter->getNameAsString()] = {};
  made += fmt::format(
      "\n  {} {}{{}};",
      parameter->getType().getUnqualifiedType().getAsString(PrintingPolicy(context_.getLangOpts())),
      parameter->getNameAsString());
  return Done{};
}

Status Flattener::run(const std::vector<unsigned>& empty) {
  std::string made;
  for (unsigned i = 0; i < kernel_.getNumParams(); ++i) {
    const ParmVarDecl* parameter = kernel_.getParamDecl(i);
    const QualType type = parameter->getType().getUnqualifiedType();
    if (std::ranges::find(empty, i) != empty.end() && !parameter->getName().empty()) {
      LATHE_CHECK(make_in_body(i, made));
      continue;
    }
    std::map<std::string, std::string> bound;
    const bool is_of_instance = is_object_in_instances(original_, i);
    if (type->isReferenceType() || is_number_or_pointer(type) ||
        (!is_of_instance && !record_of(type, bound, policy_)))
      continue;
    const std::string name = parameter->getNameAsString();
    const auto refused = [&](const std::string& why) {
      return Error{"cannot tune " + kernel_.getNameAsString(),
                   fmt::format("parameter '{}' of type {} cannot be passed member by member: {}", name,
                               type.getAsString(policy_), why),
                   "pass its members as parameters of their own"};
    };
    argument_names_ = names_in_arguments(type);
    std::vector<Member>& found = members[name];
    // No list makes what has another class in each instance.
    const auto initialiser = is_of_instance
                                 ? Result<std::string>(Error{"", "its class is a template parameter", ""})
                                 : take_apart(type, name, name, {}, found);
    std::optional<std::string> placed; // in its bytes
    if (!initialiser.ok() && !is_of_instance) {
      found.clear();
      if (auto set = set_members(i, type, found); set.ok())
        placed = std::move(*set);
    }
    if (!initialiser.ok() && !placed) {
      found.clear();
      auto placing = place_members(i, type, found);
      if (!placing) {
        const std::string &by_list = initialiser.error().why, &by_bytes = placing.error().why;
        return refused(by_list == by_bytes ? by_list : by_list + ", and " + by_bytes);
      }
      placed = std::move(*placing);
    }
    if (name.empty() || found.empty()) {
      members.erase(name);
      continue;
    }
    std::string list;
    for (const Member& member : found)
      list += fmt::format("{}{}{}{}", list.empty() ? "" : ", ", member.type,
                          member.type.ends_with("*") ? "" : " ", member.name);
    // Declarations of the kernel say the same.
    for (const FunctionDecl* declared : kernel_.redecls()) {
      const auto place = bytes_of(context_, declared->getParamDecl(i)->getSourceRange());
      if (!place)
        return refused("it is written by a macro");
      changes.push_back({place->first, place->second, list});
    }
    made += placed
                ? *placed
                : fmt::format("\n  {}{} {}{};", parameter->getType().isConstQualified() ? "const " : "",
                              type.getAsString(PrintingPolicy(context_.getLangOpts())), name, *initialiser);
  }
  if (made.empty())
    return Done{};
  const auto body = bytes_of(context_, kernel_.getBody()->getSourceRange());
  if (!body)
    return Error{"cannot tune " + kernel_.getNameAsString(), "its body is written by a macro",
                 "pass the members of its structures as parameters of their own"};
  changes.push_back({body->first + 1, body->first + 1, made});
  return Done{};
}

// Parameters without data: functors, also those that are template parameters, as far as the file's instances
// tell.
std::vector<unsigned> empty_parameters(const FunctionDecl& kernel) {
  std::vector<unsigned> found;
  const FunctionTemplateDecl* described = kernel.getDescribedFunctionTemplate();
  for (unsigned i = 0; i < kernel.getNumParams(); ++i) {
    const QualType type = kernel.getParamDecl(i)->getType();
    bool is_empty = is_empty_object(type);
    if (described && isa<TemplateTypeParmType>(type.getCanonicalType())) {
      is_empty = described->spec_begin() != described->spec_end();
      for (const FunctionDecl* instance : described->specializations())
        is_empty &= i < instance->getNumParams() && is_empty_object(instance->getParamDecl(i)->getType());
    }
    if (is_empty)
      found.push_back(i);
  }
  return found;
}

// Whether the kernel may take a structure: what this can tell without parsing again.
bool takes_structures(const KernelInfo& kernel) {
  return std::ranges::any_of(kernel.declaration->parameters(), [&](const ParmVarDecl* parameter) {
    const QualType type = parameter->getType();
    return !type->isReferenceType() && !is_number_or_pointer(type) &&
           (type->getAsCXXRecordDecl() || type->getAs<TemplateSpecializationType>() ||
            is_object_in_instances(*kernel.declaration, parameter->getFunctionScopeIndex()));
  });
}

} // namespace

Result<Flattened> flatten_structures(ExtractedKernel& extracted, KernelInfo& kernel,
                                     const ParseOptions& options) {
  Flattened result;
  const std::vector<unsigned> empty = empty_parameters(*kernel.declaration);
  if (empty.empty() && !takes_structures(kernel))
    return result;
  if (std::ranges::any_of(kernel.declaration->parameters(), [](const ParmVarDecl* parameter) {
        return parameter->getBeginLoc().isMacroID() && parameter->getEndLoc().isMacroID();
      }))
    LATHE_CHECK(spell_macro_parameters(extracted, options));
  LATHE_TRY(const std::unique_ptr<ParsedSource> source, parse_extracted(extracted, options));
  LATHE_TRY(const KernelInfo before, find_kernel(*source, extracted.kernel));
  Flattener flattener(implementation(*source), extracted.text, *before.declaration, *kernel.declaration);
  LATHE_CHECK(flattener.run(empty));
  if (flattener.changes.empty())
    return result;
  std::ranges::sort(flattener.changes, std::greater<>(), &Flattener::Change::begin);
  for (const Flattener::Change& change : flattener.changes)
    extracted.text.replace(change.begin, change.end - change.begin, change.text);
  LATHE_CHECK(take_changed_parameters(extracted, kernel, options, "with its structures taken apart",
                                      "pass their members as parameters of their own"));
  for (LaunchSite& site : kernel.launches)
    for (const auto& [name, members] : flattener.members)
      for (const Member& member : members)
        if (const auto passed = site.arguments.find(member.path); passed != site.arguments.end())
          site.arguments[member.name] = passed->second;
  for (const auto& [name, members] : flattener.members)
    for (const Member& member : members)
      result.member_paths[member.name] = member.path;
  for (const auto& [name, members] : flattener.members)
    result.told.push_back(members.empty()
                              ? name + " has no data, and is made in the kernel"
                              : fmt::format("{} is passed member by member: {} parameters from {}", name,
                                            members.size(), members.front().name));
  return result;
}

} // namespace lathe::refactor
