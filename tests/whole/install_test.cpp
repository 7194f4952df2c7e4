// What `cmake --install` writes, and the three ways in which another project takes Lathe in.
#include "tests/whole/command.h"
#include "tuner/base/hash.h"

namespace lathe {
namespace {

std::filesystem::path build_folder() {
  return std::filesystem::path(std::getenv("LATHE_BIN_DIR")).parent_path();
}

SubprocessResult run(const std::vector<std::string>& words,
                     std::vector<std::pair<std::string, std::string>> environment = {}) {
  SubprocessOptions options;
  options.environment = std::move(environment);
  options.timeout = std::chrono::minutes(5);
  const auto ran = run_subprocess(words, options);
  EXPECT_TRUE(ran.ok()) << (ran.ok() ? "" : ran.error().sentence());
  return ran.ok() ? *ran : SubprocessResult{};
}

class Installed : public CommandTest {
protected:
  // The component of its own keeps the record of a real installation from this build folder as it is.
  void install() {
    const auto installed = run({"cmake", "--install", build_folder().string(), "--component", "lathe",
                                "--prefix", prefix().string()});
    ASSERT_TRUE(installed.succeeded()) << installed.errors;
  }
  std::filesystem::path prefix() const { return folder() / "prefix"; }

  // A project with a header and its template; `take_in` makes lathe_add_tuned_kernel known.
  void write_project(const std::string& take_in) {
    write("project/kernel.cuh", "// a template\n");
    write("project/tuned.h",
          "// LATHE_TEMPLATE_SHA1 " + content_hash("// a template\n") +
              "\n// Write it again with: lathe export kernel.json\ninline int answer() { return 42; }\n");
    write("project/main.cpp", "#include \"tuned.h\"\nint main() { return answer() == 42 ? 0 : 1; }\n");
    write("project/CMakeLists.txt",
          "cmake_minimum_required(VERSION 3.25)\nproject(Consumer LANGUAGES C CXX)\n" + take_in +
              "\nadd_executable(consumer main.cpp)\n"
              "lathe_add_tuned_kernel(consumer HEADER tuned.h TEMPLATE kernel.cuh)\n");
  }

  // Configures, builds and runs the project; then its template changes, and the build stops with a sentence.
  void expect_works_and_notices_a_stale_header() {
    const std::string source = (folder() / "project").string(), build = (folder() / "built").string();
    const auto configured =
        run({"cmake", "-S", source, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix().string()});
    ASSERT_TRUE(configured.succeeded()) << configured.errors;
    auto built = run({"cmake", "--build", build});
    ASSERT_TRUE(built.succeeded()) << built.output << built.errors;
    EXPECT_TRUE(run({build + "/consumer"}).succeeded());
    write("project/kernel.cuh", "// another template\n");
    built = run({"cmake", "--build", build});
    EXPECT_FALSE(built.succeeded());
    EXPECT_NE((built.output + built.errors).find("is stale"), std::string::npos)
        << built.output << built.errors;
    EXPECT_NE((built.output + built.errors).find("lathe export kernel.json"), std::string::npos);
  }
};

TEST_F(Installed, ProgramsRunAndTheManualIsThere) {
  install();
  const auto version = run({(prefix() / "bin/lathe").string(), "--version"});
  EXPECT_TRUE(version.succeeded());
  EXPECT_TRUE(version.output.starts_with("lathe ")) << version.output;
  // Reads the installed schema.
  const auto spaces = run({(prefix() / "bin/lathe").string(), "spaces",
                           (source_folder() / "search_spaces/concat_mla_k.json").string(), "--json"});
  EXPECT_TRUE(spaces.succeeded()) << spaces.errors;
  for (const char* file :
       {"share/man/man1/lathe.1", "share/bash-completion/completions/lathe",
        "share/zsh/vendor-completions/_lathe", "share/fish/vendor_completions.d/lathe.fish"}) {
    const auto text = read_file(prefix() / file);
    ASSERT_TRUE(text.ok()) << text.error().sentence();
    EXPECT_NE(text->find("templatize"), std::string::npos) << file;
  }
}

TEST_F(Installed, UninstallRemovesEveryFile) {
  install();
  const auto removed = run({"cmake", "-DMANIFEST=" + (build_folder() / "install_manifest_lathe.txt").string(),
                            "-P", (source_folder() / "cmake/LatheUninstall.cmake").string()});
  ASSERT_TRUE(removed.succeeded()) << removed.errors;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(prefix()))
    EXPECT_TRUE(entry.is_directory()) << entry.path() << " is left";
}

TEST_F(Installed, FoundAsAPackage) {
  install();
  write_project("find_package(Lathe REQUIRED)\nif(NOT EXISTS ${Lathe_EXECUTABLE})\n  message(FATAL_ERROR "
                "\"no program\")\nendif()");
  expect_works_and_notices_a_stale_header();
}

TEST_F(Installed, TakenInAsASubfolder) {
  write_project("add_subdirectory(\"" + source_folder().string() + "\" lathe)");
  expect_works_and_notices_a_stale_header();
}

TEST_F(Installed, TakenInByFetchContent) {
  write_project("include(FetchContent)\nFetchContent_Declare(Lathe SOURCE_DIR \"" + source_folder().string() +
                "\")\nFetchContent_MakeAvailable(Lathe)");
  expect_works_and_notices_a_stale_header();
}

TEST_F(Installed, PkgConfigKnowsWhereTheHelpersAre) {
  const auto there = run_subprocess({"pkg-config", "--version"});
  if (!there.ok() || !there->succeeded())
    GTEST_SKIP() << "no pkg-config here";
  install();
  std::filesystem::path found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(prefix()))
    if (entry.path().filename() == "lathe.pc")
      found = entry.path().parent_path();
  const auto asked =
      run({"pkg-config", "--variable=check_header", "lathe"}, {{"PKG_CONFIG_PATH", found.string()}});
  ASSERT_TRUE(asked.succeeded()) << asked.errors;
  EXPECT_TRUE(std::filesystem::exists(asked.output.substr(0, asked.output.find('\n')))) << asked.output;
}

} // namespace
} // namespace lathe
