#include "refactor/app/spec_assembly.h"

#include "tuner/base/hash.h"
#include "tuner/device/device.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fmt/format.h>
#include <set>

namespace lathe::refactor {
namespace {

bool contains_any(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words)
    if (text.find(word) != std::string::npos)
      return true;
  return false;
}

// Every input read once, every output written once: the DRAM minimum when the kernel touches each element.
Expression minimal_bytes(const std::vector<Argument>& arguments, const std::vector<TypeParameter>& types) {
  std::string text;
  for (const Argument& argument : arguments) {
    if (!argument.is_buffer)
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

// A part of the raw launch at these sizes, with each type at its widest; nothing where it has no value.
std::optional<std::int64_t> launch_value(const Candidate& raw, const DeviceInfo* device,
                                         const Problem& problem, const Expression& expression) {
  const std::map<std::string, Value> limits = device ? device->limits() : std::map<std::string, Value>();
  const auto lookup = [&](std::string_view name) -> std::optional<Value> {
    if (const auto found = problem.dimensions.find(std::string(name)); found != problem.dimensions.end())
      return Value{found->second};
    for (const TypeParameter& type : raw.types)
      if (name == "sizeof_" + type.name)
        return Value{std::int64_t{dtype_size(*std::ranges::max_element(type.dtypes, {}, dtype_size))}};
    return std::nullopt;
  };
  const auto value = expression.evaluate(lookup);
  const auto* number = value.ok() ? std::get_if<std::int64_t>(&*value) : nullptr;
  return number ? std::optional(*number) : std::nullopt;
}

// Whether the raw launch has at least one block and one thread at these sizes: n / 4 may be none.
bool has_blocks(const Candidate& raw, const DeviceInfo* device, const Problem& problem) {
  const auto is_positive = [&](const Expression& expression) {
    return launch_value(raw, device, problem, expression).value_or(0) > 0;
  };
  return std::all_of(raw.launch.grid.begin(), raw.launch.grid.end(), is_positive) &&
         std::all_of(raw.launch.block.begin(), raw.launch.block.end(), is_positive);
}

// Whether a block at these sizes has no more threads and shared memory than the device holds.
bool block_fits(const Candidate& raw, const DeviceInfo& device, const Problem& problem) {
  std::int64_t threads = 1;
  for (const Expression& size : raw.launch.block)
    threads *= std::clamp<std::int64_t>(launch_value(raw, &device, problem, size).value_or(1), 1, 1 << 20);
  return threads <= device.max_threads_per_block &&
         launch_value(raw, &device, problem, raw.launch.shared_bytes).value_or(0) <=
             device.shared_per_block_optin;
}

// Halves the sizes that the block and its shared memory follow, the largest first, until the device holds
// them. True where that was needed.
bool fit_to_device(const Candidate& raw, const DeviceInfo& device, Problem& problem) {
  std::vector<std::string> followed = raw.launch.shared_bytes.names();
  for (const Expression& size : raw.launch.block)
    followed.insert(followed.end(), size.names().begin(), size.names().end());
  bool is_smaller = false;
  while (!block_fits(raw, device, problem)) {
    std::int64_t* largest = nullptr;
    for (const std::string& name : followed)
      if (const auto found = problem.dimensions.find(name);
          found != problem.dimensions.end() && (!largest || found->second > *largest))
        largest = &found->second;
    if (!largest || *largest == 1)
      break;
    *largest /= 2;
    is_smaller = true;
  }
  return is_smaller;
}

// Whether the device takes the raw launch at these sizes.
bool is_launchable(const Candidate& raw, const DeviceInfo& device, const Problem& problem) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (launch_value(raw, &device, problem, raw.launch.grid[axis]).value_or(0) > device.max_grid[axis])
      return false;
  return has_blocks(raw, &device, problem) && block_fits(raw, device, problem);
}

// Where nothing can be launched at the guessed sizes (a quotient of two of them is 0, a product too many
// blocks), one or two of them are changed, as little as will do. True where that was needed and helped.
bool make_launchable(const Candidate& raw, const DeviceInfo& device, Problem& problem) {
  if (is_launchable(raw, device, problem))
    return false;
  std::set<std::string> names;
  for (const auto* axes : {&raw.launch.grid, &raw.launch.block})
    for (const Expression& size : *axes)
      for (const std::string& name : size.names())
        if (problem.dimensions.contains(name))
          names.insert(name);
  constexpr int DOUBLINGS = 24; // a grid of n / 2^18 blocks has one
  std::optional<Problem> best;
  int least_change = 0;
  const auto consider = [&](const Problem& changed, int change) {
    if ((!best || change < least_change) && is_launchable(raw, device, changed)) {
      best = changed;
      least_change = change;
    }
  };
  const auto change_of = [&](const std::string& name, int doublings) {
    const auto now =
        static_cast<int>(std::bit_width(static_cast<std::uint64_t>(problem.dimensions.at(name)))) - 1;
    return std::abs(doublings - now);
  };
  for (const std::string& name : names)
    for (int size = 0; size <= DOUBLINGS; ++size) {
      Problem one = problem;
      one.dimensions[name] = std::int64_t{1} << size;
      consider(one, change_of(name, size));
      for (const std::string& other : names)
        for (int other_size = 0; other > name && other_size <= DOUBLINGS; ++other_size) {
          Problem two = one;
          two.dimensions[other] = std::int64_t{1} << other_size;
          consider(two, change_of(name, size) + change_of(other, other_size));
        }
    }
  if (best)
    problem = *best;
  return best.has_value();
}

} // namespace

OutputPaths OutputPaths::under(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path templates = folder / "templates" / name;
  return {templates / (name + ".cuh"), templates / (name + ".raw.cuh"),
          folder / "search_spaces" / (name + ".json"), templates / "certificate.json"};
}

std::vector<Problem> usual_problems(const Candidate& raw, const std::string& architecture,
                                    std::vector<std::string>& assumptions) {
  const std::vector<std::string>& dimensions = raw.dimensions;
  std::vector<Problem> problems(1);
  // Names that say nothing: the more of them are multiplied, the smaller each has to be.
  const auto says_nothing = [](const std::string& name) {
    return !contains_any(name, {"head", "group", "token", "batch", "row", "num_", "seq"}) && name != "n" &&
           name != "m";
  };
  const auto nameless = std::count_if(dimensions.begin(), dimensions.end(), says_nothing);
  const std::int64_t common = nameless <= 2 ? 4096 : nameless == 3 ? 256 : 64;
  for (const std::string& name : dimensions) {
    std::vector<std::int64_t> sizes{common};
    if (contains_any(name, {"head_size", "head_dim", "headdim"}))
      sizes = {128};
    else if (contains_any(name, {"head"}))
      sizes = {32};
    else if (contains_any(name, {"group"}))
      sizes = {128};
    else if (dimensions.size() == 1) // a count of elements
      sizes = {1 << 16, 1 << 20, 1 << 24};
    else if (contains_any(name, {"token", "batch", "row", "num_", "seq"}) || name == "n" || name == "m")
      sizes = {1, 64, 4096};
    std::vector<Problem> next;
    std::string list;
    for (const std::int64_t size : sizes) {
      list += (list.empty() ? "" : ", ") + std::to_string(size);
      for (Problem problem : problems) {
        problem.dimensions[name] = size;
        next.push_back(std::move(problem));
      }
    }
    problems = std::move(next);
    assumptions.push_back(name + " = " + list + " (say otherwise with --problem or a workload file)");
  }
  const auto device = known_device(architecture);
  if (device.ok()) {
    bool is_smaller = false;
    std::set<std::string> changes;
    std::vector<Problem> held;
    for (Problem& problem : problems) {
      is_smaller |= fit_to_device(raw, *device, problem);
      const Problem guessed = problem;
      if (make_launchable(raw, *device, problem))
        for (const auto& [name, size] : problem.dimensions)
          if (size != guessed.dimensions.at(name))
            changes.insert(fmt::format("{} = {} in place of {}, at which nothing can be launched", name, size,
                                       guessed.dimensions.at(name)));
      if (std::ranges::find(held, problem.dimensions, &Problem::dimensions) == held.end())
        held.push_back(std::move(problem));
    }
    problems = std::move(held);
    assumptions.insert(assumptions.end(), changes.begin(), changes.end());
    if (is_smaller)
      assumptions.push_back("sizes at which a block asks for more threads or shared memory than " +
                            architecture + " has are halved until it does not");
  }
  std::vector<Problem> launched;
  std::copy_if(problems.begin(), problems.end(), std::back_inserter(launched), [&](const Problem& problem) {
    return has_blocks(raw, device.ok() ? &*device : nullptr, problem);
  });
  return launched.empty() ? problems : launched;
}

void fit_to_memory(const Candidate& raw, std::vector<Problem>& problems,
                   std::vector<std::string>& assumptions) {
  constexpr double MOST_BYTES = 8e9; // half of what the smallest devices of today hold
  const auto bytes = [&](const Problem& problem) {
    double sum = 0;
    for (const Argument& argument : raw.arguments)
      if (argument.is_buffer) {
        const auto type = std::ranges::find(raw.types, argument.dtype, &TypeParameter::name);
        const std::string& dtype = type == raw.types.end() ? argument.dtype : type->dtypes.front();
        sum += static_cast<double>(launch_value(raw, nullptr, problem, argument.count).value_or(0)) *
               dtype_size(dtype);
      }
    return sum;
  };
  std::vector<Problem> held;
  std::set<std::string> changes;
  for (Problem problem : problems) {
    const Problem guessed = problem;
    while (bytes(problem) > MOST_BYTES) {
      std::int64_t* largest = nullptr;
      for (const Argument& argument : raw.arguments)
        for (const std::string& name : argument.count.names())
          if (const auto found = problem.dimensions.find(name);
              found != problem.dimensions.end() && (!largest || found->second > *largest))
            largest = &found->second;
      if (!largest || *largest <= 1)
        break;
      *largest /= 2;
    }
    for (const auto& [name, size] : problem.dimensions)
      if (size != guessed.dimensions.at(name))
        changes.insert(fmt::format("{} = {} in place of {}, at which the buffers are too large for a device",
                                   name, size, guessed.dimensions.at(name)));
    if (std::ranges::find(held, problem.dimensions, &Problem::dimensions) == held.end())
      held.push_back(std::move(problem));
  }
  problems = std::move(held);
  assumptions.insert(assumptions.end(), changes.begin(), changes.end());
}

Result<TuningSpec> assemble_spec(const std::string& name, const Candidate& raw, const Candidate& tuned,
                                 const WorkloadFacts& facts, const OutputPaths& paths,
                                 const Provenance& provenance) {
  TuningSpec spec;
  spec.name = name;
  spec.path = paths.spec_file;
  spec.dimensions = raw.dimensions;
  spec.types = raw.types;
  spec.knobs = tuned.knobs;
  spec.conditions = tuned.conditions;
  spec.arguments = raw.arguments;
  spec.problems = facts.problems;
  for (Problem& problem : spec.problems)
    if (problem.label.empty())
      for (const std::string& dimension : spec.dimensions)
        if (const auto value = problem.dimensions.find(dimension); value != problem.dimensions.end())
          problem.label += fmt::format("{}{}={}", problem.label.empty() ? "" : " ", dimension, value->second);
  const std::vector<std::string> options{"-std=c++17"};
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
