#include "tuner/base/files.h"
#include "tuner/expression/expression_tree.h"
#include "tuner/spec/fields.h"
#include "tuner/spec/python_text.h"

#include <algorithm>

namespace lathe {
namespace {

using json = nlohmann::ordered_json;

json to_json(const Value& value) {
  return std::visit([](const auto& held) { return json(held); }, value);
}

bool is_constant(const Expression& expression) {
  return expression.root().operation == Operation::constant;
}

// A constant that the reader makes again of a JSON value.
bool is_plain_constant(const Expression& expression) {
  return is_constant(expression) && expression.dialect() == Dialect::lathe &&
         Expression(expression.root().value).text() == expression.text();
}

json expression_json(const Expression& expression) {
  if (is_plain_constant(expression) && !std::holds_alternative<std::string>(expression.root().value))
    return to_json(expression.root().value);
  if (expression.dialect() == Dialect::python)
    return {{"Expression", expression.text()}, {"Dialect", "python"}};
  return expression.text();
}

std::string relative_path(const std::filesystem::path& file, const std::filesystem::path& specification) {
  const auto folder = std::filesystem::absolute(specification).parent_path().lexically_normal();
  const auto relative = file.lexically_normal().lexically_relative(folder);
  return relative.empty() ? file.string() : relative.string();
}

json axes_json(const std::array<Expression, 3>& axes) {
  json list = json::array();
  for (const Expression& axis : axes)
    list.push_back(expression_json(axis));
  return list;
}

json launch_json(const LaunchGeometry& launch) {
  return {{"Grid", axes_json(launch.grid)},
          {"Block", axes_json(launch.block)},
          {"SharedBytes", expression_json(launch.shared_bytes)}};
}

std::string_view to_string(Fill::Kind kind) {
  switch (kind) {
  case Fill::Kind::normal:
    return "normal";
  case Fill::Kind::uniform:
    return "uniform";
  case Fill::Kind::integer:
    return "integer";
  case Fill::Kind::zero:
    return "zero";
  case Fill::Kind::permutation:
    return "permutation";
  case Fill::Kind::offsets:
    return "offsets";
  }
  return "normal";
}

json fill_json(const Fill& fill) {
  json object = {{"Kind", to_string(fill.kind)}};
  if (fill.kind == Fill::Kind::normal) {
    object["Mean"] = fill.mean;
    object["Spread"] = fill.spread;
  } else if (fill.kind == Fill::Kind::uniform) {
    object["Low"] = fill.low;
    object["High"] = fill.high;
  } else if (fill.kind == Fill::Kind::integer) {
    object["Low"] = expression_json(fill.integer_low);
    object["High"] = expression_json(fill.integer_high);
  } else if (fill.kind == Fill::Kind::offsets) {
    object["High"] = expression_json(fill.integer_high);
  }
  return object;
}

json argument_json(const Argument& argument) {
  json object = {{"Name", argument.name}, {"Dtype", argument.dtype}};
  if (!argument.is_buffer) {
    object["Value"] = expression_json(argument.value);
    return object;
  }
  object["Direction"] = argument.direction == Direction::in    ? "in"
                        : argument.direction == Direction::out ? "out"
                                                               : "inout";
  object["Count"] = expression_json(argument.count);
  object["Fill"] = fill_json(argument.fill);
  if (argument.is_null)
    object["Null"] = true;
  return object;
}

json lathe_json(const TuningSpec& spec, const std::filesystem::path& path) {
  json lathe = {{"Version", 1}, {"Name", spec.name}, {"Dimensions", spec.dimensions}};
  for (const TextSize& size : spec.text_sizes)
    lathe["TextSizes"].push_back(
        {{"Name", size.dimension}, {"Macro", size.macro}, {"Value", size.value}, {"Trials", size.trials}});
  lathe["Types"] = json::array();
  for (const TypeParameter& type : spec.types)
    lathe["Types"].push_back({{"Name", type.name}, {"Dtypes", type.dtypes}});
  lathe["Knobs"] = json::object();
  for (const Knob& knob : spec.knobs) {
    json entry = {{"Kind", to_string(knob.kind)}, {"Type", knob.type}};
    if (!is_plain_constant(knob.default_value))
      entry["Default"] = expression_json(knob.default_value);
    if (knob.size)
      entry["Size"] = expression_json(*knob.size);
    if (knob.is_macro)
      entry["Macro"] = true;
    if (!knob.why.empty())
      entry["Why"] = knob.why;
    lathe["Knobs"][knob.name] = std::move(entry);
  }
  lathe["Conditions"] = json::array();
  for (const Condition& condition : spec.conditions) {
    json entry = {{"Expression", expression_json(condition.expression)}};
    if (!condition.why.empty())
      entry["Why"] = condition.why;
    lathe["Conditions"].push_back(std::move(entry));
  }
  lathe["Instance"] = spec.kernel.instance;
  lathe["Launch"] = launch_json(spec.kernel.launch);
  lathe["Arguments"] = json::array();
  for (const Argument& argument : spec.arguments)
    lathe["Arguments"].push_back(argument_json(argument));
  lathe["Problems"] = json::array();
  for (const Problem& problem : spec.problems) {
    json entry = {{"Dimensions", json::object()},
                  {"Role", problem.role == ProblemRole::tune     ? "tune"
                           : problem.role == ProblemRole::select ? "select"
                                                                 : "report"}};
    for (const auto& [name, size] : problem.dimensions)
      entry["Dimensions"][name] = size;
    if (problem.label != spec::dimensions_label(spec.dimensions, problem.dimensions))
      entry["Label"] = problem.label;
    lathe["Problems"].push_back(std::move(entry));
  }
  if (!spec.reference.file.empty())
    lathe["Reference"] = {{"File", relative_path(spec.reference.file, path)},
                          {"Instance", spec.reference.instance},
                          {"CompilerOptions", spec.reference.compile_options},
                          {"Launch", launch_json(spec.reference.launch)}};
  for (const Expression& condition : spec.launched_where)
    lathe["Reference"]["LaunchedWhere"].push_back(condition.text());
  if (!spec.cpu_reference.empty())
    lathe["CpuReference"] = spec.cpu_reference;
  for (const auto& [dtype, tolerance] : spec.tolerances)
    lathe["Tolerances"][dtype] = {{"Relative", tolerance.relative}, {"Absolute", tolerance.absolute}};
  lathe["Cost"] = {{"Bytes", expression_json(spec.cost.bytes)},
                   {"Operations", expression_json(spec.cost.operations)}};
  lathe["Provenance"] = {{"SourceFile", spec.provenance.source_file},
                         {"SourceHash", spec.provenance.source_hash},
                         {"CompileCommand", spec.provenance.compile_command},
                         {"Certificate", spec.provenance.certificate}};
  if (!spec.template_hash.empty())
    lathe["TemplateHash"] = spec.template_hash;
  return lathe;
}

// The sections for tools that read T1 only. They know no dimensions and no types: these have the values of
// the first problem with the first dtypes.
class T1Writer {
public:
  explicit T1Writer(const TuningSpec& spec) : spec_(spec) {
    std::map<std::string, std::string> types;
    for (const TypeParameter& type : spec.types)
      if (!type.dtypes.empty())
        types[type.name] = type.dtypes[0];
    const Problem problem = spec.problems.empty() ? Problem{} : spec.problems[0];
    workload_.spec = &spec;
    workload_.problem = problem;
    workload_.types = std::move(types);
    workload_.environment = spec::problem_environment(spec, problem.dimensions, workload_.types, {});
    for (const Knob& knob : spec.knobs) {
      const auto integer = [](const Value& value) {
        return std::holds_alternative<std::int64_t>(value) && std::get<std::int64_t>(value) >= 0;
      };
      if (std::all_of(knob.values.begin(), knob.values.end(), integer))
        non_negative_.push_back(knob.name);
      knobs_.push_back(knob.name);
    }
  }

  json configuration_space() const {
    json parameters = json::array();
    for (const Knob& knob : spec_.knobs) {
      json entry = {{"Name", knob.name}, {"Type", type(knob)}, {"Values", values(knob)}};
      if (is_plain_constant(knob.default_value))
        entry["Default"] = to_json(knob.default_value.root().value);
      else if (const auto value = knob.default_value.evaluate(lookup()); value.ok())
        if (const Value* listed = spec::find_value(knob.values, *value))
          entry["Default"] = to_json(*listed);
      parameters.push_back(std::move(entry));
    }
    json conditions = json::array();
    for (const Condition& condition : spec_.conditions)
      if (const auto text = spec::python_text(condition.expression, {}, non_negative_)) {
        json names = json::array();
        bool over_knobs = true;
        for (const std::string& name : condition.expression.names()) {
          over_knobs &= std::find(knobs_.begin(), knobs_.end(), name) != knobs_.end();
          names.push_back(name);
        }
        if (over_knobs)
          conditions.push_back({{"Expression", *text}, {"Parameters", std::move(names)}});
      }
    return {{"TuningParameters", std::move(parameters)}, {"Conditions", std::move(conditions)}};
  }

  json kernel_specification(const std::filesystem::path& path) const {
    json kernel = {{"Language", "CUDA"}, {"KernelName", kernel_name()}};
    kernel["KernelFile"] = spec_.kernel.file.empty() ? "" : relative_path(spec_.kernel.file, path);
    kernel["CompilerOptions"] = spec_.kernel.compile_options;
    kernel["GlobalSizeType"] = "CUDA";
    kernel["GlobalSize"] = size(spec_.kernel.launch.grid);
    kernel["LocalSize"] = size(spec_.kernel.launch.block);
    if (const auto bytes = spec_.kernel.launch.shared_bytes.evaluate_integer(lookup()); bytes.ok())
      kernel["SharedMemory"] = *bytes;
    json problem = json::array();
    for (const std::string& name : spec_.dimensions)
      if (const auto extent = workload_.problem.dimensions.find(name);
          extent != workload_.problem.dimensions.end())
        problem.push_back(extent->second);
    if (!problem.empty() && problem.size() <= 3)
      kernel["ProblemSize"] = std::move(problem);
    kernel["Arguments"] = arguments();
    return kernel;
  }

private:
  Lookup lookup() const {
    return [this](std::string_view name) { return workload_.lookup(name); };
  }

  static std::string type(const Knob& knob) {
    if (knob.type == "bool")
      return "bool";
    bool text = false, real = false, negative = false, flag = true;
    for (const Value& value : knob.values) {
      text |= std::holds_alternative<std::string>(value);
      real |= std::holds_alternative<double>(value);
      flag &= std::holds_alternative<bool>(value);
      negative |= std::holds_alternative<std::int64_t>(value) && std::get<std::int64_t>(value) < 0;
    }
    const bool is_unsigned = knob.type.find("unsigned") != std::string::npos ||
                             knob.type.starts_with("uint") || knob.type == "size_t";
    return text ? "string" : real ? "float" : flag ? "bool" : is_unsigned && !negative ? "uint" : "int";
  }

  // A Python list in a string: what T1's readers evaluate.
  static std::string values(const Knob& knob) {
    std::string text = "[";
    for (const Value& value : knob.values)
      text += (text.size() == 1 ? "" : ", ") + spec::python_literal(value);
    return text + "]";
  }

  json size(const std::array<Expression, 3>& extents) const {
    json object = json::object();
    constexpr std::array<const char*, 3> axes{"X", "Y", "Z"};
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      if (const auto text = spec::python_text(extents[axis], workload_.environment, non_negative_))
        object[axes[axis]] = *text;
    return object;
  }

  // Kernel Tuner fills knobs in where their names stand in the name of a templated kernel.
  std::string kernel_name() const {
    std::string name = spec_.kernel.instance;
    const auto fill_in = [&](const std::string& key, const std::string& text) {
      const std::string mark = "{" + key + "}";
      for (std::size_t at = name.find(mark); at != std::string::npos; at = name.find(mark, at + text.size()))
        name.replace(at, mark.size(), text);
    };
    for (const auto& [type, dtype] : workload_.types)
      fill_in(type, dtype_cxx(dtype));
    for (const auto& [dimension, extent] : workload_.problem.dimensions)
      fill_in(dimension, std::to_string(extent));
    const auto lookup = [&](std::string_view key) -> std::optional<Value> {
      const auto found = workload_.environment.find(std::string(key));
      return found == workload_.environment.end() ? std::nullopt : std::optional(found->second);
    };
    for (const Knob& knob : spec_.knobs) {
      std::string argument = knob.name;
      if (knob.size) // 0 or the first problem's size
        if (const auto size = knob.size->evaluate_integer(lookup); size.ok())
          argument += " * " + std::to_string(*size);
      fill_in(knob.name, argument);
    }
    return name;
  }

  json arguments() const {
    static const std::map<std::string, std::string> t1_types{
        {"bool", "bool"},  {"i8", "int8"},   {"u8", "uint8"},   {"i16", "int16"},
        {"u16", "uint16"}, {"i32", "int32"}, {"u32", "uint32"}, {"i64", "int64"},
        {"u64", "uint64"}, {"f16", "half"},  {"f32", "float"},  {"f64", "double"}};
    json list = json::array();
    for (const Argument& argument : spec_.arguments) {
      const auto chosen = workload_.types.find(argument.dtype);
      const std::string dtype = chosen == workload_.types.end() ? argument.dtype : chosen->second;
      const auto known = t1_types.find(dtype);
      json entry = {{"Name", argument.name}, {"Type", known == t1_types.end() ? "custom" : known->second}};
      entry["TypeSize"] = dtype_size(dtype);
      entry["MemoryType"] = argument.is_buffer ? "Vector" : "Scalar";
      if (argument.is_buffer) {
        entry["AccessType"] = argument.direction == Direction::in    ? "ReadOnly"
                              : argument.direction == Direction::out ? "WriteOnly"
                                                                     : "ReadWrite";
        if (const auto count = argument.count.evaluate_integer(lookup()); count.ok())
          entry["Size"] = *count;
        const bool zero = argument.fill.kind == Fill::Kind::zero || argument.direction == Direction::out;
        entry["FillType"] = zero ? "Constant" : "Random";
        entry["FillValue"] = zero ? 0.0 : 1.0;
      } else {
        entry["FillType"] = "Constant";
        if (const auto value = argument.value.evaluate(lookup());
            value.ok() && !std::holds_alternative<std::string>(*value)) {
          const auto* flag = std::get_if<bool>(&*value);
          entry["FillValue"] = flag ? json(*flag ? 1 : 0) : to_json(*value);
        }
      }
      list.push_back(std::move(entry));
    }
    return list;
  }

  const TuningSpec& spec_;
  Workload workload_;
  std::vector<std::string> knobs_, non_negative_;
};

} // namespace

std::string format_spec(const TuningSpec& spec, const std::filesystem::path& path) {
  const T1Writer t1(spec);
  json root;
  root["General"] = {{"BenchmarkName", spec.name}, {"OutputFormat", "JSON"}};
  root["ConfigurationSpace"] = t1.configuration_space();
  root["KernelSpecification"] = t1.kernel_specification(path);
  root["Lathe"] = lathe_json(spec, path);
  // Text that is not UTF-8 can only come from outside; it is replaced rather than thrown over.
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Status write_spec(const TuningSpec& spec, const std::filesystem::path& path) {
  return write_file(path, format_spec(spec, path));
}

} // namespace lathe
