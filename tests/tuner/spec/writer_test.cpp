#include "spec_testing.h"

#include "tuner/spec/python_text.h"

namespace lathe {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

// Expressions are equal when they read the same in the same dialect.
std::string text_of(const Expression& expression) {
  return (expression.dialect() == Dialect::python ? "python: " : "lathe: ") + expression.text();
}

void describe(std::vector<std::string>& out, const KernelSource& source) {
  out.insert(out.end(), {source.file.string(), source.instance});
  out.insert(out.end(), source.compile_options.begin(), source.compile_options.end());
  for (std::size_t axis = 0; axis < 3; ++axis)
    out.insert(out.end(), {text_of(source.launch.grid[axis]), text_of(source.launch.block[axis])});
  out.push_back(text_of(source.launch.shared_bytes));
}

std::string kind_and_text(const Value& value) {
  return std::to_string(value.index()) + " " + to_string(value);
}

// Every field that a file keeps, written without the writer under test.
std::vector<std::string> describe(const TuningSpec& spec) {
  std::vector<std::string> out{spec.name, spec.template_hash, spec.cpu_reference};
  out.insert(out.end(), spec.dimensions.begin(), spec.dimensions.end());
  for (const TypeParameter& type : spec.types) {
    out.push_back("type " + type.name);
    out.insert(out.end(), type.dtypes.begin(), type.dtypes.end());
  }
  for (const Knob& knob : spec.knobs) {
    out.insert(out.end(), {"knob " + knob.name, std::string(to_string(knob.kind)), knob.type, knob.why,
                           text_of(knob.default_value), knob.is_macro ? "macro" : "template"});
    for (const Value& value : knob.values)
      out.push_back(kind_and_text(value));
  }
  for (const Expression& condition : spec.launched_where)
    out.push_back("launched where " + text_of(condition));
  for (const Condition& condition : spec.conditions)
    out.insert(out.end(), {"condition " + text_of(condition.expression), condition.why});
  for (const Argument& argument : spec.arguments) {
    out.insert(out.end(),
               {"argument " + argument.name, argument.dtype, argument.is_buffer ? "buffer" : "scalar"});
    const Fill& fill = argument.fill;
    if (argument.is_buffer)
      out.insert(out.end(), {text_of(argument.count), std::to_string(static_cast<int>(argument.direction)),
                             argument.is_null ? "null" : "", std::to_string(static_cast<int>(fill.kind))});
    else
      out.push_back(text_of(argument.value));
    if (argument.is_buffer && fill.kind == Fill::Kind::normal)
      out.insert(out.end(), {to_string(Value{fill.mean}), to_string(Value{fill.spread})});
    if (argument.is_buffer && fill.kind == Fill::Kind::uniform)
      out.insert(out.end(), {to_string(Value{fill.low}), to_string(Value{fill.high})});
    if (argument.is_buffer && fill.kind == Fill::Kind::integer)
      out.insert(out.end(), {text_of(fill.integer_low), text_of(fill.integer_high)});
    if (argument.is_buffer && fill.kind == Fill::Kind::offsets)
      out.push_back(text_of(fill.integer_high));
  }
  for (const Problem& problem : spec.problems) {
    out.insert(out.end(), {"problem " + problem.label, std::to_string(static_cast<int>(problem.role))});
    for (const auto& [name, size] : problem.dimensions)
      out.push_back(name + "=" + std::to_string(size));
  }
  describe(out, spec.kernel);
  describe(out, spec.reference);
  for (const auto& [dtype, tolerance] : spec.tolerances)
    out.insert(out.end(),
               {dtype, to_string(Value{tolerance.relative}), to_string(Value{tolerance.absolute})});
  out.insert(out.end(), {text_of(spec.cost.bytes), text_of(spec.cost.operations)});
  const Provenance& provenance = spec.provenance;
  out.insert(out.end(), {provenance.source_file, provenance.source_hash, provenance.compile_command,
                         provenance.certificate});
  return out;
}

// Specifications of every shape that make sense: what refactor and people may write.
class RandomSpec {
public:
  explicit RandomSpec(unsigned seed) : random_(seed) {}

  TuningSpec make(const std::filesystem::path& folder) {
    TuningSpec spec;
    spec.name = "kernel_" + std::to_string(random_() % 1000);
    for (std::size_t i = 0; i < random_() % 4; ++i)
      spec.dimensions.push_back("dim" + std::to_string(i));
    const std::vector<std::string> dtypes = dtype_names();
    for (std::size_t i = 0; i < random_() % 3; ++i)
      spec.types.push_back({"T" + std::to_string(i), {dtypes[random_() % 5], dtypes[5 + random_() % 5]}});
    known_ = spec.dimensions;
    for (const TypeParameter& type : spec.types)
      known_.push_back("sizeof_" + type.name);
    for (std::size_t i = 0; i < 1 + random_() % 4; ++i)
      spec.knobs.push_back(knob(i));
    const std::vector<std::string> problem_names = known_;
    spec.cost = {expression(), expression()};
    for (std::size_t i = 0; i < random_() % 4; ++i)
      spec.arguments.push_back(argument(spec, i));
    for (std::size_t i = 0; i < 1 + random_() % 3; ++i) {
      Problem problem;
      for (const std::string& name : spec.dimensions)
        problem.dimensions[name] = static_cast<std::int64_t>(2 + i * 5 + random_() % 5);
      for (const std::string& name : spec.dimensions)
        problem.label +=
            (problem.label.empty() ? "" : " ") + name + "=" + std::to_string(problem.dimensions[name]);
      if (chance() || spec.dimensions.empty())
        problem.label = "label " + std::to_string(i);
      problem.role = static_cast<ProblemRole>(random_() % 3);
      spec.problems.push_back(std::move(problem));
      if (spec.dimensions.empty())
        break; // there is only one problem without sizes
    }
    if (chance())
      spec.reference = source(folder / "raw.cu");
    for (const Knob& knob : spec.knobs)
      if (knob.type == "int")
        known_.push_back(knob.name);
    known_.push_back("device.max_threads_per_block");
    for (std::size_t i = 0; i < random_() % 4; ++i)
      spec.conditions.push_back({condition(), chance() ? "why " + std::to_string(i) + " \"quoted\"" : ""});
    if (chance())
      spec.kernel = source(folder / "templates" / "kernel.cuh");
    if (chance())
      spec.tolerances["f16"] = {0.1 * static_cast<double>(random_() % 10), 1e-7};
    if (chance())
      spec.cpu_reference = "reference";
    if (chance())
      spec.provenance = {"a.cu", "hash", "nvcc -I\"x y\"", "c.json"};
    if (chance())
      spec.template_hash = "0123456789abcdef";
    return spec;
  }

private:
  bool chance() { return random_() % 2 == 0; }

  Expression parsed(const std::string& text) {
    return *Expression::parse(text, chance() ? Dialect::lathe : Dialect::python);
  }

  // Positive for all sizes in use, and never dividing by zero.
  std::string term() {
    const std::string number = std::to_string(1 + random_() % 64);
    if (known_.empty() || chance())
      return number;
    const std::string& name = known_[random_() % known_.size()];
    switch (random_() % 4) {
    case 0:
      return "(" + name + " * " + number + ")";
    case 1:
      return "min(" + name + ", " + number + ")";
    case 2:
      return "ceil_div(" + name + ", " + number + ")";
    default:
      return name;
    }
  }
  Expression expression() {
    if (random_() % 4 == 0)
      return Expression(Value{static_cast<std::int64_t>(1 + random_() % 9)});
    return parsed(term() + (chance() ? " + " : " * ") + term());
  }
  Expression condition() {
    const std::string compare = term() + " <= " + term() + " * 100000";
    return parsed(chance() ? compare : "(" + compare + ") or " + term() + " % 2 == 0");
  }

  Knob knob(std::size_t index) {
    Knob knob;
    knob.name = "K" + std::to_string(index);
    knob.kind = static_cast<KnobKind>(random_() % 9);
    knob.is_macro = chance();
    knob.why = chance() ? "because" : "";
    switch (random_() % 4) {
    case 0:
      knob.type = "string";
      knob.values = {Value{std::string("it's")}, Value{std::string("a\\b \"c\"")},
                     Value{std::string("\u00e9")}};
      break;
    case 1:
      knob.type = "real";
      knob.values = {Value{0.1}, Value{4.0}, Value{1e-300}};
      break;
    case 2:
      knob.type = "bool";
      knob.values = {Value{false}, Value{true}};
      break;
    default:
      knob.type = "int";
      knob.values = {Value{std::int64_t{1}}, Value{std::int64_t{2}}, Value{std::int64_t{1} << 40}};
      break;
    }
    knob.default_value = Expression(knob.values[random_() % knob.values.size()]);
    if (knob.type == "int" && chance())
      knob.default_value = parsed("max(1, 2) * 1");
    return knob;
  }

  Argument argument(const TuningSpec& spec, std::size_t index) {
    Argument argument;
    argument.name = "a" + std::to_string(index);
    argument.dtype = spec.types.empty() ? "f32" : spec.types[random_() % spec.types.size()].name;
    argument.is_buffer = chance();
    if (!argument.is_buffer) {
      argument.value = chance() ? expression() : Expression(Value{0.1});
      return argument;
    }
    argument.direction = static_cast<Direction>(random_() % 3);
    argument.count = expression();
    argument.fill.kind = static_cast<Fill::Kind>(random_() % 6);
    argument.fill.low = -0.25 * static_cast<double>(random_() % 9);
    argument.fill.mean = 1.0 / 3;
    argument.fill.integer_low = Expression(Value{std::int64_t{-3}});
    argument.fill.integer_high = expression();
    argument.is_null = chance();
    return argument;
  }

  KernelSource source(const std::filesystem::path& file) {
    KernelSource source;
    source.file = file;
    source.instance = "kernel<1>";
    source.compile_options = {"-std=c++17", "-DX=\"y\""};
    source.launch.grid = {expression(), expression(), expression()};
    source.launch.block[0] = expression();
    source.launch.shared_bytes = expression();
    return source;
  }

  std::mt19937 random_;
  std::vector<std::string> known_;
};

TEST_F(SpecTest, WhatIsWrittenReadsBackEqual) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const TuningSpec spec = RandomSpec(seed).make(folder_->path());
    const std::string text = format_spec(spec, path_);
    const auto back = parse_spec(text, path_, {.check_template = false});
    ASSERT_TRUE(back.ok()) << "seed " << seed << ": " << back.error().sentence() << "\n" << text;
    ASSERT_EQ(describe(*back), describe(spec)) << "seed " << seed << "\n" << text;
    ASSERT_EQ(format_spec(*back, path_), text) << "seed " << seed;
  }
}

TEST_F(SpecTest, TheSampleSurvivesAWriteElsewhere) {
  const TuningSpec spec = sample();
  const auto elsewhere = folder_->path() / "deep/er/copy.json";
  ASSERT_TRUE(write_spec(spec, elsewhere).ok());
  const auto back = read_spec(elsewhere); // the paths still lead to the template and the raw kernel
  ASSERT_TRUE(back.ok()) << back.error().sentence();
  EXPECT_EQ(describe(*back), describe(spec));
  EXPECT_THAT(back->warnings, IsEmpty());
  EXPECT_THAT(*read_file(elsewhere), HasSubstr("../../templates/silu_and_mul.cuh"));
}

// The T1 sections are what the community's tools read: constant sizes, Python, no names but knobs.
TEST_F(SpecTest, OtherToolsFindT1) {
  const json document = json::parse(format_spec(sample(), path_));
  const json& space = document["ConfigurationSpace"];
  EXPECT_EQ(space["TuningParameters"][0]["Values"], "[64, 128, 256, 512, 1024]");
  EXPECT_EQ(space["TuningParameters"][0]["Type"], "uint");
  EXPECT_EQ(space["TuningParameters"][0]["Default"], 512); // of the first problem with the first dtype
  EXPECT_EQ(space["TuningParameters"][2]["Values"], "[False, True]");
  ASSERT_EQ(space["Conditions"].size(), 1u); // the others are over types and the device
  EXPECT_EQ(space["Conditions"][0]["Expression"], "(BLOCK % 32) == 0");
  EXPECT_EQ(space["Conditions"][0]["Parameters"], json({"BLOCK"}));
  const json& kernel = document["KernelSpecification"];
  EXPECT_EQ(kernel["Language"], "CUDA");
  EXPECT_EQ(kernel["KernelName"], "act_and_mul_kernel<__nv_bfloat16, BLOCK, VEC, STREAM>");
  EXPECT_EQ(kernel["KernelFile"], "templates/silu_and_mul.cuh");
  EXPECT_EQ(kernel["GlobalSize"]["X"], "1");
  EXPECT_EQ(kernel["LocalSize"]["X"], "BLOCK");
  EXPECT_EQ(kernel["ProblemSize"], json({1, 4096}));
  ASSERT_EQ(kernel["Arguments"].size(), 6u);
  EXPECT_EQ(kernel["Arguments"][0]["Size"], 4096);
  EXPECT_EQ(kernel["Arguments"][0]["AccessType"], "WriteOnly");
  EXPECT_EQ(kernel["Arguments"][4]["FillValue"], 4096);
}

TEST_F(SpecTest, AConditionAddedToTheT1SectionHoldsAsWell) {
  json document = json::parse(format_spec(sample(), path_));
  document["ConfigurationSpace"]["Conditions"].push_back({{"Expression", "VEC > 1 or BLOCK == 64"}});
  const TuningSpec spec = parse(document.dump(1));
  ASSERT_EQ(spec.conditions.size(), 4u);
  EXPECT_EQ(spec.conditions[3].expression.dialect(), Dialect::python);
  EXPECT_THAT(spec.warnings,
              testing::ElementsAre(HasSubstr("is not the T1 form of any of Lathe.Conditions")));
}

TEST_F(SpecTest, AT1FileKeepsItsSpaceWhenWritten) {
  const TuningSpec spec = parse(R"({"ConfigurationSpace": {
    "TuningParameters": [{"Name": "a", "Type": "int", "Values": "[1, 2, 3]", "Default": 2}],
    "Conditions": [{"Expression": "6 / a == 3 and a in [2, 3]", "Parameters": ["a"]}]}})");
  const TuningSpec back = parse(format_spec(spec, path_));
  EXPECT_EQ(describe(back), describe(spec));
  EXPECT_THAT(back.warnings, IsEmpty());
}

TEST_F(SpecTest, TheReferencesExamplesAreGood) {
  const auto document = read_file(LATHE_SPECIFICATION_REFERENCE);
  ASSERT_TRUE(document.ok()) << document.error().sentence();
  int examples = 0;
  for (std::size_t at = 0; (at = document->find("```json\n", at)) != std::string::npos; ++examples) {
    at += 8;
    const std::string text = document->substr(at, document->find("```", at) - at);
    const auto spec = parse_spec(text, path_, {.check_template = false});
    ASSERT_TRUE(spec.ok()) << spec.error().sentence();
    EXPECT_THAT(spec->warnings, IsEmpty());
  }
  EXPECT_EQ(examples, 2);
}

// A translation to Python has the meaning of the original at every point.
TEST(PythonText, MeansTheSame) {
  const std::vector<std::string> texts{"a / b",
                                       "a % b == 0 && c > 1",
                                       "!(a > b) || c == 2",
                                       "a > b ? a - b : b - a",
                                       "ceil_div(a, b)",
                                       "a - b - c",
                                       "a - (b - c)",
                                       "a / b / c",
                                       "a / (b * c)",
                                       "-a + b",
                                       "a < b <= c",
                                       "(a < b) == (b < c)",
                                       "a << 2 | b & 3",
                                       "a ^ b",
                                       "min(a, b) * max(b, c, 2)",
                                       "a in [1, 2, b]",
                                       "a not in [b, c]",
                                       "(a && b) || (c && !a)",
                                       "a * b % c",
                                       "a % (b * c) / 2",
                                       "abs(a - b)",
                                       "~a & 255",
                                       "a == b == c",
                                       "(a == b) != (c == 1)",
                                       "true && a != 3",
                                       "a > 1 && b > 1 || c > 1",
                                       "(a + b) * (b + c) / (a * c)",
                                       "a % b % c"};
  for (const std::string& text : texts) {
    const auto original = Expression::parse(text);
    ASSERT_TRUE(original.ok()) << text;
    const auto python = spec::python_text(*original, {{"c", Value{std::int64_t{3}}}}, {"a", "b"});
    ASSERT_TRUE(python) << text;
    const auto translated = Expression::parse(*python, Dialect::python);
    ASSERT_TRUE(translated.ok()) << *python << ": " << translated.error().sentence();
    for (std::int64_t a = 0; a < 8; ++a)
      for (std::int64_t b = 0; b < 8; ++b) {
        const auto lookup = [&](std::string_view name) -> std::optional<Value> {
          return Value{name == "a" ? a : name == "b" ? b : std::int64_t{3}};
        };
        const auto expected = original->evaluate(lookup), got = translated->evaluate(lookup);
        ASSERT_EQ(expected.ok(), got.ok()) << text << " -> " << *python << " at " << a << ", " << b;
        if (expected.ok()) {
          ASSERT_EQ(*expected, *got) << text << " -> " << *python << " at " << a << ", " << b;
        }
      }
  }
}

TEST(PythonText, LeavesOutWhatPythonLacks) {
  for (const char* text :
       {"gcd(a, b) == 1", "a <= device.max_threads_per_block", "(a - b) / 2", "(a - b) % 2", "is_pow2(a)"})
    EXPECT_EQ(spec::python_text(*Expression::parse(text), {}, {"a", "b"}), std::nullopt) << text;
  EXPECT_EQ(spec::python_text(*Expression::parse("k / 2"), {}, {"a"}), std::nullopt); // k may be negative
}

} // namespace
} // namespace lathe
