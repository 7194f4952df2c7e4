// `lathe templatize`: raw kernel -> template, search space, certificate.
#include "refactor/app/buffer_inference.h"
#include "refactor/app/buildable_values.h"
#include "refactor/app/certificate_file.h"
#include "refactor/app/command.h"
#include "refactor/app/kernel_list.h"
#include "refactor/app/model_author.h"
#include "refactor/app/raw_candidate.h"
#include "refactor/app/spec_assembly.h"
#include "tuner/app/options.h"
#include "tuner/base/files.h"
#include "tuner/base/hash.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

struct Request {
  fs::path source;
  std::string kernel, name, architecture;
  fs::path output, workload;
  std::vector<std::string> rules, problems, arguments;
  std::string types;
  LaunchOverride launch;
  ParseOptions parse;
  GuardOptions guard;
  std::optional<ModelOptions> model;
  bool check = true, json = false;
};

CommandLine make_command_line() {
  CommandLine line(
      "lathe templatize FILE.cu [--kernel NAME] [options] [-- compiler flags]",
      "Rewrites a raw kernel as a C++ template with knobs, and writes its search space and a certificate of "
      "the\n"
      "checks that it passed. Sizes and data come from FILE.workload.json or from the options.",
      "lathe templatize sglang_kernels/silu_and_mul.cu --kernel act_and_mul_kernel --name silu_and_mul");
  line.options().add_options()("kernel,k", po::value<std::string>(),
                               "the kernel: name, qualified name or pattern (default: the file's only one)")(
      "list", "show every kernel of the file with its launches and candidate knobs, and end")(
      "name", po::value<std::string>(), "name of the template (default: the kernel's)")(
      "output,o", po::value<std::string>()->default_value("."), "folder for templates/ and search_spaces/")(
      ",p", po::value<std::string>(), "folder with compile_commands.json")(
      "workload", po::value<std::string>(), "workload file (default: FILE.workload.json where it exists)")(
      "types", po::value<std::string>(), "element types in use, such as T=bf16/f16/f32")(
      "problem", po::value<std::vector<std::string>>(),
      "a size to tune, such as num_tokens=16,d=4096 (repeatable)")(
      "argument", po::value<std::vector<std::string>>(),
      "a buffer's elements or a scalar's value: NAME=EXPRESSION (repeatable)")(
      "grid", po::value<std::string>(),
      "launch grid, such as num_tokens or \"n, heads\", where the source has none")(
      "block", po::value<std::string>(), "launch block, such as 256 or \"32, 8\"")(
      "shared", po::value<std::string>(),
      "dynamic shared memory in bytes")("site", po::value<int>()->default_value(0),
                                        "which launch of --list to take (default: the first readable one)")(
      "template-argument", po::value<std::vector<std::string>>(),
      "a template argument of the kernel: NAME=VALUE, over the launch's (repeatable)")(
      "rules", po::value<std::string>(), "only these rules, such as expose-block-size,expose-unroll")(
      "arch", po::value<std::string>()->default_value("sm_90"),
      "architecture to check for")("seed", po::value<std::uint64_t>()->default_value(0),
                                   "seed of the guard (default: drawn, and written down)")(
      "no-check", "leave the guard out: the certificate then says that nothing was checked")(
      "json", "print the result as JSON");
  add_model_options(line);
  return line;
}

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

// The workload file, with the command line's facts on top.
Result<WorkloadFacts> gather_facts(const Request& request) {
  WorkloadFacts facts;
  fs::path file = request.workload;
  const fs::path beside = fs::path(request.source).replace_extension(".workload.json");
  if (file.empty() && fs::exists(beside))
    file = beside;
  if (!file.empty()) {
    LATHE_TRY(facts, read_workload_file(file));
    if (!facts.cpu_reference.empty())
      facts.cpu_reference =
          fs::absolute(file.parent_path() / facts.cpu_reference).lexically_normal().string();
  }
  if (!request.types.empty()) {
    LATHE_TRY(const auto pairs, parse_assignments(request.types));
    for (const auto& [name, list] : pairs) {
      facts.types[name] = split(list, '/');
      for (const std::string& dtype : facts.types[name])
        if (dtype_size(dtype) == 0)
          return usage_error("no type '" + dtype + "'",
                             "known are bf16, f16, f32, f64, e4m3, e5m2 and the integers i8 to u64");
    }
  }
  for (const std::string& text : request.arguments) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return usage_error("cannot read --argument " + text, "expected NAME=EXPRESSION");
    ArgumentFacts& argument = facts.arguments[text.substr(0, equals)];
    argument.count = argument.value = text.substr(equals + 1);
  }
  if (!request.problems.empty())
    facts.problems.clear();
  for (const std::string& text : request.problems) {
    LATHE_TRY(const auto pairs, parse_assignments(text));
    Problem problem;
    for (const auto& [name, value] : pairs) {
      char* end = nullptr;
      const long long number = std::strtoll(value.c_str(), &end, 10);
      if (*end != '\0' || number < 1)
        return usage_error("cannot use " + name + "=" + value, "a dimension is a whole number above 0");
      problem.dimensions[name] = number;
    }
    facts.problems.push_back(std::move(problem));
  }
  return facts;
}

Status check_problems(const std::vector<Problem>& problems, const std::vector<std::string>& dimensions) {
  for (const Problem& problem : problems) {
    for (const auto& [name, value] : problem.dimensions)
      if (std::find(dimensions.begin(), dimensions.end(), name) == dimensions.end())
        return usage_error("no dimension '" + name + "'",
                           fmt::format("the kernel's are {}", fmt::join(dimensions, ", ")));
    for (const std::string& name : dimensions)
      if (!problem.dimensions.contains(name))
        return usage_error("a problem lacks dimension '" + name + "'", "",
                           fmt::format("give all of {}", fmt::join(dimensions, ", ")));
  }
  return Done{};
}

// The problem with the fewest elements: cheap to trace.
std::map<std::string, std::int64_t> smallest(const std::vector<Problem>& problems) {
  const auto size = [](const Problem& problem) {
    double product = 1;
    for (const auto& [name, value] : problem.dimensions)
      product *= static_cast<double>(value);
    return product;
  };
  return std::min_element(problems.begin(), problems.end(),
                          [&](const Problem& a, const Problem& b) { return size(a) < size(b); })
      ->dimensions;
}

struct Product {
  RewriteResult rewritten;
  TuningSpec spec;
  Certificate certificate;
  OutputPaths paths;
  std::vector<std::string> notes;
};

void print(const Product& outcome, bool checked) {
  std::cout << "knobs\n";
  for (const Knob& knob : outcome.spec.knobs) {
    std::string values;
    for (const Value& value : knob.values)
      values += (values.empty() ? "" : " ") + lathe::to_string(value);
    std::cout << fmt::format("  {:<14} {:<9} default {:<18} of {}\n  {:<14} {}\n", knob.name,
                             lathe::to_string(knob.kind), knob.default_value.text(), values, "", knob.why);
  }
  if (!outcome.rewritten.reports.empty())
    std::cout << "rules\n";
  for (const RuleReport& report : outcome.rewritten.reports)
    std::cout << fmt::format("  {:<26} {:<8} {}\n", report.rule, report.applied ? "applied" : "refused",
                             report.detail);
  if (!outcome.notes.empty())
    std::cout << "assumed\n";
  for (const std::string& note : outcome.notes)
    std::cout << "  " << note << "\n";
  std::cout << "checks\n"
            << (checked ? certificate_table(outcome.certificate) : "  none: --no-check was given\n");
  std::cout << "template     " << outcome.paths.template_file.string() << "\nspecification "
            << outcome.paths.spec_file.string() << "\ncertificate  "
            << outcome.paths.certificate_file.string() << "\n";
}

std::string outcome_json(const Product& outcome) {
  nlohmann::ordered_json json;
  json["Schema"] = 1;
  json["Template"] = outcome.paths.template_file.string();
  json["Specification"] = outcome.paths.spec_file.string();
  json["Certificate"] = outcome.paths.certificate_file.string();
  json["Accepted"] = outcome.certificate.accepted();
  json["IdentityLevel"] = outcome.certificate.identity_level;
  for (const Knob& knob : outcome.spec.knobs)
    json["Knobs"].push_back({{"Name", knob.name},
                             {"Kind", lathe::to_string(knob.kind)},
                             {"Default", knob.default_value.text()},
                             {"Why", knob.why}});
  for (const RuleReport& report : outcome.rewritten.reports)
    json["Rules"].push_back({{"Rule", report.rule}, {"Applied", report.applied}, {"Detail", report.detail}});
  json["Assumptions"] = outcome.notes;
  return json.dump(2);
}

// The kernel that is meant where none is named: the file's only one.
Result<std::string> only_kernel(ParsedSource& source) {
  const std::vector<KernelInfo> kernels = find_kernels(source);
  if (kernels.size() == 1)
    return kernels.front().qualified_name;
  if (kernels.empty())
    return Error{"no kernel in " + source.file().string(), "no function with __global__ was found", ""};
  std::string names;
  for (const KernelInfo& kernel : kernels)
    names += (names.empty() ? "" : ", ") + kernel.qualified_name;
  return usage_error("lathe templatize", "no kernel named, and the file has several",
                     "give --kernel with one of " + names);
}

std::string joined_command(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

Result<Product> templatize(const Request& request, ParsedSource& source) {
  LATHE_TRY(const KernelInfo kernel, find_kernel(source, request.kernel));
  if (!kernel.is_whole())
    return Error{"cannot templatize " + kernel.name, "its body is not whole: " + kernel.unresolved.front(),
                 "mend it, or add the include path or macro that it lacks after --"};
  LATHE_TRY(WorkloadFacts facts, gather_facts(request));
  LATHE_TRY(const ExtractedKernel extracted, extract_kernel(source, kernel));
  LATHE_TRY(RawCandidate raw,
            make_raw_candidate(kernel, extracted, facts, request.launch, request.architecture));
  Product outcome;
  outcome.notes = std::move(raw.assumptions);
  const bool guessed_problems = facts.problems.empty();
  if (guessed_problems)
    facts.problems = usual_problems(raw.candidate, request.architecture, outcome.notes);
  LATHE_CHECK(check_problems(facts.problems, raw.candidate.dimensions));

  std::vector<std::string> fixed_directions;
  bool all_known = true;
  for (const Argument& argument : raw.candidate.arguments) {
    const auto given = facts.arguments.find(argument.name);
    if (given != facts.arguments.end() && given->second.direction)
      fixed_directions.push_back(argument.name);
    all_known &= !argument.is_buffer || (argument.count.text() != "0" &&
                                         (argument.direction == Direction::in || given->second.direction));
  }
  if (!all_known)
    LATHE_CHECK(infer_buffers(raw.candidate, smallest(facts.problems), fixed_directions, outcome.notes));

  ParseOptions self_contained;
  self_contained.architecture = request.architecture;
  LATHE_TRY(outcome.rewritten, rewrite(raw.candidate, request.rules, self_contained));
  if (outcome.rewritten.candidate.knobs.empty() && !request.model) {
    std::string why;
    for (const RuleReport& report : outcome.rewritten.reports)
      why += (why.empty() ? "" : "; ") + report.rule + ": " + report.detail;
    return Error{"no knob to expose in " + kernel.name, why, ""};
  }
  if (!request.model)
    LATHE_CHECK(keep_buildable_values(outcome.rewritten.candidate, request.architecture, outcome.notes));
  const std::string name = request.name.empty() ? kernel.name : request.name;
  outcome.paths = OutputPaths::under(fs::absolute(request.output).lexically_normal(), name);
  LATHE_TRY(const std::string source_text, read_file(request.source));
  // Paths as seen from the specification, so that the folder may move.
  const fs::path spec_folder = outcome.paths.spec_file.parent_path();
  const auto from_spec = [&](const fs::path& path) { return path.lexically_relative(spec_folder).string(); };
  if (!facts.cpu_reference.empty())
    facts.cpu_reference = from_spec(facts.cpu_reference);
  const Provenance provenance{
      request.source.is_relative() ? request.source.string() : from_spec(request.source),
      content_hash(source_text), joined_command(portable_command(source.command(), fs::current_path())),
      from_spec(outcome.paths.certificate_file)};
  const auto assemble = [&](const Candidate& tuned, const OutputPaths& paths,
                            std::vector<std::string>& notes) -> Result<TuningSpec> {
    LATHE_TRY(TuningSpec spec, assemble_spec(name, raw.candidate, tuned, facts, paths, provenance));
    if (guessed_problems)
      drop_excluded_problems(spec, notes);
    return spec;
  };
  if (request.model) {
    ModelWork work{name,
                   {},
                   request.guard,
                   outcome.paths.template_file.parent_path() / "transcript.json",
                   provenance.source_hash};
    work.task.raw = raw.candidate;
    work.task.found = outcome.rewritten.candidate.knobs;
    work.task.reports = outcome.rewritten.reports;
    work.task.problems = facts.problems;
    work.task.architecture = request.architecture;
    std::vector<std::string> ignored;
    LATHE_TRY(ModelResult written, templatize_by_model(*request.model, std::move(work),
                                                       [&](const Candidate& tuned, const OutputPaths& paths) {
                                                         return assemble(tuned, paths, ignored);
                                                       }));
    outcome.rewritten = {std::move(written.candidate), {}};
    outcome.certificate = std::move(written.certificate);
    outcome.notes.insert(outcome.notes.end(), written.notes.begin(), written.notes.end());
  }
  LATHE_TRY(outcome.spec, assemble(outcome.rewritten.candidate, outcome.paths, outcome.notes));
  LATHE_CHECK(write_file(outcome.paths.raw_file, raw.candidate.text));
  LATHE_CHECK(write_file(outcome.paths.template_file, outcome.rewritten.candidate.text));
  LATHE_CHECK(write_spec(outcome.spec, outcome.paths.spec_file));
  if (request.model) {
    // Judged already: no other candidate comes out of the conversation.
  } else if (request.check) {
    GuardOptions guard = request.guard;
    guard.raw_preconditions = outcome.rewritten.candidate.raw_preconditions;
    guard.raw_launch_bounds = outcome.rewritten.candidate.raw_launch_bounds;
    LATHE_TRY(outcome.certificate, judge(outcome.spec, guard));
    outcome.certificate.author.kind = "rules";
  } else {
    outcome.certificate.kernel = name;
    outcome.certificate.checks.push_back({"all", Verdict::skipped, "left out by --no-check", {}, 0});
  }
  LATHE_CHECK(write_file(outcome.paths.certificate_file, to_json(outcome.certificate).dump(2) + "\n"));
  return outcome;
}

} // namespace

int templatize_command(const Arguments& arguments) {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  CommandLine line = make_command_line();
  if (const auto code = line.parse(Arguments(arguments.begin(), separator)))
    return *code;
  if (line.positionals.size() != 1)
    return fail(usage_error("lathe templatize", "expected one source file", "see lathe templatize --help"));
  Request request;
  request.source = line.positionals.front();
  request.architecture = request.parse.architecture = request.guard.architecture =
      line.get<std::string>("arch");
  request.output = line.get<std::string>("output");
  request.guard.seed = line.get<std::uint64_t>("seed");
  request.check = !line.has("no-check");
  request.json = line.has("json");
  auto model = read_model_options(line);
  if (!model.ok())
    return fail(model.error());
  request.model = std::move(*model);
  if (request.model && !request.check)
    return fail(usage_error("--no-check", "what a model writes is always checked"));
  request.launch.site = line.get<int>("site");
  const auto text = [&](const char* name) {
    return line.has(name) ? line.get<std::string>(name) : std::string();
  };
  request.kernel = text("kernel");
  request.name = text("name");
  request.workload = text("workload");
  request.types = text("types");
  request.launch.grid = text("grid");
  request.launch.block = text("block");
  request.launch.shared = text("shared");
  if (line.has("template-argument"))
    for (const std::string& given : line.get<std::vector<std::string>>("template-argument")) {
      const std::size_t equals = given.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == given.size())
        return fail(usage_error("cannot read --template-argument " + given, "expected NAME=VALUE"));
      request.launch.template_arguments[given.substr(0, equals)] = given.substr(equals + 1);
    }
  request.rules = split(text("rules"), ',');
  request.parse.compile_database = text("-p");
  if (line.has("problem"))
    request.problems = line.get<std::vector<std::string>>("problem");
  if (line.has("argument"))
    request.arguments = line.get<std::vector<std::string>>("argument");
  if (separator != arguments.end())
    request.parse.flags.assign(separator + 1, arguments.end());

  std::error_code failure;
  if (!fs::exists(request.source, failure))
    return fail({"cannot read " + request.source.string(), "no such file", ""});
  auto source = ParsedSource::parse(request.source, request.parse);
  if (!source.ok())
    return fail(source.error());
  if (request.kernel.empty() && !line.has("list")) {
    auto only = only_kernel(**source);
    if (!only.ok())
      return fail(only.error());
    request.kernel = *only;
  }
  if (line.has("list")) {
    const std::string kernels = describe_kernels(**source, request.architecture);
    if (kernels.empty())
      return fail(only_kernel(**source).error());
    std::cout << kernels;
    return 0;
  }
  auto outcome = templatize(request, **source);
  if (!outcome.ok())
    return fail(outcome.error());
  if (request.json)
    std::cout << outcome_json(*outcome) << "\n";
  else
    print(*outcome, request.check);
  return !request.check || outcome->certificate.accepted() ? 0 : static_cast<int>(Failure::work);
}

} // namespace lathe::refactor
