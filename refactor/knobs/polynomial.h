// Integer polynomials over named atoms: the normal form in which the rules compare index arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

// A sum of monomials; a monomial is a sorted list of atoms with an integer coefficient. An atom is a name
// ("threadIdx.x", "param:d") or the canonical text of something that is not a polynomial
// ("(param:d/knob:VEC)"). Arithmetic is that of the integers: wrap-around of narrow types is not modelled.
class Polynomial {
public:
  using Monomial = std::vector<std::string>;

  Polynomial() = default;
  static Polynomial constant(std::int64_t value);
  static Polynomial atom(std::string name);

  Polynomial operator+(const Polynomial& other) const;
  Polynomial operator-(const Polynomial& other) const;
  Polynomial operator*(const Polynomial& other) const;
  bool operator==(const Polynomial& other) const { return terms_ == other.terms_; }

  const std::map<Monomial, std::int64_t>& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  std::optional<std::int64_t> as_constant() const;
  // True when the text of some atom contains `name` (so "(threadIdx.x/32)" mentions "threadIdx.x").
  bool mentions(const std::string& name) const;
  // The sum of the monomials that have `name` as a factor, divided by it; nothing when one has it twice.
  std::optional<Polynomial> quotient_by(const std::string& name) const;
  // The monomials that do not have `name` as a factor.
  Polynomial without(const std::string& name) const;
  std::vector<std::string> atoms() const; // each once
  std::string text() const;               // canonical

private:
  std::map<Monomial, std::int64_t> terms_;
  void add(const Monomial& monomial, std::int64_t coefficient);
};

} // namespace lathe::refactor
