#include "tuner/base/bounded_folder.h"

#include <algorithm>
#include <system_error>
#include <vector>

namespace lathe {

namespace fs = std::filesystem;

void mark_used(const fs::path& file) {
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

void keep_below(const fs::path& folder, std::uint64_t limit) {
  struct Entry {
    fs::file_time_type used;
    std::uint64_t size;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code failure;
  for (fs::recursive_directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    std::error_code gone; // another process may remove a file under our eyes
    if (!at->is_regular_file(gone) || gone)
      continue;
    Entry entry{at->last_write_time(gone), at->file_size(gone), at->path()};
    if (gone)
      continue;
    total += entry.size;
    entries.push_back(std::move(entry));
  }
  if (total <= limit)
    return;
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= limit / 4 * 3)
      break;
    fs::remove(entry.path, failure);
    total -= entry.size;
  }
}

} // namespace lathe
