#include "tuner/measure/host_executor/async_copies.h"

#include <cstring>
#include <utility>

namespace lathe::host {

void AsyncCopies::commit(unsigned thread) {
  Thread& own = of_threads_[thread];
  own.groups.push_back(std::exchange(own.open, {}));
}

void AsyncCopies::wait(unsigned thread, unsigned pending, const Announce& announce) {
  std::vector<std::vector<Copy>>& groups = of_threads_[thread].groups;
  while (groups.size() > pending) {
    for (const Copy& copy : groups.front()) {
      announce(thread, copy);
      if (copy.read > 0)
        std::memcpy(copy.to, copy.from, copy.read);
      std::memset(copy.to + copy.read, 0, copy.bytes - copy.read);
    }
    groups.erase(groups.begin());
  }
}

void AsyncCopies::finish(unsigned thread, const Announce& announce) {
  Thread& own = of_threads_[thread];
  if (!own.open.empty())
    commit(thread);
  if (!own.groups.empty())
    wait(thread, 0, announce);
}

} // namespace lathe::host
