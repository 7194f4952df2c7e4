// Instructions of tensor cores as kernels that read their operands' registers and write those of the result:
// the host executor is held against the definition by them, and against a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::testing {

// k(out, in, n) of one warp: lane i's registers are in[i * words_in] and those behind it.
struct MatrixCase {
  std::string name, source;
  int words_in = 0, words_out = 0; // of 32 bits, of one lane
  std::vector<std::uint32_t> in;   // numbers of which every sum is exact
  std::vector<std::uint32_t> out;  // what the PTX ISA's definition gives for them
};

std::vector<MatrixCase> multiplications(unsigned seed);
// ldmatrix, stmatrix and movmatrix, of 16-bit elements that are all different.
std::vector<MatrixCase> matrix_moves();
// nvcuda::wmma; `in` and `out` are whole matrices.
std::vector<MatrixCase> wmma_products(unsigned seed);

} // namespace lathe::testing
