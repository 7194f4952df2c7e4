// The dispatch header: raw kernel and template in namespaces of their own, a table of winners, select() and
// launch().
#include "tuner/emit/dispatch.h"
#include "tuner/emit/emit.h"
#include "tuner/emit/header_source.h"
#include "tuner/emit/launcher.h"
#include "tuner/emit/winning_table.h"

#include "tuner/base/files.h"

#include <algorithm>
#include <fmt/format.h>

namespace lathe {
namespace {

// The including file's macros of these names stand aside between the two texts: `#define N 1024` is not meant
// for a dimension N.
struct Aside {
  std::string begin, end;
};
Aside set_aside(const std::vector<std::string>& names) {
  Aside aside;
  for (const std::string& name : names) {
    aside.begin += fmt::format("#pragma push_macro(\"{}\")\n#undef {}\n", name, name);
    aside.end += fmt::format("#undef {}\n#pragma pop_macro(\"{}\")\n", name, name);
  }
  return aside;
}

// What a template declares for some of its configurations the others leave unused: no reason to stop a build
// that takes warnings for errors.
constexpr const char* QUIET_BEGIN = "#if defined(__clang__)\n"
                                    "#pragma clang diagnostic push\n"
                                    "#pragma clang diagnostic ignored \"-Wunused-variable\"\n"
                                    "#endif\n"
                                    "#ifdef __NVCC_DIAG_PRAGMA_SUPPORT__\n"
                                    "#pragma nv_diagnostic push\n"
                                    "#pragma nv_diag_suppress 177\n"
                                    "#endif\n";
constexpr const char* QUIET_END = "#ifdef __NVCC_DIAG_PRAGMA_SUPPORT__\n"
                                  "#pragma nv_diagnostic pop\n"
                                  "#endif\n"
                                  "#if defined(__clang__)\n"
                                  "#pragma clang diagnostic pop\n"
                                  "#endif\n";

// The names that the header declares after the specification.
std::vector<std::string> own_names(const TuningSpec& spec) {
  std::vector<std::string> names = spec.dimensions;
  for (const Knob& knob : spec.knobs)
    names.push_back(knob.name);
  for (const TypeParameter& type : spec.types)
    names.push_back(type.name);
  return names;
}

// The text of a kernel and its launchers in a namespace; its includes are left to `parts`.
Result<std::string> kernel_namespace(const std::string& name, const KernelSource& source,
                                     const std::string& launchers, HeaderSource& parts) {
  LATHE_TRY(const std::string text, read_file(source.file));
  HeaderSource split = split_source(text);
  const Aside macros = set_aside(split.macros);
  const std::string result = macros.begin + "namespace " + name + " {\n" + split.body + launchers +
                             "\n} // namespace " + name + "\n" + macros.end;
  for (const std::string& include : split.includes)
    if (std::find(parts.includes.begin(), parts.includes.end(), include) == parts.includes.end())
      parts.includes.push_back(include);
  return result;
}

std::string comment(const TuningSpec& spec, const WinningTable& table, const HeaderOptions& options) {
  const bool host = std::any_of(table.rows.begin(), table.rows.end(),
                                [](const TableRow& row) { return row.winner->is_host; });
  std::string text = fmt::format("// {}: tuned configurations, written by Lathe {}. Do not edit.\n",
                                 spec.name, LATHE_VERSION);
  if (host)
    text += "// HOST-EXECUTOR TIMES: some rows below were measured without a GPU; they say nothing about GPU "
            "speed.\n";
  text += "// Write it again with: " + options.command + "\n//\n";
  text += "// LATHE_TEMPLATE_SHA1 " + spec.template_hash + "\n";
  text += "// Source: " + spec.provenance.source_file + " " + spec.provenance.source_hash + "\n//\n";
  text += "// device | problem | raw us | tuned us | raw / tuned | A/A band | configuration\n";
  for (const TableRow& row : table.rows) {
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

// Launchers of every choice of types for the raw kernel, and of every configuration for the template.
Result<std::string> launchers(const TuningSpec& spec, const WinningTable& table, bool is_raw) {
  // Any problem of the specification: types and options are what is wanted of it, the geometry stays
  // symbolic.
  const Problem any_problem = table.rows.front().problem;
  const KernelSource& source = is_raw ? spec.reference : spec.kernel;
  const std::size_t count = is_raw ? table.types.size() : table.configurations.size();
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const Types& types = is_raw ? table.types[i] : table.configurations[i].types;
    const KnobValues knobs = is_raw ? KnobValues{} : table.configurations[i].knobs;
    // But for a size that is fixed in the instance.
    const Problem& problem = is_raw ? any_problem : table.configurations[i].problem;
    LATHE_TRY(const std::string one,
              launcher(spec, fmt::format("launch_{}", i), source, types, knobs, problem));
    text += one;
  }
  return text;
}

} // namespace

Result<std::string> emit_header(const TuningSpec& spec, const std::vector<StoredWinner>& winners,
                                const HeaderOptions& options) {
  if (spec.reference.file.empty())
    return Error{"cannot export " + spec.name, "the specification names no raw kernel to fall back to",
                 "give it a reference"};
  LATHE_TRY(const WinningTable table, winning_table(spec, winners, options.allow_host));
  HeaderSource parts;
  LATHE_TRY(const std::string raw_launchers, launchers(spec, table, true));
  LATHE_TRY(const std::string raw, kernel_namespace("raw", spec.reference, raw_launchers, parts));
  std::string tuned;
  if (!table.configurations.empty()) {
    LATHE_TRY(const std::string tuned_launchers, launchers(spec, table, false));
    LATHE_TRY(tuned, kernel_namespace("tuned", spec.kernel, tuned_launchers, parts));
  }
  LATHE_TRY(const std::string functions, dispatch_functions(spec, table));
  std::vector<std::string> needed = type_includes(table.types, spec);
  for (const char* name : {"atomic", "cstdint", "cstring", "cuda_runtime.h", "type_traits"})
    needed.push_back(fmt::format("#include <{}>", name));
  for (const std::string& include : needed)
    if (std::find(parts.includes.begin(), parts.includes.end(), include) == parts.includes.end())
      parts.includes.push_back(include);
  std::sort(parts.includes.begin(), parts.includes.end());
  std::string text = comment(spec, table, options) + "#pragma once\n\n";
  for (const std::string& include : parts.includes)
    text += include + "\n";
  // Everything has internal linkage: the header may be in any number of translation units.
  const Aside macros = set_aside(own_names(spec));
  text += "\n" + macros.begin + QUIET_BEGIN;
  text += fmt::format("\nnamespace lathe_tuned {{\nnamespace {} {{\nnamespace {{\n\n"
                      "inline constexpr char template_sha1[] = \"{}\";\n\n",
                      identifier(spec.name), spec.template_hash);
  text += launch_helpers(spec) + "\n";
  text += raw + "\n" + tuned + "\n" + dispatch_tables(spec, table) + "\n" + functions;
  text += fmt::format("\n}} // namespace\n}} // namespace {}\n}} // namespace lathe_tuned\n",
                      identifier(spec.name));
  text += QUIET_END + macros.end;
  return text;
}

} // namespace lathe
