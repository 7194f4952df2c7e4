// A JSON file with what an error message needs: the line of every value.
#pragma once

#include "tuner/base/result.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lathe::spec {

// One step from an object to a member or from an array to an element.
using Path = std::vector<std::string>;

// "/Lathe/Knobs/VEC": the key of a value in the line table (RFC 6901).
std::string pointer_of(const Path& path);
Path operator/(Path path, std::string_view key);
Path operator/(Path path, std::size_t index);

class Document {
public:
  // Fails on text that is not JSON (with line and column) and on a key that an object has twice.
  static Result<Document> parse(std::string_view text, const std::filesystem::path& file);

  const nlohmann::json& root() const { return root_; }
  const std::filesystem::path& file() const { return file_; }
  // The value there, or null.
  const nlohmann::json* find(const Path& path) const;
  // The 1-based line of a member's key or of an element; for a path that is not there, of its nearest parent.
  int line(const Path& path) const;
  // "Lathe.Knobs.VEC.Values", "ConfigurationSpace.TuningParameters[2].Name"; empty for the whole.
  std::string field(const Path& path) const;
  // "file.json:41: Lathe.Knobs.VEC.Values".
  std::string place(const Path& path) const;
  Error error(const Path& path, std::string why, std::string remedy) const;
  // The same as a sentence, for what the reader goes on from.
  std::string warning(const Path& path, std::string why, std::string remedy) const;

private:
  nlohmann::json root_;
  std::filesystem::path file_;
  std::unordered_map<std::string, int> lines_;
};

} // namespace lathe::spec
