// Independent pieces of work on several threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace lathe::refactor {

// Runs `work(i)` for i < count, in this order, on `jobs` threads; none is begun after the deadline.
template <class Work>
void parallel(std::size_t count, int jobs, std::chrono::steady_clock::time_point deadline, Work work) {
  std::atomic<std::size_t> next{0};
  const auto serve = [&] {
    for (std::size_t i; (i = next++) < count && std::chrono::steady_clock::now() < deadline;)
      work(i);
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < jobs && static_cast<std::size_t>(t) < count; ++t)
    threads.emplace_back(serve);
  serve();
  for (std::thread& thread : threads)
    thread.join();
}

} // namespace lathe::refactor
