#include "tuner/space/model.h"

#include "tuner/space/solver.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace lathe::space {
namespace {

std::optional<std::int64_t> whole_number(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value))
    return *flag ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return *integer;
  if (const auto* real = std::get_if<double>(&value);
      real != nullptr && std::trunc(*real) == *real && std::abs(*real) < 9.2e18)
    return static_cast<std::int64_t>(*real);
  return std::nullopt;
}

Status check_parameters(const std::vector<Parameter>& parameters) {
  if (parameters.empty())
    return usage_error("tuning space", "it has no parameter", "give at least one parameter with its values");
  std::unordered_map<std::string, bool> names;
  for (const Parameter& parameter : parameters) {
    const std::string what = "parameter " + parameter.name;
    if (!names.emplace(parameter.name, true).second)
      return usage_error(what, "it is defined twice", "give every parameter a name of its own");
    if (parameter.values.empty())
      return usage_error(what, "its list of values is empty", "give it at least one value");
    if (parameter.values.size() > std::numeric_limits<std::uint16_t>::max())
      return usage_error(what, "it has " + std::to_string(parameter.values.size()) + " values",
                         "a parameter may have at most 65535");
    ValueIndex seen;
    for (std::size_t i = 0; i < parameter.values.size(); ++i) {
      if (const auto* real = std::get_if<double>(&parameter.values[i]);
          real != nullptr && !std::isfinite(*real))
        return usage_error(what, "a value is not finite", "use finite numbers");
      if (seen.add(parameter.values[i]) != i)
        return usage_error(what, "the value " + to_string(parameter.values[i]) + " appears twice",
                           "list every value once");
    }
  }
  return Done{};
}

void collect_texts(const ExpressionNode& node, std::vector<std::string>& texts) {
  if (node.operation == Operation::constant && std::holds_alternative<std::string>(node.value))
    texts.push_back(std::get<std::string>(node.value));
  for (const ExpressionNode& child : node.children)
    collect_texts(child, texts);
}

Domain make_domain(const Parameter& parameter, const std::vector<std::string>& texts) {
  Domain domain;
  const auto all = [&](auto holds) {
    return std::all_of(parameter.values.begin(), parameter.values.end(), holds);
  };
  if (all([](const Value& value) {
        return std::holds_alternative<bool>(value) || std::holds_alternative<std::int64_t>(value);
      }))
    domain.kind = Kind::integer;
  else if (all([](const Value& value) { return std::holds_alternative<double>(value); }))
    domain.kind = Kind::real;
  else if (all([](const Value& value) { return std::holds_alternative<std::string>(value); }))
    domain.kind = Kind::text;
  else
    domain.kind = Kind::mixed;
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    const Value& value = parameter.values[i];
    domain.indices.push_back(static_cast<std::uint16_t>(i));
    if (domain.kind == Kind::integer)
      domain.bits.push_back(*whole_number(value));
    else if (domain.kind == Kind::real)
      domain.bits.push_back(std::bit_cast<std::int64_t>(std::get<double>(value)));
    else if (domain.kind == Kind::text)
      domain.bits.push_back(std::lower_bound(texts.begin(), texts.end(), std::get<std::string>(value)) -
                            texts.begin());
    else
      domain.bits.push_back(static_cast<std::int64_t>(i));
  }
  return domain;
}

Result<std::vector<BoundCondition>> resolve(const std::vector<Expression>& conditions,
                                            const std::vector<Parameter>& parameters,
                                            const Lookup& constants) {
  std::unordered_map<std::string_view, std::int32_t> positions;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    positions.emplace(parameters[i].name, static_cast<std::int32_t>(i));
  std::vector<BoundCondition> bound;
  for (const Expression& expression : conditions) {
    BoundCondition condition{expression, {}, {}};
    for (const std::string& name : expression.names()) {
      const auto parameter = positions.find(name);
      condition.parameter_of_slot.push_back(parameter == positions.end() ? -1 : parameter->second);
      std::optional<Value> constant = Value{};
      if (parameter == positions.end())
        constant = constants ? constants(name) : std::nullopt;
      if (!constant)
        return usage_error("condition \"" + expression.text() + "\"",
                           "the name \"" + name + "\" is neither a parameter nor a known constant",
                           "correct the name or define it");
      condition.constant_of_slot.push_back(*std::move(constant));
    }
    bound.push_back(std::move(condition));
  }
  return bound;
}

// Keeps the values that the conjuncts over this parameter alone allow; false when none is left.
bool filter(Problem& problem, std::int32_t parameter, const std::vector<TermId>& conjuncts) {
  const Program program(*problem.pool, conjuncts, {parameter});
  Machine machine(program);
  const std::vector<std::uint32_t>& lanes = machine.run(0);
  Domain& domain = problem.model.domains[static_cast<std::size_t>(parameter)];
  Domain kept;
  kept.kind = domain.kind;
  for (const std::uint32_t lane : lanes) {
    kept.indices.push_back(domain.indices[lane]);
    kept.bits.push_back(domain.bits[lane]);
  }
  domain = std::move(kept);
  return !domain.indices.empty();
}

std::vector<Component> components_of(const Problem& problem, const std::vector<TermId>& conjuncts) {
  const std::size_t parameters = problem.model.parameters.size();
  std::vector<std::size_t> parent(parameters);
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const std::function<std::size_t(std::size_t)> find = [&](std::size_t i) {
    while (parent[i] != i)
      i = parent[i] = parent[parent[i]];
    return i;
  };
  std::vector<std::size_t> first;
  for (const TermId conjunct : conjuncts) {
    const std::vector<std::int32_t> mentioned = problem.pool->parameters_of(conjunct);
    first.push_back(static_cast<std::size_t>(mentioned[0]));
    for (const std::int32_t parameter : mentioned)
      parent[find(static_cast<std::size_t>(parameter))] = find(first.back());
  }
  std::vector<Component> components;
  std::vector<std::size_t> component_of(parameters, parameters);
  for (std::size_t i = 0; i < parameters; ++i) {
    std::size_t& component = component_of[find(i)];
    if (component == parameters) {
      component = components.size();
      components.emplace_back();
    }
    components[component].parameters.push_back(static_cast<std::int32_t>(i));
  }
  for (std::size_t i = 0; i < conjuncts.size(); ++i)
    components[component_of[find(first[i])]].conjuncts.push_back(conjuncts[i]);
  return components;
}

} // namespace

Result<std::unique_ptr<Problem>> make_problem(std::vector<Parameter> parameters,
                                              const std::vector<Expression>& conditions,
                                              const Lookup& constants) {
  LATHE_CHECK(check_parameters(parameters));
  auto problem = std::make_unique<Problem>();
  LATHE_TRY(problem->conditions, resolve(conditions, parameters, constants));
  Model& model = problem->model;
  for (const Parameter& parameter : parameters)
    for (const Value& value : parameter.values)
      if (const auto* text = std::get_if<std::string>(&value))
        model.texts.push_back(*text);
  for (const BoundCondition& condition : problem->conditions) {
    collect_texts(condition.expression.root(), model.texts);
    for (const Value& value : condition.constant_of_slot)
      if (const auto* text = std::get_if<std::string>(&value))
        model.texts.push_back(*text);
  }
  std::sort(model.texts.begin(), model.texts.end());
  model.texts.erase(std::unique(model.texts.begin(), model.texts.end()), model.texts.end());
  for (const Parameter& parameter : parameters)
    model.domains.push_back(make_domain(parameter, model.texts));
  model.parameters = std::move(parameters);

  // A smaller domain makes ranges tighter and parameters constant, which may leave more conditions over one
  // parameter.
  while (true) {
    problem->pool = std::make_unique<TermPool>(model);
    std::vector<TermId> conjuncts;
    std::vector<std::vector<TermId>> alone(model.parameters.size());
    for (const BoundCondition& condition : problem->conditions) {
      for (const TermId conjunct : normalize(*problem->pool, condition.expression,
                                             condition.parameter_of_slot, condition.constant_of_slot)) {
        if (problem->pool->is_true(conjunct))
          continue;
        if (problem->pool->is_never_true(conjunct)) {
          problem->contradictory = true;
          return problem;
        }
        const std::vector<std::int32_t> mentioned = problem->pool->parameters_of(conjunct);
        if (mentioned.size() == 1)
          alone[static_cast<std::size_t>(mentioned[0])].push_back(conjunct);
        else
          conjuncts.push_back(conjunct);
      }
    }
    bool shrunk = false;
    for (std::size_t i = 0; i < alone.size(); ++i)
      for (const TermId conjunct : alone[i]) {
        const std::size_t before = model.domains[i].indices.size();
        if (!filter(*problem, static_cast<std::int32_t>(i), {conjunct})) {
          problem->contradictory = true;
          return problem;
        }
        shrunk = shrunk || model.domains[i].indices.size() != before;
      }
    if (shrunk)
      continue;
    problem->components = components_of(*problem, conjuncts);
    return problem;
  }
}

std::size_t ValueIndex::add(const Value& value) {
  std::size_t position = size_;
  if (const auto* text = std::get_if<std::string>(&value))
    position = texts_.emplace(*text, size_).first->second;
  else if (const std::optional<std::int64_t> integer = whole_number(value))
    position = integers_.emplace(*integer, size_).first->second;
  else
    position = reals_.emplace(std::bit_cast<std::uint64_t>(std::get<double>(value)), size_).first->second;
  size_ += position == size_ ? 1 : 0;
  return position;
}

std::optional<std::size_t> ValueIndex::find(const Value& value) const {
  const auto position = [](const auto& map, const auto& key) -> std::optional<std::size_t> {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto* text = std::get_if<std::string>(&value))
    return position(texts_, *text);
  if (const std::optional<std::int64_t> integer = whole_number(value))
    return position(integers_, *integer);
  return position(reals_, std::bit_cast<std::uint64_t>(std::get<double>(value)));
}

} // namespace lathe::space
