// Spellings that nvcc and NVRTC accept and Clang 19 does not, changed in the copy that Clang reads. The
// changed text means the same to all three.
#pragma once

#include "refactor/frontend/parsed_source.h"

#include <map>

namespace lathe::refactor {

// For each file that can be helped, its new text; `described` gets a sentence for each change. Only errors
// are acted on: a file without any is never changed.
//   asm("mov.u32 %0, %laneid;" ...)   ->  "%%laneid"
//   Cast<T>::to<N>(x), x.sum<N>()     ->  Cast<T>::template to<N>(x)
//   value = {};                       ->  value = decltype(value){};
//   __shared__ alignas(16) float x[8] ->  __shared__ __align__(16) float x[8]
//   const __restrict__ float x[8]     ->  const float x[8]
//   k << <grid, block >> > (x)        ->  k <<<grid, block >>> (x)
//   k<<<grid, {32, 4}>>>(x)           ->  k<<<grid, dim3{32, 4}>>>(x)
//   f(x, blockDim), of a template     ->  f(x, dim3(blockDim))
//   typedef unsigned long long uint64_t; is left out
//   std::string of a file that includes other than <string>: that is included in front of it
std::map<std::string, std::string> fix_up(const std::vector<ParseError>& errors,
                                          clang::SourceManager& sources, std::vector<std::string>& described);

} // namespace lathe::refactor
