#include "refactor/app/model_options.h"

#include "refactor/llm/likelihood.h"

namespace lathe::refactor {

namespace po = boost::program_options;

namespace {

// "--PREFIX-calls", "-tokens", "-money" and "-price".
Result<llm::Budget> read_budget(const CommandLine& line, const std::string& prefix) {
  llm::Budget budget;
  const auto count = [&](const std::string& name, std::optional<std::int64_t>& into) -> Status {
    if (!line.has(name.c_str()))
      return Done{};
    into = line.get<std::int64_t>(name.c_str());
    if (*into < 1)
      return usage_error("--" + name, "expected 1 or more");
    return Done{};
  };
  LATHE_CHECK(count(prefix + "-calls", budget.calls));
  LATHE_CHECK(count(prefix + "-tokens", budget.tokens));
  if (const std::string name = prefix + "-price"; line.has(name.c_str())) {
    const std::string text = line.get<std::string>(name.c_str());
    const std::size_t comma = text.find(',');
    char *input_end = nullptr, *output_end = nullptr;
    llm::Price price;
    price.input = std::strtod(text.c_str(), &input_end);
    if (comma != std::string::npos)
      price.output = std::strtod(text.c_str() + comma + 1, &output_end);
    if (comma == std::string::npos || input_end != text.c_str() + comma || comma == 0 ||
        *output_end != '\0' || comma + 1 == text.size() || !(price.input >= 0) || !(price.output >= 0))
      return usage_error("--" + name, "cannot read '" + text + "'", "expected INPUT,OUTPUT such as 3,15");
    budget.price = price;
  }
  if (const std::string name = prefix + "-money"; line.has(name.c_str())) {
    budget.money = line.get<double>(name.c_str());
    if (!(*budget.money > 0))
      return usage_error("--" + name, "expected more than 0");
    if (!budget.price)
      return usage_error("--" + name, "no price is known", "give --" + prefix + "-price INPUT,OUTPUT");
  }
  return budget;
}

} // namespace

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
  LATHE_TRY(options.budget, read_budget(line, "model"));
  if (line.has("transcript"))
    options.transcript = line.get<std::string>("transcript");
  return std::optional(std::move(options));
}

void add_policy_model_options(CommandLine& line) {
  line.options().add_options()("policy-calls", po::value<std::int64_t>(),
                               "questions to a policy that is a model at most")(
      "policy-tokens", po::value<std::int64_t>(), "tokens of such a policy at most")(
      "policy-money", po::value<double>(), "money for it at most, in the currency of --policy-price")(
      "policy-price", po::value<std::string>(), "price of a million of its tokens: INPUT,OUTPUT")(
      "policy-timeout", po::value<std::string>()->default_value("2m"),
      "how long its answer is waited for")("policy-temperature", po::value<double>()->default_value(1),
                                           "of the softmax over its log-probabilities of the legal actions")(
      "policy-transcript", po::value<std::string>(),
      "where its questions and answers are recorded (default: policy-N.json in the run's folder)");
}

Result<std::optional<ModelOptions>> read_policy_model_options(const CommandLine& line) {
  const bool is_model = line.has("policy") && llm::names_likelihood_provider(line.get<std::string>("policy"));
  if (!is_model) {
    for (const char* name :
         {"policy-calls", "policy-tokens", "policy-money", "policy-price", "policy-transcript"})
      if (line.has(name))
        return usage_error(std::string("--") + name, "--policy names no language model",
                           "give it as openai:MODEL@URL, command:COMMAND or replay:TRANSCRIPT.json");
    return std::optional<ModelOptions>();
  }
  ModelOptions options;
  options.provider = line.get<std::string>("policy");
  options.temperature = line.get<double>("policy-temperature");
  if (!(options.temperature > 0 && options.temperature <= 100))
    return usage_error("--policy-temperature", "expected more than 0, at most 100");
  LATHE_TRY(options.limits.timeout_s, parse_duration(line.get<std::string>("policy-timeout")));
  LATHE_TRY(options.budget, read_budget(line, "policy"));
  if (line.has("policy-transcript"))
    options.transcript = line.get<std::string>("policy-transcript");
  return std::optional(std::move(options));
}

} // namespace lathe::refactor
