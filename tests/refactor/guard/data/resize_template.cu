// Resamples images of 8 bits a channel with bilinear weights of 8 bits. A block has TILE_X * PIXELS columns, whose sources it computes
// once into shared memory, and TILE_Y * ROWS rows; where WIDE, the four channels of a pixel move as one.
__device__ __forceinline__ int blend(const int a, const int b, const int c, const int d, const int share_x, const int share_y) {
  const int upper = a * (256 - share_x) + b * share_x;
  const int lower = c * (256 - share_x) + d * share_x;
  return (upper * (256 - share_y) + lower * share_y + 32768) >> 16;
}

template <int TILE_X, int TILE_Y, int PIXELS, int ROWS, int WIDE>
__global__ void __launch_bounds__(TILE_X * TILE_Y) resize_kernel(unsigned char* __restrict__ dst, const unsigned char* __restrict__ src, const int images,
                                                                 const int dst_height, const int dst_width, const int src_height, const int src_width,
                                                                 const int channels, const long long dst_pitch, const long long src_pitch,
                                                                 const float scale_x, const float scale_y, const float offset_x, const float offset_y) {
  constexpr int COLUMNS = TILE_X * PIXELS;
  __shared__ int lefts[COLUMNS];
  __shared__ int rights[COLUMNS];
  __shared__ int shares[COLUMNS];
  const int first_x = blockIdx.x * COLUMNS, first_y = blockIdx.y * (TILE_Y * ROWS) + threadIdx.y;
  for (int i = threadIdx.y * TILE_X + threadIdx.x; i < COLUMNS; i += TILE_X * TILE_Y) {
    const float u = fminf(fmaxf(fmaf(static_cast<float>(first_x + i) + 0.5f, scale_x, offset_x), 0.f), static_cast<float>(src_width - 1));
    const int left = min(static_cast<int>(u), src_width - 1);
    lefts[i] = left * channels;
    rights[i] = min(left + 1, src_width - 1) * channels;
    shares[i] = __float2int_rn((u - static_cast<float>(left)) * 256.f);
  }
  __syncthreads();
  for (int image = blockIdx.z; image < images; image += gridDim.z) {
    for (int r = 0; r < ROWS; ++r) {
      const int y = first_y + r * TILE_Y;
      if (y >= dst_height)
        break;
      const float v = fminf(fmaxf(fmaf(static_cast<float>(y) + 0.5f, scale_y, offset_y), 0.f), static_cast<float>(src_height - 1));
      const int top = min(static_cast<int>(v), src_height - 1), bottom = min(top + 1, src_height - 1);
      const int share_y = __float2int_rn((v - static_cast<float>(top)) * 256.f);
      const unsigned char* above = src + (static_cast<long long>(image) * src_height + top) * src_pitch;
      const unsigned char* below = src + (static_cast<long long>(image) * src_height + bottom) * src_pitch;
      unsigned char* target = dst + (static_cast<long long>(image) * dst_height + y) * dst_pitch;
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) {
        const int at = p * TILE_X + threadIdx.x, x = first_x + at;
        if (x < dst_width) {
          const int left = lefts[at], right = rights[at], share_x = shares[at];
          if constexpr (WIDE != 0) {
            const uchar4 a = *reinterpret_cast<const uchar4*>(above + left), b = *reinterpret_cast<const uchar4*>(above + right);
            const uchar4 c = *reinterpret_cast<const uchar4*>(below + left), d = *reinterpret_cast<const uchar4*>(below + right);
            uchar4 result;
            result.x = static_cast<unsigned char>(blend(a.x, b.x, c.x, d.x, share_x, share_y));
            result.y = static_cast<unsigned char>(blend(a.y, b.y, c.y, d.y, share_x, share_y));
            result.z = static_cast<unsigned char>(blend(a.z, b.z, c.z, d.z, share_x, share_y));
            result.w = static_cast<unsigned char>(blend(a.w, b.w, c.w, d.w, share_x, share_y));
            *reinterpret_cast<uchar4*>(target + x * channels) = result;
          } else {
            for (int c = 0; c < channels; ++c)
              target[x * channels + c] = static_cast<unsigned char>(
                  blend(above[left + c], above[right + c], below[left + c], below[right + c], share_x, share_y));
          }
        }
      }
    }
  }
}
