#include "refactor/extract/pointer_tables.h"

#include "refactor/extract/changed_parameters.h"
#include "refactor/extract/object_image.h"
#include "refactor/extract/table_reads.h"
#include "refactor/frontend/parsed_source.h"

#include <clang/AST/Decl.h>

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <regex>

namespace lathe::refactor {
namespace {

using namespace clang;

bool is_address_sized_integer(QualType type) {
  type = type.getCanonicalType();
  return type->isSpecificBuiltinType(BuiltinType::Long) || type->isSpecificBuiltinType(BuiltinType::ULong) ||
         type->isSpecificBuiltinType(BuiltinType::LongLong) ||
         type->isSpecificBuiltinType(BuiltinType::ULongLong);
}

class TableRewriter {
public:
  TableRewriter(ParsedSource& source, const ExtractedKernel& extracted, const FunctionDecl& kernel,
                const std::map<std::string, std::string>& member_paths)
      : extracted_(extracted), kernel_(kernel), member_paths_(member_paths),
        context_(source.ast().getASTContext()), policy_(context_.getLangOpts()) {
    policy_.SuppressTagKeyword = true;
  }

  void run() {
    for (const ParmVarDecl* parameter : kernel_.parameters())
      if (std::vector<Change> own; auto table = rewrite(*parameter, own)) {
        tables.push_back(std::move(*table));
        changes.insert(changes.end(), own.begin(), own.end());
      }
  }

  struct Change {
    std::size_t begin, end;
    std::string text;
  };
  std::vector<PointerTable> tables;
  std::vector<Change> changes;

private:
  std::string free_name(std::string name) const {
    while (std::regex_search(extracted_.text, std::regex("\\b" + name + "\\b")))
      name += "_";
    return name;
  }
  // What the entries point to; null where the parameter is no table.
  QualType pointee(const ParmVarDecl& parameter, const std::vector<TableRead>& reads) const;
  std::optional<PointerTable> rewrite(const ParmVarDecl& parameter, std::vector<Change>& own) const;

  const ExtractedKernel& extracted_;
  const FunctionDecl& kernel_;
  const std::map<std::string, std::string>& member_paths_;
  ASTContext& context_;
  PrintingPolicy policy_;
};

// Of integers, and of pointers to void, the one type that all reads cast them to.
QualType TableRewriter::pointee(const ParmVarDecl& parameter, const std::vector<TableRead>& reads) const {
  const QualType entry = parameter.getType()->getPointeeType();
  if (entry->isPointerType() && !entry->getPointeeType()->isVoidType())
    return entry->getPointeeType();
  QualType found;
  for (const TableRead& read : reads) {
    if (read.cast.isNull() || !read.cast->isPointerType())
      return {};
    const QualType own = read.cast->getPointeeType();
    if (!found.isNull() && found.getUnqualifiedType() != own.getUnqualifiedType())
      return {};
    // Written to by one of them.
    if (found.isNull() || !own.isConstQualified())
      found = own;
  }
  return found;
}

std::optional<PointerTable> TableRewriter::rewrite(const ParmVarDecl& parameter,
                                                   std::vector<Change>& own) const {
  const QualType type = parameter.getType();
  if (!type->isPointerType() || parameter.getName().empty())
    return std::nullopt;
  const QualType entry = type->getPointeeType();
  if (!entry->isPointerType() && !is_address_sized_integer(entry))
    return std::nullopt;
  const std::string name = parameter.getNameAsString();
  const auto path = member_paths_.find(name);
  const bool is_member = path != member_paths_.end();
  const auto reads = table_reads(context_, kernel_, parameter, is_member ? path->second : "");
  if (!reads || reads->empty())
    return std::nullopt;
  const QualType element = pointee(parameter, *reads);
  // Of tables of tables, of classes and of functions nothing is known.
  if (element.isNull() || element->isVoidType() ||
      (!is_number_or_pointer(element.getUnqualifiedType()) && !element->isDependentType()) ||
      element->isPointerType())
    return std::nullopt;
  const PointerTable table{free_name(name + "_places"), free_name(name + "_pitch"),
                           free_name(name + "_elements")};
  const std::string pointer = element.getAsString(policy_) + " *",
                    bytes = element.isConstQualified() ? "const char" : "char";
  for (const FunctionDecl* declared : kernel_.redecls()) {
    const auto place =
        bytes_of(context_, declared->getParamDecl(parameter.getFunctionScopeIndex())->getSourceRange());
    if (!place)
      return std::nullopt;
    own.push_back({place->first, place->second,
                   fmt::format("const long long* {}, long long {}, {}{}", table.places, table.pitch, pointer,
                               table.elements)});
  }
  const std::string target = entry->isPointerType() && !entry->getPointeeType()->isVoidType()
                                 ? pointer
                                 : fmt::format("{}void *", element.isConstQualified() ? "const " : "");
  const std::string begin = fmt::format(
                        "static_cast<{}>(static_cast<{}void *>(reinterpret_cast<{} *>({}) + {}[", target,
                        element.isConstQualified() ? "const " : "", bytes, table.elements, table.places),
                    end = fmt::format("] * {}))", table.pitch);
  for (const TableRead& read : *reads) {
    const auto whole = bytes_of(context_, read.read->getSourceRange());
    const auto index = read.index ? bytes_of(context_, read.index->getSourceRange()) : whole;
    if (!whole || !index)
      return std::nullopt;
    // In two parts: the index may read another table.
    if (!read.index) {
      own.push_back({whole->first, whole->second, begin + "0" + end});
      continue;
    }
    own.push_back({whole->first, index->first, begin});
    own.push_back({index->second, whole->second, end});
  }
  if (is_member) {
    const auto body = bytes_of(context_, kernel_.getBody()->getSourceRange());
    if (!body)
      return std::nullopt;
    // The structure is still made of all its members.
    own.push_back(
        {body->first + 1, body->first + 1,
         fmt::format("\n  {} {} = nullptr;", type.getUnqualifiedType().getAsString(policy_), name)});
  }
  return table;
}

} // namespace

Result<std::vector<PointerTable>>
number_pointer_tables(ExtractedKernel& extracted, KernelInfo& kernel, const ParseOptions& options,
                      const std::map<std::string, std::string>& member_paths) {
  const auto may_be_table = [](const KernelParameter& parameter) {
    return parameter.is_pointer && (parameter.element.find('*') != std::string::npos ||
                                    parameter.element.find("64") != std::string::npos ||
                                    parameter.element.find("ptr_t") != std::string::npos ||
                                    parameter.element.find("long") != std::string::npos);
  };
  if (std::ranges::none_of(kernel.parameters, may_be_table))
    return std::vector<PointerTable>{};
  LATHE_TRY(const std::unique_ptr<ParsedSource> source, parse_extracted(extracted, options));
  LATHE_TRY(const KernelInfo before, find_kernel(*source, extracted.kernel));
  TableRewriter rewriter(*source, extracted, *before.declaration, member_paths);
  rewriter.run();
  if (rewriter.tables.empty())
    return std::vector<PointerTable>{};
  std::ranges::stable_sort(rewriter.changes, std::greater<>(), &TableRewriter::Change::begin);
  for (const auto& change : rewriter.changes)
    extracted.text.replace(change.begin, change.end - change.begin, change.text);
  LATHE_CHECK(take_changed_parameters(extracted, kernel, options, "with its tables of pointers as numbers",
                                      "pass one buffer and the distance of its parts instead"));
  return std::move(rewriter.tables);
}

} // namespace lathe::refactor
