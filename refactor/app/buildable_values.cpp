#include "refactor/app/buildable_values.h"

#include "refactor/app/register_limits.h"
#include "refactor/frontend/standard.h"

#include "refactor/rewrite/rule_support.h"

#include "tuner/base/text.h"
#include "tuner/compile/compile.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <set>

namespace lathe::refactor {
namespace {

using Names = std::map<std::string, Value>;

std::optional<Value> look_up(const Names& names, std::string_view name) {
  const auto found = names.find(std::string(name));
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

class Trials {
public:
  explicit Trials(const Candidate& candidate) : candidate_(candidate) {}

  // An instance for one element type, the others as first in their lists; nothing where a name in it is a
  // size of the problem, or where a condition on types and knobs alone excludes it.
  std::optional<std::string> instance(const TypeParameter* varied, const std::string& dtype, const Knob* knob,
                                      const Value& value) const {
    Names names;
    std::string text = candidate_.instance;
    for (const TypeParameter& type : candidate_.types) {
      const std::string& used = &type == varied ? dtype : type.dtypes.front();
      names["sizeof_" + type.name] = std::int64_t{dtype_size(used)};
      fill(text, type.name, dtype_cxx(used));
    }
    for (const Knob& other : candidate_.knobs) {
      Value chosen = value;
      if (&other != knob) {
        const auto given =
            other.default_value.evaluate([&](std::string_view name) { return look_up(names, name); });
        if (!given.ok())
          return std::nullopt;
        chosen = *given;
      }
      names[other.name] = chosen;
      fill(text, other.name, to_string(chosen));
    }
    for (const Condition& condition : candidate_.conditions) {
      const auto holds = condition.expression.evaluate_condition(
          [&](std::string_view name) { return look_up(names, name); });
      if (holds.ok() && !*holds)
        return std::nullopt;
    }
    return text.find('{') == std::string::npos ? std::optional(text) : std::nullopt;
  }

private:
  static void fill(std::string& text, const std::string& name, const std::string& value) {
    const std::string placeholder = "{" + name + "}";
    for (std::size_t at; (at = text.find(placeholder)) != std::string::npos;)
      text.replace(at, placeholder.size(), value);
  }

  const Candidate& candidate_;
};

// Whether a multiprocessor has the registers for a block of so many threads.
bool has_registers(const CompileOutcome& compiled, const Value& threads, const DeviceInfo& device) {
  const auto* number = std::get_if<std::int64_t>(&threads);
  return !compiled.ok() || !number || compiled.kernel.resources.registers == 0 ||
         *number <= most_threads_by_registers(compiled.kernel.resources.registers, device);
}

// Takes out of the knobs that are a block's threads what the registers do not allow. A number that is within
// launch bounds of its own costs registers of its own: each that the default's do not allow is asked for.
Status keep_launchable_blocks(Candidate& candidate, const std::string& architecture, Compiler& compiler,
                              std::vector<std::string>& notes) {
  LATHE_TRY(const DeviceInfo device, known_device(architecture));
  CompileRequest request;
  request.source = candidate.text;
  request.options = {standard_option(candidate.text)};
  request.architecture = architecture;
  const Trials make(candidate);
  for (Knob& knob : candidate.knobs) {
    if (knob.kind != KnobKind::block)
      continue;
    const auto usual = make.instance(nullptr, "", nullptr, Value{});
    if (!usual)
      return Done{};
    request.instances = {*usual};
    const CompileOutcome by_default = compiler.compile(request).front();
    std::string list;
    std::erase_if(knob.values, [&](const Value& value) {
      if (has_registers(by_default, value, device) || to_string(value) == knob.default_value.text())
        return false;
      const auto instance = make.instance(nullptr, "", &knob, value);
      if (!instance)
        return false;
      request.instances = {*instance};
      if (has_registers(compiler.compile(request).front(), value, device))
        return false;
      list += (list.empty() ? "" : ", ") + to_string(value);
      return true;
    });
    if (!list.empty())
      notes.push_back(fmt::format("{} cannot be {}: {} has no registers for so many threads of the kernel",
                                  knob.name, list, architecture));
  }
  return Done{};
}

// Whether launch bounds that always hold are computed from a block's knobs: then each block is given what
// registers there are for it.
bool bounds_follow_blocks(const Candidate& candidate) {
  static const std::string bounds = "__launch_bounds__(", none = "MIN_BLOCKS == 0 ? 0";
  for (std::size_t at = candidate.text.find(bounds); at != std::string::npos;
       at = candidate.text.find(bounds, at + 1)) {
    const std::size_t begin = at + bounds.size();
    const std::string first = candidate.text.substr(begin, candidate.text.find(',', begin) - begin);
    const std::vector<std::string> words = identifiers(first.substr(0, first.find("__global__")));
    if (!first.starts_with(none) && std::ranges::any_of(candidate.knobs, [&](const Knob& knob) {
          return knob.kind == KnobKind::block && std::ranges::find(words, knob.name) != words.end();
        }))
      return true;
  }
  return false;
}

// What a thread takes grows with what it is given to do, so that a block that fits at the defaults of other
// knobs may not fit beside them, nor may one with several sides: a condition keeps blocks within the
// registers for the most that any other knob alone makes a thread take.
void keep_blocks_within_registers(Candidate& candidate, const std::string& architecture, Compiler& compiler) {
  const auto device = known_device(architecture);
  const auto usual = Trials(candidate).instance(nullptr, "", nullptr, Value{});
  const bool has_blocks =
      std::ranges::any_of(candidate.knobs, [](const Knob& knob) { return knob.kind == KnobKind::block; });
  if (!device.ok() || !usual || !has_blocks || bounds_follow_blocks(candidate))
    return;
  CompileRequest request;
  request.source = candidate.text;
  request.options = {standard_option(candidate.text)};
  request.architecture = architecture;
  request.instances = {*usual};
  for (const Knob& knob : candidate.knobs) {
    if (knob.kind != KnobKind::coarsen && knob.kind != KnobKind::unroll && knob.kind != KnobKind::vector &&
        knob.kind != KnobKind::stage)
      continue;
    const auto instance = Trials(candidate).instance(nullptr, "", &knob, knob.values.back());
    if (instance && std::ranges::find(request.instances, *instance) == request.instances.end())
      request.instances.push_back(*instance);
  }
  int most = 0; // registers of a thread
  for (const CompileOutcome& outcome : compiler.compile(request))
    if (outcome.ok())
      most = std::max(most, outcome.kernel.resources.registers);
  if (most == 0 || most_threads_by_registers(most, *device) >= device->max_threads_per_block)
    return;
  const std::int64_t unit = device->register_allocation_unit,
                     of_warp = (most * device->warp_size + unit - 1) / unit * unit;
  Condition condition =
      make_condition(fmt::format("ceil_div({}, {}) * {} <= device.registers_per_block",
                                 block_threads(candidate.launch), device->warp_size, of_warp),
                     fmt::format("a block's registers are there: a thread has up to {}", most));
  // The raw kernel's own block is launched whatever it takes.
  Names names;
  for (const auto& [name, limit] : device->limits())
    names[name] = limit;
  for (const Knob& knob : candidate.knobs)
    if (const auto value = knob.default_value.evaluate([&](auto name) { return look_up(names, name); });
        value.ok())
      names[knob.name] = *value;
  const auto holds =
      condition.expression.evaluate_condition([&](std::string_view name) { return look_up(names, name); });
  if (holds.ok() && *holds)
    candidate.conditions.push_back(std::move(condition));
}

// A value of a knob with a type, and the instance that has both.
struct Trial {
  Knob* knob;
  std::string type; // name and dtype
  Value value;
  std::string instance;
  std::optional<CompileOutcome::Kind> outcome = std::nullopt;
};

// The knobs that the kernel's own text may refuse values of, each with every type.
std::vector<Trial> trials_of(Candidate& candidate) {
  std::vector<Trial> trials;
  const Trials make(candidate);
  const std::vector<TypeParameter> none{{"", {""}}};
  const bool asserts = candidate.text.find("static_assert") != std::string::npos;
  for (Knob& knob : candidate.knobs) {
    if (knob.kind != KnobKind::vector && knob.kind != KnobKind::tile &&
        !(knob.kind == KnobKind::block && asserts))
      continue;
    for (const TypeParameter& type : candidate.types.empty() ? none : candidate.types)
      for (const std::string& dtype : type.dtypes)
        for (const Value& value : knob.values)
          if (auto instance = make.instance(&type, dtype, &knob, value);
              instance && std::ranges::find(trials, *instance, &Trial::instance) == trials.end())
            trials.push_back({&knob, type.name + " " + dtype, value, std::move(*instance)});
  }
  return trials;
}

bool have_one_kind(const Trial& one, const Trial& other) {
  return one.knob == other.knob && one.type == other.type;
}

// Compiles those of which `wanted` holds.
void compile_trials(std::vector<Trial>& trials, CompileRequest request, Compiler& compiler,
                    const std::function<bool(std::size_t)>& wanted) {
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < trials.size(); ++i)
    if (!trials[i].outcome && wanted(i)) {
      request.instances.push_back(trials[i].instance);
      asked.push_back(i);
    }
  if (asked.empty())
    return;
  const std::vector<CompileOutcome> outcomes = compiler.compile(std::move(request));
  for (std::size_t i = 0; i < asked.size(); ++i)
    trials[asked[i]].outcome = outcomes[i].kind;
}

} // namespace

Status keep_buildable_values(Candidate& candidate, const std::string& architecture,
                             std::vector<std::string>& notes) {
  CompilerOptions settings;
  settings.rounds = 1;
  if (std::ranges::any_of(candidate.knobs, [](const Knob& knob) { return knob.kind == KnobKind::block; })) {
    LATHE_TRY(std::unique_ptr<Compiler> compiler, Compiler::create(settings));
    LATHE_CHECK(keep_launchable_blocks(candidate, architecture, *compiler, notes));
    keep_blocks_within_registers(candidate, architecture, *compiler);
  }
  std::vector<Trial> trials = trials_of(candidate);
  if (trials.empty())
    return Done{};
  CompileRequest request;
  request.source = candidate.text;
  request.options = {standard_option(candidate.text)};
  request.architecture = architecture;
  LATHE_TRY(std::unique_ptr<Compiler> compiler, Compiler::create(settings));
  // Of widths of vectors the first and the last with each type, of blocks all with one type; what lies
  // between them is asked for where one of these fails. The guard compiles what it judges anyway.
  compile_trials(trials, request, *compiler, [&](std::size_t i) {
    const KnobKind kind = trials[i].knob->kind;
    const bool is_end = i == 0 || i + 1 == trials.size() || !have_one_kind(trials[i - 1], trials[i]) ||
                        !have_one_kind(trials[i], trials[i + 1]);
    const bool has_first_type =
        std::ranges::find(trials, trials[i].knob, &Trial::knob)->type == trials[i].type;
    return kind == KnobKind::vector ? is_end : kind == KnobKind::block ? has_first_type : true;
  });
  compile_trials(trials, request, *compiler, [&](std::size_t i) {
    return std::ranges::any_of(trials, [&](const Trial& other) {
      return trials[i].knob == other.knob && other.outcome == CompileOutcome::Kind::error;
    });
  });
  for (Knob& knob : candidate.knobs) {
    std::set<std::string> dropped;
    bool some_build = false;
    for (const Trial& trial : trials)
      if (trial.knob == &knob && trial.outcome) {
        some_build |= *trial.outcome == CompileOutcome::Kind::compiled;
        if (*trial.outcome == CompileOutcome::Kind::error)
          dropped.insert(to_string(trial.value));
      }
    // The default is the raw kernel: where it does not compile, leaving values out would only hide that.
    dropped.erase(knob.default_value.text());
    if (dropped.empty() || !some_build)
      continue;
    std::string list;
    std::erase_if(knob.values, [&](const Value& value) {
      if (!dropped.contains(to_string(value)))
        return false;
      list += (list.empty() ? "" : ", ") + to_string(value);
      return true;
    });
    notes.push_back(fmt::format("{} cannot be {}: the kernel does not compile with it", knob.name, list));
  }
  return Done{};
}

} // namespace lathe::refactor
