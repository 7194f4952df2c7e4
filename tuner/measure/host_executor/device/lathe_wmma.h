// <mma.h> on the host executor: nvcuda::wmma for half, bfloat16, tf32, double and 8-bit integers (CUDA
// programming guide, "Warp matrix functions"). Which lane holds which element is not documented there, and
// other here. Sums are as in lathe_matrix.h.
#pragma once

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
namespace precision {
struct tf32 {};
} // namespace precision
enum layout_t { mem_row_major, mem_col_major };

namespace lathe {
template <class T> struct stored {
  using type = T;
};
template <> struct stored<precision::tf32> {
  using type = float;
};
template <class T, class Stored> LATHE_INLINE auto number(Stored value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<long long>(value);
  else if constexpr (std::is_same_v<T, double>)
    return value;
  else if constexpr (std::is_same_v<T, precision::tf32>)
    return static_cast<double>(::lathe_ptx::matrix_tf32::at(::lathe_host::bits_as<unsigned>(value), 0));
  else
    return static_cast<double>(static_cast<float>(value));
}
template <class T, class Total> LATHE_INLINE T rounded(Total total, bool saturate) {
  if constexpr (std::is_integral_v<T>) {
    const bool is_high = total > 0x7fffffff, is_low = total < -0x7fffffff - 1;
    return saturate && is_high ? 0x7fffffff : saturate && is_low ? -0x7fffffff - 1 : static_cast<T>(total);
  } else if constexpr (std::is_same_v<T, double>) {
    return total;
  } else {
    return static_cast<T>(static_cast<float>(total));
  }
}
inline void meet(int line) {
  ::lathe_ptx::put_up(0u, 0u, line);
}
// Elements first, first + 1, ... of a matrix of which every lane has PER_LANE that follow each other.
template <unsigned COUNT, unsigned PER_LANE, class T>
LATHE_UNCHECKED inline void gather(const T* own, unsigned first, T (&to)[COUNT], int line) {
  constexpr unsigned at_once = PER_LANE < 8 / sizeof(T) ? PER_LANE : 8 / sizeof(T);
  for (unsigned part = 0; part < PER_LANE; part += at_once) {
    unsigned long long word = 0;
    __builtin_memcpy(&word, own + part, at_once * sizeof(T));
    const ::lathe_host::Exchange* exchange = ::lathe_ptx::put_up(word, 0ull, line);
    for (unsigned lane = first / PER_LANE; lane * PER_LANE < first + COUNT; ++lane) {
      T values[at_once];
      __builtin_memcpy(values, &exchange->value[lane], sizeof values);
      for (unsigned i = 0; i < at_once; ++i)
        if (const unsigned at = lane * PER_LANE + part + i - first; at < COUNT)
          to[at] = values[i];
    }
  }
}
} // namespace lathe

// A lane holds elements that follow each other: of rows in matrix_a and accumulators, of columns in matrix_b.
template <class Use, int m, int n, int k, class T, class Layout = void> class fragment {
  static constexpr bool is_a = std::is_same_v<Use, matrix_a>, is_b = std::is_same_v<Use, matrix_b>;

public:
  using element_type = T;
  using storage_element_type = typename lathe::stored<T>::type;
  static constexpr int lathe_length = is_b || is_a ? k : n; // of a row, or of a column
  static constexpr int lathe_count = (is_a ? m * k : is_b ? n * k : m * n) / 32;
  // Half has room for two copies of each element of smaller matrices, as on a device.
  enum {
    num_elements = std::is_same_v<T, __half> && (is_a || is_b) ? 16 : lathe_count,
    num_storage_elements = num_elements
  };
  storage_element_type x[num_elements];
};

LATHE_INLINE float __float_to_tf32(float value) { // to the nearest, ties away from zero
  return ::lathe_host::bits_as<float>((::lathe_host::bits_as<unsigned>(value) + 0x1000u) & 0xffffe000u);
}

template <class Use, int m, int n, int k, class T, class Layout, class Value>
LATHE_INLINE void fill_fragment(fragment<Use, m, n, k, T, Layout>& to, const Value& value) {
  for (auto& element : to.x)
    element = value;
}

namespace lathe {
template <class Fragment, class Access>
inline void each_element(const void* memory, unsigned leading, bool along, int bytes, int line,
                         Access access) {
  if (reinterpret_cast<uintptr_t>(memory) % 16 != 0 || leading * static_cast<unsigned>(bytes) % 16 != 0)
    lathe_api->fail("a matrix of wmma of which a row is not aligned to 16 bytes", nullptr, line);
  meet(line);
  for (unsigned i = 0; i < Fragment::num_elements; ++i) {
    const unsigned at = ::lathe_host::lane() * Fragment::lathe_count + i % Fragment::lathe_count;
    const size_t outer = at / Fragment::lathe_length, inner = at % Fragment::lathe_length;
    access(i, along ? outer * leading + inner : inner * leading + outer);
  }
  meet(line);
}
} // namespace lathe

template <class Use, int m, int n, int k, class T, class Layout, class Memory>
inline void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& to, const Memory* memory, unsigned leading,
                             int line = __builtin_LINE()) {
  using Fragment = fragment<Use, m, n, k, T, Layout>;
  constexpr bool along = std::is_same_v<Layout, row_major> == std::is_same_v<Use, matrix_a>;
  lathe::each_element<Fragment>(memory, leading, along, sizeof(Memory), line,
                                [&](unsigned i, size_t at) { to.x[i] = memory[at]; });
}
template <int m, int n, int k, class T, class Memory>
inline void load_matrix_sync(fragment<accumulator, m, n, k, T>& to, const Memory* memory, unsigned leading,
                             layout_t layout, int line = __builtin_LINE()) {
  lathe::each_element<fragment<accumulator, m, n, k, T>>(
      memory, leading, layout == mem_row_major, sizeof(Memory), line,
      [&](unsigned i, size_t at) { to.x[i] = memory[at]; });
}
template <int m, int n, int k, class T, class Memory>
inline void store_matrix_sync(Memory* memory, const fragment<accumulator, m, n, k, T>& from, unsigned leading,
                              layout_t layout, int line = __builtin_LINE()) {
  lathe::each_element<fragment<accumulator, m, n, k, T>>(
      memory, leading, layout == mem_row_major, sizeof(Memory), line,
      [&](unsigned i, size_t at) { memory[at] = from.x[i]; });
}

template <int m, int n, int k, class A, class B, class LayoutA, class LayoutB, class C, class D>
LATHE_UNCHECKED inline void
mma_sync(fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, A, LayoutA>& a,
         const fragment<matrix_b, m, n, k, B, LayoutB>& b, const fragment<accumulator, m, n, k, C>& c,
         bool saturate = false, int line = __builtin_LINE()) {
  constexpr unsigned own = m * n / 32; // of one row
  const unsigned first = ::lathe_host::lane() * own, row = first / n, column = first % n;
  typename lathe::stored<A>::type row_of_a[k];
  typename lathe::stored<B>::type columns_of_b[own * k];
  lathe::gather<k, m * k / 32>(a.x, row * k, row_of_a, line);
  lathe::gather<own * k, n * k / 32>(b.x, column * k, columns_of_b, line);
  for (unsigned i = 0; i < own; ++i) {
    auto total = lathe::number<C>(c.x[i]);
    for (unsigned j = 0; j < k; ++j)
      total += lathe::number<A>(row_of_a[j]) * lathe::number<B>(columns_of_b[i * k + j]);
    d.x[i] = lathe::rounded<D>(total, saturate);
  }
}

} // namespace wmma
} // namespace nvcuda
