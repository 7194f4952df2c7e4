// The command line's part about a language model as author.
#pragma once

#include "refactor/llm/llm.h"
#include "tuner/app/options.h"

#include <optional>
#include <string>

namespace lathe::refactor {

struct ModelOptions {
  std::string provider; // as make_provider() reads it
  llm::ProviderOptions limits;
  llm::Budget budget;
  int rounds = 4;
  double temperature = 0.2;
  std::int64_t max_output_tokens = 16384;
  std::string transcript; // where it is kept; empty: beside the template, and nowhere for a replay
};

void add_model_options(CommandLine& line);
// Nothing without --model.
Result<std::optional<ModelOptions>> read_model_options(const CommandLine& line);

} // namespace lathe::refactor
