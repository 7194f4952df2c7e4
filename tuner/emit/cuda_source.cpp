// One winner as a plain CUDA file.
#include "tuner/emit/emit.h"
#include "tuner/emit/launcher.h"
#include "tuner/emit/template_text.h"
#include "tuner/emit/winning_table.h"

#include "tuner/base/files.h"

#include <fmt/format.h>
#include <vector>

namespace lathe {
namespace {

// "f<{T}, {BLOCK}, 4>" as its name and its arguments.
std::pair<std::string, std::vector<std::string>> split_instance(const std::string& instance) {
  const std::size_t open = instance.find('<');
  if (open == std::string::npos || !instance.ends_with('>'))
    return {instance, {}};
  std::vector<std::string> arguments(1);
  int depth = 0;
  for (std::size_t i = open + 1; i + 1 < instance.size(); ++i) {
    const char letter = instance[i];
    depth += letter == '<' || letter == '(' || letter == '{' ? 1 : 0;
    depth -= letter == '>' || letter == ')' || letter == '}' ? 1 : 0;
    if (letter == ',' && depth == 0)
      arguments.emplace_back();
    else if (letter != ' ' || !arguments.back().empty())
      arguments.back() += letter;
  }
  return {instance.substr(0, open), arguments};
}

// What the compiler is given instead of template arguments: constants in the text, or macros before it.
struct Fixed {
  KernelSource source; // with the knobs gone from `instance`
  std::string text;
};

Result<Fixed> fix_knobs(const TuningSpec& spec, const StoredWinner& winner, const Workload& workload,
                        bool substitute) {
  Fixed fixed{spec.kernel, {}};
  LATHE_TRY(fixed.text, read_file(spec.kernel.file));
  const auto [name, arguments] = split_instance(spec.kernel.instance);
  std::map<std::size_t, std::string> values;
  std::string kept, macros;
  for (std::size_t k = 0; k < spec.knobs.size(); ++k)
    if (spec.knobs[k].is_macro)
      macros += fmt::format("#define {} {}\n", spec.knobs[k].name, to_string(winner.knobs[k]));
  for (std::size_t position = 0; position < arguments.size() && substitute; ++position) {
    const std::string& argument = arguments[position];
    bool is_knob = false;
    for (const Knob& knob : spec.knobs)
      is_knob |= !knob.is_macro && argument == "{" + knob.name + "}";
    if (is_knob) {
      const KernelSource only{spec.kernel.file, argument, {}, {}};
      LATHE_TRY(values[position], bind_instance(only, workload, winner.knobs));
    } else {
      kept += (kept.empty() ? "" : ", ") + argument;
    }
  }
  if (!values.empty()) {
    // Names are qualified in an instance, but not in the declaration.
    const std::size_t scope = name.rfind("::");
    LATHE_TRY(fixed.text,
              fix_template_parameters(fixed.text, scope == std::string::npos ? name : name.substr(scope + 2),
                                      values));
    fixed.source.instance = kept.empty() ? name : name + "<" + kept + ">";
  }
  for (const std::string& include : type_includes({winner.types}, spec))
    if (fixed.text.find(include) == std::string::npos)
      macros += include + "\n";
  fixed.text = macros + fixed.text;
  return fixed;
}

std::string comment(const TuningSpec& spec, const StoredWinner& winner, const std::string& instance,
                    const HeaderOptions& options) {
  const Comparison& comparison = winner.comparison;
  std::string text = fmt::format("// {}: the configuration for {} on {}, written by Lathe {}.\n", spec.name,
                                 winner.key.workload, winner.key.device, LATHE_VERSION);
  if (winner.is_host)
    text += "// HOST-EXECUTOR TIMES: measured without a GPU; they say nothing about GPU speed.\n";
  if (!is_gain(comparison))
    text += "// No configuration beat the raw kernel beyond the noise: these are its own values.\n";
  text += fmt::format(
      "// raw {:.2f} us, tuned {:.2f} us{}, raw / tuned {:.3f} ({:.3f} to {:.3f}), A/A band {:.1f} %\n",
      comparison.raw.median_us, comparison.tuned.median_us, winner.is_host ? " (host executor)" : "",
      comparison.ratio, comparison.ratio_low, comparison.ratio_high, 100 * comparison.noise_band);
  text += "// Configuration:";
  for (std::size_t i = 0; i < winner.knob_names.size() && i < winner.knobs.size(); ++i)
    text += " " + winner.knob_names[i] + "=" + to_string(winner.knobs[i]);
  text += "\n// Instance: " + instance + "\n// LATHE_TEMPLATE_SHA1 " + spec.template_hash + "\n";
  return text + "// Write it again with: " + options.command + "\n\n";
}

} // namespace

Result<CudaSource> emit_cuda(const TuningSpec& spec, const StoredWinner& winner, const HeaderOptions& options,
                             bool substitute) {
  if (winner.is_host && !options.allow_host)
    return Error{"cannot export " + spec.name, "its result is the host executor's, not a GPU's",
                 "tune on a GPU, or give --allow-host to write it all the same"};
  LATHE_TRY(const Workload workload, bind_workload(spec, winner.problem, winner.types, {}));
  LATHE_TRY(Fixed fixed, fix_knobs(spec, winner, workload, substitute));
  LATHE_TRY(const std::string instance, bind_instance(fixed.source, workload, winner.knobs));
  LATHE_TRY(const std::string condition,
            admission(spec, {winner.types, winner.knobs, winner.architecture, winner.problem, instance}));
  LATHE_TRY(const std::string function,
            launcher(spec, "launch", {spec.kernel.file, "::" + instance, {}, spec.kernel.launch},
                     winner.types, winner.knobs, winner.problem));
  std::string text = comment(spec, winner, instance, options) + fixed.text;
  text += fmt::format(
      "\n#if defined(__NVCC__) || defined(__CUDA__) // the launch, for nvcc and Clang\n"
      "#include <atomic>\n#include <cuda_runtime.h>\n#include <type_traits>\n\n"
      "namespace lathe_tuned {{\nnamespace {} {{\nnamespace {{\n\n{}\n"
      "// Whether the configuration may run the problem; it was measured for {} alone.\n"
      "[[maybe_unused]] inline bool admits([[maybe_unused]] const problem& p) {{\n  return {};\n}}\n"
      "{}\n}} // namespace\n}} // namespace {}\n}} // namespace lathe_tuned\n#endif\n",
      identifier(spec.name), launch_helpers(spec), winner.key.workload, condition, function,
      identifier(spec.name));
  return CudaSource{std::move(text), instance, std::move(fixed.source)};
}

} // namespace lathe
