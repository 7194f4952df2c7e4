#include "refactor/guard/subject.h"

#include "refactor/guard/raw_kernels.h"
#include "refactor/guard/text_numbers.h"
#include "tuner/base/files.h"

#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/ASTUnit.h>

#include <algorithm>
#include <fmt/format.h>
#include <future>
#include <set>
#include <tuple>

namespace lathe::refactor {
namespace {

void collect_defaults(JudgedPair& subject) {
  std::set<std::tuple<std::string, std::string, std::array<std::uint32_t, 3>>> seen;
  std::set<std::string> problems;
  for (const auto& types : subject.type_choices)
    for (const Problem& problem : problems_of(subject.spec)) {
      const auto note = [&](const std::string& sentence) {
        if (problems.insert(sentence).second)
          subject.binding_problems.push_back(sentence);
      };
      auto workload = own_workload(subject.spec, problem, types, subject.device);
      if (!workload) {
        note(workload.error().sentence());
        continue;
      }
      auto knobs = default_knobs(**workload);
      if (!knobs) {
        note(knobs.error().sentence());
        continue;
      }
      if (!admitted(**workload, *knobs)) {
        note("the conditions exclude the default configuration of " + (*workload)->key());
        continue;
      }
      auto bound = bind_configuration(*workload, *knobs);
      if (!bound) {
        note(bound.error().sentence());
        continue;
      }
      bound->is_default = true;
      if (seen.insert({bound->raw_instance, bound->template_instance, bound->raw_launch.block}).second)
        subject.defaults.push_back(std::move(*bound));
    }
}

ParseOptions parse_options(const JudgedPair& subject, const KernelSource& source, const std::string& text) {
  ParseOptions options;
  options.architecture = "sm_90";
  options.flags = source.compile_options;
  options.flags.insert(options.flags.end(), subject.options.flags.begin(), subject.options.flags.end());
  options.overlay[source.file] = text;
  return options;
}

struct WantedCode {
  std::string instance;
  const Launch* launch;
  FixedArguments fixed;
};

Status parse_side(const JudgedPair& subject, const KernelSource& source, const std::string& text,
                  const std::vector<WantedCode>& wanted, ParsedSide& side) {
  std::vector<std::string> instances;
  for (const WantedCode& one : wanted)
    if (std::find(instances.begin(), instances.end(), one.instance) == instances.end())
      instances.push_back(one.instance);
  std::string pinned = with_instances(text, instances);
  for (const TextSize& size : subject.spec.text_sizes)
    pinned +=
        fmt::format("static_assert(({0}) == {1}, \"the text has {1} for {0}\");\n", size.macro, size.value);
  LATHE_TRY(side.source, ParsedSource::parse(source.file, parse_options(subject, source, pinned)));
  LATHE_TRY(const std::vector<KernelInfo> kernels, kernels_of(side, source));
  side.kernel = kernels.front();
  if (!side.source->errors().empty())
    return Error{source.file.filename().string() + " does not compile", "clang: " + side.source->errors()[0],
                 ""};
  for (const KernelInfo& kernel : kernels)
    if (!kernel.is_whole())
      return Error{"the kernel in " + source.file.filename().string() + " is not whole",
                   "unresolved: " + kernel.unresolved[0], ""};
  std::vector<CodeRequest> requests;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    LATHE_TRY(SourceFacts facts, source_facts(*side.source, i));
    std::set<std::string> keys;
    for (const WantedCode& one : wanted)
      if (one.instance == instances[i] && keys.insert(code_key(one.instance, *one.launch, one.fixed)).second)
        requests.push_back({one.instance, facts.mangled, one.launch->block, one.fixed});
    side.source_facts[instances[i]] = std::move(facts);
  }
  // What clang read may differ from the file where the front end had to mend it.
  const clang::SourceManager& manager = side.source->ast().getSourceManager();
  const std::string read(manager.getBufferData(manager.getMainFileID()));
  auto code = code_facts(read, source.file, side.source->command(), requests);
  if (!code)
    side.code_problem = code.error().sentence();
  else
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const CodeRequest& request = requests[i];
      (request.fixed.empty() ? side.code_facts : side.code_facts_at_size)[code_key(
          request.instance, Launch{{}, request.block, 0}, request.fixed)] = std::move((*code)[i]);
    }
  return Done{};
}

} // namespace

std::string code_key(const std::string& instance, const Launch& launch, const FixedArguments& fixed) {
  std::string key = instance + " of " + std::to_string(launch.block[0]) + "x" +
                    std::to_string(launch.block[1]) + "x" + std::to_string(launch.block[2]) + " threads";
  for (const auto& [parameter, value] : fixed)
    key += " with " + std::to_string(value) + " for parameter " + std::to_string(parameter);
  return key;
}

std::string Configuration::knobs_text() const {
  std::string text;
  for (std::size_t i = 0; i < knobs.size(); ++i)
    text += (i ? " " : "") + workload->spec->knobs[i].name + "=" + lathe::to_string(knobs[i]);
  return text;
}

std::vector<std::string> Configuration::macros() const {
  return bind_macros(*workload, knobs);
}

bool Configuration::flag_is_set() const {
  const auto usual = default_knobs(*workload);
  for (std::size_t i = 0; usual && i < knobs.size(); ++i)
    if (workload->spec->knobs[i].kind == KnobKind::flag && (*usual)[i] != knobs[i])
      return true;
  return false;
}

std::string Configuration::text() const {
  return knobs_text() + (knobs.empty() ? "" : ", ") + workload->key() + (is_default ? " (default)" : "");
}

Result<Configuration> bind_configuration(std::shared_ptr<const Workload> workload, KnobValues knobs) {
  const TuningSpec& spec = *workload->spec;
  Configuration bound;
  LATHE_TRY(bound.raw_instance, bind_instance(spec.reference, *workload, knobs));
  LATHE_TRY(bound.template_instance, bind_instance(spec.kernel, *workload, knobs));
  LATHE_TRY(bound.raw_launch, bind_launch(spec.reference.launch, *workload, knobs));
  LATHE_TRY(bound.template_launch, bind_launch(spec.kernel.launch, *workload, knobs));
  bound.workload = std::move(workload);
  bound.knobs = std::move(knobs);
  return bound;
}

bool admitted(const Workload& workload, const KnobValues& knobs) {
  const TuningSpec& spec = *workload.spec;
  const Lookup lookup = [&](std::string_view name) -> std::optional<Value> {
    for (std::size_t i = 0; i < spec.knobs.size() && i < knobs.size(); ++i)
      if (spec.knobs[i].name == name)
        return knobs[i];
    return workload.lookup(name);
  };
  for (const Condition& condition : spec.conditions) {
    const auto holds = condition.expression.evaluate_condition(lookup);
    if (!holds || !*holds)
      return false;
  }
  return true;
}

Result<std::shared_ptr<const Workload>> own_workload(const TuningSpec& spec, const Problem& problem,
                                                     const std::map<std::string, std::string>& types,
                                                     const DeviceInfo& device) {
  LATHE_TRY(Workload workload, bind_workload(spec, problem, types, device.limits()));
  return std::make_shared<const Workload>(std::move(workload));
}

std::vector<Configuration> at_text_trials(const Configuration& configuration, const DeviceInfo& device) {
  const Workload& own = *configuration.workload;
  const std::vector<TextSize>& text_sizes = own.spec->text_sizes;
  std::vector<Configuration> found;
  for (std::size_t trial = 0; !text_sizes.empty() && trial < text_sizes.front().trials.size(); ++trial) {
    Problem problem = own.problem;
    for (const TextSize& size : text_sizes)
      problem.dimensions[size.dimension] = size.trials[trial];
    const auto workload = own_workload(*own.spec, problem, own.types, device);
    if (!workload)
      continue;
    auto bound = bind_configuration(*workload, configuration.knobs);
    if (bound.ok())
      found.push_back(std::move(*bound));
  }
  return found;
}

Result<Preparation> prepare(const TuningSpec& spec, const GuardOptions& options, std::uint64_t seed) {
  LATHE_TRY(DeviceInfo device, known_device(options.architecture));
  if (spec.reference.file.empty())
    return Error{"nothing to judge against", "the specification names no raw kernel",
                 "add Lathe.reference with the raw kernel's file, instance and launch"};
  Preparation result;
  result.subject = std::make_unique<JudgedPair>(spec, options, std::move(device));
  JudgedPair& subject = *result.subject;
  subject.seed = seed;
  LATHE_TRY(subject.raw_text, read_file(spec.reference.file));
  LATHE_TRY(subject.template_text, read_file(spec.kernel.file));
  subject.type_choices = type_choices(spec.types);
  collect_defaults(subject);
  if (subject.defaults.empty()) {
    result.template_problem =
        subject.binding_problems.empty() ? "no default configuration" : subject.binding_problems[0];
    return result;
  }
  subject.own_numbers = own_numbers(subject.template_text, subject.raw_text);
  subject.own_sizes = telling_sizes(subject.own_numbers);
  subject.deciding_numbers = deciding_numbers(subject.raw_text);
  subject.dividing_numbers = dividing_numbers(subject.raw_text);
  sample_configurations(subject);
  sweep_configurations(subject);
  return result;
}

Status parse_sides(Preparation& preparation) {
  JudgedPair& subject = *preparation.subject;
  const TuningSpec& spec = subject.spec;
  std::vector<WantedCode> raw_wanted, template_wanted;
  for (const auto* configurations : {&subject.defaults, &subject.sampled})
    for (const Configuration& configuration : *configurations) {
      raw_wanted.push_back({configuration.raw_instance, &configuration.raw_launch, {}});
      if (const FixedArguments fixed = fixed_arguments(configuration); !fixed.empty())
        raw_wanted.push_back({configuration.raw_instance, &configuration.raw_launch, fixed});
      template_wanted.push_back({configuration.template_instance, &configuration.template_launch, {}});
    }
  auto parsing = std::async(std::launch::async, [&] {
    return parse_side(subject, spec.kernel, subject.template_text, template_wanted, subject.templated);
  });
  const Status raw = parse_side(subject, spec.reference, subject.raw_text, raw_wanted, subject.raw);
  const Status templated = parsing.get();
  LATHE_CHECK(raw);
  for (const ParsedSide* side : {&subject.raw, &subject.templated})
    if (side->source)
      for (const std::string& stand_in : side->source->stand_ins())
        if (std::find(subject.trusted.begin(), subject.trusted.end(), stand_in) == subject.trusted.end())
          subject.trusted.push_back(stand_in);
  if (!templated.ok())
    preparation.template_problem = templated.error().sentence();
  return Done{};
}

} // namespace lathe::refactor
