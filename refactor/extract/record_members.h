// Structures as classes and class templates say what they hold.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace lathe::refactor {

// `text` with whole identifiers replaced.
std::string replace_words(const std::string& text, const std::map<std::string, std::string>& words);

// The structure behind a type, with what its template parameters are bound to; null for numbers and pointers.
// `as_written`: the template of an instance, so that its arguments keep their names (int64_t is another type
// to NVRTC than to Clang).
const clang::CXXRecordDecl* record_of(clang::QualType type, std::map<std::string, std::string>& bound,
                                      const clang::PrintingPolicy& policy, bool as_written = false);

// Of `T sizes[N]` in a class template, how many there are, where N is bound to a number.
std::optional<std::uint64_t> number_of_elements(const clang::DependentSizedArrayType& array,
                                                const std::map<std::string, std::string>& bound,
                                                const clang::PrintingPolicy& policy);

// A type's text with the names of a function template's own parameters, which types behind aliases have as
// numbers
// ("type-parameter-0-1").
std::string with_parameter_names(const std::string& type, const clang::FunctionDecl& function);

// Whether a type's text names a class that is no number: what a template parameter is bound to may be one.
bool names_structure(const std::string& type, const clang::ASTContext& context);

// Whether the type is a class without data: a functor.
bool is_empty_object(clang::QualType type);

// Whether each member of the class's own can be set from outside, and all it holds are its members.
bool can_be_set(const clang::CXXRecordDecl& record);

} // namespace lathe::refactor
