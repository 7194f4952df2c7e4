#include "refactor/guard/equivalence.h"

#include "refactor/guard/images.h"
#include "refactor/guard/mutation_kinds.h"
#include "tuner/space/space.h"

#include <algorithm>

namespace lathe::refactor {
namespace {

// Enough for a mistake that one seed in three misses to be found with 96 %.
constexpr int FURTHER_SEEDS = 3;

bool same_launch(const Launch& a, const Launch& b) {
  return a.grid == b.grid && a.block == b.block && a.shared_bytes == b.shared_bytes;
}

// The text with the facts of one launch at the start of the kernel's body, and without launch bounds.
std::optional<std::string> with_launch_facts(const TemplateText& side, const Launch& launch) {
  const TokenText tokens(side.text);
  const auto signature = kernel_signature(tokens, side.spec);
  if (!signature)
    return std::nullopt;
  std::string facts;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string name(1, static_cast<char>('x' + axis));
    const auto assume = [&](const std::string& fact) { facts += " __builtin_assume(" + fact + ");"; };
    for (const auto& [size, index, count] : {std::tuple{"blockDim.", "threadIdx.", launch.block[axis]},
                                             {"gridDim.", "blockIdx.", launch.grid[axis]}}) {
      const std::string number = std::to_string(count) + "u";
      assume(size + name + " == " + number);
      assume(index + name + (count == 1 ? " == 0u" : " < " + number));
    }
  }
  std::string text = side.text;
  text.insert(tokens[signature->body].end, facts);
  return "#undef __launch_bounds__\n#define __launch_bounds__(...)\n" + text;
}

class CodeComparison {
public:
  CodeComparison(const TemplateText& original, const TemplateText& mutant, ImageCompiler& compiler)
      : original_(original), mutant_(mutant), compiler_(compiler) {}

  bool same(const Configuration& configuration) {
    const auto launch =
        bind_launch(original_.spec.kernel.launch, *configuration.workload, configuration.knobs);
    if (!launch || !same_launch(*launch, configuration.template_launch))
      return false;
    if (same_image(original_.text, mutant_.text, configuration))
      return true;
    const auto ours = with_launch_facts(original_, *launch), theirs = with_launch_facts(mutant_, *launch);
    return ours && theirs && same_image(*ours, *theirs, configuration);
  }

private:
  bool same_image(const std::string& ours, const std::string& theirs, const Configuration& configuration) {
    const auto image = [&](const std::string& text) {
      KernelSource source = mutant_.spec.kernel;
      source.file = original_.spec.kernel.file; // its name is in the code of an assertion
      return compiler_.compile(text, source, configuration.macros(), {configuration.template_instance});
    };
    const auto a = image(ours), b = image(theirs);
    return !a.empty() && !b.empty() && a[0].outcome.ok() && b[0].outcome.ok() && a[0].image == b[0].image;
  }
  const TemplateText &original_, &mutant_;
  ImageCompiler& compiler_;
};

Result<Certificate> judge_under(const TuningSpec& spec, const GuardOptions& options, std::uint64_t seed) {
  GuardOptions settings = options;
  settings.seed = seed;
  settings.stop_at_failure = true;
  return judge(spec, settings);
}

// Runs whose results are near the raw kernel's, but not equal bit for bit.
std::size_t inexact_runs(const Certificate& certificate) {
  std::size_t runs = 0;
  for (const CheckResult& check : certificate.checks)
    runs += check.runs - check.identical_runs;
  return runs;
}

} // namespace

bool has_same_code(const TemplateText& original, const TemplateText& mutant, const GuardOptions& options,
                   std::uint64_t seed) {
  auto compiler = ImageCompiler::create(options);
  const auto prepared = prepare(mutant.spec, options, seed);
  if (!compiler || !prepared || !prepared->template_problem.empty())
    return false;
  CodeComparison comparison(original, mutant, *compiler);
  const auto same = [&](const Configuration& configuration) { return comparison.same(configuration); };
  return std::ranges::all_of(prepared->subject->defaults, same) &&
         std::ranges::all_of(prepared->subject->sampled, same);
}

Result<std::size_t> FurtherSeeds::original_inexact_runs(std::uint64_t seed) {
  if (const auto known = inexact_runs_.find(seed); known != inexact_runs_.end())
    return known->second;
  LATHE_TRY(const Certificate certificate, judge_under(original_, options_, seed));
  return inexact_runs_[seed] = inexact_runs(certificate);
}

Result<std::optional<std::string>> FurtherSeeds::difference(const TuningSpec& mutant, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < FURTHER_SEEDS; ++i) {
    const std::uint64_t next = random() | 1; // 0 would be drawn anew
    const std::string under = "under the seed " + std::to_string(next);
    LATHE_TRY(const Certificate certificate, judge_under(mutant, options_, next));
    if (!certificate.accepted()) {
      for (const CheckResult& check : certificate.checks)
        if (check.verdict == Verdict::failed || check.verdict == Verdict::undecided)
          return std::optional("refused " + under + " by " + check.check + ": " + check.detail);
      return std::optional("not accepted " + under);
    }
    LATHE_TRY(const std::size_t expected, original_inexact_runs(next));
    if (inexact_runs(certificate) > expected)
      return std::optional(std::to_string(inexact_runs(certificate)) +
                           " runs do not equal the raw kernel's bit for bit " + under +
                           ", and of the original's " + std::to_string(expected));
  }
  return std::optional<std::string>();
}

} // namespace lathe::refactor
