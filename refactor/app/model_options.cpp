#include "refactor/app/model_options.h"

namespace lathe::refactor {

namespace po = boost::program_options;

void add_model_options(CommandLine& line) {
  line.options().add_options()(
      "model", po::value<std::string>(),
      "let a language model write the template instead of the rules: openai:MODEL@URL, anthropic:MODEL, "
      "command:COMMAND, exchange:FOLDER or replay:TRANSCRIPT.json (docs/model.md)")(
      "model-rounds", po::value<int>()->default_value(4),
      "answers that are judged, each with the complaints about the one before")(
      "model-calls", po::value<std::int64_t>(), "questions asked at most")(
      "model-tokens", po::value<std::int64_t>(), "tokens spent at most, input and output together")(
      "model-money", po::value<double>(), "money spent at most, in the currency of --model-price")(
      "model-price", po::value<std::string>(), "price of a million tokens: INPUT,OUTPUT")(
      "model-timeout", po::value<std::string>()->default_value("10m"), "how long one answer is waited for")(
      "model-answer", po::value<std::int64_t>()->default_value(16384), "tokens of one answer at most")(
      "model-temperature", po::value<double>()->default_value(0.2), "of the model's sampling")(
      "transcript", po::value<std::string>(),
      "where the conversation is recorded (default: transcript.json beside the template)");
}

Result<std::optional<ModelOptions>> read_model_options(const CommandLine& line) {
  if (!line.has("model")) {
    for (const char* name : {"model-calls", "model-tokens", "model-money", "model-price", "transcript"})
      if (line.has(name))
        return usage_error(std::string("--") + name, "it needs --model", "say which model to ask");
    return std::optional<ModelOptions>();
  }
  ModelOptions options;
  options.provider = line.get<std::string>("model");
  options.rounds = line.get<int>("model-rounds");
  if (options.rounds < 1 || options.rounds > 100)
    return usage_error("--model-rounds", "expected 1 to 100");
  options.temperature = line.get<double>("model-temperature");
  if (!(options.temperature >= 0 && options.temperature <= 2))
    return usage_error("--model-temperature", "expected 0 to 2");
  options.max_output_tokens = line.get<std::int64_t>("model-answer");
  if (options.max_output_tokens < llm::Ledger::FEWEST_OUTPUT_TOKENS)
    return usage_error("--model-answer", "expected 1024 or more");
  LATHE_TRY(options.limits.timeout_s, parse_duration(line.get<std::string>("model-timeout")));
  const auto count = [&](const char* name, std::optional<std::int64_t>& into) -> Status {
    if (!line.has(name))
      return Done{};
    into = line.get<std::int64_t>(name);
    if (*into < 1)
      return usage_error(std::string("--") + name, "expected 1 or more");
    return Done{};
  };
  LATHE_CHECK(count("model-calls", options.budget.calls));
  LATHE_CHECK(count("model-tokens", options.budget.tokens));
  if (line.has("model-price")) {
    const std::string text = line.get<std::string>("model-price");
    const std::size_t comma = text.find(',');
    char *input_end = nullptr, *output_end = nullptr;
    llm::Price price;
    price.input = std::strtod(text.c_str(), &input_end);
    if (comma != std::string::npos)
      price.output = std::strtod(text.c_str() + comma + 1, &output_end);
    if (comma == std::string::npos || input_end != text.c_str() + comma || comma == 0 ||
        *output_end != '\0' || comma + 1 == text.size() || !(price.input >= 0) || !(price.output >= 0))
      return usage_error("--model-price", "cannot read '" + text + "'", "expected INPUT,OUTPUT such as 3,15");
    options.budget.price = price;
  }
  if (line.has("model-money")) {
    options.budget.money = line.get<double>("model-money");
    if (!(*options.budget.money > 0))
      return usage_error("--model-money", "expected more than 0");
    if (!options.budget.price)
      return usage_error("--model-money", "no price is known", "give --model-price INPUT,OUTPUT");
  }
  if (line.has("transcript"))
    options.transcript = line.get<std::string>("transcript");
  return std::optional(std::move(options));
}

} // namespace lathe::refactor
