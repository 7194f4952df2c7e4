#include "refactor/app/extent_guess.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <optional>

namespace lathe::refactor {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

// numerator / denominator * the product of `dimensions`.
struct Term {
  std::vector<std::string> dimensions;
  std::int64_t numerator = 0, denominator = 1;

  double at(const Sizes& sizes) const {
    double value = static_cast<double>(numerator) / static_cast<double>(denominator);
    for (const std::string& name : dimensions)
      value *= static_cast<double>(sizes.at(name));
    return value;
  }
  std::string text() const {
    std::string product;
    for (const std::string& name : dimensions)
      product += (product.empty() ? "" : " * ") + name;
    if (product.empty())
      product = std::to_string(numerator);
    else if (numerator != 1)
      product = std::to_string(numerator) + " * " + product;
    return denominator == 1 ? product : product + " / " + std::to_string(denominator);
  }
};

Term reduced(Term term) {
  const std::int64_t divisor = std::gcd(term.numerator, term.denominator);
  term.numerator /= divisor;
  term.denominator /= divisor;
  return term;
}

class Fit {
public:
  Fit(const std::vector<Sizes>& sizes, const std::vector<std::int64_t>& touched)
      : sizes_(sizes), touched_(touched) {
    // Twice zero is zero: such a size never grows, and would pass for one that always does.
    for (const auto& [name, size] : sizes.front())
      if (size != 0)
        names_.push_back(name);
  }

  // The sum of products that goes through the runs with sets of dimensions doubled; nothing when the others
  // contradict it, or when a run is missing that it needs.
  std::optional<std::vector<Term>> sum() const {
    using Set = std::vector<std::string>;
    // What each set of doubled dimensions adds to the runs below it, by inclusion and exclusion: the
    // coefficient of the product of (size / base - 1). Multiplied out, it is that of products of size / base.
    std::map<Set, std::int64_t> coefficients;
    for (std::size_t run = 0; run < sizes_.size(); ++run) {
      const auto doubled = doubled_in(run);
      if (!doubled)
        continue;
      const std::size_t parts = std::size_t{1} << doubled->size();
      std::vector<Set> subsets(parts);
      std::int64_t own = 0;
      for (std::size_t part = 0; part < parts; ++part) {
        for (std::size_t i = 0; i < doubled->size(); ++i)
          if (part >> i & 1)
            subsets[part].push_back((*doubled)[i]);
        const auto at = run_with(subsets[part]);
        if (!at)
          return std::nullopt;
        own += sign(*doubled, subsets[part]) * touched_[*at];
      }
      for (const Set& subset : subsets)
        coefficients[subset] += sign(*doubled, subset) * own;
    }
    std::vector<Term> terms;
    for (const auto& [set, coefficient] : coefficients) {
      Term term{set, coefficient, 1};
      for (const std::string& name : set)
        term.denominator *= sizes_.front().at(name);
      if (coefficient != 0)
        terms.push_back(reduced(term));
    }
    for (std::size_t run = 0; run < sizes_.size(); ++run)
      if (std::llround(value(terms, sizes_[run])) != touched_[run])
        return std::nullopt;
    return terms;
  }

  // Whether a sum through the runs with doubled dimensions is to be believed: another run agrees with it, or
  // no dimension shows a square, through two points of which a line goes as well.
  bool is_confirmed() const {
    for (std::size_t run = 0; run < sizes_.size(); ++run)
      if (!doubled_in(run))
        return true;
    const std::vector<std::string> grown_with = grown().dimensions;
    return std::ranges::adjacent_find(grown_with) == grown_with.end();
  }

  // The leading product alone, where it has room for every run.
  std::optional<Term> leading(const std::vector<Term>& terms) const {
    const auto longest = std::max_element(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
      return a.dimensions.size() < b.dimensions.size();
    });
    if (longest == terms.end() || longest->numerator <= 0)
      return std::nullopt;
    for (std::size_t run = 0; run < sizes_.size(); ++run)
      if (longest->at(sizes_[run]) < static_cast<double>(touched_[run]))
        return std::nullopt;
    return *longest;
  }

  // One product of powers of the dimensions, such as n * n, that goes through all runs.
  std::optional<Term> powers() const {
    Term term = grown();
    term.numerator = touched_.front();
    for (const std::string& name : term.dimensions)
      term.denominator *= sizes_.front().at(name);
    for (std::size_t run = 0; run < sizes_.size(); ++run)
      if (term.at(sizes_[run]) != static_cast<double>(touched_[run]))
        return std::nullopt;
    return reduced(term);
  }

  // The least of two dimensions, or the greater, times a product of powers, that goes through all runs. Where
  // the two are equal, neither alone changes their least; each alone does as much to the greater as both.
  std::optional<std::string> least_or_greatest() const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      for (std::size_t j = i + 1; j < names_.size(); ++j)
        for (const bool is_least : {true, false}) {
          std::vector<std::int64_t> rest;
          for (std::size_t run = 0; run < sizes_.size(); ++run) {
            const auto [least, greatest] = std::minmax(sizes_[run].at(names_[i]), sizes_[run].at(names_[j]));
            const std::int64_t size = is_least ? least : greatest;
            if (size > 0 && touched_[run] % size == 0)
              rest.push_back(touched_[run] / size);
          }
          const auto term = rest.size() == sizes_.size() ? Fit(sizes_, rest).powers() : std::nullopt;
          if (!term || term->numerator <= 0 || term->denominator != 1)
            continue;
          const bool is_alone = term->dimensions.empty() && term->numerator == 1;
          return fmt::format("{}{}({}, {})", is_alone ? "" : term->text() + " * ", is_least ? "min" : "max",
                             names_[i], names_[j]);
        }
    return std::nullopt;
  }

  // Whether the sum is a number of elements at the ends of what was run too: at sizes of one, at each run's
  // size among ones, and at each one among the run's.
  bool is_count(const std::vector<Term>& terms) const {
    Sizes ones = sizes_.front(), runs = sizes_.front();
    for (auto& [name, size] : ones)
      size = 1;
    bool holds = value(terms, ones) >= 1;
    for (const std::string& name : names_) {
      Sizes among_ones = ones, among_runs = runs;
      among_ones[name] = runs[name];
      among_runs[name] = 1;
      holds = holds && value(terms, among_ones) >= 1 && value(terms, among_runs) >= 1;
    }
    return holds;
  }

  // The product of the dimensions that it grows with, times the smallest number that has room for every run.
  Term bound() const {
    Term term = grown();
    term.numerator = 1;
    double most = 1;
    for (std::size_t run = 0; run < sizes_.size(); ++run)
      most = std::max(most, static_cast<double>(touched_[run]) / term.at(sizes_[run]));
    term.numerator = static_cast<std::int64_t>(most);
    term.numerator += static_cast<double>(term.numerator) < most;
    return term;
  }

private:
  // Each dimension as often as the power of it that doubling it alone shows.
  Term grown() const {
    constexpr long most = 3;
    Term term;
    for (const std::string& name : names_)
      if (const auto run = run_with({name});
          run && touched_.front() > 0 && touched_[*run] > touched_.front()) {
        const double ratio = static_cast<double>(touched_[*run]) / static_cast<double>(touched_.front());
        term.dimensions.insert(term.dimensions.end(),
                               static_cast<std::size_t>(std::clamp(std::lround(std::log2(ratio)), 1L, most)),
                               name);
      }
    return term;
  }

  static std::int64_t sign(const std::vector<std::string>& set, const std::vector<std::string>& subset) {
    return (set.size() - subset.size()) % 2 == 0 ? 1 : -1;
  }

  static double value(const std::vector<Term>& terms, const Sizes& sizes) {
    double sum = 0;
    for (const Term& term : terms)
      sum += term.at(sizes);
    return sum;
  }

  std::optional<std::vector<std::string>> doubled_in(std::size_t run) const {
    std::vector<std::string> doubled;
    for (const std::string& name : names_) {
      const std::int64_t base = sizes_.front().at(name), size = sizes_[run].at(name);
      if (size == 2 * base)
        doubled.push_back(name);
      else if (size != base)
        return std::nullopt;
    }
    return doubled;
  }

  std::optional<std::size_t> run_with(const std::vector<std::string>& doubled) const {
    for (std::size_t run = 0; run < sizes_.size(); ++run)
      if (doubled_in(run) == doubled)
        return run;
    return std::nullopt;
  }

  const std::vector<Sizes>& sizes_;
  const std::vector<std::int64_t>& touched_;
  std::vector<std::string> names_;
};

// A multiple of one of the expressions in all runs.
std::optional<std::string>
multiple_of(const std::vector<std::int64_t>& touched,
            const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& geometry) {
  for (const auto& [text, values] : geometry) {
    const bool varies = std::any_of(values.begin(), values.end(),
                                    [&](const std::int64_t value) { return value != values.front(); });
    if (!varies || values.front() <= 0 || touched.front() % values.front() != 0)
      continue;
    const std::int64_t factor = touched.front() / values.front();
    bool fits = factor > 0;
    for (std::size_t run = 0; run < touched.size(); ++run)
      fits &= touched[run] == factor * values[run];
    if (fits)
      return factor == 1 ? text : fmt::format("{} * ({})", factor, text);
  }
  return std::nullopt;
}

} // namespace

ExtentGuess guess_extent(const std::vector<Sizes>& sizes, const std::vector<std::int64_t>& touched,
                         const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& geometry) {
  if (std::all_of(touched.begin(), touched.end(), [](const std::int64_t count) { return count == 0; }))
    return {"1", "not touched in traced runs"};
  const Fit fit(sizes, touched);
  const auto terms = fit.is_confirmed() ? fit.sum() : std::nullopt;
  if (terms && terms->size() == 1)
    return {terms->front().text(), "seen in traced runs"};
  if (const auto powers = fit.powers())
    return {powers->text(), "seen in traced runs"};
  if (const auto blocks = multiple_of(touched, geometry))
    return {*blocks, "as the grid in traced runs"};
  if (terms) {
    if (const auto leading = fit.leading(*terms))
      return {leading->text(), "a little more than seen in traced runs"};
    if (!fit.is_count(*terms))
      return {fit.bound().text(), "guessed: room for all traced runs, whose sum is none at small sizes"};
    std::string positive, negative;
    for (const Term& term : *terms) {
      Term absolute = term;
      absolute.numerator = std::abs(term.numerator);
      std::string& side = term.numerator > 0 ? positive : negative;
      side += (side.empty() && term.numerator > 0 ? ""
               : term.numerator > 0               ? " + "
                                                  : " - ") +
              absolute.text();
    }
    return {positive + negative, "seen in traced runs"};
  }
  if (const auto extreme = fit.least_or_greatest())
    return {*extreme, "seen in traced runs"};
  return {fit.bound().text(), "guessed: room for all traced runs, though they do not grow evenly"};
}

} // namespace lathe::refactor
