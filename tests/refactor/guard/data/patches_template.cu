// Patches of images as rows of a matrix, for a convolution in two dimensions by a product: a row for every place of the result, in it what
// lies under the kernel there, channel by channel, as halves; zeros where that is outside of the image. A thread has VEC neighbouring columns
// of PIXELS rows at a time. Where a row's patch begins is divided out for each row (ORIGIN 0), or for the first of a group, from where it is
// walked (1), or by one thread a row for the whole block (2). With INNER patches that lie inside as a whole are not asked column by column.
#include <cuda_fp16.h>

template <int VEC>
struct alignas(VEC * 2) Halves {
  __half at[VEC];
};

template <int BLOCK, int VEC, int PIXELS, int ORIGIN, int INNER>
__global__ void patches_kernel(__half* __restrict__ out, const float* __restrict__ x, const int images, const int channels, const int height, const int width,
                               const int out_height, const int out_width, const int kernel_height, const int kernel_width, const int stride, const int pad_y,
                               const int pad_x, const int dilation, const long long image_stride, const long long channel_stride) {
  constexpr int STAGED = ORIGIN == 2 ? PIXELS : 1;
  __shared__ int tops[STAGED], lefts[STAGED];
  __shared__ long long begins[STAGED];
  const int area = kernel_height * kernel_width, columns = channels * area;
  const int column = (blockIdx.x * BLOCK + threadIdx.x) * VEC;
  const bool is_there = column < columns;
  int down[VEC], right[VEC];
  long long plane[VEC];
  int channel = column / area, ky = column % area / kernel_width, kx = column % kernel_width;
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    down[v] = ky * dilation;
    right[v] = kx * dilation;
    plane[v] = channel * channel_stride;
    if (++kx == kernel_width) {
      kx = 0;
      if (++ky == kernel_height) {
        ky = 0;
        ++channel;
      }
    }
  }
  const int reach_y = (kernel_height - 1) * dilation, reach_x = (kernel_width - 1) * dilation;
  const long long pixels = static_cast<long long>(images) * out_height * out_width;
  for (long long first = static_cast<long long>(blockIdx.y) * PIXELS; first < pixels; first += static_cast<long long>(gridDim.y) * PIXELS) {
    if constexpr (ORIGIN == 2) {
      __syncthreads();
      if (threadIdx.x < PIXELS && first + threadIdx.x < pixels) {
        const long long pixel = first + threadIdx.x, line = pixel / out_width;
        lefts[threadIdx.x] = static_cast<int>(pixel % out_width) * stride - pad_x;
        tops[threadIdx.x] = static_cast<int>(line % out_height) * stride - pad_y;
        begins[threadIdx.x] = line / out_height * image_stride;
      }
      __syncthreads();
    }
    if (is_there) {
      int ox = 0, oy = 0;
      long long image = 0;
      if constexpr (ORIGIN == 1) {
        const long long line = first / out_width;
        ox = static_cast<int>(first % out_width);
        oy = static_cast<int>(line % out_height);
        image = line / out_height;
      }
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) {
        const long long pixel = first + p;
        if (pixel < pixels) {
          int top = 0, left = 0;
          long long begin = 0;
          if constexpr (ORIGIN == 2) {
            top = tops[p];
            left = lefts[p];
            begin = begins[p];
          } else {
            if constexpr (ORIGIN == 0) {
              const long long line = pixel / out_width;
              ox = static_cast<int>(pixel % out_width);
              oy = static_cast<int>(line % out_height);
              image = line / out_height;
            }
            top = oy * stride - pad_y;
            left = ox * stride - pad_x;
            begin = image * image_stride;
          }
          const bool whole = INNER && top >= 0 && left >= 0 && top + reach_y < height && left + reach_x < width;
          Halves<VEC> result;
#pragma unroll
          for (int v = 0; v < VEC; ++v) {
            const int iy = top + down[v], ix = left + right[v];
            float value = 0.f;
            if (whole || (iy >= 0 && iy < height && ix >= 0 && ix < width))
              value = x[begin + plane[v] + static_cast<long long>(iy) * width + ix];
            result.at[v] = __float2half_rn(value);
          }
          *reinterpret_cast<Halves<VEC>*>(out + pixel * columns + column) = result;
          if constexpr (ORIGIN == 1) {
            if (++ox == out_width) {
              ox = 0;
              if (++oy == out_height) {
                oy = 0;
                ++image;
              }
            }
          }
        }
      }
    }
  }
}
