// Headers that are parsed once and kept on disk, and those that Lathe has for a framework.
#include "refactor/frontend/precompiled.h"
#include "refactor/frontend/precompiled_store.h"
#include "refactor/frontend/stand_in_headers.h"
#include "tests/refactor/frontend/sources.h"
#include "tuner/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// A store of headers in a folder with one of its own.
class Precompiled : public testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
    own_ = folder_->path() / "own";
    write_own("struct First {};\n");
    ParseOptions options;
    const auto command = clang_command(own_ / "input.cu", options);
    ASSERT_TRUE(command.ok());
    words_ = command->arguments;
    words_.push_back("-I" + own_.string());
  }
  void write_own(const std::string& text) const { ASSERT_TRUE(write_file(own_ / "own.h", text).ok()); }
  fs::path store_folder() const { return folder_->path() / "store"; }

  std::optional<TemporaryFolder> folder_;
  fs::path own_;
  std::vector<std::string> words_;
};

TEST_F(Precompiled, AreFoundAgain) {
  PrecompiledStore store(store_folder(), 1u << 30);
  const auto made = store.get(words_, "#include <own.h>\n");
  ASSERT_TRUE(made);
  const auto time = fs::last_write_time(made->file);
  const auto found = PrecompiledStore(store_folder(), 1u << 30).get(words_, "#include <own.h>\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->file, made->file);
  EXPECT_EQ(fs::last_write_time(found->file), time);
  EXPECT_EQ(found->beginnings, made->beginnings);
  EXPECT_THAT(found->beginnings, testing::Contains(own_ / "own.h"));
}

TEST_F(Precompiled, AreMadeAnewWhereAHeaderOrTheFileHasChanged) {
  PrecompiledStore store(store_folder(), 1u << 30);
  const auto made = store.get(words_, "#include <own.h>\n");
  ASSERT_TRUE(made);
  const auto size = fs::file_size(made->file);
  write_own("struct First {};\nstruct Second {};\n");
  const auto time = fs::last_write_time(made->file);
  ASSERT_TRUE(store.get(words_, "#include <own.h>\n"));
  EXPECT_NE(fs::last_write_time(made->file), time);
  fs::resize_file(made->file, 100);
  ASSERT_TRUE(store.get(words_, "#include <own.h>\n"));
  EXPECT_GE(fs::file_size(made->file), size);
  ASSERT_TRUE(write_file(fs::path(made->file).replace_extension(".inputs"), "").ok());
  EXPECT_TRUE(store.get(words_, "#include <own.h>\n"));
}

TEST_F(Precompiled, ThoseOfOldGoAndWhatClangRejectsIsNone) {
  PrecompiledStore store(store_folder(), 1);
  const auto first = store.get(words_, "#include <own.h>\n");
  const auto second = store.get(words_, "#include <own.h>\n#include <cstdint>\n");
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(fs::exists(first->file));
  EXPECT_TRUE(fs::exists(second->file));
  EXPECT_FALSE(store.get(words_, "#include <nowhere.h>\n"));
  EXPECT_FALSE(PrecompiledStore("/proc/nowhere", 1).get(words_, "#include <own.h>\n"));
  EXPECT_FALSE(PrecompiledStore("", 1).get(words_, "#include <own.h>\n"));
}

TEST_F(Precompiled, AFolderWithAHeaderOfTheNameIsSearchedFirst) {
  const std::string text = "#include <cuda_fp16.h>\n__global__ void k(lathe_own_half* x) {}\n";
  const auto usual = parse_text("#include <cuda_fp16.h>\n__global__ void k(__half* x) {}\n");
  ASSERT_TRUE(usual);
  EXPECT_THAT(usual->errors(), IsEmpty());
  const auto without = parse_text(text);
  ASSERT_TRUE(without);
  EXPECT_THAT(without->errors(), SizeIs(1));
  ASSERT_TRUE(write_file(own_ / "cuda_fp16.h", "struct lathe_own_half {};\n").ok());
  ParseOptions options;
  options.flags = {"-I", own_.string()};
  const auto with = parse_text(text, options);
  ASSERT_TRUE(with);
  EXPECT_THAT(with->errors(), IsEmpty());
}

TEST_F(Precompiled, FrameworkHeadersAreNamedByTheTextAndByItsOwnHeaders) {
  write_own("#pragma once\n#  include <torch/nowhere/in/particular.h>\n#include \"own.h\"\n");
  ASSERT_TRUE(write_file(own_ / "c10/here.h", "").ok());
  ParseOptions options;
  options.flags = {"-I" + own_.string()};
  const auto command = clang_command(own_ / "input.cu", options);
  ASSERT_TRUE(command.ok());
  const auto path = [&](const char* header) { return (command->stand_ins / "torch" / header).string(); };
  const auto named =
      named_stand_ins(own_ / "input.cu",
                      "#include \"own.h\"\n#include <c10/here.h>\n#include <dlpack/other.h>\n"
                      "#include <vector>\n// #include <ATen/comment.h>\n#include <ATen/open.h\n",
                      *command);
  EXPECT_THAT(named,
              ElementsAre(Pair(path("dlpack/other.h"), "#include \"lathe_tvm_ffi.h\"\n"),
                          Pair(path("torch/nowhere/in/particular.h"), "#include \"lathe_torch.h\"\n")));
}

} // namespace
} // namespace lathe::refactor
