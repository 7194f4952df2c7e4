// Precompiled headers on disk, which later processes find again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

struct PrecompiledHeader {
  std::filesystem::path file;
  // The files and folders right below the searched folders that its headers are or lie in
  // (/usr/local/cuda/include/cuda_fp16.h, .../cub): a folder with others of these names may have another such
  // header.
  std::vector<std::filesystem::path> beginnings;
};

// One folder of them, which processes may share: files appear whole (made aside and renamed), and what was
// made of headers that have changed since, by their sizes and times, is made anew. Those not used for longest
// go when there are more bytes than `limit`.
class PrecompiledStore {
public:
  // A folder that cannot be used makes a store that holds nothing.
  PrecompiledStore(std::filesystem::path folder, std::uint64_t limit);

  // The header of these #include lines under this Clang command, made if there is none; nothing where Clang
  // rejects it or it cannot be kept.
  std::optional<PrecompiledHeader> get(const std::vector<std::string>& command, const std::string& includes);

private:
  std::optional<PrecompiledHeader> find(const std::string& name) const;
  std::optional<PrecompiledHeader> make(const std::string& name, const std::vector<std::string>& command,
                                        const std::string& includes);
  void shrink(const std::filesystem::path& kept) const;

  std::filesystem::path folder_; // empty: holds nothing
  std::uint64_t limit_;
};

} // namespace lathe::refactor
