// The command line's part about language models: as author, and as macro policy.
#pragma once

#include "refactor/llm/llm.h"
#include "tuner/app/options.h"

#include <optional>
#include <string>

namespace lathe::refactor {

struct ModelOptions {
  std::string provider; // as make_provider() reads it; of a policy, as make_likelihood_provider() does
  llm::ProviderOptions limits;
  llm::Budget budget;
  int rounds = 4;
  double temperature = 0.2; // of a policy: of the softmax over its log-probabilities
  std::int64_t max_output_tokens = 16384;
  std::string transcript; // where it is kept; empty: beside the template, and nowhere for a replay
};

void add_model_options(CommandLine& line);
// Nothing without --model.
Result<std::optional<ModelOptions>> read_model_options(const CommandLine& line);

// Limits of a policy that is a model; the model itself is named by --policy.
void add_policy_model_options(CommandLine& line);
// Nothing where --policy names no model.
Result<std::optional<ModelOptions>> read_policy_model_options(const CommandLine& line);

} // namespace lathe::refactor
