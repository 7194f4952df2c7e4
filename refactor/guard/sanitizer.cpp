// Both kernels on a GPU under compute-sanitizer.
#include "refactor/guard/device_runs.h"
#include "refactor/guard/device_sizes.h"
#include "refactor/guard/sanitizer_log.h"
#include "tuner/base/files.h"
#include "tuner/compile/compile.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <unistd.h>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* SANITIZER = "compute-sanitizer";
constexpr double SLOWER = 30;                 // a watched launch, than one that nobody watches, at most
constexpr const char* MOST_RECORDS = "10000"; // of a process: a launch can have one for each of its threads

// Beside the toolkit's compiler, or on the path.
Result<std::string> find_sanitizer() {
  std::vector<fs::path> folders;
  if (const auto toolkit = find_cuda_toolkit(); toolkit.ok())
    folders.push_back(toolkit->home / "bin");
  if (const char* path = std::getenv("PATH")) {
    std::istringstream list(path);
    for (std::string folder; std::getline(list, folder, ':');)
      folders.emplace_back(folder);
  }
  for (const fs::path& folder : folders)
    if (const fs::path candidate = folder / SANITIZER; ::access(candidate.c_str(), X_OK) == 0)
      return candidate.string();
  return Error{"cannot run compute-sanitizer", "it is neither in the CUDA toolkit nor on PATH",
               "install the toolkit's compute-sanitizer, or leave --sanitizer out"};
}

// The logs of a tool's processes, of which there are several where one was lost.
class Logs {
public:
  static Result<Logs> create() {
    LATHE_TRY(TemporaryFolder folder, TemporaryFolder::create("sanitizer"));
    return Logs(std::move(folder));
  }

  std::string pattern() const { return (folder_.path() / "%p.log").string(); }

  // What was written since the last call. A tool writes a record before the call that waited for the kernel
  // returns.
  Result<std::vector<SanitizerFinding>> take() {
    std::vector<SanitizerFinding> findings;
    std::error_code failure;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path(), failure)) {
      if (entry.path().extension() != ".log")
        continue;
      LATHE_TRY(const std::string text, read_file(entry.path()));
      std::size_t& seen = seen_[entry.path()];
      for (SanitizerFinding& finding : parse_sanitizer_log(std::string_view(text).substr(seen)))
        findings.push_back(std::move(finding));
      seen = text.size();
    }
    if (failure)
      return Error{"cannot read the logs of compute-sanitizer", failure.message(), ""};
    return findings;
  }

private:
  explicit Logs(TemporaryFolder folder) : folder_(std::move(folder)) {}
  TemporaryFolder folder_;
  std::map<fs::path, std::size_t> seen_;
};

class Sanitizer {
public:
  Sanitizer(const JudgedPair& subject, int device, std::string program)
      : subject_(subject), device_(device), program_(std::move(program)), findings_("sanitizer") {
    measure_.verify_only = true;
    measure_.seed = subject.seed;
    measure_.jobs = subject.options.jobs;
    measure_.time_limit_s *= SLOWER;
  }

  // An Error: the tool could not be run at all.
  Status run(const std::string& tool, const std::vector<Configuration>& ran) {
    const auto deadline = Clock::now() + std::chrono::milliseconds(
                                             static_cast<long long>(subject_.options.time_limit_s * 1000));
    LATHE_TRY(Logs logs, Logs::create());
    LATHE_TRY(const std::unique_ptr<Backend> backend,
              make_cuda_backend(device_, {program_, "--tool", tool, "--log-file", logs.pattern(),
                                          "--demangle", "no", "--show-backtrace", "no", "--report-api-errors",
                                          "no", "--print-limit", MOST_RECORDS}));
    std::set<std::string> of_raw; // kinds
    std::vector<std::pair<SanitizerFinding, std::string>> of_runs;
    std::size_t late = 0;
    const std::size_t runs_before = runs_;
    for (const DeviceSize& size : boundary_sizes(subject_, ran, backend->device())) {
      if (Clock::now() >= deadline) {
        ++late;
        continue;
      }
      const Status prepared = backend->prepare(*size.workload, measure_, size.configurations);
      LATHE_TRY(const std::vector<SanitizerFinding> raw, logs.take());
      for (const SanitizerFinding& finding : raw)
        of_raw.insert(finding.kind);
      if (!prepared) {
        findings_.evidence(tool + " left out " + size.workload->key() + ": " + prepared.error().sentence());
        continue;
      }
      for (const KnobValues& knobs : size.configurations) { // one by one: its findings are its own
        LATHE_TRY(const std::vector<Measurement> measured, backend->evaluate({&knobs, 1}, 0));
        LATHE_TRY(std::vector<SanitizerFinding> found, logs.take());
        note(tool, size.text(knobs), measured.front(), !found.empty());
        for (SanitizerFinding& finding : found)
          of_runs.emplace_back(std::move(finding), size.text(knobs));
      }
    }
    // The raw kernel is looked at on its own at every size before anything is held against the template.
    for (const auto& [finding, where] : of_runs)
      if (of_raw.contains(finding.kind))
        findings_.report(tool + " finds in the raw kernel, too: " + finding.kind);
      else
        findings_.fail(tool + ": " + finding.text() + " at " + where);
    if (runs_ == runs_before)
      findings_.undecided(tool + " watched no run");
    if (late)
      findings_.evidence(tool + " left out " + std::to_string(late) + " sizes for the time limit");
    tools_ += (tools_.empty() ? "" : ", ") + tool;
    return Done{};
  }

  void could_not_run(const std::string& tool, const Error& error) {
    findings_.undecided(tool + ": " + error.sentence());
  }

  CheckResult conclude() {
    CheckResult result = findings_.conclude(
        Verdict::tested, tools_ + " of compute-sanitizer watched " + std::to_string(runs_) +
                             " runs of the template and found nothing that the raw kernel does not do");
    result.runs = runs_;
    result.identical_runs = identical_runs_;
    return result;
  }

private:
  void note(const std::string& tool, const std::string& where, const Measurement& measurement,
            bool is_explained) {
    if (measurement.outcome == Outcome::resource_limit)
      return;
    ++runs_;
    identical_runs_ += measurement.outcome == Outcome::ok && measurement.error == 0;
    if (measurement.outcome != Outcome::ok && !is_explained)
      findings_.fail(std::string(to_string(measurement.outcome)) + " under " + tool + ": " +
                     measurement.reason + " at " + where);
  }

  const JudgedPair& subject_;
  int device_;
  std::string program_, tools_;
  MeasureOptions measure_;
  Findings findings_;
  std::size_t runs_ = 0, identical_runs_ = 0;
};

} // namespace

CheckResult check_sanitizer(const JudgedPair& subject, const std::vector<Configuration>& ran, int device,
                            const std::vector<std::string>& tools) {
  const auto program = find_sanitizer();
  Sanitizer sanitizer(subject, device, program.ok() ? *program : "");
  for (const std::string& tool : tools)
    if (!program)
      sanitizer.could_not_run(tool, program.error());
    else if (const Status done = sanitizer.run(tool, ran); !done)
      sanitizer.could_not_run(tool, done.error());
  return sanitizer.conclude();
}

} // namespace lathe::refactor
