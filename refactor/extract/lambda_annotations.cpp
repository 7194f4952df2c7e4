#include "refactor/extract/lambda_annotations.h"

#include <regex>

namespace lathe::refactor {

std::string without_lambda_annotations(const std::string& text) {
  // A list of captures, not an attribute's brackets ([[nodiscard]] __device__) nor an index.
  static const std::regex annotated(
      R"((^|[^\w\[\])])(\s*)(\[[^\[\]]*\]\s*(?:\([^()]*\)\s*)?)((?:__host__\s+|__device__\s+|__forceinline__\s+|__(?:host|device)__(?=[({]))+))");
  return std::regex_replace(text, annotated, "$1$2$3");
}

} // namespace lathe::refactor
