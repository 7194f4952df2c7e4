// Identity at the defaults, a ladder. L0: the same machine code, after preconditions that the raw kernel's
// own launch makes true. L1: the same PTX but for names, or the same optimised LLVM IR. L2: LLVM IR that
// differs in a few lines, which are listed. L3: only runs can tell. For one architecture, the types and the
// defaults in use.
#include "refactor/guard/checks.h"
#include "refactor/guard/preconditions.h"
#include "tuner/base/hash.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace lathe::refactor {
namespace {

std::string difference(const KernelImage& raw, const KernelImage& templated) {
  std::string text;
  const auto note = [&](bool same, const std::string& what) {
    if (!same)
      text += (text.empty() ? "" : ", ") + what;
  };
  note(raw.text == templated.text, "code (" + std::to_string(raw.text.size()) + " against " +
                                       std::to_string(templated.text.size()) + " bytes)");
  note(raw.relocations == templated.relocations, "relocations");
  note(raw.info == templated.info, ".nv.info");
  note(raw.constants == templated.constants, "literal banks");
  note(raw.constant_bytes == templated.constant_bytes, "parameter bank size");
  note(raw.shared_bytes == templated.shared_bytes, "static shared memory (" +
                                                       std::to_string(raw.shared_bytes) + " against " +
                                                       std::to_string(templated.shared_bytes) + " bytes)");
  note(raw.registers == templated.registers, "registers");
  return text;
}

// Lines of one text that the other lacks, as a longest-common-subsequence would leave them; nothing when
// there are more than `limit` on either side.
std::optional<std::vector<std::string>> line_difference(const std::string& a, const std::string& b,
                                                        std::size_t limit) {
  const auto split = [](const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
      lines.push_back(line);
    return lines;
  };
  const std::vector<std::string> left = split(a), right = split(b);
  std::size_t head = 0, tail = 0;
  while (head < left.size() && head < right.size() && left[head] == right[head])
    ++head;
  while (tail + head < left.size() && tail + head < right.size() &&
         left[left.size() - 1 - tail] == right[right.size() - 1 - tail])
    ++tail;
  if (left.size() - head - tail > limit || right.size() - head - tail > limit)
    return std::nullopt;
  std::vector<std::string> lines;
  for (std::size_t i = head; i < left.size() - tail; ++i)
    lines.push_back("- " + left[i]);
  for (std::size_t i = head; i < right.size() - tail; ++i)
    lines.push_back("+ " + right[i]);
  return lines;
}

// ", raw with ...", or "" for the raw text as it is.
std::string preconditions_of(const RawVariant& variant) {
  std::string given;
  for (const std::string& precondition : variant.preconditions)
    given += (given.empty() ? ", raw with " : " ") + precondition;
  return given;
}

// Launches are outside the compiled code: they must agree for every problem by themselves.
void compare_launches(const JudgedPair& subject, Findings& findings, int& worst) {
  std::set<std::string> seen;
  for (const auto& types : subject.type_choices)
    for (const Problem& problem : subject.spec.problems) {
      const auto workload = own_workload(subject.spec, problem, types, subject.device);
      if (!workload)
        continue;
      const auto knobs = default_knobs(**workload);
      if (!knobs)
        continue;
      const auto bound = bind_configuration(*workload, *knobs);
      if (!bound)
        continue;
      const Launch &raw = bound->raw_launch, &templated = bound->template_launch;
      if (raw.grid == templated.grid && raw.block == templated.block &&
          raw.shared_bytes == templated.shared_bytes)
        continue;
      worst = std::max(worst, 3);
      if (seen.size() < 3 && seen.insert((*workload)->key()).second)
        findings.report("the launch at the defaults is not the raw kernel's for " + (*workload)->key());
    }
}

} // namespace

CheckResult check_identity(const JudgedPair& subject, const Images& images, ImageCompiler& compiler,
                           std::string& level) {
  Findings findings("identity");
  int worst = 0;
  std::set<std::string> preconditions_used, refused_seen;
  compare_launches(subject, findings, worst);
  for (std::size_t i = 0; i < subject.defaults.size(); ++i) {
    const Configuration& configuration = subject.defaults[i];
    const std::string name = configuration.template_instance;
    if (!images.raw_defaults[i].outcome.ok() || !images.template_defaults[i].outcome.ok()) {
      findings.undecided("no machine code to compare for " + name);
      worst = std::max(worst, 3);
      continue;
    }
    const KernelImage& templated = images.template_defaults[i].image;
    std::vector<std::string> refused;
    const std::vector<RawVariant> variants = raw_variants(subject, configuration, refused);
    for (const std::string& sentence : refused)
      if (refused_seen.insert(sentence).second)
        findings.report(sentence);
    int reached = 3;
    std::string closest;
    for (std::size_t v = 0; v < variants.size() && reached == 3; ++v) {
      const std::vector<Image> image =
          v == 0 ? std::vector<Image>{images.raw_defaults[i]}
                 : compiler.compile(variants[v].text, subject.spec.reference, configuration.macros(),
                                    {configuration.raw_instance});
      if (image.empty() || !image[0].outcome.ok())
        continue;
      const std::string unequal = difference(image[0].image, templated);
      if (unequal.empty()) {
        reached = 0;
        const std::string given = preconditions_of(variants[v]);
        findings.evidence("L0 " + name + ": SASS " + content_hash(templated.text).substr(0, 12) + ", " +
                          std::to_string(templated.text.size()) + " bytes" + given);
        for (const std::string& precondition : variants[v].preconditions)
          preconditions_used.insert(precondition);
      } else if (closest.empty() || unequal.size() < closest.size()) {
        closest = unequal;
      }
    }
    // The assembler lays shared variables out by their names, in which the kernel's own parameters stand:
    // code of about the same size may be made of the same PTX.
    constexpr std::size_t ONE_PART_IN = 16;
    const auto [less, more] = std::minmax({images.raw_defaults[i].image.text.size(), templated.text.size()});
    std::optional<std::string> own_ptx;
    if (reached == 3 && (more - less) * ONE_PART_IN <= more)
      own_ptx = compiler.nameless_ptx(subject.template_text, subject.spec.kernel, configuration.macros(),
                                      configuration.template_instance);
    for (std::size_t v = 0; own_ptx && v < variants.size() && reached == 3; ++v) {
      const auto raw_ptx = compiler.nameless_ptx(variants[v].text, subject.spec.reference,
                                                 configuration.macros(), configuration.raw_instance);
      if (raw_ptx != own_ptx)
        continue;
      reached = 1;
      findings.evidence("L1 " + name + ": the same PTX but for names" + preconditions_of(variants[v]) +
                        "; SASS differs in " + closest);
    }
    if (reached == 3) {
      const auto raw_facts =
          subject.raw.code_facts.find(code_key(configuration.raw_instance, configuration.raw_launch));
      const auto template_facts = subject.templated.code_facts.find(
          code_key(configuration.template_instance, configuration.template_launch));
      const bool same_block = configuration.raw_launch.block == configuration.template_launch.block;
      if (same_block && raw_facts != subject.raw.code_facts.end() &&
          template_facts != subject.templated.code_facts.end()) {
        const auto lines = line_difference(raw_facts->second.ir, template_facts->second.ir, 6);
        if (lines && lines->empty()) {
          reached = 1;
        } else if (lines) {
          reached = 2;
          for (const std::string& line : *lines)
            findings.evidence("L2 " + name + ": " + line);
        }
      }
      findings.evidence(std::to_string(reached).insert(0, 1, 'L') + " " + name + ": SASS differs in " +
                        closest);
    }
    worst = std::max(worst, reached);
  }
  level = std::to_string(worst).insert(0, 1, 'L');
  switch (worst) {
  case 0:
    return findings.conclude(
        Verdict::proved,
        "L0: the same machine code as the raw kernel's for " + std::to_string(subject.defaults.size()) +
            " default instances on " + subject.options.architecture +
            (preconditions_used.empty() ? "" : ", given the raw launch's own block dimensions or bounds"));
  case 1:
    return findings.conclude(
        Verdict::proved, "L1: the same PTX, but for names, or optimised LLVM IR as the raw kernel's; machine "
                         "code differs");
  case 2:
    return findings.conclude(Verdict::reported,
                             "L2: LLVM IR differs from the raw kernel's in the listed lines; runs stand in");
  default:
    return findings.conclude(Verdict::reported,
                             "L3: code at the defaults differs from the raw kernel's; runs stand in");
  }
}

} // namespace lathe::refactor
