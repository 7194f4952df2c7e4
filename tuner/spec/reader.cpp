#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/spec/fields.h"
#include "tuner/spec/names.h"
#include "tuner/spec/schema.h"
#include "tuner/spec/text_sizes.h"

#include <algorithm>

namespace lathe {
namespace spec {
namespace {

using nlohmann::json;

const Path lathe_path{"Lathe"};
const Path tuning_parameters{"ConfigurationSpace", "TuningParameters"};
constexpr std::int64_t format_version = 1;

Status read_types(Reading& reading) {
  const Path list = lathe_path / "Types";
  const json* types = reading.document.find(list);
  for (std::size_t i = 0; types && i < types->size(); ++i) {
    TypeParameter type;
    type.name = text_at(reading.document, list / i / "Name");
    type.dtypes = texts_at(reading.document, list / i / "Dtypes");
    for (std::size_t j = 0; j < type.dtypes.size(); ++j) {
      const Path path = list / i / "Dtypes" / j;
      if (dtype_size(type.dtypes[j]) == 0)
        return reading.error(path, "'" + type.dtypes[j] + "' is no dtype",
                             suggestion(type.dtypes[j], dtype_names()));
      if (std::find(type.dtypes.begin(), type.dtypes.begin() + static_cast<std::ptrdiff_t>(j),
                    type.dtypes[j]) != type.dtypes.begin() + static_cast<std::ptrdiff_t>(j))
        return reading.error(path, type.dtypes[j] + " is there twice", "remove one of the two");
    }
    reading.origins["type " + type.name] = list / i / "Name";
    reading.spec.types.push_back(std::move(type));
  }
  return Done{};
}

Status read_knobs(Reading& reading) {
  const Path list = lathe_path / "Knobs";
  const Document& document = reading.document;
  if (const json* entries = document.find(list)) {
    const std::vector<std::string> known = reading.spec.knob_names();
    for (const auto& [name, ignored] : entries->items())
      if (!reading.spec.find_knob(name))
        return reading.error(list / name, "there is no such knob in ConfigurationSpace.TuningParameters",
                             suggestion(name, known));
  }
  for (Knob& knob : reading.spec.knobs) {
    const Path path = list / knob.name;
    knob.kind = *parse_knob_kind(text_at(document, path / "Kind", "flag"));
    knob.type = text_at(document, path / "Type", knob.type);
    knob.why = text_at(document, path / "Why");
    if (const json* macro = document.find(path / "Macro"))
      knob.is_macro = macro->get<bool>();
    if (document.find(path / "Size")) {
      LATHE_TRY(knob.size, expression_at(document, path / "Size"));
      reading.origins["size " + knob.name] = path / "Size";
    }
    if (document.find(path / "Default")) {
      LATHE_TRY(knob.default_value, expression_at(document, path / "Default"));
      reading.origins["default " + knob.name] = path / "Default";
    }
  }
  return Done{};
}

Status read_conditions(Reading& reading) {
  const Path list = lathe_path / "Conditions";
  const json* conditions = reading.document.find(list);
  for (std::size_t i = 0; conditions && i < conditions->size(); ++i) {
    Condition condition;
    LATHE_TRY(condition.expression, expression_at(reading.document, list / i / "Expression"));
    condition.why = text_at(reading.document, list / i / "Why");
    reading.origins["condition " + std::to_string(i)] = list / i / "Expression";
    reading.spec.conditions.push_back(std::move(condition));
  }
  return Done{};
}

Status read_axes(Reading& reading, const Path& path, const std::string& key,
                 std::array<Expression, 3>& axes) {
  for (std::size_t axis = 0; axis < reading.document.find(path)->size(); ++axis) {
    LATHE_TRY(axes[axis], expression_at(reading.document, path / axis));
    reading.origins[key + " " + std::to_string(axis)] = path / axis;
  }
  return Done{};
}

Status read_launch(Reading& reading, const Path& path, const std::string& key, LaunchGeometry& launch) {
  LATHE_CHECK(read_axes(reading, path / "Grid", key + " grid", launch.grid));
  LATHE_CHECK(read_axes(reading, path / "Block", key + " block", launch.block));
  if (reading.document.find(path / "SharedBytes")) {
    LATHE_TRY(launch.shared_bytes, expression_at(reading.document, path / "SharedBytes"));
    reading.origins[key + " shared"] = path / "SharedBytes";
  }
  return Done{};
}

Status read_real(const Reading& reading, const Path& path, double& number) {
  const json* value = reading.document.find(path);
  if (!value)
    return Done{};
  if (!value->is_number())
    return reading.error(path, "is no number", "write a number; only the fill integer takes expressions");
  number = value->get<double>();
  return Done{};
}

Status read_fill(Reading& reading, const Path& path, const std::string& key, Fill& fill) {
  static const std::map<std::string, Fill::Kind, std::less<>> kinds{
      {"normal", Fill::Kind::normal},           {"uniform", Fill::Kind::uniform},
      {"integer", Fill::Kind::integer},         {"zero", Fill::Kind::zero},
      {"permutation", Fill::Kind::permutation}, {"offsets", Fill::Kind::offsets}};
  const Document& document = reading.document;
  fill.kind = kinds.find(text_at(document, path / "Kind"))->second;
  LATHE_CHECK(read_real(reading, path / "Mean", fill.mean));
  LATHE_CHECK(read_real(reading, path / "Spread", fill.spread));
  if (fill.kind == Fill::Kind::integer) {
    for (const std::string_view bound : {"Low", "High"})
      if (!document.find(path / bound))
        return reading.error(path, "has no " + std::string(bound),
                             "add the integers' inclusive bounds Low and High");
    LATHE_TRY(fill.integer_low, expression_at(document, path / "Low"));
    LATHE_TRY(fill.integer_high, expression_at(document, path / "High"));
    reading.origins[key + " low"] = path / "Low";
    reading.origins[key + " high"] = path / "High";
    return Done{};
  }
  if (fill.kind == Fill::Kind::offsets) {
    if (!document.find(path / "High"))
      return reading.error(path, "has no High", "add the last offset, High: they rise from 0 to it");
    LATHE_TRY(fill.integer_high, expression_at(document, path / "High"));
    reading.origins[key + " high"] = path / "High";
    return Done{};
  }
  LATHE_CHECK(read_real(reading, path / "Low", fill.low));
  LATHE_CHECK(read_real(reading, path / "High", fill.high));
  if (fill.low > fill.high)
    return reading.error(path, "Low is above High", "exchange the two");
  return Done{};
}

Status read_arguments(Reading& reading) {
  const Path list = lathe_path / "Arguments";
  const Document& document = reading.document;
  for (std::size_t i = 0; i < document.find(list)->size(); ++i) {
    const Path path = list / i;
    const std::string key = "argument " + std::to_string(i);
    Argument argument;
    argument.name = text_at(document, path / "Name");
    argument.dtype = text_at(document, path / "Dtype");
    argument.is_buffer = document.find(path / "Count") != nullptr;
    if (argument.is_buffer == (document.find(path / "Value") != nullptr))
      return reading.error(path,
                           argument.is_buffer ? "has both Count and Value" : "has neither Count nor Value",
                           "give a buffer its Count and a scalar its Value");
    if (!argument.is_buffer)
      for (const std::string_view field : {"Direction", "Fill", "Null"})
        if (document.find(path / field))
          return reading.error(path / field, "is a field of buffers, and " + argument.name + " is a scalar",
                               "remove it");
    if (argument.is_buffer) {
      LATHE_TRY(argument.count, expression_at(document, path / "Count"));
      const std::string direction = text_at(document, path / "Direction", "in");
      argument.direction = direction == "in"    ? Direction::in
                           : direction == "out" ? Direction::out
                                                : Direction::inout;
      const json* null = document.find(path / "Null");
      argument.is_null = null && null->get<bool>(); // the schema has seen to its kind
      if (document.find(path / "Fill"))
        LATHE_CHECK(read_fill(reading, path / "Fill", key, argument.fill));
    } else {
      LATHE_TRY(argument.value, expression_at(document, path / "Value"));
    }
    reading.origins[key] = path / "Name";
    reading.origins[key + " dtype"] = path / "Dtype";
    reading.origins[key + " count"] = path / "Count";
    reading.origins[key + " value"] = path / "Value";
    reading.spec.arguments.push_back(std::move(argument));
  }
  return Done{};
}

Status read_problems(Reading& reading) {
  const Path list = lathe_path / "Problems";
  const Document& document = reading.document;
  const json* problems = document.find(list);
  for (std::size_t i = 0; problems && i < problems->size(); ++i) {
    Problem problem;
    const Path sizes = list / i / "Dimensions";
    for (const auto& [name, ignored] : document.find(sizes)->items()) {
      LATHE_TRY(const Value size, value_at(document, sizes / name));
      if (!std::holds_alternative<std::int64_t>(size)) // JSON Schema takes 4.0 for an integer
        return reading.error(sizes / name, "is " + to_string(size), "write an integer");
      problem.dimensions[name] = std::get<std::int64_t>(size);
    }
    const std::string role = text_at(document, list / i / "Role", "tune");
    problem.role = role == "tune"     ? ProblemRole::tune
                   : role == "select" ? ProblemRole::select
                                      : ProblemRole::report;
    problem.label =
        text_at(document, list / i / "Label", dimensions_label(reading.spec.dimensions, problem.dimensions));
    reading.origins["problem " + std::to_string(i)] = sizes;
    reading.spec.problems.push_back(std::move(problem));
  }
  return Done{};
}

Status read_reference(Reading& reading) {
  const Path path = lathe_path / "Reference";
  const Document& document = reading.document;
  if (!document.find(path))
    return Done{};
  KernelSource& reference = reading.spec.reference;
  reference.file =
      (std::filesystem::absolute(reading.spec.path).parent_path() / text_at(document, path / "File"))
          .lexically_normal();
  reference.instance = text_at(document, path / "Instance");
  reference.compile_options = texts_at(document, path / "CompilerOptions");
  const json* where = document.find(path / "LaunchedWhere");
  for (std::size_t i = 0; where && i < where->size(); ++i) {
    LATHE_TRY(Expression condition, expression_at(document, path / "LaunchedWhere" / i));
    reading.spec.launched_where.push_back(std::move(condition));
    reading.origins["launched where " + std::to_string(i)] = path / "LaunchedWhere" / i;
  }
  reading.origins["reference file"] = path / "File";
  reading.origins["reference instance"] = path / "Instance";
  return read_launch(reading, path / "Launch", "reference", reference.launch);
}

Status read_tolerances(Reading& reading) {
  const Path list = lathe_path / "Tolerances";
  const json* tolerances = reading.document.find(list);
  if (!tolerances)
    return Done{};
  for (const auto& [dtype, ignored] : tolerances->items()) {
    if (dtype_size(dtype) == 0)
      return reading.error(list / dtype, "is no dtype", suggestion(dtype, dtype_names()));
    Tolerance& tolerance = reading.spec.tolerances[dtype];
    LATHE_CHECK(read_real(reading, list / dtype / "Relative", tolerance.relative));
    LATHE_CHECK(read_real(reading, list / dtype / "Absolute", tolerance.absolute));
  }
  return Done{};
}

Status read_cost(Reading& reading) {
  CostModel& cost = reading.spec.cost;
  for (auto& [name, expression] :
       {std::pair{"Bytes", &cost.bytes}, std::pair{"Operations", &cost.operations}}) {
    const Path path = lathe_path / "Cost" / name;
    if (!reading.document.find(path))
      continue;
    LATHE_TRY(*expression, expression_at(reading.document, path));
    reading.origins[std::string("cost ") + name] = path;
  }
  return Done{};
}

Status check_version(const Reading& reading) {
  const Path path = lathe_path / "Version";
  LATHE_TRY(const Value version, value_at(reading.document, path));
  if (!same_value(version, Value{format_version}))
    return reading.error(
        path, "is " + to_string(version) + ", and this Lathe reads version " + std::to_string(format_version),
        "use the Lathe that wrote the file, or a newer one");
  return Done{};
}

Status read_lathe(Reading& reading) {
  const Document& document = reading.document;
  TuningSpec& spec = reading.spec;
  LATHE_CHECK(check_version(reading));
  LATHE_CHECK(read_knob_list(reading, tuning_parameters, "Name", "Values"));
  LATHE_CHECK(read_t1_kernel(reading));
  spec.name = text_at(document, lathe_path / "Name", spec.name);
  spec.dimensions = texts_at(document, lathe_path / "Dimensions");
  for (std::size_t i = 0; i < spec.dimensions.size(); ++i)
    reading.origins["dimension " + spec.dimensions[i]] = lathe_path / "Dimensions" / i;
  LATHE_CHECK(read_text_sizes(reading));
  LATHE_CHECK(read_types(reading));
  LATHE_CHECK(read_knobs(reading));
  LATHE_CHECK(read_conditions(reading));
  LATHE_CHECK(read_t1_conditions(reading));
  if (document.find(lathe_path / "Instance")) {
    spec.kernel.instance = text_at(document, lathe_path / "Instance");
    reading.origins["instance"] = lathe_path / "Instance";
  }
  LATHE_CHECK(read_problems(reading));
  if (document.find(lathe_path / "Launch"))
    LATHE_CHECK(read_launch(reading, lathe_path / "Launch", "kernel", spec.kernel.launch));
  else
    LATHE_CHECK(read_t1_launch(reading));
  if (document.find(lathe_path / "Arguments"))
    LATHE_CHECK(read_arguments(reading));
  else
    LATHE_CHECK(read_t1_arguments(reading));
  LATHE_CHECK(read_reference(reading));
  spec.cpu_reference = text_at(document, lathe_path / "CpuReference");
  LATHE_CHECK(read_tolerances(reading));
  LATHE_CHECK(read_cost(reading));
  const Path provenance = lathe_path / "Provenance";
  spec.provenance = {
      text_at(document, provenance / "SourceFile"), text_at(document, provenance / "SourceHash"),
      text_at(document, provenance / "CompileCommand"), text_at(document, provenance / "Certificate")};
  spec.template_hash = text_at(document, lathe_path / "TemplateHash");
  return Done{};
}

Status read_t1(Reading& reading) {
  LATHE_CHECK(read_knob_list(reading, tuning_parameters, "Name", "Values"));
  LATHE_CHECK(read_t1_conditions(reading));
  LATHE_CHECK(read_t1_kernel(reading));
  LATHE_CHECK(read_t1_problem(reading));
  LATHE_CHECK(read_t1_launch(reading));
  return read_t1_arguments(reading);
}

// A constraint-space-1 file says the same as ConfigurationSpace in other words: `parameters` with `name` and
// `values`, and `constraints` in C's operators.
Result<TuningSpec> read_constraint_space(const Document& document, const std::filesystem::path& path) {
  const json& root = document.root();
  const auto wrong = [&](const Path& place, const std::string& want) {
    return document.error(place, document.find(place) ? "is of the wrong type" : "is missing",
                          "write " + want);
  };
  if (!root.contains("parameters") || !root["parameters"].is_array())
    return wrong({"parameters"}, "a list of objects with name and values");
  for (std::size_t i = 0; i < root["parameters"].size(); ++i) {
    const json& parameter = root["parameters"][i];
    const Path place = Path{"parameters"} / i;
    if (!parameter.is_object() || !parameter.contains("name") || !parameter["name"].is_string())
      return wrong(place / "name", "the parameter's name, a string");
    if (!parameter.contains("values") || !parameter["values"].is_array())
      return wrong(place / "values", "a list of integers");
    for (std::size_t j = 0; j < parameter["values"].size(); ++j)
      if (!parameter["values"][j].is_primitive() || parameter["values"][j].is_null())
        return wrong(place / "values" / j, "an integer");
  }
  if (root.contains("constraints") && !root["constraints"].is_array())
    return wrong({"constraints"}, "a list of expressions");

  Reading reading{document, {}, {}, false};
  TuningSpec& spec = reading.spec;
  spec.path = path;
  spec.name = text_at(document, {"name"}, path.stem().string());
  LATHE_CHECK(read_knob_list(reading, {"parameters"}, "name", "values"));
  for (std::size_t i = 0; root.contains("constraints") && i < root["constraints"].size(); ++i) {
    const Path place = Path{"constraints"} / i;
    if (!root["constraints"][i].is_string())
      return wrong(place, "an expression, a string");
    Condition condition;
    LATHE_TRY(condition.expression, expression_at(document, place));
    reading.origins["condition " + std::to_string(i)] = place;
    spec.conditions.push_back(std::move(condition));
  }
  spec.problems.push_back({});
  reading.origins["problem 0"] = {};
  LATHE_CHECK(check_spec(reading));
  return std::move(spec);
}

Status check_files(Reading& reading) {
  TuningSpec& spec = reading.spec;
  if (!spec.reference.file.empty() && !path_exists(spec.reference.file))
    return reading.error(reading.origins["reference file"],
                         "the raw kernel " + spec.reference.file.string() + " does not exist",
                         "restore it or correct the path");
  if (spec.kernel.file.empty())
    return Done{};
  const Path path = reading.origins["kernel file"];
  const Result<std::string> text = read_file(spec.kernel.file);
  if (!text.ok() && !reading.has_lathe) {
    reading.warn(path, "the kernel " + spec.kernel.file.string() + " does not exist",
                 "the space can be searched with recorded results, not run");
    return Done{};
  }
  if (!text.ok())
    return reading.error(path, text.error().what + ": " + text.error().why,
                         "restore the template, correct the path, or run lathe templatize again");
  if (!spec.template_hash.empty() && content_hash(*text) != spec.template_hash)
    return reading.error(lathe_path / "TemplateHash",
                         "this is a specification for another template (" + spec.kernel.file.string() +
                             " has the hash " + content_hash(*text) + ", the specification was written for " +
                             spec.template_hash + ")",
                         "run lathe templatize again, or restore the template");
  return Done{};
}

} // namespace
} // namespace spec

Result<TuningSpec> parse_spec(std::string_view text, const std::filesystem::path& path, ReadOptions options) {
  using namespace spec;
  LATHE_TRY(const Document document, Document::parse(text, path));
  if (!document.root().is_object())
    return document.error({}, "holds no object", "write a tuning specification (docs/specification.md)");
  if (const std::string format = text_at(document, {"format"}); format == "constraint-space-1")
    return read_constraint_space(document, path);
  else if (!format.empty() && !document.root().contains("ConfigurationSpace"))
    return document.error({"format"}, "'" + format + "' is not known here",
                          "use constraint-space-1 or a tuning specification");
  LATHE_CHECK(check_schema(document));
  Reading reading{document, {}, {}, document.root().contains("Lathe")};
  TuningSpec& result = reading.spec;
  result.path = path;
  result.name = text_at(document, {"General", "BenchmarkName"},
                        text_at(document, {"KernelSpecification", "KernelName"}, path.stem().string()));
  LATHE_CHECK(reading.has_lathe ? read_lathe(reading) : read_t1(reading));
  LATHE_CHECK(check_spec(reading));
  if (options.check_template)
    LATHE_CHECK(check_files(reading));
  return std::move(result);
}

Result<TuningSpec> read_spec(const std::filesystem::path& path, ReadOptions options) {
  auto text = read_file(path);
  if (!text.ok()) {
    Error error = text.error();
    error.remedy = "give the path of a tuning specification";
    return error;
  }
  return parse_spec(*text, path, options);
}

} // namespace lathe
