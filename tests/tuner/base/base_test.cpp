#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/base/parallel.h"
#include "tuner/base/subprocess.h"
#include "tuner/base/timestamp.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include <csignal>
#include <ctime>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace lathe {
namespace {

TEST(Parallel, EachPieceIsDoneOnce) {
  for (const unsigned jobs : {0u, 1u, 3u, 50u}) {
    std::vector<std::atomic<int>> done(20);
    parallel(done.size(), jobs, [&](std::size_t i) { ++done[i]; });
    for (const std::atomic<int>& times : done)
      EXPECT_EQ(times, 1) << jobs;
    parallel(0, jobs, [](std::size_t) { FAIL(); });
  }
}

TEST(Hash, AgreesWithPublishedSha1Vectors) {
  EXPECT_EQ(content_hash(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(content_hash("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
}

// Each child makes a folder as its process's first, so that it sweeps; the paths come back through a pipe.
std::string folder_of_child(bool killed) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", "base_test", "--temporary-folder", std::to_string(ends[1]).c_str(),
            killed ? "killed" : "ends", nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string path;
  char buffer[512];
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    path.append(buffer, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WIFSIGNALED(status), killed);
  return path;
}

TEST(TemporaryFolders, OfKilledProcessesAreRemovedByTheNext) {
  const auto own = TemporaryFolder::create("base-test");
  ASSERT_TRUE(own.ok());
  const std::string left = folder_of_child(true);
  ASSERT_TRUE(std::filesystem::exists(left)) << left;
  const std::string next = folder_of_child(false);
  EXPECT_FALSE(next.empty());
  EXPECT_FALSE(std::filesystem::exists(left)) << "its owner was killed";
  EXPECT_FALSE(std::filesystem::exists(next)) << "its owner ended";
  EXPECT_TRUE(std::filesystem::exists(own->path())) << "its owner lives";
}

TEST(Timestamp, IsThePresentMomentInUtc) {
  // By the clock that is asked there: std::time() may lag behind it.
  const auto now = [] { return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()); };
  const std::time_t before = now();
  const std::string seconds = utc_now(), milliseconds = utc_now(TimestampPrecision::milliseconds);
  const std::time_t after = now();
  std::tm parts{};
  ASSERT_NE(strptime(seconds.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr) << seconds;
  EXPECT_GE(timegm(&parts), before);
  EXPECT_LE(timegm(&parts), after);
  const char* fraction = strptime(milliseconds.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  ASSERT_NE(fraction, nullptr) << milliseconds;
  ASSERT_EQ(std::string(fraction).size(), 5u) << milliseconds;
  EXPECT_EQ(fraction[0], '.');
  EXPECT_EQ(fraction[4], 'Z');
}

TEST(Error, SentenceLeavesOutEmptyParts) {
  EXPECT_EQ((Error{"a", "b", "c"}).sentence(), "a: b: c");
  EXPECT_EQ((Error{"a", "", "c"}).sentence(), "a: c");
}

TEST(Files, NamesThatCannotBeLookedAtAreNotThere) {
  EXPECT_TRUE(path_exists("/tmp"));
  EXPECT_FALSE(path_exists("/tmp/" + std::string(5000, 'x')));
}

TEST(Files, WriteThenReadGivesTheSameBytes) {
  auto folder = TemporaryFolder::create("test");
  ASSERT_TRUE(folder.ok());
  const auto path = folder->path() / "deep/er/file";
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(write_file(path, content).ok());
  auto read = read_file(path);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, content);
}

TEST(Files, MissingFileIsNamed) {
  auto read = read_file("/no/such/file");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().sentence(), "cannot read /no/such/file: No such file or directory");
}

TEST(Files, ReadingAFolderFails) {
  EXPECT_FALSE(read_file("/tmp").ok());
}

TEST(Files, UnwritableTargetKeepsTheOldContent) {
  auto folder = TemporaryFolder::create("test");
  ASSERT_TRUE(folder.ok());
  const auto path = folder->path() / "file";
  ASSERT_TRUE(write_file(path, "old").ok());
  EXPECT_FALSE(write_file(path / "below-a-file", "new").ok());
  EXPECT_EQ(*read_file(path), "old");
}

TEST(Subprocess, PassesInputAndSeparatesStreams) {
  SubprocessOptions options;
  options.input = "hello";
  auto result = run_subprocess({"sh", "-c", "cat; echo oops >&2; exit 3"}, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output, "hello");
  EXPECT_EQ(result->errors, "oops\n");
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->ending(), "exit code 3");
}

TEST(Subprocess, KillsTheWholeGroupAtTheDeadline) {
  SubprocessOptions options;
  options.timeout = std::chrono::milliseconds(200);
  auto result = run_subprocess({"sh", "-c", "sleep 30 & sleep 30"}, options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->timed_out);
}

TEST(Subprocess, ReportsSignals) {
  auto result = run_subprocess({"sh", "-c", "kill -SEGV $$"});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->signal, SIGSEGV);
  EXPECT_FALSE(result->succeeded());
}

TEST(Subprocess, MissingProgramIsAnError) {
  auto result = run_subprocess({"/no/such/program"});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().sentence(), "cannot start /no/such/program: No such file or directory");
}

TEST(Subprocess, LargeInputAndOutputDoNotDeadlock) {
  const std::string input(4 << 20, 'x');
  SubprocessOptions options;
  options.input = input;
  auto result = run_subprocess({"cat"}, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output.size(), input.size());
}

} // namespace
} // namespace lathe

// --temporary-folder DESCRIPTOR killed|ends: makes one, tells its path, and ends like that.
int main(int count, char** arguments) {
  if (count == 4 && std::string(arguments[1]) == "--temporary-folder") {
    const auto folder = lathe::TemporaryFolder::create("base-test");
    if (!folder.ok())
      return 1;
    const std::string path = folder->path().string();
    if (::write(std::atoi(arguments[2]), path.data(), path.size()) != static_cast<ssize_t>(path.size()))
      return 1;
    if (std::string(arguments[3]) == "killed")
      ::raise(SIGKILL);
    return 0;
  }
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
