// Work in a forked child that may crash, hang or be killed.
#pragma once

#include "tuner/base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace lathe::host {

// What a crashing child could still say.
struct CrashNote {
  int signal = 0;
  std::uintptr_t address = 0; // that it accessed
  std::uintptr_t where = 0;   // the instruction
  std::uintptr_t arena = 0;   // of the OS thread that crashed, 0: none
};

struct ChildEnd {
  bool finished = false; // `work` returned
  bool timed_out = false;
  std::string answer; // all that it told
  CrashNote crash;    // signal 0: none
};

using Tell = std::function<void(std::string_view)>;

// Runs `work` in a forked child with no output streams of its own; what it tells reaches the parent even when
// it crashes later. The time limit is of the child's own seconds of CPU time, times `threads`, so that a busy
// machine makes no hang of slow work; a child that sleeps is ended after 30 times as many seconds of the
// clock. Both begin anew whenever it tells something. An Error means that no child could be started.
Result<ChildEnd> run_in_child(const std::function<void(const Tell&)>& work, double time_limit_s,
                              int threads = 1);

// The calling OS thread's signal stack, for the note of a stack overflow; called by threads of a child.
class SignalStack {
public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

private:
  void* memory_ = nullptr;
};

} // namespace lathe::host
