// The form of an answer: everything that is not of it is refused, and no text brings the reader down.
#include "refactor/llm/answer_form.h"

#include <gmock/gmock.h>

#include <random>

namespace lathe::refactor::llm {
namespace {

using testing::HasSubstr;

const std::string CUDA = "```cuda\n__global__ void k() {}\n```\n";
const std::string KNOBS = R"("knobs": [{"name": "N", "kind": "tile", "values": [1, 2], "default": 1}])";

std::string answer_with(const std::string& json, const std::string& cuda = CUDA) {
  return cuda + "```json\n" + json + "\n```\n";
}

std::string why(const std::string& answer) {
  const auto submission = parse_submission(answer);
  return submission.ok() ? "(accepted)" : submission.error().why;
}

TEST(AnswerForm, ReadsBothBlocksAndNoWordsAroundThem) {
  const auto submission =
      parse_submission("I would do this:\n" + CUDA + "and here is the rest\n```json\n" + R"json({
        "knobs": [{"name": "ROWS", "kind": "coarsen", "values": [1, 2, 8], "default": "16 / sizeof_T", "why": "rows"},
                  {"name": "PAD", "kind": "flag", "values": [0, 1], "default": 0}],
        "conditions": [{"expression": "ROWS < n", "why": "fits"}],
        "launch": {"grid": ["ceil_div(n, ROWS)", 2], "block": ["32"], "shared_bytes": "ROWS * 4"}})json" +
                       "\n```\nGood luck.\n");
  ASSERT_TRUE(submission.ok()) << submission.error().sentence();
  EXPECT_EQ(submission->text, "__global__ void k() {}\n");
  ASSERT_EQ(submission->knobs.size(), 2u);
  EXPECT_EQ(submission->knobs[0].kind, KnobKind::coarsen);
  EXPECT_EQ(submission->knobs[0].values, (std::vector<std::int64_t>{1, 2, 8}));
  EXPECT_EQ(submission->knobs[0].default_text, "16 / sizeof_T");
  EXPECT_EQ(submission->conditions.at(0).expression, "ROWS < n");
  EXPECT_EQ((*submission->grid)[1], "2");
  EXPECT_EQ((*submission->block)[2], "1");
  EXPECT_EQ(submission->shared_bytes, "ROWS * 4");
}

struct Malformed {
  const char* name;
  std::string answer;
  const char* why;
};

void PrintTo(const Malformed& malformed, std::ostream* stream) {
  *stream << malformed.name;
}

class AnswerFormRefuses : public testing::TestWithParam<Malformed> {};

TEST_P(AnswerFormRefuses, WithASentence) {
  EXPECT_THAT(why(GetParam().answer), HasSubstr(GetParam().why));
}

std::string knob(const std::string& fields) {
  return answer_with("{\"knobs\": [{" + fields + "}]}");
}

INSTANTIATE_TEST_SUITE_P(
    , AnswerFormRefuses,
    testing::Values(
        Malformed{"Nothing", "", "no ```cuda block"},
        Malformed{"WordsOnly", "I cannot help with that.", "no ```cuda block"},
        Malformed{"NoJson", CUDA, "no ```json block"},
        Malformed{"NoCuda", "```json\n{}\n```\n", "before the ```cuda"},
        Malformed{"TwoTemplates", CUDA + answer_with("{" + KNOBS + "}"), "two ```cuda blocks"},
        Malformed{"TwoSpecifications", answer_with("{" + KNOBS + "}") + "```json\n{}\n```\n",
                  "two ```json blocks"},
        Malformed{"AnotherLanguage", "```cpp\nint main() {}\n```\n", "a block '```cpp'"},
        Malformed{"AnyLanguage", "```\nhello\n```\n", "a block '```'"},
        Malformed{"NotClosed", CUDA + "```json\n{" + KNOBS + "}", "not closed"},
        Malformed{"Nested", "```cuda\n```json\n{}\n```\n", "inside another one"},
        Malformed{"LongTemplate", answer_with("{}", "```cuda\n" + std::string(300 << 10, 'x') + "\n```\n"),
                  "longer than 256 KiB"},
        Malformed{"LongSpecification", answer_with(std::string(70 << 10, ' ')), "longer than 64 KiB"},
        Malformed{"NoJsonInside", answer_with("knobs: none"), "is no JSON"},
        Malformed{"CutJson", answer_with("{" + KNOBS), "is no JSON"},
        Malformed{"List", answer_with("[]"), "is no object"},
        Malformed{"Deep", answer_with(std::string(2000, '[') + std::string(2000, ']')), "nested too deeply"},
        Malformed{"DuplicateKey", answer_with("{" + KNOBS + ", " + KNOBS + "}"), "'knobs' twice"},
        Malformed{"DuplicateInnerKey",
                  knob(R"("name": "N", "name": "M", "kind": "tile", "values": [1, 2], "default": 1)"),
                  "'name' twice"},
        Malformed{"SetsTolerance", answer_with("{" + KNOBS + R"(, "tolerance": {"bf16": 100}})"),
                  "the field 'tolerance'"},
        Malformed{"SetsArguments", answer_with("{" + KNOBS + R"(, "arguments": []})"),
                  "the field 'arguments'"},
        Malformed{"SetsProblems", answer_with("{" + KNOBS + R"(, "problems": [{"n": 1}]})"),
                  "the field 'problems'"},
        Malformed{"SetsReference", answer_with("{" + KNOBS + R"(, "reference": "k.cu"})"),
                  "the field 'reference'"},
        Malformed{"SaysAccepted", answer_with("{" + KNOBS + R"(, "Accepted": true})"),
                  "the field 'Accepted'"},
        Malformed{"NoKnobs", answer_with("{}"), "no list of 1 to 16 knobs"},
        Malformed{"EmptyKnobs", answer_with(R"({"knobs": []})"), "no list of 1 to 16 knobs"},
        Malformed{"KnobsAsObject", answer_with(R"({"knobs": {"N": 1}})"), "no list of 1 to 16 knobs"},
        Malformed{"KnobIsText", answer_with(R"({"knobs": ["N"]})"), "knob 1 is no object"},
        Malformed{"KnobTwice", answer_with(R"({"knobs": [
            {"name": "N", "kind": "tile", "values": [1, 2], "default": 1},
            {"name": "N", "kind": "tile", "values": [1, 2], "default": 1}]})"),
                  "two knobs are called N"},
        Malformed{"NoName", knob(R"("kind": "tile", "values": [1, 2], "default": 1)"), "lacks 'name'"},
        Malformed{"NameIsNoName",
                  knob(R"json("name": "N; system(1)", "kind": "tile", "values": [1, 2], "default": 1)json"),
                  "no usable name"},
        Malformed{"ReservedName", knob(R"("name": "_N", "kind": "tile", "values": [1, 2], "default": 1)"),
                  "no usable name"},
        Malformed{"UnknownKind", knob(R"("name": "N", "kind": "magic", "values": [1, 2], "default": 1)"),
                  "the kind 'magic'"},
        Malformed{"OneValue", knob(R"("name": "N", "kind": "tile", "values": [1], "default": 1)"),
                  "2 to 32 values"},
        Malformed{"ManyValues",
                  knob(R"("name": "N", "kind": "tile", "values": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,
            17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33], "default": 1)"),
                  "2 to 32 values"},
        Malformed{"NegativeValue", knob(R"("name": "N", "kind": "tile", "values": [1, -2], "default": 1)"),
                  "no whole number of 0 or more"},
        Malformed{"RealValue", knob(R"("name": "N", "kind": "tile", "values": [1, 2.5], "default": 1)"),
                  "no whole number of 0 or more"},
        Malformed{"TextValue", knob(R"("name": "N", "kind": "tile", "values": [1, "2"], "default": 1)"),
                  "no whole number of 0 or more"},
        Malformed{"HugeValue",
                  knob(R"("name": "N", "kind": "tile", "values": [1, 18446744073709551615], "default": 1)"),
                  "above 1048576"},
        Malformed{"ValueTwice", knob(R"("name": "N", "kind": "tile", "values": [1, 1], "default": 1)"),
                  "a value twice"},
        Malformed{"NoDefault", knob(R"("name": "N", "kind": "tile", "values": [1, 2])"), "lacks 'default'"},
        Malformed{"DefaultIsList", knob(R"("name": "N", "kind": "tile", "values": [1, 2], "default": [1])"),
                  "neither a text nor a whole number"},
        Malformed{"LongDefault",
                  knob(R"("name": "N", "kind": "tile", "values": [1, 2], "default": ")" +
                       std::string(500, '1') + "\""),
                  "longer than 400 characters"},
        Malformed{"SetsType",
                  knob(R"("name": "N", "type": "int", "kind": "tile", "values": [1, 2], "default": 1)"),
                  "the field 'type'"},
        Malformed{"ConditionsAsText", answer_with("{" + KNOBS + R"(, "conditions": "true"})"),
                  "no list of at most"},
        Malformed{"ConditionWithoutExpression",
                  answer_with("{" + KNOBS + R"(, "conditions": [{"why": "x"}]})"), "lacks 'expression'"},
        Malformed{"FourAxes", answer_with("{" + KNOBS + R"(, "launch": {"grid": [1, 1, 1, 1]}})"),
                  "one to three"},
        Malformed{"NoAxes", answer_with("{" + KNOBS + R"(, "launch": {"block": []}})"), "one to three"},
        Malformed{"AxisIsObject", answer_with("{" + KNOBS + R"(, "launch": {"block": [{}]}})"),
                  "neither a text"},
        Malformed{"LaunchHasArguments", answer_with("{" + KNOBS + R"(, "launch": {"arguments": []}})"),
                  "the field 'arguments'"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(AnswerForm, NoTextBringsTheReaderDown) {
  const std::string whole = answer_with("{" + KNOBS + R"(, "conditions": [{"expression": "N < 3"}], "launch":
      {"grid": ["n / N"]}})");
  ASSERT_EQ(why(whole), "(accepted)");
  for (std::size_t length = 0; length + 4 < whole.size(); ++length)
    EXPECT_NE(why(whole.substr(0, length)), "(accepted)") << length;
  std::mt19937 random(7);
  const std::string letters = "`{}[]\",:\\\n0-eE\xff\x01 jcN";
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = whole;
    for (int change = 0; change < 3; ++change) {
      const std::size_t at = random() % text.size();
      const char letter = letters[random() % letters.size()];
      if (random() % 2)
        text[at] = letter;
      else
        text.insert(at, 1 + random() % 3, letter);
    }
    const auto submission = parse_submission(text);
    if (submission.ok())
      EXPECT_FALSE(submission->knobs.empty());
    else
      EXPECT_FALSE(submission.error().why.empty());
  }
}

} // namespace
} // namespace lathe::refactor::llm
