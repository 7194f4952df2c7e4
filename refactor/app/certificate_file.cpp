#include "refactor/app/certificate_file.h"

#include <fmt/format.h>

namespace lathe::refactor {

std::string certificate_table(const Certificate& certificate) {
  std::string text;
  for (const CheckResult& check : certificate.checks)
    text += fmt::format("  {:<16} {:<10} {}\n", check.check, to_string(check.verdict), check.detail);
  text += fmt::format("  {:<16} {}\n", "verdict", certificate.accepted() ? "accepted" : "REFUSED");
  return text;
}

} // namespace lathe::refactor
