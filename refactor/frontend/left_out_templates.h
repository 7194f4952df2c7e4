// Calls of dependent member templates without the keyword `template`, which nvcc and NVRTC accept.
#pragma once

#include "refactor/frontend/parsed_source.h"

#include <clang/AST/ASTContext.h>

#include <vector>

namespace lathe::refactor {

// In templates that nothing instantiates Clang reads `x.sum<N>(y)` as two comparisons and says nothing: each
// of these outside of system headers, as the error that it is where the template is instantiated.
std::vector<ParseError> left_out_templates(clang::ASTContext& context);

} // namespace lathe::refactor
