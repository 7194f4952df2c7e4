// The runner's own kernels: filling, comparing and guarding buffers on the device by the rules of element.h.
#include "element.h"

using namespace lathe::element;

// NVRTC compiles this before anything can be measured. Where a loop's body is long or seldom runs, unrolling
// it would cost more there than it gains here.
#define LATHE_NOT_UNROLLED _Pragma("unroll 1")

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
  u64 worst; // bits of the largest error or size, a non-negative double: they order as integers do
  u64 failures;
  u64 first;
  double sum; // of squares
  u64 used;
};

extern "C" __global__ void lathe_fill(FillPlan plan, void* data) {
  for (u64 i = thread_index(); i < plan.count; i += thread_count())
    store(plan.dtype, data, i, fill_bits(plan, i));
}

// One buffer of one set. What a kernel reads comes from a master copy, 16-byte chunks of it moved round by an
// amount that the key and the buffer's number give (none for key 0): other values at every place, by one
// copy. What has a meaning only in its order is not moved. What a kernel only writes has no master and is
// poisoned.
struct RefreshEntry {
  const void* master;
  void* data;
  u64 bytes, size; // of the buffer, of an element
  u64 number;
  u64 is_ordered; // 0 or 1
};

namespace {

constexpr u64 CHUNK = 16;

__device__ u64 rotation_of(const RefreshEntry& entry, u64 key) {
  const u64 chunks = entry.bytes / CHUNK;
  return key && chunks && !entry.is_ordered ? mix(key ^ mix(entry.number)) % chunks : 0;
}

// The chunk of the master that chunk `c` of the buffer is a copy of; what lies behind the last whole chunk
// stays where it is.
__device__ u64 origin_of(u64 chunks, u64 rotation, u64 c) {
  return c >= chunks ? c : c + rotation < chunks ? c + rotation : c + rotation - chunks;
}

__device__ bool is_aligned(const void* data) {
  return reinterpret_cast<u64>(data) % CHUNK == 0;
}

__device__ bool same_chunk(const void* a, const void* b, u64 chunk_a, u64 chunk_b) {
  const ulonglong2 x = static_cast<const ulonglong2*>(a)[chunk_a],
                   y = static_cast<const ulonglong2*>(b)[chunk_b];
  return x.x == y.x && x.y == y.y;
}

__device__ u64 load_bytes(u64 size, const void* data, u64 i) {
  switch (size) {
  case 8:
    return static_cast<const u64*>(data)[i];
  case 4:
    return static_cast<const unsigned*>(data)[i];
  case 2:
    return static_cast<const unsigned short*>(data)[i];
  default:
    return static_cast<const unsigned char*>(data)[i];
  }
}

__device__ void store_bytes(u64 size, void* data, u64 i, u64 bits) {
  switch (size) {
  case 8:
    static_cast<u64*>(data)[i] = bits;
    break;
  case 4:
    static_cast<unsigned*>(data)[i] = static_cast<unsigned>(bits);
    break;
  case 2:
    static_cast<unsigned short*>(data)[i] = static_cast<unsigned short>(bits);
    break;
  default:
    static_cast<unsigned char*>(data)[i] = static_cast<unsigned char>(bits);
  }
}

} // namespace

// Many buffers in one launch: blockIdx.y is the entry. `poison`: a byte, eight times.
extern "C" __global__ void lathe_refresh(const RefreshEntry* entries, u64 key, u64 poison) {
  const RefreshEntry entry = entries[blockIdx.y];
  const u64 rotation = rotation_of(entry, key), chunks = entry.bytes / CHUNK, in_chunk = CHUNK / entry.size;
  u64 first = 0; // chunk that is not copied whole
  if (is_aligned(entry.data)) {
    const ulonglong2* from = static_cast<const ulonglong2*>(entry.master);
    ulonglong2* to = static_cast<ulonglong2*>(entry.data);
    for (u64 c = thread_index(); c < chunks; c += thread_count())
      to[c] = from ? from[origin_of(chunks, rotation, c)] : ulonglong2{poison, poison};
    first = chunks;
  }
  const u64 elements = entry.bytes / entry.size;
  LATHE_NOT_UNROLLED
  for (u64 c = first + thread_index(); c * in_chunk < elements; c += thread_count()) {
    const u64 origin = origin_of(chunks, rotation, c);
    LATHE_NOT_UNROLLED
    for (u64 e = 0; e < in_chunk && c * in_chunk + e < elements; ++e)
      store_bytes(entry.size, entry.data, c * in_chunk + e,
                  entry.master ? load_bytes(entry.size, entry.master, origin * in_chunk + e) : poison);
  }
}

// Elements that no longer hold what lathe_refresh gave them.
extern "C" __global__ void lathe_check_input(const RefreshEntry* entry_at, u64 key, Finding* finding) {
  const RefreshEntry entry = *entry_at;
  const u64 rotation = rotation_of(entry, key), chunks = entry.bytes / CHUNK, in_chunk = CHUNK / entry.size;
  const u64 elements = entry.bytes / entry.size, whole = is_aligned(entry.data) ? chunks : 0;
  u64 failures = 0, first = ~0ull;
  LATHE_NOT_UNROLLED
  for (u64 c = thread_index(); c * in_chunk < elements; c += thread_count()) {
    const u64 origin = origin_of(chunks, rotation, c);
    if (c < whole && same_chunk(entry.data, entry.master, c, origin))
      continue;
    LATHE_NOT_UNROLLED
    for (u64 i = c * in_chunk; i < elements && i < (c + 1) * in_chunk; ++i)
      if (load_bytes(entry.size, entry.data, i) !=
          load_bytes(entry.size, entry.master, origin * in_chunk + i % in_chunk)) {
        ++failures;
        first = i < first ? i : first;
      }
  }
  if (failures) {
    atomicAdd(&finding->failures, failures);
    atomicMin(&finding->first, first);
  }
}

// Sum of squares, number and largest (`worst`) of the elements that are finite, below the limit, and were
// written, that is, are not `poison`.
extern "C" __global__ void lathe_magnitude(int dtype, const void* data, u64 poison, u64 count, double limit,
                                           Finding* finding) {
  double sum = 0, largest = 0;
  u64 used = 0;
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const u64 bits = load(dtype, data, i);
    const double value = decode(dtype, bits), size = value < 0 ? -value : value;
    if (bits == poison || !(value - value == 0) || size >= limit)
      continue;
    sum += value * value;
    largest = size > largest ? size : largest;
    ++used;
  }
  if (used) {
    atomicAdd(&finding->sum, sum);
    atomicAdd(&finding->used, used);
    atomicMax(&finding->worst, __builtin_bit_cast(u64, largest));
  }
}

extern "C" __global__ void lathe_compare(ErrorRule rule, const void* out, const void* reference, u64 count,
                                         Finding* finding) {
  const u64 in_chunk = CHUNK / size_of(rule.dtype);
  const u64 whole = is_aligned(out) && is_aligned(reference) ? count / in_chunk : 0;
  double worst = 0;
  u64 failures = 0, first = ~0ull;
  LATHE_NOT_UNROLLED
  for (u64 c = thread_index(); c * in_chunk < count; c += thread_count()) {
    if (c < whole && same_chunk(out, reference, c, c)) // equal bits are no error
      continue;
    LATHE_NOT_UNROLLED
    for (u64 i = c * in_chunk; i < count && i < (c + 1) * in_chunk; ++i) {
      const double error = element_error(rule, load(rule.dtype, out, i), load(rule.dtype, reference, i));
      worst = error > worst ? error : worst;
      if (error > 1) {
        ++failures;
        first = i < first ? i : first;
      }
    }
  }
  if (worst > 0)
    atomicMax(&finding->worst, __builtin_bit_cast(u64, worst < WRONG ? worst : WRONG));
  if (failures) {
    atomicAdd(&finding->failures, failures);
    atomicMin(&finding->first, first);
  }
}

// Whether both hold the same elements, bit for bit, in any order: `failures` is the difference of the sums of
// a number for each element, 0 where they do and by chance of 2^-64 where they do not.
extern "C" __global__ void lathe_compare_sets(ErrorRule rule, const void* out, const void* reference,
                                              u64 count, u64 salt, Finding* finding) {
  u64 difference = 0;
  for (u64 i = thread_index(); i < count; i += thread_count())
    difference += mix(load(rule.dtype, out, i) ^ salt) - mix(load(rule.dtype, reference, i) ^ salt);
  if (difference)
    atomicAdd(&finding->failures, difference);
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
