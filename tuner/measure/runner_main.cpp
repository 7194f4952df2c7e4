// lathe-runner: owns the CUDA context of one device (argument: its index) for Lathe, which talks to it over
// descriptor
// 3. A kernel that corrupts the context, hangs or kills the process costs this process, not the tuning.
#include "tuner/compile/message.h"
#include "tuner/measure/runner_session.h"

#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace lathe;

// Ends the process when Lathe is gone, even while the main thread waits for the GPU.
void watch_parent() {
  std::thread([] {
    pollfd watched{RUNNER_SOCKET, POLLRDHUP, 0};
    while (::poll(&watched, 1, -1) < 0 || !(watched.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))) {
    }
    ::_exit(0);
  }).detach();
}

} // namespace

int main(int count, char** arguments) {
  if (count != 2)
    return 2;
  ::signal(SIGINT, SIG_IGN); // Ctrl-C is Lathe's to handle
  ::signal(SIGPIPE, SIG_IGN);
  watch_parent();
  const Result<std::unique_ptr<RunnerDevice>> device = RunnerDevice::open(std::atoi(arguments[1]));
  std::unique_ptr<RunnerSession> session;
  while (const std::optional<std::string> frame = receive_frame(RUNNER_SOCKET)) {
    if (frame->empty())
      return 1;
    std::string answer;
    bool last = false;
    switch (static_cast<RunnerCommand>(frame->front())) {
    case RunnerCommand::setup: {
      SetupReply reply;
      session.reset();
      std::optional<SetupRequest> request = decode_setup(*frame);
      if (!request)
        return 1;
      if (!device.ok()) {
        reply.error = device.error().sentence();
      } else {
        Result<std::unique_ptr<RunnerSession>> created =
            RunnerSession::create(**device, std::move(*request), reply);
        reply.ok = created.ok();
        if (created.ok())
          session = std::move(*created);
        else
          reply.error = created.error().sentence();
      }
      last = !reply.ok; // a failed setup may have lost the context
      answer = encode(reply);
      break;
    }
    case RunnerCommand::evaluate: {
      const std::optional<EvaluateRequest> request = decode_evaluate(*frame);
      if (!request || !session)
        return 1;
      const EvaluateReply reply = session->evaluate(*request);
      last = reply.last_words;
      answer = encode(reply);
      break;
    }
    case RunnerCommand::compare: {
      const std::optional<CompareRequest> request = decode_compare(*frame);
      if (!request || !session)
        return 1;
      const CompareReply reply = session->compare(*request);
      last = reply.last_words;
      answer = encode(reply);
      break;
    }
    case RunnerCommand::profile: {
      const std::optional<ProfileRequest> request = decode_profile(*frame);
      if (!request || !session)
        return 1;
      const ProfileReply reply = session->profile(*request);
      last = reply.last_words;
      answer = encode(reply);
      break;
    }
    }
    if (!send_frame(RUNNER_SOCKET, answer) || last)
      break;
  }
  ::_exit(0); // leaves freeing to the driver: with a lost context it cannot succeed
}
