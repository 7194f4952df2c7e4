// What stands in a class for host code alone: NVRTC has no streams, strings and containers.
#pragma once

#include "refactor/extract/source_text.h"

#include <clang/AST/DeclTemplate.h>

#include <vector>

namespace lathe::refactor {

// Whether a declaration is a member or friend function of a class that no device code can call, because its
// signature, or what it does, names a stream, a string or a container of the standard library; or is a name
// that the class has for such a type, or befriends one; or because the class says of others that they are for
// the device, and not of it; or because it is not said to be for the device and its body has an error.
// Virtual functions are none: the class's layout depends on them.
bool is_for_the_host(const clang::Decl* declaration);

// The text of such members within a declaration.
std::vector<TextSpan> host_members(ParsedSourceImpl& source, const clang::Decl* declaration);

// A specialisation of a class template for a type that NVRTC does not know (what a trait makes of
// std::complex<float>): no device code can ask for it.
bool is_of_host_types(const clang::ClassTemplateSpecializationDecl& specialised);

} // namespace lathe::refactor
