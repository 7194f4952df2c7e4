#include "refactor/app/declared_kernel.h"

#include "refactor/app/launcher_search.h"
#include "tuner/base/files.h"

#include <clang/AST/Decl.h>

#include <algorithm>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

std::string spelled_type(const clang::ParmVarDecl* parameter) {
  return parameter->getType().getCanonicalType().getUnqualifiedType().getAsString();
}

// As `source` is named: an absolute path stays one.
fs::path named_like(const fs::path& source, const fs::path& definition) {
  if (source.is_absolute())
    return definition;
  const fs::path folder = fs::absolute(source).lexically_normal().parent_path();
  return (source.parent_path() / definition.lexically_relative(folder)).lexically_normal();
}

} // namespace

std::optional<SubjectRequest> request_where_defined(const SubjectRequest& request, ParsedSource& source) {
  if (request.kernel.empty())
    return std::nullopt;
  const auto kernel = find_kernel(source, request.kernel);
  if (!kernel.ok() || !kernel->declaration || kernel->declaration->getDefinition() ||
      kernel->declaration->hasBody())
    return std::nullopt;
  const auto definition = defining_file(request.source, kernel->name);
  if (!definition)
    return std::nullopt;
  SubjectRequest where = request;
  where.source = named_like(request.source, *definition);
  where.declared_in = request.source;
  const fs::path beside = fs::path(request.source).replace_extension(".workload.json");
  if (where.workload.empty() && path_exists(beside))
    where.workload = beside;
  return where;
}

bool is_same_kernel(const KernelInfo& declared, const KernelInfo& defined) {
  return declared.declaration && defined.declaration && declared.qualified_name == defined.qualified_name &&
         std::ranges::equal(declared.declaration->parameters(), defined.declaration->parameters(), {},
                            spelled_type, spelled_type);
}

} // namespace lathe::refactor
