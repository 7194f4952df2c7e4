// One step of linear attention with decay, for one new token of each sequence: for every head
//   new_kv[d, e] = exp(-slope) * past_kv[d, e] + T(k[d] * v[e])
//   output[e] = T(sum over d of q[d] * new_kv[d, e])
// with the state in single precision and the product of key and value rounded to T.
//
// One block of 128 threads a head; keys, queries, values and the head's new state in shared memory, whose
// rows are one element longer than the state's; a thread makes whole rows of the state and whole columns of
// the output, and the first thread stores the output, as production launches it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

template <typename T>
__global__ void lightning_attention_decode_kernel(const T* __restrict__ q, const T* __restrict__ k,
                                                  const T* __restrict__ v, const float* __restrict__ past_kv,
                                                  const float* __restrict__ slope, T* __restrict__ output,
                                                  float* __restrict__ new_kv, const int num_heads,
                                                  const int qk_dim, const int v_dim) {
  extern __shared__ char memory[];
  T* q_shared = reinterpret_cast<T*>(memory);
  T* k_shared = q_shared + qk_dim;
  T* v_shared = k_shared + qk_dim;
  T* output_shared = v_shared + v_dim;
  float* state = reinterpret_cast<float*>(output_shared + v_dim); // [qk_dim, v_dim + 1]

  const int head = blockIdx.x % num_heads;
  const int64_t qk_begin = static_cast<int64_t>(blockIdx.x) * qk_dim;
  const int64_t v_begin = static_cast<int64_t>(blockIdx.x) * v_dim;
  const int64_t state_begin = qk_begin * v_dim;

  for (int d = threadIdx.x; d < qk_dim; d += blockDim.x) {
    q_shared[d] = q[qk_begin + d];
    k_shared[d] = k[qk_begin + d];
  }
  for (int e = threadIdx.x; e < v_dim; e += blockDim.x)
    v_shared[e] = v[v_begin + e];
  __syncthreads();

  const float decay = expf(-slope[head]);
  for (int d = threadIdx.x; d < qk_dim; d += blockDim.x) {
    const float key = static_cast<float>(k_shared[d]);
    for (int e = 0; e < v_dim; ++e) {
      const T product = static_cast<T>(key * static_cast<float>(v_shared[e]));
      state[d * (v_dim + 1) + e] = decay * past_kv[state_begin + d * v_dim + e] + static_cast<float>(product);
    }
  }
  __syncthreads();

  for (int i = threadIdx.x; i < qk_dim * v_dim; i += blockDim.x) {
    const int d = i / v_dim, e = i % v_dim;
    new_kv[state_begin + i] = state[d * (v_dim + 1) + e];
  }
  __syncthreads();

  for (int e = threadIdx.x; e < v_dim; e += blockDim.x) {
    float sum = 0.f;
    for (int d = 0; d < qk_dim; ++d)
      sum += static_cast<float>(q_shared[d]) * state[d * (v_dim + 1) + e];
    output_shared[e] = static_cast<T>(sum);
  }
  __syncthreads();

  if (threadIdx.x == 0)
    for (int e = 0; e < v_dim; ++e)
      output[v_begin + e] = output_shared[e];
}

template <typename T>
void lightning_attention_decode(const T* q, const T* k, const T* v, const float* past_kv, const float* slope,
                                T* output, float* new_kv, int batch_size, int num_heads, int qk_dim,
                                int v_dim, cudaStream_t stream) {
  const size_t shared_bytes = (2 * qk_dim + 2 * v_dim) * sizeof(T) + qk_dim * (v_dim + 1) * sizeof(float);
  lightning_attention_decode_kernel<T><<<batch_size * num_heads, 128, shared_bytes, stream>>>(
      q, k, v, past_kv, slope, output, new_kv, num_heads, qk_dim, v_dim);
}

template void lightning_attention_decode<__nv_bfloat16>(const __nv_bfloat16*, const __nv_bfloat16*,
                                                        const __nv_bfloat16*, const float*, const float*,
                                                        __nv_bfloat16*, float*, int, int, int, int,
                                                        cudaStream_t);
