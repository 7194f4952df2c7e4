// The executor's side of the table of functions that kernels call.
#include "tuner/measure/host_executor/block_runner.h"

#include <fmt/format.h>

namespace lathe::host {
namespace {

const ThreadSlot& running_thread(const BlockRunner& runner) {
  return runner.arena().thread(static_cast<unsigned>(
      (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - runner.arena().base()) / SLOT_BYTES));
}

// Apart from access(), whose frame its text would make many times as large.
[[noreturn]] __attribute__((noinline, cold)) void refuse_access(BlockRunner& runner, const ThreadSlot& slot,
                                                                std::uintptr_t address, std::size_t bytes,
                                                                bool write, const void* return_address) {
  const std::string wrong = runner.log()->complaint(address, bytes, write);
  const Index3 block = runner.arena().block().block;
  runner.fail({fmt::format("thread ({}, {}, {}) of block ({}, {}, {}) {}", slot.thread.x, slot.thread.y,
                           slot.thread.z, block.x, block.y, block.z, wrong),
               reinterpret_cast<std::uintptr_t>(return_address), 0});
}

// Every access of a checked kernel comes here: most of its time.
void access(const void* pointer, std::size_t bytes, bool write, const void* return_address,
            bool atomic = false) {
  BlockRunner* runner = BlockRunner::running();
  if (runner == nullptr || runner->log() == nullptr)
    return;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  runner->note_place(address);
  if (!runner->log()->note(address, bytes, write)) [[unlikely]]
    refuse_access(*runner, running_thread(*runner), address, bytes, write, return_address);
  if (runner->races())
    runner->races()->access(running_thread(*runner).linear, address, bytes, write, atomic);
  if (runner->fences() && write) {
    const unsigned thread = running_thread(*runner).linear;
    if (atomic)
      runner->fences()->atomic(thread, address);
    else
      runner->fences()->write(thread, address);
  }
  runner->may_interrupt(atomic);
}

void issue_copy(void* to, const void* from, unsigned bytes, unsigned read) {
  BlockRunner* runner = BlockRunner::running();
  const auto target = reinterpret_cast<std::uintptr_t>(to), source = reinterpret_cast<std::uintptr_t>(from);
  if (bytes == 0 || read > bytes || target % bytes != 0 || (read > 0 && source % bytes != 0))
    runner->fail(
        {fmt::format("a misaligned asynchronous copy, of {} bytes, {} of them read", bytes, read), 0, 0});
  // Out of bounds where it is issued; what it writes is there when it arrives.
  if (read > 0)
    access(from, read, false, nullptr);
  if (AccessLog* log = runner->log(); log && !log->note(target, bytes, true))
    runner->fail({log->complaint(target, bytes, true), 0, 0});
  const unsigned thread = running_thread(*runner).linear;
  const std::uint32_t begun = runner->races() ? runner->races()->copy_begins(thread, target, bytes) : 0;
  runner->copies().issue(
      thread, {static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes, read, begun});
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
      [](const void* address, std::size_t bytes, bool write, const void* return_address) {
        access(address, bytes, write, return_address);
      },
      [](const void* address, std::size_t bytes) {
        access(address, bytes, false, nullptr, true);
        access(address, bytes, true, nullptr, true);
        if (AccessLog* log = running()->log())
          log->count_atomic(reinterpret_cast<std::uintptr_t>(address));
      },
      [](const void* address, std::size_t bytes, bool write) {
        access(address, bytes, write, nullptr, true);
        if (AccessLog* log = running()->log())
          log->count_atomic(reinterpret_cast<std::uintptr_t>(address));
      },
      [](const char* what, const void* return_address) {
        running()->fail({std::string("undefined behaviour: ") + what,
                         reinterpret_cast<std::uintptr_t>(return_address), 0});
      },
      [] {
        if (FenceLog* fences = running()->fences())
          fences->fence(running_thread(*running()).linear);
      },
      [](void* to, const void* from, unsigned bytes, unsigned read) { issue_copy(to, from, bytes, read); },
      [] { running()->copies().commit(running_thread(*running()).linear); },
      [](unsigned pending) {
        running()->copies().wait(running_thread(*running()).linear, pending,
                                 [](unsigned of, const auto& copy) { running()->announce(of, copy); });
      },
      [] {
        running()->copies().finish(running_thread(*running()).linear,
                                   [](unsigned of, const auto& copy) { running()->announce(of, copy); });
      },
      [](const void* owner, unsigned number, const void* value, unsigned bytes) {
        running()->kept_values().keep(owner, number, value, bytes);
      },
      [](const void* owner, unsigned number, void* value, unsigned bytes) {
        running()->kept_values().recall(owner, number, value, bytes);
      }};
  return TABLE;
}

} // namespace lathe::host
