// Threads, barriers, warps, atomics, memory: the parts of CUDA that the executor models.
#pragma once

#include <cstdarg>
#include <cstdio>

// Of the types that CUDA gives them: code may ask.
namespace lathe_host {
LATHE_INLINE const uint3 as_index(const Index3& index) {
  return {index.x, index.y, index.z};
}
LATHE_INLINE const dim3 as_size(const Index3& size) {
  return {size.x, size.y, size.z};
}
} // namespace lathe_host
#define threadIdx (::lathe_host::as_index(::lathe_host::thread().thread))
#define blockIdx (::lathe_host::as_index(::lathe_host::block().block))
#define blockDim (::lathe_host::as_size(::lathe_host::block().block_dim))
#define gridDim (::lathe_host::as_size(::lathe_host::block().grid_dim))
static constexpr int warpSize = 32;

// Barriers.
LATHE_DEVICE void __syncthreads(int line = __builtin_LINE()) {
  lathe_api->barrier(0, 0, true, lathe_host::Vote::none, 0, line);
}
LATHE_DEVICE int __syncthreads_count(int predicate, int line = __builtin_LINE()) {
  return static_cast<int>(lathe_api->barrier(0, 0, true, lathe_host::Vote::count, predicate, line));
}
LATHE_DEVICE int __syncthreads_and(int predicate, int line = __builtin_LINE()) {
  return static_cast<int>(lathe_api->barrier(0, 0, true, lathe_host::Vote::all, predicate, line));
}
LATHE_DEVICE int __syncthreads_or(int predicate, int line = __builtin_LINE()) {
  return static_cast<int>(lathe_api->barrier(0, 0, true, lathe_host::Vote::any, predicate, line));
}
LATHE_DEVICE void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  lathe_api->fence();
}
LATHE_DEVICE void __threadfence_block() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
LATHE_DEVICE void __threadfence_system() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  lathe_api->fence();
}
LATHE_DEVICE void __nanosleep(unsigned) {
  lathe_api->yield();
}
LATHE_DEVICE void __trap() {
  lathe_api->fail("the kernel executed __trap()", nullptr, 0);
}
LATHE_DEVICE void __brkpt() {
  lathe_api->fail("the kernel executed __brkpt()", nullptr, 0);
}
#define __builtin_trap __trap
namespace lathe_host {
LATHE_DEVICE void broken_promise(const char* text) {
  lathe_api->fail(text, nullptr, 0);
}
} // namespace lathe_host
// A compiler may build on what it is promised, and no sanitizer watches this promise.
#define __builtin_assume(...)                                                                                \
  ((__VA_ARGS__) ? static_cast<void>(0)                                                                      \
                 : lathe_host::broken_promise("the kernel promised what does not hold: " #__VA_ARGS__))

// Warp primitives. `operation` tells apart what the lanes of one exchange do: they must all do the same.
namespace lathe_host {
enum : unsigned { OP_SYNC = OPERATION_SYNC, OP_SHUFFLE, OP_VOTE, OP_MATCH, OP_REDUCE, OP_MATRIX };

template <class T> LATHE_INLINE uint64_t to_wire(T value) {
  static_assert(sizeof(T) <= 8, "at most eight bytes");
  uint64_t wire = 0;
  __builtin_memcpy(&wire, &value, sizeof(T));
  return wire;
}
template <class T> LATHE_INLINE T from_wire(uint64_t wire) {
  T value;
  __builtin_memcpy(&value, &wire, sizeof(T));
  return value;
}

enum class Shuffle { index, up, down, exclusive_or };
// PTX ISA, shfl.sync: the source lane, or the own lane where it is out of the segment.
LATHE_INLINE unsigned shuffle_source(Shuffle kind, unsigned self, unsigned operand, unsigned width) {
  const unsigned first = self & ~(width - 1), last = first | (width - 1);
  switch (kind) {
  case Shuffle::index:
    return first | (operand & (width - 1));
  case Shuffle::up:
    return static_cast<int>(self - (operand & 31)) >= static_cast<int>(first) ? self - (operand & 31) : self;
  case Shuffle::down:
    return self + (operand & 31) <= last ? self + (operand & 31) : self;
  default:
    return (self ^ (operand & 31)) <= last ? self ^ (operand & 31) : self;
  }
}
template <class T>
LATHE_INLINE T shuffle(Shuffle kind, unsigned mask, T value, unsigned operand, int width, int line) {
  const Exchange* exchange = lathe_api->exchange(mask, OP_SHUFFLE, to_wire(value), line);
  return from_wire<T>(exchange->value[shuffle_source(kind, lane(), operand, static_cast<unsigned>(width))]);
}
LATHE_INLINE unsigned ballot(unsigned mask, bool predicate, int line) {
  const Exchange* exchange = lathe_api->exchange(mask, OP_VOTE, predicate, line);
  unsigned result = 0;
  for (unsigned i = 0; i < WARP; ++i)
    if (exchange->lanes >> i & 1)
      result |= static_cast<unsigned>(exchange->value[i]) << i;
  return result;
}
template <class T, class F> LATHE_INLINE T reduce(unsigned mask, T value, int line, F combine) {
  const Exchange* exchange = lathe_api->exchange(mask, OP_REDUCE, to_wire(value), line);
  bool any = false;
  T result = value;
  for (unsigned i = 0; i < WARP; ++i)
    if (exchange->lanes >> i & 1) {
      const T other = from_wire<T>(exchange->value[i]);
      result = any ? combine(result, other) : other;
      any = true;
    }
  return result;
}
} // namespace lathe_host

LATHE_DEVICE void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
  lathe_api->exchange(mask, lathe_host::OP_SYNC, 0, line);
}
#define LATHE_SHUFFLES(type)                                                                                 \
  LATHE_DEVICE type __shfl_sync(unsigned mask, type value, int source, int width = 32,                       \
                                int line = __builtin_LINE()) {                                               \
    return lathe_host::shuffle(lathe_host::Shuffle::index, mask, value, static_cast<unsigned>(source),       \
                               width, line);                                                                 \
  }                                                                                                          \
  LATHE_DEVICE type __shfl_up_sync(unsigned mask, type value, unsigned delta, int width = 32,                \
                                   int line = __builtin_LINE()) {                                            \
    return lathe_host::shuffle(lathe_host::Shuffle::up, mask, value, delta, width, line);                    \
  }                                                                                                          \
  LATHE_DEVICE type __shfl_down_sync(unsigned mask, type value, unsigned delta, int width = 32,              \
                                     int line = __builtin_LINE()) {                                          \
    return lathe_host::shuffle(lathe_host::Shuffle::down, mask, value, delta, width, line);                  \
  }                                                                                                          \
  LATHE_DEVICE type __shfl_xor_sync(unsigned mask, type value, int lanes, int width = 32,                    \
                                    int line = __builtin_LINE()) {                                           \
    return lathe_host::shuffle(lathe_host::Shuffle::exclusive_or, mask, value, static_cast<unsigned>(lanes), \
                               width, line);                                                                 \
  }
LATHE_SHUFFLES(int)
LATHE_SHUFFLES(unsigned)
LATHE_SHUFFLES(long)
LATHE_SHUFFLES(unsigned long)
LATHE_SHUFFLES(long long)
LATHE_SHUFFLES(unsigned long long)
LATHE_SHUFFLES(float)
LATHE_SHUFFLES(double)

LATHE_DEVICE unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return lathe_host::ballot(mask, predicate != 0, line);
}
LATHE_DEVICE int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return lathe_host::ballot(mask, predicate == 0, line) == 0;
}
LATHE_DEVICE int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return lathe_host::ballot(mask, predicate != 0, line) != 0;
}
LATHE_DEVICE unsigned __activemask() {
  return lathe_api->active_lanes();
}
#define LATHE_MATCH(type)                                                                                    \
  LATHE_DEVICE unsigned __match_any_sync(unsigned mask, type value, int line = __builtin_LINE()) {           \
    const lathe_host::Exchange* exchange =                                                                   \
        lathe_api->exchange(mask, lathe_host::OP_MATCH, lathe_host::to_wire(value), line);                   \
    unsigned result = 0;                                                                                     \
    for (unsigned i = 0; i < lathe_host::WARP; ++i)                                                          \
      if ((exchange->lanes >> i & 1) && exchange->value[i] == lathe_host::to_wire(value))                    \
        result |= 1u << i;                                                                                   \
    return result;                                                                                           \
  }                                                                                                          \
  LATHE_DEVICE unsigned __match_all_sync(unsigned mask, type value, int* predicate,                          \
                                         int line = __builtin_LINE()) {                                      \
    const lathe_host::Exchange* exchange =                                                                   \
        lathe_api->exchange(mask, lathe_host::OP_MATCH, lathe_host::to_wire(value), line);                   \
    for (unsigned i = 0; i < lathe_host::WARP; ++i)                                                          \
      if ((exchange->lanes >> i & 1) && exchange->value[i] != lathe_host::to_wire(value))                    \
        return *predicate = 0, 0u;                                                                           \
    return *predicate = 1, mask;                                                                             \
  }
LATHE_MATCH(int)
LATHE_MATCH(unsigned)
LATHE_MATCH(long)
LATHE_MATCH(unsigned long)
LATHE_MATCH(long long)
LATHE_MATCH(unsigned long long)
LATHE_MATCH(float)
LATHE_MATCH(double)
#define LATHE_REDUCE(name, type, expression)                                                                 \
  LATHE_DEVICE type __reduce_##name##_sync(unsigned mask, type value, int line = __builtin_LINE()) {         \
    return lathe_host::reduce(mask, value, line, [](type a, type b) -> type { return expression; });         \
  }
LATHE_REDUCE(add, unsigned, a + b)
LATHE_REDUCE(add, int, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
LATHE_REDUCE(min, unsigned, a < b ? a : b)
LATHE_REDUCE(min, int, a < b ? a : b)
LATHE_REDUCE(max, unsigned, a < b ? b : a)
LATHE_REDUCE(max, int, a < b ? b : a)
LATHE_REDUCE(and, unsigned, a& b)
LATHE_REDUCE(or, unsigned, a | b)
LATHE_REDUCE(xor, unsigned, a ^ b)

// Atomics. Sequentially consistent, which is stronger than CUDA's relaxed ones.
namespace lathe_host {
template <class T> LATHE_INLINE void announce_atomic(T* address) {
#ifdef LATHE_CHECKED
  lathe_api->atomic(const_cast<const void*>(static_cast<const volatile void*>(address)), sizeof(T));
#endif
  if (--thread().patience == 0)
    lathe_api->yield();
}
template <class T>
using AtomicBits =
    std::conditional_t<sizeof(T) == 8, unsigned long long,
                       std::conditional_t<sizeof(T) == 4, unsigned,
                                          std::conditional_t<sizeof(T) == 2, unsigned short, unsigned char>>>;
template <class T, class F> LATHE_INLINE T atomic_update(T* address, F next) {
  static_assert(sizeof(T) <= 8, "atomic operations on at most eight bytes");
  announce_atomic(address);
  using Bits = AtomicBits<T>;
  Bits* bits = reinterpret_cast<Bits*>(address);
  Bits old = __atomic_load_n(bits, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(bits, &old, bits_as<Bits>(static_cast<T>(next(bits_as<T>(old)))), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return bits_as<T>(old);
}
template <class T> LATHE_INLINE void announce_atomic_access(T* address, bool write) {
#ifdef LATHE_CHECKED
  lathe_api->atomic_access(const_cast<const void*>(static_cast<const volatile void*>(address)), sizeof(T),
                           write);
#endif
  if (--thread().patience == 0)
    lathe_api->yield();
}
template <class T> LATHE_INLINE T atomic_load(T* address) {
  static_assert(sizeof(T) <= 8, "atomic operations on at most eight bytes");
  announce_atomic_access(address, false);
  return bits_as<std::remove_cv_t<T>>(
      __atomic_load_n(reinterpret_cast<const AtomicBits<T>*>(address), __ATOMIC_SEQ_CST));
}
template <class T> LATHE_INLINE void atomic_store(T* address, T value) {
  static_assert(sizeof(T) <= 8, "atomic operations on at most eight bytes");
  announce_atomic_access(address, true);
  __atomic_store_n(reinterpret_cast<AtomicBits<T>*>(address), bits_as<AtomicBits<T>>(value),
                   __ATOMIC_SEQ_CST);
}
} // namespace lathe_host
#define LATHE_ATOMIC(name, type, expression)                                                                 \
  LATHE_DEVICE type name(type* address, type value) {                                                        \
    return lathe_host::atomic_update(address, [value](type old) -> type { return expression; });             \
  }                                                                                                          \
  LATHE_DEVICE type name##_block(type* address, type value) {                                                \
    return name(address, value);                                                                             \
  }                                                                                                          \
  LATHE_DEVICE type name##_system(type* address, type value) {                                               \
    return name(address, value);                                                                             \
  }
#define LATHE_ATOMIC_CAS(type)                                                                               \
  LATHE_DEVICE type atomicCAS(type* address, type expected, type value) {                                    \
    return lathe_host::atomic_update(address,                                                                \
                                     [=](type old) -> type { return old == expected ? value : old; });       \
  }                                                                                                          \
  LATHE_DEVICE type atomicCAS_block(type* address, type expected, type value) {                              \
    return atomicCAS(address, expected, value);                                                              \
  }                                                                                                          \
  LATHE_DEVICE type atomicCAS_system(type* address, type expected, type value) {                             \
    return atomicCAS(address, expected, value);                                                              \
  }
#define LATHE_ATOMICS_OF(type, bits)                                                                         \
  LATHE_ATOMIC(atomicAdd, type, static_cast<type>(static_cast<bits>(old) + static_cast<bits>(value)))        \
  LATHE_ATOMIC(atomicMin, type, old < value ? old : value)                                                   \
  LATHE_ATOMIC(atomicMax, type, old < value ? value : old)                                                   \
  LATHE_ATOMIC(atomicAnd, type, old& value)                                                                  \
  LATHE_ATOMIC(atomicOr, type, old | value)                                                                  \
  LATHE_ATOMIC(atomicXor, type, old ^ value)                                                                 \
  LATHE_ATOMIC(atomicExch, type, value)                                                                      \
  LATHE_ATOMIC_CAS(type)
LATHE_ATOMICS_OF(int, unsigned)
LATHE_ATOMICS_OF(unsigned, unsigned)
LATHE_ATOMICS_OF(long long, unsigned long long)
LATHE_ATOMICS_OF(unsigned long long, unsigned long long)

// CUDA has none of `long`, which int64_t is here: templates, so that a program's own, which it may bring
// beside them by a using-declaration, are others.
namespace lathe_host {
template <class Long> struct LongLong {};
template <> struct LongLong<long> {
  using type = long long;
};
template <> struct LongLong<unsigned long> {
  using type = unsigned long long;
};
} // namespace lathe_host
#define LATHE_ATOMIC_OF_LONG(name)                                                                           \
  template <class Long, class Other = typename lathe_host::LongLong<Long>::type>                             \
  LATHE_DEVICE Long name(Long* address, std::enable_if_t<true, Long> value) {                                \
    return static_cast<Long>(name(reinterpret_cast<Other*>(address), static_cast<Other>(value)));            \
  }
#define LATHE_ATOMICS_OF_LONG(suffix)                                                                        \
  LATHE_ATOMIC_OF_LONG(atomicAdd##suffix)                                                                    \
  LATHE_ATOMIC_OF_LONG(atomicMin##suffix)                                                                    \
  LATHE_ATOMIC_OF_LONG(atomicMax##suffix)                                                                    \
  LATHE_ATOMIC_OF_LONG(atomicAnd##suffix)                                                                    \
  LATHE_ATOMIC_OF_LONG(atomicOr##suffix)                                                                     \
  LATHE_ATOMIC_OF_LONG(atomicXor##suffix)                                                                    \
  LATHE_ATOMIC_OF_LONG(atomicExch##suffix)                                                                   \
  template <class Long, class Other = typename lathe_host::LongLong<Long>::type>                             \
  LATHE_DEVICE Long atomicCAS##suffix(Long* address, std::enable_if_t<true, Long> expected,                  \
                                      std::enable_if_t<true, Long> value) {                                  \
    return static_cast<Long>(atomicCAS##suffix(reinterpret_cast<Other*>(address),                            \
                                               static_cast<Other>(expected), static_cast<Other>(value)));    \
  }
LATHE_ATOMICS_OF_LONG()
LATHE_ATOMICS_OF_LONG(_block)
LATHE_ATOMICS_OF_LONG(_system)
#undef LATHE_ATOMICS_OF_LONG
#undef LATHE_ATOMIC_OF_LONG

LATHE_ATOMIC(atomicSub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
LATHE_ATOMIC(atomicSub, unsigned, old - value)
LATHE_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
LATHE_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
LATHE_ATOMIC(atomicAdd, float, old + value)
LATHE_ATOMIC(atomicAdd, double, old + value)
LATHE_ATOMIC(atomicExch, float, value)
LATHE_ATOMIC(atomicExch, double, value)
LATHE_ATOMIC_CAS(unsigned short)

// Loads and stores with a cache hint are loads and stores.
#define LATHE_LOADS(name)                                                                                    \
  template <class T> LATHE_DEVICE T name(const T* address) {                                                 \
    return *address;                                                                                         \
  }
#define LATHE_STORES(name)                                                                                   \
  template <class T, class U> LATHE_DEVICE void name(T* address, const U& value) {                           \
    *address = static_cast<T>(value);                                                                        \
  }
LATHE_LOADS(__ldg)
LATHE_LOADS(__ldca)
LATHE_LOADS(__ldcg)
LATHE_LOADS(__ldcs)
LATHE_LOADS(__ldcv)
LATHE_LOADS(__ldlu)
LATHE_STORES(__stwb)
LATHE_STORES(__stcg)
LATHE_STORES(__stcs)
LATHE_STORES(__stwt)

LATHE_DEVICE size_t __cvta_generic_to_shared(const void* address) {
  return static_cast<size_t>(static_cast<const unsigned char*>(address) - lathe_host::block().shared_window);
}
LATHE_DEVICE void* __cvta_shared_to_generic(size_t address) {
  return lathe_host::block().shared_window + address;
}
LATHE_DEVICE size_t __cvta_generic_to_global(const void* address) {
  return reinterpret_cast<size_t>(address);
}
LATHE_DEVICE void* __cvta_global_to_generic(size_t address) {
  return reinterpret_cast<void*>(address);
}
LATHE_DEVICE unsigned __isShared(const void* address) {
  return __cvta_generic_to_shared(address) < (lathe_host::MAX_DYNAMIC_SHARED << 1);
}
LATHE_DEVICE unsigned __isGlobal(const void* address) {
  return !__isShared(address);
}

// Clocks: of this machine, and meaningless as GPU cycles.
LATHE_DEVICE long long clock64() {
  return static_cast<long long>(__builtin_ia32_rdtsc());
}
LATHE_DEVICE int lathe_clock() {
  return static_cast<int>(clock64());
}
// Headers of the toolkit and of the C library declare it with (void): that becomes another name's
// declaration.
#define clock(...) lathe_clock##__VA_ARGS__()
LATHE_DEVICE unsigned long long __globaltimer() {
  return static_cast<unsigned long long>(clock64());
}

__attribute__((unused, format(printf, 1, 2))) static int lathe_printf(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  lathe_api->print(text, length < 0                                  ? 0
                         : static_cast<size_t>(length) < sizeof text ? static_cast<size_t>(length)
                                                                     : sizeof text - 1);
  return length;
}
namespace std {
using ::lathe_printf;
}
#define printf(...) lathe_printf(__VA_ARGS__)
