#include "refactor/app/kernel_list.h"

#include "refactor/app/numbered_tables.h"
#include "refactor/app/program_launches.h"
#include "refactor/app/raw_candidate.h"
#include "refactor/extract/flatten.h"
#include "refactor/extract/member_names.h"
#include "refactor/rewrite/rewrite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace lathe::refactor {
namespace {

using Json = nlohmann::ordered_json;

constexpr int json_schema_version = 1;

std::string describe(const LaunchSite& site, int number) {
  std::string text = fmt::format("  launch {} at {} in {}: ", number, site.location, site.launcher);
  if (!site.template_arguments.empty())
    text += fmt::format("<{}> ", fmt::join(site.template_arguments, ", "));
  text += fmt::format("grid ({}) block ({}) shared {}\n", fmt::join(site.grid, ", "),
                      fmt::join(site.block, ", "), site.shared_bytes);
  if (!site.conditions.empty())
    text += fmt::format("    where {}\n", fmt::join(site.conditions, " and "));
  if (!site.null_pointers.empty())
    text += fmt::format("    null {}\n", fmt::join(site.null_pointers, ", "));
  for (const std::vector<std::string>& instance : site.instances)
    text += fmt::format("    instance <{}>\n", fmt::join(instance, ", "));
  for (const std::string& sentence : site.unreadable)
    text += "    unreadable: " + sentence + "; give it with --grid, --block or --shared\n";
  return text;
}

// The knobs that the rules would expose, with where they come from; or why none can be looked for.
Result<std::vector<Knob>> candidate_knobs(ParsedSource& source, KernelInfo kernel,
                                          const std::string& architecture) {
  LATHE_TRY(ExtractedKernel extracted, extract_kernel(source, kernel));
  ParseOptions alone;
  alone.architecture = architecture;
  LATHE_TRY(const Flattened flattened, flatten_structures(extracted, kernel, alone));
  LATHE_TRY(const std::vector<PointerTable> tables,
            number_pointer_tables(extracted, kernel, alone, flattened.member_paths));
  LATHE_CHECK(name_members(extracted, kernel, alone, flattened.member_paths));
  WorkloadFacts facts;
  number_places(tables, facts);
  LATHE_TRY(RawCandidate raw, make_raw_candidate(kernel, extracted, facts, {}, architecture));
  raw.candidate.program_launches = program_launches(kernel, extracted, facts, {}, architecture, raw);
  ParseOptions self_contained;
  self_contained.architecture = architecture;
  LATHE_TRY(RewriteResult rewritten, rewrite(raw.candidate, {}, self_contained));
  return std::move(rewritten.candidate.knobs);
}

std::string describe(const Result<std::vector<Knob>>& knobs) {
  if (!knobs.ok())
    return "  knobs: " + knobs.error().sentence() + "\n";
  std::string text;
  for (const Knob& knob : *knobs)
    text += fmt::format("  knob {} ({}, default {}): {}\n", knob.name, to_string(knob.kind),
                        knob.default_value.text(), knob.why);
  return text.empty() ? std::string("  no knob\n") : text;
}

Json launch_json(const LaunchSite& site) {
  return {{"Location", site.location},
          {"Launcher", site.launcher},
          {"TemplateArguments", site.template_arguments},
          {"Grid", site.grid},
          {"Block", site.block},
          {"SharedBytes", site.shared_bytes},
          {"Conditions", site.conditions},
          {"NullPointers", site.null_pointers},
          {"Instances", site.instances},
          {"Unreadable", site.unreadable}};
}

Json kernel_json(ParsedSource& source, const KernelInfo& kernel, const std::string& architecture) {
  Json parameters = Json::array(), launches = Json::array(), knobs = Json::array();
  for (const TemplateParameter& parameter : kernel.template_parameters)
    parameters.push_back({{"Type", parameter.type}, {"Name", parameter.name}});
  for (const LaunchSite& site : kernel.launches)
    launches.push_back(launch_json(site));
  std::string problem;
  if (kernel.is_whole()) {
    const auto found = candidate_knobs(source, kernel, architecture);
    problem = found.ok() ? "" : found.error().sentence();
    if (found.ok())
      for (const Knob& knob : *found)
        knobs.push_back({{"Name", knob.name},
                         {"Kind", to_string(knob.kind)},
                         {"Default", knob.default_value.text()},
                         {"Why", knob.why}});
  }
  return {
      {"Name", kernel.qualified_name},   {"Location", kernel.location}, {"TemplateParameters", parameters},
      {"Unresolved", kernel.unresolved}, {"Launches", launches},        {"Knobs", knobs},
      {"NoKnobsBecause", problem}};
}

} // namespace

std::string describe_kernels(ParsedSource& source, const std::vector<KernelInfo>& kernels,
                             const std::string& architecture) {
  std::string text;
  for (const KernelInfo& kernel : kernels) {
    text += kernel.qualified_name + "  " + kernel.location;
    for (const TemplateParameter& parameter : kernel.template_parameters)
      text += "  " + parameter.type + " " + parameter.name;
    text += kernel.is_whole() ? "\n" : "  (not whole: " + kernel.unresolved.front() + ")\n";
    int number = 0;
    for (const LaunchSite& site : kernel.launches)
      text += describe(site, ++number);
    if (kernel.is_whole())
      text += describe(candidate_knobs(source, kernel, architecture));
  }
  for (const std::string& header : source.missing_headers())
    text += "missing header: " + header + "\n";
  for (const std::string& stand_in : source.stand_ins())
    text += "stand-in: " + stand_in + "\n";
  return text;
}

std::string kernels_json(ParsedSource& source, const std::vector<KernelInfo>& kernels,
                         const std::string& architecture) {
  Json list = Json::array();
  for (const KernelInfo& kernel : kernels)
    list.push_back(kernel_json(source, kernel, architecture));
  return Json{{"Schema", json_schema_version},
              {"Kernels", list},
              {"MissingHeaders", source.missing_headers()},
              {"StandIns", source.stand_ins()}}
      .dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace lathe::refactor
