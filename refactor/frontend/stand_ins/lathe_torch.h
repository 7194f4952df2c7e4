// Stand-in for the parts of PyTorch that launchers of CUDA kernels use, so that their launches are seen where
// PyTorch is not installed. Only declarations: nothing here is ever compiled or run, and except for the
// number types (lathe_c10_types.h, lathe_c10_complex.h), ATen's device functions (lathe_aten_device.h) and
// views of tensors (lathe_torch_accessors.h) nothing reaches device code.
#pragma once
#include "lathe_aten_device.h"
#include "lathe_c10_complex.h"
#include "lathe_c10_types.h"
#include "lathe_torch_accessors.h"

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_LIKELY(x) (x)
#define C10_UNLIKELY(x) (x)
#define C10_EXPORT
#define C10_API
#define TORCH_API
#define TORCH_CUDA_CU_API
#define C10_RESTRICT __restrict__
#define C10_WARP_SIZE 32
#define C10_LAUNCH_BOUNDS_1(a) __launch_bounds__(a)
#define C10_LAUNCH_BOUNDS_2(a, b) __launch_bounds__(a, b)
#define AT_CUDA_CHECK(x) lathe_ignored(x)
#define C10_CUDA_CHECK(x) lathe_ignored(x)
#define TORCH_CUDABLAS_CHECK(x) lathe_ignored(x)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() lathe_ignored()
#define AT_ERROR(...) lathe_fail(__VA_ARGS__)
#define TORCH_WARN(...) lathe_ignored(__VA_ARGS__)
#define TORCH_WARN_ONCE(...) lathe_ignored(__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(...)                                                                           \
  {                                                                                                          \
    lathe_check(__VA_ARGS__);                                                                                \
  }
#define AT_ASSERTM(...)                                                                                      \
  {                                                                                                          \
    lathe_check(__VA_ARGS__);                                                                                \
  }
#define AT_ASSERT(...)                                                                                       \
  {                                                                                                          \
    lathe_check(__VA_ARGS__);                                                                                \
  }
#define TORCH_CHECK(...)                                                                                     \
  {                                                                                                          \
    lathe_check(__VA_ARGS__);                                                                                \
  }
#define TORCH_CHECK_NOT_IMPLEMENTED(...)                                                                     \
  {                                                                                                          \
    lathe_check(__VA_ARGS__);                                                                                \
  }
#define TORCH_CHECK_VALUE(...)                                                                               \
  {                                                                                                          \
    lathe_check(__VA_ARGS__);                                                                                \
  }
#define TORCH_CHECK_TYPE(...)                                                                                \
  {                                                                                                          \
    lathe_check(__VA_ARGS__);                                                                                \
  }
#define TORCH_CHECK_EQ(a, b)                                                                                 \
  {                                                                                                          \
    lathe_check((a) == (b));                                                                                 \
  }
#define TORCH_CHECK_NE(a, b)                                                                                 \
  {                                                                                                          \
    lathe_check((a) != (b));                                                                                 \
  }
#define TORCH_CHECK_LE(a, b)                                                                                 \
  {                                                                                                          \
    lathe_check((a) <= (b));                                                                                 \
  }
#define TORCH_CHECK_LT(a, b)                                                                                 \
  {                                                                                                          \
    lathe_check((a) < (b));                                                                                  \
  }
#define TORCH_CHECK_GE(a, b)                                                                                 \
  {                                                                                                          \
    lathe_check((a) >= (b));                                                                                 \
  }
#define TORCH_CHECK_GT(a, b)                                                                                 \
  {                                                                                                          \
    lathe_check((a) > (b));                                                                                  \
  }
// What has to hold behind a check of the framework's, also in a constant; what is only called or told; what
// does not return.
template <class... Values> constexpr void lathe_check(const Values&...) {}
template <class... Values> constexpr void lathe_ignored(const Values&...) {}
template <class... Values> [[noreturn]] void lathe_fail(const Values&...);

namespace c10 {

enum class ScalarType : int8_t {
  Byte,
  Char,
  Short,
  Int,
  Long,
  Half,
  Float,
  Double,
  Bool,
  BFloat16,
  Float8_e4m3fn,
  Float8_e5m2,
  Float8_e4m3fnuz,
  Float8_e8m0fnu,
  Float4_e2m1fn_x2,
  UInt16,
  UInt32,
  UInt64,
  ComplexFloat,
  ComplexDouble,
  QInt8,
  QUInt8,
  Undefined,
  NumOptions
};
template <class Stream> Stream& operator<<(Stream& stream, ScalarType) {
  return stream;
}
inline const char* toString(ScalarType) {
  return "";
}
inline int64_t elementSize(ScalarType) {
  return 1;
}
struct TypeMeta {
  TypeMeta() = default;
  TypeMeta(ScalarType) {}
  operator ScalarType() const;
  ScalarType toScalarType() const;
  int64_t itemsize() const;
  std::string name() const;
};
template <class Stream> Stream& operator<<(Stream& stream, TypeMeta) {
  return stream;
}
inline ScalarType typeMetaToScalarType(TypeMeta type) {
  return type;
}

constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char,
                     kInt8 = ScalarType::Char, kShort = ScalarType::Short, kInt16 = ScalarType::Short,
                     kInt = ScalarType::Int, kInt32 = ScalarType::Int, kLong = ScalarType::Long,
                     kInt64 = ScalarType::Long, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half,
                     kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double,
                     kFloat64 = ScalarType::Double, kBool = ScalarType::Bool,
                     kBFloat16 = ScalarType::BFloat16, kFloat8_e4m3fn = ScalarType::Float8_e4m3fn,
                     kFloat8_e5m2 = ScalarType::Float8_e5m2, kFloat8_e8m0fnu = ScalarType::Float8_e8m0fnu,
                     kUInt16 = ScalarType::UInt16, kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64;

namespace impl {
template <ScalarType type> struct ScalarTypeToCPPType;
#define LATHE_SCALAR(name, cpp)                                                                              \
  template <> struct ScalarTypeToCPPType<ScalarType::name> {                                                 \
    using type = cpp;                                                                                        \
  };
LATHE_SCALAR(Byte, uint8_t)
LATHE_SCALAR(Char, int8_t)
LATHE_SCALAR(Short, int16_t)
LATHE_SCALAR(Int, int)
LATHE_SCALAR(Long, int64_t)
LATHE_SCALAR(Half, c10::Half)
LATHE_SCALAR(Float, float)
LATHE_SCALAR(Double, double)
LATHE_SCALAR(Bool, bool)
LATHE_SCALAR(BFloat16, c10::BFloat16)
LATHE_SCALAR(Float8_e4m3fn, c10::Float8_e4m3fn)
LATHE_SCALAR(Float8_e5m2, c10::Float8_e5m2)
LATHE_SCALAR(UInt16, uint16_t)
LATHE_SCALAR(UInt32, uint32_t)
LATHE_SCALAR(UInt64, uint64_t)
#undef LATHE_SCALAR
template <ScalarType type> using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<type>::type;
} // namespace impl

template <class T> struct ArrayRef {
  ArrayRef() = default;
  ArrayRef(std::initializer_list<T>) {}
  ArrayRef(const std::vector<T>&) {}
  T operator[](size_t) const;
  T at(size_t) const;
  T front() const;
  T back() const;
  size_t size() const;
  const T* begin() const;
  const T* end() const;
  const T* data() const;
  bool empty() const;
  std::vector<T> vec() const;
  ArrayRef slice(size_t, size_t = 0) const;
  bool operator==(const ArrayRef&) const;
  bool operator!=(const ArrayRef&) const;
};
using IntArrayRef = ArrayRef<int64_t>;

enum class DeviceType : int8_t { CPU, CUDA };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
using DeviceIndex = int8_t;
struct Device {
  Device() = default;
  Device(DeviceType, DeviceIndex = -1) {}
  Device(const char*) {}
  bool is_cuda() const;
  bool is_cpu() const;
  DeviceIndex index() const;
  DeviceType type() const;
  std::string str() const;
  bool operator==(const Device&) const;
  bool operator!=(const Device&) const;
};
template <class Stream> Stream& operator<<(Stream& stream, const Device&) {
  return stream;
}

template <class T> using optional = std::optional<T>;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using string_view = std::string_view;
template <class T> struct irange_t {
  struct iterator {
    T operator*() const;
    iterator& operator++();
    bool operator!=(const iterator&) const;
  };
  iterator begin() const;
  iterator end() const;
};
template <class T> irange_t<T> irange(T);
template <class A, class B> irange_t<B> irange(A, B);
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Scalar {
  template <class T> Scalar(T) {}
  template <class T> T to() const;
};

} // namespace c10

namespace at {

using namespace c10;

struct Tensor;
struct TensorOptions {
  TensorOptions() = default;
  TensorOptions(ScalarType) {}
  TensorOptions(TypeMeta) {}
  TensorOptions(Device) {}
  TensorOptions(DeviceType) {}
  template <class T> TensorOptions dtype(T) const;
  TypeMeta dtype() const;
  template <class T> TensorOptions device(T) const;
  Device device() const;
  TensorOptions device(DeviceType, int) const;
  TensorOptions requires_grad(bool) const;
  TensorOptions memory_format(int) const;
};
template <class Stream> Stream& operator<<(Stream& stream, const TensorOptions&) {
  return stream;
}

struct Tensor {
  int64_t size(int64_t) const;
  IntArrayRef sizes() const;
  int64_t stride(int64_t) const;
  IntArrayRef strides() const;
  int64_t numel() const;
  int64_t dim() const;
  int64_t ndimension() const;
  int64_t element_size() const;
  int64_t itemsize() const;
  int64_t nbytes() const;
  int64_t storage_offset() const;
  int64_t get_device() const;
  int64_t get_device_index() const;
  ScalarType scalar_type() const;
  TypeMeta dtype() const;
  Device device() const;
  TensorOptions options() const;
  bool is_cuda() const;
  bool is_cpu() const;
  bool is_contiguous() const;
  bool is_floating_point() const;
  bool defined() const;
  bool requires_grad() const;
  void* data_ptr() const;
  void* mutable_data_ptr() const;
  const void* const_data_ptr() const;
  template <class T> T* data_ptr() const;
  template <class T> T* mutable_data_ptr() const;
  template <class T> const T* const_data_ptr() const;
  template <class T> T* data() const;
  template <class T> T item() const;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, Traits> packed_accessor32() const;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, Traits> packed_accessor64() const;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class index_t = int64_t>
  GenericPackedTensorAccessor<T, N, Traits, index_t> packed_accessor() const;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class index_t = int64_t>
  GenericPackedTensorAccessor<T, N, Traits, index_t> generic_packed_accessor() const;
  Tensor contiguous() const;
  Tensor detach() const;
  Tensor clone() const;
  Tensor t() const;
  Tensor cuda() const;
  Tensor cpu() const;
  Tensor flatten(int64_t = 0, int64_t = -1) const;
  Tensor view(IntArrayRef) const;
  Tensor view(ScalarType) const;
  Tensor reshape(IntArrayRef) const;
  Tensor expand(IntArrayRef) const;
  Tensor permute(IntArrayRef) const;
  Tensor transpose(int64_t, int64_t) const;
  Tensor unsqueeze(int64_t) const;
  Tensor squeeze(int64_t) const;
  Tensor squeeze() const;
  Tensor slice(int64_t, int64_t = 0, int64_t = 0, int64_t = 1) const;
  Tensor narrow(int64_t, int64_t, int64_t) const;
  Tensor select(int64_t, int64_t) const;
  Tensor index_select(int64_t, const Tensor&) const;
  Tensor operator[](int64_t) const;
  template <class... Args> Tensor to(Args...) const;
  // Whatever else gives a tensor.
#define LATHE_METHOD(name) template <class... Args> Tensor name(Args&&...) const
  LATHE_METHOD(sum);
  LATHE_METHOD(mean);
  LATHE_METHOD(add);
  LATHE_METHOD(sub);
  LATHE_METHOD(mul);
  LATHE_METHOD(div);
  LATHE_METHOD(mm);
  LATHE_METHOD(bmm);
  LATHE_METHOD(matmul);
  LATHE_METHOD(abs);
  LATHE_METHOD(exp);
  LATHE_METHOD(log);
  LATHE_METHOD(sqrt);
  LATHE_METHOD(clamp);
  LATHE_METHOD(cumsum);
  LATHE_METHOD(softmax);
  LATHE_METHOD(masked_fill);
  LATHE_METHOD(masked_fill_);
  LATHE_METHOD(masked_select);
  LATHE_METHOD(nonzero);
  LATHE_METHOD(argsort);
  LATHE_METHOD(gather);
  LATHE_METHOD(repeat);
  LATHE_METHOD(expand_as);
  LATHE_METHOD(view_as);
  LATHE_METHOD(type_as);
  LATHE_METHOD(toType);
#undef LATHE_METHOD
  Tensor& fill_(Scalar);
  Tensor& zero_();
  Tensor& copy_(const Tensor&, bool = false);
  template <class... Args> Tensor new_empty(Args...) const;
  bool operator==(const Tensor&) const;
};
template <class... Args> Tensor lathe_tensor(const Args&...);
inline std::optional<Device> device_of(const Tensor&) {
  return std::nullopt;
}
#define LATHE_FACTORY(name)                                                                                  \
  inline Tensor name(IntArrayRef, TensorOptions = {}) {                                                      \
    return {};                                                                                               \
  }
LATHE_FACTORY(empty)
LATHE_FACTORY(zeros)
LATHE_FACTORY(ones)
#undef LATHE_FACTORY
inline Tensor empty_like(const Tensor&, TensorOptions = {}) {
  return {};
}
inline Tensor zeros_like(const Tensor&, TensorOptions = {}) {
  return {};
}
inline Tensor ones_like(const Tensor&, TensorOptions = {}) {
  return {};
}
inline Tensor full(IntArrayRef, Scalar, TensorOptions = {}) {
  return {};
}
inline Tensor empty_strided(IntArrayRef, IntArrayRef, TensorOptions = {}) {
  return {};
}
inline Tensor arange(Scalar, TensorOptions = {}) {
  return {};
}
inline Tensor from_blob(void*, IntArrayRef, TensorOptions = {}) {
  return {};
}
inline Tensor cat(const std::vector<Tensor>&, int64_t = 0) {
  return {};
}
inline Tensor stack(const std::vector<Tensor>&, int64_t = 0) {
  return {};
}
inline Tensor tensor(Scalar, TensorOptions = {}) {
  return {};
}
inline Tensor zeros(int64_t, TensorOptions = {}) {
  return {};
}
} // namespace at
#include "lathe_torch_operations.h"
namespace at {
struct Context {
  void lazyInitCUDA();
  bool deterministicAlgorithms() const;
  template <class... Args> void alertNotDeterministic(const Args&...);
};
Context& globalContext();
template <class T> T ceil_div(T, T);
template <class T> T round_up(T, T);
template <class... Args> Tensor& sum_out(Tensor& out, const Args&...) {
  return out;
}

namespace cuda {
struct CUDAStream {
  operator cudaStream_t() const;
  cudaStream_t stream() const;
};
CUDAStream getCurrentCUDAStream(int = -1);
CUDAStream getDefaultCUDAStream(int = -1);
CUDAStream getStreamFromPool(bool = false, int = -1);
struct CUDAGuard {
  template <class T> explicit CUDAGuard(T) {}
};
struct OptionalCUDAGuard {
  OptionalCUDAGuard() {}
  template <class T> OptionalCUDAGuard(T) {}
};
struct CUDAStreamGuard {
  template <class T> CUDAStreamGuard(T) {}
};
template <class T> T ATenCeilDiv(T, T);
template <class T> T round_up(T, T);
namespace detail {
constexpr int CUDA_NUM_THREADS = 1024;
int GET_BLOCKS(int64_t);
template <class T, class IndexType> TensorInfo<T, IndexType> getTensorInfo(const Tensor&);
bool canUse32BitIndexMath(const Tensor&);
} // namespace detail
cudaDeviceProp* getCurrentDeviceProperties();
cudaDeviceProp* getDeviceProperties(int);
int current_device();
int warp_size();
struct cublasHandle;
template <class T = void*> T getCurrentCUDABlasHandle();
} // namespace cuda
} // namespace at

namespace c10::cuda {
using at::cuda::CUDAGuard;
using at::cuda::CUDAStream;
using at::cuda::CUDAStreamGuard;
using at::cuda::current_device;
using at::cuda::getCurrentCUDAStream;
using at::cuda::getDefaultCUDAStream;
using at::cuda::OptionalCUDAGuard;
namespace CUDACachingAllocator {
void* raw_alloc(size_t);
void* raw_alloc_with_stream(size_t, cudaStream_t);
void raw_delete(void*);
void emptyCache();
} // namespace CUDACachingAllocator
} // namespace c10::cuda

namespace torch {
using namespace at;
namespace cuda {
using namespace at::cuda;
}
using Dtype = at::ScalarType;
struct Library {
  template <class... Args> Library& def(Args&&...);
  template <class... Args> Library& impl(Args&&...);
};
} // namespace torch

#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                                  \
  [&] {                                                                                                      \
    const ::at::ScalarType lathe_scalar_type = TYPE;                                                         \
    switch (lathe_scalar_type) {                                                                             \
      __VA_ARGS__                                                                                            \
    default:                                                                                                 \
      throw std::runtime_error(NAME);                                                                        \
    }                                                                                                        \
  }()
#define AT_DISPATCH_CASE(ENUM, ...)                                                                          \
  case ENUM: {                                                                                               \
    using scalar_t [[maybe_unused]] = ::c10::impl::ScalarTypeToCPPTypeT<ENUM>;                               \
    return __VA_ARGS__();                                                                                    \
  }
#define AT_PRIVATE_CASE_TYPE_USING_HINT(ENUM, HINT, ...)                                                     \
  case ENUM: {                                                                                               \
    using HINT [[maybe_unused]] = ::c10::impl::ScalarTypeToCPPTypeT<ENUM>;                                   \
    return __VA_ARGS__();                                                                                    \
  }
#define LATHE_FLOATING(...)                                                                                  \
  AT_DISPATCH_CASE(::at::ScalarType::Double, __VA_ARGS__)                                                    \
  AT_DISPATCH_CASE(::at::ScalarType::Float, __VA_ARGS__)
#define LATHE_REDUCED(...)                                                                                   \
  AT_DISPATCH_CASE(::at::ScalarType::Half, __VA_ARGS__)                                                      \
  AT_DISPATCH_CASE(::at::ScalarType::BFloat16, __VA_ARGS__)
#define LATHE_INTEGRAL(...)                                                                                  \
  AT_DISPATCH_CASE(::at::ScalarType::Byte, __VA_ARGS__)                                                      \
  AT_DISPATCH_CASE(::at::ScalarType::Char, __VA_ARGS__)                                                      \
  AT_DISPATCH_CASE(::at::ScalarType::Int, __VA_ARGS__)                                                       \
  AT_DISPATCH_CASE(::at::ScalarType::Long, __VA_ARGS__)                                                      \
  AT_DISPATCH_CASE(::at::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) LATHE_FLOATING(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...)                                                        \
  LATHE_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(::at::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) LATHE_REDUCED(__VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) LATHE_INTEGRAL(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...)                                                          \
  AT_DISPATCH_SWITCH(TYPE, NAME, LATHE_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...)                                                 \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...)                                                  \
  AT_DISPATCH_SWITCH(TYPE, NAME, LATHE_REDUCED(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(T1, TYPE, NAME, ...)                                                  \
  AT_DISPATCH_SWITCH(TYPE, NAME, LATHE_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(T1, T2, TYPE, NAME, ...)                                             \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                             \
                     LATHE_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)                           \
                         AT_DISPATCH_CASE(T2, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(T1, T2, T3, TYPE, NAME, ...)                                         \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                             \
                     LATHE_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)                           \
                         AT_DISPATCH_CASE(T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...)                                                          \
  AT_DISPATCH_SWITCH(TYPE, NAME, LATHE_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...)                                                               \
  AT_DISPATCH_SWITCH(TYPE, NAME, LATHE_FLOATING(__VA_ARGS__) LATHE_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(T1, TYPE, NAME, ...)                                                       \
  AT_DISPATCH_SWITCH(                                                                                        \
      TYPE, NAME, LATHE_FLOATING(__VA_ARGS__) LATHE_INTEGRAL(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(T1, T2, TYPE, NAME, ...)                                                  \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                             \
                     LATHE_FLOATING(__VA_ARGS__) LATHE_INTEGRAL(__VA_ARGS__)                                 \
                         AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(T1, T2, T3, TYPE, NAME, ...)                                              \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                             \
                     LATHE_FLOATING(__VA_ARGS__) LATHE_INTEGRAL(__VA_ARGS__)                                 \
                         AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__)                 \
                             AT_DISPATCH_CASE(T3, __VA_ARGS__))
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                             \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                             \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(::at::ScalarType::Int, index_t, __VA_ARGS__)            \
                         AT_PRIVATE_CASE_TYPE_USING_HINT(::at::ScalarType::Long, index_t, __VA_ARGS__))

#define LATHE_JOIN_NAMES_(a, b) a##b
#define LATHE_JOIN_NAMES(a, b) LATHE_JOIN_NAMES_(a, b)
#define TORCH_LIBRARY(name, m) inline void LATHE_JOIN_NAMES(lathe_library_, __COUNTER__)(torch::Library & m)
#define TORCH_LIBRARY_FRAGMENT(name, m) TORCH_LIBRARY(name, m)
#define TORCH_LIBRARY_IMPL(name, key, m) TORCH_LIBRARY(name, m)
namespace pybind11 {
struct module_ {
  template <class... Args> module_& def(Args&&...);
};
template <class... Args> int arg(Args&&...);
} // namespace pybind11
namespace py = pybind11;
#define PYBIND11_MODULE(name, m)                                                                             \
  inline void LATHE_JOIN_NAMES(lathe_module_, __COUNTER__)(pybind11::module_ & m)
#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME extension
#endif

// PyTorch's interface that stays the same between its versions.
namespace torch::headeronly {
using namespace c10;
} // namespace torch::headeronly
namespace torch::stable {
using at::Device;
using at::empty_like;
using at::Tensor;
template <class... Args> Tensor empty(const Args&...);
template <class... Args> Tensor new_empty(const Tensor&, const Args&...);
template <class... Args> Tensor new_zeros(const Tensor&, const Args&...);
template <class... Args> Tensor view(const Tensor&, const Args&...);
template <class... Args> Tensor reshape(const Tensor&, const Args&...);
template <class... Args> Tensor transpose(const Tensor&, const Args&...);
template <class... Args> Tensor contiguous(const Tensor&, const Args&...);
template <class... Args> Tensor clone(const Tensor&, const Args&...);
template <class... Args> Tensor to(const Tensor&, const Args&...);
template <class... Args> Tensor fill_(const Tensor&, const Args&...);
template <class... Args> Tensor zero_(const Tensor&, const Args&...);
template <class... Args> Tensor copy_(const Tensor&, const Args&...);
template <class... Args> Tensor narrow(const Tensor&, const Args&...);
template <class... Args> Tensor pad(const Tensor&, const Args&...);
template <class... Args> Tensor sum(const Tensor&, const Args&...);
namespace accelerator {
using DeviceIndex = c10::DeviceIndex;
struct DeviceGuard {
  template <class T> explicit DeviceGuard(T) {}
};
struct Stream {
  void* id() const;
};
DeviceIndex getCurrentDeviceIndex();
Stream getCurrentStream(DeviceIndex);
} // namespace accelerator
} // namespace torch::stable
int aoti_torch_get_current_cuda_stream(int, void**);
int torch_get_current_cuda_blas_handle(void**);
#define THO_DISPATCH_SWITCH(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, __VA_ARGS__)
#define THO_DISPATCH_CASE(ENUM, ...) AT_DISPATCH_CASE(ENUM, __VA_ARGS__)
#define THO_PRIVATE_CASE_TYPE_USING_HINT(ENUM, HINT, ...)                                                    \
  AT_PRIVATE_CASE_TYPE_USING_HINT(ENUM, HINT, __VA_ARGS__)
#define STD_TORCH_CHECK(...) TORCH_CHECK(__VA_ARGS__)
#define STD_CUDA_CHECK(x) lathe_ignored(x)
#define STD_CUDA_KERNEL_LAUNCH_CHECK() lathe_ignored()
#define TORCH_ERROR_CODE_CHECK(x) lathe_ignored(x)
#define STABLE_TORCH_LIBRARY(name, m) TORCH_LIBRARY(name, m)
#define STABLE_TORCH_LIBRARY_FRAGMENT(name, m) TORCH_LIBRARY(name, m)
#define STABLE_TORCH_LIBRARY_IMPL(name, key, m) TORCH_LIBRARY(name, m)
#define TORCH_BOX(x) (x)
