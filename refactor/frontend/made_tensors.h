// Tensors that a launcher makes: torch::zeros({rows, 2 * columns}, options) has these sizes.
#pragma once

#include "refactor/frontend/host_value.h"

#include <string>

namespace clang {
class Expr;
class InitListExpr;
} // namespace clang

namespace lathe::refactor {

// Whether a function of that name makes a tensor of the sizes that it is given first.
bool makes_tensor(const std::string& function);

// The list that an argument is written as: {rows, 2 * columns}. Null where it is none.
const clang::InitListExpr* written_list(const clang::Expr* argument);

// The size of an axis, counted from the last where it is negative, of a value that stands for a tensor which
// was made: its elements are the sizes. Null for any other value or axis.
const HostValue* known_size(const HostValue& tensor, int axis);

} // namespace lathe::refactor
