// `lathe ablate PLAN.json`: the arms of the loop at equal budgets on recorded trees.
#include "refactor/app/ablation_report.h"
#include "refactor/app/command.h"
#include "tuner/app/options.h"
#include "tuner/base/files.h"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

namespace lathe::refactor {
namespace {

using namespace agents;
namespace fs = std::filesystem;
namespace po = boost::program_options;

Result<AblationResult> ablate(const fs::path& file, fs::path& output, Baselines& baselines) {
  LATHE_TRY(const std::string text, read_file(file));
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  LATHE_TRY(const AblationPlan plan, plan_from_json(json));
  const auto path_of = [&](const char* name) -> Result<fs::path> {
    if (!json.contains(name) || !json[name].is_string())
      return usage_error("ablation plan " + file.string(), std::string("it lacks ") + name,
                         "docs/agents.md has the fields");
    return (fs::absolute(file).parent_path() / json[name].get<std::string>()).lexically_normal();
  };
  LATHE_TRY(const fs::path recorded, path_of("Trees"));
  if (output.empty()) {
    LATHE_TRY(output, path_of("Output"));
  }
  if (json.contains("Baselines")) {
    LATHE_TRY(const fs::path measured, path_of("Baselines"));
    LATHE_TRY(baselines, read_baselines(measured));
  }
  LATHE_TRY(const std::vector<OfflineTree> trees, read_trees(recorded));
  return run_ablation(trees, plan,
                      [](const std::string& line) { std::fprintf(stderr, "  %s\n", line.c_str()); });
}

Status write_results(const AblationResult& result, const Baselines& baselines, const fs::path& output,
                     const std::string& command) {
  LATHE_CHECK(write_file(output / "agents.md", ablation_markdown(result, baselines, command)));
  LATHE_CHECK(write_file(output / "agents.json", ablation_json(result, baselines).dump(1) + "\n"));
  LATHE_CHECK(write_file(output / "agents.svg", ablation_svg(result)));
  return write_file(output / "agents_memory.dot", result.memory.to_dot());
}

} // namespace

int ablate_command(const Arguments& arguments) {
  CommandLine line(
      "lathe ablate PLAN.json [--output FOLDER]",
      "Runs the loop's arms at equal budgets on recorded trees, one kernel left out at a time, over several\n"
      "seeds, and writes agents.md, agents.json, agents.svg and a picture of the memory.",
      "lathe ablate data/ablation.json");
  line.options().add_options()("output,o", po::value<std::string>(), "folder (default: the plan's Output)");
  if (const auto code = line.parse(arguments))
    return *code;
  if (line.positionals.size() != 1)
    return fail(usage_error("lathe ablate", "expected one plan", "see lathe ablate --help"));
  fs::path output = line.has("output") ? fs::path(line.get<std::string>("output")) : fs::path();
  Baselines baselines;
  const auto result = ablate(line.positionals.front(), output, baselines);
  if (!result.ok())
    return fail(result.error());
  const Status written =
      write_results(*result, baselines, output, "lathe ablate " + line.positionals.front());
  if (!written.ok())
    return fail(written.error());
  std::cout << (output / "agents.md").string() << "\n";
  return 0;
}

} // namespace lathe::refactor
