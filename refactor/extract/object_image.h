// A structure as the bytes that it is: what constructors and private members keep from being written as a
// list.
#pragma once

#include "tuner/base/result.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::refactor {

// What a specification passes as it is: numbers, pointers, and the small formats that are structures to the
// compiler.
bool is_number_or_pointer(clang::QualType type);

// Whether the parameter's class is a template parameter of the kernel, or a type that another class says for
// its template arguments (typename Vector<D>::Type), that is an object in the file's instances: a functor
// with data, a structure of parameters.
bool is_object_in_instances(const clang::FunctionDecl& kernel, unsigned index);

// One number or pointer inside an object.
struct ImageMember {
  std::string
      type; // as kernel parameters may have it, in the kernel template's own names where they decide it
  std::string name;         // "grid_size_0" of grid.size[0]
  std::string path;         // "grid.size[0]"
  std::uint64_t offset = 0; // bytes
};

struct ObjectImage {
  std::uint64_t bytes = 0;
  std::vector<ImageMember> members;
};

// The members of the kernel's parameter, by the layout that it has in the file: where the kernel is a
// template, in the first of its instances there. Of unions the largest member counts. Fails with what stands
// in the way as the error's reason: virtual functions, references, bit fields, more than `most` members, no
// instance.
Result<ObjectImage> image_of_parameter(const clang::FunctionDecl& kernel, unsigned index, std::size_t most);

} // namespace lathe::refactor
