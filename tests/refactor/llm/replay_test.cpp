// Conversations with a real model, replayed: its answers go through form, screening and guard again.
#include "tests/whole/command.h"

#include <nlohmann/json.hpp>

namespace lathe {
namespace {

struct Recorded {
  const char* name;
  const char* kernel;
  std::vector<std::string> rounds; // how each answer ends
};

void PrintTo(const Recorded& recorded, std::ostream* out) {
  *out << recorded.name;
}

class Replay : public CommandTest, public testing::WithParamInterface<Recorded> {};

TEST_P(Replay, EndsAsItShould) {
  const Recorded& recorded = GetParam();
  const std::filesystem::path tests = source_folder() / "tests/refactor/llm";
  const std::string name = recorded.name, kernel = recorded.kernel;
  const std::string transcript = (tests / "transcripts" / (name + ".json")).string();
  const auto result = lathe({"templatize", (tests / "kernels" / (name + ".cu")).string(), "--model",
                             "replay:" + transcript, "--transcript", "again.json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors << result.output;
  std::size_t at = 0;
  for (const std::string& round : recorded.rounds) {
    at = result.errors.find(round, at);
    ASSERT_NE(at, std::string::npos) << "no '" << round << "' in: " << result.errors;
  }
  const auto certificate =
      nlohmann::json::parse(*read_file(folder() / "templates" / kernel / "certificate.json"));
  EXPECT_TRUE(certificate.at("Accepted").get<bool>());
  EXPECT_EQ(certificate.at("Author").at("Kind"), "model");
  // The same answers, word for word.
  const auto before = nlohmann::json::parse(*read_file(transcript)),
             again = nlohmann::json::parse(*read_file(folder() / "again.json"));
  ASSERT_EQ(again.at("Turns").size(), recorded.rounds.size());
  for (std::size_t turn = 0; turn < recorded.rounds.size(); ++turn)
    EXPECT_EQ(again.at("Turns")[turn].at("Answer").at("Text"),
              before.at("Turns")[turn].at("Answer").at("Text"));
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, Replay,
    testing::Values(Recorded{"router_gemm", "router_gemm_kernel", {"answer 1 of 4 (Claude): accepted"}},
                    // Refused when they were recorded, for barriers that none of their configurations needs:
                    // a second answer follows in the transcripts.
                    Recorded{"layer_norm", "layer_norm_kernel", {"answer 1 of 4 (Claude): accepted"}},
                    Recorded{"gather_pages", "gather_pages_kernel", {"answer 1 of 4 (Claude): accepted"}}),
    [](const testing::TestParamInfo<Recorded>& recorded) { return std::string(recorded.param.name); });

} // namespace
} // namespace lathe
