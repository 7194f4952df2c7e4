// Judges every candidate template, whoever wrote it, against the raw kernel. Fails closed.
#pragma once

#include "refactor/rewrite/rewrite.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace lathe::refactor {

enum class Verdict { proved, tested, reported, undecided, failed, skipped };
std::string_view to_string(Verdict verdict);

struct CheckResult {
  std::string check;    // "well-formed", "interface", "identity", "effects", ...
  Verdict verdict = Verdict::undecided;
  std::string detail;   // what was looked at and found, one or two sentences
  std::vector<std::string> evidence; // configurations, shapes, seeds, hashes
  double seconds = 0;
};

struct Certificate {
  std::string kernel, raw_hash, template_hash, lathe_version;
  std::string identity_level; // "L0".."L4" per instantiation summarised by the worst
  std::vector<CheckResult> checks;
  std::vector<std::string> trusted; // stand-ins, compilers, versions
  std::vector<std::string> flags;
  bool accepted() const; // no check failed and none that must decide is undecided
};

struct GuardOptions {
  std::uint64_t seed = 0;   // 0: drawn from the system, secret until written into the certificate
  int sampled_configurations = 8;
  bool use_gpu = false;
  int jobs = 0;
  double time_limit_s = 120;
  std::string architecture = "sm_90";
};

// `raw` and `spec.kernel` are self-contained files; `spec` names both.
Result<Certificate> judge(const TuningSpec& spec, const GuardOptions& options);

nlohmann::json to_json(const Certificate& certificate);

} // namespace lathe::refactor
