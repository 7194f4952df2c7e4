// The runner's own kernels: filling, comparing and guarding buffers on the device by the rules of element.h.
#include "element.h"

using namespace lathe::element;

namespace {

constexpr double WRONG = 1e300;

__device__ u64 thread_index() {
  return blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x;
}
__device__ u64 thread_count() {
  return gridDim.x * static_cast<u64>(blockDim.x);
}

} // namespace

// Where a check writes what it found; all fields start at zero, first at ~0.
struct Finding {
  u64 worst; // bits of the largest error, a non-negative double: they order as integers do
  u64 failures;
  u64 first;
  double sum; // of squares
  u64 used;
};

extern "C" __global__ void lathe_fill(FillPlan plan, void* data) {
  for (u64 i = thread_index(); i < plan.count; i += thread_count())
    store(plan.dtype, data, i, fill_bits(plan, i));
}

// One buffer of one set: what it holds before a launch.
struct RefreshEntry {
  FillPlan plan;
  void* data;
  u64 poison;
  u64 poisoned; // 1: every element is `poison`; 0: by the plan
};

// All buffers of all sets in one launch: blockIdx.y is the entry.
extern "C" __global__ void lathe_refresh(const RefreshEntry* entries) {
  const RefreshEntry entry = entries[blockIdx.y];
  for (u64 i = thread_index(); i < entry.plan.count; i += thread_count())
    store(entry.plan.dtype, entry.data, i, entry.poisoned ? entry.poison : fill_bits(entry.plan, i));
}

// Elements that no longer hold what lathe_fill gave them.
extern "C" __global__ void lathe_check_fill(FillPlan plan, const void* data, Finding* finding) {
  u64 failures = 0, first = ~0ull;
  for (u64 i = thread_index(); i < plan.count; i += thread_count())
    if (load(plan.dtype, data, i) != fill_bits(plan, i)) {
      ++failures;
      first = i < first ? i : first;
    }
  if (failures) {
    atomicAdd(&finding->failures, failures);
    atomicMin(&finding->first, first);
  }
}

// Root of sum / used: the magnitude of the elements that are finite and were written, that is, are not
// `poison`.
extern "C" __global__ void lathe_magnitude(int dtype, const void* data, u64 poison, u64 count,
                                           Finding* finding) {
  double sum = 0;
  u64 used = 0;
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const u64 bits = load(dtype, data, i);
    const double value = decode(dtype, bits);
    if (bits == poison || !(value - value == 0))
      continue;
    sum += value * value;
    ++used;
  }
  if (used) {
    atomicAdd(&finding->sum, sum);
    atomicAdd(&finding->used, used);
  }
}

extern "C" __global__ void lathe_compare(ErrorRule rule, const void* out, const void* reference, u64 count,
                                         Finding* finding) {
  double worst = 0;
  u64 failures = 0, first = ~0ull;
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const double error = element_error(rule, load(rule.dtype, out, i), load(rule.dtype, reference, i));
    worst = error > worst ? error : worst;
    if (error > 1) {
      ++failures;
      first = i < first ? i : first;
    }
  }
  if (worst > 0)
    atomicMax(&finding->worst, __builtin_bit_cast(u64, worst < WRONG ? worst : WRONG));
  if (failures) {
    atomicAdd(&finding->failures, failures);
    atomicMin(&finding->first, first);
  }
}

// bands: device addresses of guard bands of `bytes` bytes each.
extern "C" __global__ void lathe_set_guards(const u64* bands, u64 count, unsigned bytes) {
  for (u64 i = thread_index(); i < count * bytes; i += thread_count())
    reinterpret_cast<unsigned char*>(bands[i / bytes])[i % bytes] =
        static_cast<unsigned char>(0xa5 ^ (i % bytes * 29));
}

// first: number of the first damaged band times `bytes` plus the offset in it.
extern "C" __global__ void lathe_check_guards(const u64* bands, u64 count, unsigned bytes, Finding* finding) {
  for (u64 i = thread_index(); i < count * bytes; i += thread_count())
    if (reinterpret_cast<const unsigned char*>(bands[i / bytes])[i % bytes] !=
        static_cast<unsigned char>(0xa5 ^ (i % bytes * 29))) {
      atomicAdd(&finding->failures, 1ull);
      atomicMin(&finding->first, i);
    }
}

// Reads a buffer larger than the L2: what it held is evicted and what is dirty written back, and what
// replaces it is clean.
extern "C" __global__ void lathe_flush(const uint4* data, u64 count, unsigned* sink) {
  unsigned sum = 0;
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const uint4 value = data[i];
    sum += value.x ^ value.y ^ value.z ^ value.w;
  }
  if (sum == 0x9e3779b9u) // keeps the loads; whether it happens does not matter
    *sink = sum;
}
