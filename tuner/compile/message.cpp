#include "tuner/compile/message.h"

#include <cerrno>
#include <chrono>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lathe {
namespace {

constexpr std::uint64_t LARGEST_FRAME = 1ull << 32; // a longer one is a damaged length

using Clock = std::chrono::steady_clock;

bool receive_exactly(int descriptor, char* data, std::size_t size,
                     std::optional<Clock::time_point> deadline) {
  while (size > 0) {
    if (deadline) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      pollfd watched{descriptor, POLLIN, 0};
      const int ready = left < 0 ? 0 : ::poll(&watched, 1, static_cast<int>(left) + 1);
      if (ready == 0)
        return false;
      if (ready < 0)
        continue; // a signal
    }
    const ssize_t count = ::read(descriptor, data, size);
    if (count == 0)
      return false;
    if (count < 0) {
      if (errno == EINTR)
        continue;
      return false;
    }
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

} // namespace

bool send_frame(int descriptor, std::string_view payload) {
  std::string frame;
  const std::uint64_t size = payload.size();
  frame.append(reinterpret_cast<const char*>(&size), sizeof size);
  frame.append(payload);
  std::string_view rest = frame;
  while (!rest.empty()) {
    ssize_t count = ::send(descriptor, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == ENOTSOCK)
      count = ::write(descriptor, rest.data(), rest.size());
    if (count < 0) {
      if (errno == EINTR)
        continue;
      return false;
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::optional<std::string> receive_frame(int descriptor, int deadline_ms) {
  std::optional<Clock::time_point> deadline;
  if (deadline_ms >= 0)
    deadline = Clock::now() + std::chrono::milliseconds(deadline_ms);
  std::uint64_t size = 0;
  if (!receive_exactly(descriptor, reinterpret_cast<char*>(&size), sizeof size, deadline) ||
      size > LARGEST_FRAME)
    return std::nullopt;
  std::string payload(size, '\0');
  if (!receive_exactly(descriptor, payload.data(), size, deadline))
    return std::nullopt;
  return payload;
}

bool FrameBuffer::read_available(int descriptor) {
  char chunk[1 << 16];
  for (;;) {
    const ssize_t count = ::recv(descriptor, chunk, sizeof chunk, MSG_DONTWAIT);
    if (count > 0) {
      bytes_.append(chunk, static_cast<std::size_t>(count));
      continue;
    }
    if (count < 0 && errno == EINTR)
      continue;
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
}

std::optional<std::string> FrameBuffer::take() {
  std::uint64_t size = 0;
  if (bytes_.size() < sizeof size)
    return std::nullopt;
  std::memcpy(&size, bytes_.data(), sizeof size);
  if (size > LARGEST_FRAME || bytes_.size() - sizeof size < size)
    return std::nullopt;
  std::string payload = bytes_.substr(sizeof size, size);
  bytes_.erase(0, sizeof size + size);
  return payload;
}

} // namespace lathe
