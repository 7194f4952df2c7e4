// Stand-in for the checks and logs of host libraries (glog and those that took over its macros), used only
// where their own headers are not found. What is told goes nowhere, and a condition that does not hold stops
// nothing: classes that a kernel needs have them in functions for both sides, where they do nothing on the
// device either.
#pragma once

namespace lathe_logging {

// What a message is written to.
struct Sink {
  template <class T> __host__ __device__ constexpr const Sink& operator<<(const T&) const { return *this; }
};
__host__ __device__ constexpr Sink lathe_checked(bool) {
  return {};
}
// What is only told where it holds.
__host__ __device__ constexpr Sink told_if(bool) {
  return {};
}

} // namespace lathe_logging

#ifndef CHECK
#define CHECK(condition) ::lathe_logging::lathe_checked(static_cast<bool>(condition))
#define CHECK_EQ(a, b) CHECK((a) == (b))
#define CHECK_NE(a, b) CHECK((a) != (b))
#define CHECK_LT(a, b) CHECK((a) < (b))
#define CHECK_LE(a, b) CHECK((a) <= (b))
#define CHECK_GT(a, b) CHECK((a) > (b))
#define CHECK_GE(a, b) CHECK((a) >= (b))
#define CHECK_NOTNULL(pointer) (pointer)
#endif
#ifndef PCHECK
#define PCHECK(condition) CHECK(condition)
#endif
#ifndef DCHECK
#define DCHECK(condition) CHECK(condition)
#define DCHECK_EQ(a, b) CHECK_EQ(a, b)
#define DCHECK_NE(a, b) CHECK_NE(a, b)
#define DCHECK_LT(a, b) CHECK_LT(a, b)
#define DCHECK_LE(a, b) CHECK_LE(a, b)
#define DCHECK_GT(a, b) CHECK_GT(a, b)
#define DCHECK_GE(a, b) CHECK_GE(a, b)
#endif
#ifndef LOG
#define LOG(severity) ::lathe_logging::Sink()
#define LOG_IF(severity, condition) ::lathe_logging::told_if(static_cast<bool>(condition))
#define LOG_EVERY_N(severity, n) ::lathe_logging::Sink()
#define LOG_FIRST_N(severity, n) ::lathe_logging::Sink()
#endif
#ifndef DLOG
#define DLOG(severity) ::lathe_logging::Sink()
#endif
#ifndef VLOG
#define VLOG(level) ::lathe_logging::Sink()
#define VLOG_IF(level, condition) ::lathe_logging::told_if(static_cast<bool>(condition))
#define VLOG_IS_ON(level) false
#endif
