// How a kernel's body uses one of its parameters as a table.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

// An entry that is read: table[index], *table or *(table + index).
struct TableRead {
  const clang::Expr* read = nullptr;  // all of it
  const clang::Expr* index = nullptr; // null: the first
  clang::QualType cast;               // what the entry is cast to, if at all
};

// All reads of a kernel's table: of a parameter, or of the member that `member_path` ("args.tables") names
// where the parameter stands for a structure's. Nothing where the body, or other code that knows the
// structure, uses it in another way: passes it on, moves it, writes to it.
std::optional<std::vector<TableRead>> table_reads(clang::ASTContext& context,
                                                  const clang::FunctionDecl& kernel,
                                                  const clang::ParmVarDecl& table,
                                                  const std::string& member_path);

} // namespace lathe::refactor
