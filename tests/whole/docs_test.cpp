// The commands in the documentation, run in the order in which they stand, in a folder with the checkout's
// specifications, templates and examples.
//
// A block of commands is indented by four spaces and begins with one. Comments before it can say
//   <!-- added to "lathe tune" in tests: --device host -->   what is appended to commands that begin so
//   <!-- exit code: 1 -->, <!-- exit code: 0 or 3 -->         of the block's last command; 0 where nothing is
//   said
//   <!-- not run: REASON -->
#include "tests/whole/command.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace lathe {
namespace {

struct Block {
  std::vector<std::string> commands;
  std::map<std::string, std::string> added; // to commands with this beginning
  std::set<int> codes{0};                   // of the last command
  std::string not_run;                      // why
};

bool is_command(const std::string& line) {
  static const std::regex beginning(
      R"(^    ((build/dev/bin/|bundle/bin/|bin/)?lathe |\./dev |python3 |cmake |sed ).*)");
  return std::regex_match(line, beginning);
}

// "lathe x    # a remark" without the remark and the program's folder.
std::string bare(std::string line) {
  line = line.substr(4);
  if (const std::size_t remark = line.find("  #"); remark != std::string::npos)
    line.resize(line.find_last_not_of(' ', remark) + 1);
  return std::regex_replace(line, std::regex("^(build/dev/|bundle/)?bin/lathe "), "lathe ");
}

// What a comment says is put into the block.
void read_comment(const std::string& line, Block& block) {
  std::smatch found;
  if (std::regex_match(line, found, std::regex(R"re(<!-- added to "(.*)" in tests: (.*) -->)re")))
    block.added[found[1]] = found[2];
  else if (std::regex_match(line, found, std::regex(R"(<!-- exit code: (\d+)(?: or (\d+))? -->)"))) {
    block.codes = {std::stoi(found[1])};
    if (found[2].matched)
      block.codes.insert(std::stoi(found[2]));
  } else if (std::regex_match(line, found, std::regex(R"(<!-- not run: (.*) -->)"))) {
    block.not_run = found[1];
  }
}

std::vector<Block> blocks_of(const std::string& markdown) {
  std::vector<Block> blocks;
  Block next;
  std::istringstream lines(markdown);
  bool inside = false; // a block of commands
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("<!-- ")) {
      read_comment(line, next);
    } else if (inside ? line.starts_with("    ") : is_command(line)) {
      if (!inside) {
        blocks.push_back(std::move(next));
        next = {};
      }
      blocks.back().commands.push_back(bare(line));
      inside = true;
    } else {
      inside = false;
    }
  }
  return blocks;
}

struct Page {
  const char* path;
  // For pages that are made and hold no comments: what their commands need.
  std::map<std::string, std::string> added{};
  std::map<std::string, std::set<int>> codes{};
  std::string before{};
  std::map<std::string, std::string> not_run{}; // beginning of a command, and why
};

class Documentation : public CommandTest, public ::testing::WithParamInterface<Page> {
protected:
  void SetUp() override {
    CommandTest::SetUp();
    for (const char* copied : {"search_spaces", "templates"}) // commands write into these
      std::filesystem::copy(source_folder() / copied, folder() / copied,
                            std::filesystem::copy_options::recursive);
    for (const char* linked : {"sglang_kernels", "examples"})
      std::filesystem::create_symlink(source_folder() / linked, folder() / linked);
    std::filesystem::create_symlink(folder(), folder() / "bundle"); // holds the same folders
  }

  SubprocessResult shell(const std::string& command) {
    SubprocessOptions options;
    options.folder = folder();
    options.timeout = std::chrono::minutes(5);
    const char* path = std::getenv("PATH");
    options.environment = {{"PATH", std::string(std::getenv("LATHE_BIN_DIR")) + ":" + (path ? path : "")}};
    const auto ran = run_subprocess({"bash", "-c", command}, options);
    EXPECT_TRUE(ran.ok()) << (ran.ok() ? "" : ran.error().sentence());
    return ran.ok() ? *ran : SubprocessResult{};
  }

  static std::string with_added(std::string command, const std::map<std::string, std::string>& added) {
    for (const auto& [beginning, words] : added)
      if (command.starts_with(beginning))
        command += " " + words;
    return command;
  }
};

TEST_P(Documentation, CommandsDoWhatThePageSays) {
  const Page& page = GetParam();
  const auto text = read_file(source_folder() / page.path);
  ASSERT_TRUE(text.ok()) << text.error().sentence();
  if (!page.before.empty()) {
    ASSERT_EQ(shell(page.before).exit_code, 0);
  }
  int run = 0;
  std::string skipped;
  for (const Block& block : blocks_of(*text)) {
    if (!block.not_run.empty()) {
      skipped += "\n  " + block.commands.front() + ": " + block.not_run;
      continue;
    }
    for (std::size_t i = 0; i < block.commands.size(); ++i) {
      const auto reason = std::ranges::find_if(
          page.not_run, [&](const auto& entry) { return block.commands[i].starts_with(entry.first); });
      if (reason != page.not_run.end()) {
        skipped += "\n  " + block.commands[i] + ": " + reason->second;
        continue;
      }
      const std::string command = with_added(with_added(block.commands[i], block.added), page.added);
      std::set<int> codes = i + 1 == block.commands.size() ? block.codes : std::set<int>{0};
      for (const auto& [beginning, others] : page.codes)
        if (command.starts_with(beginning))
          codes = others;
      const SubprocessResult ran = shell(command);
      EXPECT_TRUE(codes.contains(ran.exit_code)) << command << "\nended with " << ran.ending() << "\n"
                                                 << ran.output << ran.errors;
      ++run;
    }
  }
  if (!skipped.empty())
    std::fprintf(stderr, "%s: not run:%s\n", page.path, skipped.c_str());
  if (run == 0)
    GTEST_SKIP() << "no command of " << page.path << " can be run here:" << skipped;
}

const std::string small_tuning = "--device host --problem num_tokens=2,d=512 --evaluations 6";

INSTANTIATE_TEST_SUITE_P(
    Pages, Documentation,
    ::testing::Values(
        Page{"docs/tutorial-templatize.md"}, Page{"docs/tutorial-tune.md"}, Page{"docs/tutorial-ship.md"},
        Page{"README.md"}, Page{"HACKING.md"}, Page{"docs/agents.md"}, Page{"docs/model.md"},
        Page{"examples/pytorch/README.md"},
        Page{"docs/report.md", {}, {}, "lathe tune search_spaces/silu_and_mul.json " + small_tuning},
        Page{"docs/commands.md",
             {{"lathe tune", small_tuning},
              {"lathe bench", "--device host"},
              {"lathe export", "--allow-host"}},
             {{"lathe doctor", {0, 3}}, {"lathe devices", {0, 3}}},
             "lathe tune search_spaces/silu_and_mul.json " + small_tuning +
                 " && lathe export search_spaces/silu_and_mul.json --allow-host --format t4 -o "
                 "results.T4.json",
             {{"lathe optimize", "takes many attempts; tests/refactor/agents has the loop"},
              {"lathe explore", "fills a queue that nobody empties here; tests/refactor/agents has the loop"},
              {"lathe memory", "needs memories of earlier runs"},
              {"lathe policy", "needs recorded runs"},
              {"lathe ablate", "needs recorded trees"}}}),
    [](const auto& tested) {
      std::string name = tested.param.path;
      std::ranges::replace_if(
          name, [](char letter) { return !std::isalnum(static_cast<unsigned char>(letter)); }, '_');
      return name;
    });

// A page with commands that nobody runs would go unnoticed.
TEST(DocumentationPages, EveryPageWithCommandsIsListed) {
  const std::set<std::string> listed{"docs/tutorial-templatize.md",
                                     "docs/tutorial-tune.md",
                                     "docs/tutorial-ship.md",
                                     "README.md",
                                     "HACKING.md",
                                     "examples/pytorch/README.md",
                                     "docs/report.md",
                                     "docs/agents.md",
                                     "docs/model.md",
                                     "docs/commands.md"};
  for (const char* place : {".", "docs", "docs/rules", "examples/pytorch"})
    for (const auto& entry : std::filesystem::directory_iterator(source_folder() / place)) {
      if (entry.path().extension() != ".md")
        continue;
      const std::string name = std::filesystem::relative(entry.path(), source_folder()).generic_string();
      const auto text = read_file(entry.path());
      ASSERT_TRUE(text.ok());
      EXPECT_TRUE(blocks_of(*text).empty() || listed.contains(name))
          << name << " has commands that no test runs";
    }
}

TEST(DocumentationPages, CommentsAreRead) {
  const std::vector<Block> blocks = blocks_of("<!-- added to \"lathe tune\" in tests: --x 1 -->\n<!-- exit "
                                              "code: 0 or 3 -->\n\n    lathe tune a   # remark\n"
                                              "    build/dev/bin/lathe report\n\ntext\n\n<!-- not run: it "
                                              "builds -->\n\n    ./dev test\n\n    no command\n");
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].commands, (std::vector<std::string>{"lathe tune a", "lathe report"}));
  EXPECT_EQ(blocks[0].added.at("lathe tune"), "--x 1");
  EXPECT_EQ(blocks[0].codes, (std::set<int>{0, 3}));
  EXPECT_EQ(blocks[1].not_run, "it builds");
}

} // namespace
} // namespace lathe
