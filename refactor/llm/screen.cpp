#include "refactor/llm/screen.h"

#include "refactor/llm/answer_text.h"

#include <clang/Basic/LangOptions.h>
#include <clang/Basic/SourceLocation.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <set>
#include <vector>

namespace lathe::refactor::llm {
namespace {

struct Word {
  clang::tok::TokenKind kind;
  std::string text;
  std::size_t line = 1;
  bool starts_line = false;
  bool has_tricks = false; // a trigraph, a spliced line or a universal character name inside
};

std::vector<Word> words_of(std::string_view text) {
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.CPlusPlus14 = language.CPlusPlus17 = true;
  language.CUDA = language.LineComment = language.Digraphs = true;
  const std::string owned(text);
  clang::Lexer lexer(clang::SourceLocation(), language, owned.data(), owned.data(),
                     owned.data() + owned.size());
  std::vector<Word> words;
  std::size_t line = 1, counted = 0;
  for (clang::Token token;;) {
    const bool is_last = lexer.LexFromRawLexer(token);
    if (token.is(clang::tok::eof))
      return words;
    const std::size_t end = lexer.getCurrentBufferOffset(), begin = end - token.getLength();
    line += static_cast<std::size_t>(std::count(owned.data() + counted, owned.data() + begin, '\n'));
    counted = begin;
    words.push_back({token.getKind(), owned.substr(begin, token.getLength()), line, token.isAtStartOfLine(),
                     token.needsCleaning() || token.hasUCN()});
    if (is_last)
      return words;
  }
}

// A directive, or a whole #if ... #endif, as its words between blanks; and the words outside of them.
struct Structure {
  struct Piece {
    std::string text, name;
    std::size_t line;
  };
  std::vector<Piece> pieces;
  std::vector<Word> code;
  std::string problem;
};

bool opens(const std::string& name) {
  return name == "if" || name == "ifdef" || name == "ifndef";
}

Structure structure_of(const std::vector<Word>& words) {
  Structure structure;
  int depth = 0;
  for (std::size_t i = 0; i < words.size();) {
    const bool is_directive = words[i].kind == clang::tok::hash && words[i].starts_line;
    std::size_t end = i + 1;
    std::string text = words[i].text, name;
    if (is_directive) {
      for (; end < words.size() && !words[end].starts_line; ++end)
        text += " " + words[end].text;
      name = end > i + 1 ? words[i + 1].text : "";
      if (text.starts_with("%:"))
        structure.problem = fmt::format("line {}: a digraph", words[i].line);
    }
    const bool inside = depth > 0;
    if (is_directive && opens(name))
      ++depth;
    else if (is_directive && name == "endif")
      --depth;
    if (depth < 0)
      structure.problem = fmt::format("line {}: #endif without #if", words[i].line);
    if (inside)
      structure.pieces.back().text += (is_directive ? "\n" : " ") + text;
    else if (is_directive)
      structure.pieces.push_back({text, name, words[i].line});
    else
      structure.code.push_back(words[i]);
    i = end;
  }
  if (depth > 0)
    structure.problem = "an #if is not closed";
  return structure;
}

// "#pragma unroll", with nothing, a number, a name or an expression over those behind it.
bool is_unroll(const Structure::Piece& piece) {
  const std::string_view start = "# pragma unroll";
  return piece.text.starts_with(start) &&
         (piece.text.size() == start.size() || piece.text[start.size()] == ' ') &&
         piece.text.find_first_of(";{}\"\n", start.size()) == std::string::npos;
}

// Words of the language and of libraries that device code without side effects does not need.
bool is_forbidden(const std::string& word) {
  static const std::set<std::string> known{"asm",
                                           "__asm",
                                           "__asm__",
                                           "_Pragma",
                                           "__pragma",
                                           "__attribute__",
                                           "__attribute",
                                           "__declspec",
                                           "main",
                                           "new",
                                           "delete",
                                           "malloc",
                                           "calloc",
                                           "realloc",
                                           "free",
                                           "alloca",
                                           "printf",
                                           "fprintf",
                                           "puts",
                                           "vprintf",
                                           "system",
                                           "popen",
                                           "fork",
                                           "vfork",
                                           "syscall",
                                           "exec",
                                           "execve",
                                           "execl",
                                           "execlp",
                                           "execvp",
                                           "dlopen",
                                           "dlsym",
                                           "fopen",
                                           "open",
                                           "mmap",
                                           "signal",
                                           "raise",
                                           "abort",
                                           "exit",
                                           "_exit",
                                           "getenv",
                                           "setenv",
                                           "longjmp",
                                           "setjmp",
                                           "goto",
                                           "throw",
                                           "try",
                                           "catch",
                                           "typeid",
                                           "dynamic_cast",
                                           "import",
                                           "module",
                                           "export",
                                           "__import__",
                                           "__managed__",
                                           "__constant__",
                                           "__host__",
                                           "__grid_constant__",
                                           "__trap",
                                           "__brkpt",
                                           "__nanosleep",
                                           "__prof_trigger",
                                           "clock",
                                           "clock64",
                                           "globaltimer",
                                           "__threadfence_system",
                                           "assert",
                                           "__assert_fail",
                                           "__builtin_trap",
                                           "__builtin_unreachable",
                                           "__builtin_debugtrap",
                                           "thread_local",
                                           "volatile",
                                           "co_await",
                                           "co_yield",
                                           "co_return"};
  if (known.contains(word))
    return true;
  const auto upper_at = [&](std::size_t i) {
    return word.size() > i && std::isupper(static_cast<unsigned char>(word[i]));
  };
  // The CUDA runtime's and driver's functions; names of Lathe's own; macros that tell one compiler from
  // another.
  if ((word.starts_with("cuda") && upper_at(4)) || (word.starts_with("cu") && upper_at(2)) ||
      word.starts_with("nvrtc") || word.starts_with("__nvvm") || word.starts_with("__nv_tex"))
    return true;
  std::string lower = word;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.find("lathe") != std::string::npos)
    return true;
  return word.size() > 4 && word.starts_with("__") && word.ends_with("__") &&
         std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::islower(c); });
}

// Attributes that every CUDA kernel may have.
bool is_usual_attribute(const std::string& word) {
  static const std::set<std::string> known{"__global__",   "__device__",        "__shared__",
                                           "__restrict__", "__forceinline__",   "__noinline__",
                                           "__inline__",   "__launch_bounds__", "__align__"};
  return known.contains(word);
}

Status screen_bytes(std::string_view text) {
  std::size_t line = 1;
  const auto refused = [&](const char* what) {
    return Error{"the template is refused", fmt::format("line {}: {}", line, what), ""};
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n')
      ++line;
    if (text.substr(i, 2) == "??" && i + 2 < text.size() &&
        std::string_view("=/'()!<>-").find(text[i + 2]) != std::string_view::npos)
      return refused("a trigraph");
    // Characters that reorder the text on a screen, or are not seen (Unicode technical report 36).
    const std::string_view sequence = text.substr(i, 3);
    if (sequence.size() == 3 && sequence[0] == '\xe2' && sequence[1] == '\x80' &&
        ((sequence[2] >= '\x8b' && sequence[2] <= '\x8f') ||
         (sequence[2] >= '\xaa' && sequence[2] <= '\xae')))
      return refused("an invisible character");
    if (sequence.size() == 3 && sequence[0] == '\xe2' && sequence[1] == '\x81' && sequence[2] >= '\xa6' &&
        sequence[2] <= '\xa9')
      return refused("an invisible character");
  }
  return Done{};
}

} // namespace

Status screen_text(std::string_view text, std::string_view raw) {
  const auto refused = [](std::size_t line, const std::string& what) {
    return Error{"the template is refused", fmt::format("line {}: {}", line, what), ""};
  };
  LATHE_CHECK(screen_bytes(text));
  const std::vector<Word> words = words_of(text);
  const Structure given = structure_of(words), original = structure_of(words_of(raw));
  if (!given.problem.empty())
    return Error{"the template is refused", given.problem, ""};
  std::set<std::string> raw_pieces, raw_words;
  for (const Structure::Piece& piece : original.pieces)
    raw_pieces.insert(piece.text);
  for (const Word& word : original.code)
    raw_words.insert(word.text);

  for (const Structure::Piece& piece : given.pieces) {
    if (raw_pieces.contains(piece.text) || is_unroll(piece))
      continue;
    const std::string shown = excerpt(piece.text, 60);
    if (piece.name == "include" || piece.name == "include_next" || piece.name == "import" ||
        piece.name == "embed")
      return refused(piece.line, "'" + shown + "' names a file that the raw kernel's text does not include");
    if (opens(piece.name))
      return refused(piece.line, "'" + shown +
                                     "' begins a conditional part that the raw kernel's text does not have "
                                     "word for word");
    return refused(piece.line,
                   "the directive '" + shown +
                       "' is not in the raw kernel's text; only #pragma unroll is allowed beside those");
  }
  for (std::size_t i = 0; i < given.code.size(); ++i) {
    const Word& word = given.code[i];
    if (word.has_tricks)
      return refused(word.line,
                     "a line that is spliced, or a character written as its number, inside a word");
    if (word.kind == clang::tok::unknown)
      return refused(word.line, "'" + excerpt(word.text, 40) + "' is no word of the language");
    const auto next = [&](std::size_t ahead) -> std::string {
      return i + ahead < given.code.size() ? given.code[i + ahead].text : "";
    };
    if (word.text == "<<<" || word.text == ">>>" || (word.text == "<<" && next(1) == "<"))
      return refused(word.line, "a kernel launch");
    if (word.text == "[" && next(1) == "[")
      return refused(word.line, "an attribute in brackets");
    if (word.kind != clang::tok::raw_identifier || raw_words.contains(word.text) ||
        is_usual_attribute(word.text))
      continue;
    if (is_forbidden(word.text))
      return refused(word.line, "'" + excerpt(word.text, 40) +
                                    "' is not allowed: the raw kernel's text does not have it");
    if (word.text == "extern" && next(1) != "__shared__")
      return refused(word.line, "'extern' is allowed in front of __shared__ only");
    if (std::any_of(word.text.begin(), word.text.end(),
                    [](char c) { return static_cast<unsigned char>(c) > 0x7F; }))
      return refused(word.line, "a name with characters beyond ASCII");
  }
  return Done{};
}

} // namespace lathe::refactor::llm
