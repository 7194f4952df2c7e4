// How many tokens a text is taken for where nobody counts.
#pragma once

#include "refactor/llm/llm.h"

#include <algorithm>

namespace lathe::refactor::llm {

// Three bytes a token: more than tokenizers need for code, so that a budget holds.
inline std::int64_t estimated_tokens(std::string_view text) {
  return static_cast<std::int64_t>((text.size() + 2) / 3);
}

// Every continuation is read behind the prompt: so often the prompt counts.
inline std::int64_t estimated_tokens(const Request& request) {
  const auto readings = static_cast<std::int64_t>(std::max<std::size_t>(1, request.continuations.size()));
  std::int64_t tokens = readings * (estimated_tokens(request.system) + estimated_tokens(request.user));
  for (const std::string& continuation : request.continuations)
    tokens += estimated_tokens(continuation);
  return tokens;
}

} // namespace lathe::refactor::llm
