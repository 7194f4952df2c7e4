// name-macros: #define TILE 32 becomes a constant of that name, which the rules for constants can take, and
// what stands for a thread's number or a loop is written out, where the other rules can change it.
#include "refactor/frontend/parsed_source.h"
#include "refactor/rewrite/rule_support.h"
#include "refactor/rewrite/spelled_macros.h"

#include <clang/Lex/Preprocessor.h>

#include <algorithm>
#include <cctype>
#include <regex>

namespace lathe::refactor {

namespace {

struct Line {
  std::size_t begin = 0, end = 0; // without the newline
  std::string text;
  bool continued = false, continues = false;
};

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    Line line{begin, end, text.substr(begin, end - begin), false, false};
    line.continued = !lines.empty() && lines.back().continues;
    line.continues = !line.text.empty() && line.text.back() == '\\';
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

class NameMacros : public Rule {
public:
  std::string_view name() const override { return "name-macros"; }
  std::string_view summary() const override {
    return "turns macros that are whole numbers into constants, which other rules can take as knobs, and "
           "writes out macros for a thread's number or a loop";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    const std::vector<Line> lines = lines_of(candidate.text);
    static const std::regex object(R"(^\s*#\s*define\s+([A-Za-z_]\w*)\s+(.*?)\s*(//.*)?$)");
    static const std::regex number(R"((0[xX][0-9a-fA-F]+|[0-9]+)([uU]?[lL]{0,2}|[lL]{1,2}[uU])?)");
    std::map<std::string, int> definitions;
    std::vector<std::pair<const Line*, std::string>> numbers; // what defines a number, and its name
    std::map<std::string, std::string> values;
    for (const Line& line : lines) {
      std::smatch parts;
      if (!std::regex_match(line.text, parts, object)) {
        static const std::regex other(R"(^\s*#\s*(define|undef)\s+([A-Za-z_]\w*).*)");
        if (std::regex_match(line.text, parts, other))
          ++definitions[parts[2]];
        continue;
      }
      const std::string macro = parts[1], body = parts[2];
      ++definitions[macro];
      if (line.continued || line.continues || !is_number(body, values))
        continue;
      values[macro] = body;
      numbers.emplace_back(&line, macro);
    }
    Proposal proposal;
    std::string named, reasons;
    std::set<std::string> constants;
    for (const auto& [line, macro] : numbers) {
      if (definitions[macro] != 1) {
        reasons += (reasons.empty() ? "" : "; ") + macro + " is defined more than once";
        continue;
      }
      if (is_defined_elsewhere(source, macro)) {
        reasons += (reasons.empty() ? "" : "; ") + macro + " is defined by a header, too";
        continue;
      }
      if (const std::string reason = needs_macro(lines, *line, macro, values); !reason.empty()) {
        reasons += (reasons.empty() ? "" : "; ") + macro + " " + reason;
        continue;
      }
      const bool plain = std::regex_match(values[macro], std::regex(R"([\s()]*[0-9]+[\s()]*)"));
      std::smatch parts;
      std::regex_match(line->text, parts, object);
      proposal.edits.push_back({line->begin, line->end - line->begin,
                                std::string("constexpr ") + (plain ? "int " : "auto ") + macro + " = " +
                                    values[macro] + ";" +
                                    (parts[3].matched ? " " + parts[3].str() : std::string())});
      named += (named.empty() ? "" : ", ") + macro;
      constants.insert(macro);
    }
    std::vector<std::string> spelled;
    const std::vector<Edit> written_out =
        spell_out_macros(source, view_of(source, kernel, candidate), constants, spelled);
    proposal.edits.insert(proposal.edits.end(), written_out.begin(), written_out.end());
    remove_definitions(lines, spelled, definitions, written_out, proposal.edits);
    if (proposal.edits.empty())
      return Refusal{reasons.empty() ? "no macro is a whole number" : reasons};
    if (!named.empty())
      proposal.detail = named + " named as constants";
    for (const std::string& name : spelled)
      proposal.detail += (proposal.detail.empty() ? "" : ", ") + name + " written out";
    return proposal;
  }

private:
  // The definition of what is written out everywhere goes: a constant in it would count as used there.
  static void remove_definitions(const std::vector<Line>& lines, const std::vector<std::string>& spelled,
                                 const std::map<std::string, int>& definitions,
                                 const std::vector<Edit>& written_out, std::vector<Edit>& edits) {
    const auto is_written_out = [&](std::size_t at) {
      return std::ranges::any_of(
          written_out, [&](const Edit& edit) { return edit.offset <= at && at < edit.offset + edit.length; });
    };
    for (const std::string& macro : spelled) {
      const auto known = definitions.find(macro);
      if (known == definitions.end() || known->second != 1)
        continue;
      const std::regex definition(R"(^\s*#\s*define\s+)" + macro + R"(\b.*)"), word("\\b" + macro + "\\b");
      std::size_t begin = 0, end = 0; // of the definition
      bool is_inside = false, is_used = false;
      for (const Line& line : lines) {
        is_inside = std::regex_match(line.text, definition) || (is_inside && line.continued);
        if (is_inside) {
          begin = end == 0 ? line.begin : begin;
          end = line.end;
          continue;
        }
        for (std::sregex_iterator at(line.text.begin(), line.text.end(), word), none; at != none; ++at)
          is_used |= !is_written_out(line.begin + static_cast<std::size_t>(at->position()));
      }
      if (!is_used && end != 0)
        edits.push_back({begin, end - begin, ""});
    }
  }

  // CUDA_VERSION: the compiler's own headers have it, and the constant's name would be a number.
  static bool is_defined_elsewhere(ParsedSource& source, const std::string& macro) {
    clang::Preprocessor& preprocessor = source.ast().getPreprocessor();
    const clang::SourceManager& sources = source.ast().getSourceManager();
    const clang::IdentifierInfo* name = preprocessor.getIdentifierInfo(macro);
    for (const clang::MacroDirective* directive = preprocessor.getLocalMacroDirectiveHistory(name);
         directive != nullptr; directive = directive->getPrevious())
      if (clang::isa<clang::DefMacroDirective>(directive) && !sources.isInMainFile(directive->getLocation()))
        return true;
    return false;
  }

  // Whole numbers, operators, and macros that are such numbers themselves.
  static bool is_number(const std::string& body, const std::map<std::string, std::string>& values) {
    static const std::regex token(R"(\s+|[-+*/%()]|<<|>>|[0-9]\w*|[A-Za-z_]\w*)");
    bool any = false;
    std::size_t at = 0;
    for (std::sregex_iterator found(body.begin(), body.end(), token), none; found != none; ++found) {
      const std::string word = found->str();
      if (static_cast<std::size_t>(found->position()) != at)
        return false;
      at += word.size();
      if (std::isdigit(static_cast<unsigned char>(word.front()))) {
        if (!std::regex_match(word, std::regex(R"((0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*)")))
          return false;
        any = true;
      } else if (std::isalpha(static_cast<unsigned char>(word.front())) || word.front() == '_') {
        if (!values.contains(word))
          return false;
        any = true;
      }
    }
    return any && at == body.size();
  }

  // Why the preprocessor must go on knowing the name; "" when it need not.
  static std::string needs_macro(const std::vector<Line>& lines, const Line& own, const std::string& macro,
                                 const std::map<std::string, std::string>& values) {
    static const std::regex conditional(R"(^\s*#\s*(if|ifdef|ifndef|elif)\b.*)");
    static const std::regex definition(R"(^\s*#\s*define\s+([A-Za-z_]\w*).*)");
    bool in_definition = false;
    for (const Line& line : lines) {
      const bool defines = std::regex_match(line.text, definition);
      in_definition = line.continued ? in_definition : defines;
      if (&line == &own || !has_word(line.text, macro))
        continue;
      if (line.begin < own.begin && !in_definition)
        return "is used before it is defined";
      if (std::regex_match(line.text, conditional))
        return "is asked for by #if";
      std::smatch parts;
      const bool is_value = std::regex_match(line.text, parts, definition) && values.contains(parts[1]);
      if (in_definition && !is_value && line.text.find('#', line.text.find('#') + 1) != std::string::npos)
        return "is pasted or quoted by another macro";
      if (line.text.find("asm") != std::string::npos)
        return "is used in inline assembly";
    }
    return "";
  }
};

} // namespace

std::unique_ptr<Rule> make_name_macros() {
  return std::make_unique<NameMacros>();
}

} // namespace lathe::refactor
