// The plot of `lathe replay`.
#pragma once

#include <string>
#include <vector>

namespace lathe {

struct PlotCurve {
  std::string title;
  std::vector<double> found, random; // fraction of the optimum after 1, 2, ... evaluations
};

// A self-contained SVG: the number of evaluations on a logarithmic axis, the fraction of the optimum on a
// linear one; solid lines for the search, dotted ones for random search.
std::string plot_replay(const std::vector<PlotCurve>& curves, const std::string& title);

} // namespace lathe
