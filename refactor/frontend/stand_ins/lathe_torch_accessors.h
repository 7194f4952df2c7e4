// Stand-in for PyTorch's views of tensors that kernels take by value: packed accessors and TensorInfo, with
// the members and meaning that its documentation gives them, as plain structures. Kernels that use them are
// compiled with this text, which therefore belongs to what a certificate trusts.
#pragma once
#include <cstddef>
#include <cstdint>

namespace at {

template <class T> struct DefaultPtrTraits {
  typedef T* PtrType;
};
template <class T> struct RestrictPtrTraits {
  typedef T* __restrict__ PtrType;
};

// What is left of a packed accessor behind one index or more: it points into the packed one's sizes.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class index_t = int64_t>
struct TensorAccessor {
  typedef typename Traits<T>::PtrType PtrType;
  PtrType data_;
  const index_t* sizes_;
  const index_t* strides_;

  __host__ __device__ index_t size(index_t i) const { return sizes_[i]; }
  __host__ __device__ index_t stride(index_t i) const { return strides_[i]; }
  __host__ __device__ PtrType data() const { return data_; }
  __host__ __device__ decltype(auto) operator[](index_t i) const {
    if constexpr (N == 1)
      return (data_[strides_[0] * i]);
    else
      return TensorAccessor<T, N - 1, Traits, index_t>{data_ + strides_[0] * i, sizes_ + 1, strides_ + 1};
  }
};

template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class index_t = int64_t>
struct GenericPackedTensorAccessor {
  typedef typename Traits<T>::PtrType PtrType;
  T* data_; // what a kernel's own types make of it can be told without an instance
  index_t sizes_[N];
  index_t strides_[N];

  __host__ __device__ index_t size(index_t i) const { return sizes_[i]; }
  __host__ __device__ index_t stride(index_t i) const { return strides_[i]; }
  __host__ __device__ PtrType data() const { return data_; }
  __host__ __device__ decltype(auto) operator[](index_t i) const {
    if constexpr (N == 1)
      return (data_[strides_[0] * i]);
    else
      return TensorAccessor<T, N - 1, Traits, index_t>{data_ + strides_[0] * i, sizes_ + 1, strides_ + 1};
  }
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class index_t = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, index_t>;

namespace cuda::detail {

constexpr int MAX_TENSORINFO_DIMS = 25;

template <class T, class IndexType> struct TensorInfo {
  T* data;
  IndexType sizes[MAX_TENSORINFO_DIMS];
  IndexType strides[MAX_TENSORINFO_DIMS];
  int dims;

  __host__ __device__ bool isContiguous() const { return dims == 1 && strides[0] == 1; }
};

// The place of the element with a number, counted in the order of the sizes.
template <class T, class IndexType, int Dims> struct IndexToOffset {
  static __host__ __device__ IndexType get(IndexType linearId, const TensorInfo<T, IndexType>& info) {
    IndexType offset = 0;
    for (int i = (Dims > 0 ? Dims : info.dims) - 1; i > 0; --i) {
      offset += linearId % info.sizes[i] * info.strides[i];
      linearId /= info.sizes[i];
    }
    return offset + linearId * info.strides[0];
  }
};

} // namespace cuda::detail
} // namespace at
