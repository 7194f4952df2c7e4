// lathe-compiler: opens NVRTC once and forks a worker for every socket that Lathe hands it (arguments: the
// library, and a folder for precompiled headers, which may be empty: none then). A fork shares the loaded
// library, so replacing a worker takes milliseconds. Descriptor 3 is the control socket: Lathe sends a
// descriptor, the helper answers with the worker's process id, and later with how each worker ended.
#include "tuner/compile/header_reuse.h"
#include "tuner/compile/helper.h"
#include "tuner/compile/message.h"
#include "tuner/compile/nvrtc.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace lathe;

// There is a worker a core, and beside them Lathe and the process that talks to the GPU, which wait for each
// other at every configuration: those go first.
constexpr int WORKER_NICENESS = 10;

// Serves batches until Lathe closes the socket. The alarm ends a compilation that outlives its limit and
// Lathe.
[[noreturn]] void serve(const Nvrtc& nvrtc, const HeaderReuse& headers, int socket) {
  errno = 0;
  if (::nice(WORKER_NICENESS) == -1 && errno != 0)
    std::perror("lathe-compiler: note: its workers do not run at a lower priority");
  while (std::optional<std::string> frame = receive_frame(socket)) {
    MessageReader message(*frame);
    const auto limit_s = message.get<std::uint32_t>();
    const std::optional<CompileJob> job = decode_job(message.get_text());
    if (!job)
      _exit(1);
    ::alarm(limit_s);
    const CompileReply reply = headers.compile(nvrtc, *job);
    ::alarm(0);
    if (!send_frame(socket, encode(reply)))
      break;
  }
  _exit(0);
}

} // namespace

int main(int count, char** arguments) {
  if (count != 3)
    return 2;
  ::signal(SIGINT, SIG_IGN); // Ctrl-C is Lathe's to handle; this process ends with its socket
  ::signal(SIGPIPE, SIG_IGN);
  const Result<Nvrtc> nvrtc = Nvrtc::open(arguments[1]);
  MessageWriter hello;
  hello.put(nvrtc.ok()).put_text(nvrtc.ok() ? nvrtc->version() : nvrtc.error().sentence());
  if (!send_frame(COMPILE_CONTROL, hello.bytes()) || !nvrtc.ok())
    return 1;
  const HeaderReuse headers(nvrtc->reserve_header_heap() ? arguments[2] : "");

  sigset_t children, previous;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, &previous);
  const int ended = ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  for (;;) {
    pollfd watched[2] = {{COMPILE_CONTROL, POLLIN, 0}, {ended, POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0 && errno != EINTR)
      return 1;
    if (watched[1].revents) {
      signalfd_siginfo information;
      while (::read(ended, &information, sizeof information) > 0) {
      }
      int status = 0;
      for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        const HelperMessage message{HelperMessage::ended, pid, status};
        if (::send(COMPILE_CONTROL, &message, sizeof message, MSG_NOSIGNAL) != sizeof message)
          return 0;
      }
    }
    if (!watched[0].revents)
      continue;
    const int socket = receive_descriptor(COMPILE_CONTROL);
    if (socket < 0)
      return 0; // Lathe is gone, and with it the workers' sockets
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(COMPILE_CONTROL);
      ::close(ended);
      ::sigprocmask(SIG_SETMASK, &previous, nullptr);
      serve(*nvrtc, headers, socket);
    }
    ::close(socket);
    const HelperMessage message{HelperMessage::started, pid, pid < 0 ? errno : 0};
    if (::send(COMPILE_CONTROL, &message, sizeof message, MSG_NOSIGNAL) != sizeof message)
      return 0;
  }
}
