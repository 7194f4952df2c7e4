#include "tests/tuner/report/report_testing.h"
#include "tuner/report/importance.h"
#include "tuner/report/svg.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <regex>
#include <set>

namespace lathe {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// The first fault in the nesting of elements; empty when every one that is opened is closed in order.
std::string nesting_fault(const std::string& html) {
  const std::set<std::string> empty_elements{"meta", "!doctype", "br"};
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1))
    if (!std::isalpha(static_cast<unsigned char>(html[at + 1])) && html[at + 1] != '/' && html[at + 1] != '!')
      return "a bare < at " + html.substr(at, 40);
  const std::regex tag(R"(<(/?)([!a-zA-Z][a-z0-9A-Z]*)([^<>]*)>)");
  for (std::sregex_iterator found(html.begin(), html.end(), tag), end; found != end; ++found) {
    const std::string name = (*found)[2], rest = (*found)[3];
    if (empty_elements.contains(name) || rest.ends_with("/"))
      continue;
    if ((*found)[1].length() == 0) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back()) + " at " +
             html.substr(static_cast<std::size_t>(found->position()), 80);
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

class Page : public ReportTest {};

TEST_F(Page, IsWellFormedWithUniqueIdentifiers) {
  const std::string html = report_html(report(false));
  EXPECT_EQ(nesting_fault(html), "");
  std::set<std::string> seen;
  const std::regex identifier(R"re( id="([^"]*)")re");
  for (std::sregex_iterator found(html.begin(), html.end(), identifier), end; found != end; ++found)
    EXPECT_TRUE(seen.insert((*found)[1]).second) << (*found)[1] << " is there twice";
  const std::regex reference(R"re((?:href="#|aria-labelledby=")([^" ]*))re");
  for (std::sregex_iterator found(html.begin(), html.end(), reference), end; found != end; ++found)
    EXPECT_TRUE(seen.contains((*found)[1])) << (*found)[1];
}

TEST_F(Page, RefersToNothingOutsideAndRunsNothing) {
  const std::string html = report_html(report(false));
  for (const char* word : {"<script", "http:", "https:", "src=", "@import", "url(", "onload"})
    EXPECT_THAT(html, Not(HasSubstr(word)));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt; &amp; not 2"));
}

TEST_F(Page, ShowsEveryProblemAndWhatIsMissing) {
  const std::string html = report_html(report(false));
  for (const char* words :
       {"f32 n=4096", "1.500", "1.490 – 1.510", "± 0.50 %", "13.33", "95 %", "not profiled",
        "no winner yet, 1 configurations tried", "The search has not ended", "blockDim.x, line 7", "Roofline",
        "only reported", "cannot be launched on this device", "computed something else than the raw kernel"})
    EXPECT_THAT(html, HasSubstr(words));
}

TEST_F(Page, WithoutASpecificationTheRooflineIsNamedAsMissing) {
  const std::string html = report_html(report(false, false));
  EXPECT_THAT(html, Not(HasSubstr("<figcaption>Roofline")));
  EXPECT_THAT(html, HasSubstr("name the specification&#39;s file instead of the kernel"));
}

TEST_F(Page, ShowsProfiledBottlenecks) {
  fill(false);
  StoredProfile raw;
  raw.profile.dram = 0.93;
  raw.profile.sm_active = 1;
  StoredProfile winner = raw;
  winner.knobs = KnobValues{integer(512), integer(8), integer(1)};
  winner.knob_names = {"BLOCK", "VEC", "UNROLL"};
  winner.profile.dram = 0.2;
  winner.profile.issue = 0.95;
  StoredProfile other = winner; // of a configuration that did not win
  other.knobs = KnobValues{integer(64), integer(1), integer(1)};
  other.profile.issue = 0.1;
  for (const StoredProfile& profile : {raw, winner, other})
    ASSERT_TRUE(store_->record_profile(key("f32 n=4096", false), profile).ok());
  const auto made = gather_report(*store_, {{"scale", spec()}});
  ASSERT_TRUE(made.ok());
  const std::string html = report_html(*made);
  EXPECT_THAT(html, HasSubstr("<b>" + std::string(to_string(find_bottleneck(raw.profile).kind)) + "</b>"));
  EXPECT_THAT(html, HasSubstr("DRAM 93 %"));
  const Json json = Json::parse(report_json(*made));
  EXPECT_EQ(json["Searches"][0]["RawProfile"]["Bottleneck"], "DRAM bandwidth");
  EXPECT_EQ(json["Searches"][0]["WinnerProfile"]["Counters"], Json::parse(profile_json(winner.profile)));
}

// Every time and every rate of a host report carries the name.
TEST_F(Page, HostTimesAreNamedEverywhere) {
  const std::string html = report_html(report(true));
  EXPECT_THAT(html, HasSubstr("Host-executor times: some or all numbers here were taken without a GPU"));
  const std::regex unit("(?:µs|GB/s|GFLOP/s)(.{0,26})");
  int times = 0;
  for (std::sregex_iterator found(html.begin(), html.end(), unit), end; found != end; ++found, ++times)
    EXPECT_THAT((*found)[1].str(), HasSubstr("(host executor)"))
        << html.substr(static_cast<std::size_t>(found->position()), 80);
  EXPECT_GT(times, 30);
}

TEST_F(Page, JsonHasASchemaTheWinnersAndTheSearches) {
  const Json json = Json::parse(report_json(report(false)));
  EXPECT_EQ(json["Schema"], 2);
  ASSERT_EQ(json["Results"].size(), 2u);
  ASSERT_EQ(json["Searches"].size(), 3u);
  const Json& search = json["Searches"][0];
  EXPECT_EQ(search["Evaluations"], 51);
  EXPECT_EQ(search["Bytes"], 2 * 4096 * 4);
  EXPECT_EQ(search["Improvements"].back()["BestMicroseconds"], made_up_time(512, 8));
  // Reasons that differ in numbers only are one.
  ASSERT_EQ(search["Skipped"].size(), 2u);
  EXPECT_EQ(search["Skipped"][0]["Count"], 2);
  EXPECT_EQ(search["Skipped"][0]["Outcome"], "resource_limit");
  EXPECT_THAT(search["Skipped"][0]["Example"].get<std::string>(), HasSubstr("BLOCK=1024 VEC=8 UNROLL=1"));
  EXPECT_GT(search["Importance"]["Knobs"]["BLOCK"], search["Importance"]["Knobs"]["UNROLL"]);
  EXPECT_TRUE(search["WinnerProfile"].is_null());
}

TEST_F(Page, TablesHoldTheWinners) {
  const Report made = report(true);
  const std::string csv = winners_csv(winners_of(made));
  EXPECT_THAT(csv, HasSubstr(R"x("scale","f32 n=4096",tune,"host executor (a CPU)",true,20.0000,)x"));
  EXPECT_THAT(winners_markdown(winners_of(made)), HasSubstr("host executor: not GPU times"));
}

TEST_F(Page, ShowsWhatOptimizeTriedWhyAndWhatItGave) {
  const auto node = [](int id, int parent, const char* rule, const char* stage, Json score) {
    return Json{{"Id", id},
                {"Parent", parent},
                {"Action", {{"Rule", rule}, {"Knobs", {"BLOCK"}}}},
                {"Reason", "because <of " + std::to_string(id) + ">"},
                {"Stage", stage},
                {"Diagnostics", "bounds: line 7"},
                {"Score", score},
                {"Configuration", score.is_null() ? "" : "BLOCK=64"}};
  };
  Json history{
      {"Schema", 1},
      {"Kernel", "scale"},
      {"Source", "scale.cu"},
      {"Device", "GPU"},
      {"Host", false},
      {"Ended", "the budget of 3 attempts is spent"},
      {"Best", 3},
      {"Ledger", {{"Attempts", 3}, {"DeviceSeconds", 12.0}, {"PolicyCalls", 3}, {"PolicyTokens", 900}}},
      {"Tree",
       {node(0, -1, "", "measured", 1.0), node(1, 0, "expose-block-size", "measured", 0.8),
        node(2, 0, "", "refused", nullptr), node(3, 1, "split-block", "measured", 0.5)}}};
  const TemporaryFolder run = std::move(*TemporaryFolder::create("attempts-test"));
  ASSERT_TRUE(write_file(run.path() / "history.json", history.dump()).ok());
  Report made = report(false);
  auto attempts = read_attempts(run.path());
  ASSERT_TRUE(attempts.ok()) << attempts.error().sentence();
  const std::string markdown = attempts_markdown(*attempts);
  EXPECT_THAT(markdown,
              HasSubstr("  - 1. expose-block-size(BLOCK): 1.250 times as fast as raw; why: because <of 1>\n"
                        "    - 3. split-block(BLOCK): **2.000 times as fast as raw**, the best"));
  EXPECT_THAT(markdown, HasSubstr("2. rewriting by a model: refused: bounds: line 7"));
  EXPECT_THAT(markdown, HasSubstr("3 calls of the policy model with 900 tokens"));
  EXPECT_THAT(markdown, HasSubstr("Raw / time of PyTorch: eager not measured, torch.compile not measured."));
  history["Baselines"] = {{"RawOverEager", 0.25}, {"RawOverCompile", nullptr}};
  ASSERT_TRUE(write_file(run.path() / "history.json", history.dump()).ok());
  attempts = read_attempts(run.path());
  ASSERT_TRUE(attempts.ok()) << attempts.error().sentence();
  made.attempts = std::move(*attempts);
  const std::string html = report_html(made);
  EXPECT_EQ(nesting_fault(html), "");
  for (const char* words :
       {"How scale was improved", "because &lt;of 3&gt;", "<b>best</b>", "Stopped: the budget",
        "Raw / time of PyTorch: eager 0.250, torch.compile not measured"})
    EXPECT_THAT(html, HasSubstr(words));
  for (const char* broken :
       {"", "[]", "{\"Schema\": 2}", "{\"Schema\": 1}", "{\"Schema\": 1, \"Kernel\": 7}"}) {
    ASSERT_TRUE(write_file(run.path() / "history.json", broken).ok());
    EXPECT_FALSE(read_attempts(run.path()).ok()) << broken;
  }
}

TEST_F(Page, UnknownKernelIsAnError) {
  const auto gathered = gather_report(*store_, {{"nothing", std::nullopt}});
  ASSERT_FALSE(gathered.ok());
  EXPECT_THAT(gathered.error().sentence(), HasSubstr("the store holds nothing of it"));
}

TEST_F(Page, WhatTheStoreHasIsReportedBesideWhatItLacks) {
  fill(false);
  const auto gathered = gather_report(*store_, {{"nothing", std::nullopt}, {"scale", spec()}});
  ASSERT_TRUE(gathered.ok()) << gathered.error().sentence();
  EXPECT_EQ(gathered->kernels.size(), 1u);
  ASSERT_EQ(gathered->missing.size(), 1u);
  EXPECT_THAT(gathered->missing[0].sentence(), HasSubstr("cannot report nothing"));
}

TEST(Numbers, KeepThreeDigits) {
  using report::short_number;
  EXPECT_EQ(short_number(1.0749), "1.07");
  EXPECT_EQ(short_number(86.42), "86.4");
  EXPECT_EQ(short_number(1450.4), "1450");
  EXPECT_EQ(short_number(0.9), "0.9");
  EXPECT_EQ(short_number(0), "0");
}

TEST(Scales, TicksLieInsideAndAreFew) {
  for (const auto& [low, high, logarithmic] :
       {std::tuple(0.9, 1.1, true), std::tuple(1.0, 5000.0, true), std::tuple(1e-3, 1e6, true),
        std::tuple(0.0, 117.0, false), std::tuple(3.0, 3.0, true)}) {
    const report::Scale scale(low, high, 0, 100, logarithmic);
    const std::vector<double> ticks = scale.ticks(5);
    EXPECT_GE(ticks.size(), 2u) << low << " " << high;
    EXPECT_LE(ticks.size(), 10u) << low << " " << high;
    for (const double tick : ticks) {
      EXPECT_GE(tick, scale.low() * 0.99 - 1e-9);
      EXPECT_LE(tick, scale.high() * 1.01);
    }
  }
}

} // namespace
} // namespace lathe
