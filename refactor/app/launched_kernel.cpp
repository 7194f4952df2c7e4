// A request's kernel, found in its source and where it is launched.
#include "refactor/app/launched_kernel.h"

#include "refactor/app/build_macros.h"
#include "refactor/app/build_numbers.h"
#include "refactor/app/declared_kernel.h"
#include "refactor/app/device_definitions.h"
#include "refactor/app/launcher_search.h"
#include "refactor/app/preceding_headers.h"
#include "tuner/base/files.h"
#include "tuner/base/text.h"

#include <clang/AST/Decl.h>

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <sstream>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

// What to do about a name that is not known: most often a header was not found.
std::string what_is_missing(ParsedSource& source) {
  for (const std::string& error : source.errors())
    if (const std::size_t at = error.find("#error "); at != std::string::npos)
      return "define with -- -D NAME=VALUE what '" + error.substr(at) + "' (" +
             error.substr(0, error.rfind(':', at)) + ") asks for";
  for (const std::string& header : source.missing_headers())
    return "add the folder of '" + header +
           "', which was not found, with -- -I FOLDER, or the macro that it lacks";
  return "mend it, or add the include path or macro that it lacks after --";
}

// The line of the request's source in which the kernel's text begins; 0 where there is none.
int line_of_kernel(const SubjectRequest& request) {
  constexpr int FEW_LINES = 4; // from __global__ to the name
  const auto text = read_file(request.source);
  if (!text.ok())
    return 0;
  std::istringstream lines(*text);
  int number = 0, global = -FEW_LINES;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find("__global__") != std::string::npos)
      global = number;
    const auto words = identifiers(line);
    if (number - global < FEW_LINES && std::ranges::find(words, request.kernel) != words.end())
      return number;
  }
  return 0;
}

// A kernel that stands in the text and was not found has errors in its own declaration, or lies under a
// condition that does not hold.
Error not_found(const SubjectRequest& request, ParsedSource& source, Error error) {
  const int line = line_of_kernel(request);
  if (line == 0)
    return error;
  const std::string file = source.file().string(), place = fmt::format("{}:{}", file, line);
  error.what = "cannot templatize " + request.kernel;
  error.remedy = what_is_missing(source);
  // The first error in its text, else the last before it.
  std::string problem;
  for (const std::string& each : source.errors())
    if (each.starts_with(file + ":") &&
        (problem.empty() || std::atoi(problem.c_str() + file.size() + 1) < line))
      problem = each;
  error.why = problem.empty() ? fmt::format("its text ({}) lies under a condition that does not hold", place)
                              : fmt::format("its text ({}) is not understood: {}", place, problem);
  if (problem.empty())
    error.remedy = "define the macro that the condition asks for with -- -D NAME=VALUE";
  return error;
}

// Where the kernel's own file does not launch it, another one is asked.
Status find_launches(const SubjectRequest& request, ParsedSource& source, KernelInfo& kernel,
                     std::vector<std::string>& notes) {
  if (!request.launcher.empty()) {
    LATHE_TRY(kernel.launches, launches_in(request.launcher, kernel, request.parse, notes));
    return Done{};
  }
  if (!request.launch.grid.empty() && !request.launch.block.empty())
    return Done{};
  if (!kernel.launches.empty()) {
    complete_launches(source, kernel, request.parse, kernel.launches, notes);
    return Done{};
  }
  std::vector<fs::path> files = launching_files(request.source, kernel.name);
  if (!macros_of_launch(source, kernel.name).empty())
    files.insert(files.begin(), source.file());
  // A header's own launcher may need what stands before the header where it is included.
  for (fs::path& file : including_files(request.source))
    if (std::ranges::find(files, file) == files.end())
      files.push_back(std::move(file));
  for (const fs::path& file : files)
    if (auto launches = launches_in(file, kernel, request.parse, notes); launches.ok()) {
      kernel.launches = std::move(*launches);
      notes.push_back(
          fmt::format("launched as in {} (say otherwise with --launcher)", file.filename().string()));
      return Done{};
    }
  if (auto launches = launches_by_address(request.source, kernel, request.parse, notes); launches.ok())
    kernel.launches = std::move(*launches);
  return Done{};
}

// Of files that include another, as many are parsed at each level.
constexpr std::size_t MOST_INCLUDING = 3;

// Neither the kernel nor what it calls has an error in it.
bool is_whole(ParsedSource& source, const KernelInfo& kernel) {
  return kernel.is_whole() && (source.errors().empty() || extract_kernel(source, kernel).ok());
}

// Who undefines a macro, or gave it a value, has decided.
bool is_decided(const SubjectRequest& request, const std::string& macro) {
  const std::string name = macro.substr(0, macro.find('='));
  return std::ranges::any_of(request.parse.flags, [&](const std::string& flag) {
    return flag == "-U" + name || flag == "-D" + name || flag.starts_with("-D" + name + "=");
  });
}

// Of macros that a condition compares with a number, the number that the build has.
void take_numbers_of_build(const SubjectRequest& request, std::vector<std::vector<std::string>>& groups) {
  for (std::vector<std::string>& group : groups)
    for (std::string& macro : group)
      if (const std::size_t equals = macro.find('='); equals != std::string::npos)
        if (auto own = numbers_of_build(request.source, {macro.substr(0, equals)}); !own.empty())
          macro = std::move(own.front());
}

// What the source leaves out because its build's macros are not defined: the kernel, or else the headers that
// it needs, or what the errors name. Each group is worth a try, the first that helps is the one.
std::vector<std::vector<std::string>> macros_to_define(const SubjectRequest& request, ParsedSource& source,
                                                       bool is_missing) {
  const auto open_ones = [&](std::vector<std::string> macros) {
    std::erase_if(macros, [&](const std::string& macro) { return is_decided(request, macro); });
    return macros;
  };
  std::vector<std::vector<std::string>> groups;
  // What an #error asks for, one by one: of several some may exclude each other.
  const auto add_demanded = [&] {
    const std::vector<std::string> demanded = macros_of_demands(source);
    const std::vector<std::string> numbers = numbers_of_build(request.source, demanded);
    for (const std::string& macro : demanded) {
      const auto number = std::ranges::find_if(
          numbers, [&](const std::string& each) { return each.starts_with(macro + "="); });
      groups.push_back(open_ones({number == numbers.end() ? macro : *number}));
    }
  };
  if (is_missing) {
    groups = {open_ones(macros_of_kernel(source, request.kernel))};
    // A name that no kernel has is answered with the names that there are.
    if (groups.front().empty() && find_kernels(source).empty())
      groups = {open_ones(macros_of_kernel(source, ""))};
    // Or what its declaration names is not known.
    groups.push_back(open_ones(macros_of_cuda_headers(source)));
    add_demanded();
    groups.push_back(open_ones(macros_of_errors(source)));
  } else {
    groups = {open_ones(macros_of_cuda_headers(source))};
    add_demanded();
    groups.push_back(open_ones(macros_of_errors(source)));
    groups.push_back(open_ones(numbers_of_build(request.source, unknown_names(source))));
  }
  std::erase_if(groups, [](const std::vector<std::string>& macros) { return macros.empty(); });
  take_numbers_of_build(request, groups);
  return groups;
}

// What __CUDA_ARCH__ is, for a macro that is named after it; empty for any other.
std::string number_of_architecture(const std::string& macro, const std::string& architecture) {
  std::string number;
  for (const char letter : architecture)
    if (letter >= '0' && letter <= '9')
      number += letter;
  return is_named_after_architecture(macro) && !number.empty() ? number + "0" : "";
}

// Whether another parse of the source has the kernel where this one has not, or has it whole, or the same
// with fewer errors.
bool is_better(const SubjectRequest& request, ParsedSource& before, ParsedSource& after) {
  const auto own = find_kernel(after, request.kernel);
  if (request.kernel.empty() || !own.ok())
    return !find_kernels(after).empty() &&
           (find_kernels(before).empty() ||
            (request.kernel.empty() && after.errors().size() < before.errors().size()));
  return (!find_kernel(before, request.kernel).ok() || is_whole(after, *own) ||
          after.errors().size() < before.errors().size());
}

// The request with the macros defined.
SubjectRequest with_macros(SubjectRequest request, const std::vector<std::string>& macros) {
  for (const std::string& macro : macros) {
    if (macro.find('=') != std::string::npos) {
      request.parse.flags.push_back("-D" + macro);
      request.assumed_macros.push_back(macro);
      continue;
    }
    const std::string number = number_of_architecture(macro, request.parse.architecture);
    request.parse.flags.push_back("-D" + macro + "=" + (number.empty() ? "1" : number));
    request.assumed_macros.push_back(number.empty() ? macro : macro + "=" + number);
  }
  return request;
}

// Whether the source is better understood with the macros: then it is what was parsed with them.
bool parse_with(const std::vector<std::string>& macros, SubjectRequest& request,
                std::unique_ptr<ParsedSource>& source) {
  SubjectRequest with = with_macros(request, macros);
  auto again = ParsedSource::parse(request.source, with.parse);
  if (!again.ok() || !is_better(request, *source, **again))
    return false;
  source = std::move(*again);
  request = std::move(with);
  return true;
}

// Where errors keep the source's launches of a whole kernel from being seen, with the macros that mend them.
void understand_launches(SubjectRequest& request, std::unique_ptr<ParsedSource>& source) {
  const auto launches = [&](ParsedSource& of) {
    const auto kernel = find_kernel(of, request.kernel);
    return kernel.ok() && is_whole(of, *kernel) && !kernel->launches.empty();
  };
  if (request.kernel.empty() || !request.launcher.empty() || !request.launch.grid.empty() ||
      source->errors().empty() || launches(*source))
    return;
  for (const auto& macros : macros_to_define(request, *source, false)) {
    SubjectRequest with = with_macros(request, macros);
    if (auto again = ParsedSource::parse(request.source, with.parse); again.ok() && launches(**again)) {
      source = std::move(*again);
      request = std::move(with);
      return;
    }
  }
}

// Where the kernel can but fail, as what it calls is left out, with the macros under which that is there.
void leave_no_failure(SubjectRequest& request, std::unique_ptr<ParsedSource>& source) {
  const auto text_of = [&](ParsedSource& of) {
    const auto kernel = find_kernel(of, request.kernel);
    const auto extracted = kernel.ok() ? extract_kernel(of, *kernel) : Result<ExtractedKernel>(Error{});
    return extracted.ok() ? extracted->text : "";
  };
  std::vector<std::string> macros = macros_of_failures(*source);
  std::erase_if(macros, [&](const std::string& macro) { return is_decided(request, macro); });
  if (macros.empty())
    return;
  const std::string before = text_of(*source);
  if (!fails_on_purpose(before))
    return;
  SubjectRequest with = with_macros(request, macros);
  auto again = ParsedSource::parse(request.source, with.parse);
  const std::string after = again.ok() ? text_of(**again) : "";
  if (after.empty() || after == before)
    return;
  source = std::move(*again);
  request = std::move(with);
}

// Of overloads and kernels of several namespaces one is taken: a whole one that the file launches, or else a
// whole one, or else any, the first of its kind in the file.
void choose_among_namesakes(SubjectRequest& request, ParsedSource& source) {
  if (request.kernel.empty() || find_kernel(source, request.kernel).ok())
    return;
  std::vector<KernelInfo> namesakes = find_kernels(source);
  std::erase_if(namesakes, [&](const KernelInfo& kernel) {
    return kernel.name != request.kernel && kernel.qualified_name != request.kernel;
  });
  if (namesakes.size() < 2)
    return;
  const auto rank = [](const KernelInfo& kernel) {
    return !kernel.is_whole() ? 2 : kernel.launches.empty() ? 1 : 0;
  };
  const auto chosen = std::ranges::min_element(namesakes, {}, rank);
  const auto spoken = [](const KernelInfo& kernel) {
    return kernel.qualified_name + kernel.location.substr(kernel.location.rfind(':'));
  };
  for (auto other = namesakes.begin(); other != namesakes.end(); ++other)
    if (other != chosen)
      request.passed_over.push_back(spoken(*other));
  request.kernel = spoken(*chosen);
}

// Whether the kernel is whole, or for a request of no kernel there is one, once the source was parsed with
// the macros that help.
bool complete_with_macros(SubjectRequest& request, std::unique_ptr<ParsedSource>& source) {
  constexpr int MOST_ROUNDS = 4; // the kernel, the headers above it, those of another type, other names
  for (int round = 0; round <= MOST_ROUNDS; ++round) {
    const auto own = find_kernel(*source, request.kernel);
    const bool is_missing = request.kernel.empty() ? find_kernels(*source).empty() : !own.ok();
    if (!is_missing && (request.kernel.empty() || is_whole(*source, *own)))
      return true;
    bool is_found = false;
    for (const auto& macros : round == MOST_ROUNDS ? std::vector<std::vector<std::string>>()
                                                   : macros_to_define(request, *source, is_missing)) {
      is_found = parse_with(macros, request, source);
      if (is_found)
        break;
    }
    if (!is_found)
      break;
  }
  return false;
}

// The source behind the headers of a file that launches its kernel, where the kernel is whole so; null where
// there is no such file. A build's own options may put headers before a source that includes nothing.
std::unique_ptr<ParsedSource> behind_headers_of_launcher(SubjectRequest& request) {
  std::vector<fs::path> launchers = launching_files(request.source, request.kernel);
  if (!request.launcher.empty())
    launchers = {request.launcher};
  for (const fs::path& launcher : launchers) {
    const std::vector<std::string> headers = headers_as_flags(launcher, request.parse.flags);
    if (headers.empty())
      continue;
    SubjectRequest behind = request;
    behind.parse.flags.insert(behind.parse.flags.end(), headers.begin(), headers.end());
    behind.headers_of = launcher;
    auto source = ParsedSource::parse(request.source, behind.parse);
    if (!source.ok() || !complete_with_macros(behind, *source))
      continue;
    request = std::move(behind);
    return std::move(*source);
  }
  return nullptr;
}

} // namespace

namespace {

// A file that is a part of others has no meaning by itself: macros and types stand before it there, or where
// these are parts in turn, maybe under macros that their build defines. Nothing where no file has the kernel
// whole.
std::unique_ptr<ParsedSource> as_part_of_another(SubjectRequest& request) {
  std::vector<fs::path> seen{fs::absolute(request.source).lexically_normal()}, level = seen;
  constexpr int LEVELS = 2;
  for (int above = 0; above < LEVELS; ++above) {
    std::vector<fs::path> next;
    for (const fs::path& part : level)
      for (fs::path& file : including_files(part))
        if (std::ranges::find(seen, file) == seen.end() && next.size() < MOST_INCLUDING) {
          seen.push_back(file);
          next.push_back(std::move(file));
        }
    for (const fs::path& file : next) {
      SubjectRequest part = request;
      part.source = file;
      auto whole = ParsedSource::parse(file, part.parse);
      if (!whole.ok() || !complete_with_macros(part, *whole))
        continue;
      request.parse = std::move(part.parse);
      request.assumed_macros = std::move(part.assumed_macros);
      return std::move(*whole);
    }
    level = std::move(next);
  }
  return nullptr;
}

// A kernel that `source` only declares, whole in the file that defines it. Nothing where there is no such
// file, or another kernel of that name is defined there.
std::optional<std::pair<SubjectRequest, std::unique_ptr<ParsedSource>>>
where_it_is_defined(const SubjectRequest& request, ParsedSource& source) {
  if (!request.declared_in.empty())
    return std::nullopt;
  auto where = request_where_defined(request, source);
  if (!where)
    return std::nullopt;
  auto opened = open_source(*where);
  if (!opened.ok())
    return std::nullopt;
  const auto declared = find_kernel(source, request.kernel), defined = find_kernel(**opened, where->kernel);
  if (!declared.ok() || !defined.ok() || !defined->is_whole() || !is_same_kernel(*declared, *defined))
    return std::nullopt;
  return std::pair{std::move(*where), std::move(*opened)};
}

} // namespace

Result<std::unique_ptr<ParsedSource>> open_source(SubjectRequest& request) {
  std::error_code failure;
  if (!fs::exists(request.source, failure))
    return Error{"cannot read " + request.source.string(), "no such file", ""};
  const SubjectRequest as_given = request;
  LATHE_TRY(auto source, ParsedSource::parse(request.source, request.parse));
  choose_among_namesakes(request, *source);
  if (auto elsewhere = where_it_is_defined(as_given, *source)) {
    request = std::move(elsewhere->first);
    return std::move(elsewhere->second);
  }
  const bool is_complete = complete_with_macros(request, source);
  if (auto whole = behind_device_definitions(request, *source))
    return whole;
  if (is_complete || request.kernel.empty()) {
    understand_launches(request, source);
    if (!request.kernel.empty())
      leave_no_failure(request, source);
    return source;
  }
  if (!find_kernel(*source, request.kernel).ok() && line_of_kernel(request) == 0)
    return source;
  SubjectRequest part = request;
  part.parse = as_given.parse;
  part.assumed_macros = as_given.assumed_macros;
  if (auto whole = as_part_of_another(part)) {
    request = std::move(part);
    return whole;
  }
  SubjectRequest behind = as_given;
  if (auto whole = behind_headers_of_launcher(behind)) {
    request = std::move(behind);
    return whole;
  }
  return source;
}

Result<KernelInfo> launched_kernel(const SubjectRequest& request, ParsedSource& source,
                                   std::vector<std::string>& notes) {
  auto found = find_kernel(source, request.kernel);
  if (!found.ok())
    return not_found(request, source, found.error());
  KernelInfo kernel = std::move(*found);
  if (!kernel.declaration || !kernel.declaration->hasBody())
    if (const auto definition = defining_file(request.source, kernel.name))
      return Error{"cannot templatize " + kernel.name,
                   request.source.filename().string() + " only declares it",
                   "name the file that defines it, " + definition->string()};
  if (!kernel.is_whole())
    return Error{"cannot templatize " + kernel.name, "its body is not whole: " + kernel.unresolved.front(),
                 what_is_missing(source)};
  if (!request.declared_in.empty())
    notes.push_back(fmt::format("read in {}, which defines it: {} only declares it",
                                request.source.filename().string(), request.declared_in.filename().string()));
  if (fs::absolute(source.file()).lexically_normal() != fs::absolute(request.source).lexically_normal())
    notes.push_back(fmt::format("read as a part of {}, which includes it: {} alone is not whole",
                                source.file().filename().string(), request.source.filename().string()));
  if (!request.headers_of.empty())
    notes.push_back(
        fmt::format("read behind the headers of {}, which launches it: {} alone is not whole (say "
                    "otherwise with -- -include FILE)",
                    request.headers_of.filename().string(), request.source.filename().string()));
  if (!request.definitions_of.empty())
    notes.push_back(
        fmt::format("read behind {}, which defines what it uses on the device (say otherwise with "
                    "-- -include FILE)",
                    fmt::join(request.definitions_of, ", ")));
  if (!request.assumed_macros.empty())
    notes.push_back(fmt::format(
        "{} {} defined, as the source leaves out what the kernel needs otherwise (say "
        "otherwise with -- -D NAME=VALUE or -U NAME)",
        fmt::join(request.assumed_macros, ", "), request.assumed_macros.size() == 1 ? "is" : "are"));
  if (!request.passed_over.empty())
    notes.push_back(
        fmt::format("of the kernels of this name, {} is taken (others: {}; say otherwise with --kernel)",
                    request.kernel, fmt::join(request.passed_over, ", ")));
  LATHE_CHECK(find_launches(request, source, kernel, notes));
  return kernel;
}

Status expect_launch(const SubjectRequest& request, const ParsedSource& source, const KernelInfo& kernel) {
  const bool is_given = !request.launch.grid.empty() && !request.launch.block.empty();
  const std::string file = source.file().string();
  const auto own_error = std::ranges::find_if(
      source.errors(), [&](const std::string& error) { return error.starts_with(file + ":"); });
  if (kernel.launches.empty() && !is_given && own_error != source.errors().end())
    return Error{
        "cannot read how " + kernel.name + " is launched",
        "nothing in this file that is understood launches it, and something is not: " + *own_error,
        "define or include what that lacks after --, name the file that launches it with --launcher, "
        "or give the launch with --grid and --block (and --shared)"};
  return Done{};
}

} // namespace lathe::refactor
