// `lathe spaces` and `lathe replay` on files as people have them: right, wrong, cut off and mixed up.
#include "tuner/app/command.h"
#include "tuner/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace lathe {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

struct Ran {
  int code = 0;
  std::string output, errors;
};

Ran run(int (*command)(const Arguments&), const Arguments& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran ran;
  ran.code = command(arguments);
  ran.output = testing::internal::GetCapturedStdout();
  ran.errors = testing::internal::GetCapturedStderr();
  return ran;
}

class RecordedCommands : public testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("recorded-commands");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
  }
  std::string path(const std::string& name) const { return (folder_->path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(write_file(path(name), text).ok());
    return path(name);
  }
  std::string space(const std::string& name, const std::string& parameters,
                    const std::string& constraints) const {
    return write(name, R"({"format": "constraint-space-1", "name": "x", "parameters": [)" + parameters +
                           R"(], "constraints": [)" + constraints + "]}");
  }

private:
  std::optional<TemporaryFolder> folder_;
};

// One line "lathe: what: why: what to do" that has the words, and nothing on standard output.
void expect_sentence(const Ran& ran, int code, const std::vector<std::string>& words) {
  EXPECT_EQ(ran.code, code) << ran.errors;
  EXPECT_EQ(ran.output, "");
  EXPECT_TRUE(ran.errors.starts_with("lathe: ")) << ran.errors;
  EXPECT_EQ(std::ranges::count(ran.errors, '\n'), 1) << ran.errors;
  for (const std::string& word : words)
    EXPECT_THAT(ran.errors, HasSubstr(word));
}

const std::string a_and_b = R"({"name": "a", "values": [1, 2, 3]}, {"name": "b", "values": [1, 2]})";

const std::string cache =
    R"({"device_name": "D", "kernel_name": "K", "tune_params_keys": ["mode", "scale", "on"],
 "tune_params": {"mode": ["x", "y"], "scale": [0.5, 1.5], "on": [true, false]}, "objective": "time",
 "cache": {"x,0.5,true": {"mode": "x", "scale": 0.5, "on": true, "time": 2.5},
           "y,0.5,true": {"mode": "y", "scale": 0.5, "on": true, "time": "RuntimeFailedConfig"},
           "y,1.5,false": {"mode": "y", "scale": 1.5, "on": false, "time": 1.25},
           "x,1.5,true": {"mode": "x", "scale": 1.5, "on": true, "time": 5}}})";

const std::string t4_of_another_space = R"({"results": [
 {"configuration": {"threads": 32, "tile": 1}, "measurements": [{"name": "time", "value": 3}], "objectives": ["time"]},
 {"configuration": {"threads": 64, "tile": 2}, "measurements": [{"name": "time", "value": 4}], "objectives": ["time"]}]})";

TEST_F(RecordedCommands, ContradictorySpaceNamesTheFileAndTheCondition) {
  const std::string file = space("none.json", a_and_b, R"("a > 2", "a * b < 3")");
  expect_sentence(run(spaces_command, {file}), 2, {"none.json", "no configuration is valid", "a * b < 3"});
}

TEST_F(RecordedCommands, EmptySpaces) {
  expect_sentence(run(spaces_command, {space("list.json", R"({"name": "a", "values": []})", "")}), 1,
                  {"list.json", "parameters[0].values", "empty"});
  expect_sentence(run(spaces_command, {space("knobs.json", "", "")}), 1, {"knobs.json", "at least one knob"});
}

TEST_F(RecordedCommands, DuplicateValuesAreTakenOnceAndSaid) {
  const std::string file = space("twice.json", R"({"name": "a", "values": [1, 2, 2, 2.0]})", "");
  const Ran ran = run(spaces_command, {file, "--json"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(Json::parse(ran.output)[0]["valid"], 2);
  EXPECT_THAT(ran.errors, HasSubstr("lathe: warning: "));
  EXPECT_THAT(ran.errors, HasSubstr("the value 2 twice"));
}

TEST_F(RecordedCommands, DuplicateKnob) {
  const std::string twice = R"({"name": "a", "values": [1]}, {"name": "a", "values": [2]})";
  expect_sentence(run(spaces_command, {space("s.json", twice, "")}), 1,
                  {"s.json", "the knob a is there twice"});
}

TEST_F(RecordedCommands, ConditionsOverUnknownKnobsAndOnesThatDoNotParse) {
  expect_sentence(run(spaces_command, {space("s.json", a_and_b, R"("a * q < 3")")}), 1,
                  {"s.json", "constraints[0]", "the name q is unknown"});
  expect_sentence(run(spaces_command, {space("s.json", a_and_b, R"("a * < 3")")}), 1,
                  {"s.json", "constraints[0]", "column 5"});
}

TEST_F(RecordedCommands, TextRealAndBooleanKnobs) {
  const std::string file = space("mixed.json",
                                 R"({"name": "a", "values": ["x", "y"]}, {"name": "b", "values": [0.5, 1.5]},
                {"name": "c", "values": [true, false]})",
                                 R"("a == \"x\" || b > 1", "!c || b < 1")");
  const Ran ran = run(spaces_command, {file, "--json"});
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_EQ(ran.errors, "");
  const Json json = Json::parse(ran.output)[0];
  EXPECT_EQ(json["cartesian"], 8);
  EXPECT_EQ(json["valid"], 4); // (x, 0.5, any), (x, 1.5, false), (y, 1.5, false)
  expect_sentence(run(spaces_command, {space("m.json", R"({"name": "a", "values": ["x", 2]})", "")}), 1,
                  {"m.json", "mixes strings and numbers"});
}

TEST_F(RecordedCommands, OneBadFileDoesNotHideTheOthers) {
  const std::string good = space("good.json", a_and_b, "");
  const Ran ran = run(spaces_command, {path("missing.json"), good, "--json"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.errors, HasSubstr("missing.json"));
  EXPECT_EQ(Json::parse(ran.output)[0]["valid"], 6);
}

TEST_F(RecordedCommands, TruncatedFiles) {
  const std::string cut = write("cut.json", cache.substr(0, cache.size() - 40));
  expect_sentence(run(replay_command, {cut}), 2, {"cut.json", "ends early"});
  expect_sentence(run(spaces_command, {cut}), 1, {"cut.json", "truncated"});
  expect_sentence(run(replay_command, {write("empty.json", "")}), 2, {"empty.json", "not JSON"});
}

TEST_F(RecordedCommands, ResultsOfAnotherSpaceAreNoPrior) {
  const std::string file = write("k.json", cache), other = write("other.json", t4_of_another_space);
  expect_sentence(run(replay_command, {file, "--prior", other}), 2, {"\"mode\"", "the same kernel"});
  expect_sentence(run(replay_command, {file, "--prior", path("no.json")}), 1, {"no.json"});
}

TEST_F(RecordedCommands, OptionsThatMakeNoSense) {
  const std::string file = write("k.json", cache);
  expect_sentence(run(replay_command, {}), 2, {"no file"});
  expect_sentence(run(replay_command, {file, "--technique", "magic"}), 2, {"magic", "ensemble"});
  for (const char* budget : {"0", "-3", "many"})
    expect_sentence(run(replay_command, {file, "--budget", budget}), 2, {"budget"});
  expect_sentence(run(replay_command, {write("t1.json", R"({"ConfigurationSpace": {}})")}), 2,
                  {"t1.json", "neither"});
}

TEST_F(RecordedCommands, ReplayWritesWhatItSays) {
  const std::string file = write("k.json", cache);
  const Ran ran = run(replay_command, {file, "--budget", "4", "--seeds", "3", "--json", "--csv",
                                       path("r.csv"), "--plot", path("r.svg")});
  ASSERT_EQ(ran.code, 0) << ran.errors;
  const Json json = Json::parse(ran.output);
  EXPECT_EQ(json["spaces"][0]["configurations"], 4);
  EXPECT_EQ(json["spaces"][0]["results"].back()["fraction_of_optimum"], 1);
  const auto csv = read_file(path("r.csv"));
  ASSERT_TRUE(csv.ok());
  EXPECT_EQ(std::ranges::count(*csv, '\n'), 1 + 3 * 4);
  EXPECT_THAT(*csv, HasSubstr(",4,"));
  const auto svg = read_file(path("r.svg"));
  ASSERT_TRUE(svg.ok());
  EXPECT_TRUE(svg->starts_with("<svg"));
  EXPECT_THAT(*svg, HasSubstr("K on D"));
}

TEST_F(RecordedCommands, AFileThatCannotBeWrittenLosesNoResults) {
  const std::string file = write("k.json", cache);
  Ran ran =
      run(replay_command, {file, "--budget", "2", "--seeds", "1", "--json", "--plot", "/proc/nowhere/r.svg"});
  EXPECT_EQ(Json::parse(ran.output)["spaces"].size(), 1u);
  ran.output.clear();
  expect_sentence(ran, 1, {"/proc/nowhere"});
}

} // namespace
} // namespace lathe
