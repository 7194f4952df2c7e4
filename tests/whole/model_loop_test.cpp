// What a real language model planned and wrote for `lathe optimize`, judged again. The conversations were
// recorded through an exchange folder; docs/results/model_loop.md says what came of them on a GPU.
#include "tests/whole/command.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace lathe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Recorded {
  const char* name;
  const char* kernel;
  // What may stand against the first attempt: which sizes are run depends on how long they take on this
  // machine, and which configurations are looked at on the seed. Empty: it is accepted.
  std::vector<const char*> complaints;
};

constexpr const char* UNREACHED = "differential: code that ran at none of the sizes";
// Its largest blocks with most elements a thread: it states no launch bounds.
constexpr const char* TOO_MANY_REGISTERS = "resources: 77824 registers a block";

class ModelLoop : public CommandTest, public ::testing::WithParamInterface<Recorded> {};

TEST_P(ModelLoop, TheFirstAttemptEndsAsItDid) {
  const fs::path kernels = source_folder() / "sglang_kernels",
                 transcripts = source_folder() / "tests/refactor/agents/transcripts";
  const std::string name = GetParam().name;
  // What the conversation was about, where the kernel was changed since.
  const fs::path then = transcripts / (name + ".cu");
  const fs::path source = fs::exists(then) ? then : kernels / (name + ".cu");
  const fs::path transcript = transcripts / (name + ".1.json");
  const auto run = lathe({"optimize",
                          source.string(),
                          "--workload",
                          (kernels / (name + ".workload.json")).string(),
                          "--kernel",
                          GetParam().kernel,
                          "--name",
                          GetParam().name,
                          "--planner",
                          "model",
                          "--coder",
                          "model",
                          "--model",
                          "replay:" + transcript.string(),
                          "--queue",
                          "queue",
                          "--attempts",
                          "1",
                          "--guard-configurations",
                          "2",
                          "-o",
                          "run"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const auto text = read_file(folder() / "run" / "history.json");
  ASSERT_TRUE(text.ok());
  const Json history = Json::parse(*text);
  ASSERT_EQ(history["Tree"].size(), 2u);
  const Json& attempt = history["Tree"][1];
  const std::string complaint = attempt["Diagnostics"];
  const bool is_accepted = attempt["Stage"] == "awaited";
  if (!is_accepted) {
    EXPECT_EQ(attempt["Stage"], "refused") << complaint;
    EXPECT_TRUE(std::ranges::any_of(GetParam().complaints, [&](const char* known) {
      return complaint.find(known) != std::string::npos;
    })) << complaint;
  }
  EXPECT_EQ(attempt["Author"], "model");
  EXPECT_EQ(history["Ledger"]["ModelCalls"], 2) << "one plan and one text";
  const fs::path requests = folder() / "queue/requests";
  EXPECT_EQ(fs::exists(requests) ? std::distance(fs::directory_iterator(requests), {}) : 0,
            is_accepted ? 1 : 0);

  const Json recorded = Json::parse(*read_file(transcript));
  const fs::path made = folder() / "run/candidates" / attempt["Candidate"].get<std::string>() / "templates" /
                        GetParam().name / (std::string(GetParam().name) + ".cuh");
  const auto written = read_file(made);
  ASSERT_TRUE(written.ok()) << made;
  // Every knob of the answer is one of the template's parameters.
  const std::string answer = recorded["Turns"][1]["Answer"]["Text"];
  const std::size_t begin = answer.find("```json\n") + 8;
  const Json form = Json::parse(answer.substr(begin, answer.find("\n```", begin) - begin));
  ASSERT_FALSE(form["knobs"].empty());
  for (const Json& knob : form["knobs"])
    EXPECT_NE(written->find(knob["name"].get<std::string>()), std::string::npos) << knob["name"];
}

INSTANTIATE_TEST_SUITE_P(Recorded, ModelLoop,
                         ::testing::Values(Recorded{"rotary_embedding",
                                                    "rotary_embedding_kernel",
                                                    {UNREACHED, TOO_MANY_REGISTERS}},
                                           Recorded{"topk_softmax", "topk_softmax_kernel", {UNREACHED}},
                                           Recorded{"per_token_quant_fp8", "per_token_quant_fp8_kernel", {}}),
                         [](const auto& tested) { return std::string(tested.param.name); });

} // namespace
} // namespace lathe
