// Judges every candidate template, whoever wrote it, against the raw kernel, and writes the certificate.
// Fails closed: what a check cannot decide is undecided, never passed. docs/guard.md says what each check
// establishes.
#pragma once

#include "refactor/rewrite/rewrite.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::refactor {

// What a check concluded.
//   proved     follows for everything that the check covers ("same machine code")
//   tested     held in every run that was made; the evidence lists them
//   reported   nothing to refuse, but something that the reader must know (a hazard of the raw kernel)
//   undecided  could not be established
//   failed     the template does something that the raw kernel does not, or something illegal
//   skipped    was not asked for, or an earlier failure left nothing to look at
enum class Verdict { proved, tested, reported, undecided, failed, skipped };
std::string_view to_string(Verdict verdict);

// Begin what is undecided of a template that may be decided of one with fewer knobs: the raw kernel runs.
inline constexpr const char* NOT_ADMITTED = "no size at which the raw kernel runs clean is admitted at ";
inline constexpr const char* NEVER_RAN = "code that ran at none of the sizes and configurations: ";
// Is, or begins, what is undecided where the raw kernel is too much work.
inline constexpr const char* NONE_SMALL_ENOUGH = "no size is small enough to be run on the host executor";
inline constexpr const char* TIME_LEFT_NO_RUN = "the time limit left no run ";
// Begins what is undecided whatever the template is: the sizes do not go together.
inline constexpr const char* RUNS_NOWHERE = "the raw kernel runs clean at none of ";

struct CheckResult {
  std::string check; // "well-formed", "interface", "identity", "effects", ...
  Verdict verdict = Verdict::undecided;
  std::string detail;                // what was looked at and found, one or two sentences
  std::vector<std::string> evidence; // configurations, shapes, seeds, hashes
  double seconds = 0;
  // Of the checks that run both kernels: how many runs were made, and how many were equal bit for bit.
  std::size_t runs = 0, identical_runs = 0;
  // And at how many sizes the raw kernel was run on buffers that begin one element behind an aligned address,
  // and at how many of these it ran.
  std::size_t misaligned_sizes = 0, misaligned_sizes_served = 0;
  // Results whose order the raw kernel leaves to its threads, by name: only which elements they hold is
  // compared.
  std::vector<std::string> unordered{};
};

// Who wrote the template; the guard judges all alike.
struct Authorship {
  std::string kind = "unknown"; // "rules", "model", or in words who did what
  std::string model;            // by its own provider's word
  std::string transcript_hash;  // of the conversation that the template comes from
};

struct Certificate {
  std::string kernel, raw_hash, template_hash, contract_hash, reference_hash, lathe_version;
  std::string identity_level; // "L0".."L4" per instantiation summarised by the worst
  std::vector<CheckResult> checks;
  std::vector<std::string> trusted; // stand-ins, compilers, versions
  std::vector<std::string> flags;
  Authorship author;
  std::uint64_t seed = 0; // that decided samples, data and schedules
  double seconds = 0;
  bool accepted() const; // every check was made, none failed and none is undecided
};

class TrialMemory;

// For judgements of several templates against one raw kernel: what the raw kernel's runs gave is remembered,
// and the same runs are not made again. That saves nothing where each judgement draws a seed of its own.
std::shared_ptr<TrialMemory> remember_raw_runs();

struct GuardOptions {
  std::uint64_t seed = 0; // 0: drawn from the system, secret until written into the certificate
  int sampled_configurations = 8;
  // Whether the kernels also run on a GPU, once every other check has passed.
  enum class DeviceUse {
    none,
    where_there_is_one, // what cannot be opened is told in Certificate::trusted
    required            // what cannot be opened leaves the check undecided
  } device_use = DeviceUse::none;
  int device = 0; // its index
  // Tools of compute-sanitizer that watch the runs there: "memcheck", "racecheck", "initcheck", "synccheck".
  std::vector<std::string> sanitizer_tools;
  int jobs = 0;
  double time_limit_s = 120; // of the differential runs; what it left out is in their evidence
  std::string architecture = "sm_90";
  // Statements for the start of the raw kernel's body, and launch bounds for it, under which the default is
  // meant to be identical. {NAME} stands for a knob's default, a dimension or sizeof_<T>. The guard uses a
  // statement only when it follows from the raw kernel's own launch; it derives the usual ones (block
  // dimensions) by itself.
  std::vector<std::string> raw_preconditions;
  std::string raw_launch_bounds;
  // Compile commands' include folders and macros for files that are not self-contained.
  std::vector<std::string> flags;
  // Stop at the first check that fails: the rest is skipped.
  bool stop_at_failure = false;
  // Whether a template that an earlier check failed is run all the same.
  bool run_refused = true;
  // Asked where the raw kernel is too large a launch at every size: whether it is run all the same. None: it
  // is.
  std::function<bool()> takes_large_runs;
  // remember_raw_runs(), shared between judgements; none: each makes all of its runs.
  std::shared_ptr<TrialMemory> raw_runs;
};

// `raw` and `spec.kernel` are self-contained files; `spec` names both. An Error means that there is nothing
// to judge (a file is missing, the raw kernel itself does not compile); every fault of the template is in the
// certificate.
Result<Certificate> judge(const TuningSpec& spec, const GuardOptions& options);

nlohmann::json to_json(const Certificate& certificate);
// Reads to_json()'s object back.
Result<Certificate> certificate_from_json(const nlohmann::json& json);

} // namespace lathe::refactor
