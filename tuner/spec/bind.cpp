#include "tuner/spec/fields.h"
#include "tuner/spec/instance.h"
#include "tuner/spec/names.h"
#include "tuner/spec/text_sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe {
namespace {

using spec::suggestion;

Error about(const std::string& what, const Error& error) {
  return {what, error.what + (error.why.empty() ? "" : ": " + error.why), error.remedy, error.failure};
}

Lookup lookup_in(const Workload& workload) {
  return [&workload](std::string_view name) { return workload.lookup(name); };
}

// The environment and the knobs' values; without values, their defaults.
Lookup lookup_in(const Workload& workload, const KnobValues& knobs) {
  return [&workload, &knobs](std::string_view name) -> std::optional<Value> {
    const auto& known = workload.spec->knobs;
    for (std::size_t i = 0; i < known.size() && (knobs.empty() || i < knobs.size()); ++i) {
      if (known[i].name != name)
        continue;
      if (!knobs.empty())
        return knobs[i];
      const auto usual = known[i].default_value.evaluate(lookup_in(workload));
      return usual.ok() ? std::optional(*usual) : std::nullopt;
    }
    return workload.lookup(name);
  };
}

// The text of the instance, of several that which is called for.
Result<std::string> chosen_instance(const KernelSource& source, const Workload& workload,
                                    const KnobValues& knobs) {
  const Lookup lookup = lookup_in(workload, knobs);
  LATHE_TRY(const std::vector<spec::InstanceCase> cases, spec::instance_cases(source.instance));
  for (const spec::InstanceCase& one : cases) {
    if (!one.when)
      return one.instance;
    const auto holds = one.when->evaluate_condition(lookup);
    if (!holds.ok())
      return about(workload.spec->name + " " + workload.key() + ": which of its kernels is meant",
                   holds.error());
    if (*holds)
      return one.instance;
  }
  return source.instance;
}

Status check_knob_count(const Workload& workload, const KnobValues& knobs) {
  const std::size_t wanted = workload.spec->knobs.size();
  if (knobs.empty() || knobs.size() == wanted) // the raw kernel has no knobs
    return Done{};
  return Error{workload.spec->name,
               "a configuration of " + std::to_string(knobs.size()) + " values for " +
                   std::to_string(wanted) + " knobs",
               "give every knob a value, in the order of the specification"};
}

struct IntegerRange {
  std::string_view dtype;
  std::int64_t low, high;
};
constexpr IntegerRange integer_ranges[] = {
    {"i64", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()},
    {"i32", std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()},
    {"i16", std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()},
    {"i8", std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max()},
    {"u64", 0, std::numeric_limits<std::int64_t>::max()},
    {"u32", 0, std::numeric_limits<std::uint32_t>::max()},
    {"u16", 0, std::numeric_limits<std::uint16_t>::max()},
    {"u8", 0, std::numeric_limits<std::uint8_t>::max()},
    {"bool", 0, 1}};

// The value of a scalar parameter in its own type: a double for floating-point dtypes, else an integer or a
// bool.
Result<Value> scalar_value(const Expression& expression, const std::string& dtype, const Lookup& lookup) {
  for (const IntegerRange& range : integer_ranges) {
    if (range.dtype != dtype)
      continue;
    LATHE_TRY(const std::int64_t integer, expression.evaluate_integer(lookup));
    if (integer < range.low || integer > range.high)
      return Error{"expression \"" + expression.text() + "\"",
                   std::to_string(integer) + " does not fit " + dtype,
                   "use a wider dtype or a smaller problem"};
    return dtype == "bool" ? Value{integer != 0} : Value{integer};
  }
  LATHE_TRY(const Value value, expression.evaluate(lookup));
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return Value{static_cast<double>(*integer)};
  if (const auto* flag = std::get_if<bool>(&value))
    return Value{*flag ? 1.0 : 0.0};
  if (std::holds_alternative<std::string>(value))
    return Error{"expression \"" + expression.text() + "\"", "a string is no " + dtype, "write a number"};
  return value;
}

Result<double> cost(const Expression& expression, const Lookup& lookup) {
  LATHE_TRY(const Value value, scalar_value(expression, "f64", lookup));
  const double number = std::get<double>(value);
  if (!(number >= 0) || !std::isfinite(number))
    return Error{"expression \"" + expression.text() + "\"", "it is " + to_string(value),
                 "a cost is at least 0"};
  return number;
}

Status bind_names(Workload& workload, const std::map<std::string, std::string>& types) {
  const TuningSpec& spec = *workload.spec;
  const std::string what = spec.name + (workload.problem.label.empty() ? "" : " " + workload.problem.label);
  for (const auto& [name, size] : workload.problem.dimensions)
    if (std::find(spec.dimensions.begin(), spec.dimensions.end(), name) == spec.dimensions.end())
      return usage_error(what, "there is no dimension " + name, suggestion(name, spec.dimensions));
  for (const std::string& name : spec.dimensions)
    if (!workload.problem.dimensions.contains(name))
      return usage_error(what, "the dimension " + name + " has no size", "give every dimension an integer");
  if (!spec.text_sizes.empty() && !spec::has_text_sizes_of_one_place(spec, workload.problem))
    return usage_error(what, "the kernel's text fixes " + spec.text_sizes.front().dimension,
                       "give it the value that the text has");
  std::vector<std::string> known;
  for (const TypeParameter& type : spec.types) {
    known.push_back(type.name);
    const auto chosen = types.find(type.name);
    if (chosen == types.end() && type.dtypes.empty())
      return usage_error(what, "the type parameter " + type.name + " has no dtype", "choose one");
    const std::string& dtype = chosen == types.end() ? type.dtypes[0] : chosen->second;
    if (std::find(type.dtypes.begin(), type.dtypes.end(), dtype) == type.dtypes.end())
      return usage_error(what, "the type parameter " + type.name + " cannot be " + dtype,
                         suggestion(dtype, type.dtypes));
    workload.types[type.name] = dtype;
  }
  for (const auto& [name, dtype] : types)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return usage_error(what, "there is no type parameter " + name, suggestion(name, known));
  return Done{};
}

// What a buffer of the dtype can hold, as far as any buffer has elements that it could point to.
std::int64_t largest_offset(const std::string& dtype) {
  const int bits = 8 * dtype_size(dtype) - (dtype.starts_with('u') ? 0 : 1);
  constexpr auto most = static_cast<std::int64_t>(spec::largest_buffer_bytes);
  return bits < 62 ? std::min(most, (std::int64_t{1} << bits) - 1) : most;
}

Result<Workload::Buffer> bind_buffer(const Argument& argument, const std::string& dtype,
                                     const Lookup& lookup) {
  Workload::Buffer buffer{argument.name, dtype, argument.direction, 0, argument.fill};
  LATHE_TRY(const std::int64_t count, argument.count.evaluate_integer(lookup));
  const std::uint64_t limit = spec::largest_buffer_bytes / static_cast<std::uint64_t>(dtype_size(dtype));
  if (count < 1 || static_cast<std::uint64_t>(count) > limit)
    return Error{"expression \"" + argument.count.text() + "\"",
                 "it is " + std::to_string(count) + " elements",
                 count < 1 ? "a buffer has at least one" : "a buffer has at most 2^40 bytes"};
  buffer.count = static_cast<std::uint64_t>(count);
  if (argument.fill.kind == Fill::Kind::integer) {
    LATHE_TRY(buffer.integer_low, argument.fill.integer_low.evaluate_integer(lookup));
    LATHE_TRY(buffer.integer_high, argument.fill.integer_high.evaluate_integer(lookup));
    if (buffer.integer_low > buffer.integer_high)
      return Error{"fill",
                   "its lowest integer " + std::to_string(buffer.integer_low) + " is above its highest " +
                       std::to_string(buffer.integer_high),
                   "correct Low and High"};
  } else if (argument.fill.kind == Fill::Kind::offsets) {
    LATHE_TRY(buffer.integer_high, argument.fill.integer_high.evaluate_integer(lookup));
    const std::int64_t most = largest_offset(dtype);
    if (buffer.integer_high < 0 || buffer.integer_high > most)
      return Error{"fill", "its last offset is " + std::to_string(buffer.integer_high),
                   "give a High between 0 and " + std::to_string(most) + ", the largest of its dtype " +
                       dtype};
  }
  return buffer;
}

std::string literal(const Knob& knob, const Value& value) {
  if (knob.type == "bool")
    return spec::same_value(value, Value{std::int64_t{0}}) ? "false" : "true";
  if (const auto* flag = std::get_if<bool>(&value))
    return *flag ? "1" : "0";
  return to_string(value);
}

} // namespace

std::optional<Value> Workload::lookup(std::string_view name) const {
  const auto entry = environment.find(std::string(name));
  return entry == environment.end() ? std::nullopt : std::optional(entry->second);
}

std::string Workload::key() const {
  std::string text;
  for (const TypeParameter& type : spec->types)
    if (const auto dtype = types.find(type.name); dtype != types.end())
      text += (text.empty() ? "" : " ") + dtype->second;
  const std::string dimensions = spec::dimensions_label(spec->dimensions, problem.dimensions);
  if (!dimensions.empty())
    text += (text.empty() ? "" : " ") + dimensions;
  return text.empty() ? "default" : text;
}

Result<Workload> bind_workload(const TuningSpec& spec, const Problem& problem,
                               const std::map<std::string, std::string>& types,
                               const std::map<std::string, Value>& device_limits) {
  Workload workload;
  workload.spec = &spec;
  workload.problem = problem;
  if (workload.problem.label.empty())
    workload.problem.label = spec::dimensions_label(spec.dimensions, problem.dimensions);
  LATHE_CHECK(bind_names(workload, types));
  workload.environment = spec::problem_environment(spec, problem.dimensions, workload.types, device_limits);
  const Lookup lookup = lookup_in(workload);
  const std::string what = spec.name + " " + workload.key() + ": ";
  for (const Argument& argument : spec.arguments) {
    const auto type = workload.types.find(argument.dtype);
    const std::string dtype = type == workload.types.end() ? argument.dtype : type->second;
    if (dtype_size(dtype) == 0)
      return usage_error(what + argument.name, "'" + argument.dtype + "' is no dtype",
                         suggestion(argument.dtype, dtype_names()));
    Workload::Parameter parameter{argument.is_buffer, 0, dtype, {}, argument.is_null};
    if (argument.is_buffer) {
      auto buffer = bind_buffer(argument, dtype, lookup);
      if (!buffer.ok())
        return about(what + argument.name, buffer.error());
      parameter.buffer = workload.buffers.size();
      workload.buffers.push_back(std::move(*buffer));
    } else {
      auto value = scalar_value(argument.value, dtype, lookup);
      if (!value.ok())
        return about(what + argument.name, value.error());
      parameter.value = std::move(*value);
    }
    workload.parameters.push_back(std::move(parameter));
  }
  const auto bytes = cost(spec.cost.bytes, lookup), operations = cost(spec.cost.operations, lookup);
  if (!bytes.ok() || !operations.ok())
    return about(what + "cost model", bytes.ok() ? operations.error() : bytes.error());
  workload.bytes = *bytes;
  workload.operations = *operations;
  return workload;
}

Result<Launch> bind_launch(const LaunchGeometry& geometry, const Workload& workload,
                           const KnobValues& knobs) {
  LATHE_CHECK(check_knob_count(workload, knobs));
  const Lookup lookup = lookup_in(workload, knobs);
  const std::string what = workload.spec->name + " " + workload.key() + ": ";
  const auto device = [&](const std::string& name, std::int64_t otherwise) {
    const auto value = workload.lookup("device." + name);
    const auto* integer = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    return integer ? *integer : otherwise;
  };
  const auto number = [&](const Expression& expression, const std::string& name, std::int64_t lowest,
                          std::int64_t highest) -> Result<std::uint32_t> {
    const auto value = expression.evaluate_integer(lookup);
    if (!value.ok())
      return about(what + name, value.error());
    if (*value < lowest || *value > highest)
      return Error{what + name, "\"" + expression.text() + "\" is " + std::to_string(*value),
                   *value < lowest ? "it must be at least " + std::to_string(lowest)
                                   : "the limit is " + std::to_string(highest)};
    return static_cast<std::uint32_t>(*value);
  };
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  constexpr std::array<const char*, 3> axes{"x", "y", "z"};
  Launch launch;
  std::uint64_t threads = 1;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::string suffix = axes[axis];
    LATHE_TRY(launch.grid[axis],
              number(geometry.grid[axis], "grid " + suffix, 1, device("max_grid_" + suffix, most)));
    LATHE_TRY(launch.block[axis],
              number(geometry.block[axis], "block " + suffix, 1, device("max_block_" + suffix, most)));
    threads = std::min<std::uint64_t>(threads * launch.block[axis], most);
  }
  const std::int64_t limit = device("max_threads_per_block", most);
  if (threads > static_cast<std::uint64_t>(limit))
    return Error{what + "block", std::to_string(threads) + " threads",
                 "the limit is " + std::to_string(limit)};
  LATHE_TRY(launch.shared_bytes, number(geometry.shared_bytes, "dynamic shared memory", 0,
                                        device("shared_per_block_optin", most)));
  return launch;
}

Result<KnobValues> default_knobs(const Workload& workload) {
  KnobValues values;
  for (const Knob& knob : workload.spec->knobs) {
    auto value = knob.default_value.evaluate(lookup_in(workload));
    if (!value.ok())
      return about(workload.spec->name + " " + workload.key() + ": the default of " + knob.name,
                   value.error());
    // As the list spells it, so that a space finds it: 4.0 of a real division is the value 4.
    const Value* listed = spec::find_value(knob.values, *value);
    values.push_back(listed ? *listed : *value);
  }
  return values;
}

bool fixes_size(const Knob& knob, const Value& value) {
  return knob.size && !spec::same_value(value, Value{std::int64_t{0}});
}

Result<std::string> bind_instance(const KernelSource& source, const Workload& workload,
                                  const KnobValues& knobs) {
  LATHE_CHECK(check_knob_count(workload, knobs));
  const TuningSpec& spec = *workload.spec;
  std::map<std::string, std::string> texts;
  for (const auto& [name, size] : workload.problem.dimensions)
    texts[name] = std::to_string(size);
  for (const auto& [name, dtype] : workload.types)
    texts[name] = dtype_cxx(dtype);
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    const Knob& knob = spec.knobs[i];
    texts[knob.name] = literal(knob, knobs[i]);
    if (!fixes_size(knob, knobs[i]))
      continue;
    const auto size = knob.size->evaluate_integer(lookup_in(workload));
    if (!size.ok())
      return about(spec.name + " " + workload.key() + ": the size of " + knob.name, size.error());
    texts[knob.name] = std::to_string(*size);
  }
  LATHE_TRY(std::string instance, chosen_instance(source, workload, knobs));
  std::size_t from = 0;
  for (const std::string& name : spec::placeholders(instance)) {
    const auto text = texts.find(name);
    if (text == texts.end()) {
      std::vector<std::string> known;
      for (const auto& entry : texts)
        known.push_back(entry.first);
      return usage_error(spec.name + ": " + instance, "the name {" + name + "} is unknown",
                         suggestion(name, known));
    }
    const std::size_t at = instance.find("{" + name + "}", from);
    instance.replace(at, name.size() + 2, text->second);
    from = at + text->second.size();
  }
  return instance;
}

} // namespace lathe
