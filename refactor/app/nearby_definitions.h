// Functions that host code calls and that other files of its repository define.
#pragma once

#include "refactor/frontend/other_definitions.h"

#include <map>

namespace lathe::refactor {

// Looks for definitions as text in the files near a source and parses those that have one: at most a few.
class NearbyDefinitions final : public OtherDefinitions {
public:
  // `own`: asked before all others; null: none.
  NearbyDefinitions(std::filesystem::path source, ParseOptions options, ParsedSource* own = nullptr);

  std::vector<ParsedSource*> defining(const std::string& function) override;

  // The functions, and those of headers near the source that hand on to one of them.
  std::vector<std::string> with_those_handing_on(const std::vector<std::string>& functions);

  // Files near the source, not headers, that call one of these functions; the nearest first, at most a few.
  std::vector<std::filesystem::path> calling(const std::vector<std::string>& functions);

  // "cuda_gridsize as in dark_cuda.c", for every function that was read elsewhere than in `own`.
  const std::vector<std::string>& notes() const { return notes_; }

private:
  struct File {
    std::filesystem::path path;
    std::string text;
  };
  const std::vector<File>& files();

  std::filesystem::path source_;
  ParseOptions options_;
  ParsedSource* own_;
  std::string own_text_;
  bool has_read_files_ = false;
  std::vector<File> files_;
  std::map<std::filesystem::path, std::unique_ptr<ParsedSource>> parsed_; // null: it cannot be parsed
  std::map<std::string, std::vector<ParsedSource*>> known_;
  std::vector<std::string> notes_;
};

} // namespace lathe::refactor
