#include "refactor/app/device_definitions.h"

#include "refactor/app/files_near.h"
#include "refactor/app/source_words.h"
#include "refactor/extract/elsewhere.h"
#include "tuner/base/files.h"

#include <algorithm>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t MOST_DEFINITIONS = 3, MOST_FILES = 3;

// Whether the text gives a function of this name a body.
bool defines_function(const std::string& text, const std::string& name) {
  return std::ranges::any_of(uses_of_word(text, name), [&](std::size_t at) {
    const std::size_t open = text.find_first_not_of(" \t\r\n", at + name.size());
    if (open == std::string::npos || text[open] != '(')
      return false;
    int depth = 0;
    std::size_t close = open;
    for (; close < text.size(); ++close) {
      depth += text[close] == '(' ? 1 : text[close] == ')' ? -1 : 0;
      if (depth == 0)
        break;
    }
    const std::size_t next = text.find_first_not_of(" \t\r\n", std::min(close + 1, text.size()));
    return next != std::string::npos && text[next] == '{';
  });
}

// Whether the text has a variable of this name in the device's memory, and not as one from elsewhere.
bool defines_variable(const std::string& text, const std::string& name) {
  return std::ranges::any_of(uses_of_word(text, name), [&](std::size_t at) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + name.size());
    if (next == std::string::npos || std::string_view("[=;{,").find(text[next]) == std::string_view::npos)
      return false;
    const std::size_t before = text.find_last_of(";{}", at); // npos + 1 is the text's beginning
    const std::string declaration = text.substr(before + 1, at - before - 1);
    return uses_of_word(declaration, "extern").empty() &&
           (!uses_of_word(declaration, "__constant__").empty() ||
            !uses_of_word(declaration, "__device__").empty());
  });
}

std::vector<fs::path> defining_files(const fs::path& source, const std::string& name) {
  std::error_code failure;
  std::vector<fs::path> found;
  for (const fs::path& file : files_near(fs::absolute(source, failure).lexically_normal(), {".cu", ".cuh"}))
    if (const auto text = read_file(file);
        found.size() < MOST_FILES && text.ok() &&
        ((text->find("__device__") != std::string::npos && defines_function(*text, name)) ||
         defines_variable(*text, name)))
      found.push_back(file);
  return found;
}

} // namespace

std::unique_ptr<ParsedSource> behind_device_definitions(SubjectRequest& request, ParsedSource& source) {
  std::unique_ptr<ParsedSource> behind;
  SubjectRequest linked = request;
  for (std::size_t i = 0; i <= MOST_DEFINITIONS; ++i) {
    ParsedSource& current = behind ? *behind : source;
    const auto kernel = find_kernel(current, request.kernel);
    if (!kernel.ok() || !kernel->is_whole())
      return nullptr;
    const std::string missing = device_definition_elsewhere(current, *kernel);
    if (missing.empty()) {
      if (!behind || !extract_kernel(current, *kernel).ok())
        return nullptr;
      request = std::move(linked);
      return behind;
    }
    const auto lacks_another = [&](const fs::path& file) {
      SubjectRequest with = linked;
      with.parse.flags.insert(with.parse.flags.end(), {"-include", file.string()});
      auto parsed = ParsedSource::parse(request.source, with.parse);
      const auto own = parsed.ok() ? find_kernel(**parsed, request.kernel) : Result<KernelInfo>(Error{});
      if (!own.ok() || !own->is_whole() || device_definition_elsewhere(**parsed, *own) == missing)
        return false;
      with.definitions_of.push_back(file.filename().string());
      linked = std::move(with);
      behind = std::move(*parsed);
      return true;
    };
    if (std::ranges::none_of(defining_files(request.source, missing), lacks_another))
      return nullptr;
  }
  return nullptr;
}

} // namespace lathe::refactor
