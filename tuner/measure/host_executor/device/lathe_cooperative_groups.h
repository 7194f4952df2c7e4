// Stands in for cooperative_groups in kernels that the host executor compiles: blocks, tiles of a warp, the
// lanes that are active together, and the collective functions over them. Grids can be asked for their sizes,
// and fail when they are to wait: blocks may run one after another here.
#ifndef LATHE_COOPERATIVE_GROUPS_H
#define LATHE_COOPERATIVE_GROUPS_H

#include "lathe_cuda_std.h"

namespace cooperative_groups {

template <class T> struct plus {
  T operator()(const T& a, const T& b) const { return static_cast<T>(a + b); }
};
template <class T> struct less {
  T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <class T> struct greater {
  T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
  T operator()(const T& a, const T& b) const { return a & b; }
};
template <class T> struct bit_or {
  T operator()(const T& a, const T& b) const { return a | b; }
};
template <class T> struct bit_xor {
  T operator()(const T& a, const T& b) const { return a ^ b; }
};

namespace lathe {
// Any object that can be copied, passed between lanes eight bytes at a time.
template <class T, class Pass> T pass(const T& value, Pass lane_to_lane) {
  constexpr int words = (sizeof(T) + 7) / 8;
  unsigned long long word[words] = {};
  __builtin_memcpy(word, &value, sizeof(T));
  for (int i = 0; i < words; ++i)
    word[i] = lane_to_lane(word[i]);
  T result = value;
  __builtin_memcpy(&result, word, sizeof(T));
  return result;
}
inline unsigned linear_thread() {
  return ::lathe_host::thread().linear;
}
inline unsigned lane() {
  return linear_thread() % 32;
}
} // namespace lathe

class grid_group {
public:
  bool is_valid() const { return true; }
  unsigned long long num_blocks() const { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  unsigned long long block_rank() const {
    return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  unsigned long long num_threads() const {
    return num_blocks() * (1ull * blockDim.x * blockDim.y * blockDim.z);
  }
  unsigned long long size() const { return num_threads(); }
  unsigned long long thread_rank() const {
    return block_rank() * (1ull * blockDim.x * blockDim.y * blockDim.z) + lathe::linear_thread();
  }
  dim3 group_dim() const { return gridDim; }
  dim3 dim_blocks() const { return gridDim; }
  dim3 block_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  void sync() const {
    if (num_blocks() == 1)
      __syncthreads();
    else
      ::lathe_host::unsupported("a grid of several blocks does not synchronise on the host executor", 0);
  }
};
inline grid_group this_grid() {
  return {};
}

class thread_block {
public:
  static void sync() { __syncthreads(); }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static unsigned thread_rank() { return lathe::linear_thread(); }
  static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() {
  return {};
}

// Lanes of one warp that work together, in the order of their numbers.
class lanes_of_warp {
public:
  explicit lanes_of_warp(unsigned mask) : mask_(mask) {}
  unsigned num_threads() const { return static_cast<unsigned>(__builtin_popcount(mask_)); }
  unsigned size() const { return num_threads(); }
  unsigned thread_rank() const {
    return static_cast<unsigned>(__builtin_popcount(mask_ & ((1u << lathe::lane()) - 1)));
  }
  void sync() const { __syncwarp(mask_); }
  template <class T> T shfl(const T& value, int rank) const { return from(value, rank); }
  template <class T> T shfl_up(const T& value, unsigned steps) const {
    const unsigned self = thread_rank();
    return from(value, static_cast<int>(self >= steps ? self - steps : self));
  }
  template <class T> T shfl_down(const T& value, unsigned steps) const {
    const unsigned self = thread_rank();
    return from(value, static_cast<int>(self + steps < size() ? self + steps : self));
  }
  template <class T> T shfl_xor(const T& value, unsigned lanes) const {
    const unsigned self = thread_rank();
    return from(value, static_cast<int>((self ^ lanes) < size() ? self ^ lanes : self));
  }
  int any(int predicate) const { return ballot(predicate) != 0; }
  int all(int predicate) const { return __builtin_popcount(ballot(predicate)) == static_cast<int>(size()); }
  // Bit i for the lane of rank i.
  unsigned ballot(int predicate) const {
    const unsigned lanes = __ballot_sync(mask_, predicate);
    unsigned result = 0, rank = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
      if (mask_ >> lane & 1)
        result |= (lanes >> lane & 1) << rank++;
    return result;
  }
  unsigned mask() const { return mask_; }

private:
  template <class T> T from(const T& value, int rank) const {
    int lane = 0;
    for (int left = rank; lane < 31; ++lane)
      if ((mask_ >> lane & 1) && left-- == 0)
        break;
    return lathe::pass(value, [&](unsigned long long word) { return __shfl_sync(mask_, word, lane); });
  }
  unsigned mask_;
};

class coalesced_group : public lanes_of_warp {
public:
  using lanes_of_warp::lanes_of_warp;
};
inline coalesced_group coalesced_threads() {
  return coalesced_group(__activemask());
}

template <unsigned LANES, class Parent = void> class thread_block_tile : public lanes_of_warp {
public:
  static_assert(LANES <= 32 && (LANES & (LANES - 1)) == 0, "the host executor has tiles of a warp only");
  thread_block_tile()
      : lanes_of_warp((LANES == 32 ? 0xffffffffu : (1u << LANES % 32) - 1)
                      << (lathe::lane() / LANES * LANES)) {}
  template <class Other> thread_block_tile(const thread_block_tile<LANES, Other>&) : thread_block_tile() {}
  static constexpr unsigned size() { return LANES; }
  static constexpr unsigned num_threads() { return LANES; }
  unsigned thread_rank() const { return lathe::lane() % LANES; }
  unsigned meta_group_rank() const { return lathe::linear_thread() / LANES; }
  unsigned meta_group_size() const { return (thread_block::size() + LANES - 1) / LANES; }
};
template <unsigned LANES, class Group> thread_block_tile<LANES, Group> tiled_partition(const Group&) {
  return {};
}

// The lanes of a group that have the same label, or a predicate that is as true; every lane of it must ask.
template <class Label> coalesced_group labeled_partition(const lanes_of_warp& group, Label label) {
  return coalesced_group(__match_any_sync(group.mask(), label));
}
inline coalesced_group binary_partition(const lanes_of_warp& group, bool predicate) {
  return coalesced_group(__match_any_sync(group.mask(), static_cast<int>(predicate)));
}

// A group whose kind is known at run time only: a whole block, or lanes of a warp.
class thread_group {
public:
  thread_group(const thread_block&) : lanes_(0), is_block_(true) {}
  thread_group(const lanes_of_warp& lanes) : lanes_(lanes), is_block_(false) {}
  unsigned size() const { return is_block_ ? thread_block::size() : lanes_.size(); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return is_block_ ? thread_block::thread_rank() : lanes_.thread_rank(); }
  void sync() const {
    if (is_block_)
      thread_block::sync();
    else
      lanes_.sync();
  }

private:
  lanes_of_warp lanes_;
  bool is_block_;
};
inline thread_group tiled_partition(const thread_group&, unsigned lanes) {
  const unsigned all = lanes >= 32 ? 0xffffffffu : (1u << lanes) - 1;
  return thread_group(coalesced_group(all << (lathe::lane() / lanes * lanes)));
}

template <class Group> void sync(const Group& group) {
  group.sync();
}

template <class Group, class T, class Op> T reduce(const Group& group, T value, Op op) {
  T total = group.shfl(value, 0);
  for (int i = 1; i < static_cast<int>(group.size()); ++i)
    total = op(total, group.shfl(value, i));
  return total;
}
template <class Group, class T, class Op> T inclusive_scan(const Group& group, T value, Op op) {
  T total = group.shfl(value, 0);
  for (int i = 1; i < static_cast<int>(group.size()); ++i) {
    const T next = group.shfl(value, i);
    if (i <= static_cast<int>(group.thread_rank()))
      total = op(total, next);
  }
  return total;
}
template <class Group, class T> T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class Op> T exclusive_scan(const Group& group, T value, Op op) {
  T total{};
  for (int i = 0; i + 1 < static_cast<int>(group.size()); ++i) {
    const T next = group.shfl(value, i);
    if (i < static_cast<int>(group.thread_rank()))
      total = i == 0 ? next : op(total, next);
  }
  return total;
}
template <class Group, class T> T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

// Each thread of the group copies its share, which arrives when it waits.
template <class Group, class To, class From, class Size>
void memcpy_async(const Group& group, To* to, const From* from, Size bytes) {
  auto* target = reinterpret_cast<unsigned char*>(to);
  const auto* source = reinterpret_cast<const unsigned char*>(from);
  const auto all = static_cast<unsigned long long>(bytes);
  const bool in_words =
      (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | static_cast<uintptr_t>(all)) %
          4 ==
      0;
  const unsigned each = in_words ? 4 : 1;
  for (unsigned long long i = group.thread_rank() * each; i < all; i += group.size() * each)
    lathe_api->async_copy(target + i, source + i, each, each);
  lathe_api->async_commit();
}
template <class Group> void wait(const Group& group) {
  lathe_api->async_wait(0);
  group.sync();
}
template <unsigned pending, class Group> void wait_prior(const Group& group) {
  lathe_api->async_wait(pending);
  group.sync();
}

} // namespace cooperative_groups

#endif
