#include "tuner/emit/launcher.h"

#include "tuner/device/device.h"
#include "tuner/spec/instance.h"

#include <cctype>
#include <fmt/format.h>
#include <set>

namespace lathe {

std::string identifier(std::string text) {
  for (char& letter : text)
    if (!std::isalnum(static_cast<unsigned char>(letter)))
      letter = '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())))
    text = "_" + text;
  return text;
}

namespace {

// Limits that the CUDA runtime tells, as its header's users ask for them: "device.multiprocessors".
std::string asked_limit(std::string_view name) {
  static const std::map<std::string_view, const char*> attributes{
      {"device.multiprocessors", "cudaDevAttrMultiProcessorCount"},
      {"device.max_threads_per_block", "cudaDevAttrMaxThreadsPerBlock"},
      {"device.max_threads_per_sm", "cudaDevAttrMaxThreadsPerMultiProcessor"},
      {"device.max_blocks_per_sm", "cudaDevAttrMaxBlocksPerMultiprocessor"},
      {"device.warp_size", "cudaDevAttrWarpSize"},
      {"device.registers_per_block", "cudaDevAttrMaxRegistersPerBlock"},
      {"device.registers_per_sm", "cudaDevAttrMaxRegistersPerMultiprocessor"},
      {"device.shared_per_block", "cudaDevAttrMaxSharedMemoryPerBlock"},
      {"device.shared_per_block_optin", "cudaDevAttrMaxSharedMemoryPerBlockOptin"},
      {"device.shared_per_sm", "cudaDevAttrMaxSharedMemoryPerMultiprocessor"}};
  const auto found = attributes.find(name);
  return found == attributes.end() ? "" : fmt::format("device_limit<{}>()", found->second);
}

// The names of a launch: those of the problem, limits of the device that runs it, and, where no configuration
// is given, the knobs' defaults.
CxxName launch_names(const TuningSpec& spec, const Types& types, const KnobValues& knobs) {
  const CxxName known = cxx_names(spec, types, knobs, {});
  const CxxName outside = [known](std::string_view name) -> std::optional<std::string> {
    if (const auto spelled = known(name))
      return spelled;
    const std::string asked = asked_limit(name);
    return asked.empty() ? std::nullopt : std::optional(asked);
  };
  if (!knobs.empty())
    return outside;
  return [&spec, outside](std::string_view name) -> std::optional<std::string> {
    const Knob* knob = spec.find_knob(name);
    if (!knob)
      return outside(name);
    const auto usual = cxx_expression(knob->default_value, outside);
    return usual.ok() ? std::optional(*usual) : std::nullopt;
  };
}

} // namespace

std::vector<std::string> open_dimensions(const TuningSpec& spec) {
  std::vector<std::string> open;
  for (const std::string& name : spec.dimensions)
    if (!spec.find_text_size(name))
      open.push_back(name);
  return open;
}

CxxName cxx_names(const TuningSpec& spec, const Types& types, const KnobValues& knobs,
                  const std::map<std::string, Value>& limits) {
  std::map<std::string, std::string> names;
  for (const std::string& dimension : spec.dimensions)
    names[dimension] = "p." + dimension;
  for (const TextSize& size : spec.text_sizes) // its name is a macro in the kernel's text
    names[size.dimension] = std::to_string(size.value) + "LL";
  for (const auto& [parameter, dtype] : types)
    names["sizeof_" + parameter] = std::to_string(dtype_size(dtype)) + "LL";
  const auto spell = [](const Value& value) -> std::optional<std::string> {
    if (const auto* flag = std::get_if<bool>(&value))
      return *flag ? "1LL" : "0LL";
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      return std::to_string(*integer) + "LL";
    return std::nullopt;
  };
  for (const auto& [name, value] : limits)
    if (const auto text = spell(value))
      names[name] = *text;
  for (std::size_t i = 0; i < spec.knobs.size() && i < knobs.size(); ++i)
    if (const auto text = spell(knobs[i]))
      names[spec.knobs[i].name] = *text;
  return [names = std::move(names)](std::string_view name) -> std::optional<std::string> {
    const auto found = names.find(std::string(name));
    return found == names.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string parameters(const TuningSpec& spec, const Types& types) {
  std::string text;
  for (const Argument& argument : spec.arguments) {
    const auto bound = types.find(argument.dtype);
    std::string type = dtype_cxx(bound == types.end() ? argument.dtype : bound->second);
    if (argument.is_buffer)
      type = (argument.direction == Direction::in ? "const " : "") + type + "*";
    text += ", " + type + " " + argument.name;
  }
  return text;
}

std::string argument_names(const TuningSpec& spec) {
  std::string text;
  for (const Argument& argument : spec.arguments)
    text += ", " + argument.name;
  return text;
}

std::string launch_helpers(const TuningSpec& spec) {
  std::string dimensions;
  for (const std::string& name : open_dimensions(spec))
    dimensions += "  long long " + name + ";\n";
  return fmt::format(R"(// The sizes that decide which configuration runs.
struct problem {{
{0}}};

inline constexpr long long max_threads_per_block = 1024;
inline constexpr long long shared_bytes_without_opt_in = 48 << 10;

[[maybe_unused]] inline constexpr long long minimum(long long a, long long b) {{ return a < b ? a : b; }}
[[maybe_unused]] inline constexpr long long maximum(long long a, long long b) {{ return a > b ? a : b; }}
[[maybe_unused]] inline constexpr long long absolute(long long a) {{ return a < 0 ? -a : a; }}
[[maybe_unused]] inline constexpr long long ceil_div(long long a, long long b) {{ return (a + b - 1) / b; }}
[[maybe_unused]] inline constexpr long long greatest_divisor(long long a, long long b) {{ return b == 0 ? a : greatest_divisor(b, a % b); }}
[[maybe_unused]] inline constexpr long long logarithm2(long long a) {{ return a <= 1 ? 0 : 1 + logarithm2(a / 2); }}
[[maybe_unused]] inline constexpr bool power_of_two(long long a) {{ return a > 0 && (a & (a - 1)) == 0; }}

// A number of the current device, asked of the driver once a device and remembered.
template <cudaDeviceAttr ATTRIBUTE> inline long long device_limit() {{
  constexpr int remembered = 64;
  static std::atomic<int> known[remembered] = {{}}; // 0: not asked yet
  int ordinal = 0, value = 0;
  if (cudaGetDevice(&ordinal) != cudaSuccess)
    return 0;
  if (ordinal < remembered)
    value = known[ordinal].load(std::memory_order_relaxed);
  if (value == 0 && cudaDeviceGetAttribute(&value, ATTRIBUTE, ordinal) == cudaSuccess && ordinal < remembered)
    known[ordinal].store(value, std::memory_order_relaxed);
  return value;
}}

// int64_t is `long` to a kernel and `long long` to a table of types: the same bytes under another name.
template <typename Expected, typename Actual> inline Expected passed(Actual argument) {{
  if constexpr (std::is_pointer_v<Expected> && !std::is_convertible_v<Actual, Expected>) {{
    static_assert(sizeof(std::remove_pointer_t<Expected>) == sizeof(std::remove_pointer_t<Actual>), "elements of another size");
    return reinterpret_cast<Expected>(argument);
  }} else {{
    return static_cast<Expected>(argument);
  }}
}}

template <typename... Expected, typename... Actual>
inline cudaError_t launch_kernel(void (*kernel)(Expected...), long long grid_x, long long grid_y, long long grid_z, long long block_x,
                                 long long block_y, long long block_z, long long shared_bytes, cudaStream_t stream, Actual... arguments) {{
  if (grid_x == 0 || grid_y == 0 || grid_z == 0)
    return cudaSuccess; // nothing to do
  if (block_x <= 0 || block_y <= 0 || block_z <= 0 || block_x * block_y * block_z > max_threads_per_block)
    return cudaErrorInvalidConfiguration;
  if (shared_bytes > shared_bytes_without_opt_in) {{
    const cudaError_t allowed = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                     static_cast<int>(shared_bytes));
    if (allowed != cudaSuccess)
      return allowed;
  }}
  cudaLaunchConfig_t configuration = {{}};
  configuration.gridDim = dim3(static_cast<unsigned>(grid_x), static_cast<unsigned>(grid_y), static_cast<unsigned>(grid_z));
  configuration.blockDim = dim3(static_cast<unsigned>(block_x), static_cast<unsigned>(block_y), static_cast<unsigned>(block_z));
  configuration.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  configuration.stream = stream;
  return cudaLaunchKernelEx(&configuration, kernel, passed<Expected>(arguments)...);
}}
)",
                     dimensions);
}

std::vector<std::string> type_includes(const std::vector<Types>& choices, const TuningSpec& spec) {
  std::set<std::string> used;
  for (const Argument& argument : spec.arguments)
    used.insert(argument.dtype);
  for (const Types& choice : choices)
    for (const auto& [parameter, dtype] : choice)
      used.insert(dtype);
  std::vector<std::string> lines;
  if (used.contains("bf16"))
    lines.emplace_back("#include <cuda_bf16.h>");
  if (used.contains("f16"))
    lines.emplace_back("#include <cuda_fp16.h>");
  if (used.contains("e4m3") || used.contains("e5m2"))
    lines.emplace_back("#include <cuda_fp8.h>");
  return lines;
}

Result<std::string> launcher(const TuningSpec& spec, const std::string& name, const KernelSource& source,
                             const Types& types, const KnobValues& knobs, const Problem& problem) {
  const LaunchGeometry& launch = source.launch;
  const CxxName names = launch_names(spec, types, knobs);
  LATHE_TRY(const Workload any_workload, bind_workload(spec, problem, types, {}));
  std::string geometry[7];
  for (int i = 0; i < 3; ++i) {
    LATHE_TRY(geometry[i], cxx_expression(launch.grid[static_cast<std::size_t>(i)], names));
    LATHE_TRY(geometry[3 + i], cxx_expression(launch.block[static_cast<std::size_t>(i)], names));
  }
  LATHE_TRY(geometry[6], cxx_expression(launch.shared_bytes, names));
  std::string arguments;
  for (const Argument& argument : spec.arguments) {
    if (argument.is_buffer && argument.direction == Direction::in) // the kernel may lack the const
      arguments +=
          fmt::format(", const_cast<{}*>({})",
                      dtype_cxx(types.contains(argument.dtype) ? types.at(argument.dtype) : argument.dtype),
                      argument.name);
    else
      arguments += ", " + argument.name;
  }
  std::string text =
      fmt::format("\n[[maybe_unused]] inline cudaError_t {}([[maybe_unused]] const problem& p, "
                  "cudaStream_t stream{}) {{\n",
                  name, parameters(spec, types));
  const auto call = [&](const std::string& instance) {
    return fmt::format(R"(return launch_kernel({},
                       {}, {}, {},
                       {}, {}, {},
                       {}, stream{});
)",
                       instance, geometry[0], geometry[1], geometry[2], geometry[3], geometry[4], geometry[5],
                       geometry[6], arguments);
  };
  LATHE_TRY(const std::vector<spec::InstanceCase> cases, spec::instance_cases(source.instance));
  for (const spec::InstanceCase& one : cases) {
    if (one.when) {
      LATHE_TRY(const std::string condition, cxx_expression(*one.when, names));
      text += fmt::format("  if ({})\n  ", condition);
    }
    LATHE_TRY(const std::string instance,
              bind_instance({source.file, one.instance, {}, {}}, any_workload, knobs));
    text += "  " + call(instance);
  }
  return text + "}\n";
}

Result<std::string> admission(const TuningSpec& spec, const TableConfiguration& configuration) {
  std::map<std::string, Value> limits;
  if (const auto device = known_device(configuration.architecture); device.ok())
    limits = device->limits();
  const CxxName names = cxx_names(spec, configuration.types, configuration.knobs, limits);
  std::string body = "true";
  for (const Condition& condition : spec.conditions) {
    LATHE_TRY(const std::string text, cxx_expression(condition.expression, names));
    if (text != "true")
      body += "\n         && " + text;
  }
  LATHE_TRY(const Workload workload, bind_workload(spec, configuration.problem, configuration.types, {}));
  for (std::size_t i = 0; i < spec.knobs.size() && i < configuration.knobs.size(); ++i) {
    const Knob& knob = spec.knobs[i];
    if (!fixes_size(knob, configuration.knobs[i]))
      continue;
    LATHE_TRY(const std::string text, cxx_expression(*knob.size, names));
    LATHE_TRY(const std::int64_t value,
              knob.size->evaluate_integer([&](std::string_view name) { return workload.lookup(name); }));
    body += fmt::format("\n         && ({}) == {}", text, value);
  }
  return body;
}

} // namespace lathe
