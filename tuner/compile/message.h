// Framed messages between Lathe's processes: a length, then fields in the order in which both ends know them.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace lathe {

class MessageWriter {
public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  MessageWriter& put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  MessageWriter& put_text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

private:
  std::string bytes_;
};

// Reading past the end yields zeros and clears ok(): a damaged message is noticed once, at its end.
class MessageReader {
public:
  explicit MessageReader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T value{};
    if (bytes_.size() < sizeof value) {
      ok_ = false;
      bytes_ = {};
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::string get_text() {
    const auto size = get<std::uint64_t>();
    if (size > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  bool ok() const { return ok_; }

private:
  std::string_view bytes_;
  bool ok_ = true;
};

// Sends one frame, blocking; false when the other end is gone. Never raises SIGPIPE on sockets.
bool send_frame(int descriptor, std::string_view payload);
// Receives one frame, blocking; nothing at the end of the stream, on a damaged frame, or when `deadline_ms`
// (of waiting in all; negative: none) passes.
std::optional<std::string> receive_frame(int descriptor, int deadline_ms = -1);

// Collects what a descriptor has to offer without blocking and hands out whole frames.
class FrameBuffer {
public:
  // False once the stream has ended.
  bool read_available(int descriptor);
  std::optional<std::string> take();

private:
  std::string bytes_;
};

} // namespace lathe
