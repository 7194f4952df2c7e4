// What the threads of a block pass to each other outside the kernel's memory.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace lathe::host {

// The values of one block. Stand-ins for libraries keep here what the library's own storage has no room for:
// cub's, for example, has room for one value a warp, as the warp's threads exchange registers.
class KeptValues {
public:
  // `bytes` bytes of `value` under the owner's number, over what was there.
  void keep(const void* owner, unsigned number, const void* value, unsigned bytes);
  // Zeros where nothing was kept.
  void recall(const void* owner, unsigned number, void* value, unsigned bytes);
  void clear();

private:
  std::vector<std::byte>& of(const void* owner);

  std::unordered_map<const void*, std::vector<std::byte>> values_;
  const void* last_owner_ = nullptr; // whom most calls in a row are for
  std::vector<std::byte>* last_ = nullptr;
};

} // namespace lathe::host
