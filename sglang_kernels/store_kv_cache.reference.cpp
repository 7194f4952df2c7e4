// store_kv_cache. Buffers in parameter order: k_cache [2 * length, row], v_cache, loc [length], k [length,
// row], v. Scalars in parameter order: length, cache_stride, input_stride, pieces.
#include <cstdint>

extern "C" void lathe_reference(const std::int64_t*, const double* scalars, double* const* buffers) {
  const auto length = static_cast<std::int64_t>(scalars[0]);
  const auto cache_stride = static_cast<std::int64_t>(scalars[1]);
  const auto input_stride = static_cast<std::int64_t>(scalars[2]);
  const std::int64_t row = static_cast<std::int64_t>(scalars[3]) * 32;
  for (std::int64_t i = 0; i < length; ++i) {
    const auto slot = static_cast<std::int64_t>(buffers[2][i]);
    for (std::int64_t j = 0; j < row; ++j) {
      buffers[0][slot * cache_stride + j] = buffers[3][i * input_stride + j];
      buffers[1][slot * cache_stride + j] = buffers[4][i * input_stride + j];
    }
  }
}
