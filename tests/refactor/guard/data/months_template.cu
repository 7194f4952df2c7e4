// Adds months to days. Days count from the first of January 1970 by the Gregorian calendar, which has neither a beginning nor an end here; the lowest
// integer is no day, and stays. The day of the month is kept, or cut to the month's last, which `cut` has a bit for; days beyond what an integer holds
// are the first or the last that is one. Weekdays count from Monday, 7 where there is no day. Inside, years begin in March, so that a leap day is a
// year's last. Numbers of months lie `step` apart. A thread has ITEMS times VEC neighbouring days; with TABLE the months' lengths are in shared memory.
constexpr int NO_DAY = -2147483647 - 1;

template <typename V, int COUNT>
struct alignas(COUNT * sizeof(V)) Lot {
  V at[COUNT];
};

__device__ __forceinline__ long long floor_div(const long long a, const long long b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

__device__ __forceinline__ bool is_leap(const long long year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

// The day that lies `add` months behind `day`, its weekday, and 1 in `bit` where it is cut.
template <int TABLE>
__device__ __forceinline__ int moved(const int day, const int add, const unsigned char* lasts, unsigned char& weekday, unsigned& bit) {
  weekday = 7;
  bit = 0u;
  if (day == NO_DAY)
    return NO_DAY;
  const long long from = static_cast<long long>(day) + 719468;
  const long long cycle = floor_div(from, 146097);
  int rest = static_cast<int>(from - cycle * 146097);
  const int century = min(rest / 36524, 3);
  rest -= century * 36524;
  const int four = rest / 1461;
  rest -= four * 1461;
  const int one = min(rest / 365, 3);
  rest -= one * 365;
  const int month = (5 * rest + 2) / 153;
  const int place = rest - (153 * month + 2) / 5;
  const long long total = (cycle * 400 + century * 100 + four * 4 + one) * 12 + month + add;
  const long long year = floor_div(total, 12);
  const int to_month = static_cast<int>(total - year * 12);
  int last;
  if constexpr (TABLE)
    last = lasts[to_month] + (to_month == 11 && is_leap(year + 1) ? 1 : 0);
  else
    last = to_month == 11 ? (is_leap(year + 1) ? 28 : 27) : 30 - (to_month % 5 & 1);
  bit = place > last ? 1u : 0u;
  const long long to_cycle = floor_div(year, 400);
  const int within = static_cast<int>(year - to_cycle * 400);
  const long long number = to_cycle * 146097 + within * 365 + within / 4 - within / 100 + (153 * to_month + 2) / 5 + min(place, last) - 719468;
  const long long held = max(min(number, 2147483647ll), -2147483647ll);
  weekday = static_cast<unsigned char>(held + 3 - floor_div(held + 3, 7) * 7);
  return static_cast<int>(held);
}

template <int BLOCK, int VEC, int ITEMS, int TABLE>
__global__ void months_kernel(int* __restrict__ out, unsigned char* __restrict__ weekdays, unsigned* __restrict__ cut, const int* __restrict__ days,
                              const int* __restrict__ added, const long long n, const long long step) {
  constexpr int SHARING = 32 / VEC; // threads that have a word of `cut` together
  __shared__ unsigned char lasts[12];
  if constexpr (TABLE) {
    if (threadIdx.x < 12)
      lasts[threadIdx.x] = static_cast<unsigned char>(threadIdx.x == 11 ? 27 : 30 - (threadIdx.x % 5 & 1));
    __syncthreads();
  }
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const long long i = ((static_cast<long long>(blockIdx.x) * ITEMS + item) * BLOCK + threadIdx.x) * VEC;
    unsigned bits = 0u;
    if (i + VEC <= n) {
      const Lot<int, VEC> day = *reinterpret_cast<const Lot<int, VEC>*>(days + i);
      Lot<int, VEC> result;
      Lot<unsigned char, VEC> weekday;
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
        unsigned bit;
        result.at[v] = moved<TABLE>(day.at[v], added[(i + v) * step], lasts, weekday.at[v], bit);
        bits |= bit << v;
      }
      *reinterpret_cast<Lot<int, VEC>*>(out + i) = result;
      *reinterpret_cast<Lot<unsigned char, VEC>*>(weekdays + i) = weekday;
    } else {
      for (int v = 0; v < VEC && i + v < n; ++v) {
        unsigned char weekday;
        unsigned bit;
        out[i + v] = moved<TABLE>(days[i + v], added[(i + v) * step], lasts, weekday, bit);
        weekdays[i + v] = weekday;
        bits |= bit << v;
      }
    }
    if constexpr (VEC == 1) {
      bits = __ballot_sync(0xffffffffu, bits != 0u);
    } else {
      bits <<= threadIdx.x % SHARING * VEC;
#pragma unroll
      for (int offset = SHARING / 2; offset > 0; offset /= 2)
        bits |= __shfl_xor_sync(0xffffffffu, bits, offset);
    }
    if (threadIdx.x % SHARING == 0 && i < n)
      cut[i / 32] = bits;
  }
}
