// The words that a model gets.
#pragma once

#include "refactor/llm/author.h"

namespace lathe::refactor::llm {

// A refused answer, to be mended.
struct Refused {
  std::string text;       // the answer as it came
  std::string complaints; // of the form, the screening or the guard
};

// The standing orders: the work, the rules of the guard, the form of the answer.
std::string author_orders();
// The kernel with its facts; behind the first round the last answer and what was wrong with it.
std::string author_question(const AuthorTask& task, int round, const Refused* last);

// `text` as data: between two lines with a mark that does not occur in it.
std::string fenced(const std::string& title, const std::string& text);

} // namespace lathe::refactor::llm
