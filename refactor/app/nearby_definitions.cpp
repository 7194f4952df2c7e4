#include "refactor/app/nearby_definitions.h"

#include "refactor/app/build_macros.h"
#include "refactor/app/files_near.h"
#include "refactor/app/source_words.h"
#include "tuner/base/files.h"
#include "tuner/base/text.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t MOST_PARSED = 3, MOST_CALLERS = 3;

std::size_t skip_space(const std::string& text, std::size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
    ++at;
  return at;
}

// Behind the parenthesis that closes the one at `open`; npos where there is none.
std::size_t behind_parenthesis(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (depth == 0)
      return at + 1;
  }
  return std::string::npos;
}

// Calls `visit` with the start and the opening parenthesis of every `name(` until it returns false.
template <typename Visit> void each_use(const std::string& text, const std::string& name, Visit visit) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    if ((at > 0 && is_word(text[at - 1])) || is_word(text[std::min(at + name.size(), text.size() - 1)]))
      continue;
    const std::size_t open = skip_space(text, at + name.size());
    if (open < text.size() && text[open] == '(' && !visit(at, open))
      return;
  }
}

// name(...) {, with nothing but qualifiers before the brace.
bool is_definition(const std::string& text, std::size_t open) {
  std::size_t at = behind_parenthesis(text, open);
  if (at == std::string::npos)
    return false;
  for (at = skip_space(text, at); at < text.size() && is_word(text[at]); at = skip_space(text, at)) {
    const std::size_t begin = at;
    while (at < text.size() && is_word(text[at]))
      ++at;
    const std::string word = text.substr(begin, at - begin);
    if (word != "const" && word != "noexcept" && word != "override" && word != "final")
      return false;
  }
  return at < text.size() && text[at] == '{';
}

bool defines(const std::string& text, const std::string& function) {
  bool found = false;
  each_use(text, function, [&](std::size_t, std::size_t open) {
    found = is_definition(text, open);
    return !found;
  });
  return found;
}

// A declaration has a type before the name; a call has not.
bool is_call(const std::string& text, std::size_t begin, std::size_t open) {
  std::size_t before = begin;
  while (before > 0 && std::isspace(static_cast<unsigned char>(text[before - 1])))
    --before;
  static const std::set<std::string> leading{"return", "else", "do"};
  if (before > 0 && (is_word(text[before - 1]) || text[before - 1] == '*' || text[before - 1] == '&')) {
    std::size_t word = before;
    while (word > 0 && is_word(text[word - 1]))
      --word;
    if (!leading.contains(text.substr(word, before - word)))
      return false;
  }
  return !is_definition(text, open);
}

// The function in whose body `at` stands as its first statement: `inline void f(dim3 g) { f_float(g); }`.
std::string handing_on(const std::string& text, std::size_t at) {
  std::size_t brace = at;
  while (brace > 0 && text[brace] != '{' && text[brace] != ';' && text[brace] != '}')
    --brace;
  if (brace == 0 || text[brace] != '{')
    return "";
  std::size_t end = brace;
  while (end > 0 && text[end] != ')')
    --end;
  return called_before(text, end);
}

bool is_header(const fs::path& file) {
  const std::string extension = file.extension().string();
  return extension == ".h" || extension == ".hpp" || extension == ".cuh" || extension == ".inl";
}

// The file; where it has errors, with the macros of its build that what they name as unknown stands under, if
// that leaves fewer. Null where it cannot be parsed.
std::unique_ptr<ParsedSource> parse_as_built(const fs::path& file, const ParseOptions& options) {
  auto source = ParsedSource::parse(file, options);
  if (!source.ok())
    return nullptr;
  ParseOptions with = options;
  for (const std::string& macro : macros_of_errors(**source))
    if (std::ranges::find(options.flags, "-U" + macro) == options.flags.end())
      with.flags.push_back("-D" + macro + (macro.find('=') == std::string::npos ? "=1" : ""));
  if (with.flags.size() == options.flags.size())
    return std::move(*source);
  auto again = ParsedSource::parse(file, with);
  return again.ok() && (*again)->errors().size() < (*source)->errors().size() ? std::move(*again)
                                                                              : std::move(*source);
}

} // namespace

NearbyDefinitions::NearbyDefinitions(fs::path source, ParseOptions options, ParsedSource* own)
    : source_(std::move(source)), options_(std::move(options)), own_(own) {
  if (own_)
    if (const auto text = read_file(own_->file()); text.ok())
      own_text_ = *text;
}

const std::vector<NearbyDefinitions::File>& NearbyDefinitions::files() {
  if (has_read_files_)
    return files_;
  has_read_files_ = true;
  std::error_code failure;
  const fs::path source = fs::absolute(source_, failure).lexically_normal();
  for (fs::path& path :
       files_near(source, {".cu", ".c", ".cc", ".cpp", ".cxx", ".cuh", ".h", ".hpp", ".inl"}))
    if (auto text = read_file(path); text.ok())
      files_.push_back({std::move(path), std::move(*text)});
  return files_;
}

std::vector<ParsedSource*> NearbyDefinitions::defining(const std::string& function) {
  if (const auto known = known_.find(function); known != known_.end())
    return known->second;
  std::vector<ParsedSource*>& found = known_[function];
  if (own_ && defines(own_text_, function)) {
    found.push_back(own_);
    return found;
  }
  for (const File& file : files()) {
    if (!defines(file.text, function))
      continue;
    auto parsed = parsed_.find(file.path);
    if (parsed == parsed_.end()) {
      if (parsed_.size() >= MOST_PARSED)
        break;
      parsed = parsed_.emplace(file.path, parse_as_built(file.path, options_)).first;
    }
    if (!parsed->second)
      continue;
    found.push_back(parsed->second.get());
    notes_.push_back(function + " as in " + file.path.filename().string());
    break;
  }
  return found;
}

std::vector<std::string> NearbyDefinitions::with_those_handing_on(const std::vector<std::string>& functions) {
  std::vector<std::string> sought = functions;
  for (const File& file : files())
    if (is_header(file.path))
      for (const std::string& function : functions)
        each_use(file.text, function, [&](std::size_t begin, std::size_t open) {
          if (!is_call(file.text, begin, open))
            return true;
          if (const std::string name = handing_on(file.text, begin);
              !name.empty() && std::ranges::find(sought, name) == sought.end())
            sought.push_back(name);
          return true;
        });
  return sought;
}

std::vector<fs::path> NearbyDefinitions::calling(const std::vector<std::string>& functions) {
  std::vector<fs::path> found;
  for (const File& file : files()) {
    bool calls = false;
    if (!is_header(file.path))
      for (const std::string& function : functions)
        each_use(file.text, function, [&](std::size_t begin, std::size_t open) {
          calls |= is_call(file.text, begin, open);
          return !calls;
        });
    if (calls)
      found.push_back(file.path);
    if (found.size() == MOST_CALLERS)
      break;
  }
  return found;
}

} // namespace lathe::refactor
