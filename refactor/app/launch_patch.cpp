#include "refactor/app/launch_patch.h"

#include "refactor/app/launch_match.h"
#include "refactor/app/raw_candidate.h"
#include "refactor/rewrite/edits.h"
#include "tuner/base/files.h"
#include "tuner/base/text.h"
#include "tuner/emit/launcher.h"
#include "tuner/spec/instance.h"

#include <clang/AST/Decl.h>

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t MOST_COLUMNS = 110;

// C++ at the launch that has the dimension's value and converts to `long long` without loss.
std::optional<std::string> size_at_launch(const TuningSpec& spec, const std::string& dimension,
                                          const std::string& name, const LaunchText& text) {
  const auto spelled = [](const LaunchText::Known& known) {
    return known.needs_cast ? "static_cast<long long>(" + known.text + ")" : known.text;
  };
  std::vector<LaunchText::Known> same;
  for (const LaunchText::Known& known : text.known)
    if (known.value == name)
      same.push_back(known);
  const auto own = std::ranges::find(same, dimension, &LaunchText::Known::text);
  if (own != same.end())
    return spelled(*own);
  if (!same.empty())
    return spelled(same.front());
  // A number that the kernel is told and nothing else is known of.
  for (std::size_t i = 0; i < spec.arguments.size() && i < text.arguments.size(); ++i)
    if (!spec.arguments[i].is_buffer && spec.arguments[i].value.text() == dimension)
      return "static_cast<long long>(" + text.arguments[i] + ")";
  return std::nullopt;
}

// The argument as the header's parameter takes it: of the same bytes under the name that the header has.
std::string converted(const TuningSpec& spec, const Argument& argument, const std::string& text,
                      const std::string& pointee) {
  std::string dtype = argument.dtype;
  for (const TypeParameter& type : spec.types)
    if (type.name == dtype)
      dtype = std::ranges::count(type.dtypes, dtype_of_type(pointee)) > 0 ? dtype_of_type(pointee) : "";
  const std::string wanted = dtype_cxx(dtype);
  const bool is_open = wanted.empty() || pointee.empty(); // not known before the launcher is instantiated
  if (!argument.is_buffer || is_open || pointee == wanted)
    return text;
  return fmt::format("reinterpret_cast<{}{}*>({})", argument.direction == Direction::in ? "const " : "",
                     wanted, text);
}

// The call, which begins in `column`, with its lines broken between arguments.
std::string wrapped(const std::string& call, std::size_t column) {
  std::vector<std::string> pieces(1);
  int depth = 0;
  for (const char letter : call) {
    depth += letter == '(' || letter == '{' || letter == '[';
    depth -= letter == ')' || letter == '}' || letter == ']';
    if (letter == ' ' && depth == 1 && pieces.back().ends_with(','))
      pieces.emplace_back();
    else
      pieces.back() += letter;
  }
  constexpr std::size_t indent = 4;
  std::string text = pieces.front();
  std::size_t used = column + text.size();
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const bool fits = used + 1 + pieces[i].size() < MOST_COLUMNS; // and the semicolon
    text += (fits ? " " : "\n" + std::string(column + indent, ' ')) + pieces[i];
    used = (fits ? used + 1 : column + indent) + pieces[i].size();
  }
  return text;
}

// Where the call stands in the text on disk, which may differ from what was parsed.
std::optional<std::size_t> place_of(const LaunchText& launch, const std::string& text) {
  if (text.compare(std::min(launch.begin, text.size()), launch.call.size(), launch.call) == 0)
    return launch.begin;
  const std::size_t first = text.find(launch.call);
  if (first == std::string::npos || text.find(launch.call, first + 1) != std::string::npos)
    return std::nullopt;
  return first;
}

using Place = std::pair<fs::path, std::size_t>;

// What becomes of all launches that were read at one place of the text: one for each way to it.
Result<std::string> call_at(const TuningSpec& spec, const std::vector<const RawLaunch*>& launches) {
  std::optional<Error> first_error;
  std::optional<std::string> of_own_function, of_caller;
  bool has_several = false, is_elsewhere_unlike = false;
  for (const RawLaunch* launch : launches) {
    auto call = tuned_call(spec, *launch);
    const bool is_own = launch->site.launcher == launch->site.text.function;
    if (!call.ok()) {
      first_error = first_error.value_or(call.error());
      is_elsewhere_unlike |= !is_own;
      continue;
    }
    std::optional<std::string>& kept = is_own ? of_own_function : of_caller;
    has_several |= kept && *kept != *call;
    kept = std::move(*call);
  }
  if (!of_own_function && !of_caller)
    return *first_error;
  // What a function's own variables are is the same for everybody who calls it.
  if (of_own_function && !has_several)
    return *of_own_function;
  if (has_several || is_elsewhere_unlike)
    return Error{launches.front()->site.location,
                 "it is reached in several ways that do not pass the same sizes", "change it by hand"};
  return *of_caller;
}

// The first of the kernels that the specification's raw side is, by its name and by how it is launched.
Result<DimensionNames> match(const TuningSpec& spec, const RawLaunch& launch) {
  LATHE_TRY(const auto cases, spec::instance_cases(spec.reference.instance));
  Result<DimensionNames> found =
      Error{launch.site.location, "it launches " + launch.kernel, "name the kernel that was templatized"};
  for (const spec::InstanceCase& one : cases)
    if (unqualified_kernel(one.instance) == launch.kernel)
      if (found = match_launch(spec, one, launch.site); found.ok())
        return found;
  return found;
}

} // namespace

std::string unqualified_kernel(const std::string& instance) {
  const std::string name = split_instance(instance).name;
  const std::size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

std::vector<RawLaunch> raw_launches(const TuningSpec& spec, const std::vector<KernelInfo>& kernels,
                                    const fs::path& own) {
  std::set<std::string> names;
  if (const auto cases = spec::instance_cases(spec.reference.instance); cases.ok())
    for (const spec::InstanceCase& one : *cases)
      names.insert(unqualified_kernel(one.instance));
  const auto is_meant = [&](const KernelInfo& kernel) {
    return names.contains(kernel.name) &&
           (own.empty() || !kernel.declaration->hasBody() || kernel.location.starts_with(own.string() + ":"));
  };
  std::vector<RawLaunch> launches;
  for (const KernelInfo& kernel : kernels)
    if (is_meant(kernel))
      for (const LaunchSite& site : kernel.launches)
        launches.push_back({kernel.name, site});
  for (const KernelInfo& kernel : kernels)
    for (const LaunchSite& other : kernel.launches)
      for (RawLaunch& launch : launches)
        if (!is_meant(kernel) && launch.site.location == other.location &&
            launch.site.text.begin == other.text.begin)
          launch.site.text.fixed = "it launches " + kernel.name + " as well";
  return launches;
}

Result<std::string> tuned_call(const TuningSpec& spec, const RawLaunch& launch) {
  const LaunchText& text = launch.site.text;
  const auto refusal = [&](const std::string& why, const std::string& remedy) {
    return Error{launch.site.location, why, remedy};
  };
  if (!text.fixed.empty())
    return refusal(text.fixed, "change it by hand, as docs/tutorial-ship.md shows");
  LATHE_TRY(const DimensionNames names, match(spec, launch));
  if (text.arguments.size() != spec.arguments.size())
    return refusal(fmt::format("it passes {} arguments, and the header takes {}", text.arguments.size(),
                               spec.arguments.size()),
                   "change it by hand: structures are passed member by member");
  std::string sizes, arguments;
  for (const std::string& dimension : spec.dimensions) {
    const auto written = size_at_launch(spec, dimension, names.at(dimension), text);
    if (!written)
      return refusal("no variable there has the value of the size '" + dimension + "'",
                     "keep it in a variable of " + text.function +
                         " before the launch, and repeat the command");
    sizes += (sizes.empty() ? "" : ", ") + *written;
  }
  for (std::size_t i = 0; i < text.arguments.size(); ++i)
    arguments += ", " + converted(spec, spec.arguments[i], text.arguments[i], text.pointees[i]);
  return fmt::format("lathe_tuned::{}::launch({{{}}}, {}{})", identifier(spec.name), sizes,
                     text.stream.empty() ? "nullptr" : text.stream, arguments);
}

std::size_t include_place(const std::string& text) {
  std::size_t place = std::string::npos, head = 0;
  int depth = 0, base = 0;
  bool in_comment = false, is_behind_comment = false, is_first_directive = true;
  std::string guard; // NAME of an #ifndef that a #define NAME may follow
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t newline = text.find('\n', begin);
    const std::size_t next = newline == std::string::npos ? text.size() : newline + 1;
    const std::string line = trimmed(std::string_view(text).substr(begin, next - begin));
    begin = next;
    const bool was_in_comment = in_comment;
    if (in_comment || line.starts_with("/*"))
      in_comment = line.find("*/", in_comment ? 0 : 2) == std::string::npos;
    if (was_in_comment || line.starts_with("/*") || line.starts_with("//")) {
      is_behind_comment = true;
      continue;
    }
    if (line.empty()) { // a comment without one goes with what follows
      if (is_behind_comment && is_first_directive)
        head = next;
      is_behind_comment = false;
      continue;
    }
    is_behind_comment = false;
    if (line.front() != '#')
      break;
    const std::string directive = trimmed(std::string_view(line).substr(1));
    const std::vector<std::string> words = identifiers(directive);
    if (directive.starts_with("if"))
      ++depth;
    else if (directive.starts_with("endif"))
      --depth;
    else if (directive.starts_with("include") && depth == base)
      place = next;
    else if (directive.starts_with("pragma once") && place == std::string::npos)
      head = next;
    else if (directive.starts_with("define") && words.size() > 1 && words[1] == guard) {
      base = 1;
      head = next;
    }
    guard = is_first_directive && directive.starts_with("ifndef") && words.size() > 1 ? words[1] : "";
    is_first_directive = false;
  }
  return place == std::string::npos ? head : place;
}

Result<LaunchPatch> patch_launches(const TuningSpec& spec, const std::vector<RawLaunch>& launches,
                                   const std::function<std::string(const fs::path& file)>& include) {
  LaunchPatch patch;
  std::map<Place, std::vector<const RawLaunch*>> places;
  for (const RawLaunch& launch : launches)
    if (launch.site.text.fixed.empty())
      places[{launch.site.text.file, launch.site.text.begin}].push_back(&launch);
    else if (const auto call = tuned_call(spec, launch); !call.ok())
      patch.kept.push_back(call.error().sentence());
  std::map<fs::path, std::vector<Edit>> edits;
  std::map<fs::path, std::string> before;
  for (const auto& [place, there] : places) {
    const auto& [file, offset] = place;
    const auto call = call_at(spec, there);
    if (!call.ok()) {
      patch.kept.push_back(call.error().sentence());
      continue;
    }
    if (!before.contains(file)) {
      LATHE_TRY(before[file], read_file(file));
    }
    const std::string& text = before[file];
    const LaunchSite& site = there.front()->site;
    const auto at = place_of(site.text, text);
    if (!at) {
      patch.kept.push_back(site.location + ": its text is there more than once: change it by hand");
      continue;
    }
    const std::size_t line = *at == 0 ? 0 : text.rfind('\n', *at - 1) + 1;
    edits[file].push_back({*at, site.text.call.size(), wrapped(*call, *at - line)});
    patch.changed.push_back(site.location);
  }
  for (auto& [file, list] : edits) {
    const std::string& text = before[file];
    const bool has_carriage_returns = text.find("\r\n") != std::string::npos;
    list.push_back(
        {include_place(text), 0, "#include " + include(file) + (has_carriage_returns ? "\r\n" : "\n")});
    LATHE_TRY(patch.texts[file], apply_edits(text, list));
  }
  return patch;
}

} // namespace lathe::refactor
