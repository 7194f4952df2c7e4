#include "refactor/guard/tolerance.h"

#include "tuner/measure/fill.h"
#include "tuner/measure/verify.h"

#include <algorithm>
#include <cstdio>

namespace lathe::refactor {
namespace {

constexpr double WIDEST = 8; // times the dtype's own tolerance

bool is_integer(const std::string& dtype) {
  const auto type = element_type(dtype);
  return type && !element::is_real(*type);
}

} // namespace

Tolerance allowed_tolerance(const TuningSpec& spec, const std::string& dtype, double magnitude,
                            double terms) {
  const Tolerance own = tolerance_for({}, dtype);
  Tolerance allowed = tolerance_for(spec.tolerances, dtype);
  if (is_integer(dtype)) {
    allowed.relative = 0;
    // What is quantised may come out one off; an index or a count may not.
    constexpr int QUANTISED_BYTES = 1;
    allowed.absolute = dtype_size(dtype) <= QUANTISED_BYTES ? std::min(allowed.absolute, 1.0) : 0;
    return allowed;
  }
  allowed.relative = std::min(allowed.relative, WIDEST * own.relative);
  allowed.absolute = std::min(allowed.absolute, WIDEST * own.relative * magnitude);
  allowed.absolute += reordering_share(dtype, std::max(1.0, terms)) * magnitude;
  return allowed;
}

std::vector<std::string> widened_tolerances(const TuningSpec& spec) {
  std::vector<std::string> sentences;
  for (const auto& [dtype, given] : spec.tolerances) {
    const Tolerance own = tolerance_for({}, dtype);
    if (given.relative <= own.relative && given.absolute == 0)
      continue;
    char text[256];
    std::snprintf(
        text, sizeof text,
        "the specification lets %s results differ by %.2g of their size and %.2g; %.2g of it is usual, and "
        "no more than %g times that is allowed here",
        dtype.c_str(), given.relative, given.absolute, own.relative, WIDEST);
    sentences.emplace_back(text);
  }
  return sentences;
}

} // namespace lathe::refactor
