#include "tuner/app/progress.h"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace lathe {

std::string progress_line(const SessionProgress& progress) {
  std::string line = fmt::format("{}/{}", progress.evaluated, progress.planned);
  const double rate = progress.seconds > 0 ? progress.fresh / progress.seconds : 0;
  if (rate > 0)
    line += fmt::format("  {:.1f}/s", rate);
  if (progress.best_us > 0) {
    line += fmt::format("  best {:.2f} us", progress.best_us);
    if (progress.raw_us > 0)
      line += fmt::format("  {:.2f}x raw", progress.raw_us / progress.best_us);
    if (progress.copy_floor_us > 0)
      line += fmt::format("  {:.0f} % of copy", 100 * progress.copy_floor_us / progress.best_us);
  }
  if (progress.failed > 0)
    line += fmt::format("  {} failed", progress.failed);
  if (rate > 0 && progress.planned > progress.evaluated)
    line += fmt::format("  about {:.0f} s left", (progress.planned - progress.evaluated) / rate);
  return line;
}

ProgressLine::ProgressLine() : enabled_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::show(const std::string& text) {
  if (enabled_)
    std::fprintf(stderr, "\r\x1b[2K%s", text.c_str());
}

void ProgressLine::clear() {
  if (enabled_)
    std::fputs("\r\x1b[2K", stderr);
}

} // namespace lathe
