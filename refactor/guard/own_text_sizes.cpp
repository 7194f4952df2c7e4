#include "refactor/guard/own_text_sizes.h"

#include "refactor/guard/matching_blocks.h"
#include "refactor/guard/sparse_run.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace lathe::refactor {
namespace {

constexpr std::size_t MOST_CONFIGURATIONS = 6;
constexpr double SECONDS = 4;                  // a run at most
constexpr std::uint64_t MOST_RAW_BLOCKS = 768; // beside the template's

bool is_at_own_text_sizes(const Workload& workload) {
  return std::ranges::all_of(workload.spec->text_sizes, [&](const TextSize& size) {
    return workload.problem.dimensions.at(size.dimension) == size.value;
  });
}

struct Pair {
  Configuration configuration;
  SparseTrial templated, raw;
};

class Comparison {
public:
  Comparison(const OwnTextSizes& question, const HostKernels& templated)
      : question_(question), templated_(templated) {}

  // Nothing where a side is not compiled, or too many blocks would have to run.
  std::unique_ptr<Pair> pair_of(const Configuration& configuration) const {
    auto pair = std::make_unique<Pair>();
    pair->configuration = configuration;
    const Configuration& own = pair->configuration;
    const HostKernel *raw = question_.raw.find(own.raw_instance, own.macros()),
                     *templated = templated_.find(own.template_instance, own.macros());
    if (!raw || !templated)
      return nullptr;
    const std::vector<std::uint64_t> blocks = blocks_at({0, 0.37, 0.83}, blocks_of(own.template_launch));
    const bool is_one_geometry =
        own.raw_launch.grid == own.template_launch.grid && own.raw_launch.block == own.template_launch.block;
    std::vector<std::uint64_t> of_raw =
        is_one_geometry ? blocks
                        : blocks_around(blocks, own.template_launch, own.raw_launch, Matching::possible);
    if (of_raw.size() > MOST_RAW_BLOCKS + blocks.size())
      return nullptr;
    pair->templated = trial(templated, own.template_launch, own, blocks);
    pair->raw = trial(raw, own.raw_launch, own, std::move(of_raw));
    return pair;
  }

  std::string difference(const Pair& pair, const SparseResult& templated, const SparseResult& raw,
                         Agreement agreement) const {
    return compare_sparse(*pair.configuration.workload, question_.seed, templated, raw, agreement,
                          question_.sizes.front()->unordered);
  }

  // Whether what blocks of both write is the same at a size where all is known to be.
  bool is_told_by_blocks(const Configuration& own) const {
    for (const ReferenceRuns* size : question_.sizes) {
      auto bound = bind_configuration(size->workload, own.knobs);
      if (!bound || !admitted(*size->workload, own.knobs) ||
          !templated_.find(bound->template_instance, bound->macros()))
        continue;
      const auto pair = pair_of(*bound);
      if (!pair)
        continue;
      const std::vector<SparseResult> results = run_sparsely(std::vector{pair->templated, pair->raw});
      return results[0].clean && results[1].clean &&
             difference(*pair, results[0], results[1], Agreement::where_both).empty();
    }
    return false;
  }

private:
  SparseTrial trial(const HostKernel* kernel, const Launch& launch, const Configuration& configuration,
                    std::vector<std::uint64_t> blocks) const {
    return {kernel,
            &launch,
            configuration.workload.get(),
            std::move(blocks),
            question_.seed,
            question_.barriers_by_count,
            SECONDS};
  }

  const OwnTextSizes& question_;
  const HostKernels& templated_;
};

} // namespace

bool is_for_own_text_sizes(const OwnTextSizes& question) {
  return !question.subject.spec.text_sizes.empty() && !question.sizes.empty() &&
         std::ranges::none_of(
             question.sizes, [](const ReferenceRuns* size) { return is_at_own_text_sizes(*size->workload); });
}

std::vector<Configuration> configurations_at_own_text_sizes(const OwnTextSizes& question) {
  const auto& types = question.sizes.front()->workload->types;
  std::vector<Configuration> asked;
  std::set<std::string> instances;
  const auto ask = [&](const Configuration& configuration) {
    if (asked.size() < MOST_CONFIGURATIONS && configuration.workload->types == types &&
        instances.insert(configuration.template_instance).second)
      asked.push_back(configuration);
  };
  if (!question.same_code)
    for (const Configuration& configuration : question.subject.defaults)
      ask(configuration);
  for (const Configuration& configuration : question.subject.sampled)
    ask(configuration);
  return asked;
}

OwnTextFindings compare_at_own_text_sizes(const OwnTextSizes& question, const HostKernels& templated,
                                          const std::vector<Configuration>& configurations) {
  const Comparison comparison(question, templated);
  std::vector<std::unique_ptr<Pair>> pairs; // trials point into them
  std::vector<SparseTrial> trials;
  for (const Configuration& configuration : configurations)
    if (comparison.is_told_by_blocks(configuration))
      if (auto pair = comparison.pair_of(configuration)) {
        trials.push_back(pair->templated);
        trials.push_back(pair->raw);
        pairs.push_back(std::move(pair));
      }
  const std::vector<SparseResult> results = run_sparsely(trials, question.jobs);
  OwnTextFindings findings;
  std::size_t compared = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const SparseResult &own = results[2 * i], &raw = results[2 * i + 1];
    const Pair& pair = *pairs[i];
    if (!raw.clean || own.out_of_time)
      continue;
    if (!own.clean) {
      findings.problem = own.problem + ", at " + pair.configuration.text();
      return findings;
    }
    if (!question.has_atomics)
      if (const std::string found = comparison.difference(pair, own, raw, Agreement::where_both);
          !found.empty()) {
        findings.problem = found + ", at " + pair.configuration.text();
        return findings;
      }
    // Where the template's blocks have written nothing else, all of theirs was looked at.
    if (own.written > 0 && comparison.difference(pair, own, raw, Agreement::within).empty())
      ++compared;
  }
  findings.is_compared = compared > 0;
  if (findings.is_compared)
    findings.evidence =
        fmt::format("at the sizes that the texts have ({}), the first, the last and some blocks "
                    "between of {} configurations agree",
                    pairs.front()->configuration.workload->key(), compared);
  return findings;
}

} // namespace lathe::refactor
