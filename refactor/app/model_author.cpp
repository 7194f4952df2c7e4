#include "refactor/app/model_author.h"

#include "refactor/llm/apart.h"
#include "tuner/base/files.h"

#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

// Compiling and running a candidate may take long; for ever it may not.
constexpr double JUDGE_SECONDS = 1800;
constexpr std::string_view REPLAY = "replay:";

// A seed of each round's own, so that an answer is not fitted to the samples that refused the one before.
std::uint64_t round_seed(std::uint64_t seed, std::size_t round) {
  std::seed_seq mix{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                    static_cast<std::uint32_t>(round)};
  std::uint32_t words[2];
  mix.generate(std::begin(words), std::end(words));
  return (std::uint64_t{words[0]} << 32 | words[1]) | 1;
}

Result<std::uint64_t> base_seed(const ModelOptions& options, std::uint64_t given) {
  if (given != 0)
    return given;
  if (options.provider.starts_with(REPLAY)) {
    LATHE_TRY(const llm::Transcript transcript,
              llm::Transcript::read(options.provider.substr(REPLAY.size())));
    if (const auto seed = transcript.context.find("Seed"); seed != transcript.context.end())
      return std::strtoull(seed->second.c_str(), nullptr, 10);
  }
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

Result<Certificate> examine(const Candidate& candidate, const ModelWork& work, const Candidate& raw,
                            const Assemble& assemble, std::uint64_t seed) {
  LATHE_TRY(const TemporaryFolder folder, TemporaryFolder::create("model"));
  const OutputPaths paths = OutputPaths::under(folder.path(), work.name);
  LATHE_TRY(const TuningSpec spec, assemble(candidate, paths));
  LATHE_CHECK(write_file(paths.raw_file, raw.text));
  LATHE_CHECK(write_file(paths.template_file, candidate.text));
  // As a tuner will read it: what the specification's own checks refuse never reaches the guard.
  LATHE_CHECK(write_spec(spec, paths.spec_file));
  LATHE_TRY(const TuningSpec read, read_spec(paths.spec_file));
  GuardOptions guard = work.guard;
  guard.seed = seed;
  guard.run_refused = false;
  return judge_apart(read, guard);
}

} // namespace

Result<Certificate> judge_apart(const TuningSpec& spec, const GuardOptions& guard) {
  const auto told = llm::run_apart(
      [&] {
        const auto certificate = judge(spec, guard);
        nlohmann::json json;
        if (certificate.ok())
          json = to_json(*certificate);
        else
          json["Error"] = certificate.error().sentence();
        return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      },
      JUDGE_SECONDS);
  if (!told.ok())
    return Error{"the template could not be judged", told.error().why, ""};
  const auto json = nlohmann::json::parse(*told, nullptr, false);
  if (json.is_object() && json.contains("Error"))
    return Error{json["Error"].get<std::string>(), "", ""};
  return certificate_from_json(json);
}

Result<ModelResult> templatize_by_model(const ModelOptions& options, ModelWork work,
                                        const Assemble& assemble) {
  LATHE_TRY(auto provider, llm::make_provider(options.provider, options.limits));
  LATHE_TRY(const std::uint64_t seed, base_seed(options, work.guard.seed));
  const bool is_replay = options.provider.starts_with(REPLAY);
  fs::path keep_at = options.transcript;
  if (keep_at.empty() && !is_replay)
    keep_at = work.transcript_default;
  std::error_code unknown;
  if (is_replay && !keep_at.empty() &&
      fs::equivalent(keep_at, options.provider.substr(REPLAY.size()), unknown))
    return usage_error("--transcript", "it is the transcript that is replayed", "name another file");

  llm::Conversation conversation(std::move(provider), options.budget, keep_at);
  conversation.transcript().context = {{"Seed", std::to_string(seed)},
                                       {"Kernel", work.task.raw.kernel},
                                       {"SourceHash", work.source_hash},
                                       {"Architecture", work.task.architecture},
                                       {"LatheVersion", LATHE_VERSION}};
  work.task.rounds = options.rounds;
  work.task.temperature = options.temperature;
  work.task.max_output_tokens = options.max_output_tokens;
  std::size_t round = 0;
  const auto judged = [&](const Candidate& candidate) {
    return examine(candidate, work, work.task.raw, assemble, round_seed(seed, round));
  };
  const auto progress = [&](const std::string& line) {
    ++round;
    std::cerr << line << "\n";
  };
  auto authored = llm::author_template(conversation, work.task, judged, progress);
  if (!authored.ok()) {
    Error error = authored.error();
    if (!keep_at.empty() && !conversation.transcript().turns.empty())
      error.why += fmt::format(" ({}; transcript {})", conversation.ledger().summary(), keep_at.string());
    return error;
  }
  ModelResult result{std::move(authored->candidate), std::move(authored->certificate),
                     std::move(authored->notes)};
  result.certificate.author = {"model", authored->model, conversation.transcript().hash()};
  result.notes.push_back(fmt::format("written by the model {} ({} answer{}, {})", authored->model,
                                     authored->rounds.size(), authored->rounds.size() == 1 ? "" : "s",
                                     conversation.ledger().summary()));
  return result;
}

} // namespace lathe::refactor
