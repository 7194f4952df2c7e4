#include "refactor/rewrite/launch_facts.h"

#include "refactor/knobs/geometry.h"
#include "refactor/rewrite/constant_knob.h"

#include <map>

namespace lathe::refactor {

std::optional<std::string> size_of_type(const Candidate& candidate, const std::string& type) {
  for (const TypeParameter& parameter : candidate.types)
    if (parameter.name == type)
      return "sizeof_" + type;
  static const std::map<std::string, std::string> sizes{
      {"char", "1"},           {"unsigned char", "1"}, {"__half", "2"},
      {"__nv_bfloat16", "2"},  {"int", "4"},           {"float", "4"},
      {"unsigned int", "4"},   {"float2", "8"},        {"uint2", "8"},
      {"int2", "8"},           {"double", "8"},        {"__nv_bfloat162", "4"},
      {"float4", "16"},        {"uint4", "16"},        {"int4", "16"},
      {"half", "2"},           {"__half2", "4"},       {"half2", "4"},
      {"bool", "1"},           {"signed char", "1"},   {"int8_t", "1"},
      {"uint8_t", "1"},        {"__nv_fp8_e4m3", "1"}, {"short", "2"},
      {"unsigned short", "2"}, {"int16_t", "2"},       {"uint16_t", "2"},
      {"nv_bfloat16", "2"},    {"unsigned", "4"},      {"int32_t", "4"},
      {"uint32_t", "4"},       {"__nv_fp8_e5m2", "1"}, {"long", "8"},
      {"unsigned long", "8"},  {"long long", "8"},     {"unsigned long long", "8"},
      {"int64_t", "8"},        {"uint64_t", "8"}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

LaunchFacts launch_facts_of(const KernelInfo& kernel, const Candidate& candidate) {
  LaunchFacts facts;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    facts.grid[axis] = canonical(candidate.launch.grid[axis]);
    facts.block[axis] = canonical(candidate.launch.block[axis]);
    facts.constant_block[axis] = constant_of(candidate.launch.block[axis]);
  }
  facts.parameter = [&](const std::string& parameter) { return value_of_parameter(candidate, parameter); };
  facts.template_parameter = [&](const std::string& parameter) -> std::optional<std::string> {
    const InstanceName instance = split_instance(candidate.instance);
    for (std::size_t i = 0; i < kernel.template_parameters.size() && i < instance.arguments.size(); ++i) {
      if (kernel.template_parameters[i].name != parameter)
        continue;
      const std::string& argument = instance.arguments[i];
      if (argument.size() > 2 && argument.front() == '{')
        return argument.substr(1, argument.size() - 2);
      const auto value = to_expression(argument, candidate); // 16 / sizeof({T})
      return value ? std::optional("(" + *value + ")") : std::nullopt;
    }
    return std::nullopt;
  };
  facts.size_of = [&](const std::string& type) { return size_of_type(candidate, type); };
  return facts;
}

std::optional<std::string> keep_rounds_whole(const KernelView& view, const LaunchFacts& facts,
                                             const std::vector<WholeRounds>& rounds,
                                             const std::string& unless, std::vector<Condition>& conditions) {
  for (const WholeRounds& loop : rounds) {
    const auto total = launch_expression(view, loop.total, facts),
               per_round = launch_expression(view, loop.per_round, facts);
    if (!total || !per_round)
      return "the number of rounds is a quotient that is not known before the launch";
    conditions.push_back(
        make_condition(unless + "(" + *total + ") % (" + *per_round + ") == 0",
                       "the rounds at " + view.at_line(loop.total->getBeginLoc()) + " leave nothing over"));
  }
  return std::nullopt;
}

} // namespace lathe::refactor
