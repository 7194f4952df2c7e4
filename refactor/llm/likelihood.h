// How likely a language model finds given texts behind a prompt: what makes a small model a policy over
// enumerated actions. The probability of a text is the product of its tokens' (teacher forcing), as in
// TWOSOME (arXiv 2401.14151) and MTMC (arXiv 2511.20100).
#pragma once

#include "refactor/llm/llm.h"

namespace lathe::refactor::llm {

// Servers normalise in single precision: the logarithm of a certain token's probability may come out this far
// above 0. What is further above is none.
inline constexpr double LOG_PROBABILITY_ROUNDING = 1e-4;

// A provider whose answers to requests with continuations are {"log_probabilities": [...]}. `text` is one of
//   openai:MODEL@URL  completions below URL that echo the prompt with its tokens' log-probabilities, as the
//                     servers of vLLM and SGLang do; key: OPENAI_API_KEY
//   command:COMMAND   run by /bin/sh: {"prompt": ..., "continuations": [...]} on its standard input, the
//                     answer on its standard output
//   replay:FILE       the answers of a transcript, in order
// Fails, as a usage error, where the text is none of them or names a transcript that cannot be read.
Result<std::unique_ptr<Provider>> make_likelihood_provider(std::string_view text,
                                                           const ProviderOptions& options = {});
// Whether the text names a kind of provider, such as "openai:...", rather than a file.
bool names_likelihood_provider(std::string_view text);

// The natural logarithm of each continuation's probability behind the prompt, in order; at most 0, finite.
// One question, whatever the number of continuations. Continuations should begin with a blank and the prompt
// end without one: tokenizers put the blank at the beginning of a word. Fails where the model does not
// answer, its budget is spent, or its answer is not as many such numbers.
Result<std::vector<double>> log_probabilities(Conversation& conversation, const std::string& role,
                                              const std::string& prompt,
                                              const std::vector<std::string>& continuations);

} // namespace lathe::refactor::llm
