#include "refactor/llm/llm.h"
#include "refactor/llm/tokens.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace lathe::refactor::llm {
namespace {

constexpr double MILLION = 1e6;

double cost(const Price& price, double input_tokens, double output_tokens) {
  return (input_tokens * price.input + output_tokens * price.output) / MILLION;
}

Error spent(const std::string& of_what, const std::string& summary) {
  return {"the model is not asked again", "the budget of " + of_what + " is used up (" + summary + ")",
          "allow more, see lathe templatize --help"};
}

} // namespace

double Ledger::money() const {
  return budget_.price
             ? cost(*budget_.price, static_cast<double>(input_tokens_), static_cast<double>(output_tokens_))
             : 0;
}

std::string Ledger::summary() const {
  std::string text = fmt::format("{} call{}, {} tokens", calls_, calls_ == 1 ? "" : "s", tokens());
  if (budget_.price)
    text += fmt::format(", money {:.4f}", money());
  return text;
}

Result<Request> Ledger::admit(Request request) const {
  if (budget_.calls && calls_ >= *budget_.calls)
    return spent("calls", summary());
  const std::int64_t prompt = estimated_tokens(request);
  const std::int64_t fewest = std::min(FEWEST_OUTPUT_TOKENS, request.max_output_tokens);
  if (budget_.tokens)
    request.max_output_tokens = std::min(request.max_output_tokens, *budget_.tokens - tokens() - prompt);
  if (request.max_output_tokens < fewest)
    return spent("tokens", summary());
  if (!budget_.money)
    return request;
  if (!budget_.price)
    return usage_error("cannot keep a budget of money", "no price is given", "give the price of tokens");
  const double left = *budget_.money - money() - cost(*budget_.price, static_cast<double>(prompt), 0);
  if (budget_.price->output > 0) {
    const double affordable = std::floor(left * MILLION / budget_.price->output);
    if (affordable < static_cast<double>(request.max_output_tokens))
      request.max_output_tokens = static_cast<std::int64_t>(std::max(affordable, 0.0));
  }
  if (left < 0 || request.max_output_tokens < fewest)
    return spent("money", summary());
  return request;
}

void Ledger::charge(const Answer& answer) {
  ++calls_;
  input_tokens_ += answer.input_tokens;
  output_tokens_ += answer.output_tokens;
}

void Ledger::charge_failure(const Request& request) {
  ++calls_;
  input_tokens_ += estimated_tokens(request);
}

} // namespace lathe::refactor::llm
