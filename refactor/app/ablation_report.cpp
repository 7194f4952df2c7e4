#include "refactor/app/ablation_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lathe::refactor {

using namespace agents;
using Json = nlohmann::ordered_json;

namespace {

double mean(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers)
    sum += number;
  return numbers.empty() ? 0 : sum / static_cast<double>(numbers.size());
}

double spread(const std::vector<double>& numbers) {
  const double centre = mean(numbers);
  double squares = 0;
  for (const double number : numbers)
    squares += (number - centre) * (number - centre);
  return numbers.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(numbers.size() - 1));
}

// Standard deviation over seeds of the final speed-up, relative, averaged over the kernels.
double kernel_spread(const ArmResult& arm, const std::vector<std::string>& kernels) {
  double sum = 0;
  for (const std::string& kernel : kernels) {
    std::vector<double> finals;
    for (const ArmRun& run : arm.runs)
      if (run.kernel == kernel)
        finals.push_back(std::log(run.final_speedup()));
    sum += spread(finals);
  }
  return kernels.empty() ? 0 : sum / static_cast<double>(kernels.size());
}

double reached_share(const ArmResult& arm) {
  double count = 0;
  for (const ArmRun& run : arm.runs)
    count += run.reached ? 1 : 0;
  return arm.runs.empty() ? 0 : count / static_cast<double>(arm.runs.size());
}

struct Cost {
  double attempts = 0, timed_runs = 0, calls = 0, tokens = 0, seconds = 0;
};
Cost cost_of(const ArmResult& arm) {
  Cost cost;
  for (const ArmRun& run : arm.runs) {
    cost.attempts += run.attempts;
    cost.timed_runs += run.timed_runs;
    cost.calls += static_cast<double>(run.calls);
    cost.tokens += static_cast<double>(run.tokens);
    cost.seconds += run.seconds;
  }
  const double count = std::max<double>(static_cast<double>(arm.runs.size()), 1);
  return {cost.attempts / count, cost.timed_runs / count, cost.calls / count, cost.tokens / count,
          cost.seconds};
}

std::string arm_row(const ArmResult& arm, const AblationResult& result) {
  const Band attempts = attempts_to_near(arm, result.plan);
  const std::vector<double> means = geometric_means(arm, result.plan);
  const Cost cost = cost_of(arm);
  return fmt::format("| {} | {:.0f} | {:.0f} to {:.0f} | {:.0f} % | {:.3f} | {:.3f} | {:.3f} | {:.1f} | "
                     "{:.0f} | {:.1f} | {:.0f} | {:.2f} |\n",
                     arm.arm.name, attempts.median, attempts.low, attempts.high, 100 * reached_share(arm),
                     mean(means), spread(means), kernel_spread(arm, result.kernels), cost.attempts,
                     cost.timed_runs, cost.calls, cost.tokens, cost.seconds);
}

const ArmResult* find_arm(const AblationResult& result, const auto& matches) {
  const auto found = std::find_if(result.arms.begin(), result.arms.end(),
                                  [&](const ArmResult& arm) { return matches(arm.arm); });
  return found == result.arms.end() ? nullptr : &*found;
}

std::string kernel_table(const AblationResult& result, const Baselines& baselines, const ArmResult& full,
                         const ArmResult& uniform) {
  std::string text = "| kernel | best recorded | PyTorch eager | torch.compile | attempts, " + full.arm.name +
                     " | attempts, " + uniform.arm.name + " |\n|---|---:|---:|---:|---:|---:|\n";
  for (const std::string& kernel : result.kernels) {
    double optimum = 0;
    const auto median_attempts = [&](const ArmResult& arm) {
      ArmResult part{arm.arm, {}};
      for (const ArmRun& run : arm.runs)
        if (run.kernel == kernel) {
          part.runs.push_back(run);
          optimum = run.optimum;
        }
      return attempts_to_near(part, result.plan).median;
    };
    const double of_full = median_attempts(full), of_uniform = median_attempts(uniform);
    const BaselineRatio baseline = baseline_of(baselines, kernel, result.device);
    text += fmt::format("| {} | {:.3f} | {} | {} | {:.0f} | {:.0f} |\n", kernel, optimum,
                        baseline_text(baseline.eager), baseline_text(baseline.compiled), of_full, of_uniform);
  }
  return text + "\nRaw / time: of the best recorded template, and of PyTorch, eager and compiled, as a "
                "geometric mean "
                "over the sizes on which it was measured beside the raw kernel on the same device.\n";
}

} // namespace

std::string ablation_markdown(const AblationResult& result, const Baselines& baselines,
                              const std::string& command) {
  std::string kernels;
  for (const std::string& kernel : result.kernels)
    kernels += (kernels.empty() ? "" : ", ") + kernel;
  std::string text =
      "# The loop's parts, measured\n\nWritten by `" + command + "`. Data: [agents.json](agents.json).\n\n";
  text += fmt::format("- Recorded trees of {} kernels ({}); the times in them were measured on {}{}.\n",
                      result.kernels.size(), kernels, result.device,
                      result.is_host ? ", which says nothing about a GPU" : "");
  text += fmt::format(
      "- {} seeds, {} attempts an arm, one kernel left out at a time: policy and memory come from the "
      "other kernels. Training took {:.1f} s of one core in all.\n",
      result.plan.seeds.size(), result.plan.attempts, result.training_seconds);
  text += fmt::format(
      "- An attempt is one template, scored by a short search. *Attempts*: until the best is within {:.0f} % "
      "of "
      "the best template recorded by anybody; a run that never got there counts as one more than its "
      "budget. Medians over kernels and seeds; the interval is 95 %, by bootstrap.\n",
      100 * (1 - result.plan.near));
  text += "- *Gain*: geometric mean over kernels of the best candidate's raw / tuned, mean over seeds; *seed "
          "sd*: its standard "
          "deviation over seeds; *kernel sd*: standard deviation over seeds of the logarithm of one kernel's "
          "gain, averaged over "
          "kernels. Cost a run: attempts, timed configurations, model calls, tokens; seconds of all runs of "
          "the arm.\n\n";
  text += "| arm | attempts | interval | got there | gain | seed sd | kernel sd | attempts made | timed runs "
          "| calls | tokens | s |\n"
          "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const ArmResult& arm : result.arms)
    text += arm_row(arm, result);
  text += "\n![best over optimum against attempts](agents.svg)\n";
  const ArmResult* uniform =
      find_arm(result, [](const Arm& arm) { return arm.planner == "uniform" && arm.walk == "tree"; });
  if (!result.arms.empty() && uniform)
    text += "\n## Kernel by kernel\n\n" + kernel_table(result, baselines, result.arms.front(), *uniform);
  return text;
}

Json ablation_json(const AblationResult& result, const Baselines& baselines) {
  Json json{{"Schema", 1},
            {"Device", result.device},
            {"Host", result.is_host},
            {"Kernels", result.kernels},
            {"Seeds", result.plan.seeds},
            {"Attempts", result.plan.attempts},
            {"Near", result.plan.near},
            {"TrainingSeconds", result.training_seconds}};
  for (const std::string& kernel : result.kernels)
    json["Baselines"][kernel] = baseline_json(baseline_of(baselines, kernel, result.device));
  for (const ArmResult& arm : result.arms) {
    const Band attempts = attempts_to_near(arm, result.plan);
    Json entry{{"Name", arm.arm.name},
               {"Attempts", {attempts.median, attempts.low, attempts.high}},
               {"Gains", geometric_means(arm, result.plan)},
               {"KernelSpread", kernel_spread(arm, result.kernels)},
               {"Curve", median_curve(arm, result.plan.attempts)}};
    for (const ArmRun& run : arm.runs)
      entry["Runs"].push_back({{"Kernel", run.kernel},
                               {"Seed", run.seed},
                               {"Reached", run.reached ? Json(*run.reached) : Json(nullptr)},
                               {"Final", run.final_speedup()},
                               {"Optimum", run.optimum},
                               {"Attempts", run.attempts},
                               {"TimedRuns", run.timed_runs},
                               {"Calls", run.calls},
                               {"Tokens", run.tokens}});
    json["Arms"].push_back(std::move(entry));
  }
  return json;
}

std::string ablation_svg(const AblationResult& result) {
  constexpr double width = 760, height = 420, left = 60, right = 270, top = 20, bottom = 45;
  constexpr std::array<const char*, 8> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                               "#e69f00", "#56b4e9", "#000000", "#999999"};
  const int attempts = result.plan.attempts;
  double lowest = 1;
  std::vector<const ArmResult*> shown;
  for (const ArmResult& arm : result.arms)
    if (shown.size() < colours.size() && !arm.arm.equal_runs) {
      shown.push_back(&arm);
      lowest = std::min(lowest, median_curve(arm, attempts).front());
    }
  lowest = std::floor(lowest * 20) / 20 - 0.05;
  const auto x = [&](double attempt) {
    return left + (width - left - right) * (attempt - 1) / std::max(attempts - 1, 1);
  };
  const auto y = [&](double share) { return top + (height - top - bottom) * (1 - share) / (1 - lowest); };
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      width, height);
  for (int tenths = 10; tenths >= 10 * lowest; --tenths) {
    const double share = tenths / 10.0;
    text += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{:.1f}</text>\n",
        left, width - right, y(share), y(share), left - 6, y(share) + 4, share);
  }
  for (int attempt = 5; attempt <= attempts; attempt += 5)
    text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(attempt),
                        height - bottom + 18, attempt);
  text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">attempts</text>\n<text "
                      "transform=\"translate(16 {}) rotate(-90)\" "
                      "text-anchor=\"middle\">best so far / best recorded (median)</text>\n",
                      left + (width - left - right) / 2, height - 8, top + (height - top - bottom) / 2);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::vector<double> curve = median_curve(*shown[i], attempts);
    std::string points;
    for (std::size_t k = 0; k < curve.size(); ++k)
      points += fmt::format("{:.1f},{:.1f} ", x(static_cast<double>(k + 1)), y(std::max(curve[k], lowest)));
    text += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n<text x=\"{}\" y=\"{}\" "
        "fill=\"{}\">{}</text>\n",
        points, colours[i], width - right + 12, top + 14 + 18 * static_cast<double>(i), colours[i],
        shown[i]->arm.name);
  }
  return text + "</svg>\n";
}

} // namespace lathe::refactor
