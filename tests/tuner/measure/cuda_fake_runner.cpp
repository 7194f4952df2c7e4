// A runner without a device. What it does with a configuration is the configuration's block size: 32 measures
// (at a made-up time, which nothing reports), 64 never answers, 96 dies of a signal, 128 answers with noise,
// 160 loses its context, 192 ends in the middle of an answer, 224 exits. Counters: 32 has some, 96 dies,
// others are denied. Argument: "setup-fails" refuses every problem, "unsteady" since the raw kernel differs
// from itself, "aligned-only" those with shifted buffers, "times-nothing" those that ask for times.
#include "tuner/compile/message.h"
#include "tuner/measure/cuda_protocol.h"

#include <csignal>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char** arguments) {
  using namespace lathe;
  const std::string manner = count < 2 ? "" : arguments[1];
  while (const auto frame = receive_frame(RUNNER_SOCKET)) {
    if (static_cast<RunnerCommand>(frame->front()) == RunnerCommand::setup) {
      const auto wanted = decode_setup(*frame);
      if (!wanted)
        return 1;
      SetupReply reply;
      reply.reference_differs = manner == "unsteady";
      reply.ok = manner != "setup-fails" && !reply.reference_differs &&
                 (manner != "aligned-only" || wanted->shifted_elements == 0) &&
                 (manner != "times-nothing" || !wanted->measure);
      reply.error = "the raw kernel cannot be run on this device: made up";
      reply.raw.median_us = 10;
      if (!send_frame(RUNNER_SOCKET, encode(reply)))
        return 1;
      continue;
    }
    if (static_cast<RunnerCommand>(frame->front()) == RunnerCommand::profile) {
      const auto wanted = decode_profile(*frame);
      if (!wanted || wanted->kernel.launch.block[0] == 96)
        return 1;
      ProfileReply reply;
      reply.ok = wanted->kernel.launch.block[0] == 32;
      reply.denied = !reply.ok;
      reply.error = "not allowed";
      reply.metrics = {"dram__bytes.sum.pct_of_peak_sustained_elapsed"};
      reply.values = {50};
      if (!send_frame(RUNNER_SOCKET, encode(reply)))
        return 1;
      continue;
    }
    const auto request = decode_evaluate(*frame);
    if (!request || (manner == "times-nothing" && !request->verify_only))
      return 1;
    EvaluateReply reply;
    reply.timing.median_us = 5;
    switch (request->kernel.launch.block[0]) {
    case 64:
      for (;;)
        ::pause();
    case 96:
      ::raise(SIGSEGV);
      break;
    case 128:
      send_frame(RUNNER_SOCKET, "noise");
      continue;
    case 160:
      reply.outcome = Outcome::runtime_error;
      reply.reason = "made up";
      reply.last_words = true;
      send_frame(RUNNER_SOCKET, encode(reply));
      return 0;
    case 192: {
      const std::uint64_t size = 1000;
      ::send(RUNNER_SOCKET, &size, sizeof size, 0);
      ::send(RUNNER_SOCKET, "half", 4, 0);
      return 0;
    }
    case 224:
      return 7;
    default:
      break;
    }
    if (!send_frame(RUNNER_SOCKET, encode(reply)))
      return 1;
  }
}
