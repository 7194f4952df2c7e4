// The runner is a process of its own: killed at any moment, it costs the configuration in flight.
#include "tests/gpu/cases.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace lathe::test {
namespace {

// Children of this process that run `program`.
std::vector<pid_t> children(const std::string& program) {
  std::vector<pid_t> found;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos)
      continue;
    std::ifstream file(entry.path() / "stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t open = text.find('('), close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos)
      continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(text.c_str() + close + 1, " %c %d", &state, &parent) == 2 && parent == ::getpid() &&
        text.substr(open + 1, close - open - 1) == program.substr(0, 15))
      found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

TEST(Isolation, AKilledRunnerCostsOneConfiguration) {
  constexpr const char* raw = "__global__ void raw(float* x, int n) { int i = blockIdx.x * blockDim.x + "
                              "threadIdx.x; if (i < n) x[i] = i; }";
  constexpr const char* kernel = R"(
template <int V> __global__ void kernel(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (V == 1 && i == 0) { volatile float* p = x; while (p[1] != -1.0f) {} }
  if (i < n) x[i] = i;
})";
  Case test_case(raw, "raw", {"ceil_div(n, 256)", "256", "0"}, kernel, "kernel<{V}>",
                 {"ceil_div(n, 256)", "256", "0"},
                 {buffer("x", "f32", Direction::out, "n"), scalar("n", "i32", "n")}, {{"n", 100000}});
  MeasureOptions options = test_case.options();
  options.time_limit_s = 10;
  std::unique_ptr<Backend> backend = prepared(test_case, options);
  ASSERT_TRUE(backend);
  const std::vector<KnobValues> honest{Case::knob(0)}, hanging{Case::knob(1)};
  ASSERT_EQ(backend->evaluate(honest, 0)->at(0).outcome, Outcome::ok);
  // The one that measures was started first; the other is for counters and misaligned views.
  std::vector<pid_t> before = children("lathe-runner");
  ASSERT_EQ(before.size(), 2u);
  std::sort(before.begin(), before.end());

  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    ::kill(before[0], SIGKILL);
  });
  const auto killed = backend->evaluate(hanging, 0);
  killer.join();
  ASSERT_TRUE(killed.ok());
  EXPECT_EQ(to_string(killed->at(0).outcome), "crashed") << killed->at(0).reason;
  EXPECT_NE(killed->at(0).reason.find("signal 9"), std::string::npos) << killed->at(0).reason;

  const auto start = std::chrono::steady_clock::now();
  const auto after = backend->evaluate(honest, 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_TRUE(after.ok()) << after.error().sentence();
  EXPECT_EQ(after->at(0).outcome, Outcome::ok) << after->at(0).reason;
  std::printf("replaced and measured again in %.2f s\n", seconds);
  const std::vector<pid_t> now = children("lathe-runner");
  ASSERT_EQ(now.size(), 2u);
  EXPECT_EQ(std::count(now.begin(), now.end(), before[0]), 0);
  EXPECT_EQ(std::count(now.begin(), now.end(), before[1]), 1);

  backend.reset();
  EXPECT_TRUE(children("lathe-runner").empty());
}

// One context serves problem after problem, and each is judged by its own data.
TEST(Isolation, ASecondProblemKeepsTheRunner) {
  constexpr const char* raw = R"(
__global__ void raw(float* x, const float* in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = x[i] + in[i] * n;
})";
  constexpr const char* kernel = R"(
template <int V> __global__ void kernel(float* x, const float* in, int n) {
  for (int i = threadIdx.x; i < n - V; i += blockDim.x) x[i] = x[i] + in[i] * n;
})";
  std::unique_ptr<Backend> backend;
  std::vector<pid_t> first;
  for (const std::int64_t n : {5000, 70000, 17, 5000}) {
    Case test_case(raw, "raw", {"1", "256", "0"}, kernel, "kernel<{V}>", {"1", "256", "0"},
                   {buffer("x", "f32", Direction::inout, "n"), buffer("in", "f32", Direction::in, "n"),
                    scalar("n", "i32", "n")},
                   {{"n", n}});
    if (!backend)
      backend = prepared(test_case, test_case.options());
    else
      ASSERT_TRUE(backend->prepare(test_case.workload(), test_case.options()).ok());
    ASSERT_TRUE(backend);
    const std::vector<KnobValues> both{Case::knob(0), Case::knob(1)};
    const auto measured = backend->evaluate(both, 0);
    ASSERT_TRUE(measured.ok()) << measured.error().sentence();
    EXPECT_EQ(to_string(measured->at(0).outcome), "ok") << measured->at(0).reason;
    EXPECT_EQ(to_string(measured->at(1).outcome), "wrong_result") << "n=" << n;
    if (first.empty())
      first = children("lathe-runner");
    EXPECT_EQ(children("lathe-runner"), first);
  }
}

// The compilers are processes too, and none of them ever holds a context.
TEST(Isolation, AKilledCompilerIsReplaced) {
  constexpr const char* raw = "__global__ void raw(float* x) { x[threadIdx.x] = 1; }";
  constexpr const char* kernel =
      "template <int V> __global__ void kernel(float* x) { x[threadIdx.x] = V >= 0; }";
  Case test_case(raw, "raw", {"1", "32", "0"}, kernel, "kernel<{V}>", {"1", "32", "0"},
                 {buffer("x", "f32", Direction::out, "32")}, {});
  std::unique_ptr<Backend> backend = prepared(test_case, test_case.options());
  ASSERT_TRUE(backend);
  for (int round = 0; round < 4; ++round) {
    for (const pid_t pid : children("lathe-compiler"))
      ::kill(pid, SIGKILL);
    const std::vector<KnobValues> one{Case::knob(round)};
    const auto measured = backend->evaluate(one, 0);
    ASSERT_TRUE(measured.ok()) << measured.error().sentence();
    EXPECT_EQ(to_string(measured->at(0).outcome), "ok") << measured->at(0).reason;
  }
}

} // namespace
} // namespace lathe::test
