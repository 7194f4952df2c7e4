#include "refactor/app/subject_options.h"

#include <algorithm>

namespace lathe::refactor {
namespace {

namespace po = boost::program_options;

// The kernel that is meant where none is named: the file's only one.
Result<std::string> only_kernel(ParsedSource& source) {
  const std::vector<KernelInfo> kernels = find_kernels(source);
  if (kernels.size() == 1)
    return kernels.front().qualified_name;
  if (kernels.empty())
    return Error{"no kernel in " + source.file().string(), why_no_kernel(source), ""};
  std::string names;
  for (const KernelInfo& kernel : kernels)
    names += (names.empty() ? "" : ", ") + kernel.qualified_name;
  return usage_error(source.file().filename().string(), "no kernel named, and the file has several",
                     "give --kernel with one of " + names);
}

} // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin)
      parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void add_subject_options(po::options_description& options) {
  options.add_options()("kernel,k", po::value<std::string>(),
                        "the kernel: name, qualified name or pattern (default: the file's only one)")(
      ",p", po::value<std::string>()->value_name("FOLDER"),
      "folder with compile_commands.json")("workload", po::value<std::string>()->value_name("FILE"),
                                           "workload file (default: FILE.workload.json where it exists)")(
      "types", po::value<std::string>(), "element types in use, such as T=bf16/f16/f32")(
      "problem", po::value<std::vector<std::string>>(),
      "a size to tune, such as num_tokens=16,d=4096 (repeatable)")(
      "argument", po::value<std::vector<std::string>>(),
      "a buffer's elements or a scalar's value: NAME=EXPRESSION; of a null pointer NAME=null (repeatable)")(
      "grid", po::value<std::string>(),
      "launch grid, such as num_tokens or \"n, heads\", where the source has none")(
      "block", po::value<std::string>(), "launch block, such as 256 or \"32, 8\"")(
      "shared", po::value<std::string>(), "dynamic shared memory in bytes")(
      "launcher", po::value<std::string>()->value_name("FILE"),
      "the file that launches the kernel, where its own does not (default: one near it that does)")(
      "site", po::value<int>()->default_value(0),
      "which launch of templatize --list to take (default: the first readable one that the program has at "
      "most of the sizes)")("template-argument", po::value<std::vector<std::string>>(),
                            "a template argument of the kernel: NAME=VALUE, over the launch's (repeatable)")(
      "arch", po::value<std::string>()->default_value("sm_90"), "architecture to check for");
}

Arguments before_separator(const Arguments& arguments) {
  return {arguments.begin(), std::find(arguments.begin(), arguments.end(), "--")};
}

Result<SubjectRequest> read_subject_options(const CommandLine& line, const Arguments& arguments) {
  if (line.positionals.size() != 1)
    return usage_error("lathe", "expected one source file", "see the command's --help");
  SubjectRequest request;
  request.source = line.positionals.front();
  request.architecture = request.parse.architecture = line.get<std::string>("arch");
  request.launch.site = line.get<int>("site");
  const auto text = [&](const char* name) {
    return line.has(name) ? line.get<std::string>(name) : std::string();
  };
  request.kernel = text("kernel");
  request.launcher = text("launcher");
  request.workload = text("workload");
  request.types = text("types");
  request.launch.grid = text("grid");
  request.launch.block = text("block");
  request.launch.shared = text("shared");
  if (line.has("template-argument"))
    for (const std::string& given : line.get<std::vector<std::string>>("template-argument")) {
      const std::size_t equals = given.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == given.size())
        return usage_error("cannot read --template-argument " + given, "expected NAME=VALUE");
      request.launch.template_arguments[given.substr(0, equals)] = given.substr(equals + 1);
    }
  request.parse.compile_database = text("-p");
  if (line.has("problem"))
    request.problems = line.get<std::vector<std::string>>("problem");
  if (line.has("argument"))
    request.arguments = line.get<std::vector<std::string>>("argument");
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  if (separator != arguments.end())
    request.parse.flags.assign(separator + 1, arguments.end());
  return request;
}

Status settle_kernel(SubjectRequest& request, ParsedSource& source) {
  if (request.kernel.empty()) {
    LATHE_TRY(request.kernel, only_kernel(source));
  }
  return Done{};
}

} // namespace lathe::refactor
