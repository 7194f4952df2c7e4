#include "tests/refactor/extract/extraction.h"

#include "refactor/frontend/standard.h"
#include "tests/refactor/frontend/sources.h"
#include "tuner/compile/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {

std::string extract(ParsedSource* source, const std::string& name) {
  if (!source)
    return "";
  const auto kernel = find_kernel(*source, name);
  if (!kernel.ok()) {
    ADD_FAILURE() << kernel.error().sentence();
    return "";
  }
  auto extracted = extract_kernel(*source, *kernel);
  if (!extracted.ok()) {
    ADD_FAILURE() << extracted.error().sentence();
    return "";
  }
  return extracted->text;
}

void expect_compiles(const std::string& text, const std::string& instance) {
  const auto compiled = compile_kernel(text, instance, {standard_option(text)}, "sm_90");
  EXPECT_TRUE(compiled.ok()) << compiled.error().sentence() << "\n" << text;
  auto again = parse_text(text);
  ASSERT_TRUE(again);
  EXPECT_THAT(again->errors(), testing::IsEmpty()) << text;
}

} // namespace lathe::refactor
