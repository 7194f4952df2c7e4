#include "refactor/llm/echoed_tokens.h"

#include "refactor/llm/likelihood.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string_view>

namespace lathe::refactor::llm {
namespace {

// How far before the border tokens are looked at, in bytes other than blanks: tokens are shorter.
constexpr std::size_t WINDOW = 64;
// SentencePiece writes a blank as this character (U+2581).
constexpr std::string_view WRITTEN_BLANK = "\xE2\x96\x81";

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

std::string without_blanks(std::string_view text) {
  std::string solid;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(WRITTEN_BLANK))
      i += WRITTEN_BLANK.size() - 1;
    else if (!is_blank(text[i]))
      solid += text[i];
  }
  return solid;
}

struct Piece {
  std::ptrdiff_t start = 0; // behind the border, in bytes other than blanks; negative: before it
  bool is_solid = false;    // holds more than blanks
  double log_probability = 0;
};

// The pieces of one echo from the end back to the window's begin, where the `generated` last tokens are the
// model's; nothing where the texts before them are not the continuation.
std::optional<std::vector<Piece>> pieces_of(const std::string& prompt, const std::string& continuation,
                                            const EchoedTokens& echo, std::size_t generated) {
  std::string before = without_blanks(prompt);
  before.erase(0, before.size() - std::min(before.size(), WINDOW));
  const std::string expected = before + without_blanks(continuation);
  const auto border = static_cast<std::ptrdiff_t>(before.size());
  std::vector<Piece> pieces;
  std::size_t left = expected.size();
  if (echo.texts.size() < generated)
    return std::nullopt;
  for (std::size_t i = echo.texts.size() - generated; i-- > 0;) {
    const std::string solid = without_blanks(echo.texts[i]);
    const bool fits = solid.size() <= left && expected.compare(left - solid.size(), solid.size(), solid) == 0;
    if (!fits)
      break; // behind the border: another text; before it: what this tokenizer cannot write by itself
    left -= solid.size();
    pieces.push_back({static_cast<std::ptrdiff_t>(left) - border, !solid.empty(), echo.log_probabilities[i]});
  }
  if (static_cast<std::ptrdiff_t>(left) > border)
    return std::nullopt;
  return pieces;
}

Error wrong(std::size_t index, const std::string& why) {
  return {fmt::format("continuation {}", index + 1), why, "see docs/model.md"};
}

} // namespace

Result<std::vector<double>> continuation_sums(const std::string& prompt,
                                              const std::vector<std::string>& continuations,
                                              const std::vector<EchoedTokens>& echoed) {
  std::vector<std::vector<Piece>> all;
  std::set<std::ptrdiff_t, std::greater<>> common; // where a token begins in all, from the border backwards
  for (std::size_t i = 0; i < continuations.size(); ++i) {
    // One token was asked for; where the model ended at once, some servers list none.
    auto pieces = pieces_of(prompt, continuations[i], echoed[i], 1);
    if (!pieces)
      pieces = pieces_of(prompt, continuations[i], echoed[i], 0);
    if (!pieces)
      return wrong(i,
                   "the tokens that came back are not those of prompt and continuation: the server does not "
                   "echo, or cut the prompt");
    std::set<std::ptrdiff_t, std::greater<>> starts;
    for (const Piece& piece : *pieces)
      if (piece.is_solid && piece.start <= 0 && (i == 0 || common.contains(piece.start)))
        starts.insert(piece.start);
    common = std::move(starts);
    all.push_back(std::move(*pieces));
  }
  if (common.empty())
    return wrong(continuations.size() - 1, "its tokens and the others' do not meet before the border");
  const std::ptrdiff_t from = *common.begin();
  std::vector<double> sums;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // A token of blanks alone at the border is the continuation's, where that begins with a blank.
    const bool takes_blanks = from == 0 && !continuations[i].empty() && is_blank(continuations[i].front());
    double sum = 0;
    for (const Piece& piece : all[i]) {
      if (piece.start < from || (piece.start == from && !piece.is_solid && !takes_blanks))
        continue;
      if (!std::isfinite(piece.log_probability) || piece.log_probability > LOG_PROBABILITY_ROUNDING)
        return wrong(i, "one of its tokens has no log-probability, or one above 0");
      sum += piece.log_probability;
    }
    sums.push_back(sum);
  }
  return sums;
}

} // namespace lathe::refactor::llm
