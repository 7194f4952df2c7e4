// Stands in for those of cub's block primitives that sort, or look at neighbours. As in lathe_cub.h: what
// their documentation promises, with one barrier where cub has at least one.
#ifndef LATHE_CUB_ORDER_H
#define LATHE_CUB_ORDER_H

#include "lathe_cub.h"

namespace cub {

namespace lathe {
// Unsigned numbers in the order in which radix sorts take keys: as the digits of what is kept in memory say,
// with the sign first. Both zeros of a floating-point type are one key.
template <class Key> unsigned long long sort_bits(const Key& key) {
  constexpr int bits = 8 * static_cast<int>(sizeof(Key));
  static_assert(bits <= 64, "keys of at most eight bytes");
  constexpr unsigned long long sign = 1ull << (bits - 1);
  constexpr unsigned long long all = sign | (sign - 1);
  unsigned long long pattern = 0;
  __builtin_memcpy(&pattern, &key, sizeof(Key));
  if constexpr (__is_integral(Key)) {
    return Key(-1) < Key(0) ? pattern ^ sign : pattern;
  } else {
    if (pattern == sign)
      pattern = 0;
    return pattern & sign ? ~pattern & all : pattern | sign;
  }
}
} // namespace lathe

// Numbers of a key's size in the order of the keys, for code that takes their digits itself.
template <class Key> struct Traits {
  using UnsignedBits = std::conditional_t<
      sizeof(Key) == 1, unsigned char,
      std::conditional_t<sizeof(Key) == 2, unsigned short,
                         std::conditional_t<sizeof(Key) == 4, unsigned, unsigned long long>>>;
  static constexpr UnsignedBits SIGN = UnsignedBits(UnsignedBits(1) << (8 * sizeof(Key) - 1));
  static constexpr bool IS_INTEGER = __is_integral(Key);

  static constexpr UnsignedBits TwiddleIn(UnsignedBits key) {
    if constexpr (IS_INTEGER)
      return Key(-1) < Key(0) ? UnsignedBits(key ^ SIGN) : key;
    else
      return key & SIGN ? UnsignedBits(~key) : UnsignedBits(key ^ SIGN);
  }
  static constexpr UnsignedBits TwiddleOut(UnsignedBits bits) {
    if constexpr (IS_INTEGER)
      return TwiddleIn(bits);
    else
      return bits & SIGN ? UnsignedBits(bits ^ SIGN) : UnsignedBits(~bits);
  }
};

template <class Key, int X, int N, class Value = NullType, int RADIX_BITS = 4, bool MEMOIZE = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS, auto SHARED_MEMORY = 0, int Y = 1, int Z = 1>
class BlockRadixSort {
  static constexpr int THREADS = X * Y * Z, ITEMS = THREADS * N;

public:
  struct TempStorage {
    lathe::Slots<Key, ITEMS> keys;
    lathe::Slots<Value, ITEMS> values;
  };
  explicit BlockRadixSort(TempStorage& storage) : storage_(storage) {}
  BlockRadixSort() : BlockRadixSort(lathe::private_storage<TempStorage>()) {}

  void Sort(Key (&keys)[N], int begin = 0, int end = 8 * sizeof(Key)) {
    NullType none[N];
    sort(keys, none, begin, end, false, false);
  }
  template <class V> void Sort(Key (&keys)[N], V (&values)[N], int begin = 0, int end = 8 * sizeof(Key)) {
    sort(keys, values, begin, end, false, false);
  }
  void SortDescending(Key (&keys)[N], int begin = 0, int end = 8 * sizeof(Key)) {
    NullType none[N];
    sort(keys, none, begin, end, true, false);
  }
  template <class V>
  void SortDescending(Key (&keys)[N], V (&values)[N], int begin = 0, int end = 8 * sizeof(Key)) {
    sort(keys, values, begin, end, true, false);
  }
  void SortBlockedToStriped(Key (&keys)[N], int begin = 0, int end = 8 * sizeof(Key)) {
    NullType none[N];
    sort(keys, none, begin, end, false, true);
  }
  template <class V>
  void SortBlockedToStriped(Key (&keys)[N], V (&values)[N], int begin = 0, int end = 8 * sizeof(Key)) {
    sort(keys, values, begin, end, false, true);
  }
  void SortDescendingBlockedToStriped(Key (&keys)[N], int begin = 0, int end = 8 * sizeof(Key)) {
    NullType none[N];
    sort(keys, none, begin, end, true, true);
  }
  template <class V>
  void SortDescendingBlockedToStriped(Key (&keys)[N], V (&values)[N], int begin = 0,
                                      int end = 8 * sizeof(Key)) {
    sort(keys, values, begin, end, true, true);
  }

private:
  // Each thread counts how many keys go before each of its own: equal ones keep their order.
  template <class V>
  void sort(Key (&keys)[N], V (&values)[N], int begin, int end, bool is_descending, bool is_striped) {
    const int first = lathe::rank() * N;
    const unsigned long long digits = (end - begin >= 64 ? 0 : 1ull << (end - begin)) - 1;
    const auto digits_of = [&](const Key& key) {
      const unsigned long long bits = lathe::sort_bits(key) >> begin & digits;
      return is_descending ? digits - bits : bits;
    };
    for (int i = 0; i < N; ++i)
      storage_.keys.set(first + i, keys[i]);
    __syncthreads();
    int place[N] = {};
    for (int other = 0; other < ITEMS; ++other) {
      const unsigned long long theirs = digits_of(storage_.keys.get(other));
      for (int i = 0; i < N; ++i) {
        const unsigned long long own = digits_of(keys[i]);
        place[i] += theirs < own || (theirs == own && other < first + i) ? 1 : 0;
      }
    }
    __syncthreads();
    for (int i = 0; i < N; ++i) {
      storage_.keys.set(place[i], keys[i]);
      if constexpr (!__is_same(V, NullType))
        storage_.values.set(place[i], values[i]);
    }
    __syncthreads();
    for (int i = 0; i < N; ++i) {
      const int at = is_striped ? lathe::rank() + i * THREADS : first + i;
      keys[i] = storage_.keys.get(at);
      if constexpr (!__is_same(V, NullType))
        values[i] = storage_.values.get(at);
    }
  }
  TempStorage& storage_;
};

namespace lathe {
// The items next to a thread's own: each thread leaves its first and its last one.
template <class T, int THREADS> struct Neighbours {
  Slots<T, THREADS> firsts, lasts;
  template <int N> void share(const T (&items)[N]) {
    firsts.set(rank(), items[0]);
    lasts.set(rank(), items[N - 1]);
    __syncthreads();
  }
  bool has_before() const { return rank() > 0; }
  bool has_after() const { return rank() + 1 < THREADS; }
  T before() const { return lasts.get(rank() - 1); }
  T after() const { return firsts.get(rank() + 1); }
};
} // namespace lathe

// The first item of the block (the last one, to the right) is its own difference, unless the tile's
// neighbour is given.
template <class T, int X, int Y = 1, int Z = 1, int = 0> class BlockAdjacentDifference {
public:
  using TempStorage = lathe::Neighbours<T, X * Y * Z>;
  explicit BlockAdjacentDifference(TempStorage& storage) : storage_(storage) {}
  BlockAdjacentDifference() : BlockAdjacentDifference(lathe::private_storage<TempStorage>()) {}

  template <int N, class Out, class Op> void SubtractLeft(T (&items)[N], Out (&output)[N], Op op) {
    left(items, output, op, nullptr);
  }
  template <int N, class Out, class Op>
  void SubtractLeft(T (&items)[N], Out (&output)[N], Op op, T predecessor) {
    left(items, output, op, &predecessor);
  }
  template <int N, class Out, class Op> void SubtractRight(T (&items)[N], Out (&output)[N], Op op) {
    right(items, output, op, nullptr);
  }
  template <int N, class Out, class Op>
  void SubtractRight(T (&items)[N], Out (&output)[N], Op op, T successor) {
    right(items, output, op, &successor);
  }

private:
  // Input and output may be one array.
  template <int N, class Out, class Op>
  void left(T (&items)[N], Out (&output)[N], Op op, const T* predecessor) {
    storage_.share(items);
    for (int i = N - 1; i > 0; --i)
      output[i] = op(items[i], items[i - 1]);
    if (storage_.has_before())
      output[0] = op(items[0], storage_.before());
    else
      output[0] = predecessor ? op(items[0], *predecessor) : items[0];
  }
  template <int N, class Out, class Op>
  void right(T (&items)[N], Out (&output)[N], Op op, const T* successor) {
    storage_.share(items);
    for (int i = 0; i + 1 < N; ++i)
      output[i] = op(items[i], items[i + 1]);
    if (storage_.has_after())
      output[N - 1] = op(items[N - 1], storage_.after());
    else
      output[N - 1] = successor ? op(items[N - 1], *successor) : items[N - 1];
  }
  TempStorage& storage_;
};

// Flags of items that differ from the one before (heads) or behind (tails); the block's first head and last
// tail are flagged unless the tile's neighbour is given.
template <class T, int X, int Y = 1, int Z = 1, int = 0> class BlockDiscontinuity {
public:
  using TempStorage = lathe::Neighbours<T, X * Y * Z>;
  explicit BlockDiscontinuity(TempStorage& storage) : storage_(storage) {}
  BlockDiscontinuity() : BlockDiscontinuity(lathe::private_storage<TempStorage>()) {}

  template <int N, class Flag, class Op> void FlagHeads(Flag (&heads)[N], T (&items)[N], Op op) {
    storage_.share(items);
    flag_heads(heads, items, op, nullptr);
  }
  template <int N, class Flag, class Op>
  void FlagHeads(Flag (&heads)[N], T (&items)[N], Op op, T predecessor) {
    storage_.share(items);
    flag_heads(heads, items, op, &predecessor);
  }
  template <int N, class Flag, class Op> void FlagTails(Flag (&tails)[N], T (&items)[N], Op op) {
    storage_.share(items);
    flag_tails(tails, items, op, nullptr);
  }
  template <int N, class Flag, class Op> void FlagTails(Flag (&tails)[N], T (&items)[N], Op op, T successor) {
    storage_.share(items);
    flag_tails(tails, items, op, &successor);
  }
  template <int N, class Flag, class Op>
  void FlagHeadsAndTails(Flag (&heads)[N], Flag (&tails)[N], T (&items)[N], Op op) {
    storage_.share(items);
    flag_heads(heads, items, op, nullptr);
    flag_tails(tails, items, op, nullptr);
  }

private:
  template <int N, class Flag, class Op>
  void flag_heads(Flag (&heads)[N], const T (&items)[N], Op op, const T* predecessor) {
    for (int i = 1; i < N; ++i)
      heads[i] = op(items[i - 1], items[i]);
    if (storage_.has_before())
      heads[0] = op(storage_.before(), items[0]);
    else
      heads[0] = predecessor ? op(*predecessor, items[0]) : 1;
  }
  template <int N, class Flag, class Op>
  void flag_tails(Flag (&tails)[N], const T (&items)[N], Op op, const T* successor) {
    for (int i = 0; i + 1 < N; ++i)
      tails[i] = op(items[i], items[i + 1]);
    if (storage_.has_after())
      tails[N - 1] = op(items[N - 1], storage_.after());
    else
      tails[N - 1] = successor ? op(items[N - 1], *successor) : 1;
  }
  TempStorage& storage_;
};

} // namespace cub

#endif
