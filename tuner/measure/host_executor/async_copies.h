// Asynchronous copies of a block's threads (cp.async): what is copied arrives when its thread waits for it,
// never earlier, so that a wait that is missing shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace lathe::host {

class AsyncCopies {
public:
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    unsigned bytes = 0, read = 0; // behind `read` zeros are written
    std::uint32_t begun = 0;      // RaceLog::copy_begins()
  };
  // Told of each copy before it is made.
  using Announce = std::function<void(unsigned thread, const Copy&)>;

  explicit AsyncCopies(unsigned threads) : of_threads_(threads) {}

  void issue(unsigned thread, const Copy& copy) { of_threads_[thread].open.push_back(copy); }
  // What was issued since the last commit becomes a group.
  void commit(unsigned thread);
  // All groups arrive but the last `pending`.
  void wait(unsigned thread, unsigned pending, const Announce& announce);
  // Everything arrives: the thread has ended, or waits for all.
  void finish(unsigned thread, const Announce& announce);

private:
  struct Thread {
    std::vector<Copy> open;
    std::vector<std::vector<Copy>> groups;
  };
  std::vector<Thread> of_threads_;
};

} // namespace lathe::host
