// Patches of images as rows of a matrix, for a convolution in two dimensions by a product: a row for every place of the result, in it what
// lies under the kernel there, channel by channel, as halves; zeros where that is outside of the image. A thread has a column.
#include <cuda_fp16.h>

__global__ void patches_kernel(__half* __restrict__ out, const float* __restrict__ x, const int images, const int channels, const int height, const int width,
                               const int out_height, const int out_width, const int kernel_height, const int kernel_width, const int stride, const int pad_y,
                               const int pad_x, const int dilation, const long long image_stride, const long long channel_stride) {
  const int area = kernel_height * kernel_width, columns = channels * area;
  const int column = blockIdx.x * 128 + threadIdx.x;
  if (column >= columns)
    return;
  const int channel = column / area, ky = column % area / kernel_width, kx = column % kernel_width;
  const long long pixels = static_cast<long long>(images) * out_height * out_width;
  for (long long pixel = blockIdx.y; pixel < pixels; pixel += gridDim.y) {
    const long long line = pixel / out_width, image = line / out_height;
    const int ox = static_cast<int>(pixel % out_width), oy = static_cast<int>(line % out_height);
    const int iy = oy * stride - pad_y + ky * dilation, ix = ox * stride - pad_x + kx * dilation;
    float value = 0.f;
    if (iy >= 0 && iy < height && ix >= 0 && ix < width)
      value = x[image * image_stride + channel * channel_stride + static_cast<long long>(iy) * width + ix];
    out[pixel * columns + column] = __float2half_rn(value);
  }
}
