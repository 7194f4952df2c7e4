// Compiled kernels on disk, by content: an index entry for every (source, headers, options, architecture,
// NVRTC version, instance) names the cubin that holds it; cubins are named by their own hash. Files appear
// whole (written aside and renamed), are checked when read, and may vanish at any time, so that several
// processes can share a folder.
#pragma once

#include "tuner/compile/compile.h"

namespace lathe {

class CubinCache {
public:
  // Creates the folder; a folder that cannot be used makes a cache that holds nothing.
  CubinCache(std::filesystem::path folder, std::uint64_t limit);

  // Nothing when absent or damaged; what is damaged is removed.
  std::optional<CompiledKernel> find(const std::string& key);
  void insert(const std::string& key, const CompiledKernel& kernel);

  // $XDG_CACHE_HOME/lathe or ~/.cache/lathe; empty when there is no home.
  static std::filesystem::path default_folder();

private:
  void shrink();

  std::filesystem::path folder_; // empty: holds nothing
  std::uint64_t limit_;
  std::uint64_t written_since_check_ = 0;
  std::string last_hash_; // cubins are shared by a batch: the last one need not be read again
  std::shared_ptr<const std::string> last_cubin_;
};

} // namespace lathe
