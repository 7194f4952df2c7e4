#include "refactor/guard/text_facts.h"
#include "tuner/base/text.h"

#include <array>
#include <cctype>
#include <regex>
#include <vector>

namespace lathe::refactor {
namespace {

// CUDA's own words, and others that mean one thing to all.
const std::set<std::string> WORDS = {
    "__global__",        "__device__",    "__host__",         "__shared__",     "__constant__",
    "__managed__",       "__restrict__",  "__restrict",       "__inline__",     "__forceinline__",
    "__noinline__",      "__align__",     "__volatile__",     "__attribute__",  "__launch_bounds__",
    "__grid_constant__", "__maxnreg__",   "__cluster_dims__", "__block_size__", "__asm__",
    "__alignof__",       "__nv_bfloat16", "__nv_bfloat162"};

const std::set<std::string> HARMLESS_PRAGMAS = {"unroll", "nounroll", "once"};
const std::set<std::string> HARMLESS_ATTRIBUTES = {
    "aligned", "always_inline", "noinline", "unused",      "maybe_unused", "nodiscard", "fallthrough",
    "likely",  "unlikely",      "packed",   "__aligned__", "__unused__",   "deprecated"};
// Promises that are checked when kernels run on the host executor, and what means the same everywhere.
const std::set<std::string> HARMLESS_BUILTINS = {
    "__builtin_assume",      "__builtin_assume_aligned", "__builtin_expect",
    "__builtin_unreachable", "__builtin_memcpy",         "__builtin_memset",
    "__builtin_bit_cast",    "__builtin_addressof",      "__builtin_is_constant_evaluated"};

// The text without comments and the insides of literals; lines stay where they are.
std::string without_comments(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0) {
      while (i < text.size() && text[i] != '\n')
        i += text[i] == '\\' && i + 1 < text.size() ? 2 : 1;
    } else if (text.compare(i, 2, "/*") == 0) {
      const std::size_t end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
      for (; i < end; ++i)
        if (text[i] == '\n')
          out.push_back('\n');
      out.push_back(' ');
    } else if (text[i] == 'R' && i + 1 < text.size() && text[i + 1] == '"' &&
               (i == 0 || !is_word(text[i - 1]))) {
      const std::size_t open = text.find('(', i);
      if (open == std::string_view::npos)
        return out;
      const std::string close = ")" + std::string(text.substr(i + 2, open - i - 2)) + "\"";
      i = std::min(text.find(close, open), text.size() - close.size()) + close.size();
      out += "\"\"";
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || !is_word(text[i - 1])))) {
      const char quote = text[i];
      out += {quote, quote};
      for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i)
        i += text[i] == '\\';
      ++i;
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

// "__CUDA_ARCH__", "__LINE__", "__cplusplus", "__has_include": what a compiler defines.
bool is_predefined(const std::string& word) {
  if (WORDS.contains(word) || word.size() < 4 || word[0] != '_' || word[1] != '_')
    return false;
  return word == "__cplusplus" || word.starts_with("__has_") || word.starts_with("__is_") ||
         std::isupper(static_cast<unsigned char>(word[2])) || word.ends_with("__");
}

class Reader {
public:
  explicit Reader(std::string_view text) : text_(without_comments(text)) {}

  TextFacts read() {
    static const std::regex split_name(R"(\w\\[ \t]*\n\w)");
    if (std::regex_search(text_, split_name))
      facts_.constructions.insert("a name split over two lines");
    std::string joined = std::regex_replace(text_, std::regex(R"(\\[ \t]*\n)"), " ");
    for (const char* mark : {"##", "%:", "??", "\\u", "\\U", "_Pragma"})
      if (joined.find(mark) != std::string::npos)
        facts_.constructions.insert(mark);
    std::size_t at = 0;
    while (at < joined.size()) {
      const std::size_t end = std::min(joined.find('\n', at), joined.size());
      directive(joined.substr(at, end - at));
      at = end + 1;
    }
    for (const std::string& word : identifiers(joined)) {
      if (is_predefined(word))
        facts_.predefined.insert(word);
      if (word.starts_with("__builtin_"))
        facts_.builtins.insert(word);
    }
    attributes(joined);
    for (const std::string& name : defined_)
      facts_.conditions.erase(name);
    return std::move(facts_);
  }

private:
  void directive(const std::string& line) {
    static const std::regex form(R"(^\s*#\s*(\w*)\s*(.*)$)");
    std::smatch match;
    if (!std::regex_match(line, match, form))
      return;
    const std::string name = match[1], rest = match[2];
    if (name == "line" || (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0]))))
      facts_.constructions.insert("#line");
    else if (name == "pragma")
      facts_.pragmas.insert(pragma_name(rest));
    else if (name == "define" && !identifiers(rest).empty())
      defined_.insert(identifiers(rest)[0]);
    else if (name.starts_with("if") || name.starts_with("elif"))
      condition(name, rest);
  }

  void condition(const std::string& name, const std::string& rest) {
    bool forks = false;
    for (const std::string& word : identifiers(rest)) {
      forks |= is_predefined(word);
      if (word != "defined")
        facts_.conditions.insert(word);
    }
    std::string bare = name + " ";
    for (const char c : rest)
      if (!std::isspace(static_cast<unsigned char>(c)))
        bare.push_back(c);
    if (forks)
      facts_.forks.insert(bare);
  }

  static std::string pragma_name(const std::string& rest) {
    const std::vector<std::string> words = identifiers(rest);
    if (words.empty())
      return "";
    const bool is_vendor =
        words[0] == "clang" || words[0] == "GCC" || words[0] == "STDC" || words[0] == "nvcc";
    return is_vendor && words.size() > 1 ? words[0] + " " + words[1] : words[0];
  }

  void attributes(const std::string& text) {
    static const std::regex gnu(R"(__attribute(?:__)?\s*\(\(([^;{}]*?)\)\))"),
        standard(R"(\[\[([^;{}]*?)\]\])");
    for (const std::regex* form : {&gnu, &standard})
      for (std::sregex_iterator at(text.begin(), text.end(), *form), end; at != end; ++at)
        for (const std::string& word : identifiers((*at)[1].str()))
          facts_.attributes.insert(word);
  }

  std::string text_;
  TextFacts facts_;
  std::set<std::string> defined_;
};

} // namespace

TextFacts text_facts(std::string_view text) {
  return Reader(text).read();
}

std::set<std::string> foreign_text(const TextFacts& templated, const TextFacts& raw,
                                   const std::set<std::string>& knobs) {
  std::set<std::string> sentences;
  const auto compare = [&](const std::set<std::string>& ours, const std::set<std::string>& theirs,
                           const std::set<std::string>& harmless, const char* verb, const char* why) {
    for (const std::string& name : ours)
      if (!theirs.contains(name) && !harmless.contains(name) && !knobs.contains(name))
        sentences.insert(std::string("the template ") + verb + " '" + name +
                         "', which the raw kernel does not: " + why);
  };
  compare(templated.predefined, raw.predefined, {}, "uses", "it differs from compiler to compiler");
  compare(templated.conditions, raw.conditions, templated.predefined, "is compiled under a condition on",
          "other compilers may see other code");
  compare(templated.forks, raw.forks, {}, "is compiled under", "other compilers may see other code");
  compare(templated.pragmas, raw.pragmas, HARMLESS_PRAGMAS, "has the pragma",
          "it may change what one compiler makes of the code");
  compare(templated.attributes, raw.attributes, HARMLESS_ATTRIBUTES, "has the attribute",
          "it may change what one compiler makes of the code");
  compare(templated.builtins, raw.builtins, HARMLESS_BUILTINS, "calls",
          "its result may differ from compiler to compiler");
  compare(templated.constructions, raw.constructions, {}, "contains",
          "names that are put together escape the guard's reading");
  return sentences;
}

} // namespace lathe::refactor
