// Runs the built executables as a user would.
#pragma once

#include "tuner/base/files.h"
#include "tuner/base/subprocess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace lathe {

// Small enough that an attempt takes seconds: rows of `d` elements, 128 threads a row.
inline constexpr const char* TWICE_KERNEL =
    "__global__ void twice(float* __restrict__ out, const float* __restrict__ in, int d) {\n"
    "  const int row = blockIdx.x;\n"
    "  for (int i = threadIdx.x; i < d; i += blockDim.x)\n"
    "    out[row * d + i] = in[row * d + i] + in[row * d + i];\n"
    "}\n"
    "void launch(float* out, const float* in, int n, int d) {\n"
    "  twice<<<n, 128>>>(out, in, d);\n"
    "}\n";

inline std::filesystem::path source_folder() {
  return std::getenv("LATHE_SOURCE_DIR");
}
inline std::string lathe_program() {
  return std::string(std::getenv("LATHE_BIN_DIR")) + "/lathe";
}

// The guard draws its seed where none is given: what it finds under one seed of a hundred would fail a test
// of something else, and nobody could see it again.
inline void fix_seed(std::vector<std::string>& arguments) {
  const bool draws = !arguments.empty() && (arguments[0] == "templatize" || arguments[0] == "check");
  const bool is_given = std::ranges::any_of(
      arguments, [](const std::string& argument) { return argument.starts_with("--seed"); });
  if (draws && !is_given)
    arguments.insert(arguments.begin() + 1, "--seed=17");
}

inline SubprocessResult run_lathe(std::vector<std::string> arguments, const std::filesystem::path& folder,
                                  std::vector<std::pair<std::string, std::string>> environment = {}) {
  fix_seed(arguments);
  arguments.insert(arguments.begin(), lathe_program());
  SubprocessOptions options;
  options.timeout = std::chrono::minutes(10);
  options.folder = folder;
  options.environment = std::move(environment);
  auto result = run_subprocess(arguments, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().sentence());
  return result.ok() ? std::move(*result) : SubprocessResult{};
}

class CommandTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("whole-test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
  }
  const std::filesystem::path& folder() const { return folder_->path(); }
  SubprocessResult lathe(const std::vector<std::string>& arguments) { return run_lathe(arguments, folder()); }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(folder() / name, text).ok());
  }

  // The message is one line, "lathe: what: why: what to do", and mentions every given word.
  static void expect_sentence(const SubprocessResult& result, int exit_code,
                              const std::vector<std::string>& words) {
    EXPECT_EQ(result.signal, 0);
    EXPECT_EQ(result.exit_code, exit_code) << result.errors << result.output;
    EXPECT_TRUE(result.errors.starts_with("lathe: ")) << result.errors;
    for (const std::string& word : words)
      EXPECT_NE(result.errors.find(word), std::string::npos) << "no '" << word << "' in: " << result.errors;
  }

private:
  std::optional<TemporaryFolder> folder_;
};

} // namespace lathe
