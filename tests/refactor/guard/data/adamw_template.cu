// One step of Adam with decay apart from the gradient.
template <int BLOCK, int ITEMS>
__global__ void adamw_kernel(float* __restrict__ p, float* __restrict__ m, float* __restrict__ v,
                             const float* __restrict__ g, const long long n, const float lr, const float beta1,
                             const float beta2, const float eps, const float decay, const float correction1,
                             const float correction2) {
  const long long begin = static_cast<long long>(blockIdx.x) * BLOCK * ITEMS + threadIdx.x;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const long long i = begin + static_cast<long long>(item) * BLOCK;
    if (i >= n)
      return;
    const float gradient = g[i];
    const float first = beta1 * m[i] + (1.f - beta1) * gradient;
    const float second = beta2 * v[i] + (1.f - beta2) * gradient * gradient;
    m[i] = first;
    v[i] = second;
    const float step = first / correction1 / (sqrtf(second / correction2) + eps);
    p[i] -= lr * (step + decay * p[i]);
  }
}
