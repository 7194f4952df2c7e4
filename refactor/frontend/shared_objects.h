// Objects in shared memory whose class has a constructor: NVIDIA's compilers warn that it does not run, Clang
// refuses the declaration.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace lathe::refactor {

// Text in place of a declaration.
struct SharedStorage {
  std::size_t begin = 0, length = 0; // from __shared__, or what stands before it, up to the semicolon
  std::string text;
};

// Where the name at `at` is declared by `__shared__ Type name[2];`: bytes of the object's size and alignment,
// and the name as a reference to what lies there, which is what nvcc makes of it. Lines stay where they are.
// Nothing for declarations of another form: with an initialiser, of a pointer, of a class that is defined
// there.
std::optional<SharedStorage> storage_of_shared_object(const std::string& text, std::size_t at);

} // namespace lathe::refactor
