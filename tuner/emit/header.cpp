// The dispatch header: raw kernel and template in namespaces of their own, a table of winners, select() and
// launch().
#include "tuner/emit/cxx_expression.h"
#include "tuner/emit/emit.h"
#include "tuner/emit/header_source.h"

#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/device/device.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace lathe {
namespace {

using Types = std::map<std::string, std::string>;

// A configuration that some row uses, for one choice of types.
struct HeaderConfiguration {
  Types types;
  KnobValues knobs;
  std::string architecture; // whose limits its conditions are checked against
};

struct HeaderRow {
  std::size_t device = 0;
  std::size_t types = 0;
  Problem problem;
  int configuration = -1; // -1: the raw kernel
  const StoredWinner* winner = nullptr;
};

std::string identifier(std::string text) {
  for (char& letter : text)
    if (!std::isalnum(static_cast<unsigned char>(letter)))
      letter = '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())))
    text = "_" + text;
  return text;
}

// A gain counts when its interval and its size lie beyond what the raw kernel shows against itself.
bool is_gain(const Comparison& comparison) {
  return comparison.ratio_low > 1 && comparison.ratio - 1 > comparison.noise_band;
}

// What the expressions of the header may mention, and how each is spelled there.
CxxName cxx_names(const TuningSpec& spec, const Types& types, const KnobValues& knobs,
                  const std::map<std::string, Value>& limits) {
  std::map<std::string, std::string> names;
  for (const std::string& dimension : spec.dimensions)
    names[dimension] = "p." + dimension;
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

// Dimensions that decide how many blocks the raw kernel has and nothing else about its launch: a
// configuration that is good for some blocks is good for about as many. All others change what a block does.
std::set<std::string> counting_dimensions(const TuningSpec& spec) {
  const auto add_names = [](const Expression& expression, std::set<std::string>& names) {
    for (const std::string& name : expression.names())
      names.insert(name);
  };
  std::set<std::string> counts, others;
  for (const Expression& axis : spec.reference.launch.grid)
    add_names(axis, counts);
  for (const KernelSource* source : {&spec.reference, &spec.kernel}) {
    for (const Expression& axis : source->launch.block)
      add_names(axis, others);
    add_names(source->launch.shared_bytes, others);
  }
  for (const Knob& knob : spec.knobs)
    add_names(knob.default_value, others);
  for (const std::string& name : others)
    counts.erase(name);
  return counts;
}

class HeaderWriter {
public:
  HeaderWriter(const TuningSpec& spec, const std::vector<StoredWinner>& winners, const HeaderOptions& options)
      : spec_(spec), winners_(winners), options_(options) {}

  Result<std::string> write();

private:
  Status collect();
  Result<std::string> launcher(const std::string& function, const KernelSource& source, const Types& types,
                               const KnobValues& knobs) const;
  Result<std::string> validity(std::size_t index) const;
  Result<std::string> kernel_namespace(const std::string& name, const KernelSource& source,
                                       const std::string& launchers, HeaderSource& parts) const;
  std::string comment() const;
  std::string tables() const;
  Result<std::string> public_functions() const;
  std::string parameters(const Types& types) const;
  std::string argument_names() const;
  Result<Workload> sample_workload(const Types& types) const;

  const TuningSpec& spec_;
  const std::vector<StoredWinner>& winners_;
  const HeaderOptions& options_;
  std::vector<std::pair<std::string, std::string>> devices_; // name, architecture
  std::vector<Types> types_;
  std::vector<HeaderConfiguration> configurations_;
  std::vector<HeaderRow> rows_;
};

Status HeaderWriter::collect() {
  if (spec_.reference.file.empty())
    return Error{"cannot export " + spec_.name, "the specification names no raw kernel to fall back to",
                 "give it a reference"};
  // Every choice of types gets a launch(): without rows of its own it runs the raw kernel.
  types_.push_back({});
  for (const TypeParameter& parameter : spec_.types) {
    std::vector<Types> extended;
    for (const Types& choice : types_)
      for (const std::string& dtype : parameter.dtypes) {
        extended.push_back(choice);
        extended.back()[parameter.name] = dtype;
      }
    types_ = std::move(extended);
  }
  for (const StoredWinner& winner : winners_) {
    if (winner.is_host && !options_.allow_host)
      continue;
    const bool gain = is_gain(winner.comparison);
    // Report-only problems never choose a configuration; they may only keep one from being used.
    if (winner.problem.role == ProblemRole::report && gain)
      continue;
    const std::pair device(winner.key.device, winner.architecture);
    const auto known_device_row = std::find(devices_.begin(), devices_.end(), device);
    const std::size_t device_index = static_cast<std::size_t>(known_device_row - devices_.begin());
    if (known_device_row == devices_.end())
      devices_.push_back(device);
    const auto known_types = std::find(types_.begin(), types_.end(), winner.types);
    const std::size_t types_index = static_cast<std::size_t>(known_types - types_.begin());
    if (known_types == types_.end())
      types_.push_back(winner.types);
    HeaderRow row{device_index, types_index, winner.problem, -1, &winner};
    if (gain) {
      const auto same =
          std::find_if(configurations_.begin(), configurations_.end(), [&](const HeaderConfiguration& c) {
            return c.types == winner.types && c.knobs == winner.knobs &&
                   c.architecture == winner.architecture;
          });
      row.configuration = static_cast<int>(same - configurations_.begin());
      if (same == configurations_.end())
        configurations_.push_back({winner.types, winner.knobs, winner.architecture});
    }
    rows_.push_back(row);
  }
  if (rows_.empty())
    return Error{"cannot export " + spec_.name,
                 "every result in the store is a host-executor result, not a GPU's",
                 "tune on a GPU, or give --allow-host to write them all the same"};
  return Done{};
}

// Any problem of the specification: types and options are what is wanted of it, the geometry stays symbolic.
Result<Workload> HeaderWriter::sample_workload(const Types& types) const {
  Problem problem;
  if (!rows_.empty())
    problem = rows_.front().problem;
  return bind_workload(spec_, problem, types, {});
}

std::string HeaderWriter::parameters(const Types& types) const {
  std::string text;
  for (const Argument& argument : spec_.arguments) {
    const auto bound = types.find(argument.dtype);
    std::string type = dtype_cxx(bound == types.end() ? argument.dtype : bound->second);
    if (argument.is_buffer)
      type = (argument.direction == Direction::in ? "const " : "") + type + "*";
    text += ", " + type + " " + argument.name;
  }
  return text;
}

std::string HeaderWriter::argument_names() const {
  std::string text;
  for (const Argument& argument : spec_.arguments)
    text += ", " + argument.name;
  return text;
}

Result<std::string> HeaderWriter::launcher(const std::string& function, const KernelSource& source,
                                           const Types& types, const KnobValues& knobs) const {
  LATHE_TRY(const Workload workload, sample_workload(types));
  LATHE_TRY(const std::string instance, bind_instance(source, workload, knobs));
  const CxxName names = cxx_names(spec_, types, knobs, {});
  std::string geometry[7];
  for (int i = 0; i < 3; ++i) {
    LATHE_TRY(geometry[i], cxx_expression(source.launch.grid[static_cast<std::size_t>(i)], names));
    LATHE_TRY(geometry[3 + i], cxx_expression(source.launch.block[static_cast<std::size_t>(i)], names));
  }
  LATHE_TRY(geometry[6], cxx_expression(source.launch.shared_bytes, names));
  std::string arguments;
  for (const Argument& argument : spec_.arguments) {
    if (argument.is_buffer && argument.direction == Direction::in) // the kernel may lack the const
      arguments +=
          fmt::format(", const_cast<{}*>({})",
                      dtype_cxx(types.contains(argument.dtype) ? types.at(argument.dtype) : argument.dtype),
                      argument.name);
    else
      arguments += ", " + argument.name;
  }
  return fmt::format(R"(
[[maybe_unused]] inline cudaError_t {}([[maybe_unused]] const problem& p, cudaStream_t stream{}) {{
  return launch_kernel({},
                       {}, {}, {},
                       {}, {}, {},
                       {}, stream{});
}}
)",
                     function, parameters(types), instance, geometry[0], geometry[1], geometry[2],
                     geometry[3], geometry[4], geometry[5], geometry[6], arguments);
}

Result<std::string> HeaderWriter::validity(std::size_t index) const {
  const HeaderConfiguration& configuration = configurations_[index];
  std::map<std::string, Value> limits;
  if (const auto device = known_device(configuration.architecture); device.ok())
    limits = device->limits();
  const CxxName names = cxx_names(spec_, configuration.types, configuration.knobs, limits);
  std::string body = "true";
  for (const Condition& condition : spec_.conditions) {
    LATHE_TRY(const std::string text, cxx_expression(condition.expression, names));
    body += "\n         && " + text;
  }
  return fmt::format(
      "[[maybe_unused]] inline bool admits_{}([[maybe_unused]] const problem& p) {{\n  return {};\n}}\n",
      index, body);
}

Result<std::string> HeaderWriter::kernel_namespace(const std::string& name, const KernelSource& source,
                                                   const std::string& launchers, HeaderSource& parts) const {
  LATHE_TRY(const std::string text, read_file(source.file));
  HeaderSource split = split_source(text);
  std::string result;
  for (const std::string& macro : split.macros)
    result += fmt::format("#pragma push_macro(\"{}\")\n#undef {}\n", macro, macro);
  result += "namespace " + name + " {\n" + split.body + launchers + "\n} // namespace " + name + "\n";
  for (const std::string& macro : split.macros)
    result += fmt::format("#undef {}\n#pragma pop_macro(\"{}\")\n", macro, macro);
  for (const std::string& include : split.includes)
    if (std::find(parts.includes.begin(), parts.includes.end(), include) == parts.includes.end())
      parts.includes.push_back(include);
  return result;
}

std::string HeaderWriter::comment() const {
  const bool host =
      std::any_of(rows_.begin(), rows_.end(), [](const HeaderRow& row) { return row.winner->is_host; });
  std::string text = fmt::format("// {}: tuned configurations, written by Lathe {}. Do not edit.\n",
                                 spec_.name, LATHE_VERSION);
  if (host)
    text += "// HOST-EXECUTOR TIMES: some rows below were measured without a GPU; they say nothing about GPU "
            "speed.\n";
  text += "// Write it again with: " + options_.command + "\n//\n";
  text += "// LATHE_TEMPLATE_SHA1 " + spec_.template_hash + "\n";
  text += "// Source: " + spec_.provenance.source_file + " " + spec_.provenance.source_hash + "\n//\n";
  text += "// device | problem | raw us | tuned us | raw / tuned | A/A band | configuration\n";
  for (const HeaderRow& row : rows_) {
    std::string knobs;
    for (std::size_t i = 0; i < row.winner->knob_names.size() && i < row.winner->knobs.size(); ++i)
      knobs += " " + row.winner->knob_names[i] + "=" + to_string(row.winner->knobs[i]);
    const Comparison& comparison = row.winner->comparison;
    text += fmt::format("// {} | {} | {:.2f} | {:.2f} | {:.3f} | {:.1f} % |{}\n", row.winner->key.device,
                        row.winner->key.workload, comparison.raw.median_us, comparison.tuned.median_us,
                        comparison.ratio, 100 * comparison.noise_band,
                        row.configuration < 0 ? " raw kernel (no gain beyond the noise)" : knobs);
  }
  return text;
}

std::string HeaderWriter::tables() const {
  std::string text = "struct device_entry {\n  const char* name;\n  int major, minor;\n};\ninline constexpr "
                     "device_entry devices[] = {\n";
  for (const auto& [name, architecture] : devices_) {
    const std::string digits = architecture.starts_with("sm_") ? architecture.substr(3) : "00";
    text += fmt::format("    {{\"{}\", {}, {}}},\n", name, digits.substr(0, digits.size() - 1),
                        digits.substr(digits.size() - 1));
  }
  text += "};\n\n// types: which choice of type parameters; configuration: -1 is the raw kernel.\n";
  text += "struct row {\n  int device, types;\n  problem at;\n  int configuration;\n};\ninline constexpr row "
          "table[] = {\n";
  for (const HeaderRow& row : rows_) {
    std::string dimensions;
    for (const std::string& name : spec_.dimensions) {
      const auto value = row.problem.dimensions.find(name);
      dimensions += (dimensions.empty() ? "" : ", ") +
                    std::to_string(value == row.problem.dimensions.end() ? 0 : value->second);
    }
    text +=
        fmt::format("    {{{}, {}, {{{}}}, {}}},\n", row.device, row.types, dimensions, row.configuration);
  }
  return text + "};\n";
}

Result<std::string> HeaderWriter::public_functions() const {
  std::string text;
  std::string admits =
      "inline bool admits(int configuration, const problem& p) {\n  switch (configuration) {\n";
  for (std::size_t i = 0; i < configurations_.size(); ++i) {
    LATHE_TRY(const std::string function, validity(i));
    text += function;
    admits += fmt::format("  case {}:\n    return admits_{}(p);\n", i, i);
  }
  text += "[[maybe_unused]] " + admits + "  default:\n    return false;\n  }\n}\n";

  const std::set<std::string> counts = counting_dimensions(spec_);
  std::string extent, alike, equal;
  for (const std::string& name : spec_.dimensions) {
    if (counts.contains(name))
      extent += fmt::format(" * static_cast<double>(p.{})", name);
    else
      alike += fmt::format(" && a.{0} == b.{0}", name);
    equal += fmt::format(" && a.{0} == b.{0}", name);
  }
  text += fmt::format(R"(
// How much of the same work a problem is: the sizes that only decide the number of blocks.
[[maybe_unused]] inline double extent([[maybe_unused]] const problem& p) {{ return 1.0{}; }}
// Whether two problems differ in the amount of work alone.
[[maybe_unused]] inline bool alike([[maybe_unused]] const problem& a, [[maybe_unused]] const problem& b) {{ return true{}; }}
[[maybe_unused]] inline bool equal([[maybe_unused]] const problem& a, [[maybe_unused]] const problem& b) {{ return true{}; }}

)",
                      extent, alike, equal);
  text +=
      R"(// The table's device for the current one: the same name, else the same architecture, else -1. Asked of the driver once a
// device and remembered.
[[maybe_unused]] inline int current_device() {
  constexpr int remembered = 64;
  static std::atomic<int> known[remembered] = {}; // 0: not asked yet; otherwise the answer + 2
  int ordinal = 0;
  if (cudaGetDevice(&ordinal) != cudaSuccess)
    return -1;
  if (ordinal < remembered) {
    const int answer = known[ordinal].load(std::memory_order_relaxed);
    if (answer != 0)
      return answer - 2;
  }
  cudaDeviceProp properties;
  int found = -1;
  if (cudaGetDeviceProperties(&properties, ordinal) == cudaSuccess) {
    constexpr int count = static_cast<int>(sizeof devices / sizeof devices[0]);
    for (int i = 0; i < count && found < 0; ++i)
      if (std::strcmp(devices[i].name, properties.name) == 0)
        found = i;
    for (int i = 0; i < count && found < 0; ++i)
      if (devices[i].major == properties.major && devices[i].minor == properties.minor)
        found = i;
  }
  if (ordinal < remembered)
    known[ordinal].store(found + 2, std::memory_order_relaxed);
  return found;
}

// Beyond the smallest and the largest measured amount of work, configurations are trusted up to this factor.
inline constexpr double trusted_beyond = 4;

// The configuration for a problem on a device of the table; -1: the raw kernel. A measured problem gets what was measured
// for it. Between two measured problems that differ from it in the amount of work alone, the nearer one's configuration is
// taken, provided that the raw kernel was beaten at both; everywhere else the raw kernel runs.
[[maybe_unused]] inline int select(int device, int types, const problem& p) {
  const row* below = nullptr;
  const row* above = nullptr;
  const double wanted = extent(p);
  for (const row& candidate : table) {
    if (candidate.device != device || candidate.types != types || !alike(candidate.at, p))
      continue;
    if (equal(candidate.at, p)) {
      below = above = &candidate;
      break;
    }
    const double at = extent(candidate.at);
    if (at <= wanted && (below == nullptr || at > extent(below->at)))
      below = &candidate;
    if (at >= wanted && (above == nullptr || at < extent(above->at)))
      above = &candidate;
  }
  if (below == nullptr && above == nullptr)
    return -1;
  if (below == nullptr || above == nullptr) {
    below = above = below == nullptr ? above : below;
    const double at = extent(below->at);
    if (wanted > at * trusted_beyond || at > wanted * trusted_beyond)
      return -1;
  }
  if (below->configuration < 0 || above->configuration < 0)
    return -1;
  const bool is_nearer_below = wanted * wanted <= extent(below->at) * extent(above->at);
  const row* nearer = is_nearer_below ? below : above;
  const row* other = is_nearer_below ? above : below;
  if (admits(nearer->configuration, p))
    return nearer->configuration;
  return admits(other->configuration, p) ? other->configuration : -1;
}
)";
  for (std::size_t t = 0; t < types_.size(); ++t) {
    text +=
        fmt::format("\n// Launches the kernel for problem `p`: the tuned configuration where one applies, "
                    "else the raw kernel.\n"
                    "[[maybe_unused]] inline cudaError_t launch(const problem& p, cudaStream_t stream{}) {{\n"
                    "  switch (select(current_device(), {}, p)) {{\n",
                    parameters(types_[t]), t);
    for (std::size_t c = 0; c < configurations_.size(); ++c)
      if (configurations_[c].types == types_[t])
        text +=
            fmt::format("  case {}:\n    return tuned::launch_{}(p, stream{});\n", c, c, argument_names());
    text +=
        fmt::format("  default:\n    return raw::launch_{}(p, stream{});\n  }}\n}}\n", t, argument_names());
    text += fmt::format(
        "\n// The raw kernel with its own launch, for comparison.\n"
        "[[maybe_unused]] inline cudaError_t launch_raw(const problem& p, cudaStream_t stream{}) {{\n"
        "  return raw::launch_{}(p, stream{});\n}}\n",
        parameters(types_[t]), t, argument_names());
  }
  return text;
}

Result<std::string> HeaderWriter::write() {
  LATHE_CHECK(collect());
  HeaderSource parts;
  std::string raw_launchers, tuned_launchers;
  for (std::size_t t = 0; t < types_.size(); ++t) {
    LATHE_TRY(const std::string text, launcher(fmt::format("launch_{}", t), spec_.reference, types_[t], {}));
    raw_launchers += text;
  }
  for (std::size_t c = 0; c < configurations_.size(); ++c) {
    LATHE_TRY(const std::string text, launcher(fmt::format("launch_{}", c), spec_.kernel,
                                               configurations_[c].types, configurations_[c].knobs));
    tuned_launchers += text;
  }
  LATHE_TRY(const std::string raw, kernel_namespace("raw", spec_.reference, raw_launchers, parts));
  std::string tuned;
  if (!configurations_.empty()) {
    LATHE_TRY(tuned, kernel_namespace("tuned", spec_.kernel, tuned_launchers, parts));
  }
  LATHE_TRY(const std::string functions, public_functions());

  std::string dimensions;
  for (const std::string& name : spec_.dimensions)
    dimensions += "  long long " + name + ";\n";
  for (const char* include :
       {"#include <atomic>", "#include <cstdint>", "#include <cstring>", "#include <cuda_runtime.h>"})
    if (std::find(parts.includes.begin(), parts.includes.end(), include) == parts.includes.end())
      parts.includes.emplace_back(include);
  std::sort(parts.includes.begin(), parts.includes.end());
  std::string text = comment() + "#pragma once\n\n";
  for (const std::string& include : parts.includes)
    text += include + "\n";
  // Everything has internal linkage: the header may be in any number of translation units.
  text += fmt::format(R"(
namespace lathe_tuned {{
namespace {0} {{
namespace {{

inline constexpr char template_sha1[] = "{1}";

// The sizes that decide which configuration runs.
struct problem {{
{2}}};

inline constexpr long long max_threads_per_block = 1024;
inline constexpr long long shared_bytes_without_opt_in = 48 << 10;

[[maybe_unused]] inline constexpr long long minimum(long long a, long long b) {{ return a < b ? a : b; }}
[[maybe_unused]] inline constexpr long long maximum(long long a, long long b) {{ return a > b ? a : b; }}
[[maybe_unused]] inline constexpr long long absolute(long long a) {{ return a < 0 ? -a : a; }}
[[maybe_unused]] inline constexpr long long ceil_div(long long a, long long b) {{ return (a + b - 1) / b; }}
[[maybe_unused]] inline constexpr long long greatest_divisor(long long a, long long b) {{ return b == 0 ? a : greatest_divisor(b, a % b); }}
[[maybe_unused]] inline constexpr long long logarithm2(long long a) {{ return a <= 1 ? 0 : 1 + logarithm2(a / 2); }}
[[maybe_unused]] inline constexpr bool power_of_two(long long a) {{ return a > 0 && (a & (a - 1)) == 0; }}

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
  return cudaLaunchKernelEx(&configuration, kernel, static_cast<Expected>(arguments)...);
}}

)",
                      identifier(spec_.name), spec_.template_hash, dimensions);
  text += raw + "\n" + tuned + "\n" + tables() + "\n" + functions;
  text += fmt::format("\n}} // namespace\n}} // namespace {}\n}} // namespace lathe_tuned\n",
                      identifier(spec_.name));
  return text;
}

} // namespace

Result<std::string> emit_header(const TuningSpec& spec, const std::vector<StoredWinner>& winners,
                                const HeaderOptions& options) {
  return HeaderWriter(spec, winners, options).write();
}

} // namespace lathe
