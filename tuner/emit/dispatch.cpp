#include "tuner/emit/dispatch.h"

#include "tuner/emit/launcher.h"
#include "tuner/expression/expression_tree.h"
#include "tuner/spec/instance.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace lathe {
namespace {

std::size_t mentions(const ExpressionNode& node) {
  std::size_t count = node.operation == Operation::name ? 1 : 0;
  for (const ExpressionNode& child : node.children)
    count += mentions(child);
  return count;
}

// Comparisons with bounds, and arithmetic that grows or falls with each of its operands.
bool is_monotone(const ExpressionNode& node) {
  static const std::set<Operation> monotone{
      Operation::constant,   Operation::name,     Operation::choose,   Operation::compare,
      Operation::add,        Operation::multiply, Operation::subtract, Operation::divide_truncate,
      Operation::logical_not};
  const auto is_bound = [](ComparisonOperator sign) {
    return sign == ComparisonOperator::less || sign == ComparisonOperator::less_equal ||
           sign == ComparisonOperator::greater || sign == ComparisonOperator::greater_equal;
  };
  return monotone.contains(node.operation) && node.comparisons.size() <= 1 &&
         std::ranges::all_of(node.comparisons, is_bound) && std::ranges::all_of(node.children, is_monotone);
}

// Whether it has one value below some bound of each dimension and another above: no name is mentioned twice.
bool is_threshold(const Expression& expression) {
  return mentions(expression.root()) == expression.names().size() && is_monotone(expression.root());
}

// Dimensions that decide how many blocks the raw kernel has and nothing else about its launch: a
// configuration that is good for some blocks is good for about as many. All others change what a block does.
// The threshold between two raw kernels is no such change: a configuration that beat the raw side on either
// side of a size was compared with each kernel that the raw launcher may take there.
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
  std::set<std::string> choices;
  if (const auto cases = spec::instance_cases(spec.reference.instance); cases.ok())
    for (const spec::InstanceCase& one : *cases)
      if (one.when)
        add_names(*one.when, choices);
  for (const Knob& knob : spec.knobs)
    if (!choices.contains(knob.name) || !is_threshold(knob.default_value))
      add_names(knob.default_value, others);
  for (const std::string& name : others)
    counts.erase(name);
  return counts;
}

} // namespace

std::string dispatch_tables(const TuningSpec& spec, const WinningTable& table) {
  std::string text = "struct device_entry {\n  const char* name;\n  int major, minor;\n};\ninline constexpr "
                     "device_entry devices[] = {\n";
  for (const auto& [name, architecture] : table.devices) {
    const std::string digits = architecture.starts_with("sm_") ? architecture.substr(3) : "00";
    text += fmt::format("    {{\"{}\", {}, {}}},\n", name, digits.substr(0, digits.size() - 1),
                        digits.substr(digits.size() - 1));
  }
  text += "};\n\n// types: which choice of type parameters; configuration: -1 is the raw kernel; wide: it "
          "gained so much "
          "that it is\n// used on another GPU of the architecture, too.\n";
  text += "struct row {\n  int device, types;\n  problem at;\n  int configuration;\n  bool wide;\n};\ninline "
          "constexpr row table[] = {\n";
  for (const TableRow& row : table.rows) {
    std::string dimensions;
    for (const std::string& name : open_dimensions(spec)) {
      const auto value = row.problem.dimensions.find(name);
      dimensions += (dimensions.empty() ? "" : ", ") +
                    std::to_string(value == row.problem.dimensions.end() ? 0 : value->second);
    }
    text += fmt::format("    {{{}, {}, {{{}}}, {}, {}}},\n", row.device, row.types, dimensions,
                        row.configuration, is_wide_gain(row.winner->comparison));
  }
  return text + "};\n";
}

Result<std::string> dispatch_functions(const TuningSpec& spec, const WinningTable& table) {
  std::string text;
  std::string admits =
      "inline bool admits(int configuration, const problem& p) {\n  switch (configuration) {\n";
  for (std::size_t i = 0; i < table.configurations.size(); ++i) {
    LATHE_TRY(const std::string condition, admission(spec, table.configurations[i]));
    text += fmt::format(
        "[[maybe_unused]] inline bool admits_{}([[maybe_unused]] const problem& p) {{\n  return {};\n}}\n", i,
        condition);
    admits += fmt::format("  case {}:\n    return admits_{}(p);\n", i, i);
  }
  text += "[[maybe_unused]] " + admits + "  default:\n    return false;\n  }\n}\n";

  const std::set<std::string> counts = counting_dimensions(spec);
  std::string extent, alike, equal;
  for (const std::string& name : open_dimensions(spec)) {
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
      R"(inline constexpr int device_count = static_cast<int>(sizeof devices / sizeof devices[0]);

// The table's device for the current one: of the same name its index; else of the same architecture its index +
// device_count; else -1. Asked of the driver once a device and remembered.
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
    for (int i = 0; i < device_count && found < 0; ++i)
      if (std::strcmp(devices[i].name, properties.name) == 0)
        found = i;
    for (int i = 0; i < device_count && found < 0; ++i)
      if (devices[i].major == properties.major && devices[i].minor == properties.minor)
        found = i + device_count;
  }
  if (ordinal < remembered)
    known[ordinal].store(found + 2, std::memory_order_relaxed);
  return found;
}

// Beyond the smallest and the largest measured amount of work, configurations are trusted up to this factor.
inline constexpr double trusted_beyond = 4;

// The configuration for a problem on a device of the table; -1: the raw kernel. A measured problem gets what was measured
// for it. Between two measured problems that differ from it in the amount of work alone, the nearer one's configuration is
// taken, provided that the raw kernel was beaten at both; everywhere else the raw kernel runs. `device` as current_device()
// gives it: a GPU that was not measured itself gets only what gained much on the one that was.
[[maybe_unused]] inline int select(int device, int types, const problem& p) {
  const bool is_measured = device < device_count;
  if (!is_measured)
    device -= device_count;
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
  if (!is_measured && !(below->wide && above->wide))
    return -1;
  const bool is_nearer_below = wanted * wanted <= extent(below->at) * extent(above->at);
  const row* nearer = is_nearer_below ? below : above;
  const row* other = is_nearer_below ? above : below;
  if (admits(nearer->configuration, p))
    return nearer->configuration;
  return admits(other->configuration, p) ? other->configuration : -1;
}
)";
  for (std::size_t t = 0; t < table.types.size(); ++t) {
    text +=
        fmt::format("\n// Launches the kernel for problem `p`: the tuned configuration where one applies, "
                    "else the raw kernel.\n"
                    "[[maybe_unused]] inline cudaError_t launch(const problem& p, cudaStream_t stream{}) {{\n"
                    "  switch (select(current_device(), {}, p)) {{\n",
                    parameters(spec, table.types[t]), t);
    for (std::size_t c = 0; c < table.configurations.size(); ++c)
      if (table.configurations[c].types == table.types[t])
        text += fmt::format("  case {}:\n    return tuned::launch_{}(p, stream{});\n", c, c,
                            argument_names(spec));
    text += fmt::format("  default:\n    return raw::launch_{}(p, stream{});\n  }}\n}}\n", t,
                        argument_names(spec));
    text += fmt::format(
        "\n// The raw kernel with its own launch, for comparison.\n"
        "[[maybe_unused]] inline cudaError_t launch_raw(const problem& p, cudaStream_t stream{}) {{\n"
        "  return raw::launch_{}(p, stream{});\n}}\n",
        parameters(spec, table.types[t]), t, argument_names(spec));
  }
  return text;
}

} // namespace lathe
