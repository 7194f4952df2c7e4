#include "refactor/knobs/polynomial.h"

#include <algorithm>
#include <set>

namespace lathe::refactor {

void Polynomial::add(const Monomial& monomial, std::int64_t coefficient) {
  auto [entry, inserted] = terms_.try_emplace(monomial, 0);
  entry->second = static_cast<std::int64_t>(static_cast<std::uint64_t>(entry->second) +
                                            static_cast<std::uint64_t>(coefficient));
  if (entry->second == 0)
    terms_.erase(entry);
}

Polynomial Polynomial::constant(std::int64_t value) {
  Polynomial result;
  result.add({}, value);
  return result;
}

Polynomial Polynomial::atom(std::string name) {
  Polynomial result;
  result.add({std::move(name)}, 1);
  return result;
}

Polynomial Polynomial::operator+(const Polynomial& other) const {
  Polynomial result = *this;
  for (const auto& [monomial, coefficient] : other.terms_)
    result.add(monomial, coefficient);
  return result;
}

Polynomial Polynomial::operator-(const Polynomial& other) const {
  return *this + constant(-1) * other;
}

Polynomial Polynomial::operator*(const Polynomial& other) const {
  Polynomial result;
  for (const auto& [left, a] : terms_) {
    for (const auto& [right, b] : other.terms_) {
      Monomial product;
      std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(product));
      result.add(product,
                 static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)));
    }
  }
  return result;
}

std::optional<std::int64_t> Polynomial::as_constant() const {
  if (terms_.empty())
    return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty())
    return terms_.begin()->second;
  return std::nullopt;
}

bool Polynomial::mentions(const std::string& name) const {
  for (const auto& [monomial, coefficient] : terms_)
    for (const std::string& factor : monomial)
      if (factor.find(name) != std::string::npos)
        return true;
  return false;
}

std::optional<Polynomial> Polynomial::quotient_by(const std::string& name) const {
  Polynomial result;
  for (const auto& [monomial, coefficient] : terms_) {
    const auto times = std::count(monomial.begin(), monomial.end(), name);
    if (times > 1)
      return std::nullopt;
    if (times == 0)
      continue;
    Monomial rest = monomial;
    rest.erase(std::find(rest.begin(), rest.end(), name));
    result.add(rest, coefficient);
  }
  return result;
}

Polynomial Polynomial::without(const std::string& name) const {
  Polynomial result;
  for (const auto& [monomial, coefficient] : terms_)
    if (std::find(monomial.begin(), monomial.end(), name) == monomial.end())
      result.add(monomial, coefficient);
  return result;
}

std::vector<std::string> Polynomial::atoms() const {
  std::set<std::string> names;
  for (const auto& [monomial, coefficient] : terms_)
    names.insert(monomial.begin(), monomial.end());
  return {names.begin(), names.end()};
}

std::string Polynomial::text() const {
  if (terms_.empty())
    return "0";
  std::string result;
  for (const auto& [monomial, coefficient] : terms_) {
    if (!result.empty())
      result += "+";
    result += std::to_string(coefficient);
    for (const std::string& factor : monomial)
      result += "*" + factor;
  }
  return terms_.size() == 1 && terms_.begin()->second == 1 && terms_.begin()->first.size() == 1
             ? terms_.begin()->first.front()
             : "[" + result + "]";
}

} // namespace lathe::refactor
