// lightning_attention_decode in double precision. Buffers in parameter order: q and k [batch_size, num_heads,
// qk_dim], v [batch_size, num_heads, v_dim], past_kv [batch_size, num_heads, qk_dim, v_dim], slope
// [num_heads], output as v, new_kv as past_kv. Scalars in parameter order: num_heads, qk_dim, v_dim.
//
// The kernel rounds each product of key and value to their type, which a reference is not told: it is the
// narrowest that holds all keys and values.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

// To so many bits of significand, the implied one included; ties to even.
double rounded(double value, int bits) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

constexpr int BFLOAT_BITS = 8, HALF_BITS = 11, SINGLE_BITS = 24;

int significand_bits(const double* values, std::int64_t count) {
  for (const int bits : {BFLOAT_BITS, HALF_BITS})
    if (std::all_of(values, values + count, [&](double value) { return rounded(value, bits) == value; }))
      return bits;
  return SINGLE_BITS;
}

} // namespace

extern "C" void lathe_reference(const std::int64_t* dimensions, const double* scalars,
                                double* const* buffers) {
  const auto num_heads = static_cast<std::int64_t>(scalars[0]),
             qk_dim = static_cast<std::int64_t>(scalars[1]), v_dim = static_cast<std::int64_t>(scalars[2]);
  const std::int64_t heads = dimensions[0] * num_heads;
  const int bits =
      std::max(significand_bits(buffers[1], heads * qk_dim), significand_bits(buffers[2], heads * v_dim));
  for (std::int64_t head = 0; head < heads; ++head) {
    const double *q = buffers[0] + head * qk_dim, *k = buffers[1] + head * qk_dim,
                 *v = buffers[2] + head * v_dim, *past = buffers[3] + head * qk_dim * v_dim;
    double *output = buffers[5] + head * v_dim, *state = buffers[6] + head * qk_dim * v_dim;
    const double decay = std::exp(-buffers[4][head % num_heads]);
    for (std::int64_t e = 0; e < v_dim; ++e) {
      output[e] = 0;
      for (std::int64_t d = 0; d < qk_dim; ++d) {
        state[d * v_dim + e] = decay * past[d * v_dim + e] + rounded(k[d] * v[e], bits);
        output[e] += q[d] * state[d * v_dim + e];
      }
    }
  }
}
