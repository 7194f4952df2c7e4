// Parses a text as if it were a file, for the tests of stage 1.
#pragma once

#include "refactor/frontend/frontend.h"

#include <gtest/gtest.h>

namespace lathe::refactor {

inline std::unique_ptr<ParsedSource> parse_text(const std::string& text, ParseOptions options = {}) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "lathe-test" / "input.cu";
  options.overlay[file] = text;
  auto source = ParsedSource::parse(file, options);
  if (!source.ok()) {
    ADD_FAILURE() << source.error().sentence();
    return nullptr;
  }
  return std::move(*source);
}

} // namespace lathe::refactor
