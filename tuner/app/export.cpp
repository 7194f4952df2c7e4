// `lathe export`: writes what a build includes.
#include "tuner/app/options.h"
#include "tuner/app/selection.h"
#include "tuner/base/files.h"
#include "tuner/compile/compile.h"
#include "tuner/emit/emit.h"
#include "tuner/spec/spec.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>

namespace lathe {
namespace {

namespace po = boost::program_options;

CommandLine make_command_line() {
  CommandLine line(
      "lathe export SPEC [options]",
      "Writes the winners of the results store for your build: one dependency-free header with all of\n"
      "them (header), one winner as a plain CUDA file (cu), a table for CMake (cmake) or for other\n"
      "programs (json), or one search in the community's T4 format (t4).",
      "lathe export search_spaces/silu_and_mul.json --format header -o include/tuned/silu_and_mul.h");
  line.options().add_options()("format", po::value<std::string>()->default_value("header"), "what to write")(
      "output,o", po::value<std::string>()->value_name("FILE"), "file to write (default: standard output)")(
      "problem", po::value<std::string>(), "which winner cu and t4 are about, such as num_tokens=16,d=4096")(
      "types", po::value<std::string>()->default_value(""), "and its types, such as T=f16")(
      "device", po::value<std::string>(), "only results of this device, by its name")(
      "results", po::value<std::string>()->value_name("FILE"),
      "results store (default: $LATHE_RESULTS or ./lathe-results/results.sqlite)")(
      "allow-host", "also write results of the host executor, labelled as such");
  line.choices("format", {"header", "cu", "cmake", "json", "t4"});
  return line;
}

// The winner that a format about one of them is about: the named one, else the first that was searched.
Result<StoredWinner> choose(const TuningSpec& spec, const std::vector<StoredWinner>& winners,
                            const CommandLine& line) {
  if (line.has("problem")) {
    WorkloadSelection selection;
    selection.problems = {line.get<std::string>("problem")};
    selection.types = line.get<std::string>("types");
    LATHE_TRY(const std::vector<Workload> wanted, select_workloads(spec, selection, {}));
    const std::string key = wanted.front().key();
    for (const StoredWinner& winner : winners)
      if (winner.key.workload == key)
        return winner;
    return Error{"cannot export " + spec.name, "the store holds no winner for " + key,
                 "tune it, or leave --problem out"};
  }
  const auto searched = std::ranges::find_if(
      winners, [](const StoredWinner& winner) { return winner.problem.role == ProblemRole::tune; });
  const StoredWinner& chosen = searched == winners.end() ? winners.front() : *searched;
  if (winners.size() > 1)
    std::fprintf(stderr, "lathe: writing %s on %s, one of %zu winners: --problem chooses another\n",
                 chosen.key.workload.c_str(), chosen.key.device.c_str(), winners.size());
  return chosen;
}

// With constants in the text where that compiles; where a kernel does not take them (a branch that is only
// discarded in a template, a name that is there already), the template as it is.
Result<std::string> render_cuda(const TuningSpec& spec, const StoredWinner& winner,
                                const HeaderOptions& options) {
  std::string message;
  for (const bool substitute : {true, false}) {
    auto made = emit_cuda(spec, winner, options, substitute);
    if (!made.ok()) {
      if (!substitute)
        return made.error();
      message = made.error().sentence();
      continue;
    }
    if (const auto toolkit = find_cuda_toolkit(); !toolkit.ok()) {
      std::fprintf(stderr, "lathe: warning: the file was not compiled: %s\n",
                   toolkit.error().sentence().c_str());
      return made->text;
    }
    const std::string architecture = winner.is_host ? "sm_90" : winner.architecture;
    const auto compiled =
        compile_kernel(made->text, made->instance, made->source.compile_options, architecture);
    if (compiled.ok()) {
      if (!substitute)
        std::fprintf(stderr, "lathe: the knobs stay template parameters: %s\n", message.c_str());
      return made->text;
    }
    message = compiled.error().sentence();
  }
  return Error{"cannot export " + spec.name + " as CUDA", message, "export the header instead"};
}

Result<std::string> render(const TuningSpec& spec, Store& store, const std::vector<StoredWinner>& winners,
                           const CommandLine& line, const HeaderOptions& options) {
  const std::string format = line.get<std::string>("format");
  if (format == "header")
    return emit_header(spec, winners, options);
  if (format == "cmake")
    return emit_cmake(spec, winners, options);
  if (format == "json")
    return emit_json(spec, winners);
  LATHE_TRY(const StoredWinner chosen, choose(spec, winners, line));
  if (format == "cu")
    return render_cuda(spec, chosen, options);
  LATHE_TRY(const std::vector<StoredEvaluation> evaluations, store.evaluations(chosen.key));
  LATHE_TRY(const std::vector<StoredProfile> profiles, store.profiles(chosen.key));
  return emit_t4(spec, chosen.key, evaluations, profiles);
}

std::string command_of(const CommandLine& line) {
  std::string command =
      "lathe export " + line.positionals.front() + " --format " + line.get<std::string>("format");
  for (const char* option : {"problem", "device"})
    if (line.has(option))
      command += fmt::format(" --{} '{}'", option, line.get<std::string>(option));
  if (!line.get<std::string>("types").empty())
    command += " --types " + line.get<std::string>("types");
  return command + (line.has("output") ? " -o " + line.get<std::string>("output") : "");
}

} // namespace

int export_command(const Arguments& arguments) {
  CommandLine line = make_command_line();
  if (const auto code = line.parse(arguments))
    return *code;
  if (line.positionals.size() != 1)
    return fail(usage_error("lathe export", "expected one specification",
                            "name one, such as search_spaces/silu_and_mul.json"));
  auto spec = read_spec(line.positionals.front());
  if (!spec.ok())
    return fail(spec.error());
  const std::string path =
      line.has("results") ? line.get<std::string>("results") : default_store_path().string();
  if (!path_exists(path))
    return fail(
        {"cannot export", "there is no results store at " + path, "run lathe tune first, or give --results"});
  auto store = Store::open(path);
  if (!store.ok())
    return fail(store.error());
  auto winners = (*store)->winners(spec->name);
  if (!winners.ok())
    return fail(winners.error());
  if (line.has("device"))
    std::erase_if(*winners, [&](const StoredWinner& winner) {
      return winner.key.device != line.get<std::string>("device");
    });
  const std::size_t found = winners->size();
  std::erase_if(*winners,
                [&](const StoredWinner& winner) { return winner.key.template_hash != spec->template_hash; });
  if (winners->empty())
    return fail({"cannot export " + spec->name,
                 found > 0 ? "its results belong to another version of the template"
                           : "the store " + path + " holds no winner for it" +
                                 (line.has("device") ? " on " + line.get<std::string>("device") : ""),
                 "run lathe tune " + line.positionals.front()});
  HeaderOptions options;
  options.allow_host = line.has("allow-host");
  options.command = command_of(line);
  auto text = render(*spec, **store, *winners, line, options);
  if (!text.ok())
    return fail(text.error());
  if (!line.has("output")) {
    std::cout << *text;
    return 0;
  }
  const Status written = write_file(line.get<std::string>("output"), *text);
  return written.ok() ? 0 : fail(written.error());
}

} // namespace lathe
