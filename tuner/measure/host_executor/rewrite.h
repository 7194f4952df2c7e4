// CUDA's extensions to C++ in preprocessed text, rewritten as C++.
#pragma once

#include <string>
#include <string_view>

namespace lathe::host {

struct RewriteOptions {
  bool several_threads = true; // blocks run on several OS threads: shared memory is thread-local
};

// Rewrites, keeping every line where it was:
//   __shared__ variables    -> static storage of the running block
//   extern __shared__ T s[] -> the block's dynamic shared memory
//   kernel<<<...>>>(...)    -> kernel(...), never executed
//   __noinline__            -> the GNU attribute
//   (1 << n) - 1          -> without the overflow of the 31st lane
//   asm("PTX" ...)          -> what the instructions do; an unknown one fails when it is executed
std::string rewrite_cuda(std::string_view preprocessed, const RewriteOptions& options);

} // namespace lathe::host
