// Stands in for cub's primitives of a warp, as lathe_cub.h does for those of a block.
#ifndef LATHE_CUB_WARP_H
#define LATHE_CUB_WARP_H

#include "lathe_cub.h"

namespace cub {

template <class T, int LANES = 32, int = 0> class WarpReduce {
public:
  using TempStorage = lathe::WarpSlots<T, LANES>;
  explicit WarpReduce(TempStorage& storage) : storage_(storage) {}
  template <class Op> T Reduce(T input, Op op, int valid = LANES) {
    const int self = lathe::rank() % LANES;
    storage_.set(self, input);
    __syncwarp(mask());
    T total = input;
    if (self == 0)
      for (int i = 1; i < valid && i < LANES; ++i)
        total = op(total, storage_.get(i));
    __syncwarp(mask());
    return total;
  }
  T Sum(T input) { return Reduce(input, lathe::Plus()); }
  T Sum(T input, int valid) { return Reduce(input, lathe::Plus(), valid); }
  // The first thread of a segment has the segment's total.
  template <class Flag, class Op> T HeadSegmentedReduce(T input, Flag is_head, Op op) {
    return segmented(input, heads_of(is_head), op);
  }
  template <class Flag, class Op> T TailSegmentedReduce(T input, Flag is_tail, Op op) {
    return segmented(input, heads_of(is_tail) << 1, op);
  }
  template <class Flag> T HeadSegmentedSum(T input, Flag is_head) {
    return HeadSegmentedReduce(input, is_head, lathe::Plus());
  }
  template <class Flag> T TailSegmentedSum(T input, Flag is_tail) {
    return TailSegmentedReduce(input, is_tail, lathe::Plus());
  }

private:
  // Flags of the group's threads, the first thread's lowest.
  template <class Flag> static unsigned heads_of(Flag flag) {
    return __ballot_sync(mask(), flag != Flag(0)) >> (lathe::rank() % 32 / LANES * LANES);
  }
  // `heads`: where segments begin; the first thread begins one in any case.
  template <class Op> T segmented(T input, unsigned heads, Op op) {
    const int self = lathe::rank() % LANES;
    storage_.set(self, input);
    __syncwarp(mask());
    T total = input;
    if (self == 0 || (heads >> self & 1u) != 0)
      for (int i = self + 1; i < LANES && (heads >> i & 1u) == 0; ++i)
        total = op(total, storage_.get(i));
    __syncwarp(mask());
    return total;
  }
  static unsigned mask() {
    const unsigned lanes = LANES == 32 ? 0xffffffffu : (1u << LANES % 32) - 1;
    return lanes << (lathe::rank() % 32 / LANES * LANES);
  }
  TempStorage& storage_;
};

template <class T, int LANES = 32, int = 0> class WarpScan {
public:
  using TempStorage = lathe::WarpSlots<T, LANES>;
  explicit WarpScan(TempStorage& storage) : storage_(storage) {}
  template <class Op> void InclusiveScan(T input, T& output, Op op, T& aggregate) {
    scan(input, op, [&](const T& before, bool has) { output = has ? op(before, input) : input; }, aggregate);
  }
  template <class Op> void InclusiveScan(T input, T& output, Op op) {
    T aggregate;
    InclusiveScan(input, output, op, aggregate);
  }
  template <class Op> void ExclusiveScan(T input, T& output, T initial, Op op, T& aggregate) {
    scan(
        input, op, [&](const T& before, bool has) { output = has ? op(initial, before) : initial; },
        aggregate);
  }
  template <class Op> void ExclusiveScan(T input, T& output, T initial, Op op) {
    T aggregate;
    ExclusiveScan(input, output, initial, op, aggregate);
  }
  void InclusiveSum(T input, T& output) { InclusiveScan(input, output, lathe::Plus()); }
  void InclusiveSum(T input, T& output, T& aggregate) {
    InclusiveScan(input, output, lathe::Plus(), aggregate);
  }
  void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(0), lathe::Plus()); }
  void ExclusiveSum(T input, T& output, T& aggregate) {
    ExclusiveScan(input, output, T(0), lathe::Plus(), aggregate);
  }

private:
  template <class Op, class Take> void scan(T input, Op op, Take take, T& aggregate) {
    const int self = lathe::rank() % LANES;
    const unsigned lanes = LANES == 32 ? 0xffffffffu : (1u << LANES % 32) - 1;
    const unsigned mask = lanes << (lathe::rank() % 32 / LANES * LANES);
    storage_.set(self, input);
    __syncwarp(mask);
    const lathe::Scan<T, TempStorage> members{storage_, self, LANES};
    bool has;
    const T before = members.before(op, has);
    aggregate = members.all(op);
    take(before, has);
    __syncwarp(mask);
  }
  TempStorage& storage_;
};

} // namespace cub

#endif
