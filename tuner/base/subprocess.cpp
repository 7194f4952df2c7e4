#include "tuner/base/subprocess.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  void close_read() { close_one(read_end); }
  void close_write() { close_one(write_end); }
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

private:
  static void close_one(int& descriptor) {
    if (descriptor >= 0)
      ::close(descriptor);
    descriptor = -1;
  }
};

// Reads what is there; returns false at end of file.
bool drain(int descriptor, std::string& into, std::size_t limit) {
  char buffer[1 << 14];
  const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
  if (count < 0)
    return errno == EINTR || errno == EAGAIN;
  if (count == 0)
    return false;
  const std::size_t room = limit > into.size() ? limit - into.size() : 0;
  into.append(buffer, std::min(room, static_cast<std::size_t>(count)));
  return true;
}

void feed(Pipe& pipe, std::string_view& input) {
  const ssize_t count = ::write(pipe.write_end, input.data(), input.size());
  if (count > 0)
    input.remove_prefix(static_cast<std::size_t>(count));
  const bool broken = count < 0 && errno != EINTR && errno != EAGAIN;
  if (broken || input.empty())
    pipe.close_write();
}

} // namespace

std::string SubprocessResult::ending() const {
  if (timed_out)
    return "timed out";
  if (signal != 0)
    return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  return "exit code " + std::to_string(exit_code);
}

Result<SubprocessResult> run_subprocess(const std::vector<std::string>& command,
                                        const SubprocessOptions& options) {
  if (command.empty())
    return Error{"cannot start a program", "the command is empty", ""};
  Pipe in, out, err, started;
  if (!in.open() || !out.open() || !err.open() || !started.open())
    return Error{"cannot start " + command[0], std::strerror(errno), ""};

  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<std::string> variables;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const auto& [name, value] : options.environment)
      replaced |= text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=';
    if (!replaced)
      variables.emplace_back(text);
  }
  for (const auto& [name, value] : options.environment)
    variables.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (std::string& variable : variables)
    environment.push_back(variable.data());
  environment.push_back(nullptr);

  const pid_t child = ::fork();
  if (child < 0)
    return Error{"cannot start " + command[0], std::strerror(errno), ""};
  if (child == 0) {
    ::setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(in.read_end, 0);
    ::dup2(out.write_end, 1);
    ::dup2(err.write_end, 2);
    if (options.folder.empty() || ::chdir(options.folder.c_str()) == 0)
      ::execvpe(arguments[0], arguments.data(), environment.data());
    const int code = errno;
    [[maybe_unused]] const ssize_t ignored = ::write(started.write_end, &code, sizeof code);
    ::_exit(127);
  }
  ::setpgid(child, child);
  in.close_read();
  out.close_write();
  err.close_write();
  started.close_write();

  int start_failure = 0;
  if (::read(started.read_end, &start_failure, sizeof start_failure) == sizeof start_failure) {
    ::waitpid(child, nullptr, 0);
    return Error{"cannot start " + command[0], std::strerror(start_failure), ""};
  }

  struct sigaction ignore{}, previous{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &previous);
  ::fcntl(in.write_end, F_SETFL, O_NONBLOCK);

  SubprocessResult result;
  std::string_view input = options.input;
  if (input.empty())
    in.close_write();
  const auto deadline = std::chrono::steady_clock::now() + options.timeout;
  while (out.read_end >= 0 || err.read_end >= 0) {
    int wait = -1;
    if (options.timeout.count() > 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) {
        result.timed_out = true;
        ::kill(-child, SIGKILL);
        break;
      }
      wait = static_cast<int>(std::min<long long>(left.count() + 1, 1 << 30));
    }
    pollfd watched[3] = {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}, {in.write_end, POLLOUT, 0}};
    if (::poll(watched, 3, wait) < 0 && errno != EINTR)
      break;
    if (watched[0].revents && !drain(out.read_end, result.output, options.output_limit))
      out.close_read();
    if (watched[1].revents && !drain(err.read_end, result.errors, options.output_limit))
      err.close_read();
    if (watched[2].revents)
      feed(in, input);
  }
  int status = 0;
  // The child may close its streams and live on: the deadline still holds.
  while (::waitpid(child, &status, options.timeout.count() > 0 && !result.timed_out ? WNOHANG : 0) == 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      result.timed_out = true;
      ::kill(-child, SIGKILL);
      continue;
    }
    ::usleep(1000);
  }
  ::sigaction(SIGPIPE, &previous, nullptr);
  if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
  else
    result.exit_code = WEXITSTATUS(status);
  return result;
}

} // namespace lathe
