// One problem: the winner's card and the charts of its search.
#include "tuner/report/charts.h"
#include "tuner/report/page_parts.h"
#include "tuner/report/summary.h"
#include "tuner/report/svg.h"

#include <fmt/format.h>

namespace lathe::report {
namespace {

std::string interval(const Timing& timing, bool is_host) {
  return fmt::format("{} <span class=\"dim\">({} to {}, {} samples)</span>",
                     microseconds(timing.median_us, is_host), short_number(timing.low_us),
                     short_number(timing.high_us), timing.samples);
}

std::string entry(const std::string& name, const std::string& value) {
  return "<dt>" + name + "</dt><dd>" + value + "</dd>";
}

std::string resources(const Measurement& measurement) {
  const KernelResources& used = measurement.resources;
  std::string text =
      fmt::format("{} registers, occupancy {:.0f} %", used.registers, 100 * measurement.occupancy);
  if (used.spill_bytes > 0)
    text += fmt::format(", {} bytes spilled", used.spill_bytes);
  if (used.static_shared > 0)
    text += fmt::format(", {} bytes of static shared memory", used.static_shared);
  return text;
}

// What the counters of one launch show.
std::string bottleneck(const std::optional<Profile>& profile) {
  if (!profile)
    return "not profiled";
  const Bottleneck found = find_bottleneck(*profile);
  return fmt::format("<b>{}</b>: {}<br><span class=\"dim\">{}</span>", escape(to_string(found.kind)),
                     escape(found.words), escape(describe(*profile)));
}

std::string winner_card(const KernelReport& kernel, const ProblemReport& problem) {
  if (!problem.winner)
    return "<figure class=\"winner\"><figcaption>No winner yet</figcaption><p>The search has not ended: the "
           "same <code>lathe tune</code> command goes on from here.</p></figure>";
  const StoredWinner& winner = *problem.winner;
  const Comparison& comparison = winner.comparison;
  const StoredEvaluation* evaluation = evaluation_of_winner(problem);
  const StoredEvaluation* standard = default_evaluation(problem);
  std::string text = "<figure class=\"winner\"><figcaption>The winner</figcaption>";
  text += fmt::format(
      "<p><span class=\"big\">{:.3f}×</span> <span class=\"dim\">raw / tuned, 95 % interval {:.3f} "
      "to {:.3f}{}</span></p>",
      comparison.ratio, comparison.ratio_low, comparison.ratio_high,
      kernel.is_host ? ", host-executor times" : "");
  if (!gains(comparison))
    text += "<p>No configuration gained beyond the noise: the raw kernel's own configuration is kept.</p>";
  text += chips(winner.knob_names, winner.knobs, standard ? &standard->knobs : nullptr);
  if (standard)
    text += "<p class=\"remark\">Coloured: other than the raw kernel's own value.</p>";
  text +=
      "<dl>" + entry("raw", interval(comparison.raw, kernel.is_host)) +
      entry("tuned", interval(comparison.tuned, kernel.is_host)) +
      entry("A/A band", fmt::format("± {:.2f} % <span class=\"dim\">(raw against itself, same run)</span>",
                                    100 * comparison.noise_band));
  if (winner.copy_floor_us > 0 && comparison.tuned.median_us > 0)
    text += entry("share of copy",
                  fmt::format("{:.0f} % <span class=\"dim\">(a copy of the same bytes takes {})</span>",
                              100 * winner.copy_floor_us / comparison.tuned.median_us,
                              microseconds(winner.copy_floor_us, kernel.is_host)));
  if (evaluation) {
    if (!kernel.is_host)
      text += entry("resources", resources(evaluation->measurement));
    text += entry("found by", escape(evaluation->author));
  }
  text += entry("raw is limited by", bottleneck(problem.raw_profile)) +
          entry("winner is limited by", bottleneck(problem.winner_profile));
  text += entry("device", escape(winner.key.device) + ", driver " +
                              (winner.key.driver.empty() ? "none" : escape(winner.key.driver)) + ", " +
                              escape(winner.key.toolkit));
  text += entry("search", fmt::format("{} configurations in {} s, {}, Lathe {}", winner.evaluations,
                                      short_number(winner.seconds), escape(winner.timestamp.substr(0, 10)),
                                      escape(winner.lathe_version)));
  return text + "</dl></figure>";
}

} // namespace

std::string problem_section(const std::string& id, std::size_t number, const KernelReport& kernel,
                            const ProblemReport& problem, bool open) {
  std::string text = fmt::format("<details class=\"problem\"{}><summary>#{} {}", open ? " open" : "", number,
                                 escape(problem.key.workload));
  if (problem.winner)
    text += fmt::format(" <span>{:.2f}×, {} → {}</span>", problem.winner->comparison.ratio,
                        short_number(problem.winner->comparison.raw.median_us),
                        microseconds(problem.winner->comparison.tuned.median_us, kernel.is_host));
  // The identifier is inside: a link to it opens the problem.
  text += fmt::format("</summary><div class=\"figures\" id=\"{}\">", id) + winner_card(kernel, problem);
  if (!problem.evaluations.empty()) {
    text += progress_chart(id + "-p", problem, kernel.is_host);
    text += distribution_chart(id + "-d", problem, kernel.is_host);
    if (const auto importance = knob_importance(problem.evaluations)) {
      text += importance_chart(id + "-i", *importance);
      text += effects_chart(id + "-v", *importance);
      text += interaction_chart(id + "-x", *importance);
    } else {
      text += figure("Which knobs matter here", {}, "",
                     fmt::format("Not told: it takes {} configurations that ran and differ in their times.",
                                 least_configurations),
                     "");
    }
  }
  return text + "</div></details>\n";
}

} // namespace lathe::report
