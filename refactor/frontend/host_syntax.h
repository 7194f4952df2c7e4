// What host code is, as written: shared by the parts of HostReader. Internal to this folder.
#pragma once

#include <clang/AST/ExprCXX.h>

#include <optional>
#include <string>

namespace lathe::refactor::host_syntax {

// Helper functions are followed this deep; recursion and long chains are not geometry.
inline constexpr int CALL_DEPTH = 8;

// Begins the reason why nothing is known of a value behind a loop.
inline constexpr const char* CHANGES_IN_LOOP = "a value changes in the loop of";

// By which a symbolic size (SGLang's) tells its number: it has a name of its own.
inline constexpr const char* UNWRAP = "unwrap";

// An integer that may be a size.
bool is_size(clang::QualType type);
bool is_dim3(clang::QualType type);
// Or may become one, where it depends on a template parameter.
bool is_integer(clang::QualType type);
// The declaration of the type parameter that the type is, as it is written; null where it is none, or in a
// type that does not know how it was written.
const clang::NamedDecl* type_parameter(clang::QualType type);
// PyTorch's at::opmath_type<T> and at::acc_type<T, true>, what sums of T's are kept in: the T; null for
// others.
clang::QualType summed_type(clang::QualType type);
// Without parentheses, implicit conversions and temporaries.
const clang::Expr* plain(const clang::Expr* expression);
// The variable that an expression names; null where it is more than that.
const clang::VarDecl* variable_of(const clang::Expr* expression);
// The array that an expression is an element of; null for what is no element, or one of what a pointer points
// to.
const clang::Expr* element_of_array(const clang::Expr* expression);
// The object that an expression is a member of, or the array that it is an element of; null for neither.
const clang::Expr* whole_of(const clang::Expr* part);
// Whether it is named anywhere in the statement.
bool names_variable(const clang::Stmt* statement, const clang::VarDecl* variable);
// The one expression that a loop evaluates in each round; null where it does more.
const clang::Expr* only_change(const clang::Expr* step, const clang::Stmt* body);
// The last statement of blocks, inside one another.
const clang::Stmt* last_of(const clang::Stmt* statement);
// Whether control does not come back from such an expression: it throws, or calls what never returns. So
// many functions are looked into.
bool ends_here(const clang::Expr* expression, int depth = 3);
// The same of the last statement.
bool is_end(const clang::Stmt* statement, int depth = 3);
// An enumerator's number, also in a class template, where Clang leaves it open; nothing where it follows the
// template's parameters.
std::optional<std::string> number_of(const clang::EnumConstantDecl& enumerator);
// The first closure at or below the statement; null where there is none.
const clang::LambdaExpr* closure_in(const clang::Stmt* statement);
// What a query of the device asks for, by the member or attribute that is named: properties have names of
// their own ("device.multiprocessors"). Empty for others.
std::string device_property(const std::string& member);

} // namespace lathe::refactor::host_syntax
