// The executor's side of the table of functions that kernels call.
#include "tuner/measure/host_executor/block_runner.h"

#include <fmt/format.h>

namespace lathe::host {
namespace {

void access(const void* address, std::size_t bytes, bool write, const void* return_address) {
  BlockRunner* runner = BlockRunner::running();
  if (runner == nullptr || runner->log() == nullptr)
    return;
  std::string wrong = runner->log()->note(reinterpret_cast<std::uintptr_t>(address), bytes, write);
  if (!wrong.empty()) {
    const ThreadSlot& slot = runner->arena().thread(static_cast<unsigned>(
        (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - runner->arena().base()) /
        SLOT_BYTES));
    const Index3 block = runner->arena().block().block;
    runner->fail({fmt::format("thread ({}, {}, {}) of block ({}, {}, {}) {}", slot.thread.x, slot.thread.y,
                              slot.thread.z, block.x, block.y, block.z, wrong),
                  reinterpret_cast<std::uintptr_t>(return_address), 0});
  }
}

} // namespace

const Api& BlockRunner::api() {
  static const Api TABLE{
      ABI_VERSION,
      [](unsigned id, unsigned threads, bool wait, Vote vote, int predicate, int line) {
        return running()->barrier(id, threads, wait, vote, predicate, line);
      },
      [](unsigned mask, unsigned operation, std::uint64_t value, int line) {
        return running()->exchange(mask, operation, value, line);
      },
      [] { return running()->active_lanes(); },
      [] { running()->yield(); },
      [](const char* what, const char* file, int line) {
        running()->fail(
            {file != nullptr ? fmt::format("{} in {}", what, file) : std::string(what),
             file != nullptr || line != 0 ? 0 : reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),
             line});
      },
      [](const char* text, std::size_t length) {
        if (running()->task().print)
          running()->task().print({text, length});
      },
      access,
      [](const void* address, std::size_t bytes) {
        access(address, bytes, false, nullptr);
        access(address, bytes, true, nullptr);
        if (AccessLog* log = running()->log())
          log->count_atomic(reinterpret_cast<std::uintptr_t>(address));
      },
      [](const char* what, const void* return_address) {
        running()->fail({std::string("undefined behaviour: ") + what,
                         reinterpret_cast<std::uintptr_t>(return_address), 0});
      }};
  return TABLE;
}

} // namespace lathe::host
