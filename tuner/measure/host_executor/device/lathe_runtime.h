// The end of every translation unit: what the executor attaches to, and the callbacks of instrumented code.
#pragma once

#define LATHE_EXPORT extern "C" __attribute__((visibility("default")))

const lathe_host::Api* lathe_api;

extern "C" {
#ifdef LATHE_CHECKED
__attribute__((visibility("hidden"), aligned(1024))) unsigned char
    lathe_dynamic_shared[lathe_host::MAX_DYNAMIC_SHARED + lathe_host::DYNAMIC_SHARED_SLACK];
extern __attribute__((weak, visibility("hidden"))) unsigned char __start_lathe_shared[],
    __stop_lathe_shared[];
// Behind the kernel's own variables, for what runs over their end.
static __attribute__((section("lathe_shared"),
                      used)) unsigned char lathe_shared_guard[lathe_host::SHARED_GUARD_BYTES];
#else
__attribute__((visibility("hidden"), aligned(1024))) __thread unsigned char
    lathe_dynamic_shared[lathe_host::MAX_DYNAMIC_SHARED + lathe_host::DYNAMIC_SHARED_SLACK];
#endif
}

// Unchecked: the callbacks work only once it has run.
LATHE_EXPORT LATHE_UNCHECKED unsigned lathe_attach(const lathe_host::Api* api) {
  lathe_api = api;
  return lathe_host::ABI_VERSION;
}

// The calling OS thread's; where it is thread-local, the executor finds the rest of the segment around
// `dynamic`.
LATHE_EXPORT LATHE_UNCHECKED void lathe_shared_memory(lathe_host::SharedMemory* memory) {
#ifdef LATHE_CHECKED
  memory->begin = __start_lathe_shared;
  memory->end = __stop_lathe_shared;
  memory->guard = lathe_shared_guard;
#else
  memory->begin = memory->end = memory->guard = nullptr;
#endif
  memory->dynamic = lathe_dynamic_shared;
}

// What assert() calls.
extern "C" __attribute__((visibility("hidden"), noreturn)) LATHE_UNCHECKED void
__assert_fail(const char* condition, const char* file, unsigned line, const char*) noexcept {
  char text[256];
  __builtin_snprintf(text, sizeof text, "assertion failed: %s", condition);
  lathe_api->fail(text, file, static_cast<int>(line));
  __builtin_unreachable();
}

#ifdef LATHE_CHECKED
// What local variables hold until they are written; the executor's choice.
LATHE_EXPORT unsigned char lathe_local_poison;
unsigned char lathe_local_poison;

// Called by what local_pass.cpp puts where a variable's life ends.
extern "C" LATHE_UNCHECKED __attribute__((noinline, cold)) void lathe_local_overrun() {
  lathe_api->undefined("write outside a local variable", __builtin_return_address(0));
}

// Called by what bounds_pass.cpp puts before accesses.
extern "C" LATHE_UNCHECKED __attribute__((noinline, cold)) void lathe_outside_local() {
  lathe_api->undefined("access outside a local variable", __builtin_return_address(0));
}

// A thread's own variables lie between the frame that runs now and the one that its life began in. What else
// is on the stacks is not the kernel's: a pointer to a variable went far outside it.
LATHE_UNCHECKED LATHE_INLINE void check_stack(const void* address, const void* return_address) {
  using namespace lathe_host;
  const uintptr_t base = arena(), here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)),
                  at = reinterpret_cast<uintptr_t>(address);
  const size_t slot = (at - base) / SLOT_BYTES;
  if (at - base >= ARENA_BYTES || slot < FIRST_STACK_SLOT || slot >= EXCHANGE_SLOT)
    return;
  const ThreadSlot& thread = reinterpret_cast<const ThreadSlot*>(base + THREAD_SLOTS_OFFSET)[slot];
  if (slot != (here - base) / SLOT_BYTES || at < here || at >= thread.frame)
    lathe_api->undefined("access outside a local variable", return_address);
}

// clang's -fsanitize=thread announces every access to memory that another thread could see; the executor
// judges them. Many of those of a kernel whose threads exchange values are to its own memory, where there is
// nothing to judge: the arena, stacks included, and the table of its functions.
LATHE_UNCHECKED LATHE_INLINE bool is_executors(const void* address, const void* return_address) {
  using namespace lathe_host;
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  if (at - arena() < ARENA_BYTES || at - reinterpret_cast<uintptr_t>(lathe_api) < sizeof(Api) ||
      address == &lathe_api) {
    ++reinterpret_cast<Block*>(arena())->own_accesses;
    check_stack(address, return_address);
    return true;
  }
  return false;
}
#define LATHE_ACCESS(suffix, bytes)                                                                          \
  extern "C" LATHE_UNCHECKED void __tsan_read##suffix(void* address) {                                       \
    if (!is_executors(address, __builtin_return_address(0)))                                                 \
      lathe_api->access(address, bytes, false, __builtin_return_address(0));                                 \
  }                                                                                                          \
  extern "C" LATHE_UNCHECKED void __tsan_write##suffix(void* address) {                                      \
    if (!is_executors(address, __builtin_return_address(0)))                                                 \
      lathe_api->access(address, bytes, true, __builtin_return_address(0));                                  \
  }                                                                                                          \
  extern "C" LATHE_UNCHECKED void __tsan_unaligned_read##suffix(void* address) {                             \
    if (!is_executors(address, __builtin_return_address(0)))                                                 \
      lathe_api->access(address, bytes, false, __builtin_return_address(0));                                 \
  }                                                                                                          \
  extern "C" LATHE_UNCHECKED void __tsan_unaligned_write##suffix(void* address) {                            \
    if (!is_executors(address, __builtin_return_address(0)))                                                 \
      lathe_api->access(address, bytes, true, __builtin_return_address(0));                                  \
  }
LATHE_ACCESS(1, 1)
LATHE_ACCESS(2, 2)
LATHE_ACCESS(4, 4)
LATHE_ACCESS(8, 8)
LATHE_ACCESS(16, 16)
extern "C" {
LATHE_UNCHECKED void __tsan_init() {}
LATHE_UNCHECKED void __tsan_func_entry(void*) {}
LATHE_UNCHECKED void __tsan_func_exit() {}
LATHE_UNCHECKED void __tsan_vptr_read(void**) {}
LATHE_UNCHECKED void __tsan_vptr_update(void**, void*) {}
LATHE_UNCHECKED void __tsan_ignore_thread_begin() {}
LATHE_UNCHECKED void __tsan_ignore_thread_end() {}
LATHE_UNCHECKED void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  check_stack(from, __builtin_return_address(0));
  check_stack(to, __builtin_return_address(0));
  lathe_api->access(from, bytes, false, __builtin_return_address(0));
  lathe_api->access(to, bytes, true, __builtin_return_address(0));
  return __builtin_memcpy(to, from, bytes);
}
LATHE_UNCHECKED void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  check_stack(from, __builtin_return_address(0));
  check_stack(to, __builtin_return_address(0));
  lathe_api->access(from, bytes, false, __builtin_return_address(0));
  lathe_api->access(to, bytes, true, __builtin_return_address(0));
  return __builtin_memmove(to, from, bytes);
}
LATHE_UNCHECKED void* __tsan_memset(void* to, int value, size_t bytes) {
  check_stack(to, __builtin_return_address(0));
  lathe_api->access(to, bytes, true, __builtin_return_address(0));
  return __builtin_memset(to, value, bytes);
}
}

// Called by what alignment_pass.cpp puts before copies of structures.
extern "C" LATHE_UNCHECKED __attribute__((noinline)) void lathe_check_alignment(const void* address,
                                                                                unsigned alignment) {
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0)
    lathe_api->undefined("misaligned access of a vector or structure", __builtin_return_address(0));
}

// clang's minimal undefined-behaviour runtime.
#define LATHE_UNDEFINED(kind, words)                                                                         \
  extern "C" LATHE_UNCHECKED void __ubsan_handle_##kind##_minimal() {                                        \
    lathe_api->undefined(words, __builtin_return_address(0));                                                \
  }                                                                                                          \
  extern "C" LATHE_UNCHECKED void __ubsan_handle_##kind##_minimal_abort() {                                  \
    lathe_api->undefined(words, __builtin_return_address(0));                                                \
  }
LATHE_UNDEFINED(type_mismatch, "null or misaligned pointer")
LATHE_UNDEFINED(alignment_assumption, "wrong alignment assumption")
LATHE_UNDEFINED(add_overflow, "signed overflow of an addition")
LATHE_UNDEFINED(sub_overflow, "signed overflow of a subtraction")
LATHE_UNDEFINED(mul_overflow, "signed overflow of a multiplication")
LATHE_UNDEFINED(negate_overflow, "signed overflow of a negation")
LATHE_UNDEFINED(divrem_overflow, "division by zero or overflow of a division")
LATHE_UNDEFINED(shift_out_of_bounds, "shift by more than the width")
LATHE_UNDEFINED(out_of_bounds, "array index out of bounds")
LATHE_UNDEFINED(local_out_of_bounds, "access outside a local variable")
LATHE_UNDEFINED(builtin_unreachable, "execution reached what was declared unreachable")
LATHE_UNDEFINED(missing_return, "missing return")
LATHE_UNDEFINED(vla_bound_not_positive, "array of no elements")
LATHE_UNDEFINED(float_cast_overflow, "conversion of a real out of the integer's range")
LATHE_UNDEFINED(load_invalid_value, "invalid value of a bool or enumeration")
LATHE_UNDEFINED(invalid_builtin, "invalid argument of a builtin")
LATHE_UNDEFINED(function_type_mismatch, "call through a pointer of another type")
LATHE_UNDEFINED(implicit_conversion, "implicit conversion changed a value")
LATHE_UNDEFINED(nonnull_arg, "null argument")
LATHE_UNDEFINED(nonnull_return, "null returned")
LATHE_UNDEFINED(pointer_overflow, "pointer arithmetic overflow")
#endif
