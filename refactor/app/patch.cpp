// `lathe patch`: the call of the exported header in place of the raw kernel's launch, as a unified diff.
#include "refactor/app/command.h"
#include "refactor/app/launch_patch.h"
#include "refactor/app/launcher_search.h"
#include "refactor/app/subject.h"
#include "refactor/app/subject_options.h"
#include "refactor/app/unified_diff.h"
#include "tuner/app/options.h"
#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/emit/launcher.h"
#include "tuner/spec/instance.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <set>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

CommandLine make_command_line() {
  CommandLine line(
      "lathe patch SPEC --header FILE [options] [-- compiler flags]",
      "Writes a unified diff of the files that launch the raw kernel: each launch becomes a call of the\n"
      "exported header, which is included, and nothing else changes. Launches that are not the header's\n"
      "(other template arguments, another geometry, inside a macro) stay, and are named. The changed\n"
      "files are parsed before the patch is written.",
      "lathe patch search_spaces/silu_and_mul.json --header include/tuned/silu_and_mul.h -o "
      "silu_and_mul.patch");
  line.options().add_options()("header", po::value<std::string>()->value_name("FILE"),
                               "what lathe export wrote")(
      "launcher", po::value<std::vector<std::string>>()->value_name("FILE"),
      "a file that launches the kernel (repeatable; default: the kernel's own and those near it that do)")(
      "include", po::value<std::string>()->value_name("NAME"),
      "how the header is included, such as tuned/k.h (default: its path from the file that is changed)")(
      "output,o", po::value<std::string>()->value_name("FILE"), "file to write (default: standard output)")(
      ",p", po::value<std::string>()->value_name("FOLDER"), "folder with compile_commands.json");
  return line;
}

struct PatchRequest {
  TuningSpec spec;
  fs::path header;
  std::string include; // empty: by path
  std::vector<fs::path> launchers;
  ParseOptions parse;
};

fs::path whole_path(const fs::path& path) {
  std::error_code failure;
  return fs::absolute(path, failure).lexically_normal();
}

Error cannot_patch(const TuningSpec& spec, std::string why, std::string remedy) {
  return {"cannot patch the launches of " + spec.name, std::move(why), std::move(remedy)};
}

// Of this template, and not of another one.
Status check_header(const PatchRequest& request) {
  LATHE_TRY(const std::string text, read_file(request.header));
  if (text.find("LATHE_TEMPLATE_SHA1 " + request.spec.template_hash + "\n") == std::string::npos ||
      text.find("namespace " + identifier(request.spec.name) + " {") == std::string::npos)
    return cannot_patch(request.spec, request.header.string() + " is not its header, or an older one",
                        "write it again with lathe export " + request.spec.path.string() + " -o " +
                            request.header.string());
  return Done{};
}

// Whether the kernel is still what it was where the file around it is not: another launch in it may have been
// patched before.
bool has_same_kernel(const PatchRequest& request, const fs::path& source) {
  SubjectRequest now;
  now.source = source;
  now.kernel = unqualified_kernel(request.spec.reference.instance);
  now.parse = request.parse;
  auto parsed = open_source(now);
  if (!parsed.ok())
    return false;
  const auto subject = extract_subject(now, **parsed);
  const auto raw = read_file(request.spec.reference.file);
  return subject.ok() && raw.ok() && subject->raw.text == *raw;
}

// The file that was templatized, as the specification names it; empty where it is not there.
Result<fs::path> own_source(const PatchRequest& request) {
  const TuningSpec& spec = request.spec;
  const fs::path named = spec.provenance.source_file;
  if (named.empty())
    return fs::path();
  std::error_code failure;
  for (const fs::path& path : {whole_path(named), whole_path(spec.path.parent_path() / named)}) {
    if (!fs::is_regular_file(path, failure))
      continue;
    LATHE_TRY(const std::string text, read_file(path));
    if (content_hash(text) != spec.provenance.source_hash && !has_same_kernel(request, path))
      return cannot_patch(spec, "the kernel in " + path.string() + " has changed since it was templatized",
                          "templatize and tune it again, so that the header has the kernel as it is now");
    return path;
  }
  return fs::path();
}

// Where to look for launches: as asked, or in the source and near it.
Result<std::vector<fs::path>> files_to_read(const PatchRequest& request, const fs::path& own) {
  if (!request.launchers.empty())
    return request.launchers;
  if (own.empty())
    return cannot_patch(
        request.spec, "its source " + request.spec.provenance.source_file + " is not here",
        "run the command where lathe templatize ran, or name the file that launches the kernel with "
        "--launcher");
  std::vector<fs::path> files{own};
  LATHE_TRY(const auto cases, spec::instance_cases(request.spec.reference.instance));
  for (const spec::InstanceCase& one : cases)
    for (fs::path& file : launching_files(own, unqualified_kernel(one.instance)))
      if (std::ranges::find(files, file) == files.end())
        files.push_back(std::move(file));
  return files;
}

// Without what stands before the first ": ": the place, which moves with the text.
std::string message_of(const std::string& error) {
  const std::size_t end = error.find(": ");
  return end == std::string::npos ? error : error.substr(end + 2);
}

// The files are parsed with the changes: what was right before still is.
Status check_texts(const PatchRequest& request, const std::vector<std::unique_ptr<ParsedSource>>& sources,
                   const LaunchPatch& patch) {
  ParseOptions options = request.parse;
  for (const auto& [file, text] : patch.texts)
    options.overlay[file] = text;
  if (!request.include.empty() && request.header.string().ends_with("/" + request.include)) {
    const std::string folder = request.header.string();
    options.flags.push_back("-I" + folder.substr(0, folder.size() - request.include.size()));
  }
  for (const std::unique_ptr<ParsedSource>& source : sources) {
    LATHE_TRY(const auto changed, ParsedSource::parse(source->file(), options));
    std::multiset<std::string> known;
    for (const std::string& error : source->errors())
      known.insert(message_of(error));
    for (const std::string& error : changed->errors()) {
      const auto found = known.find(message_of(error));
      if (found == known.end())
        return cannot_patch(request.spec, "the changed text does not compile: " + error,
                            "call the header from a file of its own, without the raw kernel's text");
      known.erase(found);
    }
  }
  return Done{};
}

// The path below the repository's root, which is what git apply and patch -p1 take.
std::string path_in_repository(const fs::path& file) {
  std::error_code failure;
  for (fs::path folder = file.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (fs::exists(folder / ".git", failure))
      return file.lexically_relative(folder).generic_string();
  const fs::path below = file.lexically_relative(fs::current_path());
  return below.empty() || *below.begin() == ".." ? file.filename().string() : below.generic_string();
}

Result<std::string> make_patch(const PatchRequest& request) {
  if (request.spec.reference.file.empty())
    return cannot_patch(request.spec, "the specification names no raw kernel", "give it a reference");
  LATHE_CHECK(check_header(request));
  LATHE_TRY(const fs::path own, own_source(request));
  LATHE_TRY(const std::vector<fs::path> files, files_to_read(request, own));
  std::vector<std::unique_ptr<ParsedSource>> sources;
  std::vector<RawLaunch> launches;
  for (const fs::path& file : files) {
    LATHE_TRY(auto source, ParsedSource::parse(file, request.parse));
    for (RawLaunch& launch : raw_launches(request.spec, find_kernels(*source), own))
      if (std::ranges::none_of(
              launches, [&](const RawLaunch& known) { // a header that two of the files include
                return known.site.location == launch.site.location &&
                       known.site.launcher == launch.site.launcher &&
                       known.site.arguments == launch.site.arguments && known.site.grid == launch.site.grid;
              }))
        launches.push_back(std::move(launch));
    sources.push_back(std::move(source));
  }
  if (launches.empty())
    return cannot_patch(
        request.spec,
        fmt::format("nothing in {} launches {}", files.front().string(), request.spec.reference.instance),
        "name the file that does with --launcher");
  const auto include = [&](const fs::path& file) {
    std::error_code failure; // the path as the file system has it, behind symbolic links
    return "\"" +
           (request.include.empty()
                ? fs::relative(request.header, file.parent_path(), failure).generic_string()
                : request.include) +
           "\"";
  };
  LATHE_TRY(const LaunchPatch patch, patch_launches(request.spec, launches, include));
  if (patch.texts.empty())
    return cannot_patch(request.spec, patch.kept.front(), "");
  LATHE_CHECK(check_texts(request, sources, patch));
  for (const std::string& place : patch.changed)
    std::fprintf(stderr, "lathe: changed %s\n", place.c_str());
  for (const std::string& sentence : patch.kept)
    std::fprintf(stderr, "lathe: left to the raw kernel: %s\n", sentence.c_str());
  std::string text;
  for (const auto& [file, after] : patch.texts) {
    LATHE_TRY(const std::string before, read_file(file));
    text += unified_diff(path_in_repository(file), before, after);
  }
  return text;
}

Result<PatchRequest> read_request(const CommandLine& line, const Arguments& arguments) {
  PatchRequest request;
  if (line.positionals.size() != 1)
    return usage_error("lathe patch", "expected one specification",
                       "name one, such as search_spaces/silu_and_mul.json");
  if (!line.has("header"))
    return usage_error("lathe patch", "no header is named", "name what lathe export wrote with --header");
  LATHE_TRY(request.spec, read_spec(line.positionals.front()));
  request.header = whole_path(line.get<std::string>("header"));
  if (line.has("include"))
    request.include = line.get<std::string>("include");
  if (line.has("launcher"))
    for (const std::string& file : line.get<std::vector<std::string>>("launcher"))
      request.launchers.push_back(whole_path(file));
  if (line.has("-p"))
    request.parse.compile_database = line.get<std::string>("-p");
  const auto separator = std::ranges::find(arguments, "--");
  if (separator != arguments.end())
    request.parse.flags.assign(separator + 1, arguments.end());
  return request;
}

} // namespace

int patch_command(const Arguments& arguments) {
  CommandLine line = make_command_line();
  if (const auto code = line.parse(before_separator(arguments)))
    return *code;
  const auto request = read_request(line, arguments);
  if (!request.ok())
    return fail(request.error());
  const auto text = make_patch(*request);
  if (!text.ok())
    return fail(text.error());
  if (!line.has("output")) {
    std::cout << *text;
    return 0;
  }
  const Status written = write_file(line.get<std::string>("output"), *text);
  return written.ok() ? 0 : fail(written.error());
}

} // namespace lathe::refactor
