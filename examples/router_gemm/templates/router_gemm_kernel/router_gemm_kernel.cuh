#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename V, int N>
struct __align__(sizeof(V) * N) RowPack {
  V v[N];
};

// N elements of one row, from k on; nothing is read outside the matrix.
template <typename T, int N>
__device__ __forceinline__ RowPack<T, N> load_pack(const T* __restrict__ matrix, const int row, const int rows,
                                                   const int k, const int hidden_size) {
  RowPack<T, N> pack = {};
  if (row < rows && k < hidden_size) {
    pack = *reinterpret_cast<const RowPack<T, N>*>(matrix + int64_t(row) * hidden_size + k);
  }
  return pack;
}

// The block's threads fetch ROWS rows of BK elements into registers, all loads before any use.
template <typename T, int VEC, int ROWS, int BK, int THREADS, int COUNT>
__device__ __forceinline__ void fetch_tile(RowPack<T, VEC> (&packs)[COUNT], const T* __restrict__ matrix,
                                           const int first_row, const int rows, const int base,
                                           const int hidden_size, const int thread, const bool aligned) {
  constexpr int CHUNKS = BK / VEC;
  constexpr int TOTAL = ROWS * CHUNKS;
  if (VEC == 1 || aligned) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const int p = thread + i * THREADS;
      if (TOTAL % THREADS == 0 || p < TOTAL) {
        packs[i] = load_pack<T, VEC>(matrix, first_row + p / CHUNKS, rows, base + (p % CHUNKS) * VEC, hidden_size);
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const int p = thread + i * THREADS;
      if (TOTAL % THREADS == 0 || p < TOTAL) {
#pragma unroll
        for (int e = 0; e < VEC; ++e) {
          packs[i].v[e] =
              load_pack<T, 1>(matrix, first_row + p / CHUNKS, rows, base + (p % CHUNKS) * VEC + e, hidden_size).v[0];
        }
      }
    }
  }
}

// Registers to shared memory, as float; columns past the end of the rows become zero.
template <bool WHOLE, typename T, int VEC, int KV, int ROWS, int BK, int THREADS, int COUNT>
__device__ __forceinline__ void store_tile(float* tile, const RowPack<T, VEC> (&packs)[COUNT], const int base,
                                           const int hidden_size, const int thread) {
  constexpr int CHUNKS = BK / VEC;
  constexpr int TOTAL = ROWS * CHUNKS;
  constexpr int STRIDE = BK + KV;
  constexpr int WIDTH = KV < VEC ? KV : VEC;
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    const int p = thread + i * THREADS;
    if (TOTAL % THREADS == 0 || p < TOTAL) {
      const int k = (p % CHUNKS) * VEC;
      float* target = tile + (p / CHUNKS) * STRIDE + k;
#pragma unroll
      for (int e = 0; e < VEC; e += WIDTH) {
        RowPack<float, WIDTH> wide;
#pragma unroll
        for (int f = 0; f < WIDTH; ++f) {
          wide.v[f] = WHOLE || base + k + e + f < hidden_size ? static_cast<float>(packs[i].v[e + f]) : 0.f;
        }
        *reinterpret_cast<RowPack<float, WIDTH>*>(target + e) = wide;
      }
    }
  }
}

// Without shared memory: a thread takes every SPLIT-th chunk of its rows, DEPTH chunks in flight.
template <typename T, int N, int DEPTH, int TX, int TY, int TM, int TN, int SPLIT>
__device__ __forceinline__ void accumulate_direct(float (&score)[TM][TN], const T* __restrict__ hidden,
                                                  const T* __restrict__ weights, const int token, const int expert,
                                                  const int slice, const int num_tokens, const int num_experts,
                                                  const int hidden_size) {
  for (int first = slice * N; first < hidden_size; first += SPLIT * N * DEPTH) {
    RowPack<T, N> h[DEPTH][TM];
    RowPack<T, N> w[DEPTH][TN];
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      const int k = first + d * SPLIT * N;
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        w[d][j] = load_pack<T, N>(weights, expert + j * TX, num_experts, k, hidden_size);
      }
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        h[d][i] = load_pack<T, N>(hidden, token + i * TY, num_tokens, k, hidden_size);
      }
    }
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      if (first + d * SPLIT * N < hidden_size) {
#pragma unroll
        for (int e = 0; e < N; ++e) {
          float factor[TN];
#pragma unroll
          for (int j = 0; j < TN; ++j) {
            factor[j] = static_cast<float>(w[d][j].v[e]);
          }
#pragma unroll
          for (int i = 0; i < TM; ++i) {
            const float value = static_cast<float>(h[d][i].v[e]);
#pragma unroll
            for (int j = 0; j < TN; ++j) {
              score[i][j] += value * factor[j];
            }
          }
        }
      }
    }
  }
}

// TX * TY cells of threads, TM x TN outputs a thread, SPLIT threads share an output along hidden_size.
template <typename T, int TX, int TY, int TM, int TN, int SPLIT, int BK, int VEC, int KV, int BUFFERS, int AHEAD,
          int MIN_BLOCKS>
__global__ void __launch_bounds__(TX * TY * SPLIT, MIN_BLOCKS)
    router_gemm_kernel(const T* __restrict__ hidden, const T* __restrict__ weights, float* __restrict__ scores,
                       const int num_tokens, const int num_experts, const int hidden_size) {
  static_assert(MIN_BLOCKS > 0, "at least one block");
  constexpr int CELLS = TX * TY;
  constexpr int THREADS = CELLS * SPLIT;
  constexpr int BM = TY * TM;
  constexpr int BN = TX * TN;
  constexpr int STRIDE = BK + KV;
  constexpr int TILE_FLOATS = (BM + BN) * STRIDE;
  // Partial sums of the slices meet in shared memory, ROUND of a thread's TM rows at a time.
  constexpr int FOLD_LIMIT = 12288;
  constexpr int FOLD_ROW = THREADS * TN;
  constexpr int ROUND = FOLD_ROW * TM + SPLIT <= FOLD_LIMIT         ? TM
                        : FOLD_ROW * (TM / 2) + SPLIT <= FOLD_LIMIT ? TM / 2
                        : FOLD_ROW * (TM / 4) + SPLIT <= FOLD_LIMIT ? TM / 4
                        : FOLD_ROW * (TM / 8) + SPLIT <= FOLD_LIMIT ? TM / 8
                                                                    : 1;
  constexpr int FOLD = ROUND * TY * BN;
  constexpr int FOLD_STRIDE = FOLD | 1;
  constexpr int GROUP = SPLIT > ROUND * TN ? SPLIT / (ROUND * TN) : 1;
  constexpr int TILES_NEED = BUFFERS * TILE_FLOATS;
  constexpr int FOLD_NEED = SPLIT > 1 ? SPLIT * FOLD_STRIDE : 1;
  constexpr int STORAGE = TILES_NEED > FOLD_NEED ? TILES_NEED : FOLD_NEED;
  __shared__ __align__(16) float storage[STORAGE];

  const int thread = int(threadIdx.y) * (TX * SPLIT) + int(threadIdx.x);
  const int slice = SPLIT == 1 ? 0 : (BUFFERS > 0 ? thread / CELLS : thread % SPLIT);
  const int cell = SPLIT == 1 ? thread : (BUFFERS > 0 ? thread % CELLS : thread / SPLIT);
  const int column = cell % TX, line = cell / TX;
  const int first_token = int(blockIdx.y) * BM;
  const int first_expert = int(blockIdx.x) * BN;
  const bool aligned = hidden_size % VEC == 0 &&
                       reinterpret_cast<uint64_t>(hidden) % sizeof(RowPack<T, VEC>) == 0 &&
                       reinterpret_cast<uint64_t>(weights) % sizeof(RowPack<T, VEC>) == 0;

  float score[TM][TN];
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      score[i][j] = 0.f;
    }
  }

  if constexpr (BUFFERS > 0) {
    constexpr int HIDDEN_PACKS = (BM * (BK / VEC) + THREADS - 1) / THREADS;
    constexpr int WEIGHT_PACKS = (BN * (BK / VEC) + THREADS - 1) / THREADS;
    RowPack<T, VEC> hidden_packs[HIDDEN_PACKS];
    RowPack<T, VEC> weight_packs[WEIGHT_PACKS];
    int buffer = 0;
    if constexpr (AHEAD > 0) {
      fetch_tile<T, VEC, BM, BK, THREADS>(hidden_packs, hidden, first_token, num_tokens, 0, hidden_size, thread,
                                          aligned);
      fetch_tile<T, VEC, BN, BK, THREADS>(weight_packs, weights, first_expert, num_experts, 0, hidden_size, thread,
                                          aligned);
    }
    for (int base = 0; base < hidden_size; base += BK) {
      float* hidden_tile = storage + buffer * TILE_FLOATS;
      float* weight_tile = hidden_tile + BM * STRIDE;
      if constexpr (AHEAD == 0) {
        fetch_tile<T, VEC, BM, BK, THREADS>(hidden_packs, hidden, first_token, num_tokens, base, hidden_size, thread,
                                            aligned);
        fetch_tile<T, VEC, BN, BK, THREADS>(weight_packs, weights, first_expert, num_experts, base, hidden_size,
                                            thread, aligned);
      }
      if (base + BK <= hidden_size) {
        store_tile<true, T, VEC, KV, BM, BK, THREADS>(hidden_tile, hidden_packs, base, hidden_size, thread);
        store_tile<true, T, VEC, KV, BN, BK, THREADS>(weight_tile, weight_packs, base, hidden_size, thread);
      } else {
        store_tile<false, T, VEC, KV, BM, BK, THREADS>(hidden_tile, hidden_packs, base, hidden_size, thread);
        store_tile<false, T, VEC, KV, BN, BK, THREADS>(weight_tile, weight_packs, base, hidden_size, thread);
      }
      __syncthreads();
      if constexpr (AHEAD > 0) {
        fetch_tile<T, VEC, BM, BK, THREADS>(hidden_packs, hidden, first_token, num_tokens, base + BK, hidden_size,
                                            thread, aligned);
        fetch_tile<T, VEC, BN, BK, THREADS>(weight_packs, weights, first_expert, num_experts, base + BK, hidden_size,
                                            thread, aligned);
      }
#pragma unroll
      for (int s = 0; s < BK / (SPLIT * KV); ++s) {
        const int step = (s * SPLIT + slice) * KV;
        RowPack<float, KV> w[TN];
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          w[j] = *reinterpret_cast<const RowPack<float, KV>*>(weight_tile + (column + j * TX) * STRIDE + step);
        }
#pragma unroll
        for (int i = 0; i < TM; ++i) {
          const RowPack<float, KV> h =
              *reinterpret_cast<const RowPack<float, KV>*>(hidden_tile + (line + i * TY) * STRIDE + step);
#pragma unroll
          for (int v = 0; v < KV; ++v) {
#pragma unroll
            for (int j = 0; j < TN; ++j) {
              score[i][j] += h.v[v] * w[j].v[v];
            }
          }
        }
      }
      // With two buffers the next tile goes elsewhere, and the barrier after its store is enough.
      if constexpr (BUFFERS == 1) {
        __syncthreads();
      }
      buffer = BUFFERS - 1 - buffer;
    }
  } else {
    if (VEC == 1 || aligned) {
      accumulate_direct<T, VEC, BK / VEC, TX, TY, TM, TN, SPLIT>(score, hidden, weights, first_token + line,
                                                                first_expert + column, slice, num_tokens,
                                                                num_experts, hidden_size);
    } else {
      accumulate_direct<T, 1, BK / VEC, TX, TY, TM, TN, SPLIT>(score, hidden, weights, first_token + line,
                                                              first_expert + column, slice, num_tokens, num_experts,
                                                              hidden_size);
    }
  }

  if constexpr (SPLIT == 1) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const int token = first_token + line + i * TY;
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        const int expert = first_expert + column + j * TX;
        if (token < num_tokens && expert < num_experts) {
          scores[int64_t(token) * num_experts + expert] = score[i][j];
        }
      }
    }
  } else {
#pragma unroll
    for (int round = 0; round < TM; round += ROUND) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < ROUND; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          storage[slice * FOLD_STRIDE + (i * TY + line) * BN + column + j * TX] = score[round + i][j];
        }
      }
      __syncthreads();
      // GROUP threads an output, each adds every GROUP-th slice; the first one it reads is where its sum goes.
      for (int t = thread; t < GROUP * FOLD; t += THREADS) {
        const int output = t % FOLD;
        const int member = t / FOLD;
        float sum = 0.f;
#pragma unroll 8
        for (int part = member; part < SPLIT; part += GROUP) {
          sum += storage[part * FOLD_STRIDE + output];
        }
        storage[member * FOLD_STRIDE + output] = sum;
      }
      __syncthreads();
      for (int output = thread; output < FOLD; output += THREADS) {
        float sum = 0.f;
#pragma unroll
        for (int member = 0; member < GROUP; ++member) {
          sum += storage[member * FOLD_STRIDE + output];
        }
        const int token = first_token + round * TY + output / BN;
        const int expert = first_expert + output % BN;
        if (token < num_tokens && expert < num_experts) {
          scores[int64_t(token) * num_experts + expert] = sum;
        }
      }
    }
  }
}
