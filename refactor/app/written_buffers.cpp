#include "refactor/app/written_buffers.h"

#include "refactor/app/raw_source.h"
#include "refactor/knobs/buffer_accesses.h"
#include "refactor/knobs/kernel_view.h"

#include <algorithm>
#include <fmt/format.h>
#include <variant>

namespace lathe::refactor {
namespace {

bool is_plain_pointer(clang::QualType type) {
  return type->isPointerType() && !type->getPointeeType().isConstQualified();
}

bool stores_to(const KernelView& view, const clang::ParmVarDecl* parameter) {
  const auto accesses = accesses_of(view, parameter, true);
  if (const auto* known = std::get_if<std::vector<BufferAccess>>(&accesses))
    if (std::ranges::any_of(*known, &BufferAccess::writes))
      return true;
  // To a function that may write there.
  bool found = false;
  view.visit([&](const clang::Stmt* statement) {
    if (const auto* call = clang::dyn_cast<clang::CallExpr>(statement))
      for (const clang::Expr* argument : call->arguments())
        found |= is_plain_pointer(argument->getType()) && view.base_pointer(argument) == parameter;
  });
  return found;
}

} // namespace

void mark_written(Candidate& raw, const std::vector<std::string>& fixed, const ParseOptions& options,
                  std::vector<std::string>& notes) {
  const auto parsed = parse_raw(raw, options);
  if (!parsed)
    return;
  const KernelView view(*parsed->source, parsed->kernel);
  for (const clang::ParmVarDecl* parameter : parsed->kernel.declaration->parameters()) {
    const std::string name = parameter->getNameAsString();
    const auto argument = std::ranges::find(raw.arguments, name, &Argument::name);
    if (argument == raw.arguments.end() || !argument->is_buffer || argument->direction != Direction::in ||
        !is_plain_pointer(parameter->getType()) || std::ranges::find(fixed, name) != fixed.end() ||
        !stores_to(view, parameter))
      continue;
    argument->direction = Direction::inout;
    notes.push_back(
        fmt::format("{} is read and written, as the kernel's text says: no traced run wrote it (say "
                    "otherwise in a workload file)",
                    name));
  }
}

} // namespace lathe::refactor
