// Answers of child processes as bytes: both ends are the same program.
#include "tuner/measure/host_executor/loaded.h"

#include <cstring>

namespace lathe::host {
namespace {

class Writer {
public:
  template <class T> void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

private:
  std::string bytes_;
};

class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T> T number() {
    T value{};
    if (bytes_.size() >= sizeof value) {
      std::memcpy(&value, bytes_.data(), sizeof value);
      bytes_.remove_prefix(sizeof value);
    }
    return value;
  }
  std::string text() {
    const auto size = std::min(number<std::size_t>(), bytes_.size());
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }

private:
  std::string_view bytes_;
};

void write_ranges(Writer& out, const std::vector<ByteRange>& ranges) {
  out.number(ranges.size());
  for (const ByteRange& range : ranges)
    out.number(range.begin), out.number(range.end);
}

std::vector<ByteRange> read_ranges(Reader& in) {
  std::vector<ByteRange> ranges(in.number<std::size_t>());
  for (ByteRange& range : ranges) {
    range.begin = in.number<std::int64_t>();
    range.end = in.number<std::int64_t>();
  }
  return ranges;
}

} // namespace

std::string serialise(const LaunchEnd& end) {
  Writer out;
  out.text(end.failure.what);
  out.number(end.failure.where);
  out.number(end.failure.line);
  out.number(end.seconds.size());
  for (const double seconds : end.seconds)
    out.number(seconds);
  out.number(end.accesses.size());
  for (const BufferAccess& access : end.accesses) {
    out.number(access.argument);
    write_ranges(out, access.read);
    write_ranges(out, access.written);
    out.number(access.atomics);
  }
  out.number(end.barriers);
  out.number(end.work);
  out.number(end.is_cut_short);
  out.number(end.races.size());
  for (const HostRace& race : end.races) {
    out.text(race.place);
    out.number(race.between_blocks);
    out.number(race.is_of_writes);
    out.number(race.is_of_a_read);
    out.text(race.text);
  }
  out.number(end.fences);
  out.text(end.unfenced);
  out.number(end.loops.size());
  for (const HostLoop& loop : end.loops) {
    out.number(loop.line);
    out.number(loop.column);
    out.number(loop.went_on);
  }
  out.text(std::string(end.reached.begin(), end.reached.end()));
  out.text(end.output);
  return out.take();
}

LaunchEnd deserialise(std::string_view bytes) {
  Reader in(bytes);
  LaunchEnd end;
  end.failure.what = in.text();
  end.failure.where = in.number<std::uintptr_t>();
  end.failure.line = in.number<int>();
  end.seconds.resize(in.number<std::size_t>());
  for (double& seconds : end.seconds)
    seconds = in.number<double>();
  end.accesses.resize(in.number<std::size_t>());
  for (BufferAccess& access : end.accesses) {
    access.argument = in.number<std::size_t>();
    access.read = read_ranges(in);
    access.written = read_ranges(in);
    access.atomics = in.number<std::uint64_t>();
  }
  end.barriers = in.number<std::uint64_t>();
  end.work = in.number<std::uint64_t>();
  end.is_cut_short = in.number<bool>();
  end.races.resize(in.number<std::size_t>());
  for (HostRace& race : end.races) {
    race.place = in.text();
    race.between_blocks = in.number<bool>();
    race.is_of_writes = in.number<bool>();
    race.is_of_a_read = in.number<bool>();
    race.text = in.text();
  }
  end.fences = in.number<std::uint64_t>();
  end.unfenced = in.text();
  end.loops.resize(in.number<std::size_t>());
  for (HostLoop& loop : end.loops) {
    loop.line = in.number<unsigned>();
    loop.column = in.number<unsigned>();
    loop.went_on = in.number<bool>();
  }
  for (const char mark : in.text())
    end.reached.push_back(mark != 0);
  end.output = in.text();
  return end;
}

} // namespace lathe::host
