// `lathe explore`: records the templates that a few actions make, for a policy to learn from.
#include "refactor/agents/counters.h"
#include "refactor/app/command.h"
#include "refactor/app/exploration.h"
#include "refactor/app/subject_options.h"
#include "tuner/base/files.h"
#include "tuner/store/store.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

CommandLine make_command_line() {
  CommandLine line(
      "lathe explore FILE.cu [--kernel NAME] --queue FOLDER [options] [-- compiler flags]\n"
      "       lathe explore --answers FOLDER --output FOLDER\n"
      "       lathe explore --counters FILE --output FOLDER",
      "Records templates that up to --depth actions make of a kernel: the templates wait in an evaluation\n"
      "queue (`lathe tune --queue` answers it), the tree of actions lies in FOLDER/trees. With --answers, "
      "puts\n"
      "the measured times into the trees, for `lathe policy train` and `lathe ablate`; with --counters, the\n"
      "counters of the raw kernels that `lathe tune` read.",
      "lathe explore sglang_kernels/silu_and_mul.cu --kernel act_and_mul_kernel --name silu_and_mul --queue "
      "queue");
  add_subject_options(line.options());
  line.options().add_options()("name", po::value<std::string>(),
                               "name of the templates (default: the kernel's)")(
      "queue", po::value<std::string>(), "folder of the evaluation queue")(
      "depth", po::value<int>()->default_value(6),
      "actions in a row at most")("states", po::value<int>()->default_value(48),
                                  "templates at most: every single action, then random sequences")(
      "whole-rules", "every sequence of whole rules, shortest first, in place of random sequences")(
      "seed", po::value<std::uint64_t>()->default_value(1), "of the random sequences")(
      "most-megabytes", po::value<double>()->default_value(64), "that a problem may move")(
      "evaluations", po::value<int>()->default_value(20), "configurations a template and problem")(
      "problem-count", po::value<int>()->default_value(2), "problems, from the smallest to the largest")(
      "answers", po::value<std::string>(), "an answered queue: read its times")(
      "counters", po::value<std::string>()->value_name("FILE"),
      "a results store: put its counters into the trees of the output folder")(
      "output,o", po::value<std::string>(), "folder for the trees with times");
  return line;
}

int adopt(const fs::path& folder, const fs::path& output) {
  auto trees = agents::read_trees(folder / "trees");
  if (!trees.ok())
    return fail(trees.error());
  const auto answers = EvaluationQueue(folder).answers();
  if (!answers.ok())
    return fail(answers.error());
  for (const std::string& refusal : answers->refused)
    std::fprintf(stderr, "lathe: warning: %s\n", refusal.c_str());
  for (agents::OfflineTree& tree : *trees) {
    const auto measured = agents::adopt_answers(tree, *answers);
    if (!measured.ok())
      return fail(measured.error());
    if (const Status written = agents::write_tree(tree, output / (tree.kernel + ".json")); !written.ok())
      return fail(written.error());
    std::cout << fmt::format("{:<28} {} of {} templates measured, best {:.3f}\n", tree.kernel, *measured,
                             tree.states.size() - 1, tree.best_speedup());
  }
  return 0;
}

// The raw kernel's counters on each problem of the tree that the store has them of, on the tree's device.
Result<int> adopt_counters(agents::OfflineTree& tree, Store& store) {
  LATHE_TRY(const std::vector<StoreKey> keys, store.keys(tree.kernel));
  int found = 0;
  for (std::size_t i = 0; i < tree.problems.size(); ++i)
    for (const StoreKey& key : keys) {
      std::string sizes = key.workload; // "bf16 n=16 d=4096": types, which are no sizes, then dimensions
      std::ranges::replace(sizes, ' ', ',');
      if (key.device != tree.device ||
          agents::dimensions_of(sizes) != agents::dimensions_of(tree.problems[i]))
        continue;
      LATHE_TRY(const std::vector<StoredProfile> profiles, store.profiles(key));
      const auto raw = std::find_if(profiles.rbegin(), profiles.rend(),
                                    [](const StoredProfile& profile) { return !profile.knobs; });
      if (raw == profiles.rend())
        continue;
      tree.problem_counters.resize(tree.problems.size());
      tree.problem_counters[i] = agents::counter_features(profile_counters(raw->profile));
      ++found;
      break;
    }
  return found;
}

int adopt_stored_counters(const fs::path& file, const fs::path& folder) {
  std::error_code failure;
  if (!fs::exists(file, failure))
    return fail(usage_error("cannot read " + file.string(), "there is no such results store",
                            "lathe tune writes one"));
  auto trees = agents::read_trees(folder);
  if (!trees.ok())
    return fail(trees.error());
  auto store = Store::open(file);
  if (!store.ok())
    return fail(store.error());
  for (agents::OfflineTree& tree : *trees) {
    const auto found = adopt_counters(tree, **store);
    if (!found.ok())
      return fail(found.error());
    if (*found == 0)
      continue;
    if (const Status written = agents::write_tree(tree, folder / (tree.kernel + ".json")); !written.ok())
      return fail(written.error());
    std::cout << fmt::format("{:<28} counters of {} of {} problems\n", tree.kernel, *found,
                             tree.problems.size());
  }
  return 0;
}

int record(const CommandLine& line, const Arguments& arguments) {
  auto request = read_subject_options(line, arguments);
  if (!request.ok())
    return fail(request.error());
  auto source = open_source(*request);
  if (!source.ok())
    return fail(source.error());
  if (const Status settled = settle_kernel(*request, **source); !settled.ok())
    return fail(settled.error());
  const auto subject = prepare_subject(*request, **source);
  if (!subject.ok())
    return fail(subject.error());
  ExplorationOptions options;
  options.depth = line.get<int>("depth");
  options.states = line.get<int>("states");
  options.evaluations = line.get<int>("evaluations");
  options.seed = line.get<std::uint64_t>("seed");
  options.whole_rules = line.has("whole-rules");
  options.most_bytes = line.get<double>("most-megabytes") * 1e6;
  options.problems = line.get<int>("problem-count");
  options.name = line.has("name") ? line.get<std::string>("name") : subject->kernel;
  options.say = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  const fs::path folder = fs::absolute(line.get<std::string>("queue")).lexically_normal();
  auto work = TemporaryFolder::create("explore");
  if (!work.ok())
    return fail(work.error());
  const auto tree = explore(*subject, options, EvaluationQueue(folder), work->path());
  if (!tree.ok())
    return fail(tree.error());
  const fs::path file = folder / "trees" / (options.name + ".json");
  if (const Status written = agents::write_tree(*tree, file); !written.ok())
    return fail(written.error());
  std::cout << fmt::format("{} templates of {} wait in {}\ntree: {}\n", tree->states.size() - 1, options.name,
                           folder.string(), file.string());
  return 0;
}

} // namespace

int explore_command(const Arguments& arguments) {
  CommandLine line = make_command_line();
  if (const auto code = line.parse(before_separator(arguments)))
    return *code;
  if (line.has("answers")) {
    if (!line.has("output"))
      return fail(
          usage_error("lathe explore --answers", "no folder for the trees", "give one with --output"));
    return adopt(line.get<std::string>("answers"), line.get<std::string>("output"));
  }
  if (line.has("counters")) {
    if (!line.has("output"))
      return fail(usage_error("lathe explore --counters", "no folder of trees", "name it with --output"));
    return adopt_stored_counters(line.get<std::string>("counters"), line.get<std::string>("output"));
  }
  if (!line.has("queue"))
    return fail(usage_error("lathe explore", "no queue given", "name its folder with --queue"));
  return record(line, arguments);
}

} // namespace lathe::refactor
