// `lathe explore`: records the templates that a few actions make, for a policy to learn from.
#include "refactor/app/command.h"
#include "refactor/app/exploration.h"
#include "refactor/app/subject_options.h"
#include "tuner/base/files.h"

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
      "       lathe explore --answers FOLDER --output FOLDER",
      "Records templates that up to --depth actions make of a kernel: the templates wait in an evaluation\n"
      "queue (`lathe tune --queue` answers it), the tree of actions lies in FOLDER/trees. With --answers, "
      "puts\n"
      "the measured times into the trees, for `lathe policy train` and `lathe ablate`.",
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
  if (!line.has("queue"))
    return fail(usage_error("lathe explore", "no queue given", "name its folder with --queue"));
  return record(line, arguments);
}

} // namespace lathe::refactor
