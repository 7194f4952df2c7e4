#include "refactor/app/build_macros.h"

#include "refactor/frontend/parsed_source.h"
#include "tuner/base/text.h"

#include <clang/Basic/FileManager.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/ASTUnit.h>
#include <clang/Lex/Preprocessor.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

namespace lathe::refactor {
namespace {

using namespace clang;

using Macros = std::vector<std::string>;

// Of the compiler, or of another vendor's devices: no build of this code for CUDA defines them.
// Names with underscores in front are the compiler's, but for a build's own that speak of devices
// (__OFFLOAD_CUDA).
bool is_of_another_platform(std::string name) {
  static const std::regex of_compiler(R"(^__(CUDACC|CUDA_ARCH|NV)|_$)"), of_devices("CUDA|GPU");
  if (name.starts_with("_") && (std::regex_search(name, of_compiler) || !std::regex_search(name, of_devices)))
    return true;
  std::ranges::transform(name, name.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return std::ranges::any_of(std::vector{"hip", "rocm", "amd", "musa", "sycl", "msc_ver", "win32", "apple"},
                             [&](const char* word) { return name.find(word) != std::string::npos; });
}

// One #if of those around a line.
struct Branch {
  std::optional<Macros> wanted;      // what would have to be defined; nothing: that would not do
  std::optional<Macros> alternative; // the same of the first condition of the chain that does not hold
  bool was_taken = false;            // an earlier branch's condition holds as it is
  std::string lacking;               // the one macro that must not be defined: #ifndef, #if !defined
};

class Conditions {
public:
  explicit Conditions(const Preprocessor& preprocessor) : preprocessor_(preprocessor) {}

  void read(const std::string& line) {
    static const std::regex directive(R"(^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*))");
    std::smatch match;
    if (!std::regex_search(line, match, directive))
      return;
    const std::string word = match[1].str(), rest = match[2].str();
    if (word == "endif") {
      if (!branches_.empty())
        branches_.pop_back();
      return;
    }
    if (word == "else" || word == "elif") {
      if (branches_.empty())
        return;
      Branch& branch = branches_.back();
      branch.lacking.clear();
      branch.was_taken |= branch.wanted && branch.wanted->empty();
      branch.wanted = branch.was_taken ? std::nullopt
                      : word == "else" ? std::optional<Macros>(Macros{})
                                       : wanted(rest);
      if (!branch.alternative)
        branch.alternative = branch.wanted;
      return;
    }
    static const std::regex undefined(R"(^\s*!\s*defined\s*\(?\s*(\w+)\s*\)?\s*$)"), name(R"(^\s*(\w+))");
    const bool has_name = std::regex_search(rest, match, word == "ifndef" ? name : undefined);
    const std::string lacking = has_name ? match[1].str() : "";
    if (word == "ifndef") { // a header's guard is defined at the end, and not where it begins
      branches_.push_back({Macros{}, std::nullopt, false, lacking});
      return;
    }
    auto own = word == "ifdef" ? wanted("defined(" + rest + ")") : wanted(rest);
    branches_.push_back({own, own, false, word == "if" ? lacking : ""});
  }

  // Where the line that was read last is not left out: what the innermost #if wants that is an alternative to
  // it.
  std::optional<Macros> instead() const {
    const auto around = all();
    return around && around->empty() && !branches_.empty() ? branches_.back().alternative : std::nullopt;
  }

  // Of a macro that is not defined where the line that was read last asks for it: its name.
  std::string demanded() const {
    const auto around = all();
    return around && around->empty() && !branches_.empty() ? branches_.back().lacking : "";
  }

  // What all conditions around the line that was read last want defined.
  std::optional<Macros> all() const {
    Macros macros;
    for (const Branch& branch : branches_) {
      if (!branch.wanted)
        return std::nullopt;
      for (const std::string& macro : *branch.wanted)
        if (std::ranges::find(macros, macro) == macros.end())
          macros.push_back(macro);
    }
    return macros;
  }

private:
  const Preprocessor& preprocessor_;
  std::vector<Branch> branches_;

  bool is_defined(const std::string& name) const {
    const IdentifierInfo* identifier = preprocessor_.getIdentifierInfo(name);
    return identifier && identifier->hasMacroDefinition();
  }

  // A && defined(B) && N == 2, of alternatives the first; !defined(C) holds as it is. Other comparisons would
  // need more than a definition.
  std::optional<Macros> wanted(std::string condition) const {
    if (const std::size_t comment = std::min(condition.find("//"), condition.find("/*"));
        comment != std::string::npos)
      condition.resize(comment);
    condition = condition.substr(0, condition.find("||"));
    static const std::regex negation(R"(!\s*(?:defined\b)?\s*\(?\s*([A-Za-z_]\w*)\s*\)?)");
    for (std::smatch term; std::regex_search(condition, term, negation);) {
      if (is_defined(term[1].str()))
        return std::nullopt;
      condition.replace(static_cast<std::size_t>(term.position()), static_cast<std::size_t>(term.length()),
                        "");
    }
    Macros macros;
    static const std::regex equality(R"(\(?\s*\b([A-Za-z_]\w*)\s*==\s*(\d+)\s*\)?)");
    for (std::smatch term; std::regex_search(condition, term, equality);) {
      const std::string macro = term[1].str();
      if (is_defined(macro) || is_of_another_platform(macro))
        return std::nullopt;
      macros.push_back(macro + "=" + term[2].str());
      condition.replace(static_cast<std::size_t>(term.position()), static_cast<std::size_t>(term.length()),
                        "");
    }
    static const std::regex conjunction(R"([\w\s()&]*)"), never(R"(\b0\b)");
    if (!std::regex_match(condition, conjunction) || std::regex_search(condition, never))
      return std::nullopt;
    for (const std::string& name : identifiers(condition)) {
      if (name == "defined" || is_defined(name))
        continue;
      if (is_of_another_platform(name))
        return std::nullopt;
      macros.push_back(name);
    }
    return macros;
  }
};

std::string name_of_macro(const std::string& macro) {
  return macro.substr(0, macro.find('='));
}

// What is wanted to be defined for the lines of the parsed files.
Macros macros_of_lines(
    ParsedSource& source,
    const std::function<std::optional<Macros>(const std::string& line, const Conditions& around)>& wanted) {
  auto& parsed = static_cast<ParsedSourceImpl&>(source);
  const SourceManager& sources = source.ast().getSourceManager();
  std::set<const FileEntry*> seen;
  Macros found;
  // Of this parse alone: what was read ahead of it is the toolkit's.
  for (unsigned i = 0; i < sources.local_sloc_entry_size(); ++i) {
    const SrcMgr::SLocEntry& entry = sources.getLocalSLocEntry(i);
    const auto begin = SourceLocation::getFromRawEncoding(entry.getOffset());
    if (!entry.isFile() || !parsed.is_user_file(begin))
      continue;
    const FileID id = sources.getFileID(begin);
    const FileEntry* file = sources.getFileEntryForID(id);
    if (!file || !seen.insert(file).second)
      continue;
    Conditions conditions(source.ast().getPreprocessor());
    for (llvm::StringRef left = sources.getBufferData(id); !left.empty();) {
      const auto [line, rest] = left.split('\n');
      left = rest;
      conditions.read(line.str());
      for (const std::string& macro : wanted(line.str(), conditions).value_or(Macros{}))
        if (std::ranges::find(found, name_of_macro(macro), name_of_macro) == found.end())
          found.push_back(macro); // of several values the first
    }
  }
  return found;
}

// What the lines that are looked for want defined.
Macros macros_around(ParsedSource& source, const std::function<bool(const std::string& line)>& is_wanted) {
  return macros_of_lines(source, [&](const std::string& line, const Conditions& around) {
    return is_wanted(line) ? around.all() : std::nullopt;
  });
}

// The names in the conditions of the innermost #if around a line, and of those before it in its chain.
std::vector<std::string> names_in_conditions(const std::string& text, std::size_t line) {
  std::vector<std::string> chains; // of conditions, outermost first
  std::istringstream lines(text);
  static const std::regex directive(R"(^\s*#\s*(if|ifdef|ifndef|elif|endif)\b(.*))");
  std::string current;
  for (std::size_t number = 1; number < line && std::getline(lines, current); ++number) {
    std::smatch match;
    if (!std::regex_search(current, match, directive))
      continue;
    if (match[1] == "endif") {
      if (!chains.empty())
        chains.pop_back();
    } else if (match[1] != "elif") {
      chains.push_back(match[2]);
    } else if (!chains.empty()) {
      chains.back() += " " + match[2].str();
    }
  }
  std::vector<std::string> names = chains.empty() ? std::vector<std::string>() : identifiers(chains.back());
  std::erase(names, "defined");
  return names;
}

// Whether a header that is not the user's defines it.
bool is_of_a_library(ParsedSource& source, const std::string& name) {
  const Preprocessor& preprocessor = source.ast().getPreprocessor();
  const IdentifierInfo* identifier = preprocessor.getIdentifierInfo(name);
  const MacroInfo* macro = identifier ? preprocessor.getMacroInfo(identifier) : nullptr;
  return macro && !static_cast<ParsedSourceImpl&>(source).is_user_file(macro->getDefinitionLoc());
}

// lib::scale:12 is `scale` in the text.
std::string plain_name(const std::string& kernel) {
  static const std::regex line(R"(:\d+$)");
  const std::string name = std::regex_replace(kernel, line, "");
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

} // namespace

bool is_named_after_architecture(const std::string& macro) {
  return macro.ends_with("CUDA_ARCH") && !macro.starts_with("_");
}

std::vector<std::string> macros_of_kernel(ParsedSource& source, const std::string& kernel) {
  const std::string name = plain_name(kernel);
  bool is_near = false; // a line or two below __global__
  int lines = 0;
  return macros_around(source, [&](const std::string& line) {
    constexpr int FEW_LINES = 4;
    lines = line.find("__global__") != std::string::npos ? 0 : lines + 1;
    is_near = (is_near && lines < FEW_LINES) || lines == 0;
    const auto words = identifiers(line);
    return is_near && (name.empty() ? lines == 0 : std::ranges::find(words, name) != words.end());
  });
}

std::vector<std::string> macros_of_launch(ParsedSource& source, const std::string& kernel) {
  const std::string name = plain_name(kernel);
  return macros_around(source, [&](const std::string& line) {
    if (line.find("<<<") == std::string::npos)
      return false;
    const auto words = identifiers(line.substr(0, line.find("<<<")));
    return std::ranges::find(words, name) != words.end();
  });
}

std::vector<std::string> macros_of_cuda_headers(ParsedSource& source) {
  static const std::regex inclusion(
      R"(^\s*#\s*include\s*[<"](cuda|cooperative_groups|cub/|curand|vector_types))");
  return macros_around(source, [](const std::string& line) { return std::regex_search(line, inclusion); });
}

std::vector<std::string> macros_of_demands(ParsedSource& source) {
  constexpr std::size_t MOST = 6;
  Macros names;
  static const std::regex place(R"(^(.+):(\d+): .*#error )");
  const SourceManager& sources = source.ast().getSourceManager();
  for (const std::string& error : source.errors()) {
    std::smatch match;
    if (!std::regex_search(error, match, place))
      continue;
    const auto file = sources.getFileManager().getOptionalFileRef(match[1].str());
    const FileID id = file ? sources.translateFile(*file) : FileID();
    if (id.isInvalid())
      continue;
    for (const std::string& name : names_in_conditions(sources.getBufferData(id).str(), std::stoul(match[2])))
      if (!is_of_another_platform(name) && !is_of_a_library(source, name) &&
          !is_named_after_architecture(name) && std::ranges::find(names, name) == names.end() &&
          names.size() < MOST)
        names.push_back(name);
  }
  return names;
}

bool fails_on_purpose(const std::string& text) {
  static const std::regex failure(R"(\bassert\s*\(\s*(false|0)\s*(&&[^;]*)?\))");
  return std::regex_search(text, failure);
}

std::vector<std::string> macros_of_failures(ParsedSource& source) {
  std::optional<Macros> left_out; // in front of the line, in the same function
  return macros_of_lines(
      source, [&](const std::string& line, const Conditions& around) -> std::optional<Macros> {
        const std::optional<Macros> wanted = around.all();
        if (!wanted || line.find_first_not_of(" \t\r") == std::string::npos)
          return std::nullopt;
        const bool is_in_body = line.starts_with(" ") || line.starts_with("\t"); // as code is indented
        if (!is_in_body && !line.starts_with("#"))
          left_out = std::nullopt;
        if (!wanted->empty()) {
          if (is_in_body)
            left_out = wanted;
          return std::nullopt;
        }
        return fails_on_purpose(line) ? left_out : std::nullopt;
      });
}

std::vector<std::string> unknown_names(ParsedSource& source) {
  static const std::regex unknown(R"((?:undeclared identifier|unknown type name) '(\w+)')");
  std::set<std::string> names;
  for (const std::string& error : source.errors())
    if (std::smatch match; std::regex_search(error, match, unknown))
      names.insert(match[1]);
  return {names.begin(), names.end()};
}

std::vector<std::string> macros_of_errors(ParsedSource& source) {
  static const std::regex unknown(
      R"((?:undeclared identifier|unknown type name|no (?:type|template|member) named) '(\w+)')");
  std::set<std::string> names;
  for (const std::string& error : source.errors())
    if (std::smatch match; std::regex_search(error, match, unknown))
      names.insert(match[1]);
  static const std::regex demand(R"(^\s*#\s*error\b)");
  return macros_of_lines(
      source, [&](const std::string& line, const Conditions& around) -> std::optional<Macros> {
        if (std::regex_search(line, demand)) {
          // What any other macro's value should be, nobody can know.
          const std::string demanded = around.demanded();
          return is_named_after_architecture(demanded) ? Macros{demanded} : around.instead();
        }
        const auto words = identifiers(line);
        const bool names_one =
            std::ranges::any_of(words, [&](const std::string& w) { return names.contains(w); });
        return names_one ? around.all() : std::nullopt;
      });
}

} // namespace lathe::refactor
