#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifndef INFINITY
#define INFINITY (__builtin_inff ())
#endif

template <typename T, const unsigned NUM_THREADS>
__global__ void merge_attn_states_kernel(T* output, float* output_lse, const T* prefix_output,
                                         const float* prefix_lse, const T* suffix_output,
                                         const float* suffix_lse, const unsigned num_tokens,
                                         const unsigned num_heads, const unsigned head_size) {
  const unsigned pack_size = 16 / sizeof(T);
  const unsigned threads_per_head = head_size / pack_size;
  const unsigned index = blockIdx.x * NUM_THREADS + threadIdx.x;
  if (index >= num_tokens * num_heads * threads_per_head)
    return;

  const unsigned token_head = index / threads_per_head;
  const unsigned pack = index % threads_per_head;
  const unsigned offset = token_head * head_size + pack * pack_size;

  float p_lse = prefix_lse[token_head];
  float s_lse = suffix_lse[token_head];
  p_lse = isinf(p_lse) ? -INFINITY : p_lse;
  s_lse = isinf(s_lse) ? -INFINITY : s_lse;
  const float max_lse = fmaxf(p_lse, s_lse);
  const float p_weight = expf(p_lse - max_lse);
  const float s_weight = expf(s_lse - max_lse);
  const float total = p_weight + s_weight;
  const float p_scale = p_weight / total;
  const float s_scale = s_weight / total;

  const uint4 p_pack = *reinterpret_cast<const uint4*>(prefix_output + offset);
  const uint4 s_pack = *reinterpret_cast<const uint4*>(suffix_output + offset);
  uint4 o_pack;
#pragma unroll
  for (unsigned i = 0; i < pack_size; ++i) {
    const float p = static_cast<float>(reinterpret_cast<const T*>(&p_pack)[i]);
    const float s = static_cast<float>(reinterpret_cast<const T*>(&s_pack)[i]);
    reinterpret_cast<T*>(&o_pack)[i] = static_cast<T>(p * p_scale + s * s_scale);
  }
  *reinterpret_cast<uint4*>(output + offset) = o_pack;

  if (output_lse != nullptr && pack == 0)
    output_lse[token_head] = logf(total) + max_lse;
}
