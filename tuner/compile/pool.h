// The worker processes behind Compiler, seen from Lathe's side.
#pragma once

#include "tuner/compile/nvrtc.h"

namespace lathe {

// Used by one thread, but for wake(). Workers are started when there is work for them and replaced when they
// die.
class CompilePool {
public:
  static Result<std::unique_ptr<CompilePool>> create(const std::filesystem::path& nvrtc, int jobs);
  virtual ~CompilePool() = default;

  struct Event {
    std::uint64_t job = 0;
    CompileOutcome::Kind kind = CompileOutcome::Kind::compiled;
    CompileReply reply;
    std::string ending; // of a worker that died or was killed: one clause
  };
  virtual std::size_t size() const = 0;
  virtual bool has_room() const = 0;
  virtual void start(std::uint64_t job, const CompileJob& content, double time_limit_s) = 0;
  // Blocks until something happened: a job ended, or wake() was called.
  virtual std::vector<Event> wait() = 0;
  virtual void wake() = 0; // from any thread
  // Kills the workers that are busy; their jobs report nothing.
  virtual void abandon() = 0;
  virtual std::string nvrtc_version() const = 0;
  virtual Compiler::Load load() const = 0;
};

} // namespace lathe
