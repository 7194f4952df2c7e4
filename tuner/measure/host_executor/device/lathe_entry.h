// How the executor finds and calls a kernel instance.
#pragma once

namespace lathe_host {

template <class T> struct ParameterOf {
  static constexpr ParameterInfo value{sizeof(T), std::is_pointer_v<T>,
                                       std::is_pointer_v<T>&& std::is_const_v<std::remove_pointer_t<T>>};
};

template <auto Kernel> struct Caller;
template <class... P, void (*Kernel)(P...)> struct Caller<Kernel> {
  static constexpr ParameterInfo parameters[sizeof...(P) + 1] = {ParameterOf<P>::value..., {}};
  template <size_t... I>
  LATHE_UNCHECKED static void unpack(void* const* arguments, std::index_sequence<I...>) {
    Kernel(*static_cast<std::remove_const_t<P>*>(arguments[I])...);
  }
  static void call(void* const* arguments) { unpack(arguments, std::index_sequence_for<P...>{}); }
  static constexpr Entry entry{&call, parameters, sizeof...(P)};
};

} // namespace lathe_host

// Launchers in the kernel's file compile; nothing calls them.
template <class... A> inline cudaError_t cudaFuncSetAttribute(A&&...) {
  return cudaSuccess;
}
template <class... A> inline cudaError_t cudaLaunchKernelEx(A&&...) {
  return cudaSuccess;
}
template <class... A> inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(A&&...) {
  return cudaSuccess;
}
inline cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
inline cudaError_t cudaPeekAtLastError() {
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int*) {
  return cudaSuccess;
}
template <class... A> inline cudaError_t cudaDeviceGetAttribute(A&&...) {
  return cudaSuccess;
}
inline const char* cudaGetErrorString(cudaError_t) {
  return "";
}
