// The probability of a continuation from the tokens of an echoed prompt.
#pragma once

#include "tuner/base/result.h"

#include <string>
#include <vector>

namespace lathe::refactor::llm {

// What a server echoes of prompt and continuation, with at most one token generated behind them.
struct EchoedTokens {
  std::vector<std::string> texts;
  std::vector<double> log_probabilities; // natural; NaN where the server gives none, as for the first token
};

// ln P(continuation | prompt) of each continuation: the sum over its tokens. Where a token straddles the
// border, every sum begins at the last place before it at which a token begins in all of them: the prompt's
// end that is counted then has the same probability in all, so that their ratios are right. Blanks are not
// compared, because tokenizers decode them differently. Fails where a text is not what was asked, where
// tokens do not meet near the border, or where a token has no number.
Result<std::vector<double>> continuation_sums(const std::string& prompt,
                                              const std::vector<std::string>& continuations,
                                              const std::vector<EchoedTokens>& echoed);

} // namespace lathe::refactor::llm
