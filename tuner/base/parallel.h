// Independent pieces of work on several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace lathe {

// Runs `work(i)` for i < count, begun in this order, on at most `jobs` threads, the caller's among them;
// returns when all are done. `work` must not throw.
template <class Work> void parallel(std::size_t count, unsigned jobs, Work work) {
  std::atomic<std::size_t> next{0};
  const auto serve = [&] {
    for (std::size_t i; (i = next++) < count;)
      work(i);
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < jobs && t < count; ++t)
    threads.emplace_back(serve);
  serve();
  for (std::thread& thread : threads)
    thread.join();
}

} // namespace lathe
