#include "tuner/base/timestamp.h"

#include <chrono>
#include <cstdio>
#include <ctime>

namespace lathe {

std::string utc_now(TimestampPrecision precision) {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  if (precision == TimestampPrecision::seconds)
    return std::string(text) + "Z";
  char fraction[8];
  const auto of_second = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  std::snprintf(fraction, sizeof fraction, ".%03dZ", static_cast<int>(of_second));
  return std::string(text) + fraction;
}

} // namespace lathe
