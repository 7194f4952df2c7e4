// Two tuned kernels as PyTorch operators. The headers are what `lathe export` wrote; each picks a
// configuration for the device and the sizes at run time and falls back to the raw kernel.
//
//   lathe_tuned::silu_and_mul(input) -> out               out = silu(input[..., :d]) * input[..., d:]
//   lathe_tuned::silu_and_mul_out(out, input, raw)        the same into `out`; raw: the raw kernel
//   lathe_tuned::fused_add_rmsnorm_(input, residual, weight, eps, raw)
//                                                         residual += input; input = rms_norm(residual) *
//                                                         weight
#include "fused_add_rmsnorm.h"
#include "silu_and_mul.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

#include <limits>

namespace {

namespace silu = lathe_tuned::silu_and_mul;
namespace norm = lathe_tuned::fused_add_rmsnorm;

// The raw kernels move 16 bytes at once and count in 32 bits.
void check(const at::Tensor& tensor, const char* name) {
  TORCH_CHECK(tensor.is_cuda(), "lathe_tuned: ", name, " must be on a CUDA device");
  TORCH_CHECK(tensor.is_contiguous(), "lathe_tuned: ", name, " must be contiguous");
  TORCH_CHECK(tensor.dim() >= 1, "lathe_tuned: ", name, " must have at least one dimension");
  TORCH_CHECK(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 16 == 0, "lathe_tuned: ", name,
              " must be aligned to 16 bytes");
  TORCH_CHECK(tensor.numel() <= std::numeric_limits<int>::max(), "lathe_tuned: ", name,
              " has more elements than 32 bits count");
}

void check_like(const at::Tensor& tensor, const at::Tensor& other, const char* name) {
  check(tensor, name);
  TORCH_CHECK(tensor.scalar_type() == other.scalar_type() && tensor.device() == other.device(),
              "lathe_tuned: ", name, " must have the same type and device as the input");
}

void check_columns(const at::Tensor& tensor, int64_t d) {
  TORCH_CHECK(d > 0 && d * tensor.element_size() % 16 == 0,
              "lathe_tuned: the last dimension must be a positive multiple of 16 bytes");
}

// Calls `body` with a null pointer of the CUDA type that the tensor's elements are.
template <class Body> void dispatch(const at::Tensor& tensor, Body body) {
  switch (tensor.scalar_type()) {
  case at::kBFloat16:
    return body(static_cast<__nv_bfloat16*>(nullptr));
  case at::kHalf:
    return body(static_cast<__half*>(nullptr));
  case at::kFloat:
    return body(static_cast<float*>(nullptr));
  default:
    TORCH_CHECK(false, "lathe_tuned: expected bfloat16, float16 or float32, not ", tensor.scalar_type());
  }
}

void check_launch(cudaError_t status) {
  TORCH_CHECK(status == cudaSuccess, "lathe_tuned: the launch failed: ", cudaGetErrorString(status));
}

void silu_and_mul_out(at::Tensor& out, const at::Tensor& input, bool raw) {
  check(input, "input");
  check_like(out, input, "out");
  TORCH_CHECK(input.size(-1) % 2 == 0, "lathe_tuned: input's last dimension must hold two halves");
  const int64_t d = input.size(-1) / 2;
  check_columns(input, d);
  TORCH_CHECK(out.size(-1) == d && out.numel() * 2 == input.numel(),
              "lathe_tuned: out must have half of input's last dimension");
  if (input.numel() == 0)
    return;
  const c10::cuda::CUDAGuard guard(input.device());
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  const silu::problem problem{out.numel() / d, d};
  dispatch(input, [&](auto* type) {
    using Element = std::remove_pointer_t<decltype(type)>;
    auto* to = static_cast<Element*>(out.data_ptr());
    const auto* from = static_cast<const Element*>(input.data_ptr());
    check_launch(raw ? silu::launch_raw(problem, stream, to, from, static_cast<int>(d))
                     : silu::launch(problem, stream, to, from, static_cast<int>(d)));
  });
}

at::Tensor silu_and_mul(const at::Tensor& input) {
  TORCH_CHECK(input.dim() >= 1, "lathe_tuned: input must have at least one dimension");
  auto sizes = input.sizes().vec();
  sizes.back() /= 2;
  at::Tensor out = at::empty(sizes, input.options());
  silu_and_mul_out(out, input, false);
  return out;
}

void fused_add_rmsnorm_(at::Tensor& input, at::Tensor& residual, const at::Tensor& weight, double eps,
                        bool raw) {
  check(input, "input");
  check_like(residual, input, "residual");
  check_like(weight, input, "weight");
  const int64_t d = input.size(-1);
  check_columns(input, d);
  TORCH_CHECK(residual.sizes() == input.sizes(), "lathe_tuned: residual must have input's shape");
  TORCH_CHECK(weight.dim() == 1 && weight.size(0) == d,
              "lathe_tuned: weight must be a vector of input's last dimension");
  if (input.numel() == 0)
    return;
  const c10::cuda::CUDAGuard guard(input.device());
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  const norm::problem problem{input.numel() / d, d};
  const auto columns = static_cast<unsigned>(d);
  constexpr float weight_bias = 0; // production's variant with 1 + weight has 1 here
  dispatch(input, [&](auto* type) {
    using Element = std::remove_pointer_t<decltype(type)>;
    auto* x = static_cast<Element*>(input.data_ptr());
    auto* r = static_cast<Element*>(residual.data_ptr());
    const auto* w = static_cast<const Element*>(weight.data_ptr());
    const auto epsilon = static_cast<float>(eps);
    check_launch(
        raw ? norm::launch_raw(problem, stream, x, r, w, columns, columns, columns, weight_bias, epsilon)
            : norm::launch(problem, stream, x, r, w, columns, columns, columns, weight_bias, epsilon));
  });
}

// Shapes without data, for torch.compile.
at::Tensor silu_and_mul_meta(const at::Tensor& input) {
  auto sizes = input.sym_sizes().vec();
  TORCH_CHECK(!sizes.empty(), "lathe_tuned: input must have at least one dimension");
  sizes.back() = sizes.back() / 2;
  return at::empty_symint(sizes, input.options());
}
void silu_and_mul_out_meta(at::Tensor&, const at::Tensor&, bool) {}
void fused_add_rmsnorm_meta(at::Tensor&, at::Tensor&, const at::Tensor&, double, bool) {}

} // namespace

TORCH_LIBRARY(lathe_tuned, library) {
  library.def("silu_and_mul(Tensor input) -> Tensor");
  library.def("silu_and_mul_out(Tensor(a!) out, Tensor input, bool raw=False) -> ()");
  library.def("fused_add_rmsnorm_(Tensor(a!) input, Tensor(b!) residual, Tensor weight, float eps, bool "
              "raw=False) -> ()");
}

TORCH_LIBRARY_IMPL(lathe_tuned, CUDA, library) {
  library.impl("silu_and_mul", &silu_and_mul);
  library.impl("silu_and_mul_out", &silu_and_mul_out);
  library.impl("fused_add_rmsnorm_", &fused_add_rmsnorm_);
}

TORCH_LIBRARY_IMPL(lathe_tuned, Meta, library) {
  library.impl("silu_and_mul", &silu_and_mul_meta);
  library.impl("silu_and_mul_out", &silu_and_mul_out_meta);
  library.impl("fused_add_rmsnorm_", &fused_add_rmsnorm_meta);
}
