// Compilers that are killed, crash or never end.
#include "tests/tuner/compile/compile_testing.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>
#include <unistd.h>

namespace lathe::test {
namespace {

// N = 1 compiles at once; thousands of inlined sines keep the optimiser busy for a very long time.
constexpr const char* SLOW = R"(
#include <utility>
template <std::size_t... I> __device__ float chain(float x, const float* p, std::index_sequence<I...>) {
  ((x = sinf(x) * p[I] + powf(fabsf(x), p[I + 1])), ...);
  return x;
}
template <int N> __global__ void k(float* p) {
  p[threadIdx.x] = chain(p[threadIdx.x], p, std::make_index_sequence<N>{});
}
)";
constexpr const char* ENDLESS = "k<20000>";

// The helper's processes: itself and its workers.
std::set<pid_t> helpers() {
  std::set<pid_t> found;
  std::map<pid_t, std::pair<pid_t, std::string>> all;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos)
      continue;
    std::ifstream file(entry.path() / "stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t open = text.find('('), close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos)
      continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(text.c_str() + close + 1, " %c %d", &state, &parent) == 2 && state != 'Z')
      all[static_cast<pid_t>(std::stol(name))] = {parent, text.substr(open + 1, close - open - 1)};
  }
  const std::string helper = std::string("lathe-compiler").substr(0, 15);
  for (const auto& [pid, one] : all)
    if (one.second == helper &&
        (one.first == ::getpid() || (all.contains(one.first) && all.at(one.first).first == ::getpid())))
      found.insert(pid);
  return found;
}

bool is_worker(pid_t pid, const std::set<pid_t>& among) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  char state = 0;
  int parent = 0;
  const std::size_t close = text.rfind(')');
  return close != std::string::npos &&
         std::sscanf(text.c_str() + close + 1, " %c %d", &state, &parent) == 2 && among.contains(parent);
}

TEST(Faults, ACompilationThatNeverEndsIsStopped) {
  CompilerOptions options;
  options.use_cache = false;
  options.time_limit_s = 4;
  const auto pool = compiler(options);
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes = pool->compile(request(SLOW, {"k<1>", ENDLESS, "k<2>", "k<3>"}));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_TRUE(outcomes[0].ok()) << outcomes[0].message;
  EXPECT_EQ(outcomes[1].kind, CompileOutcome::Kind::timeout) << outcomes[1].message;
  EXPECT_NE(outcomes[1].message.find("did not end within 4 s"), std::string::npos) << outcomes[1].message;
  EXPECT_TRUE(outcomes[2].ok()) << outcomes[2].message;
  EXPECT_TRUE(outcomes[3].ok()) << outcomes[3].message;
  EXPECT_LT(seconds, 40);
}

TEST(Faults, ACompilerThatCrashesCostsOneInstance) {
  CompilerOptions options;
  options.use_cache = false;
  options.jobs = 1;
  const auto pool = compiler(options);
  std::atomic<bool> done = false;
  // Whatever compiles the slow instance dies of a segmentation fault, again and again.
  std::thread killer([&] {
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      const std::set<pid_t> all = helpers();
      for (const pid_t pid : all)
        if (!done && is_worker(pid, all))
          ::kill(pid, SIGSEGV);
    }
  });
  const auto outcomes = pool->compile(request(SLOW, {ENDLESS}));
  done = true;
  killer.join();
  EXPECT_EQ(outcomes[0].kind, CompileOutcome::Kind::crashed);
  EXPECT_NE(outcomes[0].message.find("crashed with signal 11"), std::string::npos) << outcomes[0].message;
  EXPECT_TRUE(pool->compile(request(SLOW, {"k<4>"}))[0].ok());
}

TEST(Faults, KilledHelpersAndWorkersAreReplaced) {
  CompilerOptions options;
  options.use_cache = false;
  options.jobs = 2;
  const auto pool = compiler(options);
  for (int round = 0; round < 6; ++round) {
    ASSERT_TRUE(pool->compile(request(SLOW, {"k<1>", "k<2>"}))[0].ok());
    const std::set<pid_t> all = helpers();
    // Workers whose helper was killed work on and are no longer found here.
    for (const pid_t pid : all) // by turns the workers, the helper, both
      if (round % 3 == 2 || is_worker(pid, all) == (round % 3 == 0))
        ::kill(pid, SIGKILL);
    const auto start = std::chrono::steady_clock::now();
    const auto outcomes = pool->compile(request(SLOW, {"k<1>", "k<2>", "k<3>"}));
    for (const CompileOutcome& outcome : outcomes)
      EXPECT_TRUE(outcome.ok()) << outcome.message;
    // Nobody waited for a compilation's limit.
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
              CompilerOptions{}.time_limit_s / 2);
  }
}

TEST(Faults, NoWorkerIsLeftBehind) {
  {
    const auto pool = uncached();
    ASSERT_TRUE(pool->compile(request(SLOW, {"k<1>"}))[0].ok());
    pool->submit(request(SLOW, {ENDLESS}));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  constexpr std::size_t IDLE = 1; // the helper itself, which the next compiler takes
  for (int attempt = 0; attempt < 100 && helpers().size() > IDLE; ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::set<pid_t> left = helpers();
  ASSERT_EQ(left.size(), IDLE);
  EXPECT_FALSE(is_worker(*left.begin(), left));
  const auto next = uncached();
  EXPECT_EQ(helpers(), left);
  EXPECT_TRUE(next->compile(request(SLOW, {"k<1>"}))[0].ok());
}

} // namespace
} // namespace lathe::test
