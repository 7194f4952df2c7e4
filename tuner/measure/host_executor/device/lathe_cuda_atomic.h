// Stands in for the headers cuda/atomic and cuda/std/atomic in kernels that the host executor compiles. As
// strong as atomicAdd() and its like are here whatever order is asked for; the order says which plain
// accesses are published with an operation, and the scope to whom.
#ifndef LATHE_CUDA_ATOMIC_H
#define LATHE_CUDA_ATOMIC_H

#include "lathe_cuda_std.h"

namespace cuda {
namespace std {
enum class memory_order : int { relaxed, consume, acquire, release, acq_rel, seq_cst };
inline constexpr memory_order memory_order_relaxed = memory_order::relaxed;
inline constexpr memory_order memory_order_consume = memory_order::consume;
inline constexpr memory_order memory_order_acquire = memory_order::acquire;
inline constexpr memory_order memory_order_release = memory_order::release;
inline constexpr memory_order memory_order_acq_rel = memory_order::acq_rel;
inline constexpr memory_order memory_order_seq_cst = memory_order::seq_cst;
} // namespace std
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

enum thread_scope {
  thread_scope_system = 0,
  thread_scope_device = 1,
  thread_scope_block = 2,
  thread_scope_thread = 10
};

LATHE_DEVICE void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
  if (order == memory_order::relaxed || scope == thread_scope_thread)
    return;
  if (scope == thread_scope_block)
    __threadfence_block();
  else
    __threadfence();
}
LATHE_DEVICE void atomic_signal_fence(memory_order) {}
} // namespace cuda

namespace lathe_host {

// What stands before an operation that publishes what its thread wrote.
LATHE_INLINE void publish(::cuda::memory_order order, ::cuda::thread_scope scope) {
  if (order == ::cuda::memory_order::release || order == ::cuda::memory_order::acq_rel ||
      order == ::cuda::memory_order::seq_cst)
    ::cuda::atomic_thread_fence(order, scope);
}

template <class T> LATHE_INLINE bool same_bits(const T& a, const T& b) {
  return __builtin_memcmp(&a, &b, sizeof(T)) == 0;
}

// The operations of both kinds of atomic objects; Self says where the value is.
template <class Self, class T, ::cuda::thread_scope Scope> class AtomicOperations {
  using Order = ::cuda::memory_order;
  static constexpr Order STRONGEST = Order::seq_cst;
  using By = ::std::conditional_t<::std::is_pointer_v<T>, ptrdiff_t, T>;

  T* address() const { return static_cast<const Self*>(this)->value_address(); }
  template <class F> T update(Order order, F next) const {
    publish(order, Scope);
    return atomic_update(address(), next);
  }

public:
  using value_type = T;
  static constexpr bool is_always_lock_free = sizeof(T) <= 8;

  bool is_lock_free() const { return is_always_lock_free; }
  T load(Order = STRONGEST) const { return atomic_load(address()); }
  void store(T value, Order order = STRONGEST) const {
    publish(order, Scope);
    atomic_store(address(), value);
  }
  operator T() const { return load(); }
  T exchange(T value, Order order = STRONGEST) const {
    return update(order, [&](T) { return value; });
  }
  bool compare_exchange_strong(T& expected, T desired, Order order = STRONGEST) const {
    const T seen = update(order, [&](T old) { return same_bits(old, expected) ? desired : old; });
    if (same_bits(seen, expected))
      return true;
    expected = seen;
    return false;
  }
  bool compare_exchange_strong(T& expected, T desired, Order success, Order) const {
    return compare_exchange_strong(expected, desired, success);
  }
  bool compare_exchange_weak(T& expected, T desired, Order order = STRONGEST) const {
    return compare_exchange_strong(expected, desired, order);
  }
  bool compare_exchange_weak(T& expected, T desired, Order success, Order) const {
    return compare_exchange_strong(expected, desired, success);
  }
  void wait(T old, Order = STRONGEST) const {
    while (same_bits(load(), old))
      lathe_api->yield();
  }
  void notify_one() const {}
  void notify_all() const {}

  T fetch_add(By by, Order order = STRONGEST) const {
    return update(order, [&](T old) { return sum_of(old, by); });
  }
  T fetch_sub(By by, Order order = STRONGEST) const {
    return update(order, [&](T old) { return difference_of(old, by); });
  }
  T fetch_and(T by, Order order = STRONGEST) const {
    return update(order, [&](T old) { return static_cast<T>(old & by); });
  }
  T fetch_or(T by, Order order = STRONGEST) const {
    return update(order, [&](T old) { return static_cast<T>(old | by); });
  }
  T fetch_xor(T by, Order order = STRONGEST) const {
    return update(order, [&](T old) { return static_cast<T>(old ^ by); });
  }
  T fetch_min(T by, Order order = STRONGEST) const {
    return update(order, [&](T old) { return by < old ? by : old; });
  }
  T fetch_max(T by, Order order = STRONGEST) const {
    return update(order, [&](T old) { return old < by ? by : old; });
  }
  T operator+=(By by) const { return sum_of(fetch_add(by), by); }
  T operator-=(By by) const { return difference_of(fetch_sub(by), by); }
  T operator&=(T by) const { return static_cast<T>(fetch_and(by) & by); }
  T operator|=(T by) const { return static_cast<T>(fetch_or(by) | by); }
  T operator^=(T by) const { return static_cast<T>(fetch_xor(by) ^ by); }
  T operator++() const { return *this += 1; }
  T operator--() const { return *this -= 1; }
  T operator++(int) const { return fetch_add(1); }
  T operator--(int) const { return fetch_sub(1); }
};

} // namespace lathe_host

namespace cuda {
template <class T, thread_scope Scope = thread_scope_system>
class atomic : public lathe_host::AtomicOperations<atomic<T, Scope>, T, Scope> {
public:
  atomic() = default;
  constexpr atomic(T value) : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  T operator=(T value) {
    this->store(value);
    return value;
  }
  T* value_address() const { return &value_; }

private:
  alignas(sizeof(T)) mutable T value_;
};

template <class T, thread_scope Scope = thread_scope_system>
class atomic_ref : public lathe_host::AtomicOperations<atomic_ref<T, Scope>, T, Scope> {
public:
  static constexpr size_t required_alignment = sizeof(T);
  explicit atomic_ref(T& value) : address_(&value) {}
  atomic_ref(const atomic_ref&) = default;
  atomic_ref& operator=(const atomic_ref&) = delete;
  T operator=(T value) const {
    this->store(value);
    return value;
  }
  T* value_address() const { return address_; }

private:
  T* address_;
};

namespace std {
template <class T> using atomic = ::cuda::atomic<T>;
template <class T> using atomic_ref = ::cuda::atomic_ref<T>;
using ::cuda::atomic_signal_fence;
using ::cuda::atomic_thread_fence;
} // namespace std
} // namespace cuda

#endif
