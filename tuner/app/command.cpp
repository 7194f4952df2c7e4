#include "tuner/app/command.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace lathe {

int fail(const Error& error) {
  std::fprintf(stderr, "lathe: %s\n", error.sentence().c_str());
  return static_cast<int>(error.failure);
}

Error defect(const std::exception& thrown) {
  return {"lathe stopped",
          std::string("it met something that it was not prepared for (") + thrown.what() + ")",
          "this is a defect of its own: report it with the command and its input"};
}

bool use_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return (!no_colour || !*no_colour) && ::isatty(STDERR_FILENO) == 1;
}

} // namespace lathe
