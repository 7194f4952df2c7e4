// The child process that owns a device's context, seen from Lathe.
#pragma once

#include "tuner/base/result.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace lathe {

// Processes with the same turns are asked one at a time: what one of them does on their device would show in
// what another one measures. Empty: there is no other.
using DeviceTurns = std::shared_ptr<std::mutex>;

class RunnerProcess {
public:
  // command[0] is the program's path; the child's end of the socket is descriptor 3.
  explicit RunnerProcess(std::vector<std::string> command, DeviceTurns turns = {})
      : command_(std::move(command)), turns_(std::move(turns)) {}
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;
  // Waits for the end of what it started, a second at most: then nothing of Lathe holds the device.
  ~RunnerProcess();

  bool running() const { return socket_ >= 0; }
  // Waits for predecessors that still die, a second at most: the memory that they hold is wanted.
  Status start();
  // Kills it if it runs, and does not wait for its end: the driver may hold it for a while.
  void stop();
  // Tells it that there is no more to do, and waits for its end; after `limit_s` it is killed.
  void finish(double limit_s);

  struct Answer {
    enum class Kind { reply, timeout, died } kind = Kind::died;
    std::string reply;  // when there is one
    std::string ending; // died: "signal 9 (Killed)"
    double seconds = 0; // of the turn: waiting for it is left out
  };
  // Waits for its turn, sends a request and waits for its reply, `limit_s` at most. After a timeout or a
  // death the process is gone: start() again.
  Answer ask(const std::string& request, double limit_s);

private:
  // The process has closed its socket or is killed: how it ended, unless that takes longer than a second.
  std::string reap(bool kill);
  void collect_dying();
  void wait_for_dying(); // a second at most
  void close_socket();

  Answer ask_now(const std::string& request, double limit_s);

  std::vector<std::string> command_;
  DeviceTurns turns_;
  int socket_ = -1;
  pid_t pid_ = 0;
  std::vector<pid_t> dying_; // killed, but still held by the driver
};

} // namespace lathe
