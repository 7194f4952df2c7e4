#include "refactor/guard/text_numbers.h"

#include "refactor/guard/token_text.h"

#include <cmath>
#include <cstdlib>
#include <set>

namespace lathe::refactor {

namespace {

std::set<std::int64_t> integers_of(const std::string& text) {
  std::set<std::int64_t> found;
  const TokenText tokens(text);
  for (const Token& token : tokens.tokens())
    if (token.kind == Token::Kind::number && token.text.find('.') == std::string::npos)
      found.insert(std::strtoll(token.text.c_str(), nullptr, 0));
  return found;
}

} // namespace

std::vector<std::int64_t> dividing_numbers(const std::string& raw_text) {
  constexpr std::int64_t SMALLEST = 3, LARGEST = std::int64_t{1} << 31, TELLING = 100;
  constexpr std::size_t MOST = 16;
  std::vector<std::int64_t> found;
  for (const std::int64_t number : integers_of(raw_text))
    if (number >= SMALLEST && number <= LARGEST)
      found.push_back(number);
  if (found.empty() || found.back() < TELLING)
    return {};
  if (found.size() > MOST)
    found.erase(found.begin(), found.end() - MOST);
  return found;
}

std::vector<std::int64_t> own_numbers(const std::string& template_text, const std::string& raw_text) {
  const std::set<std::int64_t> known = integers_of(raw_text);
  std::vector<std::int64_t> own;
  for (const std::int64_t number : integers_of(template_text))
    if (!known.contains(number) && number >= 2 && number <= 1 << 15)
      own.push_back(number);
  return own;
}

std::vector<std::int64_t> telling_sizes(const std::vector<std::int64_t>& own_numbers) {
  // Powers of two are widths; more than 14 halvings serve every size that is run.
  constexpr std::int64_t FEWEST = 9, MOST = 14;
  std::set<std::int64_t> sizes(own_numbers.begin(), own_numbers.end());
  for (const std::int64_t number : own_numbers)
    if (number >= FEWEST && number <= MOST)
      sizes.insert((std::int64_t{1} << number) + 1);
  return {sizes.begin(), sizes.end()};
}

std::vector<double> deciding_numbers(const std::string& raw_text) {
  constexpr double LARGEST = 512, DIGITS = 256; // a multiple of 1 / DIGITS
  constexpr std::size_t MOST = 8;
  std::set<double> real, whole;
  const TokenText tokens(raw_text);
  for (const Token& token : tokens.tokens()) {
    if (token.kind != Token::Kind::number)
      continue;
    const bool is_hexadecimal = token.text.starts_with("0x") || token.text.starts_with("0X");
    const double number = std::strtod(token.text.c_str(), nullptr);
    if (number > 0 && number <= LARGEST && std::floor(number * DIGITS) == number * DIGITS)
      (!is_hexadecimal && token.text.find('.') != std::string::npos ? real : whole).insert(number);
  }
  std::vector<double> found;
  for (const std::set<double>* numbers : {&real, &whole})
    for (const double number : *numbers)
      if (found.size() < MOST)
        found.push_back(number);
  return found;
}

} // namespace lathe::refactor
