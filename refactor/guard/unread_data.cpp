#include "refactor/guard/unread_data.h"

#include "tuner/measure/fill.h"

#include <algorithm>
#include <cstdint>

namespace lathe::refactor {
namespace {

// The parts of a buffer of so many elements that were not read, in whole elements: half open, ascending.
std::vector<std::pair<std::uint64_t, std::uint64_t>>
unread_elements(const Workload& workload, std::size_t index, const std::vector<BufferAccess>& accesses) {
  const Workload::Buffer& buffer = workload.buffers[index];
  const auto dtype = element_type(buffer.dtype);
  // Offsets rise, be they read or not: who walks along them reads more than who searches among them.
  if (buffer.direction != Direction::in || !dtype || *dtype == element::boolean || accesses.empty() ||
      buffer.fill.kind == Fill::Kind::offsets)
    return {};
  const auto size = static_cast<std::int64_t>(element::size_of(*dtype));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> unread;
  std::uint64_t next = 0; // the first element that is not known to be read or not
  const auto skip_to = [&](std::uint64_t element) {
    if (element > next)
      unread.emplace_back(next, element);
  };
  for (const BufferAccess& access : accesses) {
    if (access.argument >= workload.parameters.size() || !workload.parameters[access.argument].is_buffer ||
        workload.parameters[access.argument].buffer != index)
      continue;
    for (const ByteRange& range : access.read) {
      skip_to(static_cast<std::uint64_t>(range.begin / size));
      next = std::max(next, static_cast<std::uint64_t>((range.end + size - 1) / size));
    }
  }
  skip_to(buffer.count);
  return unread;
}

} // namespace

bool leaves_unread(const Workload& workload, const std::vector<BufferAccess>& accesses) {
  for (std::size_t i = 0; i < workload.buffers.size(); ++i)
    if (!unread_elements(workload, i, accesses).empty())
      return true;
  return false;
}

void poison_unread(const Workload& workload, std::size_t index, const std::vector<BufferAccess>& accesses,
                   std::byte poison, std::span<std::byte> bytes) {
  const std::size_t size = bytes.size() / std::max<std::size_t>(1, workload.buffers[index].count);
  for (const auto& [begin, end] : unread_elements(workload, index, accesses))
    std::ranges::fill(bytes.subspan(begin * size, (end - begin) * size), poison);
}

} // namespace lathe::refactor
