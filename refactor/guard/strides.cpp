#include "refactor/guard/strides.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>
#include <vector>

namespace lathe::refactor {

namespace {

// Whether a parameter is one dimension, by which the raw kernel's grid goes.
bool is_count(const TuningSpec& spec, int parameter) {
  const auto index = static_cast<std::size_t>(parameter);
  if (index >= spec.arguments.size())
    return false;
  const Expression& value = spec.arguments[index].value;
  return value.names() == std::vector{value.text()} &&
         std::ranges::any_of(spec.reference.launch.grid, [&](const Expression& side) {
           return std::ranges::find(side.names(), value.text()) != side.names().end();
         });
}

} // namespace

Strides strides_of(const ParsedSide& raw, const TuningSpec& spec) {
  Strides strides;
  bool first = true;
  for (const auto& [key, facts] : raw.code_facts) {
    if (std::exchange(first, false)) {
      strides.parameters = facts.strides;
      strides.divisors = facts.divisors;
    } else {
      std::erase_if(strides.parameters, [&](int parameter) { return !facts.strides.contains(parameter); });
      std::erase_if(strides.divisors, [&](int parameter) { return !facts.divisors.contains(parameter); });
    }
    for (const auto& [root, use] : facts.memory)
      if (!root.empty() && std::ranges::all_of(root, [](unsigned char c) { return std::isdigit(c); }))
        strides.of_pointers[std::stoi(root)].insert(use.address_parameters.begin(),
                                                    use.address_parameters.end());
  }
  std::erase_if(strides.parameters, [&](int parameter) { return is_count(spec, parameter); });
  return strides;
}

namespace {

// The integer that a parameter gets; null where it gets none.
const std::int64_t* integer_at(const Workload& workload, int parameter) {
  const auto index = static_cast<std::size_t>(parameter);
  return index < workload.parameters.size() && !workload.parameters[index].is_buffer
             ? std::get_if<std::int64_t>(&workload.parameters[index].value)
             : nullptr;
}

} // namespace

std::set<int> odd_strides(const Workload& workload, const Strides& strides) {
  std::set<int> odd;
  for (const int parameter : strides.parameters)
    if (const auto* value = integer_at(workload, parameter); value && *value > 1 && *value % 2 == 1)
      odd.insert(parameter);
  return odd;
}

std::shared_ptr<const Workload> with_strides_apart(const std::shared_ptr<const Workload>& workload,
                                                   const Strides& strides, bool odd) {
  std::vector<std::pair<std::int64_t, int>> values; // ascending
  for (const int parameter : strides.parameters) {
    if (const auto* value = integer_at(*workload, parameter); value && *value > 1)
      values.emplace_back(*value, parameter);
  }
  if (values.empty() || (odd && strides.odd.empty()))
    return nullptr;
  std::sort(values.begin(), values.end());
  auto apart = std::make_shared<Workload>(*workload);
  std::map<int, std::int64_t> factors;
  std::int64_t factor = 1;
  for (const auto& [value, parameter] : values) {
    factors[parameter] = ++factor;
    std::int64_t& changed =
        std::get<std::int64_t>(apart->parameters[static_cast<std::size_t>(parameter)].value);
    changed = value * factor;
    if (odd && strides.odd.contains(parameter))
      changed += changed % 2 == 0;
  }
  for (const auto& [pointer, parameters] : strides.of_pointers) {
    const auto index = static_cast<std::size_t>(pointer);
    if (index >= apart->parameters.size() || !apart->parameters[index].is_buffer)
      continue;
    std::int64_t most = 1;
    for (const int parameter : parameters)
      if (const auto found = factors.find(parameter); found != factors.end())
        most = std::max(most, found->second);
    apart->buffers[apart->parameters[index].buffer].count *=
        static_cast<std::uint64_t>(odd ? most + 1 : most);
  }
  return apart;
}

std::vector<Problem> with_long_strides(const Workload& workload, const Strides& strides) {
  const TuningSpec& spec = *workload.spec;
  std::vector<std::string> dimensions; // the innermost first
  for (const std::string& dimension : spec.dimensions)
    if (std::ranges::any_of(strides.parameters, [&](int parameter) {
          return static_cast<std::size_t>(parameter) < spec.arguments.size() &&
                 spec.arguments[static_cast<std::size_t>(parameter)].value.text() == dimension;
        }))
      dimensions.insert(dimensions.begin(), dimension);
  const auto usual = [&](const std::string& dimension) {
    std::int64_t size = 0;
    for (const Problem& problem : spec.problems)
      if (const auto found = problem.dimensions.find(dimension); found != problem.dimensions.end())
        size = std::max(size, found->second);
    return size;
  };
  std::ranges::stable_sort(dimensions, {}, usual);
  std::set<std::int64_t> lengths;
  for (const auto& [name, size] : workload.problem.dimensions)
    if (size > 1 && std::ranges::find(dimensions, name) == dimensions.end())
      lengths.insert(size);
  if (dimensions.empty() || lengths.empty())
    return {};
  std::vector<Problem> problems;
  const auto add = [&](std::int64_t innermost, std::int64_t factor) {
    Problem problem = workload.problem;
    for (std::int64_t length = innermost; const std::string& dimension : dimensions) {
      problem.dimensions[dimension] = length;
      if (length <= std::numeric_limits<std::int64_t>::max() / factor)
        length *= factor;
    }
    problems.push_back(std::move(problem));
  };
  for (const std::int64_t length : lengths)
    add(length, 1);
  if (dimensions.size() > 1)
    add(*lengths.rbegin(), *lengths.rbegin());
  return problems;
}

std::shared_ptr<const Workload> with_rows_repeated(const std::shared_ptr<const Workload>& workload,
                                                   const Strides& strides) {
  const auto is_written = [&](int pointer) {
    const auto index = static_cast<std::size_t>(pointer);
    return index >= workload->parameters.size() || !workload->parameters[index].is_buffer ||
           workload->buffers[workload->parameters[index].buffer].direction != Direction::in;
  };
  std::set<int> of_inputs, of_others;
  for (const auto& [pointer, parameters] : strides.of_pointers)
    (is_written(pointer) ? of_others : of_inputs).insert(parameters.begin(), parameters.end());
  std::shared_ptr<Workload> repeated;
  for (const int parameter : strides.parameters) {
    const auto* value = integer_at(*workload, parameter);
    if (!value || *value <= 1 || !of_inputs.contains(parameter) || of_others.contains(parameter))
      continue;
    if (!repeated)
      repeated = std::make_shared<Workload>(*workload);
    const auto index = static_cast<std::size_t>(parameter);
    repeated->parameters[index].value = std::int64_t{0};
    if (const Expression& size = workload->spec->arguments[index].value;
        size.names() == std::vector{size.text()})
      repeated->environment[size.text()] = std::int64_t{0}; // for conditions
  }
  return repeated;
}

std::shared_ptr<const Workload> with_other_divisors(const std::shared_ptr<const Workload>& workload,
                                                    const Strides& strides) {
  constexpr std::int64_t FACTOR = 3; // what divides the number still does, and it is no power of two
  std::shared_ptr<Workload> other;
  for (const int parameter : strides.divisors) {
    const auto index = static_cast<std::size_t>(parameter);
    if (index >= workload->parameters.size() || workload->parameters[index].is_buffer ||
        !workload->spec->arguments[index].value.names().empty())
      continue;
    const auto* value = std::get_if<std::int64_t>(&workload->parameters[index].value);
    if (!value || *value < 1)
      continue;
    if (!other)
      other = std::make_shared<Workload>(*workload);
    other->parameters[index].value = *value * FACTOR;
  }
  if (!other)
    return nullptr;
  for (const int parameter : strides.parameters)
    if (const auto index = static_cast<std::size_t>(parameter); index < other->parameters.size())
      if (auto* value = std::get_if<std::int64_t>(&other->parameters[index].value))
        *value *= FACTOR;
  for (Workload::Buffer& buffer : other->buffers)
    buffer.count *= static_cast<std::uint64_t>(FACTOR);
  return other;
}

} // namespace lathe::refactor
