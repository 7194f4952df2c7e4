// What a class says that a member of its objects is from the start: `struct Options { int rows = 4096; };`.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>

#include <cstdint>
#include <optional>
#include <string>

namespace lathe::refactor {

struct InitialMember {
  std::optional<std::int64_t> whole; // an integer
  std::optional<double> real;
  bool is_static = false; // the class's own, the same in all objects
  bool is_fixed = false;  // const: no object ever has another
};

// `object.name`, where `object` is a variable that is made from nothing but its class and the class has a
// number for the member. Nothing where an object may have been made otherwise: handed to the function, with
// values of its own, or by a constructor that sets it.
std::optional<InitialMember> initial_member(const clang::Expr* object, const std::string& name,
                                            const clang::ASTContext& context);

} // namespace lathe::refactor
