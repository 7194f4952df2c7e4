// Eight-bit floating point in inline assembly, by NVIDIA's own host conversions.
#pragma once

namespace lathe_ptx {

LATHE_INLINE u32 e4m3_encode(float value) {
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}
LATHE_INLINE u32 e5m2_encode(float value) {
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
}
LATHE_INLINE float e4m3_decode(u32 bits) {
  return static_cast<float>(
      __half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), __NV_E4M3)));
}
LATHE_INLINE float e5m2_decode(u32 bits) {
  return static_cast<float>(
      __half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), __NV_E5M2)));
}

} // namespace lathe_ptx
