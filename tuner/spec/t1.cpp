// The sections of the community's T1 format.
#include "tuner/spec/fields.h"
#include "tuner/spec/names.h"
#include "tuner/spec/python_lambda.h"
#include "tuner/spec/python_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace lathe::spec {
namespace {

using nlohmann::json;

const Path conditions_path{"ConfigurationSpace", "Conditions"};
const Path kernel_path{"KernelSpecification"};
constexpr std::array<std::string_view, 3> axes{"X", "Y", "Z"};

std::string problem_size_name(std::size_t axis) {
  static constexpr std::array<std::string_view, 3> names{"problem_size_x", "problem_size_y",
                                                         "problem_size_z"};
  return std::string(names[axis]);
}

// One text for values that are the same: 1, 1.0 and true.
std::string identity(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value))
    return *flag ? "1" : "0";
  const auto* real = std::get_if<double>(&value);
  if (real && std::trunc(*real) == *real && std::abs(*real) < 9e18)
    return std::to_string(static_cast<std::int64_t>(*real));
  return to_string(value);
}

Result<std::vector<Value>> listed_values(const Document& document, const Path& path) {
  const json& list = *document.find(path);
  std::vector<Value> values;
  if (list.is_string()) {
    auto parsed = parse_value_list(list.get_ref<const std::string&>());
    if (parsed.ok())
      return parsed;
    const Error& error = parsed.error();
    return document.error(path, error.what + ": " + error.why,
                          error.remedy.empty() ? "write a list such as [1, 2, 4]" : error.remedy);
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    LATHE_TRY(Value value, value_at(document, path / i));
    values.push_back(std::move(value));
  }
  return values;
}

Result<std::vector<Value>> read_values(Reading& reading, const Path& path) {
  LATHE_TRY(const std::vector<Value> listed, listed_values(reading.document, path));
  if (listed.empty())
    return reading.error(path, "is empty", "give at least one value");
  if (listed.size() > 65535)
    return reading.error(path, "has " + std::to_string(listed.size()) + " values", "give at most 65535");
  const bool texts = std::holds_alternative<std::string>(listed[0]);
  std::vector<Value> values;
  std::set<std::string> seen;
  for (const Value& value : listed) {
    if (std::holds_alternative<std::string>(value) != texts)
      return reading.error(path, "mixes strings and numbers", "use one of the two");
    if (seen.insert(identity(value)).second) {
      values.push_back(value);
      continue;
    }
    const std::string why = "has the value " + to_string(value) + " twice";
    if (reading.has_lathe)
      return reading.error(path, why, "remove one of the two");
    reading.warn(path, why, "it is taken once");
  }
  return values;
}

// The C++ type that a T1 type stands for.
std::string knob_type(const std::string& t1_type, const std::vector<Value>& values) {
  if (t1_type == "uint")
    return "unsigned int";
  if (t1_type == "float")
    return "real";
  if (t1_type == "bool" || t1_type == "string")
    return t1_type;
  if (t1_type == "int")
    return "int";
  // No type given: as the values are.
  if (std::holds_alternative<std::string>(values[0]))
    return "string";
  if (std::any_of(values.begin(), values.end(),
                  [](const Value& v) { return std::holds_alternative<double>(v); }))
    return "real";
  return "int";
}

// A T1 file whose values are not of its Type is taken by its values: other tools ignore Type.
Status check_values(Reading& reading, const Path& path, const Path& values, Knob& knob) {
  for (const Value& value : knob.values) {
    const bool text = std::holds_alternative<std::string>(value);
    const auto* integer = std::get_if<std::int64_t>(&value);
    const bool negative = integer && *integer < 0 && knob.type == "unsigned int";
    const bool real = std::holds_alternative<double>(value) && knob.type != "real";
    if (text == (knob.type == "string") && !negative && !real)
      continue;
    const std::string type = text ? "string" : real ? "float" : "int";
    const std::string why = "has the " +
                            std::string(text       ? "string "
                                        : negative ? "negative value "
                                                   : "value ") +
                            to_string(value) + " where Type is " +
                            text_at(reading.document, path / "Type", "int");
    if (reading.has_lathe)
      return reading.error(values, why, "set Type to \"" + type + "\" or correct the values");
    reading.warn(values, why, "Type is taken to be " + type);
    knob.type = knob_type(type, knob.values);
  }
  return Done{};
}

Status read_default(Reading& reading, const Path& path, Knob& knob) {
  Path place = path / "Default";
  const json* value = reading.document.find(place);
  if (value && value->is_array()) {
    if (value->size() != 1)
      return reading.error(place, "is a list", "write one value");
    place = place / std::size_t{0};
    value = reading.document.find(place);
  }
  if (!value) {
    knob.default_value = Expression(knob.values[0]);
    if (!reading.has_lathe)
      return Done{}; // T1 does not ask for one
    if (!reading.document.find({"Lathe", "Knobs", knob.name, "Default"}))
      return reading.error(path, "has no Default", "add Default: the value that the raw kernel uses");
    return Done{};
  }
  LATHE_TRY(Value constant, value_at(reading.document, place));
  if (std::holds_alternative<std::string>(constant) != (knob.type == "string"))
    return reading.error(place,
                         "is " + std::string(knob.type == "string" ? "not a string" : "a string") +
                             " unlike the values of " + knob.name,
                         "write one of the values, or an expression under Lathe.Knobs." + knob.name +
                             ".Default");
  knob.default_value = Expression(std::move(constant));
  return Done{};
}

// T1's Python may ask for ProblemSize[i], and for max(knob), the largest of a knob's values.
std::string rewrite_t1(const TuningSpec& spec, std::string text) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::string index = "ProblemSize[" + std::to_string(axis) + "]";
    for (std::size_t at = text.find(index); at != std::string::npos; at = text.find(index, at))
      text.replace(at, index.size(), problem_size_name(axis));
  }
  for (const Knob& knob : spec.knobs)
    for (const std::string_view function : {"max", "min"}) {
      const std::string call = std::string(function) + "(" + knob.name + ")";
      std::optional<std::int64_t> bound;
      for (const Value& value : knob.values)
        if (const auto* integer = std::get_if<std::int64_t>(&value))
          bound = !bound              ? *integer
                  : function == "max" ? std::max(*bound, *integer)
                                      : std::min(*bound, *integer);
      for (std::size_t at = text.find(call); bound && at != std::string::npos; at = text.find(call, at))
        text.replace(at, call.size(), std::to_string(*bound));
    }
  return text;
}

// T1's Python `text` at `path`, under `key`. In a T1 file alone what cannot be read becomes a name that has
// no value: it stops a run, not a search.
Result<Expression> t1_parsed(Reading& reading, const Path& path, const std::string& key,
                             const std::string& text) {
  auto expression = parse_at(reading.document, path, text, Dialect::python);
  if (expression.ok() || reading.has_lathe) {
    reading.origins[key] = path;
    return expression;
  }
  reading.spec.warnings.push_back(expression.error().sentence());
  return Expression::parse("unreadable_" + path.back());
}

// A T1 size: an integer or a Python text.
Result<Expression> t1_expression(Reading& reading, const Path& path, const std::string& key) {
  const json& value = *reading.document.find(path);
  if (value.is_string())
    return t1_parsed(reading, path, key, rewrite_t1(reading.spec, value.get<std::string>()));
  reading.origins[key] = path;
  return expression_at(reading.document, path);
}

struct T1Type {
  std::string dtype;
  int elements = 1; // of a vector type
};

// "float4" -> f32, 4; an empty dtype when Lathe has none.
T1Type t1_type(const std::string& name) {
  static const std::map<std::string, std::string, std::less<>> scalars{
      {"bool", "bool"}, {"int8", "i8"},    {"uint8", "u8"},  {"int16", "i16"},    {"uint16", "u16"},
      {"int32", "i32"}, {"uint32", "u32"}, {"int64", "i64"}, {"uint64", "u64"},   {"half", "f16"},
      {"float", "f32"}, {"double", "f64"}, {"int", "i32"},   {"uint", "u32"},     {"unsigned int", "u32"},
      {"char", "i8"},   {"short", "i16"},  {"long", "i64"},  {"bfloat16", "bf16"}};
  if (const auto scalar = scalars.find(name); scalar != scalars.end())
    return {scalar->second, 1};
  for (const std::string_view base : {"half", "float", "double"})
    for (const int elements : {2, 4, 8, 16})
      if (name == std::string(base) + std::to_string(elements))
        return {scalars.find(base)->second, elements};
  return {};
}

Status read_t1_argument(Reading& reading, std::size_t index) {
  const Path path = kernel_path / "Arguments" / index;
  const Document& document = reading.document;
  const std::string memory = text_at(document, path / "MemoryType");
  Argument argument;
  argument.name = text_at(document, path / "Name", "argument_" + std::to_string(index));
  if (memory == "Local" || memory == "Symbol" || text_at(document, path / "MemType") == "Constant") {
    reading.warn(path, "is no kernel parameter that Lathe can fill (" + argument.name + ")",
                 "the space can be searched with recorded results, not run");
    return Done{};
  }
  const T1Type type = t1_type(text_at(document, path / "Type"));
  if (type.dtype.empty()) {
    reading.warn(path / "Type", "'" + text_at(document, path / "Type") + "' is no dtype of Lathe",
                 "the space can be searched with recorded results, not run");
    return Done{};
  }
  argument.dtype = type.dtype;
  argument.is_buffer = memory == "Vector";
  const std::string key = "argument " + std::to_string(reading.spec.arguments.size());
  const json* fill_value = document.find(path / "FillValue");
  if (argument.is_buffer) {
    if (!document.find(path / "Size"))
      return reading.error(path, "has no Size", "add the number of elements");
    LATHE_TRY(Expression count, t1_expression(reading, path / "Size", key + " count"));
    if (type.elements > 1) {
      LATHE_TRY(count,
                parse_at(document, path / "Size", "(" + count.text() + ") * " + std::to_string(type.elements),
                         count.dialect()));
    }
    argument.count = std::move(count);
    const std::string access = text_at(document, path / "AccessType", "ReadWrite");
    argument.direction = access == "ReadOnly"    ? Direction::in
                         : access == "WriteOnly" ? Direction::out
                                                 : Direction::inout;
    const double bound = fill_value ? fill_value->get<double>() : 1.0;
    const bool constant = text_at(document, path / "FillType", "Random") == "Constant";
    argument.fill.kind = constant && bound == 0 ? Fill::Kind::zero : Fill::Kind::uniform;
    argument.fill.low = constant ? bound : std::min(0.0, bound);
    argument.fill.high = constant ? bound : std::max(0.0, bound);
  } else {
    if (!fill_value)
      return reading.error(path, "has no FillValue", "add the scalar's value");
    LATHE_TRY(argument.value, expression_at(document, path / "FillValue"));
    reading.origins[key + " value"] = path / "FillValue";
  }
  reading.origins[key] = path;
  reading.spec.arguments.push_back(std::move(argument));
  return Done{};
}

// Threads along an axis divided by what one block covers, as Kernel Tuner computes the grid.
std::string divided_grid(const Document& document, const Path& divisors, const std::string& size) {
  const json* list = document.find(divisors);
  if (!list || !list->is_array() || list->empty())
    return size;
  std::string product;
  for (const json& divisor : *list)
    product +=
        (product.empty() ? "(" : " * (") +
        (divisor.is_string() ? divisor.get<std::string>() : std::to_string(divisor.get<std::int64_t>())) +
        ")";
  return "ceil_div(" + size + ", " + product + ")";
}

} // namespace

Status read_knob_list(Reading& reading, const Path& list, std::string_view name_key,
                      std::string_view values_key) {
  const Document& document = reading.document;
  const std::size_t count = document.find(list)->size();
  if (count == 0)
    return reading.error(list, "is empty", "give at least one knob");
  for (std::size_t i = 0; i < count; ++i) {
    const Path path = list / i;
    Knob knob;
    knob.name = text_at(document, path / name_key);
    if (!is_identifier(knob.name))
      return reading.error(path / name_key, "'" + knob.name + "' is no identifier",
                           "use letters, digits and underscores, and start with a letter");
    if (reading.spec.find_knob(knob.name))
      return reading.error(path / name_key, "the knob " + knob.name + " is there twice",
                           "remove or rename one of the two");
    LATHE_TRY(knob.values, read_values(reading, path / values_key));
    knob.type = knob_type(text_at(document, path / "Type"), knob.values);
    knob.is_macro = !reading.has_lathe;
    LATHE_CHECK(check_values(reading, path, path / values_key, knob));
    LATHE_CHECK(read_default(reading, path, knob));
    reading.origins["knob " + knob.name] = path;
    if (document.find(path / "Default")) // a default that nobody stated is not held against the conditions
      reading.origins["default " + knob.name] = path / "Default";
    reading.spec.knobs.push_back(std::move(knob));
  }
  return Done{};
}

Status read_t1_conditions(Reading& reading) {
  const Document& document = reading.document;
  const json* list = document.find(conditions_path);
  if (!list)
    return Done{};
  const std::vector<std::string> knobs = reading.spec.knob_names();
  // The writer repeats Lathe's own conditions for tools that read T1 only.
  std::vector<std::string> repeated;
  for (const Condition& condition : reading.spec.conditions)
    if (const auto text = python_text(condition.expression, {}, knobs))
      repeated.push_back(*text);
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Path path = conditions_path / i;
    const std::string text = text_at(document, path / "Expression");
    if (std::find(repeated.begin(), repeated.end(), text) != repeated.end())
      continue;
    if (!repeated.empty())
      reading.warn(path, "is not the T1 form of any of Lathe.Conditions, and holds as well",
                   "correct or remove it if it is a leftover");
    Condition condition;
    const std::vector<std::string> listed = texts_at(document, path / "Parameters");
    LATHE_TRY(condition.expression,
              parse_at(document, path / "Expression",
                       rewrite_t1(reading.spec, with_knob_names(text, listed, knobs)), Dialect::python));
    for (std::size_t j = 0; const std::string& name : listed) {
      if (std::find(knobs.begin(), knobs.end(), name) == knobs.end())
        reading.warn(path / "Parameters" / j, "there is no knob " + name, suggestion(name, knobs));
      ++j;
    }
    reading.origins["condition " + std::to_string(reading.spec.conditions.size())] = path / "Expression";
    reading.spec.conditions.push_back(std::move(condition));
  }
  return Done{};
}

Status read_t1_kernel(Reading& reading) {
  const Document& document = reading.document;
  TuningSpec& spec = reading.spec;
  const std::string language = text_at(document, kernel_path / "Language", "CUDA");
  if (language != "CUDA") {
    if (reading.has_lathe)
      return reading.error(kernel_path / "Language", "is " + language, "Lathe's kernels are CUDA");
    reading.warn(kernel_path / "Language", "is " + language,
                 "the space can be searched with recorded results, not run");
  }
  if (const std::string file = text_at(document, kernel_path / "KernelFile"); !file.empty())
    spec.kernel.file = (std::filesystem::absolute(spec.path).parent_path() / file).lexically_normal();
  spec.kernel.instance = text_at(document, kernel_path / "KernelName");
  spec.kernel.compile_options = texts_at(document, kernel_path / "CompilerOptions");
  reading.origins["kernel file"] = kernel_path / "KernelFile";
  reading.origins["instance"] = kernel_path / "KernelName";
  return Done{};
}

Status read_t1_problem(Reading& reading) {
  const Document& document = reading.document;
  Path path = kernel_path / "ProblemSize";
  const json* size = document.find(path);
  Problem problem;
  if (size && size->is_array() && size->size() > axes.size())
    return reading.error(path, "has " + std::to_string(size->size()) + " sizes", "give one to three");
  const std::size_t count = !size ? 0 : size->is_array() ? size->size() : 1;
  for (std::size_t axis = 0; axis < count; ++axis) {
    LATHE_TRY(const Value value, value_at(document, size->is_array() ? path / axis : path));
    reading.spec.dimensions.push_back(problem_size_name(axis));
    problem.dimensions[problem_size_name(axis)] = std::get<std::int64_t>(value);
  }
  problem.label = dimensions_label(reading.spec.dimensions, problem.dimensions);
  reading.origins["problem 0"] = count > 0 ? path : kernel_path;
  reading.spec.problems.push_back(std::move(problem));
  return Done{};
}

Status read_t1_launch(Reading& reading) {
  const Document& document = reading.document;
  LaunchGeometry& launch = reading.spec.kernel.launch;
  const bool threads = text_at(document, kernel_path / "GlobalSizeType", "CUDA") != "CUDA";
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::string grid_key = "kernel grid " + std::to_string(axis);
    const Path local = kernel_path / "LocalSize" / axes[axis];
    const Path global = kernel_path / "GlobalSize" / axes[axis];
    const Path divisors = kernel_path / ("GridDiv" + std::string(axes[axis]));
    if (document.find(local)) {
      LATHE_TRY(launch.block[axis], t1_expression(reading, local, "kernel block " + std::to_string(axis)));
    }
    const bool sized =
        axis < reading.spec.dimensions.size() && reading.spec.dimensions[axis] == problem_size_name(axis);
    const json* divisor_list = document.find(divisors);
    if (sized && divisor_list && divisor_list->is_array()) {
      LATHE_TRY(launch.grid[axis], t1_parsed(reading, divisors, grid_key,
                                             divided_grid(document, divisors, problem_size_name(axis))));
    } else if (document.find(global)) {
      LATHE_TRY(launch.grid[axis], t1_expression(reading, global, grid_key));
      if (threads) {
        LATHE_TRY(launch.grid[axis],
                  t1_parsed(reading, global, grid_key,
                            "ceil_div(" + launch.grid[axis].text() + ", " + launch.block[axis].text() + ")"));
      }
    }
  }
  if (document.find(kernel_path / "SharedMemory")) {
    LATHE_TRY(launch.shared_bytes, t1_expression(reading, kernel_path / "SharedMemory", "kernel shared"));
  }
  return Done{};
}

Status read_t1_arguments(Reading& reading) {
  const json* list = reading.document.find(kernel_path / "Arguments");
  for (std::size_t i = 0; list && i < list->size(); ++i)
    LATHE_CHECK(read_t1_argument(reading, i));
  return Done{};
}

} // namespace lathe::spec
