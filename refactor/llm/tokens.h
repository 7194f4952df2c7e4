// How many tokens a text is taken for where nobody counts.
#pragma once

#include "refactor/llm/llm.h"

namespace lathe::refactor::llm {

// Three bytes a token: more than tokenizers need for code, so that a budget holds.
inline std::int64_t estimated_tokens(std::string_view text) {
  return static_cast<std::int64_t>((text.size() + 2) / 3);
}

inline std::int64_t estimated_tokens(const Request& request) {
  return estimated_tokens(request.system) + estimated_tokens(request.user);
}

} // namespace lathe::refactor::llm
