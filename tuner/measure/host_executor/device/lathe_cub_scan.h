// cub's scan of a block, for lathe_cub.h, which includes this.
#ifndef LATHE_CUB_SCAN_H
#define LATHE_CUB_SCAN_H

namespace cub {

namespace lathe {
// What a callback that carries a prefix answers; an error for what is no callback.
template <class Prefix, class T> using Answer = decltype(::std::declval<Prefix&>()(::std::declval<T>()));
} // namespace lathe

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
public:
  using TempStorage = lathe::BlockSlots<T, X * Y * Z>;
  explicit BlockScan(TempStorage& storage) : storage_(storage) {}
  BlockScan() : BlockScan(lathe::private_storage<TempStorage>()) {}

  template <class Op> void InclusiveScan(T input, T& output, Op op, T& aggregate) {
    const auto scan = share(input);
    bool has;
    const T before = scan.before(op, has);
    output = has ? op(before, input) : input;
    aggregate = scan.all(op);
  }
  template <class Op> void InclusiveScan(T input, T& output, Op op) {
    T aggregate;
    InclusiveScan(input, output, op, aggregate);
  }
  template <class Op> void ExclusiveScan(T input, T& output, T initial, Op op, T& aggregate) {
    const auto scan = share(input);
    bool has;
    const T before = scan.before(op, has);
    output = has ? op(initial, before) : initial;
    aggregate = scan.all(op);
  }
  template <class Op> void ExclusiveScan(T input, T& output, T initial, Op op) {
    T aggregate;
    ExclusiveScan(input, output, initial, op, aggregate);
  }
  // Thread 0's output is undefined, as in cub.
  template <class Op> void ExclusiveScan(T input, T& output, Op op) {
    bool has;
    const T before = share(input).before(op, has);
    output = has ? before : input;
  }
  void InclusiveSum(T input, T& output) { InclusiveScan(input, output, lathe::Plus()); }
  void InclusiveSum(T input, T& output, T& aggregate) {
    InclusiveScan(input, output, lathe::Plus(), aggregate);
  }
  void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(0), lathe::Plus()); }
  void ExclusiveSum(T input, T& output, T& aggregate) {
    ExclusiveScan(input, output, T(0), lathe::Plus(), aggregate);
  }

  template <int N, class Op> void InclusiveScan(T (&input)[N], T (&output)[N], Op op, T& aggregate) {
    const auto scan = share(lathe::reduce_items(input, op));
    bool has;
    T running = scan.before(op, has);
    for (int i = 0; i < N; ++i) {
      running = has ? op(running, input[i]) : input[i];
      has = true;
      output[i] = running;
    }
    aggregate = scan.all(op);
  }
  template <int N, class Op> void InclusiveScan(T (&input)[N], T (&output)[N], Op op) {
    T aggregate;
    InclusiveScan(input, output, op, aggregate);
  }
  template <int N, class Op, class Prefix, class = lathe::Answer<Prefix, T>>
  void InclusiveScan(T (&input)[N], T (&output)[N], Op op, Prefix& prefix) {
    T running = before(lathe::reduce_items(input, op), op, prefix);
    for (int i = 0; i < N; ++i)
      output[i] = running = op(running, input[i]);
  }
  template <int N, class Op, class Prefix, class = lathe::Answer<Prefix, T>>
  void ExclusiveScan(T (&input)[N], T (&output)[N], Op op, Prefix& prefix) {
    T running = before(lathe::reduce_items(input, op), op, prefix);
    for (int i = 0; i < N; ++i) {
      const T next = op(running, input[i]);
      output[i] = running;
      running = next;
    }
  }
  template <int N, class Prefix, class = lathe::Answer<Prefix, T>>
  void InclusiveSum(T (&input)[N], T (&output)[N], Prefix& prefix) {
    InclusiveScan(input, output, lathe::Plus(), prefix);
  }
  template <int N, class Prefix, class = lathe::Answer<Prefix, T>>
  void ExclusiveSum(T (&input)[N], T (&output)[N], Prefix& prefix) {
    ExclusiveScan(input, output, lathe::Plus(), prefix);
  }
  template <class Op, class Prefix, class = lathe::Answer<Prefix, T>>
  void InclusiveScan(T input, T& output, Op op, Prefix& prefix) {
    output = op(before(input, op, prefix), input);
  }
  template <class Op, class Prefix, class = lathe::Answer<Prefix, T>>
  void ExclusiveScan(T input, T& output, Op op, Prefix& prefix) {
    output = before(input, op, prefix);
  }
  template <class Prefix, class = lathe::Answer<Prefix, T>>
  void InclusiveSum(T input, T& output, Prefix& prefix) {
    InclusiveScan(input, output, lathe::Plus(), prefix);
  }
  template <class Prefix, class = lathe::Answer<Prefix, T>>
  void ExclusiveSum(T input, T& output, Prefix& prefix) {
    ExclusiveScan(input, output, lathe::Plus(), prefix);
  }

  template <int N, class Op>
  void ExclusiveScan(T (&input)[N], T (&output)[N], T initial, Op op, T& aggregate) {
    const auto scan = share(lathe::reduce_items(input, op));
    bool has;
    const T before = scan.before(op, has);
    T running = has ? op(initial, before) : initial;
    for (int i = 0; i < N; ++i) {
      const T next = op(running, input[i]);
      output[i] = running;
      running = next;
    }
    aggregate = scan.all(op);
  }
  template <int N, class Op> void ExclusiveScan(T (&input)[N], T (&output)[N], T initial, Op op) {
    T aggregate;
    ExclusiveScan(input, output, initial, op, aggregate);
  }
  template <int N> void InclusiveSum(T (&input)[N], T (&output)[N]) {
    InclusiveScan(input, output, lathe::Plus());
  }
  template <int N> void InclusiveSum(T (&input)[N], T (&output)[N], T& aggregate) {
    InclusiveScan(input, output, lathe::Plus(), aggregate);
  }
  template <int N> void ExclusiveSum(T (&input)[N], T (&output)[N]) {
    ExclusiveScan(input, output, T(0), lathe::Plus());
  }
  template <int N> void ExclusiveSum(T (&input)[N], T (&output)[N], T& aggregate) {
    ExclusiveScan(input, output, T(0), lathe::Plus(), aggregate);
  }

private:
  // What stands before the thread's own, with what a callback carries from tile to tile: only the first warp
  // is asked, and its first lane's answer counts.
  template <class Op, class Prefix> T before(T own, Op op, Prefix& prefix) {
    const auto scan = share(own);
    bool has;
    const T in_tile = scan.before(op, has);
    const T aggregate = scan.all(op);
    __syncthreads();
    if (lathe::rank() < 32) {
      const T before_tile = prefix(aggregate);
      if (lathe::rank() == 0)
        storage_.set(0, before_tile);
    }
    __syncthreads();
    const T before_tile = storage_.get(0);
    return has ? op(before_tile, in_tile) : before_tile;
  }
  lathe::Scan<T, TempStorage> share(const T& value) {
    storage_.set(lathe::rank(), value);
    __syncthreads();
    return {storage_, lathe::rank(), X * Y * Z};
  }
  TempStorage& storage_;
};

} // namespace cub

#endif
