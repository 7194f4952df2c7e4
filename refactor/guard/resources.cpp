// Resources: every configuration that the conditions admit can be launched: threads, dynamic and static
// shared memory and registers within the device's limits, and never more threads than the launch bounds
// promise. Launches are computed for the whole space where it is small enough, else for a sample; registers
// and static shared memory are those of the compiled instances. Grids cover the problem at larger sizes, too.
#include "refactor/guard/checks.h"
#include "refactor/guard/coverage.h"

#include "tuner/space/space.h"

#include <algorithm>
#include <set>

namespace lathe::refactor {
namespace {

constexpr std::uint64_t LAUNCHES = 1 << 16;   // of all workloads together
constexpr std::uint64_t FEWEST_LAUNCHES = 64; // of each workload

long long threads_of(const Launch& launch) {
  return 1ll * launch.block[0] * launch.block[1] * launch.block[2];
}

// The first number of the text's only `__launch_bounds__(...)`, where that is an expression over knobs.
std::optional<Expression> stated_bound(const std::string& text) {
  const std::string word = "__launch_bounds__";
  const std::size_t at = text.find(word);
  if (at == std::string::npos || text.find(word, at + word.size()) != std::string::npos)
    return std::nullopt;
  const std::size_t open = text.find('(', at);
  int depth = 0;
  for (std::size_t end = open; end < text.size(); ++end) {
    depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    if ((depth == 1 && text[end] == ',') || depth == 0) {
      auto parsed = Expression::parse(text.substr(open + 1, end - open - 1));
      return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> bound_at(const Expression& bound, const Workload& workload,
                                     const KnobValues& knobs) {
  const auto value = bound.evaluate_integer([&](std::string_view name) -> std::optional<Value> {
    for (std::size_t k = 0; k < workload.spec->knobs.size(); ++k)
      if (workload.spec->knobs[k].name == name)
        return knobs[k];
    return std::nullopt; // a name of the text's own
  });
  return value ? std::optional(*value) : std::nullopt;
}

// Launches of (up to `most`) admitted configurations of one workload. Returns how many; `complete`: all of
// them.
std::uint64_t judge_launches(const JudgedPair& subject, const std::shared_ptr<const Workload>& workload,
                             std::uint64_t most, Findings& findings, bool& complete) {
  std::vector<Parameter> parameters;
  const auto defaults = default_knobs(*workload);
  for (std::size_t i = 0; i < subject.spec.knobs.size(); ++i) {
    Parameter parameter{subject.spec.knobs[i].name, subject.spec.knobs[i].values};
    if (defaults &&
        std::find(parameter.values.begin(), parameter.values.end(), (*defaults)[i]) == parameter.values.end())
      parameter.values.push_back((*defaults)[i]);
    parameters.push_back(std::move(parameter));
  }
  if (parameters.empty())
    return 0;
  std::vector<Expression> conditions;
  for (const Condition& condition : subject.spec.conditions)
    conditions.push_back(condition.expression);
  const auto space = Space::build(std::move(parameters), conditions,
                                  [&](std::string_view name) { return workload->lookup(name); });
  if (!space) {
    findings.fail("no configuration is admitted for " + workload->key() + ": " + space.error().sentence());
    return 0;
  }
  const std::optional<Expression> most_threads = stated_bound(subject.template_text);
  Random random(subject.seed ^ 0x7e5);
  const ValidCount count = space->valid_count();
  const bool all = space->is_enumerated() && count.value <= static_cast<double>(most);
  complete = complete && all;
  const std::uint64_t looked = all ? static_cast<std::uint64_t>(count.value) : most;
  for (std::uint64_t i = 0; i < looked; ++i) {
    const KnobValues knobs = space->values(all ? space->point(i) : space->sample(random));
    const auto launch = bind_launch(subject.spec.kernel.launch, *workload, knobs);
    Configuration configuration;
    configuration.workload = workload;
    configuration.knobs = knobs;
    if (!launch) {
      findings.fail("an admitted configuration cannot be launched (" + configuration.text() +
                    "): " + launch.error().sentence());
      return i;
    }
    if (threads_of(*launch) > subject.device.max_threads_per_block) {
      findings.fail(std::to_string(threads_of(*launch)) + " threads a block at " + configuration.text());
      return i;
    }
    if (const auto bound = most_threads ? bound_at(*most_threads, *workload, knobs) : std::nullopt;
        bound && *bound > 0 && threads_of(*launch) > *bound) {
      findings.fail("a block of " + std::to_string(threads_of(*launch)) +
                    " threads against launch bounds of " + std::to_string(*bound) + " at " +
                    configuration.text());
      return i;
    }
    if (static_cast<int>(launch->shared_bytes) > subject.device.shared_per_block_optin) {
      findings.fail(std::to_string(launch->shared_bytes) + " bytes of dynamic shared memory at " +
                    configuration.text());
      return i;
    }
  }
  return looked;
}

void judge_image(const JudgedPair& subject, const Configuration& configuration, const Image& image,
                 Findings& findings) {
  if (!image.outcome.ok())
    return;
  const KernelResources& resources = image.outcome.kernel.resources;
  const std::string where = " at " + configuration.text();
  const long long threads = threads_of(configuration.template_launch);
  const auto facts = subject.templated.source_facts.find(configuration.template_instance);
  if (facts != subject.templated.source_facts.end() && facts->second.launch_bounds &&
      facts->second.launch_bounds->first > 0 && // 0 states no bound
      threads > facts->second.launch_bounds->first)
    findings.fail("a block of " + std::to_string(threads) + " threads against launch bounds of " +
                  std::to_string(facts->second.launch_bounds->first) + where);
  else if (resources.max_threads > 0 && threads > resources.max_threads)
    findings.fail("a block of " + std::to_string(threads) + " threads where the machine code allows " +
                  std::to_string(resources.max_threads) + where);
  // Limits are without what the driver reserves, which the image's own figure includes from sm_90 on.
  const int shared = resources.static_shared + static_cast<int>(configuration.template_launch.shared_bytes);
  if (resources.static_shared > subject.device.shared_per_block)
    findings.fail(std::to_string(resources.static_shared) + " bytes of static shared memory" + where);
  else if (shared > subject.device.shared_per_block_optin)
    findings.fail(std::to_string(shared) + " bytes of shared memory" + where);
  const long long registers = 1ll * ((resources.registers + 7) / 8 * 8) * ((threads + 31) / 32 * 32);
  if (registers > subject.device.registers_per_block)
    findings.fail(std::to_string(registers) + " registers a block" + where);
  findings.evidence(configuration.text() + ": " + std::to_string(resources.registers) + " registers, " +
                    std::to_string(resources.spill_bytes) + " bytes spilled, " +
                    std::to_string(resources.static_shared) + "+" +
                    std::to_string(configuration.template_launch.shared_bytes) + " bytes shared, " +
                    std::to_string(threads) + " threads");
}

} // namespace

CheckResult check_resources(const JudgedPair& subject, const Images& images) {
  Findings findings("resources");
  for (std::size_t i = 0; i < subject.defaults.size(); ++i)
    judge_image(subject, subject.defaults[i], images.template_defaults[i], findings);
  for (std::size_t i = 0; i < subject.sampled.size(); ++i)
    judge_image(subject, subject.sampled[i], images.template_samples[i], findings);
  // Blocks that are launched together limit the grid to a multiple of their number.
  const std::string clusters = "__cluster_dims__";
  if (subject.template_text.find(clusters) != std::string::npos &&
      subject.raw_text.find(clusters) == std::string::npos)
    findings.fail("the template is launched in clusters of blocks, and the raw kernel is not");
  std::uint64_t launches = 0;
  bool complete = true;
  const std::uint64_t workloads =
      std::max<std::uint64_t>(1, subject.type_choices.size() * subject.spec.problems.size());
  const std::uint64_t most = std::max(FEWEST_LAUNCHES, LAUNCHES / workloads);
  for (const auto& types : subject.type_choices)
    for (const Problem& problem : subject.spec.problems) {
      const auto workload = own_workload(subject.spec, problem, types, subject.device);
      if (workload && !findings.failed())
        launches += judge_launches(subject, *workload, most, findings, complete);
    }
  for (const auto* configurations : {&subject.defaults, &subject.sampled})
    for (const Configuration& configuration : *configurations) {
      if (findings.failed())
        break;
      if (const std::string problem = coverage_problem(subject, configuration); !problem.empty())
        findings.fail(problem);
    }
  return findings.conclude(
      Verdict::tested, std::to_string(launches) + " launches " +
                           (complete ? "(every admitted configuration of every problem)" : "(a sample)") +
                           " and " + std::to_string(subject.defaults.size() + subject.sampled.size()) +
                           " compiled instances are within the limits of " + subject.options.architecture);
}

} // namespace lathe::refactor
