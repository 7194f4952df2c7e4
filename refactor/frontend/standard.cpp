#include "refactor/frontend/standard.h"

#include <regex>

namespace lathe::refactor {

std::string standard_option(const std::string& text) {
  return text.find(CXX20_DEMAND) == std::string::npos ? "-std=c++17" : "-std=c++20";
}

bool is_of_newer_source(const std::string& message) {
  static const std::regex newer(
      R"(C\+\+2[0a]|c\+\+2[0a]|__cplusplus|in namespace '(cuda::)?std|)"
      R"('(requires|concept|consteval|constinit|char8_t|co_await|co_return|co_yield)'|)"
      R"('auto' not allowed in function prototype|lambda expression in an unevaluated operand|)"
      R"(expected concept name|expected function body after function declarator|at end of declaration list)");
  return std::regex_search(message, newer);
}

} // namespace lathe::refactor
