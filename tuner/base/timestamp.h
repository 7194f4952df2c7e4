// Points in time as records keep them.
#pragma once

#include <string>

namespace lathe {

enum class TimestampPrecision { seconds, milliseconds };

// The present moment by the system's clock in UTC as ISO 8601 text: 2025-01-02T03:04:05Z, with milliseconds
// 2025-01-02T03:04:05.678Z.
std::string utc_now(TimestampPrecision precision = TimestampPrecision::seconds);

} // namespace lathe
