// Well-formed: one self-contained file that parses in CUDA mode and compiles under NVRTC, at the defaults and
// at sampled configurations, and brings no file of its own.
#include "refactor/guard/checks.h"
#include "refactor/guard/text_facts.h"

#include <algorithm>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

std::set<std::string> includes_of(const std::string& text) {
  static const std::regex directive(R"(^[ \t]*#[ \t]*(include|include_next|import|embed)[ \t]*([^\n]*))",
                                    std::regex::multiline);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), directive), end; at != end; ++at) {
    std::string name = (*at)[2].str();
    name.erase(name.find_last_not_of(" \t\r") + 1);
    found.insert(std::move(name));
  }
  return found;
}

bool is_toolkit_header(const std::string& include) {
  static const std::regex known(
      R"(<(cuda_\w+|cooperative_groups(/\w+)?|mma|cub/\S+|cuda/\S+|c?stdint|type_traits|c?math|limits|c?stddef|algorithm|utility)(\.h|\.hpp|\.cuh)?>.*)");
  return std::regex_match(include, known);
}

// An option may change what arithmetic means (--use_fast_math), or what the text says (-D).
void compare_options(const TuningSpec& spec, Findings& findings) {
  const auto& raw = spec.reference.compile_options;
  const auto& templated = spec.kernel.compile_options;
  const auto has = [](const std::vector<std::string>& options, const std::string& option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  for (const std::string& option : templated)
    if (!has(raw, option))
      findings.fail("the template is compiled with " + option + ", which the raw kernel is not");
  for (const std::string& option : raw)
    if (!has(templated, option))
      findings.fail("the template is compiled without " + option + ", which the raw kernel is compiled with");
}

} // namespace

CheckResult check_well_formed(const JudgedPair& subject, const Images& images) {
  Findings findings("well-formed");
  const std::set<std::string> allowed = includes_of(subject.raw_text);
  for (const std::string& include : includes_of(subject.template_text))
    if (!allowed.contains(include) && !is_toolkit_header(include))
      findings.fail("the template includes " + include + ", which the raw kernel does not");
  std::set<std::string> knobs;
  for (const Knob& knob : subject.spec.knobs)
    if (knob.is_macro)
      knobs.insert(knob.name);
  const TextFacts raw_text = text_facts(subject.raw_text);
  for (const std::string& sentence : foreign_text(text_facts(subject.template_text), raw_text, knobs))
    findings.fail(sentence);
  for (const std::string& fork : raw_text.forks)
    findings.report("the raw kernel's text depends on the compiler or the architecture ('" + fork +
                    "'): it is judged as " + subject.options.architecture + " reads it");
  compare_options(subject.spec, findings);
  for (const std::string& problem : subject.binding_problems)
    findings.fail(problem);
  std::size_t compiled = 0;
  const auto look = [&](const std::vector<Image>& built, const std::vector<Configuration>& configurations) {
    for (std::size_t i = 0; i < built.size(); ++i) {
      if (built[i].outcome.ok())
        ++compiled;
      else
        findings.fail(configurations[i].template_instance + " does not compile: " + built[i].outcome.message);
    }
  };
  look(images.template_defaults, subject.defaults);
  look(images.template_samples, subject.sampled);
  for (const Configuration& configuration : subject.sampled)
    findings.evidence("compiled: " + configuration.text());
  return findings.conclude(
      Verdict::tested, std::to_string(compiled) + " instances compile under NVRTC and parse with clang (" +
                           std::to_string(subject.defaults.size()) + " at the defaults)");
}

} // namespace lathe::refactor
