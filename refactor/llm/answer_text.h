// What every provider demands of a text before it becomes an answer.
#pragma once

#include "refactor/llm/llm.h"

namespace lathe::refactor::llm {

// Fails where the text is empty, longer than ANSWER_LIMIT, no UTF-8, or holds control characters other than
// line ends and tabs. `who` names the provider in the error.
Result<std::string> accepted_text(std::string text, const std::string& who);

// One line of a foreign text for a message: control characters become blanks, at most `limit` bytes.
std::string excerpt(std::string_view text, std::size_t limit = 200);

} // namespace lathe::refactor::llm
