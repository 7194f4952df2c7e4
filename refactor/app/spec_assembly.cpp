#include "refactor/app/spec_assembly.h"
#include "refactor/app/text_sizes.h"
#include "refactor/frontend/standard.h"

#include "tuner/base/hash.h"

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {
namespace {

// Every input read once, every output written once: the DRAM minimum when the kernel touches each element.
Expression minimal_bytes(const std::vector<Argument>& arguments, const std::vector<TypeParameter>& types) {
  std::string text;
  for (const Argument& argument : arguments) {
    if (!argument.is_buffer || argument.is_null)
      continue;
    std::string size;
    for (const TypeParameter& type : types)
      if (type.name == argument.dtype)
        size = "sizeof_" + type.name;
    if (size.empty())
      size = std::to_string(dtype_size(argument.dtype));
    const char* transfers = argument.direction == Direction::inout ? "2 * " : "";
    text += fmt::format("{}{}({}) * {}", text.empty() ? "" : " + ", transfers, argument.count.text(), size);
  }
  auto parsed = Expression::parse(text.empty() ? "0" : text);
  return parsed.ok() ? *parsed : Expression();
}

} // namespace

OutputPaths OutputPaths::under(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path templates = folder / "templates" / name;
  return {templates / (name + ".cuh"), templates / (name + ".raw.cuh"),
          folder / "search_spaces" / (name + ".json"), templates / "certificate.json"};
}

Result<TuningSpec> assemble_spec(const std::string& name, const Candidate& raw, const Candidate& tuned,
                                 const WorkloadFacts& facts, const OutputPaths& paths,
                                 const Provenance& provenance) {
  TuningSpec spec;
  spec.name = name;
  spec.path = paths.spec_file;
  spec.dimensions = raw.dimensions;
  spec.text_sizes = raw.text_sizes;
  spec.types = raw.types;
  spec.knobs = tuned.knobs;
  spec.conditions = tuned.conditions;
  name_text_sizes(spec.text_sizes, spec.conditions);
  spec.launched_where = raw.launched_where;
  spec.arguments = raw.arguments;
  spec.problems = facts.problems;
  for (Problem& problem : spec.problems)
    if (problem.label.empty())
      for (const std::string& dimension : spec.dimensions)
        if (const auto value = problem.dimensions.find(dimension); value != problem.dimensions.end())
          problem.label += fmt::format("{}{}={}", problem.label.empty() ? "" : " ", dimension, value->second);
  const std::vector<std::string> options{standard_option(raw.text)};
  spec.kernel = {paths.template_file, tuned.instance, options, tuned.launch};
  spec.reference = {paths.raw_file, raw.instance, options, raw.launch};
  spec.cpu_reference = facts.cpu_reference;
  spec.tolerances = facts.tolerances;
  spec.cost.bytes = minimal_bytes(raw.arguments, raw.types);
  if (facts.bytes) {
    LATHE_TRY(spec.cost.bytes, Expression::parse(*facts.bytes));
  }
  if (facts.operations) {
    LATHE_TRY(spec.cost.operations, Expression::parse(*facts.operations));
  }
  spec.provenance = provenance;
  spec.template_hash = content_hash(tuned.text);
  return spec;
}

void drop_excluded_problems(TuningSpec& spec, std::vector<std::string>& assumptions) {
  std::map<std::string, std::string> types;
  for (const TypeParameter& type : spec.types)
    types[type.name] = type.dtypes.front();
  const auto is_admitted = [&](const Problem& problem) {
    const auto workload = bind_workload(spec, problem, types, {});
    const auto knobs = workload ? default_knobs(*workload) : Result<KnobValues>(KnobValues{});
    if (!workload || !knobs)
      return false;
    const Lookup lookup = [&](std::string_view name) -> std::optional<Value> {
      for (std::size_t i = 0; i < spec.knobs.size(); ++i)
        if (spec.knobs[i].name == name)
          return (*knobs)[i];
      return workload->lookup(name);
    };
    // A condition on the device cannot be told here and is left to the tuner.
    return std::ranges::all_of(spec.conditions, [&](const Condition& condition) {
      const auto holds = condition.expression.evaluate_condition(lookup);
      return !holds || *holds;
    });
  };
  std::vector<Problem> kept;
  std::ranges::copy_if(spec.problems, std::back_inserter(kept), is_admitted);
  if (kept.empty() || kept.size() == spec.problems.size())
    return;
  assumptions.push_back(fmt::format("{} of the guessed sizes are left out: the launcher's own configuration "
                                    "does not fit them",
                                    spec.problems.size() - kept.size()));
  spec.problems = std::move(kept);
}

} // namespace lathe::refactor
