#include "tuner/measure/host_executor/isolate.h"

#include "tuner/measure/host_executor/block_runner.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

namespace lathe::host {
namespace {

constexpr std::size_t SIGNAL_STACK_BYTES = 64u << 10;
CrashNote* crash_note = nullptr; // in memory shared with the parent

void note_crash(int signal, siginfo_t* info, void* context) {
  if (crash_note != nullptr && crash_note->signal == 0) {
    crash_note->address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    crash_note->where =
        static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
    const BlockRunner* runner = BlockRunner::running();
    crash_note->arena = runner != nullptr ? runner->arena().base() : 0;
    crash_note->signal = signal;
  }
  _exit(1);
}

[[noreturn]] void child(const std::function<void(const Tell&)>& work, int answer_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = open("/dev/null", O_RDWR);
  if (null >= 0)
    for (int stream = 0; stream < 3; ++stream)
      dup2(null, stream);
  const SignalStack stack;
  struct sigaction action{};
  action.sa_sigaction = note_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    sigaction(signal, &action, nullptr);
  for (const int signal : {SIGINT, SIGTERM})
    ::signal(signal, SIG_DFL);
  work([&](std::string_view answer) {
    for (std::size_t done = 0; done < answer.size();) {
      const ssize_t written = write(answer_fd, answer.data() + done, answer.size() - done);
      if (written <= 0)
        _exit(2);
      done += static_cast<std::size_t>(written);
    }
  });
  _exit(0);
}

// That all threads of the process have used; nothing when the system does not say.
std::optional<double> cpu_seconds(pid_t pid) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return std::nullopt;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

} // namespace

SignalStack::SignalStack() {
  void* memory =
      mmap(nullptr, SIGNAL_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return;
  memory_ = memory;
  stack_t stack{};
  stack.ss_sp = memory_;
  stack.ss_size = SIGNAL_STACK_BYTES;
  sigaltstack(&stack, nullptr);
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr)
    return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(memory_, SIGNAL_STACK_BYTES);
}

Result<ChildEnd> run_in_child(const std::function<void(const Tell&)>& work, double time_limit_s,
                              int threads) {
  const auto system_error = [](const char* what) {
    return Error{what, std::strerror(errno), "free some memory or processes"};
  };
  void* note = mmap(nullptr, sizeof(CrashNote), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (note == MAP_FAILED)
    return system_error("cannot share memory with a child process");
  auto* shared = new (note) CrashNote;
  int answer[2];
  if (pipe2(answer, O_CLOEXEC) != 0) {
    munmap(note, sizeof(CrashNote));
    return system_error("cannot create a pipe");
  }
  const pid_t pid = fork();
  if (pid == 0) {
    crash_note = shared;
    close(answer[0]);
    child(work, answer[1]);
  }
  close(answer[1]);
  if (pid < 0) {
    close(answer[0]);
    munmap(note, sizeof(CrashNote));
    return system_error("cannot start a child process");
  }
  ChildEnd end;
  // By the clock, and by the child's own.
  constexpr double PATIENCE = 30;
  const double cpu_limit = time_limit_s * std::max(1, threads);
  const auto start = std::chrono::steady_clock::now();
  const auto by_clock = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double told_at = 0, told_at_cpu = 0;
  char buffer[65536];
  while (true) {
    const double cpu_left = cpu_limit - (cpu_seconds(pid).value_or(0) - told_at_cpu);
    const double left = PATIENCE * time_limit_s - (by_clock() - told_at);
    if (cpu_left <= 0 || left <= 0) {
      end.timed_out = true;
      kill(pid, SIGKILL);
      break;
    }
    // Before that much time has passed, the child cannot have used up what is left.
    const double wait = std::min(left, cpu_left / std::max(1, threads));
    pollfd ready{answer[0], POLLIN, 0};
    const int polled = poll(&ready, 1, static_cast<int>(std::min(wait * 1000 + 1, 1e9)));
    if (polled <= 0)
      continue;
    const ssize_t count = read(answer[0], buffer, sizeof buffer);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    end.answer.append(buffer, static_cast<std::size_t>(count));
    told_at = by_clock();
    told_at_cpu = cpu_seconds(pid).value_or(told_at_cpu);
  }
  close(answer[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  end.crash = *shared;
  munmap(note, sizeof(CrashNote));
  end.finished = !end.timed_out && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!end.finished && !end.timed_out && end.crash.signal == 0)
    end.crash.signal = WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL;
  return end;
}

} // namespace lathe::host
