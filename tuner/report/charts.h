// The charts, each a whole <figure>: legend, picture, and its numbers as a table.
#pragma once

#include "tuner/report/importance.h"
#include "tuner/report/report.h"

#include <string>
#include <vector>

namespace lathe::report {

// Of one problem. `id` is unique on the page. All but the last two may be empty where there is nothing to
// draw.
std::string progress_chart(const std::string& id, const ProblemReport& problem, bool is_host);
std::string distribution_chart(const std::string& id, const ProblemReport& problem, bool is_host);
std::string importance_chart(const std::string& id, const Importance& importance);
std::string effects_chart(const std::string& id, const Importance& importance);
std::string interaction_chart(const std::string& id, const Importance& importance);

// Of all problems of a kernel.
std::string bandwidth_chart(const std::string& id, const KernelReport& kernel);
std::string roofline_chart(const std::string& id, const KernelReport& kernel);
struct ProblemImportance {
  std::size_t problem = 0; // index into KernelReport::problems
  Importance importance;
};
std::string importance_heatmap(const std::string& id, const KernelReport& kernel,
                               const std::vector<ProblemImportance>& importances);
// Inline, without a figure: a ratio with its interval over the A/A band, on a scale up to `largest`.
std::string ratio_strip(const std::string& id, const Comparison& comparison, double smallest, double largest);

} // namespace lathe::report
