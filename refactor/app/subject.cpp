#include "refactor/app/subject.h"

#include "refactor/app/launch_conditions.h"
#include "refactor/app/launched_kernel.h"
#include "refactor/app/launcher_search.h"
#include "refactor/app/numbered_tables.h"
#include "refactor/app/program_launches.h"
#include "refactor/app/raw_candidate_strides.h"
#include "refactor/app/register_limits.h"
#include "refactor/app/related_sizes.h"
#include "refactor/app/runnable_problems.h"
#include "refactor/app/sized_buffers.h"
#include "refactor/app/text_sizes.h"
#include "refactor/app/usual_launch.h"
#include "refactor/app/usual_problems.h"
#include "refactor/extract/flatten.h"
#include "refactor/extract/member_names.h"
#include "refactor/frontend/closures.h"
#include "refactor/frontend/standard.h"
#include "tuner/app/options.h"
#include "tuner/base/files.h"
#include "tuner/base/hash.h"

#include <algorithm>
#include <clang/AST/Decl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

// "bf16/f16" into its parts.
std::vector<std::string> alternatives(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    if (end > begin)
      parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The workload file, with the command line's facts on top.
Result<WorkloadFacts> gather_facts(const SubjectRequest& request) {
  WorkloadFacts facts;
  fs::path file = request.workload;
  const fs::path beside = fs::path(request.source).replace_extension(".workload.json");
  if (file.empty() && path_exists(beside))
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
      facts.types[name] = alternatives(list);
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
    const std::string given = text.substr(equals + 1);
    argument.is_null = given == "null";
    if (!*argument.is_null)
      argument.count = argument.value = given;
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

std::string sizes_of(const Problem& problem) {
  std::string text;
  for (const auto& [name, value] : problem.dimensions)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
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

std::string joined_command(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> strides_to_guess(const Subject& subject) {
  std::vector<std::string> strides = tensor_strides(subject.raw);
  std::erase_if(strides, [&](const std::string& name) {
    return subject.own_sizes.contains(name) ||
           std::ranges::any_of(subject.facts.problems,
                               [&](const Problem& problem) { return problem.dimensions.contains(name); });
  });
  return strides;
}

// The guessed strides follow from the other sizes.
void set_strides(Subject& subject) {
  const std::vector<Problem>& given = subject.facts.problems;
  const std::vector<std::string> strides = std::exchange(subject.guessed_strides, {});
  if (strides.empty())
    return;
  std::vector<std::string> said_later;
  const std::vector<Problem> problems =
      given.empty() ? usual_problems(without_dimensions(subject.raw, strides), subject.own_sizes,
                                     subject.architecture, said_later)
                    : given;
  take_as_contiguous(subject.raw, strides, smallest_with_few(problems), subject.architecture, subject.notes);
}

// Problems that no one launch is for are held against this one all the same, which has to be said: the raw
// side may be slower there than the program is.
void tell_other_launches(Subject& subject) {
  std::string elsewhere;
  for (const Problem& problem : subject.facts.problems)
    if (std::ranges::any_of(subject.raw.launched_where,
                            [&](const Expression& condition) { return fails_at(condition, problem); }))
      elsewhere += (elsewhere.empty() ? "" : " and ") + sizes_of(problem);
  if (elsewhere.empty())
    return;
  subject.notes.push_back(fmt::format(
      "at {} the launcher launches something else than the raw side here, which may be slower than the "
      "program (give problems of one launch at a time; --list shows the launches, and --site takes one)",
      elsewhere));
  subject.raw.launched_where.clear();
}

// The problems, where nobody gave any, and the sizes of the buffers.
Status settle_sizes(Subject& subject, const SubjectRequest& request) {
  subject.guessed_problems = subject.facts.problems.empty();
  if (subject.guessed_problems) {
    subject.facts.problems =
        usual_problems(subject.raw, subject.own_sizes, subject.architecture, subject.notes);
    fit_to_registers(subject.raw, subject.architecture, subject.facts.problems, subject.notes);
    if (subject.own_sizes.empty())
      relate_sizes(subject.raw, subject.architecture, subject.facts.problems, subject.notes);
  }
  LATHE_CHECK(check_problems(subject.facts.problems, subject.raw.dimensions));
  keep_text_sizes(subject.raw, subject.facts.problems);
  if (!subject.guessed_problems)
    tell_other_launches(subject);
  LATHE_CHECK(size_buffers(subject, request.parse));
  std::set<std::string> given;
  for (const auto& [name, facts] : subject.facts.arguments)
    given.insert(name);
  make_room(subject.raw, given, subject.architecture, subject.facts.problems, subject.notes);
  if (subject.guessed_problems) {
    fit_to_memory(subject.raw, subject.facts.problems, subject.notes);
    keep_runnable(subject.raw, subject.architecture, subject.facts.problems, subject.notes);
    keep_to_conditions(subject.raw, subject.facts.problems, subject.notes);
  } else {
    tell_unrunnable(subject.raw, subject.architecture, subject.facts.problems, subject.notes);
  }
  std::set<std::string> given_types;
  for (const auto& [name, dtypes] : subject.facts.types)
    given_types.insert(name);
  keep_runnable_types(subject.raw, given_types, subject.architecture, subject.facts.problems, subject.notes);
  keep_text_sizes(subject.raw, subject.facts.problems);
  return choose_text_sizes(subject.raw, subject.architecture, subject.facts.problems, subject.notes);
}

bool states_standard(const ParseOptions& options) {
  return !options.compile_database.empty() || std::ranges::any_of(options.flags, [](const std::string& flag) {
    return flag.starts_with("-std") || flag.starts_with("--std");
  });
}

// Of the kernel's parameter, in the order in which they are declared; none for a member of a structure.
std::vector<std::int64_t> values_of_enumeration(const KernelInfo& kernel, const std::string& parameter) {
  std::vector<std::int64_t> values;
  for (const clang::ParmVarDecl* declared : kernel.declaration->parameters())
    if (const auto* type = declared->getType()->getAs<clang::EnumType>();
        type && declared->getNameAsString() == parameter)
      for (const clang::EnumConstantDecl* enumerator : type->getDecl()->enumerators())
        values.push_back(enumerator->getInitVal().getExtValue());
  return values;
}

Result<Subject> extract_from(const SubjectRequest& request, ParsedSource& source) {
  Subject subject;
  LATHE_TRY(KernelInfo kernel, launched_kernel(request, source, subject.notes));
  subject.kernel = kernel.name;
  subject.launch_sites = kernel.launches.size();
  subject.architecture = request.architecture;
  LATHE_TRY(subject.facts, gather_facts(request));
  std::vector<std::string> mentioned;
  for (const auto& [name, value] : request.launch.template_arguments)
    mentioned.push_back(value);
  LATHE_TRY(ExtractedKernel extracted, extract_kernel(source, kernel, mentioned));
  if (standard_option(extracted.text) == "-std=c++20" && !states_standard(request.parse))
    subject.notes.push_back("read and compiled as C++20, as the source does not compile as C++17 (say "
                            "otherwise with -- -std=c++17)");
  LATHE_TRY(const Flattened flattened, flatten_structures(extracted, kernel, request.parse));
  subject.notes.insert(subject.notes.end(), flattened.told.begin(), flattened.told.end());
  LATHE_TRY(subject.tables, number_pointer_tables(extracted, kernel, request.parse, flattened.member_paths));
  LATHE_CHECK(name_members(extracted, kernel, request.parse, flattened.member_paths));
  number_places(subject.tables, subject.facts);
  LaunchOverride launch = request.launch;
  if (launch.grid.empty() && launch.block.empty()) {
    if (const auto site = static_cast<std::size_t>(launch.site);
        site > 0 && site <= kernel.launches.size() && !kernel.launches[site - 1].unreadable.empty()) {
      kernel.launches = {LaunchSite(kernel.launches[site - 1])};
      launch.site = 1;
    }
    assume_launch(extracted, request.parse, kernel, subject.notes);
  }
  LATHE_CHECK(expect_launch(request, source, kernel));
  LATHE_TRY(RawCandidate raw,
            make_raw_candidate(kernel, extracted, subject.facts, launch, request.architecture));
  raw.candidate.program_launches =
      program_launches(kernel, extracted, subject.facts, launch, request.architecture, raw);
  subject.raw = std::move(raw.candidate);
  subject.own_sizes = raw.own_sizes;
  subject.assumed_switches = raw.assumed_switches;
  for (const std::string& name : raw.assumed_modes)
    subject.assumed_modes[name] = values_of_enumeration(kernel, name);
  subject.assumed_template_arguments = raw.assumed_template_arguments;
  subject.has_program_instance = raw.has_program_instance;
  for (Problem& problem : subject.facts.problems)
    problem.dimensions.insert(raw.own_sizes.begin(), raw.own_sizes.end());
  if (subject.facts.problems.empty() && !raw.own_sizes.empty() &&
      raw.own_sizes.size() == subject.raw.dimensions.size()) {
    Problem own;
    own.dimensions = raw.own_sizes;
    subject.facts.problems.push_back(std::move(own));
  }
  subject.notes.insert(subject.notes.end(), raw.assumptions.begin(), raw.assumptions.end());
  subject.provenance.compile_command = joined_command(portable_command(source.command(), fs::current_path()));
  return subject;
}

} // namespace

namespace {

// The same, with closures that the kernel is handed as objects of structures where they can be written so.
Result<Subject> extract_with_closures(const SubjectRequest& request, ParsedSource& source) {
  std::vector<std::string> told;
  SubjectRequest named = request;
  if (const auto kernel = find_kernel(source, request.kernel); kernel.ok())
    for (auto& [file, text] : with_named_closures(source, *kernel, told))
      named.parse.overlay[file] = std::move(text);
  if (told.empty())
    return extract_from(request, source);
  const auto rewritten = ParsedSource::parse(source.file(), named.parse);
  if (!rewritten.ok() || (*rewritten)->errors().size() > source.errors().size())
    return extract_from(request, source);
  auto subject = extract_from(named, **rewritten);
  if (subject.ok())
    subject->notes.insert(subject->notes.begin(), told.begin(), told.end());
  return subject;
}

} // namespace

Result<Subject> extract_subject(const SubjectRequest& request, ParsedSource& source) {
  auto subject = extract_with_closures(request, source);
  if (subject.ok() && (subject->assumed_template_arguments.empty() || subject->has_program_instance))
    return subject;
  // Files that include this one may say with which types and functions it is used, and have them.
  constexpr std::size_t MOST_USERS = 4;
  std::vector<fs::path> users = calling_files(request.source, request.kernel);
  for (fs::path& file : including_files(request.source))
    if (users.size() < MOST_USERS && std::ranges::find(users, file) == users.end())
      users.push_back(std::move(file));
  for (const fs::path& file : users) {
    auto user = ParsedSource::parse(file, request.parse);
    if (!user.ok())
      continue;
    if (auto used = extract_with_closures(request, **user);
        used.ok() && (!subject.ok() || used->assumed_template_arguments.empty()))
      return used;
  }
  return subject;
}

namespace {

// Where the raw kernel writes nothing as the first of several launches has it (a choice that is not
// implemented, a mode that only counts): as the first with which it does.
void take_telling_launch(const SubjectRequest& request, ParsedSource& source, Subject& subject) {
  constexpr std::size_t MOST_SITES = 6;
  if (!subject.writes_nothing || request.launch.site != 0)
    return;
  std::set<std::string> tried{subject.raw.instance};
  for (std::size_t site = 1; site <= std::min(subject.launch_sites, MOST_SITES); ++site) {
    SubjectRequest other = request;
    other.launch.site = static_cast<int>(site);
    auto found = extract_subject(other, source);
    if (!found.ok() || !tried.insert(found->raw.instance).second)
      continue;
    found->guessed_strides = strides_to_guess(*found);
    if (request.contiguous_tensors)
      set_strides(*found);
    if (!settle_sizes(*found, other).ok() || found->writes_nothing)
      continue;
    found->notes.push_back(
        fmt::format("of {} launches the {}. is taken, as the raw kernel writes nothing with "
                    "the first (say otherwise with --site)",
                    subject.launch_sites, site));
    subject = std::move(*found);
    return;
  }
}

} // namespace

Result<Subject> prepare_subject(const SubjectRequest& request, ParsedSource& source) {
  LATHE_TRY(Subject subject, extract_subject(request, source));
  if (request.parse.free_text_sizes && subject.raw.text_sizes.empty())
    return Error{"cannot try " + subject.kernel + " at other sizes", "its text fixes none", ""};
  subject.guessed_strides = strides_to_guess(subject);
  if (request.contiguous_tensors)
    set_strides(subject);
  Subject contiguous = subject;
  Status settled = settle_sizes(subject, request);
  // Strides that are sizes of their own let a caller pass any, and are of no use where the kernel does not
  // run so.
  if (!settled.ok() && !contiguous.guessed_strides.empty()) {
    set_strides(contiguous);
    if (settle_sizes(contiguous, request).ok()) {
      subject = std::move(contiguous);
      settled = Done{};
    }
  }
  // With another instance it may run.
  if (!settled.ok() && !subject.assumed_template_arguments.empty())
    return Error{"cannot tell which " + subject.kernel + " is meant",
                 "with template arguments that compile, " + settled.error().sentence(),
                 fmt::format("give {} as your program has {}",
                             fmt::join(subject.assumed_template_arguments, " "),
                             subject.assumed_template_arguments.size() == 1 ? "it" : "them")};
  LATHE_CHECK(std::move(settled));
  take_telling_launch(request, source, subject);
  LATHE_TRY(const std::string source_text, read_file(request.source));
  subject.provenance.source_file = request.source.string();
  subject.provenance.source_hash = content_hash(source_text);
  return subject;
}

Result<TuningSpec> assemble_template(const Subject& subject, const Candidate& rewritten,
                                     const std::string& name, const OutputPaths& paths,
                                     std::vector<std::string>& notes) {
  // Paths as seen from the specification, so that the folder may move.
  const fs::path spec_folder = paths.spec_file.parent_path();
  const auto from_spec = [&](const fs::path& path) { return path.lexically_relative(spec_folder).string(); };
  WorkloadFacts facts = subject.facts;
  if (!facts.cpu_reference.empty())
    facts.cpu_reference = from_spec(facts.cpu_reference);
  Provenance provenance = subject.provenance;
  if (fs::path(provenance.source_file).is_absolute())
    provenance.source_file = from_spec(provenance.source_file);
  provenance.certificate = from_spec(paths.certificate_file);
  LATHE_TRY(TuningSpec spec, assemble_spec(name, subject.raw, rewritten, facts, paths, provenance));
  if (subject.guessed_problems)
    drop_excluded_problems(spec, notes);
  return spec;
}

Result<TuningSpec> write_template(const Subject& subject, const Candidate& rewritten, const std::string& name,
                                  const OutputPaths& paths, std::vector<std::string>& notes) {
  LATHE_TRY(TuningSpec spec, assemble_template(subject, rewritten, name, paths, notes));
  LATHE_CHECK(write_file(paths.raw_file, subject.raw.text));
  LATHE_CHECK(write_file(paths.template_file, rewritten.text));
  LATHE_CHECK(write_spec(spec, paths.spec_file));
  return spec;
}

} // namespace lathe::refactor
