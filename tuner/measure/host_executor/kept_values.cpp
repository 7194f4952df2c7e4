#include "tuner/measure/host_executor/kept_values.h"

#include <algorithm>
#include <cstring>

namespace lathe::host {

std::vector<std::byte>& KeptValues::of(const void* owner) {
  if (last_ == nullptr || last_owner_ != owner) {
    last_ = &values_[owner]; // elements of the map stay where they are
    last_owner_ = owner;
  }
  return *last_;
}

void KeptValues::keep(const void* owner, unsigned number, const void* value, unsigned bytes) {
  std::vector<std::byte>& all = of(owner);
  const std::size_t begin = std::size_t{number} * bytes;
  if (all.size() < begin + bytes)
    all.resize(begin + bytes);
  std::memcpy(all.data() + begin, value, bytes);
}

void KeptValues::recall(const void* owner, unsigned number, void* value, unsigned bytes) {
  const std::vector<std::byte>& all = of(owner);
  const std::size_t begin = std::min(std::size_t{number} * bytes, all.size());
  const std::size_t known = std::min<std::size_t>(bytes, all.size() - begin);
  std::memset(value, 0, bytes);
  if (known > 0)
    std::memcpy(value, all.data() + begin, known);
}

void KeptValues::clear() {
  values_.clear();
  last_ = nullptr;
}

} // namespace lathe::host
