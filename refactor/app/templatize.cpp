// `lathe templatize`: raw kernel -> template, search space, certificate.
#include "refactor/app/buildable_values.h"
#include "refactor/app/command.h"
#include "refactor/app/device_options.h"
#include "refactor/app/kernel_choice.h"
#include "refactor/app/kernel_list.h"
#include "refactor/app/launched_kernel.h"
#include "refactor/app/model_author.h"
#include "refactor/app/retreat.h"
#include "refactor/app/subject_options.h"
#include "refactor/app/template_report.h"
#include "refactor/app/traced_kernel.h"
#include "refactor/frontend/standard.h"
#include "refactor/rewrite/joined_kernels.h"
#include "tuner/base/files.h"
#include "tuner/compile/compile.h"
#include "tuner/emit/launcher.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <iostream>
#include <malloc.h>
#include <nlohmann/json.hpp>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

struct Request {
  SubjectRequest subject;
  std::string other; // a second kernel, which the launcher takes at other sizes
  std::string name;
  fs::path output;
  std::vector<std::string> rules;
  GuardOptions guard;
  std::optional<ModelOptions> model;
  bool check = true, json = false, force = false;
  double time_limit_s = 0; // no further template is judged that would end later
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  std::chrono::steady_clock::time_point end() const {
    return start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double>(time_limit_s));
  }
};

CommandLine make_command_line() {
  CommandLine line(
      "lathe templatize FILE.cu [--kernel NAME] [options] [-- compiler flags]",
      "Rewrites a raw kernel as a C++ template with knobs, and writes its search space and a certificate of "
      "the\n"
      "checks that it passed. Sizes and data come from FILE.workload.json or from the options.",
      "lathe templatize sglang_kernels/silu_and_mul.cu --kernel act_and_mul_kernel --name silu_and_mul");
  add_subject_options(line.options());
  line.options().add_options()(
      "list", "show every kernel of the file (or --kernel) with its launches and candidate knobs, and end")(
      "extract", po::value<std::string>()->value_name("FILE"),
      "write the kernel with all that it needs to FILE, compile it alone with NVRTC, and end")(
      "name", po::value<std::string>(), "name of the template (default: the kernel's)")(
      "output,o", po::value<std::string>()->value_name("FOLDER")->default_value("."),
      "folder for templates/ and search_spaces/")(
      "or", po::value<std::vector<std::string>>()->value_name("KERNEL"),
      "a second kernel, between which and --kernel the launcher chooses: the choice becomes a knob")(
      "rules", po::value<std::string>(), "only these rules, such as expose-block-size,expose-unroll")(
      "seed", po::value<std::uint64_t>()->default_value(0),
      "seed of the guard (default: drawn, and written down)")(
      "time-limit", po::value<std::string>()->value_name("TIME")->default_value("180s"),
      "after which no other template is judged, where the first is refused")(
      "no-check", "leave the guard out: the certificate then says that nothing was checked")(
      "json", "print the result as JSON");
  add_device_options(line.options());
  add_model_options(line);
  return line;
}

// What the model makes of the kernel in place of what the rules made of it.
Status write_by_model(const Request& request, const Subject& subject, const std::string& name,
                      Product& outcome) {
  ModelWork work{name,
                 {},
                 request.guard,
                 outcome.paths.template_file.parent_path() / "transcript.json",
                 subject.provenance.source_hash};
  work.task.raw = subject.raw;
  work.task.found = outcome.rewritten.candidate.knobs;
  work.task.reports = outcome.rewritten.reports;
  work.task.problems = subject.facts.problems;
  work.task.architecture = subject.architecture;
  std::vector<std::string> ignored;
  LATHE_TRY(ModelResult written, templatize_by_model(*request.model, std::move(work),
                                                     [&](const Candidate& tuned, const OutputPaths& paths) {
                                                       return assemble_template(subject, tuned, name, paths,
                                                                                ignored);
                                                     }));
  outcome.rewritten = {std::move(written.candidate), {}};
  outcome.certificate = std::move(written.certificate);
  outcome.notes.insert(outcome.notes.end(), written.notes.begin(), written.notes.end());
  return Done{};
}

// Judges what the rules wrote, unless that was not asked for.
Status certify(const Request& request, const std::string& name, JudgedTemplate& result) {
  if (request.check) {
    GuardOptions guard = request.guard;
    guard.raw_preconditions = result.rewritten.candidate.raw_preconditions;
    guard.raw_launch_bounds = result.rewritten.candidate.raw_launch_bounds;
    LATHE_TRY(result.certificate, judge(result.spec, guard));
  } else {
    result.certificate.kernel = name;
    result.certificate.checks.push_back({"all", Verdict::skipped, "left out by --no-check", {}, 0});
  }
  result.certificate.author.kind = "rules";
  return Done{};
}

Status write_certificate(const Product& outcome) {
  return write_file(outcome.paths.certificate_file, to_json(outcome.certificate).dump(2) + "\n");
}

// Each kernel by the rules, as if it were the only one, then both as one template.
Result<Product> templatize_choice(const Request& request, ParsedSource& source) {
  Product outcome;
  std::array<SubjectRequest, 2> requests{request.subject, request.subject};
  requests[1].kernel = request.other;
  std::array<KernelInfo, 2> kernels;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    LATHE_TRY(kernels[i], launched_kernel(requests[i], source, outcome.notes));
  }
  LATHE_TRY(const KernelChoice choice, find_choice(kernels[0], kernels[1]));
  outcome.notes.clear(); // preparing the subjects says it again
  std::array<Subject, 2> subjects;
  std::array<Candidate, 2> rewritten;
  ParseOptions self_contained;
  self_contained.architecture = request.subject.architecture;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    requests[i].launch.site = choice.sites[i];
    requests[i].launch.at_any_size = true; // the two share them
    LATHE_TRY(subjects[i], prepare_subject(requests[i], source));
    for (const std::string& note : subjects[i].notes)
      if (std::ranges::find(outcome.notes, note) == outcome.notes.end())
        outcome.notes.push_back(note);
    LATHE_TRY(RewriteResult result, rewrite(subjects[i].raw, request.rules, self_contained));
    for (RuleReport& report : result.reports) {
      report.detail = subjects[i].kernel + ": " + report.detail;
      outcome.rewritten.reports.push_back(std::move(report));
    }
    rewritten[i] = std::move(result.candidate);
    LATHE_CHECK(keep_buildable_values(rewritten[i], subjects[i].architecture, outcome.notes));
  }
  const std::string name = request.name.empty() ? subjects[0].kernel : request.name;
  outcome.paths = OutputPaths::under(fs::absolute(request.output).lexically_normal(), name);
  const std::array<const Candidate*, 2> raw{&subjects[0].raw, &subjects[1].raw};
  const std::array<const Candidate*, 2> templates{&rewritten[0], &rewritten[1]};
  LATHE_TRY(const Expression taken, Expression::parse(choice.condition));
  const KernelKnob knob{
      kernel_knob_name(templates), taken,
      fmt::format("1 is {} and 2 is {}, between which the launcher decides ({}); what differs "
                  "between their results is this knob's",
                  subjects[0].kernel, subjects[1].kernel, fs::path(choice.location).filename().string())};
  Subject joined = subjects[0];
  LATHE_TRY(joined.raw, join_raw(raw, knob));
  LATHE_TRY(outcome.rewritten.candidate,
            join_templates(templates, knob, identifier(name) + "_choice", self_contained));
  LATHE_TRY(outcome.spec,
            write_template(joined, outcome.rewritten.candidate, name, outcome.paths, outcome.notes));
  LATHE_CHECK(certify(request, name, outcome));
  LATHE_CHECK(write_certificate(outcome));
  return outcome;
}

// What the rules make of the kernel, written and judged.
Result<JudgedTemplate> write_by_rules(const Request& request, const Subject& subject, const std::string& name,
                                      const OutputPaths& paths, const std::vector<std::string>& rules) {
  JudgedTemplate result;
  result.notes = subject.notes;
  ParseOptions self_contained;
  self_contained.architecture = subject.architecture;
  LATHE_TRY(result.rewritten, rewrite(subject.raw, rules, self_contained));
  if (result.rewritten.candidate.knobs.empty()) {
    std::string why;
    for (const RuleReport& report : result.rewritten.reports)
      why += (why.empty() ? "" : "; ") + report.rule + ": " + report.detail;
    return Error{"no knob to expose in " + subject.kernel, why, ""};
  }
  LATHE_CHECK(keep_buildable_values(result.rewritten.candidate, subject.architecture, result.notes));
  LATHE_TRY(result.spec, write_template(subject, result.rewritten.candidate, name, paths, result.notes));
  LATHE_CHECK(certify(request, name, result));
  return result;
}

std::string out_of_time(const Request& request, const std::string& which) {
  return fmt::format(
      "no other template, {}, was judged: that would not have ended within {:.0f} s, so give more "
      "time with --time-limit",
      which, request.time_limit_s);
}

bool is_undecided_for(const Certificate& certificate, std::string_view reason) {
  return std::ranges::any_of(certificate.checks, [&](const CheckResult& check) {
    return check.verdict == Verdict::undecided && check.detail.find(reason) != std::string::npos;
  });
}

// Whether the sizes may be at fault: the raw kernel runs clean at none of them, or at none that a
// configuration admits.
bool asks_for_other_sizes(const Certificate& certificate) {
  return is_undecided_for(certificate, RUNS_NOWHERE) || is_undecided_for(certificate, NOT_ADMITTED);
}

// What is made of the same kernel at other sizes, where the first template is refused; nothing where there
// are none, or where they serve no better.
using OtherSizes = std::function<Result<std::optional<Product>>(const Certificate& refused)>;

Result<Product> templatize_subject(const Request& request, const Subject& subject,
                                   const OtherSizes& at_other_sizes = {}) {
  const std::string name = request.name.empty() ? subject.kernel : request.name;
  Product outcome;
  outcome.paths = OutputPaths::under(fs::absolute(request.output).lexically_normal(), name);
  JudgedTemplate& result = outcome;
  if (request.model) {
    outcome.notes = subject.notes;
    ParseOptions self_contained;
    self_contained.architecture = subject.architecture;
    LATHE_TRY(outcome.rewritten, rewrite(subject.raw, request.rules, self_contained));
    LATHE_CHECK(write_by_model(request, subject, name, outcome)); // judged on the way
    LATHE_TRY(outcome.spec,
              write_template(subject, outcome.rewritten.candidate, name, outcome.paths, outcome.notes));
  } else {
    Request judged = request;
    judged.guard.raw_runs = remember_raw_runs();
    // Where its code is at fault, another template is judged next, and runs of this one tell nothing more.
    judged.guard.run_refused = !request.rules.empty();
    const auto attempt = [&](const std::vector<std::string>& rules) {
      return write_by_rules(judged, subject, name, outcome.paths, rules);
    };
    LATHE_TRY(result, attempt(request.rules));
    // What the raw kernel gave serves the next attempts, where they are judged under the same seed.
    judged.guard.seed = result.certificate.seed;
    if (request.check && at_other_sizes && asks_for_other_sizes(result.certificate)) {
      // What the runs gave here is of no use there, and is copied into each fork.
      judged.guard.raw_runs.reset();
      ::malloc_trim(0);
      LATHE_TRY(std::optional<Product> other, at_other_sizes(result.certificate));
      if (other)
        return std::move(*other);
      judged.guard.raw_runs = remember_raw_runs();
      // the first's files again
      LATHE_TRY(result.spec,
                write_template(subject, result.rewritten.candidate, name, outcome.paths, result.notes));
    }
    // Who names the rules wants these and no others.
    if (request.check && request.rules.empty() && !result.certificate.accepted()) {
      LATHE_TRY(Retreat smaller, retreat(result, attempt, request.end()));
      if (smaller.accepted) {
        result = std::move(*smaller.accepted);
      } else { // the first's files again
        LATHE_TRY(result.spec,
                  write_template(subject, result.rewritten.candidate, name, outcome.paths, result.notes));
        if (smaller.is_out_of_time)
          result.notes.push_back(out_of_time(request, "without some of the rules"));
      }
    }
  }
  LATHE_CHECK(write_certificate(outcome));
  return outcome;
}

// Where the raw kernel is told strides that nobody gave and runs clean at none of the sizes, or at none that
// a configuration admits, once more with strides that follow from the sizes: independent ones make rows
// overlap. That comes before any rule is left out, which is then not at fault.
Result<Product> templatize_kernel(const Request& request, std::unique_ptr<ParsedSource> source) {
  LATHE_TRY(const Subject subject, prepare_subject(request.subject, *source));
  // What is run is run in forks, each of which takes a copy of this process's page tables: half of its memory
  // is the source's, which only strides may ask for once more.
  if (subject.guessed_strides.empty()) {
    source.reset();
    ::malloc_trim(0);
  }
  if (request.model || subject.guessed_strides.empty())
    return templatize_subject(request, subject);
  bool is_out_of_time = false;
  const auto without_gaps = [&](const Certificate& refused) -> Result<std::optional<Product>> {
    is_out_of_time =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(refused.seconds) > request.end();
    if (is_out_of_time)
      return std::optional<Product>();
    SubjectRequest contiguous = request.subject;
    contiguous.contiguous_tensors = true;
    const auto followed = prepare_subject(contiguous, *source);
    if (!followed.ok() || followed->raw.dimensions == subject.raw.dimensions)
      return std::optional<Product>();
    auto product = templatize_subject(request, *followed);
    // Where rules may be at fault as well, these are left out next.
    if (!is_undecided_for(refused, RUNS_NOWHERE) && !(product.ok() && product->certificate.accepted()))
      return std::optional<Product>();
    LATHE_TRY(Product made, std::move(product));
    return std::optional(std::move(made));
  };
  LATHE_TRY(Product product, templatize_subject(request, subject, without_gaps));
  if (is_out_of_time)
    product.notes.push_back(out_of_time(request, "of tensors without gaps"));
  return product;
}

// Whether the raw kernel is too much work at the sizes that there are.
bool takes_too_long(const Result<Product>& made) {
  if (!made.ok())
    return made.error().sentence().find(DID_NOT_END) != std::string::npos ||
           made.error().sentence().find(RUNS_TOOK_ALL_TIME) != std::string::npos;
  return std::ranges::any_of(
      std::array<std::string_view, 3>{NONE_SMALL_ENOUGH, TIME_LEFT_NO_RUN, DID_NOT_END},
      [&](std::string_view reason) { return is_undecided_for(made->certificate, reason); });
}

// Why there is no accepted template.
std::string reason_of(const Result<Product>& refused) {
  if (!refused.ok())
    return refused.error().sentence();
  for (const CheckResult& check : refused->certificate.checks)
    if (check.verdict == Verdict::failed || check.verdict == Verdict::undecided)
      return check.check + ": " + check.detail;
  return "";
}

// A source whose sizes are free that its own text fixes, once it is asked for.
class FreedSource {
public:
  explicit FreedSource(const SubjectRequest& request) : request_(request) {
    request_.parse.free_text_sizes = true;
  }

  const SubjectRequest& request() const { return request_; }
  // Whether the kernel's text fixes any.
  bool has_sizes() {
    if (!has_sizes_) {
      auto opened = open_source(request_);
      const auto extracted =
          opened.ok() ? extract_subject(request_, **opened) : Result<Subject>(opened.error());
      has_sizes_ = extracted.ok() && !extracted->raw.text_sizes.empty();
      if (*has_sizes_)
        source_ = std::move(*opened);
    }
    return *has_sizes_;
  }
  // Where it has sizes, once.
  std::unique_ptr<ParsedSource> take() { return std::move(source_); }

private:
  SubjectRequest request_;
  std::optional<bool> has_sizes_;
  std::unique_ptr<ParsedSource> source_;
};

// Where that is so, once more with those of its sizes free that its own text fixes; where it has some, before
// a run of its own that is too large. Such a run is the last resort.
Result<Product> templatize(Request request, std::unique_ptr<ParsedSource> source) {
  if (!request.other.empty())
    return templatize_choice(request, *source);
  if (request.model)
    return templatize_kernel(request, std::move(source));
  FreedSource freed(request.subject);
  bool has_declined = false;
  request.guard.takes_large_runs = [&] {
    has_declined = freed.has_sizes();
    return !has_declined;
  };
  auto made = templatize_kernel(request, std::move(source));
  request.guard.takes_large_runs = {};
  if (!takes_too_long(made) || !freed.has_sizes())
    return made;
  Request at_other_sizes = request;
  at_other_sizes.subject = freed.request();
  auto other = templatize_kernel(at_other_sizes, freed.take());
  if (other.ok() && (!has_declined || other->certificate.accepted()))
    return other;
  if (has_declined) {
    LATHE_TRY(std::unique_ptr<ParsedSource> again, open_source(request.subject));
    made = templatize_kernel(request, std::move(again));
  }
  if (made.ok())
    made->notes.push_back("the sizes that its text fixes could not be made smaller: " + reason_of(other));
  return made;
}

// The kernel alone, and whether NVRTC takes it, for the first of its element types.
Status extract_only(const SubjectRequest& request, ParsedSource& source, const fs::path& output) {
  LATHE_TRY(const Subject subject, extract_subject(request, source));
  LATHE_CHECK(write_file(output, subject.raw.text));
  std::string instance = subject.raw.instance;
  for (const TypeParameter& type : subject.raw.types)
    for (std::size_t at; (at = instance.find("{" + type.name + "}")) != std::string::npos;)
      instance.replace(at, type.name.size() + 2, dtype_cxx(type.dtypes.front()));
  LATHE_TRY(
      const CompiledKernel compiled,
      compile_kernel(subject.raw.text, instance, {standard_option(subject.raw.text)}, subject.architecture));
  std::cout << fmt::format("{} of {}: {} registers, {} bytes of shared memory\n", output.string(), instance,
                           compiled.resources.registers, compiled.resources.static_shared);
  for (const std::string& note : subject.notes)
    std::cout << "assumed: " << note << "\n";
  return Done{};
}

} // namespace

int templatize_command(const Arguments& arguments) {
  CommandLine line = make_command_line();
  if (const auto code = line.parse(before_separator(arguments)))
    return *code;
  auto subject = read_subject_options(line, arguments);
  if (!subject.ok())
    return fail(subject.error());
  Request request;
  request.subject = std::move(*subject);
  request.guard.architecture = request.subject.architecture;
  const auto limit = parse_duration(line.get<std::string>("time-limit"));
  if (!limit.ok())
    return fail(limit.error());
  request.time_limit_s = *limit;
  request.output = line.get<std::string>("output");
  request.guard.seed = line.get<std::uint64_t>("seed");
  if (const Status device = read_device_options(line, request.guard); !device)
    return fail(device.error());
  request.check = !line.has("no-check");
  request.json = line.has("json");
  auto model = read_model_options(line);
  if (!model.ok())
    return fail(model.error());
  request.model = std::move(*model);
  if (request.model && !request.check)
    return fail(usage_error("--no-check", "what a model writes is always checked"));
  if (line.has("or")) {
    const auto others = line.get<std::vector<std::string>>("or");
    if (others.size() != 1)
      return fail(usage_error("--or was given " + std::to_string(others.size()) + " times",
                              "a knob chooses between two kernels", "name one second kernel"));
    if (request.model)
      return fail(
          usage_error("--or with --model", "a model rewrites one kernel", "leave one of the two out"));
    if (request.subject.kernel.empty())
      return fail(
          usage_error("--or without --kernel", "the first kernel is not known", "name it with --kernel"));
    request.other = others.front();
  }
  if (line.has("name"))
    request.name = line.get<std::string>("name");
  if (line.has("rules"))
    request.rules = split(line.get<std::string>("rules"), ',');

  auto source = open_source(request.subject);
  if (!source.ok())
    return fail(source.error());
  if (line.has("list")) {
    std::vector<KernelInfo> kernels;
    if (request.subject.kernel.empty()) {
      kernels = find_kernels(**source);
    } else {
      auto kernel = find_kernel(**source, request.subject.kernel);
      if (!kernel.ok())
        return fail(kernel.error());
      kernels.push_back(std::move(*kernel));
    }
    if (kernels.empty())
      return fail(settle_kernel(request.subject, **source).error());
    if (line.has("json"))
      std::cout << kernels_json(**source, kernels, request.subject.architecture) << "\n";
    else
      std::cout << describe_kernels(**source, kernels, request.subject.architecture);
    return 0;
  }
  if (const Status settled = settle_kernel(request.subject, **source); !settled.ok())
    return fail(settled.error());
  if (line.has("extract")) {
    const Status extracted = extract_only(request.subject, **source, line.get<std::string>("extract"));
    return extracted.ok() ? 0 : fail(extracted.error());
  }
  auto outcome = templatize(request, std::move(*source));
  if (!outcome.ok())
    return fail(outcome.error());
  if (request.json)
    std::cout << product_json(*outcome) << "\n";
  else
    print_product(*outcome, request.check);
  return !request.check || outcome->certificate.accepted() ? 0 : static_cast<int>(Failure::work);
}

} // namespace lathe::refactor
