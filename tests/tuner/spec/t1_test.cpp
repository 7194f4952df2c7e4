// Files of the community's T1 format and of constraint-space-1, as other tools write them.
#include "spec_testing.h"

namespace lathe {
namespace {

using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view t1_text = R"json({
  "General": {"BenchmarkName": "blur", "OutputFormat": "JSON"},
  "ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "block_x", "Type": "int", "Values": "[32 * i for i in range(1, 5)]", "Default": 32},
      {"Name": "tile", "Type": "int", "Values": "[1] + [2 * i for i in range(1, 3)]", "Default": [1]},
      {"Name": "radius", "Type": "int", "Values": "[3, 5]"},
      {"Name": "scale", "Type": "float", "Values": "[0.5, 1.0]", "Default": 0.75},
      {"Name": "method", "Type": "string", "Values": "['fast', 'exact']", "Default": "exact"}
    ],
    "Conditions": [
      {"Expression": "32 <= block_x * tile <= 256", "Parameters": ["block_x", "tile"]},
      {"Expression": "block_x / tile == 32 or not tile > 1 and radius in [3, 5]", "Parameters": ["block_x", "tiel"]}
    ]
  },
  "KernelSpecification": {
    "Language": "CUDA", "BenchmarkName": "blur", "KernelName": "blur_kernel", "KernelFile": "blur.cu",
    "CompilerOptions": ["-std=c++11"], "GlobalSizeType": "CUDA",
    "LocalSize": {"X": "block_x", "Y": "1", "Z": "1"},
    "GlobalSize": {"X": "4096", "Y": "1", "Z": "1"},
    "GridDivX": ["block_x", "tile"],
    "ProblemSize": [4096, 100], "SharedMemory": 0, "Stream": null,
    "Arguments": [
      {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "FillType": "Constant", "FillValue": 0.0, "Size": "ProblemSize[0]*ProblemSize[1]"},
      {"Name": "in", "Type": "float4", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random", "FillValue": 324.0, "Size": "ProblemSize[0] + max(radius) - 1"},
      {"Name": "filter", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "MemType": "Constant", "FillType": "Random", "Size": 25},
      {"Name": "steps", "Type": "int32", "MemoryType": "Scalar", "FillValue": 7},
      {"Name": "weight", "Type": "float", "MemoryType": "Scalar", "FillValue": 0.1}
    ]
  }
}
)json";

TEST_F(SpecTest, ReadsAT1File) {
  const TuningSpec spec = parse(t1_text);
  EXPECT_EQ(spec.name, "blur");
  ASSERT_EQ(spec.knobs.size(), 5u);
  EXPECT_EQ(spec.knobs[0].values.back(), Value{std::int64_t{128}});
  EXPECT_TRUE(spec.knobs[0].is_macro); // how T1's tools pass them
  EXPECT_EQ(spec.knobs[1].values.size(), 3u);
  EXPECT_EQ(spec.knobs[3].type, "real");
  EXPECT_EQ(spec.knobs[4].type, "string");
  EXPECT_EQ(*spec.knobs[4].default_value.evaluate({}), Value{std::string("exact")});
  ASSERT_EQ(spec.conditions.size(), 2u);
  EXPECT_EQ(spec.conditions[1].expression.dialect(), Dialect::python);
  EXPECT_EQ(spec.kernel.instance, "blur_kernel");
  EXPECT_THAT(spec.dimensions, ElementsAre("problem_size_x", "problem_size_y"));
  ASSERT_EQ(spec.arguments.size(), 4u);
  EXPECT_EQ(spec.arguments[0].fill.kind, Fill::Kind::zero);
  EXPECT_EQ(spec.arguments[1].fill.high, 324);
  EXPECT_TRUE(spec.reference.file.empty());
  EXPECT_THAT(spec.warnings,
              ElementsAre(HasSubstr("Conditions[1].Parameters[1]: there is no knob tiel: did you mean tile"),
                          HasSubstr("Arguments[2]: is no kernel parameter that Lathe can fill (filter)"),
                          HasSubstr("TuningParameters[3].Default: the default of scale (0.75"),
                          HasSubstr("blur.cu does not exist")));
}

// A T1 file with this one condition, over the integers bx and by.
std::string with_condition(const std::string& expression, const std::vector<std::string>& parameters) {
  json file = json::parse(t1_text);
  file["ConfigurationSpace"]["TuningParameters"] = json::parse(
      R"([{"Name": "bx", "Type": "int", "Values": "[1, 2, 4]"}, {"Name": "by", "Type": "int", "Values": "[1, 2, 4]"}])");
  file["ConfigurationSpace"]["Conditions"] = {{{"Expression", expression}, {"Parameters", parameters}}};
  file["KernelSpecification"]["LocalSize"]["X"] = "bx";
  file["KernelSpecification"].erase("GridDivX");
  file["KernelSpecification"].erase("Arguments");
  return file.dump();
}

TEST_F(SpecTest, LambdasOfAT1FileTakeItsParameters) {
  for (const auto& [expression, parameters] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"lambda bx, by: bx * 2 <= by", {"bx", "by"}},
           {"lambda by, bx: bx * 2 <= by", {}},
           {"lambda a, b: a * 2 <= b", {"bx", "by"}},
           {"lambda v: v[0] * 2 <= v[1]", {"bx", "by"}},
           {"lambda p: p['bx'] * 2 <= p[\"by\"]", {"bx", "by"}},
           {"lambda p: p.bx * 2 <= p.by", {"bx"}},
           {"p['bx'] * 2 <= p['by']", {"bx", "by"}}}) {
    const TuningSpec spec = parse(with_condition(expression, parameters));
    ASSERT_EQ(spec.conditions.size(), 1u) << expression;
    for (std::int64_t bx : {1, 2, 4})
      for (std::int64_t by : {1, 2, 4}) {
        const auto holds = spec.conditions[0].expression.evaluate_condition(
            [&](std::string_view name) { return std::optional<Value>(name == "bx" ? bx : by); });
        ASSERT_TRUE(holds.ok()) << expression;
        EXPECT_EQ(*holds, bx * 2 <= by) << expression;
      }
  }
  EXPECT_THAT(error_of(with_condition("lambda v: v[2] > 1", {"bx", "by"})),
              HasSubstr("column 13: \"v\" holds nothing"));
}

TEST_F(SpecTest, AT1FileCanBeBound) {
  const TuningSpec spec = parse(t1_text);
  const auto workload = bind_workload(spec, spec.problems[0], {}, {});
  ASSERT_TRUE(workload.ok()) << workload.error().sentence();
  EXPECT_EQ(workload->key(), "problem_size_x=4096 problem_size_y=100");
  EXPECT_EQ(workload->buffers[0].count, 409600u);
  EXPECT_EQ(workload->buffers[1].count, 4u * (4096 + 5 - 1));
  EXPECT_EQ(workload->parameters[2].value, Value{std::int64_t{7}});
  const KnobValues knobs = *default_knobs(*workload);
  EXPECT_EQ(knobs[2], Value{std::int64_t{3}}); // no default: the first value
  const auto launch = bind_launch(spec.kernel.launch, *workload, knobs);
  ASSERT_TRUE(launch.ok()) << launch.error().sentence();
  EXPECT_THAT(launch->grid, ElementsAre(128, 1, 1)); // the problem over block_x * tile
  EXPECT_THAT(launch->block, ElementsAre(32, 1, 1));
}

TEST_F(SpecTest, AGlobalSizeInThreadsIsDividedIntoBlocks) {
  json document = json::parse(t1_text);
  json& kernel = document["KernelSpecification"];
  kernel["GlobalSizeType"] = "OpenCL";
  kernel.erase("GridDivX");
  kernel["GlobalSize"]["X"] = "1000";
  const TuningSpec spec = parse(document.dump());
  const auto workload = bind_workload(spec, spec.problems[0], {}, {});
  const auto launch = bind_launch(spec.kernel.launch, *workload, *default_knobs(*workload));
  ASSERT_TRUE(launch.ok()) << launch.error().sentence();
  EXPECT_THAT(launch->grid, ElementsAre(32, 1, 1));
}

// The community's files name things that are not there; their spaces are good all the same.
TEST_F(SpecTest, FaultsThatOnlyStopARunAreWarningsInAT1File) {
  json document = json::parse(t1_text);
  document["KernelSpecification"]["LocalSize"]["X"] = "block_xx";
  document["KernelSpecification"]["Language"] = "OpenCL";
  document["KernelSpecification"]["Arguments"][3]["Type"] = "custom";
  const TuningSpec spec = parse(document.dump(1));
  EXPECT_THAT(spec.warnings,
              testing::Contains(HasSubstr("the name block_xx is unknown: did you mean block_x")));
  EXPECT_THAT(spec.warnings, testing::Contains(HasSubstr("Language: is OpenCL")));
  EXPECT_THAT(spec.warnings, testing::Contains(HasSubstr("'custom' is no dtype of Lathe")));
  EXPECT_EQ(spec.conditions.size(), 2u);
}

TEST_F(SpecTest, SizesThatCannotBeReadAreWarningsInAT1File) {
  json document = json::parse(t1_text);
  document["KernelSpecification"]["Arguments"][0]["Size"] = "args[0].size";
  document["KernelSpecification"]["LocalSize"]["Y"] = "block_x.size()";
  const TuningSpec spec = parse(document.dump(1));
  EXPECT_THAT(spec.warnings, testing::Contains(HasSubstr("Arguments[0].Size: ")));
  EXPECT_THAT(spec.warnings, testing::Contains(HasSubstr("LocalSize.Y: ")));
  EXPECT_FALSE(bind_workload(spec, spec.problems[0], {}, {}).ok());
}

TEST_F(SpecTest, OddValuesOfAT1FileAreTakenWithAWarning) {
  json document = json::parse(t1_text);
  json& parameters = document["ConfigurationSpace"]["TuningParameters"];
  parameters[0]["Values"] = "[32] + [32 * i for i in range(1, 5)]";
  parameters[2]["Values"] = "[3, 5.5]";
  const TuningSpec spec = parse(document.dump(1));
  EXPECT_EQ(spec.knobs[0].values.size(), 4u);
  EXPECT_EQ(spec.knobs[2].type, "real");
  EXPECT_THAT(spec.warnings, testing::Contains(HasSubstr("has the value 32 twice: it is taken once")));
  EXPECT_THAT(spec.warnings,
              testing::Contains(HasSubstr("has the value 5.5 where Type is int: Type is taken to be float")));
}

TEST_F(SpecTest, FaultsOfTheSpaceAreErrorsInAT1File) {
  json document = json::parse(t1_text);
  document["ConfigurationSpace"]["Conditions"][0]["Expression"] = "32 <= block_y * tile";
  EXPECT_THAT(error_of(document.dump()),
              HasSubstr("Conditions[0].Expression: the name block_y is unknown: did you mean block_x"));
  document["ConfigurationSpace"]["Conditions"][0]["Expression"] = "32 <= (tile";
  EXPECT_THAT(error_of(document.dump()), HasSubstr("Conditions[0].Expression: "));
  document = json::parse(t1_text);
  document["ConfigurationSpace"]["TuningParameters"][0]["Values"] = "[x for x in y]";
  EXPECT_THAT(error_of(document.dump()), HasSubstr("TuningParameters[0].Values: "));
}

TEST_F(SpecTest, ValuesMayBeAListOrAText) {
  json document = json::parse(t1_text);
  document["ConfigurationSpace"]["TuningParameters"][0]["Values"] = {32, 64, 96, 128};
  EXPECT_EQ(parse(document.dump()).knobs[0].values, parse(t1_text).knobs[0].values);
}

TEST_F(SpecTest, ReadsAConstraintSpace) {
  const TuningSpec spec = parse(R"({"format": "constraint-space-1", "name": "tiny",
    "parameters": [{"name": "bx", "values": [4, 1, 2]}, {"name": "by", "values": [4, 1, 2]}],
    "constraints": ["bx * by <= 4", "by == 1 || bx / 2 > 0"], "cartesian": 9, "valid": 4})");
  EXPECT_EQ(spec.name, "tiny");
  ASSERT_EQ(spec.knobs.size(), 2u);
  EXPECT_EQ(spec.knobs[0].values,
            (std::vector<Value>{Value{std::int64_t{4}}, Value{std::int64_t{1}}, Value{std::int64_t{2}}}));
  ASSERT_EQ(spec.conditions.size(), 2u);
  EXPECT_EQ(spec.conditions[1].expression.dialect(), Dialect::lathe);
  EXPECT_THAT(spec.warnings, IsEmpty()); // such a file has no defaults that could fail a constraint
}

TEST_F(SpecTest, FaultsOfAConstraintSpaceAreNamed) {
  const auto space = [](std::string_view parameters, std::string_view constraints) {
    return "{\"format\": \"constraint-space-1\",\n \"parameters\": " + std::string(parameters) +
           ",\n \"constraints\": " + std::string(constraints) + "}";
  };
  const std::string good = R"([{"name": "bx", "values": [1, 2]}])";
  EXPECT_EQ(error_of(space(good, "[]")), "");
  EXPECT_THAT(error_of(space(good, R"(["bx % 2 == 0", "by > 1"])")),
              HasSubstr("silu.json:3: constraints[1]: the name by is unknown: did you mean bx?"));
  EXPECT_THAT(error_of(space(good, R"(["bx % 0 == 0"])")), HasSubstr("divides by zero"));
  EXPECT_THAT(error_of(space(good, R"(["bx %"])")), HasSubstr("constraints[0]"));
  EXPECT_THAT(error_of(space(good, R"([7])")), HasSubstr("constraints[0]: is of the wrong type"));
  EXPECT_THAT(error_of(space(good, R"("bx")")), HasSubstr("constraints: is of the wrong type"));
  EXPECT_THAT(error_of(space("[]", "[]")), HasSubstr("parameters: is empty"));
  EXPECT_THAT(error_of(space(R"([{"name": "bx", "values": []}])", "[]")),
              HasSubstr("parameters[0].values: is empty"));
  EXPECT_THAT(error_of(space(R"([{"name": "bx", "values": [1, null]}])", "[]")),
              HasSubstr("parameters[0].values[1]"));
  EXPECT_THAT(error_of(space(R"([{"values": [1]}])", "[]")), HasSubstr("parameters[0].name: is missing"));
  EXPECT_THAT(error_of(space(R"([{"name": "bx", "values": [1]}, {"name": "bx", "values": [1]}])", "[]")),
              HasSubstr("parameters[1].name: the knob bx is there twice"));
  EXPECT_THAT(error_of("{\"format\": \"constraint-space-1\"}"), HasSubstr("parameters: is missing"));
}

} // namespace
} // namespace lathe
