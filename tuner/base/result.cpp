#include "tuner/base/result.h"

namespace lathe {

std::string Error::sentence() const {
  std::string text = what;
  for (const std::string* part : {&why, &remedy}) {
    if (part->empty())
      continue;
    if (!text.empty())
      text += ": ";
    text += *part;
  }
  return text;
}

} // namespace lathe
