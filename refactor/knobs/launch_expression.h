// Index arithmetic of a kernel as an expression over what the launcher knows: dimensions, knobs, sizes of
// types.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <array>

namespace lathe::refactor {

// What is known of the launch, as text of Lathe expressions.
struct LaunchFacts {
  std::array<std::string, 3> grid, block;
  std::array<std::optional<std::int64_t>, 3> constant_block;
  std::map<std::string, std::string> builtins; // values of threadIdx.x and the like, where they are fixed
  std::map<const clang::ValueDecl*, std::string> names; // of constants that stand for themselves
  std::function<std::optional<std::string>(const std::string&)> parameter;          // of the kernel, by name
  std::function<std::optional<std::string>(const std::string&)> template_parameter; // by name
  std::function<std::optional<std::string>(const std::string&)> size_of;            // of a type, as written
};

// Nothing where the value is not known before the launch. Expands what KernelView::evaluate expands.
std::optional<std::string> launch_expression(const KernelView& view, const clang::Expr* expression,
                                             const LaunchFacts& facts);

} // namespace lathe::refactor
