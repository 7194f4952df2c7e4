// Independent pieces of work on several threads, until a deadline.
#pragma once

#include "tuner/base/parallel.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace lathe::refactor {

// Runs `work(i)` for i < count, in this order, on `jobs` threads; none is begun after the deadline.
template <class Work>
void parallel(std::size_t count, int jobs, std::chrono::steady_clock::time_point deadline, Work work) {
  lathe::parallel(count, static_cast<unsigned>(std::max(1, jobs)), [&](std::size_t i) {
    if (std::chrono::steady_clock::now() < deadline)
      work(i);
  });
}

} // namespace lathe::refactor
