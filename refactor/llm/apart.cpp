#include "refactor/llm/apart.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::refactor::llm {
namespace {

std::size_t address_space() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

[[noreturn]] void be_child(const std::function<std::string()>& work, int out, std::size_t memory_limit) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (memory_limit > 0) {
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = address_space() + memory_limit;
    ::setrlimit(RLIMIT_AS, &limit);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const std::string result = work();
  std::size_t written = 0;
  while (written < result.size()) {
    const ssize_t count = ::write(out, result.data() + written, result.size() - written);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      ::_exit(1);
    written += static_cast<std::size_t>(count);
  }
  ::_exit(0);
}

} // namespace

Result<std::string> run_apart(const std::function<std::string()>& work, double time_limit_s,
                              std::size_t memory_limit) {
  const auto system_error = [](const char* what) {
    return Error{what, std::strerror(errno), "free some memory or processes"};
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return system_error("cannot create a pipe");
  const pid_t pid = ::fork();
  if (pid < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return system_error("cannot start a child process");
  }
  if (pid == 0) {
    ::close(ends[0]);
    be_child(work, ends[1], memory_limit);
  }
  ::setpgid(pid, pid);
  ::close(ends[1]);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(time_limit_s);
  std::string result;
  bool timed_out = false;
  char buffer[1 << 14];
  for (;;) {
    const double left = std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) {
      timed_out = true;
      break;
    }
    pollfd ready{ends[0], POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(std::min(left * 1000 + 1, 1e9))) <= 0)
      continue;
    const ssize_t count = ::read(ends[0], buffer, sizeof buffer);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    result.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  if (timed_out)
    ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  // What the child left running goes with it.
  ::kill(-pid, SIGKILL);
  if (timed_out)
    return Error{"the work was ended", fmt::format("it took longer than {:.0f} s", time_limit_s), ""};
  if (WIFSIGNALED(status))
    return Error{"the work was ended",
                 fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status))), ""};
  if (WEXITSTATUS(status) != 0)
    return Error{"the work was ended", fmt::format("exit code {}", WEXITSTATUS(status)), ""};
  return result;
}

} // namespace lathe::refactor::llm
