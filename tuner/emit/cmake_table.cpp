// The winning table for builds that instantiate the template themselves.
#include "tuner/emit/emit.h"
#include "tuner/emit/launcher.h"
#include "tuner/emit/winning_table.h"

#include <fmt/format.h>

namespace lathe {
namespace {

// A CMake string literal.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\' || letter == '$' || letter == ';')
      result += '\\';
    result += letter;
  }
  return result + "\"";
}

std::string definitions(const StoredWinner& winner) {
  std::string text;
  for (std::size_t i = 0; i < winner.knob_names.size() && i < winner.knobs.size(); ++i)
    text += " " + quoted(winner.knob_names[i] + "=" + to_string(winner.knobs[i]));
  return text;
}

} // namespace

Result<std::string> emit_cmake(const TuningSpec& spec, const std::vector<StoredWinner>& winners,
                               const HeaderOptions& options) {
  LATHE_TRY(const WinningTable table, winning_table(spec, winners, options.allow_host));
  const std::string name = identifier(spec.name);
  std::string text = fmt::format(
      "# {0}: tuned configurations, written by Lathe {1}. Do not edit.\n# Write it again with: {2}\n"
      "# LATHE_TEMPLATE_SHA1 {3}\n#\n"
      "# {4}_definitions(<target> DEVICE <name or architecture> WORKLOAD <workload>)\n"
      "#   defines one macro a knob for the target's sources, with what was the fastest there. A row without "
      "a gain\n"
      "#   beyond the noise, and one that was only reported on, has the raw kernel's own values or is left "
      "out.\n\n"
      "set({4}_template_sha1 {3})\nset({4}_rows {5})\n",
      spec.name, LATHE_VERSION, options.command, spec.template_hash, name, table.rows.size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const StoredWinner& winner = *table.rows[i].winner;
    text += fmt::format(
        "# {:.2f} us against {:.2f} us{}, A/A band {:.1f} %{}\n"
        "set({}_{}_device {} {})\nset({}_{}_workload {})\nset({}_{}_definitions{})\n",
        winner.comparison.tuned.median_us, winner.comparison.raw.median_us,
        winner.is_host ? " (host executor: not GPU times)" : "", 100 * winner.comparison.noise_band,
        table.rows[i].configuration < 0 ? ": no gain" : "", name, i, quoted(winner.key.device),
        quoted(winner.architecture), name, i, quoted(winner.key.workload), name, i, definitions(winner));
  }
  return text + fmt::format(R"(
function({0}_definitions target)
  cmake_parse_arguments(ARG "" "DEVICE;WORKLOAD" "" ${{ARGN}})
  math(EXPR last "${{{0}_rows}} - 1")
  foreach(row RANGE ${{last}})
    if(ARG_DEVICE IN_LIST {0}_${{row}}_device AND ARG_WORKLOAD STREQUAL {0}_${{row}}_workload)
      target_compile_definitions(${{target}} PRIVATE ${{{0}_${{row}}_definitions}})
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "{0}_definitions: nothing was tuned for '${{ARG_WORKLOAD}}' on '${{ARG_DEVICE}}': tune it, then run\n  {1}")
endfunction()
)",
                            name, options.command);
}

} // namespace lathe
