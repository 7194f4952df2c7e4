// Structures as classes and class templates say what they hold.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>

#include <map>
#include <string>

namespace lathe::refactor {

// `text` with whole identifiers replaced.
std::string replace_words(const std::string& text, const std::map<std::string, std::string>& words);

// The structure behind a type, with what its template parameters are bound to; null for numbers and pointers.
// `as_written`: the template of an instance, so that its arguments keep their names (int64_t is another type
// to NVRTC than to Clang).
const clang::CXXRecordDecl* record_of(clang::QualType type, std::map<std::string, std::string>& bound,
                                      const clang::PrintingPolicy& policy, bool as_written = false);

// Whether each member of the class's own can be set from outside, and all it holds are its members.
bool can_be_set(const clang::CXXRecordDecl& record);

} // namespace lathe::refactor
