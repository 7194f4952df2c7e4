#include "tuner/report/summary.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

namespace lathe::report {
namespace {

// "uses 70000 bytes" and "uses 80000 bytes" are one reason.
std::string without_numbers(const std::string& text) {
  std::string result;
  for (const char letter : text)
    if (!std::isdigit(static_cast<unsigned char>(letter)))
      result += letter;
    else if (result.empty() || result.back() != '#')
      result += '#';
  return result;
}

} // namespace

std::vector<Improvement> improvements(const ProblemReport& problem) {
  std::vector<Improvement> steps;
  for (std::size_t i = 0; i < problem.evaluations.size(); ++i) {
    const Measurement& measurement = problem.evaluations[i].measurement;
    if (measurement.outcome == Outcome::ok && measurement.timing.median_us > 0 &&
        (steps.empty() || measurement.timing.median_us < steps.back().best_us))
      steps.push_back({i + 1, measurement.timing.median_us, problem.evaluations[i].author});
  }
  return steps;
}

std::vector<Skipped> skipped(const std::vector<ProblemReport>& problems) {
  std::map<std::pair<Outcome, std::string>, Skipped> found;
  for (const ProblemReport& problem : problems)
    for (const StoredEvaluation& evaluation : problem.evaluations) {
      const Measurement& measurement = evaluation.measurement;
      if (measurement.outcome == Outcome::ok)
        continue;
      Skipped& entry = found[{measurement.outcome, without_numbers(measurement.reason)}];
      if (entry.count++ == 0) {
        entry.outcome = measurement.outcome;
        entry.reason = measurement.reason;
        entry.example = describe(evaluation.knob_names, evaluation.knobs) + " (" + problem.key.workload + ")";
      }
    }
  std::vector<Skipped> list;
  for (auto& [key, entry] : found)
    list.push_back(std::move(entry));
  std::stable_sort(list.begin(), list.end(),
                   [](const Skipped& a, const Skipped& b) { return a.count > b.count; });
  return list;
}

std::size_t count_ok(const ProblemReport& problem) {
  return static_cast<std::size_t>(std::ranges::count_if(
      problem.evaluations, [](const auto& e) { return e.measurement.outcome == Outcome::ok; }));
}

std::size_t count_stopped_early(const ProblemReport& problem) {
  return static_cast<std::size_t>(std::ranges::count_if(problem.evaluations, [](const auto& e) {
    return e.measurement.outcome == Outcome::ok && e.measurement.timing.stopped_early;
  }));
}

const StoredEvaluation* evaluation_of_winner(const ProblemReport& problem) {
  if (!problem.winner)
    return nullptr;
  const auto found = std::ranges::find_if(problem.evaluations, [&](const StoredEvaluation& evaluation) {
    return evaluation.knob_names == problem.winner->knob_names && evaluation.knobs == problem.winner->knobs;
  });
  return found == problem.evaluations.end() ? nullptr : &*found;
}

const StoredEvaluation* default_evaluation(const ProblemReport& problem) {
  const auto found = std::ranges::find(problem.evaluations, "default", &StoredEvaluation::author);
  return found == problem.evaluations.end() ? nullptr : &*found;
}

bool gains(const Comparison& comparison) {
  return comparison.ratio_low > 1 && comparison.ratio - 1 > comparison.noise_band;
}

GeometricMean geometric_mean(const KernelReport& kernel, ProblemRole role) {
  double logarithms = 0;
  GeometricMean mean;
  for (const ProblemReport& problem : kernel.problems)
    if (problem.winner && problem.winner->problem.role == role && problem.winner->comparison.ratio > 0) {
      logarithms += std::log(problem.winner->comparison.ratio);
      ++mean.problems;
    }
  if (mean.problems > 0)
    mean.ratio = std::exp(logarithms / mean.problems);
  return mean;
}

std::string explain(Outcome outcome) {
  switch (outcome) {
  case Outcome::ok:
    return "ran and was right";
  case Outcome::compile_error:
    return "does not compile";
  case Outcome::resource_limit:
    return "cannot be launched on this device";
  case Outcome::runtime_error:
    return "failed while running";
  case Outcome::timeout:
    return "did not end in time";
  case Outcome::crashed:
    return "ended the process that ran it";
  case Outcome::wrong_result:
    return "computed something else than the raw kernel";
  case Outcome::under_floor:
    return "was faster than the hardware allows: an error, not a result";
  }
  return "";
}

} // namespace lathe::report
