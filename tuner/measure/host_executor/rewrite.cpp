#include "tuner/measure/host_executor/rewrite.h"

#include "tuner/base/text.h"
#include "tuner/measure/host_executor/lane_masks.h"
#include "tuner/measure/host_executor/ptx.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace lathe::host {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

struct Token {
  enum Kind { word, string, other, end } kind = end;
  std::string_view text;
};

// Tokens of preprocessed C++: no comments, no continuation lines.
class Lexer {
public:
  explicit Lexer(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}
  std::size_t position() const { return at_; }
  void seek(std::size_t at) { at_ = at; }

  Token next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
      ++at_;
    if (at_ >= text_.size())
      return {};
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (c == '"' || c == '\'')
      return {Token::string, literal(begin)};
    if (std::isdigit(static_cast<unsigned char>(c)) ||
        (c == '.' && at_ + 1 < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_ + 1])))) {
      // Digit separators and exponents belong to the number.
      while (at_ < text_.size() &&
             (is_word(text_[at_]) || text_[at_] == '.' ||
              (text_[at_] == '\'' && at_ + 1 < text_.size() && is_word(text_[at_ + 1])) ||
              ((text_[at_] == '+' || text_[at_] == '-') &&
               std::string_view("eEpP").find(text_[at_ - 1]) != std::string_view::npos &&
               !text_.substr(begin).starts_with("0x"))))
        ++at_;
      return {Token::other, text_.substr(begin, at_ - begin)};
    }
    if (is_word(c)) {
      while (at_ < text_.size() && is_word(text_[at_]))
        ++at_;
      const std::string_view word = text_.substr(begin, at_ - begin);
      if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
        if (word == "R" || word == "u8R" || word == "LR" || word == "uR" || word == "UR")
          return {Token::string, raw_literal(begin)};
        if (word == "L" || word == "u8" || word == "u" || word == "U")
          return {Token::string, literal(begin)};
      }
      return {Token::word, word};
    }
    const std::size_t length = text_.substr(at_).starts_with("<<<") || text_.substr(at_).starts_with(">>>")
                                   ? 3
                               : text_.substr(at_).starts_with("::") ? 2
                                                                     : 1;
    at_ += length;
    return {Token::other, text_.substr(begin, length)};
  }

private:
  std::string_view literal(std::size_t begin) {
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n')
      at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
    return text_.substr(begin, at_ - begin);
  }
  std::string_view raw_literal(std::size_t begin) {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos)
      return literal(begin);
    const std::string close = std::string(1, ')').append(text_.substr(at_ + 1, open - at_ - 1)) += '"';
    const std::size_t end = text_.find(close, open);
    at_ = end == std::string_view::npos ? text_.size() : end + close.size();
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  std::size_t at_;
};

// What a string literal stands for.
std::string unquoted(std::string_view literal) {
  if (const auto raw = literal.find("R\""); raw != std::string_view::npos && raw < literal.find('(')) {
    const auto open = literal.find('(');
    return std::string(literal.substr(open + 1, literal.rfind(')') - open - 1));
  }
  std::string result;
  for (std::size_t i = literal.find('"') + 1; i + 1 < literal.size(); ++i) {
    if (literal[i] != '\\') {
      result += literal[i];
      continue;
    }
    const char c = literal[++i];
    result += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return result;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text)
    result += c == '"' || c == '\\' ? std::string{'\\', c}
              : c == '\n'           ? std::string("\\n")
                                    : std::string(1, c);
  return result + "\"";
}

class Rewriter {
public:
  Rewriter(std::string_view text, const RewriteOptions& options)
      : text_(text), options_(options), lexer_(text) {}

  std::string run() {
    output_.reserve(text_.size() + text_.size() / 8);
    while (true) {
      const std::size_t before = lexer_.position();
      if (line_marker(before))
        continue;
      const Token token = lexer_.next();
      if (token.kind == Token::end)
        break;
      const std::size_t begin = static_cast<std::size_t>(token.text.data() - text_.data());
      // A line marker may hide behind the white space that the lexer skipped.
      if (token.text == "#" && (begin == 0 || text_[begin - 1] == '\n')) {
        copy_to(begin);
        lexer_.seek(begin);
        continue;
      }
      if (token.kind == Token::word && !exempt_ && keyword(token, begin)) {
        previous_ = ";";
        continue;
      }
      if (token.text == "<<<" && !exempt_) {
        launch(begin);
        continue;
      }
      if (token.text == "(" && !exempt_)
        if (const auto mask = lane_mask_at(text_, begin, previous_)) {
          replace(mask->begin, mask->shift, "int((1u");
          masks_.push_back(*mask);
          previous_ = "1";
          continue;
        }
      if (!masks_.empty() && begin == masks_.back().minus) {
        replace(masks_.back().minus, masks_.back().end, "- 1u)");
        masks_.pop_back();
        previous_ = ")";
        continue;
      }
      scopes(token);
      previous_ = token.text;
    }
    copy_to(text_.size());
    return std::move(output_);
  }

private:
  void copy_to(std::size_t end) {
    if (end > copied_)
      output_ += text_.substr(copied_, end - copied_);
    copied_ = std::max(copied_, end);
  }
  // Replaces [begin, end) by `replacement`, with as many line breaks as it had.
  void replace(std::size_t begin, std::size_t end, std::string replacement) {
    copy_to(begin);
    std::erase(replacement, '\n');
    output_ += replacement;
    output_.append(
        static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                                            text_.begin() + static_cast<std::ptrdiff_t>(end), '\n')),
        '\n');
    copied_ = end;
    lexer_.seek(end);
  }

  // "# 12 "file" 3": the C++ library's own assembly is x86's and stays; so does the context header's.
  bool line_marker(std::size_t at) {
    if (at >= text_.size() || text_[at] != '#' || (at > 0 && text_[at - 1] != '\n'))
      return false;
    std::size_t end = text_.find('\n', at);
    if (end == std::string_view::npos)
      end = text_.size();
    const std::string_view line = text_.substr(at, end - at);
    if (line.size() > 2 && std::isdigit(static_cast<unsigned char>(line[2]))) {
      const auto close = line.rfind('"');
      const bool system = close != std::string_view::npos && line.find('3', close) != std::string_view::npos;
      exempt_ = system || line.find("lathe_context.h\"") != std::string_view::npos;
    }
    lexer_.seek(end);
    return true;
  }

  void scopes(const Token& token) {
    if (token.text == "{") {
      scopes_.push_back(namespace_ahead_);
      namespace_ahead_ = false;
    } else if (token.text == "}") {
      if (!scopes_.empty())
        scopes_.pop_back();
      namespace_ahead_ = false;
    } else if (token.text == ";") {
      namespace_ahead_ = false;
    } else if (token.text == "namespace" || (previous_ == "extern" && token.kind == Token::string)) {
      namespace_ahead_ = true;
    }
  }
  bool in_function() const { return std::find(scopes_.begin(), scopes_.end(), false) != scopes_.end(); }

  bool keyword(const Token& token, std::size_t begin) {
    if (token.text == "asm" || token.text == "__asm__" || token.text == "__asm")
      return assembly(begin);
    if (token.text == "__shared__")
      return shared(begin);
    if (token.text == "extern")
      return shared_ahead() && shared(begin);
    if (token.text == "__noinline__" && previous_ != "(" && previous_ != ",") {
      replace(begin, begin + token.text.size(), "__attribute__((noinline))");
      return true;
    }
    return false;
  }

  // Whether a declaration that starts with `extern` is one of shared memory.
  bool shared_ahead() {
    Lexer ahead(text_, lexer_.position());
    for (int i = 0; i < 32; ++i) {
      const Token token = ahead.next();
      if (token.text == "__shared__")
        return true;
      if (token.kind == Token::end || token.text == ";" || token.text == "{" || token.text == "=" ||
          token.kind == Token::string)
        return false;
    }
    return false;
  }

  struct Declaration {
    std::string specifiers; // alignment taken out
    std::string alignment;
    bool is_extern = false;
    std::size_t end = 0;                           // of the ';'
    std::vector<std::array<std::string, 2>> names; // declarator: name, array suffix
  };

  bool shared(std::size_t begin) {
    Declaration declaration = parse(begin);
    if (!declaration.is_extern) {
      const std::string storage = options_.several_threads
                                      ? "static __attribute__((used)) thread_local "
                                      : "static __attribute__((section(\"lathe_shared\"), used)) ";
      // `static` may stand on either side already: twice is an error to some compilers.
      copy_to(begin);
      std::string before = trimmed(
          std::string_view(output_).substr(output_.size() - std::min<std::size_t>(output_.size(), 16)));
      const bool has_static = before.ends_with("static");
      replace(begin, begin + std::string_view("__shared__").size(),
              declaration.alignment + (has_static ? storage.substr(7) : storage));
      if (!declaration.alignment.empty())
        replace(begin + std::string_view("__shared__").size(), declaration.end, declaration.specifiers);
      return true;
    }
    if (!in_function()) {
      std::string result =
          "extern " + std::string(options_.several_threads ? "__thread " : "") + declaration.specifiers;
      for (std::size_t i = 0; i < declaration.names.size(); ++i)
        result += (i ? ", " : " ") + declaration.names[i][0] + declaration.names[i][1] +
                  " __asm__(\"lathe_dynamic_shared\")";
      replace(begin, declaration.end, result);
      return true;
    }
    std::string result;
    for (const auto& [name, suffix] : declaration.names)
      result += (result.empty() ? "" : "; ") + declaration.specifiers + " (&" + name + ")" + suffix +
                " = *reinterpret_cast<" + declaration.specifiers + " (*)" + suffix +
                ">(__builtin_assume_aligned(::lathe_host::block().dynamic_shared, 1024))";
    replace(begin, declaration.end, result);
    return true;
  }

  // From `begin` (at `extern` or `__shared__`) to the semicolon. For a static variable only the alignment
  // specifiers are taken apart; a C++ `alignas` may not follow the storage class.
  Declaration parse(std::size_t begin) {
    Declaration result;
    Lexer lexer(text_, begin);
    std::size_t from = begin;
    int depth = 0, angles = 0;
    std::string specifiers;
    const auto take = [&](std::size_t end) {
      specifiers += text_.substr(from, end - from);
      from = end;
    };
    bool in_suffix = false;
    std::string suffix;
    while (true) {
      const Token token = lexer.next();
      if (token.kind == Token::end)
        break;
      const std::size_t at = static_cast<std::size_t>(token.text.data() - text_.data());
      const bool top = depth == 0;
      if (top && token.text == ";") {
        result.end = at;
        break;
      }
      if (top && (token.text == "alignas" || token.text == "__attribute__" || token.text == "_Alignas")) {
        take(at);
        int nesting = 0;
        Token inner;
        do {
          inner = lexer.next();
          nesting += (inner.text == "(") - (inner.text == ")");
        } while (inner.kind != Token::end && nesting > 0);
        if (token.text != "__attribute__")
          result.alignment += std::string(text_.substr(at, lexer.position() - at)) + " ";
        else if (!result.is_extern)
          specifiers += text_.substr(at, lexer.position() - at);
        from = lexer.position();
        continue;
      }
      if (top && (token.text == "extern" || token.text == "__shared__" ||
                  (token.text == "static" && specifiers.empty()))) {
        take(at);
        result.is_extern |= token.text == "extern";
        from = lexer.position();
        continue;
      }
      if (top && result.is_extern && token.text == "[" && angles == 0) {
        if (!in_suffix)
          take(at);
        in_suffix = true;
      }
      if (in_suffix && top && token.text == ",") {
        finish(result, specifiers, suffix);
        in_suffix = false, suffix.clear(), specifiers.clear();
        from = lexer.position();
        continue;
      }
      if (in_suffix)
        suffix += token.text;
      angles += (token.text == "<") - (token.text == ">");
      depth += (token.text == "(" || token.text == "[" || token.text == "{") -
               (token.text == ")" || token.text == "]" || token.text == "}");
    }
    if (result.is_extern) {
      if (in_suffix)
        finish(result, specifiers, suffix);
    } else {
      take(result.end);
      result.specifiers = specifiers;
    }
    return result;
  }

  // `head`: specifiers and the first name, or only a further name.
  static void finish(Declaration& declaration, const std::string& head, const std::string& suffix) {
    std::string text = trimmed(head);
    std::size_t begin = text.size();
    while (begin > 0 && is_word(text[begin - 1]))
      --begin;
    if (declaration.names.empty())
      declaration.specifiers = trimmed(std::string_view(text).substr(0, begin));
    declaration.names.push_back({text.substr(begin), suffix});
  }

  void launch(std::size_t begin) {
    int depth = 0;
    while (true) {
      const Token token = lexer_.next();
      if (token.kind == Token::end)
        return;
      depth += (token.text == "(") - (token.text == ")");
      if (depth == 0 && token.text == ">>>")
        break;
    }
    replace(begin, lexer_.position(), "");
    previous_ = ">";
  }

  bool assembly(std::size_t begin) {
    const std::size_t after_keyword = lexer_.position();
    Token token = lexer_.next();
    bool qualified = false;
    while (token.text == "volatile" || token.text == "__volatile__" || token.text == "inline" ||
           token.text == "__volatile")
      token = lexer_.next(), qualified = true;
    if (token.text != "(") {
      lexer_.seek(after_keyword);
      return false;
    }
    std::string text;
    std::vector<AsmOperand> sections[2];
    int section = -1; // -1: the template, 0: outputs, 1: inputs, 2: clobbers
    token = lexer_.next();
    for (; token.kind == Token::string; token = lexer_.next())
      text += unquoted(token.text);
    while (token.kind != Token::end && token.text != ")") {
      if (token.text == ":" || token.text == "::") {
        section += static_cast<int>(token.text.size());
        token = lexer_.next();
      } else if (section >= 0 && section < 2 && (token.text == "[" || token.kind == Token::string)) {
        sections[section].push_back(operand(token));
      } else {
        token = lexer_.next(); // commas, clobbers
      }
    }
    const bool is_label = section < 0 && !qualified && text.find(';') == std::string::npos;
    if (is_label) { // gives a declaration its symbol
      lexer_.seek(after_keyword);
      return false;
    }
    auto statement = translate_ptx(text, sections[0], sections[1]);
    replace(begin, lexer_.position(),
            statement.ok()
                ? std::move(statement).value()
                : "::lathe_host::unsupported(" + quoted(statement.error().sentence()) + ", __LINE__)");
    return true;
  }

  // `[name] "constraint" (expression)`; leaves `token` behind it.
  AsmOperand operand(Token& token) {
    AsmOperand result;
    if (token.text == "[") {
      result.name = lexer_.next().text;
      lexer_.next();
      token = lexer_.next();
    }
    for (; token.kind == Token::string; token = lexer_.next())
      result.constraint += unquoted(token.text);
    const std::size_t begin = lexer_.position();
    std::size_t end = begin;
    for (int depth = 1; depth > 0 && token.kind != Token::end;) {
      end = lexer_.position();
      token = lexer_.next();
      depth += (token.text == "(") - (token.text == ")");
    }
    result.expression = std::string(1, '(').append(trimmed(text_.substr(begin, end - begin))) += ')';
    token = lexer_.next();
    return result;
  }

  std::string_view text_;
  RewriteOptions options_;
  Lexer lexer_;
  std::string output_;
  std::size_t copied_ = 0;
  bool exempt_ = false;
  std::string_view previous_ = ";";
  std::vector<LaneMask> masks_; // that are open, the outermost first
  std::vector<bool> scopes_;    // true: namespace or linkage block
  bool namespace_ahead_ = false;
};

} // namespace

std::string rewrite_cuda(std::string_view preprocessed, const RewriteOptions& options) {
  return Rewriter(preprocessed, options).run();
}

} // namespace lathe::host
