#include "tuner/app/command.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace lathe {

int fail(const Error& error) {
  std::fprintf(stderr, "lathe: %s\n", error.sentence().c_str());
  return static_cast<int>(error.failure);
}

bool use_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return (!no_colour || !*no_colour) && ::isatty(STDERR_FILENO) == 1;
}

} // namespace lathe
