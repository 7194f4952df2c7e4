// `lathe memory show|merge|export` and `lathe policy train|show`.
#include "refactor/agents/agents.h"
#include "refactor/app/command.h"
#include "tuner/app/options.h"
#include "tuner/base/files.h"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace lathe::refactor {
namespace {

using namespace agents;
namespace po = boost::program_options;

int show_memory(const TransitionGraph& memory) {
  const ScoreOptions options;
  std::cout << fmt::format("{:.0f} attempts remembered\n", memory.tries());
  for (std::size_t i = 0; i < direction_count; ++i) {
    const auto direction = static_cast<Direction>(i);
    std::cout << fmt::format("{:<24} score {:+.3f}\n", to_string(direction),
                             memory.score(direction, {}, {}, options));
    for (const std::string& strategy : memory.strategies(direction, options))
      std::cout << fmt::format("  {:<34} worth {:+.3f}\n", strategy,
                               memory.strategy_score(direction, strategy, options));
    for (std::size_t j = 0; j < direction_count; ++j)
      if (const Experience seen = memory.transition(direction, static_cast<Direction>(j)); seen.tries > 0)
        std::cout << fmt::format("  -> {:<31} {:.1f} tries, mean gain {:+.3f}\n",
                                 to_string(static_cast<Direction>(j)), seen.tries, seen.gain / seen.tries);
  }
  return 0;
}

int memory_merge(const std::vector<std::string>& files, const std::string& output) {
  TransitionGraph all;
  for (const std::string& file : files) {
    auto memory = read_memory(file);
    if (!memory.ok())
      return fail(memory.error());
    all.merge(*memory);
  }
  if (const Status written = write_memory(all, output); !written.ok())
    return fail(written.error());
  std::cout << fmt::format("{}: {:.0f} attempts\n", output, all.tries());
  return 0;
}

// What uniform choices on recorded trees teach: a warm start.
int memory_learn(const std::string& recorded, const std::string& output) {
  const auto trees = read_trees(recorded);
  if (!trees.ok())
    return fail(trees.error());
  TransitionGraph all;
  for (const OfflineTree& tree : *trees)
    all.merge(memory_of(tree, 1));
  if (const Status written = write_memory(all, output); !written.ok())
    return fail(written.error());
  std::cout << fmt::format("{}: {:.0f} attempts on {} kernels\n", output, all.tries(), trees->size());
  return 0;
}

} // namespace

int memory_command(const Arguments& arguments) {
  CommandLine line(
      "lathe memory show FILE | merge FILE... -o FILE | export FILE [-o FILE.dot] | learn TREES -o FILE",
      "The transition memory of lathe optimize: what it knows, several of them as one, and a picture "
      "for Graphviz.",
      "lathe memory merge night1.json night2.json -o memory.json");
  line.options().add_options()("output,o", po::value<std::string>(), "file to write");
  if (const auto code = line.parse(arguments))
    return *code;
  const auto& words = line.positionals;
  const std::string output = line.has("output") ? line.get<std::string>("output") : "";
  const std::string verb = words.empty() ? "" : words.front();
  if (verb == "merge" && words.size() > 1 && !output.empty())
    return memory_merge({words.begin() + 1, words.end()}, output);
  if (verb == "learn" && words.size() == 2 && !output.empty())
    return memory_learn(words[1], output);
  if ((verb != "show" && verb != "export") || words.size() != 2)
    return fail(usage_error("lathe memory",
                            "expected show FILE, merge FILE... -o FILE, export FILE, or learn TREES -o FILE",
                            "see lathe memory --help"));
  const auto memory = read_memory(words[1]);
  if (!memory.ok())
    return fail(memory.error());
  if (verb == "show")
    return show_memory(*memory);
  if (output.empty()) {
    std::cout << memory->to_dot();
    return 0;
  }
  const Status written = write_file(output, memory->to_dot());
  return written.ok() ? 0 : fail(written.error());
}

int policy_command(const Arguments& arguments) {
  CommandLine line(
      "lathe policy train TREES -o FILE [options] | show FILE",
      "Trains the macro policy on recorded trees (a folder that lathe explore --answers wrote), or shows\n"
      "the weights that decide most.",
      "lathe policy train data/offline -o policy.json");
  line.options().add_options()("output,o", po::value<std::string>(), "file to write")(
      "rounds", po::value<int>()->default_value(TrainingOptions{}.rounds),
      "of training")("seed", po::value<std::uint64_t>()->default_value(1),
                     "of training")("without", po::value<std::string>(), "a kernel that is left out");
  if (const auto code = line.parse(arguments))
    return *code;
  const auto& words = line.positionals;
  if (words.size() == 2 && words[0] == "show") {
    const auto policy = read_policy(words[1]);
    if (!policy.ok())
      return fail(policy.error());
    std::vector<std::size_t> order(policy->weights.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::abs(policy->weights[a]) > std::abs(policy->weights[b]);
    });
    std::cout << policy->provenance << "\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 25); ++i)
      std::cout << fmt::format("  {:+.3f}  {}\n", policy->weights[order[i]],
                               Policy::feature_names()[order[i]]);
    return 0;
  }
  if (words.size() != 2 || words[0] != "train" || !line.has("output"))
    return fail(
        usage_error("lathe policy", "expected train TREES -o FILE, or show FILE", "see lathe policy --help"));
  auto trees = read_trees(words[1]);
  if (!trees.ok())
    return fail(trees.error());
  if (line.has("without"))
    std::erase_if(*trees,
                  [&](const OfflineTree& tree) { return tree.kernel == line.get<std::string>("without"); });
  TrainingOptions options;
  options.rounds = line.get<int>("rounds");
  options.seed = line.get<std::uint64_t>("seed");
  const auto trained = train_policy(*trees, options);
  if (!trained.ok())
    return fail(trained.error());
  if (const Status written = write_policy(trained->policy, line.get<std::string>("output")); !written.ok())
    return fail(written.error());
  const std::vector<double>& curve = trained->curve.mean_return;
  for (std::size_t i = 0; i < curve.size(); i += std::max<std::size_t>(curve.size() / 10, 1))
    std::cout << fmt::format("round {:<4} mean return {:+.3f}\n", i + 1, curve[i]);
  std::cout << fmt::format("round {:<4} mean return {:+.3f}\n{:.1f} s; {}\n", curve.size(), curve.back(),
                           trained->curve.seconds, trained->policy.provenance);
  return 0;
}

} // namespace lathe::refactor
