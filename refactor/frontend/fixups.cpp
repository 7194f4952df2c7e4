#include "refactor/frontend/fixups.h"

#include "refactor/frontend/shared_objects.h"
#include "tuner/base/text.h"

#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

// `text` in place of the `removed` bytes at `at`.
struct Insertion {
  std::size_t at = 0;
  std::string text, what;
  std::size_t removed = 0;
};

// Every bare special register of the asm string that `at` lies in.
std::vector<Insertion> escape_registers(const std::string& text, std::size_t at) {
  std::vector<Insertion> found;
  std::size_t begin = text.rfind('"', at), end = at;
  if (begin == std::string::npos)
    return found;
  while (end < text.size() && text[end] != '"')
    end += text[end] == '\\' ? 2 : 1;
  for (std::size_t i = begin; i + 1 < end && i + 1 < text.size(); ++i) {
    if (text[i] != '%')
      continue;
    if (text[i + 1] == '%')
      ++i;
    else if (std::isalpha(static_cast<unsigned char>(text[i + 1])) && i + 2 < text.size() &&
             is_word(text[i + 2]))
      found.push_back({i, "%", "a register name in asm is written with %%"});
  }
  return found;
}

// `template` before the member name of the first "::name<" or ".name<" at or after `at` on the same
// statement.
std::vector<Insertion> add_template(const std::string& text, std::size_t at) {
  // The error stands at the start of the reference or at the member's name; look for the last qualified name
  // before the argument list that the reference ends in.
  for (std::size_t i = at; i < text.size() && text[i] != ';' && text[i] != '{' && text[i] != '}'; ++i) {
    if (text[i] != '<')
      continue;
    std::size_t name = i;
    while (name > 0 && is_word(text[name - 1]))
      --name;
    if (name == i || name < 2)
      continue;
    const bool qualified =
        text[name - 1] == ':' && text[name - 2] == ':' && name > 2 && text[name - 3] == '>';
    const bool member = text[name - 1] == '.' || (text[name - 1] == '>' && text[name - 2] == '-');
    if (qualified || member)
      return {{name, "template ", "a dependent member template is named with `template`"}};
  }
  return {};
}

// `= {}` after an expression: the type is named.
std::vector<Insertion> name_type(const std::string& text, std::size_t at) {
  if (at >= text.size() || text[at] != '=')
    return {};
  std::size_t brace = at + 1;
  while (brace < text.size() && std::isspace(static_cast<unsigned char>(text[brace])))
    ++brace;
  if (brace >= text.size() || text[brace] != '{')
    return {};
  std::size_t end = at, begin;
  while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1])))
    --end;
  begin = end;
  int depth = 0;
  while (begin > 0) {
    const char before = text[begin - 1];
    if (before == ']' || before == ')')
      ++depth;
    else if (before == '[' || before == '(')
      --depth;
    if (depth < 0 || (depth == 0 && !is_word(before) && before != '.' && before != ']' && before != '[' &&
                      before != '(' && before != ')'))
      break;
    --begin;
  }
  if (begin == end)
    return {};
  return {{brace, "std::decay_t<decltype(" + text.substr(begin, end - begin) + ")>",
           "the type of an empty {} is named"}};
}

// `cub::Sum` and its like, which CUDA 13's cub no longer has: the C++ function objects that took their place.
std::vector<Insertion> name_operator(const std::string& text, std::size_t at) {
  static const std::map<std::string, std::string> successors{{"Sum", "::cuda::std::plus<>"},
                                                             {"Difference", "::cuda::std::minus<>"},
                                                             {"Division", "::cuda::std::divides<>"},
                                                             {"Max", "::cuda::maximum<>"},
                                                             {"Min", "::cuda::minimum<>"},
                                                             {"Equality", "::cuda::std::equal_to<>"},
                                                             {"Inequality", "::cuda::std::not_equal_to<>"}};
  std::size_t end = at;
  while (end < text.size() && is_word(text[end]))
    ++end;
  const auto found = successors.find(text.substr(at, end - at));
  const std::string qualifier = "cub::";
  if (found == successors.end() || at < qualifier.size() ||
      text.substr(at - qualifier.size(), qualifier.size()) != qualifier)
    return {};
  std::size_t begin = at - qualifier.size();
  if (begin >= 2 && text.substr(begin - 2, 2) == "::")
    begin -= 2;
  return {{begin, found->second,
           "cub::" + found->first + " is no longer in cub, " + found->second.substr(2) + " took its place",
           end - begin}};
}

// What else cub had for device code until then: a header of Lathe's has it.
std::vector<Insertion> include_earlier_cub(const std::string& text, std::size_t at) {
  static const std::set<std::string> names{
      "LaneId",      "LaneMaskLt",   "LaneMaskLe",      "LaneMaskGt", "LaneMaskGe", "WarpId",
      "CTA_SYNC",    "CTA_SYNC_AND", "CTA_SYNC_OR",     "WARP_SYNC",  "WARP_ANY",   "WARP_ALL",
      "WARP_BALLOT", "SHR_ADD",      "SHL_ADD",         "IADD3",      "PRMT",       "Int2Type",
      "If",          "Equals",       "RemoveQualifiers"};
  std::size_t end = at;
  while (end < text.size() && is_word(text[end]))
    ++end;
  if (!names.contains(text.substr(at, end - at)))
    return {};
  return {{0, "#include \"lathe_earlier_cub.h\"\n",
           "what is no longer in cub is taken from lathe_earlier_cub.h"}};
}

// `register` is a word without a meaning since C++17, which NVRTC refuses, too.
std::vector<Insertion> drop_register(const std::string& text, std::size_t at) {
  const std::string word = "register";
  if (text.compare(at, word.size(), word) != 0)
    return {};
  return {{at, "", "register is left out, as C++17 has no such storage class", word.size()}};
}

// `const __restrict__ float row[64]`, of a parameter: nvcc takes the word for the pointer that it is.
std::vector<Insertion> drop_restrict(const std::string& text, std::size_t at) {
  for (const std::string word : {"__restrict__", "__restrict"})
    if (text.compare(at, word.size(), word) == 0)
      return {{at, "", "__restrict__ is left out of parameters that are written as arrays", word.size()}};
  return {};
}

// `__shared__ alignas(16) float tile[64]`: CUDA's own word for it may stand there.
std::vector<Insertion> name_alignment(const std::string& text, std::size_t at) {
  const std::string word = "alignas";
  if (text.compare(at, word.size(), word) != 0)
    return {};
  return {{at, "__align__", "alignas behind __shared__ is written as __align__", word.size()}};
}

// `k << <grid, block >> > (x)`, as some formatters leave a launch: its brackets without the blanks.
std::vector<Insertion> close_brackets(const std::string& text, std::size_t at) {
  const auto is_blank = [&](std::size_t i) { return std::isspace(static_cast<unsigned char>(text[i])) != 0; };
  const char* what = "the brackets of a launch are written without blanks";
  std::size_t opened = at;
  while (opened > 0 && is_blank(opened - 1))
    --opened;
  if (at >= text.size() || text[at] != '<' || opened == at || opened < 2 ||
      text.substr(opened - 2, 2) != "<<")
    return {};
  for (std::size_t close = at; close + 2 < text.size() && text[close] != ';'; ++close) {
    if (text.substr(close, 2) != ">>")
      continue;
    std::size_t last = close + 2;
    while (last < text.size() && is_blank(last))
      ++last;
    if (last == text.size() || text[last] != '>')
      continue;
    std::vector<Insertion> found{{opened, "", what, at - opened}};
    if (last > close + 2)
      found.push_back({close + 2, "", what, last - close - 2});
    return found;
  }
  return {};
}

// `k<<<grid, {32, 4}>>>(x)`: the braces of an argument between a launch's brackets are of a dim3.
std::vector<Insertion> name_dimensions(const std::string& text, std::size_t at) {
  if (at >= text.size() || text[at] != '{')
    return {};
  const std::size_t opened = text.rfind("<<<", at);
  if (opened == std::string::npos || text.find(';', opened) < at || text.find(">>>", opened) < at)
    return {};
  return {{at, "dim3", "braces between a launch's brackets are those of a dim3"}};
}

// `f(x, blockDim)` where f is a template, `auto block = blockDim;`: to nvcc the built-in variables are a dim3
// or a uint3, which can be copied; to Clang each has a class of its own, which cannot.
std::vector<Insertion> name_builtin_type(const std::string& message, const std::string& text,
                                         std::size_t at) {
  static const std::regex named(R"(__cuda_builtin_(\w+)_t')");
  std::smatch match;
  if (!std::regex_search(message, match, named))
    return {};
  // The error stands at the variable itself, or at what is initialised with it.
  const std::string name = match[1].str();
  const std::size_t end = text.find(';', at);
  for (std::size_t i = text.find(name, at); i < end && i != std::string::npos; i = text.find(name, i + 1)) {
    const std::size_t behind = i + name.size();
    if ((i > 0 && is_word(text[i - 1])) || (behind < text.size() && is_word(text[behind])) ||
        text[behind] == '.')
      continue;
    const std::string type = name.ends_with("Dim") ? "dim3" : "uint3";
    return {{i, fmt::format("{}({})", type, name), fmt::format("{} is handed on as a {}", name, type),
             name.size()}};
  }
  return {};
}

// `__shared__ Task task;` of a class with a constructor: the memory alone.
std::vector<Insertion> leave_unconstructed(const std::string& text, std::size_t at) {
  auto storage = storage_of_shared_object(text, at);
  if (!storage)
    return {};
  return {{storage->begin, std::move(storage->text),
           "an object in shared memory is memory alone, as no constructor runs there", storage->length}};
}

// `typedef unsigned long long uint64_t;`, as a source has it that NVRTC compiles without headers: the
// standard's own type, which the toolkit's headers define.
std::vector<Insertion> drop_standard_typedef(const std::string& text, std::size_t at) {
  static const std::regex name(R"(^(u?int(8|16|32|64|ptr)_t|size_t|ptrdiff_t)\s*;)");
  const std::size_t begin = text.find_last_of(";}\n", at), word = text.find("typedef", begin);
  std::smatch match;
  const std::string behind = text.substr(at, 32);
  if (begin == std::string::npos || word >= at || !std::regex_search(behind, match, name))
    return {};
  return {{word, "", match[1].str() + " is the standard's own",
           at + static_cast<std::size_t>(match.length()) - word}};
}

// What another file includes before this one: a class of the standard library that is only declared here.
std::vector<Insertion> include_standard_header(const std::string& message) {
  static const std::map<std::string, std::string> headers{{"basic_string", "string"},
                                                          {"vector", "vector"},
                                                          {"array", "array"},
                                                          {"function", "functional"},
                                                          {"tuple", "tuple"},
                                                          {"map", "map"},
                                                          {"basic_stringstream", "sstream"},
                                                          {"basic_ostringstream", "sstream"},
                                                          {"basic_ifstream", "fstream"},
                                                          {"basic_ofstream", "fstream"}};
  static const std::regex name(R"('std::(?:__\w+::)?(\w+)<)");
  std::smatch match;
  if (!std::regex_search(message, match, name))
    return {};
  const auto header = headers.find(match[1].str());
  if (header == headers.end())
    return {};
  const std::string line = "#include <" + header->second + ">";
  return {{0, line + "\n", line + " stands in front of it"}};
}

std::vector<Insertion> insertions_for(const ParseError& error, const std::string& text) {
  const auto says = [&](const char* words) { return error.message.find(words) != std::string::npos; };
  if (says("invalid % escape in inline assembly"))
    return escape_registers(text, error.offset);
  if (says("reference to overloaded function could not be resolved") ||
      says("reference to non-static member function must be called") || says("missing 'template' keyword") ||
      says("use 'template' keyword"))
    return add_template(text, error.offset);
  if (says("in namespace 'cub'")) {
    // Where Clang has another name to suggest, the error is at the qualifier.
    const std::string qualifier = "cub::";
    const std::size_t at =
        error.offset + (text.compare(error.offset, qualifier.size(), qualifier) == 0 ? qualifier.size() : 0);
    auto named = name_operator(text, at);
    return named.empty() ? include_earlier_cub(text, at) : named;
  }
  if (says("implicit instantiation of undefined template 'std::"))
    return include_standard_header(error.message);
  if (says("call to deleted constructor of"))
    return name_builtin_type(error.message, text, error.offset);
  if (says("typedef redefinition with different types"))
    return drop_standard_typedef(text, error.offset);
  if (says("'register' storage class"))
    return drop_register(text, error.offset);
  if (says("restrict requires a pointer or reference"))
    return drop_restrict(text, error.offset);
  if (says("an attribute list cannot appear here") || says("'alignas' attribute cannot be applied to types"))
    return name_alignment(text, error.offset);
  if (says("initialization is not supported for __shared__"))
    return leave_unconstructed(text, error.offset);
  if (says("expected expression")) {
    auto named = name_dimensions(text, error.offset);
    return named.empty() ? close_brackets(text, error.offset) : named;
  }
  if (says("use of overloaded operator '=' is ambiguous"))
    return name_type(text, error.offset);
  return {};
}

} // namespace

std::map<std::string, std::string> fix_up(const std::vector<ParseError>& errors,
                                          clang::SourceManager& sources,
                                          std::vector<std::string>& described) {
  std::map<std::string, std::map<std::size_t, Insertion>> by_file;
  for (const ParseError& error : errors) {
    if (error.file.empty() || error.location.isInvalid())
      continue;
    bool invalid = false;
    const llvm::StringRef buffer = sources.getBufferData(
        sources.getDecomposedLoc(sources.getSpellingLoc(error.location)).first, &invalid);
    if (invalid)
      continue;
    for (Insertion& insertion : insertions_for(error, buffer.str()))
      by_file[error.file].emplace(insertion.at, std::move(insertion));
  }
  std::map<std::string, std::string> texts;
  for (const auto& [file, insertions] : by_file) {
    auto entry = sources.getFileManager().getFileRef(file);
    if (!entry) {
      llvm::consumeError(entry.takeError());
      continue;
    }
    const auto buffer = sources.getMemoryBufferForFileOrNone(*entry);
    if (!buffer)
      continue;
    std::string text = buffer->getBuffer().str();
    for (auto last = insertions.rbegin(); last != insertions.rend(); ++last)
      text.replace(last->first, last->second.removed, last->second.text);
    for (const auto& [at, insertion] : insertions)
      described.push_back(
          fmt::format("{}:{}: {}", std::filesystem::path(file).filename().string(),
                      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'),
                      insertion.what));
    texts[file] = std::move(text);
  }
  return texts;
}

} // namespace lathe::refactor
