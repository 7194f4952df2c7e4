#include "tuner/compile/cache.h"

#include "tuner/base/bounded_folder.h"
#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/compile/message.h"

#include <cstdlib>
#include <mutex>
#include <set>

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t FORMAT = 0x4c4b3031; // changes with KernelResources or the fields below

fs::path place(const fs::path& folder, const std::string& hash, const char* suffix) {
  return folder / "cubins" / hash.substr(0, 2) / (hash + suffix);
}

void remove_quietly(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

// A process makes many caches of one folder: to look through it takes a second where it holds much, and is
// done again after writing.
bool is_first_of(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> seen;
  const std::lock_guard lock(mutex);
  return seen.insert(folder).second;
}

} // namespace

fs::path CubinCache::default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return fs::path(cache) / "lathe";
  if (const char* home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache/lathe";
  return {};
}

CubinCache::CubinCache(fs::path folder, std::uint64_t limit) : folder_(std::move(folder)), limit_(limit) {
  if (folder_.empty())
    return;
  std::error_code failure;
  fs::create_directories(folder_ / "cubins", failure);
  if (failure)
    folder_.clear();
  else if (is_first_of(folder_))
    shrink();
}

std::optional<CompiledKernel> CubinCache::find(const std::string& key) {
  if (folder_.empty())
    return std::nullopt;
  const fs::path index = place(folder_, key, ".kernel");
  const Result<std::string> bytes = read_file(index);
  if (!bytes.ok())
    return std::nullopt;
  MessageReader message(*bytes);
  const auto format = message.get<std::uint32_t>();
  const std::string checksum = message.get_text();
  const std::string body = message.get_text();
  CompiledKernel kernel;
  MessageReader fields(body);
  kernel.cubin_hash = fields.get_text();
  kernel.entry = fields.get_text();
  kernel.resources = fields.get<KernelResources>();
  kernel.cached = true;
  if (format != FORMAT || !message.ok() || checksum != content_hash(key + body) || !fields.ok()) {
    remove_quietly(index);
    return std::nullopt;
  }
  const fs::path path = place(folder_, kernel.cubin_hash, ".cubin");
  if (kernel.cubin_hash != last_hash_) {
    Result<std::string> cubin = read_file(path);
    if (!cubin.ok())
      return std::nullopt; // evicted
    if (content_hash(*cubin) != kernel.cubin_hash) {
      remove_quietly(path);
      return std::nullopt;
    }
    last_hash_ = kernel.cubin_hash;
    last_cubin_ = std::make_shared<const std::string>(std::move(*cubin));
  }
  kernel.cubin = last_cubin_;
  mark_used(index);
  mark_used(path);
  return kernel;
}

void CubinCache::insert(const std::string& key, const CompiledKernel& kernel) {
  if (folder_.empty())
    return;
  // A full disk or a read-only folder costs the next run a compilation, nothing more.
  if (kernel.cubin_hash != last_hash_) {
    if (!write_file(place(folder_, kernel.cubin_hash, ".cubin"), *kernel.cubin).ok())
      return;
    last_hash_ = kernel.cubin_hash;
    last_cubin_ = kernel.cubin;
    written_since_check_ += kernel.cubin->size();
  }
  MessageWriter fields;
  fields.put_text(kernel.cubin_hash).put_text(kernel.entry).put(kernel.resources);
  MessageWriter message;
  message.put(FORMAT).put_text(content_hash(key + fields.bytes())).put_text(fields.bytes());
  if (!write_file(place(folder_, key, ".kernel"), message.bytes()).ok())
    return;
  written_since_check_ += message.bytes().size();
  if (written_since_check_ > limit_ / 16)
    shrink();
}

void CubinCache::shrink() {
  written_since_check_ = 0;
  keep_below(folder_ / "cubins", limit_);
}

} // namespace lathe
