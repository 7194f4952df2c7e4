#include "refactor/app/kernel_list.h"

#include "refactor/app/raw_candidate.h"
#include "refactor/extract/extract.h"
#include "refactor/rewrite/rewrite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lathe::refactor {
namespace {

std::string describe(const LaunchSite& site, int number) {
  std::string text = fmt::format("  launch {} at {} in {}: ", number, site.location, site.launcher);
  if (!site.template_arguments.empty())
    text += fmt::format("<{}> ", fmt::join(site.template_arguments, ", "));
  text += fmt::format("grid ({}) block ({}) shared {}\n", fmt::join(site.grid, ", "),
                      fmt::join(site.block, ", "), site.shared_bytes);
  if (!site.conditions.empty())
    text += fmt::format("    where {}\n", fmt::join(site.conditions, " and "));
  for (const std::vector<std::string>& instance : site.instances)
    text += fmt::format("    instance <{}>\n", fmt::join(instance, ", "));
  for (const std::string& sentence : site.unreadable)
    text += "    unreadable: " + sentence + "; give it with --grid, --block or --shared\n";
  return text;
}

// The knobs that the rules would expose, with where they come from; or why none can be looked for.
Result<std::string> candidate_knobs(ParsedSource& source, const KernelInfo& kernel,
                                    const std::string& architecture) {
  LATHE_TRY(const ExtractedKernel extracted, extract_kernel(source, kernel));
  LATHE_TRY(const RawCandidate raw, make_raw_candidate(kernel, extracted, {}, {}, architecture));
  ParseOptions self_contained;
  self_contained.architecture = architecture;
  LATHE_TRY(const RewriteResult rewritten, rewrite(raw.candidate, {}, self_contained));
  std::string text;
  for (const Knob& knob : rewritten.candidate.knobs)
    text += fmt::format("  knob {} ({}, default {}): {}\n", knob.name, to_string(knob.kind),
                        knob.default_value.text(), knob.why);
  return text.empty() ? std::string("  no knob\n") : text;
}

} // namespace

std::string describe_kernels(ParsedSource& source, const std::string& architecture) {
  std::string text;
  for (const KernelInfo& kernel : find_kernels(source)) {
    text += kernel.qualified_name + "  " + kernel.location;
    for (const TemplateParameter& parameter : kernel.template_parameters)
      text += "  " + parameter.type + " " + parameter.name;
    text += kernel.is_whole() ? "\n" : "  (not whole: " + kernel.unresolved.front() + ")\n";
    int number = 0;
    for (const LaunchSite& site : kernel.launches)
      text += describe(site, ++number);
    if (!kernel.is_whole())
      continue;
    const auto knobs = candidate_knobs(source, kernel, architecture);
    text += knobs.ok() ? *knobs : "  knobs: " + knobs.error().sentence() + "\n";
  }
  for (const std::string& header : source.missing_headers())
    text += "missing header: " + header + "\n";
  for (const std::string& stand_in : source.stand_ins())
    text += "stand-in: " + stand_in + "\n";
  return text;
}

} // namespace lathe::refactor
