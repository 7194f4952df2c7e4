// What must lose nothing: killed writers, writers side by side, full disks, damaged files.
#include "store_testing.h"

#include "tuner/store/database.h"

#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Runs `body` in a child that ends with its exit code; no destructor of the test runs there.
template <class Body> pid_t in_child(Body body) {
  const pid_t child = fork();
  if (child == 0)
    _exit(body());
  return child;
}

int exit_code(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(StoreTest, AKilledWriterLosesAtMostWhatWasInFlight) {
  std::mt19937 random(7);
  std::size_t certain = 0, begun = 0;
  for (int round = 0; round < 25; ++round) {
    int acknowledged[2];
    ASSERT_EQ(pipe(acknowledged), 0);
    const pid_t child = in_child([&] {
      auto store = Store::open(path_);
      if (!store.ok())
        return 1;
      for (std::int64_t i = 0;; ++i) {
        if (write(acknowledged[1], "b", 1) != 1 ||
            !(*store)->record(test_key(), test_names, test_evaluation(i)).ok())
          return 1;
        if (write(acknowledged[1], "e", 1) != 1)
          return 1;
      }
    });
    close(acknowledged[1]);
    usleep(std::uniform_int_distribution<useconds_t>(0, 60'000)(random));
    kill(child, SIGKILL);
    EXPECT_EQ(exit_code(child), 128 + SIGKILL);
    char marks[4096];
    for (ssize_t got; (got = read(acknowledged[0], marks, sizeof marks)) > 0;)
      for (ssize_t i = 0; i < got; ++i)
        ++(marks[i] == 'b' ? begun : certain);
    close(acknowledged[0]);
    const std::size_t stored = count(test_key());
    EXPECT_GE(stored, certain);
    EXPECT_LE(stored, begun);
    // A transaction that reached the disk just before its acknowledgement counts from here on.
    certain = begun = stored;
  }
  EXPECT_GT(certain, 0u);
}

TEST_F(StoreTest, TwoWritersAtOnceLoseNothing) {
  constexpr int each = 60;
  const auto writer = [&](const char* workload) {
    return in_child([&, workload] {
      auto store = Store::open(path_); // both may be creating the file
      if (!store.ok())
        return 1;
      for (std::int64_t i = 0; i < each; ++i)
        if (!(*store)->record(test_key(workload), test_names, test_evaluation(i)).ok())
          return 2;
      return 0;
    });
  };
  const pid_t first = writer("first"), second = writer("second"), same = writer("second");
  EXPECT_EQ(exit_code(first), 0);
  EXPECT_EQ(exit_code(second), 0);
  EXPECT_EQ(exit_code(same), 0);
  EXPECT_EQ(count(test_key("first")), each);
  EXPECT_EQ(count(test_key("second")), 2 * each);
}

TEST_F(StoreTest, AWriterSeesWhatAnotherRecorded) {
  const auto one = open(), other = open();
  ASSERT_TRUE(one->record(test_key(), test_names, test_evaluation(1)).ok());
  EXPECT_EQ(other->evaluations(test_key())->size(), 1u);
  ASSERT_TRUE(other->record(test_key(), test_names, test_evaluation(2)).ok());
  EXPECT_EQ(one->evaluations(test_key())->size(), 2u);
}

// A file-size limit is what a full disk looks like from here: the write fails in the middle of a transaction.
TEST_F(StoreTest, AFullDiskIsASentenceAndLosesNothing) {
  open();
  int result[2];
  ASSERT_EQ(pipe(result), 0);
  const pid_t child = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    auto store = Store::open(path_);
    if (!store.ok())
      return 1;
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit small{std::filesystem::file_size(path_) + 3 * 4096, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    std::int64_t recorded = 0;
    std::string sentence;
    StoredEvaluation evaluation = test_evaluation(1);
    evaluation.measurement.reason = std::string(500, 'x');
    while (sentence.empty() && recorded < 1000) {
      const Status status = (*store)->record(test_key(), test_names, evaluation);
      if (status.ok())
        ++recorded;
      else
        sentence = status.error().sentence();
    }
    if (sentence.find("everything recorded so far is kept") == std::string::npos)
      return 2;
    // The store goes on when there is room again.
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!(*store)->record(test_key(), test_names, evaluation).ok())
      return 3;
    ++recorded;
    return write(result[1], &recorded, sizeof recorded) == sizeof recorded ? 0 : 4;
  });
  ASSERT_EQ(exit_code(child), 0);
  std::int64_t recorded = 0;
  ASSERT_EQ(read(result[0], &recorded, sizeof recorded), static_cast<ssize_t>(sizeof recorded));
  EXPECT_GT(recorded, 1);
  EXPECT_EQ(count(test_key()), static_cast<std::size_t>(recorded));
  close(result[0]);
  close(result[1]);
}

TEST_F(StoreTest, SqlitesOwnFullErrorSaysSo) {
  auto database = store::Database::open(path_);
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE(database->execute("CREATE TABLE t (x)").ok());
  ASSERT_TRUE(database->execute("PRAGMA max_page_count = 3").ok());
  const Status status = database->execute("INSERT INTO t VALUES (zeroblob(100000))");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().sentence(), HasSubstr("the disk is full: free some space"));
}

TEST_F(StoreTest, ACorruptedFileIsReportedAndLeftAlone) {
  {
    const auto store = open();
    StoredEvaluation evaluation = test_evaluation(1);
    evaluation.measurement.reason = std::string(2000, 'r');
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(store->record(test_key(), test_names, evaluation).ok());
  }
  const std::string good = *read_file(path_);
  ASSERT_GT(good.size(), 40000u);
  std::string damaged = good;
  damaged.replace(8192, 4096, std::string(4096, '\xa5'));
  for (const std::string& content : {damaged, good.substr(0, good.size() / 2)}) {
    ASSERT_TRUE(write_file(path_, content).ok());
    EXPECT_THAT(open_error(), AllOf(HasSubstr(path_.string()), HasSubstr("corrupted"),
                                    HasSubstr("set it aside with `mv ")));
    EXPECT_EQ(*read_file(path_), content);
  }
  // What the message says works.
  std::filesystem::rename(path_, path_.string() + ".corrupt");
  EXPECT_EQ(count(test_key()), 0u);
}

TEST_F(StoreTest, OtherFilesAreRefusedAndLeftAlone) {
  for (const std::string& content :
       {std::string("hello\n"), std::string(5000, 'x'), std::string("{\"json\": 1}")}) {
    ASSERT_TRUE(write_file(path_, content).ok());
    EXPECT_THAT(open_error(), HasSubstr("it is not a results store"));
    EXPECT_EQ(*read_file(path_), content);
  }
}

TEST_F(StoreTest, AnotherProgramsDatabaseIsRefused) {
  {
    auto database = store::Database::open(path_);
    ASSERT_TRUE(database->execute("CREATE TABLE keys (id)").ok());
  }
  EXPECT_THAT(open_error(), HasSubstr("a database of another program"));
}

TEST_F(StoreTest, ANewerSchemaIsRefused) {
  open();
  {
    auto database = store::Database::open(path_);
    ASSERT_TRUE(database->execute("PRAGMA user_version = 3").ok());
  }
  EXPECT_THAT(open_error(), HasSubstr("written by a newer Lathe (version 3, this one reads 2)"));
}

TEST_F(StoreTest, AnOlderFileKeepsWhatItHoldsAndTakesProfiles) {
  {
    const auto store = open();
    ASSERT_TRUE(store->record(test_key(), {"a"}, {{Value{true}}, {}, "", "", {}}).ok());
  }
  {
    auto database = store::Database::open(path_);
    ASSERT_TRUE(database->execute("DROP TABLE profiles").ok());
    ASSERT_TRUE(database->execute("PRAGMA user_version = 1").ok());
  }
  const auto store = open();
  EXPECT_EQ(store->evaluations(test_key())->size(), 1u);
  ASSERT_TRUE(store->record_profile(test_key(), {}).ok());
  EXPECT_EQ(store->profiles(test_key())->size(), 1u);
}

TEST_F(StoreTest, PlacesThatCannotBeWrittenAreSentences) {
  path_ = "/proc/lathe/results.sqlite";
  EXPECT_THAT(open_error(), AllOf(HasSubstr("its folder cannot be created"), HasSubstr("LATHE_RESULTS")));
  path_ = "/proc/results.sqlite"; // a folder that nobody can write to
  EXPECT_THAT(open_error(), AllOf(HasSubstr("cannot be opened for writing"), HasSubstr("LATHE_RESULTS")));
  path_ = folder_->path() / "file" / "results.sqlite";
  ASSERT_TRUE(write_file(folder_->path() / "file", "in place of the folder").ok());
  EXPECT_THAT(open_error(), HasSubstr("its folder cannot be created"));
  path_ = folder_->path();
  EXPECT_THAT(open_error(), HasSubstr("it is a folder"));
}

TEST_F(StoreTest, AReadOnlyFileOrFolderIsFoundWhenOpening) {
  using std::filesystem::perms;
  open();
  const auto refused = [&] {
    return exit_code(in_child([&] {
      // The superuser may write everywhere.
      if (geteuid() == 0 && setuid(65534) != 0)
        return 1;
      return open_error().find(": it is read-only: ") != std::string::npos ? 0 : 2;
    }));
  };
  const auto all_read = perms::owner_read | perms::group_read | perms::others_read;
  const auto all_write = perms::owner_write | perms::group_write | perms::others_write;
  const auto all_search = perms::owner_exec | perms::group_exec | perms::others_exec;
  std::filesystem::permissions(folder_->path(), perms::all);
  std::filesystem::permissions(path_, all_read);
  EXPECT_EQ(refused(), 0) << "file";
  std::filesystem::permissions(path_, all_read | all_write);
  std::filesystem::permissions(folder_->path(), all_read | all_search);
  EXPECT_EQ(refused(), 0) << "folder";
  std::filesystem::permissions(folder_->path(), perms::all);
}

TEST_F(StoreTest, FoldersAreCreated) {
  path_ = folder_->path() / "a" / "b" / "results.sqlite";
  EXPECT_NE(open(), nullptr);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

} // namespace
} // namespace lathe
