// Adds months to days. Days count from the first of January 1970 by the Gregorian calendar, which has neither a beginning nor an end here; the lowest
// integer is no day, and stays. The day of the month is kept, or cut to the month's last, which `cut` has a bit for; days beyond what an integer holds
// are the first or the last that is one. Weekdays count from Monday, 7 where there is no day. Inside, years begin in March, so that a leap day is a
// year's last. Numbers of months lie `step` apart.
constexpr int NO_DAY = -2147483647 - 1;

__device__ __forceinline__ long long floor_div(const long long a, const long long b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

__device__ __forceinline__ bool is_leap(const long long year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

__global__ void months_kernel(int* __restrict__ out, unsigned char* __restrict__ weekdays, unsigned* __restrict__ cut, const int* __restrict__ days,
                              const int* __restrict__ added, const long long n, const long long step) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  bool is_cut = false;
  if (i < n) {
    const int day = days[i], add = added[i * step];
    int result = NO_DAY;
    unsigned char weekday = 7;
    if (day != NO_DAY) {
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
      const int last = to_month == 11 ? (is_leap(year + 1) ? 28 : 27) : 30 - (to_month % 5 & 1);
      is_cut = place > last;
      const long long to_cycle = floor_div(year, 400);
      const int within = static_cast<int>(year - to_cycle * 400);
      const long long number = to_cycle * 146097 + within * 365 + within / 4 - within / 100 + (153 * to_month + 2) / 5 + min(place, last) - 719468;
      const long long held = max(min(number, 2147483647ll), -2147483647ll);
      result = static_cast<int>(held);
      weekday = static_cast<unsigned char>(held + 3 - floor_div(held + 3, 7) * 7);
    }
    out[i] = result;
    weekdays[i] = weekday;
  }
  const unsigned word = __ballot_sync(0xffffffffu, is_cut);
  if (threadIdx.x % 32 == 0 && i < n)
    cut[i / 32] = word;
}
