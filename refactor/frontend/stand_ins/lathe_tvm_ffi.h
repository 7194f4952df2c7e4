// Stand-in for DLPack and the parts of TVM FFI that launchers of CUDA kernels use, so that their launches are
// seen where neither is installed. Only declarations: nothing here is ever compiled or run, and nothing of it
// reaches device code. The numbers are DLPack's ABI.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

typedef enum : int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18
} DLDeviceType;

typedef enum : int32_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e3m4 = 7,
  kDLFloat8_e4m3 = 8,
  kDLFloat8_e4m3b11fnuz = 9,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14,
  kDLFloat6_e2m3fn = 15,
  kDLFloat6_e3m2fn = 16,
  kDLFloat4_e2m1fn = 17
} DLDataTypeCode;

struct DLDevice {
  DLDeviceType device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
bool operator==(DLDataType, DLDataType);
bool operator!=(DLDataType, DLDataType);

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};

extern "C" {
void* TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);
int TVMFFIEnvTensorAlloc(DLTensor* prototype, void** out);
}

namespace tvm {
namespace ffi {

struct ShapeView {
  ShapeView();
  ShapeView(const int64_t*, size_t);
  ShapeView(std::initializer_list<int64_t>);
  const int64_t* data() const;
  size_t size() const;
  int64_t operator[](size_t) const;
  const int64_t* begin() const;
  const int64_t* end() const;
  int64_t Product() const;
};
struct Shape : ShapeView {
  using ShapeView::ShapeView;
};

struct TensorView {
  TensorView();
  TensorView(const DLTensor*);
  void* data_ptr() const;
  DLDevice device() const;
  int32_t ndim() const;
  int32_t dim() const;
  DLDataType dtype() const;
  ShapeView shape() const;
  ShapeView sizes() const;
  ShapeView strides() const;
  int64_t size(int64_t) const;
  int64_t stride(int64_t) const;
  int64_t numel() const;
  uint64_t byte_offset() const;
  bool is_contiguous() const;
  bool IsContiguous() const;
};
struct Tensor : TensorView {
  template <class... T> static Tensor FromEnvAlloc(T&&...);
  template <class... T> static Tensor FromNDAlloc(T&&...);
  const DLTensor* operator->() const;
  const DLTensor* get() const;
  bool defined() const;
};
template <class... T> Tensor empty(T&&...);
template <class... T> Tensor empty_like(T&&...);

template <class T> struct Optional {
  Optional();
  Optional(std::nullopt_t);
  Optional(const T&);
  bool has_value() const;
  T value() const;
  T value_or(T) const;
  T operator*() const;
  const T* operator->() const;
  explicit operator bool() const;
};
template <class T> bool operator==(const Optional<T>&, std::nullptr_t);
template <class T> bool operator!=(const Optional<T>&, std::nullptr_t);

struct Object {};
struct ObjectRef {
  bool defined() const;
};
struct Any : ObjectRef {
  template <class T> Any(T&&);
  template <class T> T cast() const;
};
struct String : ObjectRef {
  String(const char*);
  String(std::string);
  const char* c_str() const;
  size_t size() const;
  operator std::string() const;
};
bool operator==(const String&, const char*);
template <class T> struct Array : ObjectRef {
  size_t size() const;
  T operator[](int64_t) const;
  const T* begin() const;
  const T* end() const;
};
template <class... T> struct Tuple : ObjectRef {
  Tuple(T...);
  template <size_t i> auto get() const -> std::tuple_element_t<i, std::tuple<T...>>;
};

template <class... T> struct Variant : ObjectRef {
  template <class U> Variant(U&&);
  template <class U> U get() const;
  template <class U> std::optional<U> as() const;
};
template <class Key, class Value> struct Map : ObjectRef {
  size_t size() const;
  size_t count(const Key&) const;
  Value at(const Key&) const;
  Value operator[](const Key&) const;
};
struct Function : ObjectRef {
  template <class T> static Function FromTyped(T&&);
  template <class... T> Any operator()(T&&...) const;
};
struct ModuleObj : Object {};
struct Module : ObjectRef {};
size_t GetDataSize(const DLTensor&);
size_t GetDataSize(TensorView);

struct CUDADeviceGuard {
  CUDADeviceGuard();
  explicit CUDADeviceGuard(int device);
};

template <class... T> void lathe_unused(T&&...);

} // namespace ffi
} // namespace tvm

#define TVM_FFI_DLL_EXPORT_TYPED_FUNC(...)
#define TVM_FFI_STATIC_INIT_BLOCK() static inline void lathe_registered_here()
// Each ends with a literal, as the real ones do: a message may follow with << or without.
#define TVM_FFI_ICHECK(...) (::tvm::ffi::lathe_unused(__VA_ARGS__), ::std::stringstream()) << ""
#define TVM_FFI_CHECK(...) (::tvm::ffi::lathe_unused(__VA_ARGS__), ::std::stringstream()) << ""
#define TVM_FFI_THROW(...) ::std::stringstream()
#define TVM_FFI_LOG_AND_THROW(...) ::std::stringstream()
#define TVM_FFI_ICHECK_EQ(a, b) TVM_FFI_ICHECK(a, b)
#define TVM_FFI_ICHECK_NE(a, b) TVM_FFI_ICHECK(a, b)
#define TVM_FFI_ICHECK_LT(a, b) TVM_FFI_ICHECK(a, b)
#define TVM_FFI_ICHECK_LE(a, b) TVM_FFI_ICHECK(a, b)
#define TVM_FFI_ICHECK_GT(a, b) TVM_FFI_ICHECK(a, b)
#define TVM_FFI_ICHECK_GE(a, b) TVM_FFI_ICHECK(a, b)
