// Resamples images of 8 bits a channel with bilinear weights of 8 bits; places outside of an image are its border's. Rows lie a pitch of
// bytes apart, images without a gap after each other. A thread a pixel of up to every 32nd image.
__global__ void __launch_bounds__(256) resize_kernel(unsigned char* __restrict__ dst, const unsigned char* __restrict__ src, const int images,
                                                     const int dst_height, const int dst_width, const int src_height, const int src_width,
                                                     const int channels, const long long dst_pitch, const long long src_pitch,
                                                     const float scale_x, const float scale_y, const float offset_x, const float offset_y) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= dst_width || y >= dst_height)
    return;
  const float u = fminf(fmaxf(fmaf(static_cast<float>(x) + 0.5f, scale_x, offset_x), 0.f), static_cast<float>(src_width - 1));
  const float v = fminf(fmaxf(fmaf(static_cast<float>(y) + 0.5f, scale_y, offset_y), 0.f), static_cast<float>(src_height - 1));
  const int left = min(static_cast<int>(u), src_width - 1), right = min(left + 1, src_width - 1);
  const int top = min(static_cast<int>(v), src_height - 1), bottom = min(top + 1, src_height - 1);
  const int share_x = __float2int_rn((u - static_cast<float>(left)) * 256.f);
  const int share_y = __float2int_rn((v - static_cast<float>(top)) * 256.f);
  for (int image = blockIdx.z; image < images; image += gridDim.z) {
    const unsigned char* above = src + (static_cast<long long>(image) * src_height + top) * src_pitch;
    const unsigned char* below = src + (static_cast<long long>(image) * src_height + bottom) * src_pitch;
    unsigned char* target = dst + (static_cast<long long>(image) * dst_height + y) * dst_pitch;
    for (int c = 0; c < channels; ++c) {
      const int upper = above[left * channels + c] * (256 - share_x) + above[right * channels + c] * share_x;
      const int lower = below[left * channels + c] * (256 - share_x) + below[right * channels + c] * share_x;
      target[x * channels + c] = static_cast<unsigned char>((upper * (256 - share_y) + lower * share_y + 32768) >> 16);
    }
  }
}
