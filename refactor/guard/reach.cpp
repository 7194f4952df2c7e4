#include "refactor/guard/reach.h"
#include "refactor/rewrite/helper_texts.h"
#include "tuner/base/text.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <utility>

namespace lathe::refactor {
namespace {

// A line without blanks and comments: what the author wrote there.
std::string bare(const std::string& line) {
  std::string out;
  for (std::size_t i = 0; i < line.size() && line.compare(i, 2, "//") != 0; ++i)
    if (!std::isspace(static_cast<unsigned char>(line[i])))
      out.push_back(line[i]);
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

std::set<std::string> words_of(const std::string& line) {
  std::set<std::string> words;
  std::string word;
  for (const char c : line + " ") {
    if (is_word(c)) {
      word.push_back(c);
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

// The lines of the text that are a rule's own, every word of them.
std::set<unsigned> lines_of_helpers(const std::string& text) {
  std::set<unsigned> found;
  for (const std::string_view helper : helper_texts()) {
    const std::size_t at = text.find(helper);
    if (at == std::string::npos)
      continue;
    const auto before = text.begin() + static_cast<std::ptrdiff_t>(at);
    const auto first = static_cast<unsigned>(1 + std::count(text.begin(), before, '\n'));
    const auto lines = static_cast<unsigned>(std::ranges::count(helper, '\n'));
    for (unsigned line = first; line < first + lines; ++line)
      found.insert(line);
  }
  return found;
}

// Whether most of the raw kernel's words are still there, and most of the words are the raw kernel's.
bool is_variant(const std::set<std::string>& words, const std::set<std::string>& raw) {
  std::size_t common = 0;
  for (const std::string& word : words)
    common += raw.contains(word);
  return common > 0 && 4 * common >= 3 * raw.size() && 2 * common >= words.size();
}

} // namespace

void Reach::note(const HostKernel& kernel, const TrialResult& result, bool is_proved) {
  const std::vector<SourcePlace>& places = kernel.places();
  if (result.reached.size() != places.size())
    return;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (result.reached[places[i].entry] && (result.reached[i] || !is_proved))
      places_[{places[i].line, places[i].column}] |= result.reached[i];
}

std::vector<std::string> Reach::lines_never_run(const std::string& text) const {
  const std::vector<std::string> lines = lines_of(text);
  std::vector<std::string> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [place, ran] : places_)
    if (!ran && place.first >= 1 && place.first <= lines.size())
      found.push_back(lines[place.first - 1]);
  return found;
}

std::vector<std::string> Reach::never(const std::string& text, const Reach& raw,
                                      const std::string& raw_text) const {
  std::set<std::string> known;
  for (const std::string& line : lines_of(raw_text))
    known.insert(bare(line));
  std::vector<std::set<std::string>> raws_own;
  for (const std::string& line : raw.lines_never_run(raw_text))
    raws_own.push_back(words_of(line));
  const std::vector<std::string> lines = lines_of(text);
  const std::set<unsigned> of_helpers = lines_of_helpers(text);
  std::set<unsigned> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [place, ran] : places_) {
    if (ran || of_helpers.contains(place.first) || place.first < 1 || place.first > lines.size() ||
        known.contains(bare(lines[place.first - 1])))
      continue;
    const std::set<std::string> words = words_of(lines[place.first - 1]);
    if (!std::ranges::any_of(raws_own, [&](const auto& other) { return is_variant(words, other); }))
      found.insert(place.first);
  }
  std::vector<std::string> sentences;
  for (const unsigned line : found) {
    const std::string& source = lines[line - 1];
    const std::size_t begin = source.find_first_not_of(" \t");
    sentences.push_back("line " + std::to_string(line) + " ('" +
                        (begin == std::string::npos ? "" : source.substr(begin, 80)) + "')");
  }
  return sentences;
}

} // namespace lathe::refactor
