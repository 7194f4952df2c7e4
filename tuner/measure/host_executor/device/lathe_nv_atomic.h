// The atomic functions that nvcc and NVRTC build in (CUDA 12.8 and newer), for the host executor. As strong
// as atomicAdd() and its like are here whatever order is asked for; the scope says to whom a fence publishes.
#ifndef LATHE_NV_ATOMIC_H
#define LATHE_NV_ATOMIC_H

#include "lathe_device.h"

enum { // an order
  __NV_ATOMIC_RELAXED,
  __NV_ATOMIC_CONSUME,
  __NV_ATOMIC_ACQUIRE,
  __NV_ATOMIC_RELEASE,
  __NV_ATOMIC_ACQ_REL,
  __NV_ATOMIC_SEQ_CST
};
enum { // a scope
  __NV_THREAD_SCOPE_THREAD,
  __NV_THREAD_SCOPE_BLOCK,
  __NV_THREAD_SCOPE_CLUSTER,
  __NV_THREAD_SCOPE_DEVICE,
  __NV_THREAD_SCOPE_SYSTEM
};

LATHE_DEVICE void __nv_atomic_thread_fence(int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  if (order == __NV_ATOMIC_RELAXED || scope == __NV_THREAD_SCOPE_THREAD)
    return;
  if (scope == __NV_THREAD_SCOPE_BLOCK)
    __threadfence_block();
  else
    __threadfence();
}

namespace lathe_host {
LATHE_INLINE void publish_as(int order, int scope) {
  if (order == __NV_ATOMIC_RELEASE || order == __NV_ATOMIC_ACQ_REL || order == __NV_ATOMIC_SEQ_CST)
    __nv_atomic_thread_fence(order, scope);
}
// By what a value is added to: without signs, so that integers wrap around.
template <class T, class By> LATHE_INLINE T sum_of(T a, By b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
  else
    return static_cast<T>(a + b);
}
template <class T, class By> LATHE_INLINE T difference_of(T a, By b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b));
  else
    return static_cast<T>(a - b);
}
// The pointer alone decides the type: the value converts to it.
template <class T> using OfPointer = std::enable_if_t<true, T>;
} // namespace lathe_host

template <class T>
LATHE_DEVICE std::remove_cv_t<T> __nv_atomic_load_n(T* address, int, int = __NV_THREAD_SCOPE_SYSTEM) {
  return lathe_host::atomic_load(address);
}
template <class T>
LATHE_DEVICE void __nv_atomic_load(T* address, std::remove_cv_t<T>* into, int,
                                   int = __NV_THREAD_SCOPE_SYSTEM) {
  *into = lathe_host::atomic_load(address);
}
template <class T>
LATHE_DEVICE void __nv_atomic_store_n(T* address, lathe_host::OfPointer<T> value, int order,
                                      int scope = __NV_THREAD_SCOPE_SYSTEM) {
  lathe_host::publish_as(order, scope);
  lathe_host::atomic_store(address, value);
}
template <class T>
LATHE_DEVICE void __nv_atomic_store(T* address, const lathe_host::OfPointer<T>* value, int order,
                                    int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __nv_atomic_store_n(address, *value, order, scope);
}
template <class T>
LATHE_DEVICE T __nv_atomic_exchange_n(T* address, lathe_host::OfPointer<T> value, int order,
                                      int scope = __NV_THREAD_SCOPE_SYSTEM) {
  lathe_host::publish_as(order, scope);
  return lathe_host::atomic_update(address, [=](T) { return value; });
}
template <class T>
LATHE_DEVICE void __nv_atomic_exchange(T* address, const lathe_host::OfPointer<T>* value,
                                       lathe_host::OfPointer<T>* into, int order,
                                       int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *into = __nv_atomic_exchange_n(address, *value, order, scope);
}
template <class T>
LATHE_DEVICE bool __nv_atomic_compare_exchange_n(T* address, lathe_host::OfPointer<T>* expected,
                                                 lathe_host::OfPointer<T> desired, bool, int order, int,
                                                 int scope = __NV_THREAD_SCOPE_SYSTEM) {
  lathe_host::publish_as(order, scope);
  using Bits = lathe_host::AtomicBits<T>;
  const Bits wanted = lathe_host::bits_as<Bits>(*expected);
  const T seen = lathe_host::atomic_update(
      address, [=](T old) { return lathe_host::bits_as<Bits>(old) == wanted ? desired : old; });
  *expected = seen;
  return lathe_host::bits_as<Bits>(seen) == wanted;
}
template <class T>
LATHE_DEVICE bool __nv_atomic_compare_exchange(T* address, lathe_host::OfPointer<T>* expected,
                                               const lathe_host::OfPointer<T>* desired, bool weak, int order,
                                               int otherwise, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __nv_atomic_compare_exchange_n(address, expected, *desired, weak, order, otherwise, scope);
}

#define LATHE_NV_ATOMIC(name, expression)                                                                    \
  template <class T>                                                                                         \
  LATHE_DEVICE T __nv_atomic_fetch_##name(T* address, lathe_host::OfPointer<T> value, int order,             \
                                          int scope = __NV_THREAD_SCOPE_SYSTEM) {                            \
    lathe_host::publish_as(order, scope);                                                                    \
    return lathe_host::atomic_update(address, [=](T old) { return static_cast<T>(expression); });            \
  }                                                                                                          \
  template <class T>                                                                                         \
  LATHE_DEVICE void __nv_atomic_##name(T* address, lathe_host::OfPointer<T> value, int order,                \
                                       int scope = __NV_THREAD_SCOPE_SYSTEM) {                               \
    __nv_atomic_fetch_##name(address, value, order, scope);                                                  \
  }
LATHE_NV_ATOMIC(add, lathe_host::sum_of(old, value))
LATHE_NV_ATOMIC(sub, lathe_host::difference_of(old, value))
LATHE_NV_ATOMIC(min, old < value ? old : value)
LATHE_NV_ATOMIC(max, old < value ? value : old)
LATHE_NV_ATOMIC(and, old& value)
LATHE_NV_ATOMIC(or, old | value)
LATHE_NV_ATOMIC(xor, old ^ value)
#undef LATHE_NV_ATOMIC

#endif
