#include "tuner/measure/fill.h"
#include "tuner/measure/host_executor/host_executor.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace lathe {
namespace {

constexpr std::size_t ALIGNMENT = 256;
static_assert(GUARD_BYTES % ALIGNMENT == 0);

} // namespace

Result<HostBuffer> HostBuffer::allocate(std::size_t bytes, std::size_t misalignment) {
  if (misalignment >= ALIGNMENT)
    return usage_error("cannot allocate a buffer", "the misalignment is not below 256 bytes");
  HostBuffer buffer;
  const std::size_t size = 2 * GUARD_BYTES + ALIGNMENT + bytes;
  void* mapping =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return Error{"cannot allocate a buffer of " + std::to_string(bytes) + " bytes", std::strerror(errno),
                 "choose a smaller problem"};
  buffer.mapping_ = static_cast<std::byte*>(mapping);
  buffer.mapping_size_ = size;
  buffer.data_ = buffer.mapping_ + GUARD_BYTES + misalignment;
  buffer.size_ = bytes;
  buffer.reset_guards();
  return buffer;
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)), mapping_size_(std::exchange(other.mapping_size_, 0)),
      data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_size_, other.mapping_size_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

HostBuffer::~HostBuffer() {
  if (mapping_ != nullptr)
    munmap(mapping_, mapping_size_);
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
