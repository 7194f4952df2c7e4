#include "refactor/guard/checks.h"
#include "refactor/guard/device_runs.h"

#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/measure/host_executor/host_executor.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <random>

namespace lathe::refactor {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::uint64_t secret_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

CheckResult skipped(const char* check, const std::string& why) {
  CheckResult result;
  result.check = check;
  result.verdict = Verdict::skipped;
  result.detail = why;
  return result;
}

class Judge {
public:
  Judge(const TuningSpec& spec, const GuardOptions& options) : spec_(spec), options_(options) {}

  Result<Certificate> run() {
    const auto start = std::chrono::steady_clock::now();
    certificate_.kernel = spec_.name;
    certificate_.lathe_version = LATHE_VERSION;
    certificate_.seed = options_.seed ? options_.seed : secret_seed();
    LATHE_TRY(Preparation preparation, prepare(spec_, options_, certificate_.seed));
    JudgedPair& subject = *preparation.subject;
    certificate_.raw_hash = content_hash(subject.raw_text);
    certificate_.template_hash = content_hash(subject.template_text);
    certificate_.contract_hash = contract_hash(spec_);
    certificate_.reference_hash = reference_hash(spec_);
    if (!preparation.template_problem.empty())
      return refuse(preparation.template_problem, start);
    // Machine code comes from other processes while clang parses here.
    LATHE_TRY(ImageCompiler compiler, ImageCompiler::create(options_));
    auto building = std::async(std::launch::async, [&] { return compile_images(compiler, subject); });
    const Status parsed = parse_sides(preparation);
    const Images images = building.get();
    LATHE_CHECK(parsed);
    if (subject.raw.source)
      certificate_.flags = portable_command(subject.raw.source->command(), std::filesystem::current_path());
    for (const Image& image : images.raw_defaults)
      if (!image.outcome.ok())
        return Error{"the raw kernel does not compile", image.outcome.message,
                     "judge a template against a raw kernel that compiles alone"};
    if (!preparation.template_problem.empty())
      return refuse(preparation.template_problem, start);
    note_trusted(compiler, subject);

    make([&] { return check_well_formed(subject, images); });
    make([&] { return check_interface(subject); });
    make([&] { return check_identity(subject, images, compiler, certificate_.identity_level); });
    make([&] { return check_effects(subject); });
    make([&] { return check_synchronisation(subject); });
    make([&] { return check_bounds(subject); });
    make([&] { return check_precision(subject); });
    make([&] { return check_literals(subject); });
    make([&] { return check_resources(subject, images); });
    // What does not compile or cannot be called alike cannot be run.
    if (failed("well-formed") || failed("interface"))
      skip_rest("the template cannot be run in the raw kernel's place");
    else if (!options_.run_refused && any_failed())
      skip_rest("what an earlier check refused is not run");
    else
      make([&] { return check_differential(subject, certificate_.identity_level, ran_); });
    if (options_.device_use != GuardOptions::DeviceUse::none && certificate_.accepted())
      run_on_device(subject);
    if (certificate_.identity_level.empty() ||
        (certificate_.identity_level >= "L2" && !certificate_.accepted()))
      certificate_.identity_level = "L4";
    certificate_.seconds = seconds_since(start);
    return std::move(certificate_);
  }

private:
  // There is nothing that the other checks could look at.
  Certificate refuse(const std::string& problem, std::chrono::steady_clock::time_point start) {
    CheckResult result;
    result.check = "well-formed";
    result.verdict = Verdict::failed;
    result.detail = problem;
    certificate_.checks.push_back(std::move(result));
    certificate_.identity_level = "L4";
    skip_rest("the template is not well-formed");
    certificate_.seconds = seconds_since(start);
    return std::move(certificate_);
  }

  bool failed(const char* check) const {
    return std::any_of(certificate_.checks.begin(), certificate_.checks.end(),
                       [&](const CheckResult& result) {
                         return result.check == check && result.verdict == Verdict::failed;
                       });
  }

  bool any_failed() const {
    return std::ranges::any_of(certificate_.checks,
                               [](const CheckResult& result) { return result.verdict == Verdict::failed; });
  }

  void make(const std::function<CheckResult()>& check) {
    const bool stop =
        options_.stop_at_failure &&
        std::any_of(certificate_.checks.begin(), certificate_.checks.end(),
                    [](const CheckResult& result) { return result.verdict == Verdict::failed; });
    if (stop) {
      certificate_.checks.push_back(skipped(CHECKS[certificate_.checks.size()], "an earlier check failed"));
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    CheckResult result = check();
    result.seconds = seconds_since(start);
    certificate_.checks.push_back(std::move(result));
  }

  // The results whose order the raw kernel leaves to its threads, as far as a check found them.
  std::vector<std::string> unordered() const {
    std::vector<std::string> names;
    for (const CheckResult& check : certificate_.checks)
      names.insert(names.end(), check.unordered.begin(), check.unordered.end());
    return names;
  }

  void run_on_device(const JudgedPair& subject) {
    auto backend = make_cuda_backend(options_.device);
    if (!backend && options_.device_use == GuardOptions::DeviceUse::where_there_is_one) {
      certificate_.trusted.push_back("no GPU: " + backend.error().sentence());
      return;
    }
    make([&] {
      if (backend.ok())
        return check_device(subject, ran_, **backend, unordered());
      CheckResult result;
      result.check = "device";
      result.detail = backend.error().sentence();
      return result;
    });
    if (backend.ok())
      backend->reset(); // the tools' processes want the device
    if (!options_.sanitizer_tools.empty() && certificate_.accepted())
      make([&] { return check_sanitizer(subject, ran_, options_.device, options_.sanitizer_tools); });
  }

  void skip_rest(const std::string& why) {
    while (certificate_.checks.size() < std::size(CHECKS))
      certificate_.checks.push_back(skipped(CHECKS[certificate_.checks.size()], why));
  }

  void note_trusted(const ImageCompiler& compiler, const JudgedPair& subject) {
    certificate_.trusted.push_back("NVRTC " + compiler.version() + " for " + options_.architecture);
    certificate_.trusted.push_back("clang/LLVM " LATHE_LLVM_VERSION);
    if (const auto host = host_compiler())
      certificate_.trusted.push_back("host executor with " + *host);
    for (const std::string& stand_in : subject.trusted)
      certificate_.trusted.push_back(stand_in);
  }

  const TuningSpec& spec_;
  const GuardOptions& options_;
  Certificate certificate_;
  std::vector<Configuration> ran_; // by the differential check
};

} // namespace

Result<Certificate> judge(const TuningSpec& spec, const GuardOptions& options) {
  return Judge(spec, options).run();
}

} // namespace lathe::refactor
