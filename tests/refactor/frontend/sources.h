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

// The launches of a kernel of the text; `is_whole`: that it parses without errors.
inline std::vector<LaunchSite> launches(const std::string& text, const std::string& kernel = "k",
                                        bool is_whole = true) {
  static std::vector<std::unique_ptr<ParsedSource>> kept;
  kept.push_back(parse_text(text));
  if (!kept.back())
    return {};
  EXPECT_EQ(kept.back()->errors().empty(), is_whole);
  const auto found = find_kernel(*kept.back(), kernel);
  if (!found.ok()) {
    ADD_FAILURE() << found.error().sentence();
    return {};
  }
  return found->launches;
}

// A launcher in main(): `before` in front of a launch of n elements.
inline std::vector<LaunchSite> main_launches(const std::string& before, const std::string& helpers = "") {
  return launches("#include <cstdio>\n#include <cstdlib>\n__global__ void k(float* x, int n) {}\n" + helpers +
                  "\nint main(int argc, char** argv) {\n  float* x = nullptr;\n" + before +
                  "  k<<<(n + 255) / 256, 256>>>(x, n);\n  return 0;\n}\n");
}

inline std::int64_t value_of(const std::string& expression,
                             const std::map<std::string, std::int64_t>& names) {
  const auto parsed = Expression::parse(expression);
  if (!parsed.ok()) {
    ADD_FAILURE() << expression;
    return -1;
  }
  const auto value = parsed->evaluate_integer([&](std::string_view name) -> std::optional<Value> {
    const auto found = names.find(std::string(name));
    return found == names.end() ? std::nullopt : std::optional<Value>(found->second);
  });
  EXPECT_TRUE(value.ok()) << expression << ": " << value.error().sentence();
  return value.ok() ? *value : -1;
}

} // namespace lathe::refactor
