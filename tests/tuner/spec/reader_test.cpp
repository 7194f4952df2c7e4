#include "spec_testing.h"

namespace lathe {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(SpecTest, ReadsEveryField) {
  const TuningSpec spec = sample();
  EXPECT_THAT(spec.warnings, IsEmpty());
  EXPECT_EQ(spec.name, "silu_and_mul");
  EXPECT_EQ(spec.path, path_);
  EXPECT_THAT(spec.dimensions, ElementsAre("n", "d"));
  ASSERT_EQ(spec.types.size(), 1u);
  EXPECT_THAT(spec.types[0].dtypes, ElementsAre("bf16", "f16", "f32"));
  ASSERT_EQ(spec.knobs.size(), 4u);
  EXPECT_EQ(spec.knobs[0].kind, KnobKind::block);
  EXPECT_EQ(spec.knobs[0].type, "unsigned");
  EXPECT_EQ(spec.knobs[0].default_value.text(), "min(d / (16 / sizeof_T), 1024)");
  EXPECT_EQ(spec.knobs[0].why, "the launcher's block");
  EXPECT_EQ(spec.knobs[0].values.size(), 5u);
  EXPECT_EQ(spec.knobs[2].values, (std::vector<Value>{Value{false}, Value{true}}));
  EXPECT_FALSE(spec.knobs[2].is_macro);
  EXPECT_TRUE(spec.knobs[3].is_macro);
  EXPECT_EQ(spec.knobs[3].values.back(), Value{std::int64_t{4}});
  ASSERT_EQ(spec.conditions.size(), 3u);
  EXPECT_EQ(spec.conditions[0].why, "no wider access");
  EXPECT_EQ(spec.kernel.file, folder_->path() / "templates/silu_and_mul.cuh");
  EXPECT_EQ(spec.kernel.instance, "act_and_mul_kernel<{T}, {BLOCK}, {VEC}, {STREAM}>");
  EXPECT_THAT(spec.kernel.compile_options, ElementsAre("-std=c++17"));
  EXPECT_EQ(spec.kernel.launch.grid[0].text(), "n");
  EXPECT_EQ(spec.kernel.launch.grid[1].text(), "1");
  EXPECT_EQ(spec.kernel.launch.shared_bytes.text(), "BLOCK * sizeof_T");
  ASSERT_EQ(spec.arguments.size(), 6u);
  EXPECT_EQ(spec.arguments[0].direction, Direction::out);
  EXPECT_EQ(spec.arguments[1].fill.kind, Fill::Kind::normal);
  EXPECT_EQ(spec.arguments[1].fill.mean, 0.5);
  EXPECT_EQ(spec.arguments[1].fill.spread, 2);
  EXPECT_EQ(spec.arguments[2].direction, Direction::in);
  EXPECT_EQ(spec.arguments[2].fill.integer_high.text(), "n - 1");
  EXPECT_EQ(spec.arguments[3].direction, Direction::inout);
  EXPECT_EQ(spec.arguments[3].fill.low, -2);
  EXPECT_FALSE(spec.arguments[4].is_buffer);
  EXPECT_EQ(spec.arguments[4].value.text(), "d");
  ASSERT_EQ(spec.problems.size(), 3u);
  EXPECT_EQ(spec.problems[0].label, "n=1 d=4096");
  EXPECT_EQ(spec.problems[1].role, ProblemRole::select);
  EXPECT_EQ(spec.problems[1].label, "decode");
  EXPECT_EQ(spec.problems[2].role, ProblemRole::report);
  EXPECT_EQ(spec.reference.file, folder_->path() / "kernels/silu_and_mul.cu");
  EXPECT_EQ(spec.cpu_reference, "silu_and_mul");
  EXPECT_EQ(spec.tolerances.at("bf16").relative, 0.01);
  EXPECT_EQ(spec.cost.operations.text(), "8.0 * n * d");
  EXPECT_EQ(spec.provenance.certificate, "x.json");
}

struct Fault {
  const char* name;
  const char* pointer; // what is replaced (or removed, when the value is null)
  const char* value;
  const char* sentence; // part of the error
};

void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.name;
}

class FaultTest : public SpecTest, public testing::WithParamInterface<Fault> {};

// One change to a good file: the error names the file, the changed line, the field and what to do.
TEST_P(FaultTest, IsNamedWithItsLineAndRemedy) {
  const Fault& fault = GetParam();
  json document = json::parse(sample_text);
  const json::json_pointer pointer(fault.pointer);
  if (const json value = json::parse(fault.value); value.is_null())
    document.at(pointer.parent_pointer()).erase(pointer.back());
  else
    document[pointer] = value;
  const std::string error = error_of(document.dump(1));
  EXPECT_THAT(error, HasSubstr(fault.sentence));
  EXPECT_THAT(error, testing::MatchesRegex(
                         "silu\\.json:[0-9]+(: [A-Za-z0-9_.]+(\\[[0-9]+\\][A-Za-z0-9_.]*)*)?: .*: .*"));
}

INSTANTIATE_TEST_SUITE_P(
    , FaultTest,
    testing::Values(
        Fault{"EmptyValues", "/ConfigurationSpace/TuningParameters/1/Values", "[]",
              "TuningParameters[1].Values: is empty: give at least one value"},
        Fault{"EmptyValuesText", "/ConfigurationSpace/TuningParameters/1/Values", "\"[i for i in range(0)]\"",
              "TuningParameters[1].Values: is empty"},
        Fault{"ValuesSyntax", "/ConfigurationSpace/TuningParameters/1/Values", "\"[1, 2\"",
              "TuningParameters[1].Values: expression \"[1, 2\""},
        Fault{"ValuesOfAnotherType", "/ConfigurationSpace/TuningParameters/1/Values", "7",
              "Values: is an integer: write the knob's values, a list"},
        Fault{"ValuesHoldAnObject", "/ConfigurationSpace/TuningParameters/1/Values", "[1, {}]",
              "Values[1]: is an object: write a number, a string"},
        Fault{"SizeOfAKnobOfManyValues", "/Lathe/Knobs/VEC/Size", "\"d\"",
              "Knobs.VEC.Size: the knob has other values than 0 and 1: give it the values [0, 1]"},
        Fault{"SizeOverAKnob", "/Lathe/Knobs/VEC/Size", "\"BLOCK\"",
              "Knobs.VEC.Size: the knob has other values than 0 and 1"},
        Fault{"ValuesTwice", "/ConfigurationSpace/TuningParameters/1/Values", "[4, 2, 4]",
              "the value 4 twice"},
        Fault{"ValuesMixed", "/ConfigurationSpace/TuningParameters/1/Values", "[4, \"x\"]",
              "mixes strings and numbers"},
        Fault{"ValuesTooLarge", "/ConfigurationSpace/TuningParameters/1/Values", "[18446744073709551615]",
              "does not fit 64 bits"},
        Fault{"UnknownT1Type", "/ConfigurationSpace/TuningParameters/1/Type", "\"integer\"",
              "'integer' is not known here"},
        Fault{"NegativeUnsigned", "/ConfigurationSpace/TuningParameters/3/Values", "[-1, 1]",
              "the negative value -1 where Type is uint"},
        Fault{"KnobTwice", "/ConfigurationSpace/TuningParameters/1/Name", "\"BLOCK\"",
              "TuningParameters[1].Name: the knob BLOCK is there twice: remove or rename"},
        Fault{"KnobName", "/ConfigurationSpace/TuningParameters/1/Name", "\"block size\"",
              "is no identifier"},
        Fault{"NoValues", "/ConfigurationSpace/TuningParameters/1/Values", "null",
              "has no Values: add the knob's values"},
        Fault{"NoDefault", "/ConfigurationSpace/TuningParameters/1/Default", "null",
              "has no Default: add Default"},
        Fault{"DefaultNotListed", "/ConfigurationSpace/TuningParameters/1/Default", "3",
              "TuningParameters[1].Default: the default of VEC (3 for n=1 d=4096 T=bf16) is not among its "
              "values"},
        Fault{"DefaultExpressionNotListed", "/Lathe/Knobs/BLOCK/Default", "\"d / 4\"",
              "Lathe.Knobs.BLOCK.Default: the default of BLOCK (2048 for n=7 d=8192"},
        Fault{"DefaultOverKnobs", "/Lathe/Knobs/BLOCK/Default", "\"VEC * 64\"",
              "Lathe.Knobs.BLOCK.Default: the knob VEC has no value there"},
        Fault{"UnknownKnob", "/Lathe/Knobs/VECTOR", "{\"Kind\": \"vector\"}",
              "Lathe.Knobs.VECTOR: there is no such knob in ConfigurationSpace.TuningParameters: did you "
              "mean VEC"},
        Fault{"UnknownKind", "/Lathe/Knobs/VEC/Kind", "\"vectr\"",
              "Lathe.Knobs.VEC.Kind: 'vectr' is not known here (the knob's kind: block, tile, unroll, "
              "vector, coarsen, "
              "occupancy, stage, cache, size or flag): did you mean vector?"},
        Fault{"UnknownFieldOfKnob", "/Lathe/Knobs/VEC/Knd", "\"vector\"",
              "Lathe.Knobs.VEC.Knd: is not a field that is known there: did you mean Kind?"},
        Fault{"UnknownField", "/Lathe/Argments", "[]",
              "Lathe.Argments: is not a field that is known there: did you mean "
              "Arguments?"},
        Fault{"UnknownNameInCondition", "/Lathe/Conditions/2/Expression", "\"BLOK % 32 == 0\"",
              "Lathe.Conditions[2].Expression: the name BLOK is unknown: did you mean BLOCK?"},
        Fault{"UnknownDimensionInCondition", "/Lathe/Conditions/2/Expression", "\"m % 32 == 0\"",
              "Lathe.Conditions[2].Expression: the name m is unknown: did you mean n or d?"},
        Fault{"UnknownLimit", "/Lathe/Conditions/2/Expression", "\"BLOCK <= device.max_thread_per_block\"",
              "the name device.max_thread_per_block is unknown: did you mean device.max_threads_per_block"},
        Fault{"LimitInACount", "/Lathe/Arguments/0/Count", "\"n * device.warp_size\"",
              "the name device.warp_size is unknown"},
        Fault{"UnknownSizeof", "/Lathe/Conditions/0/Expression", "\"VEC * sizeof_U <= 16\"",
              "the name sizeof_U is unknown: did you mean sizeof_T?"},
        Fault{"ConditionSyntax", "/Lathe/Conditions/2/Expression", "\"BLOCK %\"",
              "Lathe.Conditions[2].Expression: "},
        Fault{"ConditionDividesByZero", "/Lathe/Conditions/2/Expression", "\"BLOCK % 0 == 0\"",
              "\"BLOCK % 0 == 0\" divides by zero: correct the expression"},
        Fault{"ConditionIsText", "/Lathe/Conditions/2/Expression", "\"'text'\"",
              "Lathe.Conditions[2].Expression: "},
        Fault{"CountDividesByZero", "/Lathe/Arguments/0/Count", "\"n / (d - 4096)\"",
              "Lathe.Arguments[0].Count: expression \"n / (d - 4096)\": division by zero for n=1 d=4096 "
              "T=bf16"},
        Fault{"CountOverflows", "/Lathe/Arguments/0/Count", "\"9223372036854775807 * d\"",
              "does not fit 64 bits"},
        Fault{"CountIsZero", "/Lathe/Arguments/0/Count", "\"n - 1\"", "\"n - 1\" is 0 for n=1 d=4096 T=bf16"},
        Fault{"CountIsEnormous", "/Lathe/Arguments/0/Count", "\"1 << 60\"", "more than any device holds"},
        Fault{"CountOverKnob", "/Lathe/Arguments/0/Count", "\"n * BLOCK\"",
              "the knob BLOCK has no value there"},
        Fault{"NeitherCountNorValue", "/Lathe/Arguments/0/Count", "null", "has neither Count nor Value"},
        Fault{"CountAndValue", "/Lathe/Arguments/0/Value", "1", "has both Count and Value"},
        Fault{"ScalarWithFill", "/Lathe/Arguments/4/Fill", "{\"Kind\": \"zero\"}",
              "Lathe.Arguments[4].Fill: is a field of buffers, and d is a scalar: remove it"},
        Fault{"IntegerFillWithoutBounds", "/Lathe/Arguments/2/Fill", "{\"Kind\": \"integer\", \"Low\": 1}",
              "has no High"},
        Fault{"OffsetsWithoutABound", "/Lathe/Arguments/2/Fill", "{\"Kind\": \"offsets\"}", "has no High"},
        Fault{"UniformFillReversed", "/Lathe/Arguments/3/Fill",
              "{\"Kind\": \"uniform\", \"Low\": 1, \"High\": 0}", "Low is above High"},
        Fault{"UniformFillOverDimension", "/Lathe/Arguments/3/Fill",
              "{\"Kind\": \"uniform\", \"Low\": \"n\"}", "Fill.Low: is no number"},
        Fault{"UnknownDtype", "/Lathe/Arguments/0/Dtype", "\"bf61\"",
              "Lathe.Arguments[0].Dtype: 'bf61' is no dtype and no type parameter: did you mean bf16"},
        Fault{"UnknownDtypeOfType", "/Lathe/Types/0/Dtypes/1", "\"fp16\"",
              "Lathe.Types[0].Dtypes[1]: 'fp16' is no dtype: did you mean f16"},
        Fault{"NoDtypes", "/Lathe/Types/0/Dtypes", "[]",
              "Lathe.Types[0].Dtypes: is empty: write the dtypes in use"},
        Fault{"DtypeTwice", "/Lathe/Types/0/Dtypes/1", "\"bf16\"", "bf16 is there twice"},
        Fault{"DtypeOfTolerance", "/Lathe/Tolerances/fp32", "{}",
              "Lathe.Tolerances.fp32: is no dtype: did you mean f32"},
        Fault{"NegativeTolerance", "/Lathe/Tolerances/bf16/Relative", "-1",
              "Relative: is -1: write a number of at least 0"},
        Fault{"ArgumentTwice", "/Lathe/Arguments/1/Name", "\"out\"", "the argument out is there twice"},
        Fault{"NameIsTaken", "/Lathe/Dimensions/0", "\"BLOCK\"",
              "Lathe.Dimensions[0]: BLOCK is already the name of a knob: rename one of the two"},
        Fault{"ProblemLacksDimension", "/Lathe/Problems/1/Dimensions/d", "null",
              "Lathe.Problems[1].Dimensions: has no d: give every dimension an integer"},
        Fault{"ProblemHasAnother", "/Lathe/Problems/1/Dimensions/dd", "3",
              "Lathe.Problems[1].Dimensions.dd: there is no such dimension in Lathe.Dimensions: did you mean "
              "d?"},
        Fault{"ProblemIsText", "/Lathe/Problems/1/Dimensions/d", "\"4096\"",
              "Dimensions.d: is a string: write an integer"},
        Fault{"ProblemTwice", "/Lathe/Problems/1/Dimensions", "{\"n\": 1, \"d\": 4096}", "is there twice"},
        Fault{"UnknownRole", "/Lathe/Problems/1/Role", "\"test\"",
              "'test' is not known here (tune, select or report)"},
        Fault{"InstanceName", "/Lathe/Instance", "\"act_and_mul_kernel<{T}, {BLOCKS}>\"",
              "Lathe.Instance: the name {BLOCKS} is unknown: did you mean BLOCK?"},
        Fault{"ReferenceOverKnobs", "/Lathe/Reference/Launch/Block", "[\"BLOCK\"]",
              "Lathe.Reference.Launch.Block[0]: the knob BLOCK has no value there"},
        Fault{"ReferenceFile", "/Lathe/Reference/File", "\"gone.cu\"",
              "Lathe.Reference.File: the raw kernel gone.cu does not exist"},
        Fault{"LaunchedElsewhere", "/Lathe/Reference/LaunchedWhere", "[\"n > 0\", \"d < 1024\"]",
              "Lathe.Reference.LaunchedWhere[1]: the program launches something else where \"d < 1024\" does "
              "not hold for n=1 d=4096"},
        Fault{"LaunchedWhereOverKnobs", "/Lathe/Reference/LaunchedWhere", "[\"BLOCK > 32\"]",
              "Lathe.Reference.LaunchedWhere[0]: the knob BLOCK has no value there"},
        Fault{"LaunchIsZero", "/Lathe/Launch/Grid", "[\"n - 1\"]",
              "Lathe.Launch.Grid[0]: \"n - 1\" is 0 for n=1 d=4096"},
        Fault{"LaunchHasFourAxes", "/Lathe/Launch/Grid", "[1, 1, 1, 1]",
              "Lathe.Launch.Grid: has 4 elements: write blocks"},
        Fault{"NegativeCost", "/Lathe/Cost/Bytes", "\"-n\"", "Lathe.Cost.Bytes: \"-n\" is -1"},
        Fault{"NewerVersion", "/Lathe/Version", "2", "Lathe.Version: is 2, and this Lathe reads version 1"},
        Fault{"NoVersion", "/Lathe/Version", "null", "Lathe: has no Version: add the format's version, 1"},
        Fault{"NoTemplate", "/KernelSpecification/KernelFile", "\"gone.cuh\"",
              "KernelSpecification.KernelFile: cannot read gone.cuh: No such file or directory: restore the "
              "template"},
        Fault{"AnotherTemplate", "/Lathe/TemplateHash", "\"0123\"",
              "Lathe.TemplateHash: this is a specification for another template (templates/silu_and_mul.cuh"},
        Fault{"Language", "/KernelSpecification/Language", "\"OpenCL\"",
              "KernelSpecification.Language: is OpenCL"},
        Fault{"NoSpace", "/ConfigurationSpace", "null",
              "silu.json:1: has no ConfigurationSpace: add the knobs"}),
    [](const auto& fault) { return fault.param.name; });

// The line is that of the field, also in files that no program formatted.
TEST_F(SpecTest, ErrorsNameTheLine) {
  const std::string text(sample_text);
  const auto line_of = [&](std::string_view part, int further = 0) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(text.find(part));
    return "silu.json:" + std::to_string(1 + std::count(text.begin(), end, '\n') + further) + ":";
  };
  const auto replaced = [&](std::string_view part, std::string_view with) {
    std::string changed = text;
    return changed.replace(text.find(part), part.size(), with);
  };
  EXPECT_THAT(error_of(replaced("BLOCK % 32", "BLOK % 32")), HasSubstr(line_of("BLOCK % 32")));
  EXPECT_THAT(error_of(replaced("[1, 2, 4, 8]", "[]")), HasSubstr(line_of("[1, 2, 4, 8]")));
  EXPECT_THAT(error_of(replaced("{\"n\": 7, \"d\": 8192}", "\n\n{\"n\": 7,\n\"d\": true}")),
              HasSubstr(line_of("\"n\": 7", 3)));
}

TEST_F(SpecTest, ARepeatedKeyIsAnError) {
  std::string text(sample_text);
  text.insert(text.find("\"STREAM\": {"), "\"VEC\": {},\n");
  EXPECT_THAT(error_of(text),
              HasSubstr("Lathe.Knobs.VEC: the key is there twice (first in line 25): remove one of the two"));
  EXPECT_THAT(error_of(text), HasSubstr("silu.json:26:"));
}

// Cut anywhere, a file is never read as another one.
TEST_F(SpecTest, EveryTruncationIsAnError) {
  const std::string text(sample_text);
  const std::size_t end = text.find_last_of('}');
  for (std::size_t length = 0; length <= end; ++length) {
    const std::string error = error_of(text.substr(0, length));
    ASSERT_THAT(error, HasSubstr("is not JSON (")) << length;
    ASSERT_THAT(error, HasSubstr("silu.json:")) << length;
  }
  EXPECT_THAT(error_of(text.substr(0, end)), HasSubstr("the file looks truncated"));
  EXPECT_EQ(error_of(text.substr(0, end + 1)), "");
}

TEST_F(SpecTest, OtherTextsAreErrors) {
  EXPECT_THAT(error_of(""), HasSubstr("is not JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("holds no object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("has no ConfigurationSpace"));
  EXPECT_THAT(error_of(R"({"format": "constraint-space-9", "parameters": []})"),
              HasSubstr("is not known here"));
  EXPECT_THAT(error_of(std::string(100'000, '[')), HasSubstr("is not JSON"));
  EXPECT_THAT(error_of(std::string(100'000, '[') + std::string(100'000, ']')), HasSubstr("levels deep"));
  EXPECT_THAT(error_of("{\"a\": \"\xff\"}"), HasSubstr("is not JSON"));
  EXPECT_THAT(error_of("{\"a\": 1e999}"), HasSubstr("JSON"));
  EXPECT_THAT(error_of(std::string("\xef\xbb\xbf") + std::string(sample_text)), IsEmpty());
}

TEST_F(SpecTest, AMissingFileIsAnError) {
  const auto spec = read_spec(folder_->path() / "gone.json");
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(spec.error().sentence(), HasSubstr("gone.json: No such file or directory: give the path"));
  EXPECT_FALSE(read_spec(folder_->path()).ok());
}

TEST_F(SpecTest, TheTemplateIsCheckedOnRequest) {
  json document = json::parse(sample_text);
  document["Lathe"]["TemplateHash"] = content_hash("template text");
  EXPECT_EQ(error_of(document.dump()), "");
  ASSERT_TRUE(write_file(folder_->path() / "templates/silu_and_mul.cuh", "changed").ok());
  EXPECT_THAT(error_of(document.dump()), HasSubstr("run lathe templatize again"));
  EXPECT_TRUE(parse_spec(document.dump(), path_, {.check_template = false}).ok());
}

TEST_F(SpecTest, WarnsOfAKnobThatChangesNothing) {
  json document = json::parse(sample_text);
  document["Lathe"]["Instance"] = "act_and_mul_kernel<{T}, {BLOCK}, {VEC}>";
  EXPECT_THAT(parse(document.dump()).warnings,
              ElementsAre(HasSubstr("the knob STREAM reaches neither the instance nor the launch")));
}

TEST_F(SpecTest, WarnsOfDefaultsOutsideTheConditions) {
  json document = json::parse(sample_text);
  document["Lathe"]["Conditions"][2]["Expression"] = "VEC == 8";
  const auto warnings = parse(document.dump()).warnings;
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings[0],
              HasSubstr("the defaults do not meet the condition \"VEC == 8\" for n=1 d=4096 T=bf16"));
}

// Any change to a good file gives a specification or a sentence about the file, never anything else.
TEST_F(SpecTest, RandomChangesGiveASpecificationOrASentence) {
  std::mt19937 random(11);
  const json document = json::parse(sample_text);
  const json flat = document.flatten();
  std::vector<std::string> pointers;
  for (const auto& [pointer, ignored] : flat.items())
    pointers.push_back(pointer);
  const std::vector<json> replacements{nullptr,
                                       true,
                                       0,
                                       -1,
                                       1e300,
                                       9223372036854775807,
                                       "",
                                       "n",
                                       "1 / 0",
                                       "BLOCK",
                                       json::array(),
                                       json::object(),
                                       {1, 2},
                                       {{"Expression", "n"}},
                                       std::string(5000, '(')};
  for (int round = 0; round < 1500; ++round) {
    json changed = document;
    json::json_pointer pointer(pointers[random() % pointers.size()]);
    for (std::size_t up = random() % 3; up > 0 && !pointer.parent_pointer().empty(); --up)
      pointer = pointer.parent_pointer();
    changed[pointer] = replacements[random() % replacements.size()];
    const auto spec = parse_spec(changed.dump(1), path_);
    if (!spec.ok()) {
      EXPECT_THAT(spec.error().sentence(), HasSubstr("silu.json")) << pointer.to_string();
    }
  }
}

} // namespace
} // namespace lathe
