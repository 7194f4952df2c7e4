#include "tuner/measure/runner_process.h"

#include "tuner/compile/message.h"
#include "tuner/measure/cuda_protocol.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace lathe {
namespace {

// How long an end is waited for: a second in all.
constexpr int DYING_ATTEMPTS = 200;
constexpr std::chrono::milliseconds DYING_PAUSE{5};

std::string ending_of(int status) {
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

} // namespace

RunnerProcess::~RunnerProcess() {
  stop();
  wait_for_dying();
}

Status RunnerProcess::start() {
  stop();
  wait_for_dying();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{"cannot start " + command_[0], std::strerror(errno), ""};
  std::vector<char*> arguments;
  for (std::string& argument : command_)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (ends[1] == RUNNER_SOCKET)
      ::fcntl(ends[1], F_SETFD, 0);
    else
      ::dup2(ends[1], RUNNER_SOCKET);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    return Error{"cannot start " + command_[0], std::strerror(errno), ""};
  }
  pid_ = pid;
  socket_ = ends[0];
  return Done{};
}

void RunnerProcess::finish(double limit_s) {
  if (socket_ >= 0) {
    close_socket(); // by which it knows
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                               std::chrono::duration<double>(limit_s));
    bool ended = false;
    while (!(ended = ::waitpid(pid_, nullptr, WNOHANG) != 0) && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(DYING_PAUSE);
    if (!ended) {
      ::kill(pid_, SIGKILL);
      dying_.push_back(pid_);
    }
  }
  collect_dying();
}

void RunnerProcess::close_socket() {
  ::close(socket_);
  socket_ = -1;
}

void RunnerProcess::stop() {
  if (socket_ >= 0) {
    close_socket();
    ::kill(pid_, SIGKILL);
    dying_.push_back(pid_);
  }
  collect_dying();
}

void RunnerProcess::wait_for_dying() {
  for (int attempt = 0; attempt < DYING_ATTEMPTS && !dying_.empty(); ++attempt) {
    std::this_thread::sleep_for(DYING_PAUSE);
    collect_dying();
  }
}

void RunnerProcess::collect_dying() {
  std::erase_if(dying_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
}

// Closes the socket and collects the process, which the driver may hold for a while; then a later call
// collects it.
std::string RunnerProcess::reap(bool kill) {
  close_socket();
  if (kill)
    ::kill(pid_, SIGKILL);
  int status = 0;
  for (int attempt = 0; attempt < DYING_ATTEMPTS; ++attempt) {
    if (::waitpid(pid_, &status, WNOHANG) == pid_)
      return ending_of(status);
    if (attempt == DYING_ATTEMPTS / 2)
      ::kill(pid_, SIGKILL); // it closed its socket and lives on
    std::this_thread::sleep_for(DYING_PAUSE);
  }
  dying_.push_back(pid_);
  return "no answer";
}

RunnerProcess::Answer RunnerProcess::ask(const std::string& request, double limit_s) {
  std::unique_lock<std::mutex> turn;
  if (turns_)
    turn = std::unique_lock(*turns_);
  const auto start = std::chrono::steady_clock::now();
  Answer answer = ask_now(request, limit_s);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

RunnerProcess::Answer RunnerProcess::ask_now(const std::string& request, double limit_s) {
  Answer answer;
  if (socket_ < 0)
    return answer;
  const auto start = std::chrono::steady_clock::now();
  if (send_frame(socket_, request)) {
    if (std::optional<std::string> reply = receive_frame(socket_, static_cast<int>(limit_s * 1000))) {
      answer.kind = Answer::Kind::reply;
      answer.reply = std::move(*reply);
      return answer;
    }
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >= limit_s)
      answer.kind = Answer::Kind::timeout;
  }
  answer.ending = reap(answer.kind == Answer::Kind::timeout);
  return answer;
}

} // namespace lathe
