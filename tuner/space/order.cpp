#include "tuner/space/order.h"

#include "tuner/space/solver.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::space {
namespace {

// Upper bound of the states below a level, as a logarithm: every live term takes each value of its range, but
// all together no more than the parameters behind them allow.
double log_states(const TermPool& pool, const Program::Level& level) {
  const auto log_domain = [&](std::int32_t parameter) {
    return std::log2(double(pool.model().domains[static_cast<std::size_t>(parameter)].bits.size()));
  };
  double by_range = 0;
  std::vector<std::int32_t> parameters;
  for (const TermId live : level.live) {
    const Term& term = pool[live];
    const std::vector<std::int32_t> below = pool.parameters_of(live);
    double by_domain = 0;
    for (const std::int32_t parameter : below)
      by_domain += log_domain(parameter);
    parameters.insert(parameters.end(), below.begin(), below.end());
    const double range = std::log2(double(term.high) - double(term.low) + 1);
    by_range += term.kind == Kind::integer ? std::min(range, by_domain) : by_domain;
  }
  std::sort(parameters.begin(), parameters.end());
  parameters.erase(std::unique(parameters.begin(), parameters.end()), parameters.end());
  double by_parameters = 0;
  for (const std::int32_t parameter : parameters)
    by_parameters += log_domain(parameter);
  return std::min(by_range, by_parameters);
}

} // namespace

std::vector<std::int32_t> narrow_order(const TermPool& pool, const std::vector<TermId>& conjuncts,
                                       const std::vector<std::int32_t>& parameters) {
  std::vector<std::int32_t> order = parameters;
  for (std::size_t next = 0; next + 1 < order.size(); ++next) {
    std::size_t best = next;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t candidate = next; candidate < order.size(); ++candidate) {
      std::vector<std::int32_t> tried = order;
      std::rotate(tried.begin() + static_cast<std::ptrdiff_t>(next),
                  tried.begin() + static_cast<std::ptrdiff_t>(candidate),
                  tried.begin() + static_cast<std::ptrdiff_t>(candidate) + 1);
      TermPool scratch = pool;
      const Program program(scratch, conjuncts, tried, Program::Pruning::off);
      const double states = log_states(scratch, program.levels()[next]);
      if (states < least - 1e-9) {
        least = states;
        best = candidate;
      }
    }
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(next),
                order.begin() + static_cast<std::ptrdiff_t>(best),
                order.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  return order;
}

} // namespace lathe::space
