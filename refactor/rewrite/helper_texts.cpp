#include "refactor/rewrite/helper_texts.h"

namespace lathe::refactor {

const char* const PACKED_STORE_HELPERS = R"(
// COUNT values in registers, aligned as far as their number allows, to 16 bytes at most.
template <class V, unsigned COUNT>
struct alignas(COUNT * sizeof(V) % 16 == 0 ? 16 : COUNT * sizeof(V) & -(COUNT * sizeof(V))) lathe_packed {
  V element[COUNT];
};
// To consecutive places: in wide stores where the address allows it.
template <class V, unsigned COUNT>
__device__ __forceinline__ void lathe_store_packed(const lathe_packed<V, COUNT>& values, V* target) {
  if (reinterpret_cast<unsigned long long>(target) % alignof(lathe_packed<V, COUNT>) == 0) {
    *reinterpret_cast<lathe_packed<V, COUNT>*>(target) = values;
  } else {
#pragma unroll
    for (unsigned i = 0; i < COUNT; ++i)
      target[i] = values.element[i];
  }
}
)";

std::vector<std::string_view> helper_texts() {
  return {PACKED_STORE_HELPERS};
}

} // namespace lathe::refactor
