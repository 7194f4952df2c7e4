// The progress line of `lathe tune`: on standard error, and only when that is a terminal.
#pragma once

#include "tuner/app/tuning_session.h"

#include <string>

namespace lathe {

// "37/200  12.3/s  best 86.1 us  1.71x raw  97 % of copy  3 failed  about 12 s left"
std::string progress_line(const SessionProgress& progress);

// Rewrites one terminal line; silent when standard error is no terminal.
class ProgressLine {
public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const std::string& text);
  void clear();

private:
  bool enabled_ = false;
};

} // namespace lathe
