#include "tuner/measure/fill.h"
#include "tuner/measure/host_executor/host_executor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace lathe {
namespace {

constexpr std::size_t ALIGNMENT = 256;
static_assert(GUARD_BYTES % ALIGNMENT == 0);

// Address space on either side of a buffer that nobody may touch. What reaches further than the guard bytes
// would otherwise be in another buffer, or in none, as it happens, and so be a fault in one run alone.
constexpr std::size_t GAP_BYTES = std::size_t{16} << 20;
constexpr std::size_t PAGE_BYTES = 4096;

Error no_memory(std::size_t bytes) {
  return {"cannot allocate a buffer of " + std::to_string(bytes) + " bytes", std::strerror(errno),
          "choose a smaller problem"};
}

std::size_t mapped_bytes(std::size_t size) {
  return 2 * GAP_BYTES + (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

// Pages for `size` bytes behind one gap and in front of another: where the first gap begins, of
// mapped_bytes() in all. Null, with errno, where there is no room.
std::byte* map_apart(std::size_t size, int flags, int file) {
  void* whole =
      mmap(nullptr, mapped_bytes(size), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED)
    return nullptr;
  std::byte* inner = static_cast<std::byte*>(whole) + GAP_BYTES;
  if (mmap(inner, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED | flags, file, 0) ==
      MAP_FAILED) {
    const int reason = errno;
    munmap(whole, mapped_bytes(size));
    errno = reason;
    return nullptr;
  }
  return static_cast<std::byte*>(whole);
}

} // namespace

Result<HostBuffer> HostBuffer::allocate(std::size_t bytes, std::size_t misalignment) {
  return map(bytes, misalignment, 0);
}

Result<HostBuffer> HostBuffer::allocate_whole(std::size_t bytes, std::size_t misalignment) {
  return map(bytes, misalignment, MAP_POPULATE);
}

Result<HostBuffer> HostBuffer::map(std::size_t bytes, std::size_t misalignment, int flags) {
  if (misalignment >= ALIGNMENT)
    return usage_error("cannot allocate a buffer", "the misalignment is not below 256 bytes");
  HostBuffer buffer;
  const std::size_t size = 2 * GUARD_BYTES + ALIGNMENT + bytes;
  buffer.mapping_ = map_apart(size, MAP_ANONYMOUS | flags, -1);
  if (buffer.mapping_ == nullptr)
    return no_memory(bytes);
  buffer.mapping_size_ = mapped_bytes(size);
  buffer.data_ = buffer.mapping_ + GAP_BYTES + GUARD_BYTES + misalignment;
  buffer.size_ = bytes;
  buffer.reset_guards();
  return buffer;
}

Result<HostBuffer> HostBuffer::allocate_sparse(std::size_t bytes) {
  HostBuffer buffer; // closes its file where the rest fails
  const std::size_t size = 2 * GUARD_BYTES + bytes;
  buffer.file_ = memfd_create("lathe-buffer", MFD_CLOEXEC);
  if (buffer.file_ < 0 || ftruncate(buffer.file_, static_cast<off_t>(size)) != 0)
    return no_memory(bytes);
  buffer.mapping_ = map_apart(size, 0, buffer.file_);
  if (buffer.mapping_ == nullptr)
    return no_memory(bytes);
  buffer.mapping_size_ = mapped_bytes(size);
  buffer.data_ = buffer.mapping_ + GAP_BYTES + GUARD_BYTES;
  buffer.size_ = bytes;
  buffer.reset_guards();
  return buffer;
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)), mapping_size_(std::exchange(other.mapping_size_, 0)),
      data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
      file_(std::exchange(other.file_, -1)) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_size_, other.mapping_size_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(file_, other.file_);
  return *this;
}

HostBuffer::~HostBuffer() {
  if (mapping_ != nullptr)
    munmap(mapping_, mapping_size_);
  if (file_ >= 0)
    close(file_);
}

void HostBuffer::reset_guards() {
  for (std::size_t i = 0; i < GUARD_BYTES; ++i) {
    data_[static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(GUARD_BYTES)] = guard_byte(i);
    data_[size_ + i] = guard_byte(i);
  }
}

std::optional<std::ptrdiff_t> HostBuffer::damage() const {
  for (std::size_t i = 0; i < GUARD_BYTES; ++i) {
    const auto before = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(GUARD_BYTES);
    if (data_[before] != guard_byte(i))
      return before;
    if (data_[size_ + i] != guard_byte(i))
      return static_cast<std::ptrdiff_t>(size_ + i);
  }
  return {};
}

Result<std::vector<ByteRange>> HostBuffer::touched() const {
  if (file_ < 0)
    return usage_error("cannot say what of a buffer was touched", "it is not a sparse one");
  std::vector<ByteRange> ranges;
  const auto guard = static_cast<off_t>(GUARD_BYTES), size = static_cast<off_t>(size_);
  for (off_t begin = 0, end = 0; (begin = lseek(file_, end, SEEK_DATA)) >= 0;) {
    end = lseek(file_, begin, SEEK_HOLE);
    if (end < 0)
      break;
    const ByteRange range{std::max<off_t>(begin - guard, 0), std::min<off_t>(end - guard, size)};
    if (range.begin < range.end)
      ranges.push_back(range);
  }
  if (errno != ENXIO) // that there is nothing behind
    return Error{"cannot say what of a buffer was touched", std::strerror(errno), "report this"};
  return ranges;
}

Result<HostArgument> HostArgument::scalar(std::string_view dtype, const Value& value) {
  const auto type = element_type(dtype);
  if (!type)
    return usage_error("cannot pass a scalar argument", "the dtype '" + std::string(dtype) + "' is unknown");
  std::uint64_t bits = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value); integer != nullptr && !element::is_real(*type))
    bits = static_cast<std::uint64_t>(*integer);
  else if (integer != nullptr)
    bits = element::encode(*type, static_cast<double>(*integer));
  else if (const auto* real = std::get_if<double>(&value))
    bits = element::encode(*type, *real);
  else if (const auto* truth = std::get_if<bool>(&value))
    bits = element::is_real(*type) ? element::encode(*type, *truth ? 1 : 0) : *truth;
  else
    return usage_error("cannot pass a scalar argument", "its value is a string");
  HostArgument argument;
  argument.value.resize(static_cast<std::size_t>(element::size_of(*type)));
  std::memcpy(argument.value.data(), &bits, argument.value.size());
  return argument;
}

} // namespace lathe
