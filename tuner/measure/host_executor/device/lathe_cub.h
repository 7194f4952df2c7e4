// Stands in for cub's block and warp primitives in kernels that the host executor compiles: what their
// documentation promises, with one barrier where cub has at least one. As there, temporary storage must not
// be used again before a barrier of the caller's, and results that cub leaves undefined are the thread's own
// input. Sums run in the order of the threads, which need not be cub's.
#ifndef LATHE_CUB_H
#define LATHE_CUB_H

#include "lathe_cuda_std.h"

namespace cub {

struct NullType {};
template <class Key, class Value> struct KeyValuePair {
  using KeyT = Key;
  using ValueT = Value;
  Key key;
  Value value;
  KeyValuePair() = default;
  KeyValuePair(const Key& k, const Value& v) : key(k), value(v) {}
  bool operator!=(const KeyValuePair& other) const { return key != other.key || value != other.value; }
};
struct ArgMax {
  template <class T, class Offset>
  KeyValuePair<Offset, T> operator()(const KeyValuePair<Offset, T>& a,
                                     const KeyValuePair<Offset, T>& b) const {
    return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class T, class Offset>
  KeyValuePair<Offset, T> operator()(const KeyValuePair<Offset, T>& a,
                                     const KeyValuePair<Offset, T>& b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

namespace lathe {
inline int rank() {
  return static_cast<int>(::lathe_host::thread().linear);
}
// What a primitive uses that is given no storage: all of its type in a block use the same.
template <class Storage> Storage& private_storage() {
  __shared__ Storage storage;
  return storage;
}
// One element a thread, without constructors, as temporary storage is.
template <class T, int COUNT> struct Slots {
  alignas(T) unsigned char bytes[COUNT * sizeof(T)];
  void set(int at, const T& value) { __builtin_memcpy(bytes + at * sizeof(T), &value, sizeof(T)); }
  T get(int at) const {
    T value;
    __builtin_memcpy(&value, bytes + at * sizeof(T), sizeof(T));
    return value;
  }
};
// One element a thread of a block, in storage no larger than cub's own, which has room for one a warp:
// kernels compute their shared memory with its size. That of each warp's first thread is there, so that
// storage that is used again too early shows; the executor keeps the others.
template <class T, int COUNT> struct BlockSlots {
  Slots<T, (COUNT + 31) / 32> firsts;
  void set(int at, const T& value) {
    if (at % 32 == 0)
      firsts.set(at / 32, value);
    else
      lathe_api->keep(this, static_cast<unsigned>(at), &value, sizeof(T));
  }
  T get(int at) const {
    if (at % 32 == 0)
      return firsts.get(at / 32);
    T value;
    lathe_api->recall(this, static_cast<unsigned>(at), &value, sizeof(T));
    return value;
  }
};
// The same of one warp, for which cub's own storage is empty: a byte that the first lane writes and that is
// read with each value tells where several warps use one storage at a time.
template <class T, int LANES> struct WarpSlots {
  unsigned char mark;
  void set(int lane, const T& value) {
    if (lane == 0)
      *const_cast<volatile unsigned char*>(&mark) = 1;
    lathe_api->keep(this, number(lane), &value, sizeof(T));
  }
  T get(int lane) const {
    static_cast<void>(*const_cast<const volatile unsigned char*>(&mark));
    T value;
    lathe_api->recall(this, number(lane), &value, sizeof(T));
    return value;
  }

private:
  static unsigned number(int lane) { return static_cast<unsigned>(rank() / LANES * LANES + lane); }
};
struct Plus {
  template <class T> T operator()(const T& a, const T& b) const { return static_cast<T>(a + b); }
};
template <class T, int N, class Op> T reduce_items(T (&items)[N], Op op) {
  T total = items[0];
  for (int i = 1; i < N; ++i)
    total = op(total, items[i]);
  return total;
}
// A group of threads that scans, for blocks and warps alike: SYNC is what its members wait with.
template <class T, class SLOTS> struct Scan {
  SLOTS& slots;
  int self, members;
  // What the members before `self` hold, combined; `has` tells whether there are any.
  template <class Op> T before(Op op, bool& has) const {
    T total{};
    has = false;
    for (int i = 0; i < self; ++i) {
      total = has ? op(total, slots.get(i)) : slots.get(i);
      has = true;
    }
    return total;
  }
  template <class Op> T all(Op op) const {
    T total = slots.get(0);
    for (int i = 1; i < members; ++i)
      total = op(total, slots.get(i));
    return total;
  }
};
} // namespace lathe

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
public:
  using TempStorage = lathe::BlockSlots<T, X * Y * Z>;
  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}
  BlockReduce() : BlockReduce(lathe::private_storage<TempStorage>()) {}

  template <class Op> T Reduce(T input, Op op, int valid = X * Y * Z) {
    storage_.set(lathe::rank(), input);
    __syncthreads();
    if (lathe::rank() != 0)
      return input;
    T total = storage_.get(0);
    for (int i = 1; i < valid && i < X * Y * Z; ++i)
      total = op(total, storage_.get(i));
    return total;
  }
  template <int N, class Op> T Reduce(T (&items)[N], Op op) {
    return Reduce(lathe::reduce_items(items, op), op);
  }
  T Sum(T input) { return Reduce(input, lathe::Plus()); }
  T Sum(T input, int valid) { return Reduce(input, lathe::Plus(), valid); }
  template <int N> T Sum(T (&items)[N]) { return Reduce(items, lathe::Plus()); }

private:
  TempStorage& storage_;
};

} // namespace cub

#include "lathe_cub_scan.h"

namespace cub {

namespace lathe {
// How a block's threads share N elements each: consecutive ones, except where the algorithm is called
// striped.
template <int THREADS, int N, bool STRIPED, bool TRANSPOSED> struct Share {
  static int place(int i) { return STRIPED ? rank() + i * THREADS : rank() * N + i; }
  static void wait() {
    if (TRANSPOSED)
      __syncthreads();
  }
};
} // namespace lathe

template <class T, int X, int N, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1,
          int = 0>
class BlockLoad {
public:
  struct TempStorage {};
  BlockLoad() = default;
  explicit BlockLoad(TempStorage&) {}
  template <class Iterator> void Load(Iterator from, T (&items)[N]) { Load(from, items, X * Y * Z * N); }
  template <class Iterator> void Load(Iterator from, T (&items)[N], int valid) {
    Share::wait();
    for (int i = 0; i < N; ++i)
      if (Share::place(i) < valid)
        items[i] = from[Share::place(i)];
  }
  template <class Iterator, class Default>
  void Load(Iterator from, T (&items)[N], int valid, Default otherwise) {
    Share::wait();
    for (int i = 0; i < N; ++i)
      items[i] = Share::place(i) < valid ? static_cast<T>(from[Share::place(i)]) : static_cast<T>(otherwise);
  }

private:
  using Share =
      lathe::Share<X * Y * Z, N, ALGORITHM == BLOCK_LOAD_STRIPED, ALGORITHM == BLOCK_LOAD_TRANSPOSE>;
};

template <class T, int X, int N, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1,
          int = 0>
class BlockStore {
public:
  struct TempStorage {};
  BlockStore() = default;
  explicit BlockStore(TempStorage&) {}
  template <class Iterator> void Store(Iterator to, T (&items)[N]) { Store(to, items, X * Y * Z * N); }
  template <class Iterator> void Store(Iterator to, T (&items)[N], int valid) {
    Share::wait();
    for (int i = 0; i < N; ++i)
      if (Share::place(i) < valid)
        to[Share::place(i)] = items[i];
  }

private:
  using Share =
      lathe::Share<X * Y * Z, N, ALGORITHM == BLOCK_STORE_STRIPED, ALGORITHM == BLOCK_STORE_TRANSPOSE>;
};

template <class T, int X, int N, bool = false, int Y = 1, int Z = 1, int = 0> class BlockExchange {
public:
  using TempStorage = lathe::Slots<T, X * Y * Z * N>;
  explicit BlockExchange(TempStorage& storage) : storage_(storage) {}
  BlockExchange() : BlockExchange(lathe::private_storage<TempStorage>()) {}
  void StripedToBlocked(const T (&from)[N], T (&to)[N]) { exchange(from, to, true); }
  void BlockedToStriped(const T (&from)[N], T (&to)[N]) { exchange(from, to, false); }
  void StripedToBlocked(T (&items)[N]) { exchange(items, items, true); }
  void BlockedToStriped(T (&items)[N]) { exchange(items, items, false); }

private:
  void exchange(const T (&from)[N], T (&to)[N], bool from_striped) {
    const auto striped = [](int i) { return lathe::rank() + i * X * Y * Z; };
    const auto blocked = [](int i) { return lathe::rank() * N + i; };
    for (int i = 0; i < N; ++i)
      storage_.set(from_striped ? striped(i) : blocked(i), from[i]);
    __syncthreads();
    for (int i = 0; i < N; ++i)
      to[i] = storage_.get(from_striped ? blocked(i) : striped(i));
  }
  TempStorage& storage_;
};

} // namespace cub

#include "lathe_cub_order.h" // cub/cub.cuh has them all
#include "lathe_cub_warp.h"

#endif
