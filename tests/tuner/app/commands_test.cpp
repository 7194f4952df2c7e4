#include "tuner/app/commands.h"
#include "tuner/base/files.h"
#include "tuner/base/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace lathe {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::vector<CommandDescription> made_up() {
  return {
      {"export",
       "lathe export SPEC",
       "Writes it's header.\nSecond line.",
       "lathe export a.json",
       {{"--format", "", "VALUE", false, "header", {"header", "cu"}, "what to [write]: it's one of these"},
        {"--output", "-o", "FILE", false, "", {}, "file"},
        {"--plateau", "", "VALUE", true, "", {}, ".5 or \\ more"}}},
      {"completion", "lathe completion bash|zsh|fish", "Prints a script.", "lathe completion bash", {}}};
}

TEST(Descriptions, AreReadBackAsWritten) {
  const auto read = parse_descriptions(descriptions_json(made_up()));
  ASSERT_TRUE(read.ok()) << read.error().sentence();
  EXPECT_EQ(*read, made_up());
  EXPECT_FALSE(parse_descriptions("{}").ok());
}

TEST(Descriptions, ComeFromTheOptionTables) {
  const CommandDescription described = describe_command("export", export_command);
  EXPECT_THAT(described.usage, HasSubstr("lathe export SPEC"));
  EXPECT_THAT(described.options, Contains(OptionDescription{"--format",
                                                            "",
                                                            "VALUE",
                                                            false,
                                                            "header",
                                                            {"header", "cu", "cmake", "json", "t4"},
                                                            "what to write"}));
  const CommandDescription tune = describe_command("tune", tune_command);
  const auto plateau = std::ranges::find(tune.options, "--until-plateau", &OptionDescription::name);
  ASSERT_NE(plateau, tune.options.end());
  EXPECT_TRUE(plateau->value_is_optional);
}

class Completion : public ::testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("completion-test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
  }
  std::string write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file(folder_->path() / name, text).ok());
    return (folder_->path() / name).string();
  }
  SubprocessResult run(const std::vector<std::string>& words) {
    const auto ran = run_subprocess(words);
    EXPECT_TRUE(ran.ok());
    return ran.ok() ? *ran : SubprocessResult{};
  }
  static bool has(const char* shell) {
    const auto ran = run_subprocess({shell, "-c", "true"});
    return ran.ok() && ran->succeeded();
  }

private:
  std::optional<TemporaryFolder> folder_;
};

TEST_F(Completion, BashOffersCommandsOptionsAndValues) {
  const std::string script = write("lathe.bash", completion_script("bash", made_up()));
  const auto offered = [&](const std::string& words) {
    const auto ran = run({"bash", "-c",
                          ". " + script + "; COMP_WORDS=(" + words +
                              "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _lathe; echo \"${COMPREPLY[@]}\""});
    EXPECT_EQ(ran.errors, "");
    return ran.output;
  };
  EXPECT_EQ(offered("lathe ex"), "export\n");
  EXPECT_EQ(offered("lathe export --"), "--format --output --plateau\n");
  EXPECT_EQ(offered("lathe export --format c"), "cu\n");
  EXPECT_EQ(offered("lathe completion f"), "fish\n");
  EXPECT_EQ(offered("lathe export -o " + script.substr(0, script.size() - 3)), script + "\n");
}

TEST_F(Completion, ZshReadsItsScript) {
  if (!has("zsh"))
    GTEST_SKIP() << "no zsh here: its completion script is not read";
  const auto ran = run({"zsh", "-n", write("_lathe", completion_script("zsh", made_up()))});
  EXPECT_EQ(ran.exit_code, 0) << ran.errors;
  EXPECT_EQ(ran.errors, "");
}

TEST_F(Completion, FishOffersCommandsAndValues) {
  if (!has("fish"))
    GTEST_SKIP() << "no fish here: its completion script is not read";
  const std::string script = write("lathe.fish", completion_script("fish", made_up()));
  const auto ran =
      run({"fish", "--no-config", "-c",
           "source " + script + "; complete -C 'lathe ex'; complete -C 'lathe export --format c'"});
  EXPECT_EQ(ran.errors, "");
  EXPECT_THAT(ran.output, HasSubstr("export\tWrites it's header."));
  EXPECT_THAT(ran.output, HasSubstr("cu\t"));
}

TEST(Manual, PageKeepsSignsThatMeanSomethingToRoff) {
  const std::string page = manual_page(made_up());
  EXPECT_THAT(page, HasSubstr(".TH LATHE 1"));
  EXPECT_THAT(page, HasSubstr("\\-\\-plateau[=VALUE]"));
  EXPECT_THAT(page, HasSubstr("\n\\&.5 or \\e more\n"));
}

// docs/commands.md is what the built program says.
TEST(Manual, CommandsPageOfTheDocumentationIsCurrent) {
  const std::string bin = std::getenv("LATHE_BIN_DIR"), source = std::getenv("LATHE_SOURCE_DIR");
  if (!std::filesystem::exists(bin + "/lathe-refactor"))
    GTEST_SKIP() << "lathe-refactor is not built: the page would lack its options";
  const auto made = run_subprocess({bin + "/lathe", "manual", "--format", "md"});
  ASSERT_TRUE(made.ok());
  const auto written = read_file(source + "/docs/commands.md");
  ASSERT_TRUE(written.ok()) << written.error().sentence();
  EXPECT_EQ(*written, made->output) << "write it again: build/dev/bin/lathe manual > docs/commands.md";
}

} // namespace
} // namespace lathe
