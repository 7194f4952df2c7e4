// The HTML page: kernels, each with its problems.
#include "tuner/report/charts.h"
#include "tuner/report/page_parts.h"
#include "tuner/report/summary.h"
#include "tuner/report/svg.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace lathe::report {
namespace {

constexpr std::string_view dash = "–";
constexpr std::size_t reasons_shown = 12;

std::string device_line(const KernelReport& kernel) {
  return fmt::format("{}{}, driver {}, {}", escape(kernel.key.device),
                     kernel.is_host ? " <b>(host executor: not GPU times)</b>" : "",
                     kernel.key.driver.empty() ? "none" : escape(kernel.key.driver),
                     escape(kernel.key.toolkit));
}

std::string card(const std::string& value, const std::string& meaning) {
  return "<li><b>" + value + "</b><span>" + meaning + "</span></li>";
}

std::string cards(const KernelReport& kernel) {
  std::string text = R"(<ul class="cards">)";
  for (const ProblemRole role : {ProblemRole::tune, ProblemRole::select, ProblemRole::report}) {
    const GeometricMean mean = geometric_mean(kernel, role);
    if (mean.problems > 0)
      text += card(fmt::format("{:.3f}×", mean.ratio),
                   fmt::format("geometric mean of raw / tuned over {} problems, {}{}", mean.problems,
                               role_word(role), kernel.is_host ? " (host executor)" : ""));
  }
  std::size_t gained = 0, winners = 0, tried = 0, failed = 0;
  const ProblemReport* best = nullptr;
  for (const ProblemReport& problem : kernel.problems) {
    tried += problem.evaluations.size();
    failed += problem.evaluations.size() - count_ok(problem);
    if (!problem.winner)
      continue;
    ++winners;
    gained += gains(problem.winner->comparison) ? 1 : 0;
    if (!best || problem.winner->comparison.ratio > best->winner->comparison.ratio)
      best = &problem;
  }
  if (best)
    text += card(fmt::format("{:.2f}×", best->winner->comparison.ratio),
                 "largest gain: " + escape(best->key.workload) + (kernel.is_host ? " (host executor)" : ""));
  text += card(fmt::format("{} of {}", gained, winners), "problems gained beyond the noise");
  text +=
      card(std::to_string(tried), fmt::format("configurations tried, {} of them skipped or failed", failed));
  return text + "</ul>";
}

std::string verdict_class(const Comparison& comparison) {
  return gains(comparison) ? "gain" : comparison.ratio_high < 1 - comparison.noise_band ? "loss" : "even";
}

// Every problem: raw and tuned times, their ratio with its interval, the A/A band.
std::string problem_table(const std::string& id, const KernelReport& kernel) {
  double smallest = 0.95, largest = 1.05;
  for (const ProblemReport& problem : kernel.problems)
    if (problem.winner) {
      smallest = std::min(smallest, problem.winner->comparison.ratio_low);
      largest = std::max(largest, problem.winner->comparison.ratio_high);
    }
  const std::string unit = kernel.is_host ? "µs (host executor)" : "µs";
  std::string text =
      "<h3>Every problem</h3><p class=\"legend\"><span><i class=\"swatch tuned\"></i>gain beyond the "
      "noise</span>"
      "<span>○ within the noise</span><span><i class=\"swatch band\"></i>A/A band: raw against "
      "itself</span></p>"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Every problem\"><table "
      "class=\"problems\" "
      "role=\"table\"><caption>Raw against tuned, by problem</caption><thead><tr role=\"row\">";
  for (const std::string& heading :
       {std::string("problem"), std::string("raw / tuned"), std::string("ratio"),
        std::string("95 % interval"), std::string("A/A band"), "raw " + unit, "tuned " + unit,
        std::string("share of copy"), std::string("role"), std::string("tried")})
    text += R"(<th role="columnheader" scope="col">)" + heading + "</th>";
  text += "</tr></thead><tbody>";
  for (std::size_t i = 0; i < kernel.problems.size(); ++i) {
    const ProblemReport& problem = kernel.problems[i];
    text += fmt::format(
        "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\"><a href=\"#{}-{}\">#{} {}</a></th>", id, i + 1,
        i + 1, escape(problem.key.workload));
    if (!problem.winner) {
      text += fmt::format(
          "<td role=\"cell\" class=\"wide\" colspan=\"9\">no winner yet, {} configurations tried</td></tr>",
          problem.evaluations.size());
      continue;
    }
    const StoredWinner& winner = *problem.winner;
    const Comparison& comparison = winner.comparison;
    const auto cell = [&](const char* name, const std::string& value) {
      text += fmt::format("<td role=\"cell\" data-name=\"{}\">{}</td>", name, value);
    };
    text += fmt::format(
        "<td role=\"cell\" class=\"strip\">{}</td><td role=\"cell\" class=\"ratio {}\">{:.3f}</td>",
        ratio_strip(fmt::format("{}-s{}", id, i + 1), comparison, smallest, largest),
        verdict_class(comparison), comparison.ratio);
    cell("interval", fmt::format("{:.3f} {} {:.3f}", comparison.ratio_low, dash, comparison.ratio_high));
    cell("A/A band", fmt::format("± {:.2f} %", 100 * comparison.noise_band));
    cell(("raw " + unit).c_str(), fmt::format("{:.2f}", comparison.raw.median_us));
    cell(("tuned " + unit).c_str(), fmt::format("{:.2f}", comparison.tuned.median_us));
    cell("share of copy",
         winner.copy_floor_us > 0 && comparison.tuned.median_us > 0
             ? fmt::format("{:.0f} %", 100 * winner.copy_floor_us / comparison.tuned.median_us)
             : "not measured");
    cell("role", role_word(winner.problem.role));
    cell("tried",
         problem.evaluations.empty() ? std::string(dash) : std::to_string(problem.evaluations.size()));
    text += "</tr>";
  }
  return text + "</tbody></table></div>";
}

std::string skipped_section(const KernelReport& kernel) {
  std::size_t tried = 0;
  for (const ProblemReport& problem : kernel.problems)
    tried += problem.evaluations.size();
  const std::vector<Skipped> list = skipped(kernel.problems);
  std::string text = "<h3>Configurations that gave no time</h3>";
  if (list.empty())
    return text + fmt::format("<p>None: all {} compiled, ran, and computed what the raw kernel computes.</p>",
                              tried);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(reasons_shown, list.size()); ++i)
    rows.push_back({explain(list[i].outcome), std::to_string(list[i].count),
                    "<span class=\"words\">" + escape(list[i].reason) + "</span>",
                    "<code>" + escape(list[i].example) + "</code>"});
  text += table("Configurations that gave no time", {"what", "how many", "why", "for example"}, rows);
  if (list.size() > reasons_shown)
    text += fmt::format("<p class=\"remark\">{} further reasons are in <code>lathe report --json</code>.</p>",
                        list.size() - reasons_shown);
  return text;
}

std::string knob_table(const KernelReport& kernel) {
  std::vector<Row> rows;
  for (const auto& [name, origin] : kernel.knob_origins)
    if (!origin.empty())
      rows.push_back(
          {"<code>" + escape(name) + "</code>", "<span class=\"words\">" + escape(origin) + "</span>"});
  if (rows.empty())
    return "";
  return "<details class=\"data\"><summary>What the knobs are in the raw kernel</summary>" +
         table("Knobs and where they come from", {"knob", "in the raw kernel"}, rows) + "</details>";
}

std::string kernel_section(const std::string& id, const KernelReport& kernel) {
  std::string text = fmt::format(
      "<section aria-labelledby=\"{0}-h\"><h2 id=\"{0}-h\">{1}</h2><p class=\"dim\">{2}, "
      "template <code>{3}</code></p>",
      id, escape(kernel.key.kernel), device_line(kernel), escape(kernel.key.template_hash.substr(0, 12)));
  text += cards(kernel) + problem_table(id, kernel);
  for (const std::string& note : kernel.notes)
    text += "<p class=\"note\">" + escape(note) + "</p>";
  std::vector<ProblemImportance> importances;
  for (std::size_t i = 0; i < kernel.problems.size(); ++i)
    if (const auto importance = knob_importance(kernel.problems[i].evaluations))
      importances.push_back({i, *importance});
  const std::string figures = bandwidth_chart(id + "-b", kernel) + roofline_chart(id + "-r", kernel) +
                              importance_heatmap(id + "-k", kernel, importances);
  if (!figures.empty())
    text += "<h3>Over all problems</h3><div class=\"figures\">" + figures + "</div>";
  text += knob_table(kernel) + "<h3>Problem by problem</h3>\n";
  for (std::size_t i = 0; i < kernel.problems.size(); ++i)
    text += problem_section(fmt::format("{}-{}", id, i + 1), i + 1, kernel, kernel.problems[i], i == 0);
  return text + skipped_section(kernel) + "</section>\n";
}

std::string overview(const Report& report) {
  if (report.kernels.size() < 2)
    return "";
  std::vector<Row> rows;
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    const KernelReport& kernel = report.kernels[i];
    Row row{fmt::format("<a href=\"#k{}-h\">{}</a>", i + 1, escape(kernel.key.kernel)),
            escape(kernel.key.device) + (kernel.is_host ? " (host executor)" : "")};
    for (const ProblemRole role : {ProblemRole::tune, ProblemRole::select, ProblemRole::report}) {
      const GeometricMean mean = geometric_mean(kernel, role);
      row.push_back(mean.problems > 0
                        ? fmt::format("{:.3f} <span class=\"dim\">({})</span>", mean.ratio, mean.problems)
                        : std::string(dash));
    }
    rows.push_back(std::move(row));
  }
  return "<h2>Kernels</h2><p class=\"dim\">Geometric mean of raw / tuned, and over how many problems.</p>" +
         table("Kernels", {"kernel", "device", "searched", "selected on", "only reported"}, rows);
}

std::string footer(const Report& report) {
  std::set<std::string> protocols, versions;
  for (const StoredWinner& winner : winners_of(report)) {
    protocols.insert(winner.protocol);
    versions.insert(winner.lathe_version);
  }
  std::string text = "<footer><h3>How to read this</h3>";
  for (const std::string& protocol : protocols)
    text += "<p>Times were taken by: " + escape(protocol) + ".</p>";
  text += "<p>A ratio is raw / tuned, the median over pairs of samples taken in turn: above 1 is a gain. A "
          "gain counts "
          "when its whole 95 % interval lies above 1 and it exceeds the A/A band, what the raw kernel shows "
          "against "
          "itself in the same run. “Share of copy” is the time of a plain copy that moves the cost model's "
          "bytes, over "
          "the winner's time. Problems that are only reported were never used to choose anything.</p>"
          "<p>Importance of knobs: F. Hutter, H. Hoos, K. Leyton-Brown, “An Efficient Approach for Assessing "
          "Hyperparameter Importance”, ICML 2014.</p><p>Measured by Lathe";
  for (const std::string& version : versions)
    text += " " + escape(version);
  return text + ".</p></footer>";
}

} // namespace
} // namespace lathe::report

namespace lathe {

std::string report_html(const Report& report) {
  using namespace lathe::report;
  std::set<std::string> names;
  bool host = false;
  for (const KernelReport& kernel : report.kernels) {
    names.insert(kernel.key.kernel);
    host |= kernel.is_host;
  }
  if (report.attempts) {
    names.insert(report.attempts->kernel);
    host |= report.attempts->is_host;
  }
  const std::string subject = names.size() == 1 ? *names.begin() : fmt::format("{} kernels", names.size());
  // The policy forbids the browser what the page does not do: fetching anything, running anything.
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none';style-src 'unsafe-inline'\"><meta name=\"color-scheme\" content=\"light "
      "dark\">"
      "<title>{0}: tuning report</title><style>{1}</style></head>\n<body><header><h1>Tuning report</h1><p "
      "class=\"dim\">Raw CUDA kernels "
      "against their tuned templates.</p>",
      escape(subject), style_sheet);
  if (host)
    text += "<p class=\"banner\" role=\"note\">Host-executor times: some or all numbers here were taken "
            "without a GPU. They "
            "say nothing about the speed on one.</p>";
  text += "</header>\n<main>" + (report.attempts ? attempts_html(*report.attempts) : "") + overview(report);
  for (std::size_t i = 0; i < report.kernels.size(); ++i)
    text += kernel_section(fmt::format("k{}", i + 1), report.kernels[i]);
  return text + "</main>\n" + footer(report) + "</body></html>\n";
}

} // namespace lathe
