#include "refactor/app/launcher_search.h"

#include "refactor/app/build_macros.h"
#include "refactor/app/files_near.h"
#include "refactor/app/nearby_definitions.h"
#include "refactor/app/source_words.h"
#include "tuner/base/files.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <optional>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t MOST_FOUND = 3;

std::vector<fs::path> files_that_launch(const fs::path& own) {
  return files_near(own, {".cu", ".cuh", ".h", ".hpp", ".hxx", ".inl", ".cc", ".cpp", ".cxx"});
}

// The function in whose body `at` stands: the outermost block that a parameter list stands in front of.
std::string function_around(const std::string& text, std::size_t at) {
  std::string function;
  int closed = 0;
  for (std::size_t i = at; i-- > 0;) {
    closed += text[i] == '}' ? 1 : 0;
    if (text[i] != '{' || closed-- > 0)
      continue;
    closed = 0;
    std::size_t before = i;
    while (before > 0 && std::isspace(static_cast<unsigned char>(text[before - 1])))
      --before;
    if (before > 0 && text[before - 1] == ')')
      function = called_before(text, before - 1);
  }
  return function;
}

std::vector<std::string> functions_that_name(const std::string& text, const std::string& kernel) {
  std::vector<std::string> functions;
  for (const std::size_t at : uses_of_word(text, kernel)) {
    std::string function = function_around(text, at);
    if (!function.empty() && function != kernel && std::ranges::find(functions, function) == functions.end())
      functions.push_back(std::move(function));
  }
  return functions;
}

} // namespace

std::optional<fs::path> defining_file(const fs::path& source, const std::string& kernel) {
  // Its name, its parameters, which may have parentheses of their own, and a body behind them.
  const std::regex definition("__global__[^;{}]*\\b" + kernel + R"(\s*\([^;{}]*\)\s*\{)");
  for (const fs::path& file : files_that_launch(fs::absolute(source).lexically_normal()))
    if (const auto text = read_file(file); text.ok() && text->find(kernel) != std::string::npos &&
                                           text->find("__global__") != std::string::npos &&
                                           std::regex_search(*text, definition))
      return file;
  return std::nullopt;
}

std::vector<fs::path> including_files(const fs::path& source) {
  std::error_code failure;
  const fs::path own = fs::absolute(source, failure).lexically_normal();
  const std::string name = own.filename().string();
  std::vector<fs::path> found;
  for (const fs::path& file : files_that_launch(own)) {
    if (found.size() == MOST_FOUND)
      break;
    const auto text = read_file(file);
    if (!text.ok())
      continue;
    for (std::size_t at = text->find(name); at != std::string::npos; at = text->find(name, at + 1)) {
      const std::size_t line = text->rfind('\n', at) + 1;
      const std::string before = text->substr(line, at - line);
      const bool is_name =
          !before.empty() && (before.back() == '/' || before.back() == '"' || before.back() == '<');
      if (is_name && before.find("#include") != std::string::npos && before.find("//") == std::string::npos) {
        found.push_back(file);
        break;
      }
    }
  }
  return found;
}

std::vector<fs::path> launching_files(const fs::path& source, const std::string& kernel) {
  std::error_code failure;
  const fs::path own = fs::absolute(source, failure).lexically_normal();
  // name<<<, name<float, 4><<<, and the launch functions that are handed the kernel.
  const std::regex launch("\\b" + kernel + R"(\s*(<[^;{}()]*>)?\s*<<<|cudaLaunch\w*Kernel\w*\s*\([^;]*\b)" +
                          kernel + "\\b");
  // Where there is none, files that name the kernel and launch something: through a pointer, a macro or a
  // wrapper.
  const std::regex mention("\\b" + kernel + "\\b");
  std::vector<fs::path> found, mentioning;
  for (const fs::path& file : files_that_launch(own)) {
    if (found.size() == MOST_FOUND)
      break;
    const auto text = read_file(file);
    if (!text.ok() || text->find(kernel) == std::string::npos)
      continue;
    if (mentioning.size() < MOST_FOUND &&
        (text->find("<<<") != std::string::npos || text->find("cudaLaunch") != std::string::npos) &&
        std::regex_search(*text, mention))
      mentioning.push_back(file);
    // Only the surroundings of the name: std::regex recurses with the length of what it matches.
    for (std::size_t at = text->find(kernel); at != std::string::npos; at = text->find(kernel, at + 1)) {
      const std::size_t begin = at > 200 ? at - 200 : 0;
      if (std::regex_search(text->substr(begin, 200 + kernel.size() + 200), launch)) {
        found.push_back(file);
        break;
      }
    }
  }
  return found.empty() ? mentioning : found;
}

std::vector<fs::path> calling_files(const fs::path& source, const std::string& kernel) {
  std::error_code failure;
  const fs::path own = fs::absolute(source, failure).lexically_normal();
  const auto own_text = read_file(own);
  std::vector<fs::path> found;
  if (!own_text.ok())
    return found;
  const std::vector<std::string> functions = functions_that_name(*own_text, kernel);
  for (const fs::path& file : functions.empty() ? std::vector<fs::path>() : files_that_launch(own)) {
    if (found.size() == MOST_FOUND)
      break;
    const auto text = read_file(file);
    const auto is_call = [&](std::size_t at) {
      const std::size_t line = text->rfind('\n', at) + 1;
      return text->substr(line, at - line).find("//") == std::string::npos;
    };
    if (text.ok() && std::ranges::any_of(functions, [&](const std::string& function) {
          return std::ranges::any_of(uses_of_word(*text, function), is_call);
        }))
      found.push_back(file);
  }
  return found;
}

Result<std::vector<LaunchSite>> launches_by_address(const fs::path& source, const KernelInfo& kernel,
                                                    const ParseOptions& options,
                                                    std::vector<std::string>& notes) {
  LATHE_TRY(const std::string text, read_file(source));
  std::error_code failure;
  ParseOptions with_source = options;
  with_source.flags.insert(with_source.flags.end(), {"-include", fs::absolute(source, failure).string()});
  for (const std::string& function : functions_that_name(text, kernel.name))
    for (const fs::path& file : launching_files(source, function))
      if (auto launches = launches_in(file, kernel, with_source, notes); launches.ok()) {
        notes.push_back(fmt::format("launched as in {}, which asks {} for it (say otherwise with --launcher)",
                                    file.filename().string(), function));
        return launches;
      }
  return Error{"cannot read launches of " + kernel.name, "no file near it launches what its functions return",
               "name the file that does with --launcher, or give the launch with --grid and --block"};
}

namespace {

bool is_readable(const LaunchSite& site) {
  return site.unreadable.empty();
}

} // namespace

void complete_launches(ParsedSource& source, const KernelInfo& kernel, const ParseOptions& options,
                       std::vector<LaunchSite>& launches, std::vector<std::string>& notes) {
  const auto first = std::ranges::find_if(launches, is_readable);
  if (launches.empty() || (first != launches.end() && !asks_elsewhere(source, kernel, *first)))
    return;
  std::vector<std::string> launchers{kernel.name};
  for (const LaunchSite& site : launches)
    if (std::ranges::find(launchers, site.launcher) == launchers.end())
      launchers.push_back(site.launcher);
  NearbyDefinitions defined(source.file(), options);
  std::vector<LaunchSite> completed = launches_through(source, kernel, defined, launchers);
  if (std::ranges::any_of(completed, is_readable)) {
    launches = std::move(completed);
    notes.insert(notes.end(), defined.notes().begin(), defined.notes().end());
    return;
  }
  if (first != launches.end())
    return;
  // Its grid comes from a caller in another file.
  NearbyDefinitions others(source.file(), options, &source);
  launchers.erase(launchers.begin());
  const std::vector<std::string> called = others.with_those_handing_on(launchers);
  for (const fs::path& file : others.calling(called)) {
    const auto caller = ParsedSource::parse(file, options);
    if (!caller.ok())
      continue;
    completed = launches_through(**caller, kernel, others, called);
    if (std::ranges::none_of(completed, is_readable))
      continue;
    launches = std::move(completed);
    notes.push_back("launched as in " + file.filename().string() + " (say otherwise with --launcher)");
    notes.insert(notes.end(), others.notes().begin(), others.notes().end());
    return;
  }
}

namespace {

// Those of the kernel's parameters, and what they are called in `source`.
std::optional<std::vector<LaunchSite>> launches_of(ParsedSource& source, const KernelInfo& kernel,
                                                   const ParseOptions& options,
                                                   std::vector<std::string>& notes) {
  for (const KernelInfo& known : find_kernels(source)) {
    if (known.qualified_name != kernel.qualified_name ||
        known.parameters.size() != kernel.parameters.size() || known.launches.empty())
      continue;
    std::vector<LaunchSite> launches = known.launches;
    complete_launches(source, known, options, launches, notes);
    for (LaunchSite& site : launches) {
      std::map<std::string, std::string> arguments;
      for (std::size_t i = 0; i < known.parameters.size(); ++i)
        if (const auto passed = site.arguments.find(known.parameters[i].name); passed != site.arguments.end())
          arguments[kernel.parameters[i].name] = passed->second;
      site.arguments = std::move(arguments);
    }
    return launches;
  }
  return std::nullopt;
}

} // namespace

Result<std::vector<LaunchSite>> launches_in(const fs::path& file, const KernelInfo& kernel,
                                            const ParseOptions& options, std::vector<std::string>& notes) {
  LATHE_TRY(const std::unique_ptr<ParsedSource> source, ParsedSource::parse(file, options));
  if (auto launches = launches_of(*source, kernel, options, notes))
    return std::move(*launches);
  // Behind a macro that the build defines, which the kernel itself does not need.
  auto macros = macros_of_launch(*source, kernel.name);
  std::erase_if(macros, [&](const std::string& macro) {
    return std::ranges::find(options.flags, "-U" + macro) != options.flags.end();
  });
  if (!macros.empty()) {
    ParseOptions with = options;
    for (const std::string& macro : macros)
      with.flags.push_back("-D" + macro + "=1");
    LATHE_TRY(const std::unique_ptr<ParsedSource> again, ParsedSource::parse(file, with));
    if (auto launches = launches_of(*again, kernel, with, notes)) {
      notes.push_back(
          fmt::format("{} defined for the launch in {}", fmt::join(macros, ", "), file.filename().string()));
      return std::move(*launches);
    }
  }
  return Error{"cannot read launches of " + kernel.name + " in " + file.string(),
               "it launches no kernel of that name",
               "name the file that does with --launcher, or give the launch with --grid and --block"};
}

} // namespace lathe::refactor
