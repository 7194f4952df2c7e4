// Gathers the pages of each sequence's keys into one matrix: a page holds 16 tokens, dimension by dimension;
// the matrix has one row a token.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int PAGE = 16;  // tokens of a page
constexpr int CHUNK = 32; // dimensions that pass through shared memory at once
constexpr int THREADS = 128;

// One block a sequence. Each chunk of a page is loaded, waited for, and stored before the next one is
// touched.
template <typename T>
__global__ void gather_pages_kernel(T* __restrict__ rows, const T* __restrict__ pool,
                                    const int* __restrict__ page_table, const int num_pages,
                                    const int head_dim) {
  __shared__ T tile[CHUNK][PAGE + 1];
  const int sequence = blockIdx.x;
  for (int page = 0; page < num_pages; ++page) {
    const long long slot = page_table[static_cast<long long>(sequence) * num_pages + page];
    const T* source = pool + slot * head_dim * PAGE;
    T* target = rows + (static_cast<long long>(sequence) * num_pages + page) * PAGE * head_dim;
    for (int first = 0; first < head_dim; first += CHUNK) {
      for (int i = threadIdx.x; i < CHUNK * PAGE; i += THREADS) {
        const int dimension = i / PAGE, token = i % PAGE;
        if (first + dimension < head_dim) {
          tile[dimension][token] = source[static_cast<long long>(first + dimension) * PAGE + token];
        }
      }
      __syncthreads();
      for (int i = threadIdx.x; i < CHUNK * PAGE; i += THREADS) {
        const int token = i / CHUNK, dimension = i % CHUNK;
        if (first + dimension < head_dim) {
          target[static_cast<long long>(token) * head_dim + first + dimension] = tile[dimension][token];
        }
      }
      __syncthreads();
    }
  }
}

template <typename T>
void gather_pages(T* rows, const T* pool, const int* page_table, int num_sequences, int num_pages,
                  int head_dim, cudaStream_t stream) {
  gather_pages_kernel<T><<<num_sequences, THREADS, 0, stream>>>(rows, pool, page_table, num_pages, head_dim);
}

template void gather_pages<__nv_bfloat16>(__nv_bfloat16*, const __nv_bfloat16*, const int*, int, int, int,
                                          cudaStream_t);
