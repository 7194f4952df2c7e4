#include "tuner/compile/pool.h"

#include "tuner/base/files.h"
#include "tuner/compile/helper.h"
#include "tuner/compile/message.h"
#include "tuner/compile/toolkit.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string ending_of(int status) {
  if (WIFSIGNALED(status))
    return std::string("the compiler crashed with signal ") + std::to_string(WTERMSIG(status)) + " (" +
           ::strsignal(WTERMSIG(status)) + ")";
  return "the compiler ended with exit code " + std::to_string(WEXITSTATUS(status));
}

// A helper process that runs, and the folder of the headers that its workers have precompiled.
struct Helper {
  pid_t pid = 0;
  int control = -1;
  std::string version;  // NVRTC's
  std::string received; // of messages that are not whole yet
  std::filesystem::path program, nvrtc;
  std::optional<TemporaryFolder> headers;
};

void end(Helper& helper) {
  if (helper.control >= 0)
    ::close(helper.control);
  helper.control = -1;
  if (helper.pid > 0) {
    ::kill(helper.pid, SIGKILL);
    ::waitpid(helper.pid, nullptr, 0);
  }
  helper.pid = 0;
}

// The helper of a pool that is gone, for the next: a process that compiles for one thing after another keeps
// NVRTC loaded and the headers precompiled.
class IdleHelper {
public:
  ~IdleHelper() {
    if (helper_)
      end(*helper_);
  }

  void keep(Helper helper) {
    const std::lock_guard lock(mutex_);
    if (helper_)
      end(helper);
    else
      helper_ = std::move(helper);
  }

  std::optional<Helper> take(const std::filesystem::path& program, const std::filesystem::path& nvrtc) {
    const std::lock_guard lock(mutex_);
    if (!helper_ || helper_->program != program || helper_->nvrtc != nvrtc)
      return std::nullopt;
    std::optional<Helper> taken = std::move(helper_);
    helper_.reset();
    return taken;
  }

private:
  std::mutex mutex_;
  std::optional<Helper> helper_;
};

IdleHelper idle_helper; // outlives compilers that are kept in functions

class HelperPool final : public CompilePool {
public:
  HelperPool(std::filesystem::path program, std::filesystem::path nvrtc, std::size_t workers)
      : workers_(workers), wake_(::eventfd(0, EFD_CLOEXEC)) {
    helper_.program = std::move(program);
    helper_.nvrtc = std::move(nvrtc);
  }

  ~HelperPool() override {
    for (Worker& worker : workers_)
      drop(worker, true);
    if (helper_.control >= 0)
      idle_helper.keep(std::move(helper_));
    else
      end(helper_);
    ::close(wake_);
  }

  // One that an earlier pool left, or a new one.
  Status take_helper() {
    if (auto left = idle_helper.take(helper_.program, helper_.nvrtc)) {
      helper_ = std::move(*left);
      return Done{};
    }
    return start_helper();
  }

  // Starts the helper; also after it died.
  Status start_helper() {
    end(helper_);
    helper_.received.clear();
    helper_.headers.reset(); // of use to its own workers alone
    if (auto folder = TemporaryFolder::create("compiler"); folder.ok())
      helper_.headers.emplace(std::move(*folder));
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return Error{"cannot start the compiler", std::strerror(errno), ""};
    const std::string program = helper_.program.string(), library = helper_.nvrtc.string(),
                      headers = helper_.headers ? helper_.headers->path().string() : "";
    char* arguments[] = {const_cast<char*>(program.c_str()), const_cast<char*>(library.c_str()),
                         const_cast<char*>(headers.c_str()), nullptr};
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (ends[1] == COMPILE_CONTROL)
        ::fcntl(ends[1], F_SETFD, 0);
      else
        ::dup2(ends[1], COMPILE_CONTROL);
      sigset_t none;
      sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::execv(program.c_str(), arguments);
      ::_exit(127);
    }
    ::close(ends[1]);
    if (pid < 0) {
      ::close(ends[0]);
      return Error{"cannot start the compiler", std::strerror(errno), ""};
    }
    helper_.pid = pid;
    helper_.control = ends[0];
    const std::optional<std::string> hello = receive_frame(helper_.control, 30000);
    MessageReader message(hello.value_or(""));
    const bool opened = message.get<bool>();
    const std::string version = message.get_text();
    if (helper_.version.empty()) // later helpers are the same; other threads read it
      helper_.version = version;
    if (!message.ok() || !opened) {
      end(helper_);
      return Error{"cannot start the compiler", message.ok() ? version : program + " did not answer",
                   "check the CUDA 13 toolkit and the installation of Lathe"};
    }
    return Done{};
  }

  std::size_t size() const override { return workers_.size(); }

  bool has_room() const override {
    for (const Worker& worker : workers_)
      if (!worker.busy)
        return true;
    return false;
  }

  void start(std::uint64_t job, const CompileJob& content, double time_limit_s) override {
    Worker* chosen = nullptr;
    for (Worker& worker : workers_) // one that already runs, if possible
      if (!worker.busy && (!chosen || worker.socket >= 0)) {
        chosen = &worker;
        if (worker.socket >= 0)
          break;
      }
    MessageWriter message;
    message.put(static_cast<std::uint32_t>(std::ceil(time_limit_s) + 5)).put_text(encode(content));
    for (int attempt = 0; chosen && attempt < 3; ++attempt) {
      if (chosen->socket < 0 && !start_worker(*chosen))
        continue;
      if (send_frame(chosen->socket, message.bytes())) {
        chosen->busy = true;
        chosen->job = job;
        chosen->started = Clock::now();
        chosen->limit_s = time_limit_s;
        return;
      }
      drop(*chosen, true); // it died while idle
    }
    Event event;
    event.job = job;
    event.kind = CompileOutcome::Kind::crashed;
    event.ending = "no compiler process could be started";
    pending_.push_back(std::move(event));
  }

  std::vector<Event> wait() override {
    std::vector<Event> events;
    std::swap(events, pending_);
    if (!events.empty())
      return events;
    std::vector<pollfd> watched{{wake_, POLLIN, 0}, {helper_.control, POLLIN, 0}};
    std::vector<Worker*> owners{nullptr, nullptr};
    double left = 3600;
    const Clock::time_point now = Clock::now();
    for (Worker& worker : workers_)
      if (worker.busy) {
        watched.push_back({worker.socket, POLLIN, 0});
        owners.push_back(&worker);
        left = std::min(left, worker.limit_s - seconds_between(worker.started, now));
      }
    ::poll(watched.data(), watched.size(), left <= 0 ? 0 : static_cast<int>(left * 1000) + 1);
    if (watched[0].revents) {
      std::uint64_t ignored;
      [[maybe_unused]] const ssize_t count = ::read(wake_, &ignored, sizeof ignored);
    }
    if (watched[1].revents)
      read_control(0);
    for (std::size_t i = 2; i < watched.size(); ++i)
      if (watched[i].revents)
        read_worker(*owners[i], events);
    for (Worker& worker : workers_)
      if (worker.busy && seconds_between(worker.started, Clock::now()) > worker.limit_s) {
        Event event;
        event.job = worker.job;
        event.kind = CompileOutcome::Kind::timeout;
        event.ending = "the compiler did not end within " +
                       std::to_string(static_cast<int>(std::ceil(worker.limit_s))) + " s";
        retire(worker);
        drop(worker, true);
        events.push_back(std::move(event));
      }
    return events;
  }

  void wake() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t count = ::write(wake_, &one, sizeof one);
  }

  void abandon() override {
    for (Worker& worker : workers_)
      if (worker.busy) {
        retire(worker);
        drop(worker, true);
      }
    pending_.clear();
  }

  std::string nvrtc_version() const override { return helper_.version; }

  Compiler::Load load() const override {
    Compiler::Load load{busy_s_, 0};
    const Clock::time_point now = Clock::now();
    for (const Worker& worker : workers_) {
      if (worker.busy)
        load.busy_s += seconds_between(worker.started, now);
      if (worker.born != Clock::time_point())
        load.available_s += seconds_between(worker.born, now);
    }
    return load;
  }

private:
  struct Worker {
    int socket = -1;
    pid_t pid = 0;
    bool busy = false;
    std::uint64_t job = 0;
    Clock::time_point started, born; // born: when this place first held a worker
    double limit_s = 0;
    FrameBuffer buffer;
  };

  bool start_worker(Worker& worker) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return false;
    started_ = 0;
    bool asked = helper_.control >= 0 && send_descriptor(helper_.control, ends[1]);
    if (!asked && start_helper().ok()) // the helper itself was killed
      asked = send_descriptor(helper_.control, ends[1]);
    ::close(ends[1]);
    if (asked)
      read_control(5000);
    if (started_ <= 0) {
      ::close(ends[0]);
      return false;
    }
    worker.socket = ends[0];
    worker.pid = started_;
    worker.buffer = {};
    if (worker.born == Clock::time_point())
      worker.born = Clock::now();
    return true;
  }

  // Takes in the helper's messages; with a time to wait, until one says that a worker started.
  void read_control(int wait_ms) {
    const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(wait_ms);
    for (;;) {
      char chunk[1024];
      const ssize_t count = ::recv(helper_.control, chunk, sizeof chunk, MSG_DONTWAIT);
      if (count > 0)
        helper_.received.append(chunk, static_cast<std::size_t>(count));
      HelperMessage message;
      while (helper_.received.size() >= sizeof message) {
        std::memcpy(&message, helper_.received.data(), sizeof message);
        helper_.received.erase(0, sizeof message);
        if (message.kind == HelperMessage::started) {
          started_ = message.pid > 0 ? message.pid : -1;
          endings_.erase(message.pid); // of an earlier worker with its number
        } else {
          endings_[message.pid] = message.status;
        }
      }
      if (count == 0) { // the helper is gone; the next worker starts another
        ::close(helper_.control);
        helper_.control = -1;
        return;
      }
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (started_ != 0 || left <= 0)
        return;
      pollfd watched{helper_.control, POLLIN, 0};
      ::poll(&watched, 1, static_cast<int>(left) + 1);
    }
  }

  void read_worker(Worker& worker, std::vector<Event>& events) {
    const bool alive = worker.buffer.read_available(worker.socket);
    Event event;
    event.job = worker.job;
    if (std::optional<std::string> frame = worker.buffer.take()) {
      if (std::optional<CompileReply> reply = decode_reply(*frame)) {
        event.kind = reply->compiled ? CompileOutcome::Kind::compiled : CompileOutcome::Kind::error;
        event.reply = std::move(*reply);
        retire(worker);
        events.push_back(std::move(event));
        if (!alive)
          drop(worker, false);
        return;
      }
    } else if (alive) {
      return; // the rest is on its way
    }
    event.kind = CompileOutcome::Kind::crashed;
    event.ending = "the compiler process died";
    retire(worker);
    // The helper learns of the death a moment after the socket closed.
    for (int attempt = 0; attempt < 50 && helper_.control >= 0 && !endings_.contains(worker.pid); ++attempt) {
      started_ = 0;
      read_control(0);
      if (!endings_.contains(worker.pid))
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (const auto found = endings_.find(worker.pid); found != endings_.end())
      event.ending = ending_of(found->second);
    drop(worker, true);
    events.push_back(std::move(event));
  }

  void retire(Worker& worker) {
    busy_s_ += seconds_between(worker.started, Clock::now());
    worker.busy = false;
  }

  void drop(Worker& worker, bool kill) {
    if (worker.socket >= 0)
      ::close(worker.socket);
    worker.socket = -1;
    // Once the helper has reported the end, the number may belong to another process.
    if (kill && worker.pid > 0 && !endings_.contains(worker.pid))
      ::kill(worker.pid, SIGKILL);
    endings_.erase(worker.pid);
    worker.pid = 0;
  }

  Helper helper_;
  std::vector<Worker> workers_;
  int wake_;
  pid_t started_ = 0;
  std::map<pid_t, int> endings_;
  std::vector<Event> pending_;
  double busy_s_ = 0;
};

} // namespace

Result<std::unique_ptr<CompilePool>> CompilePool::create(const std::filesystem::path& nvrtc, int jobs) {
  LATHE_TRY(const std::filesystem::path program, sibling_executable("lathe-compiler"));
  const std::size_t workers =
      jobs > 0 ? static_cast<std::size_t>(jobs) : std::max(1u, std::thread::hardware_concurrency());
  auto pool = std::make_unique<HelperPool>(program, nvrtc, workers);
  LATHE_CHECK(pool->take_helper());
  return std::unique_ptr<CompilePool>(std::move(pool));
}

} // namespace lathe
