#include "refactor/guard/checks.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace lathe::refactor {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
  case Verdict::proved:
    return "proved";
  case Verdict::tested:
    return "tested";
  case Verdict::reported:
    return "reported";
  case Verdict::undecided:
    return "undecided";
  case Verdict::failed:
    return "failed";
  case Verdict::skipped:
    return "skipped";
  }
  return "undecided";
}

bool Certificate::accepted() const {
  const auto passed = [&](const char* name) {
    return std::any_of(checks.begin(), checks.end(), [&](const CheckResult& result) {
      return result.check == name &&
             (result.verdict == Verdict::proved || result.verdict == Verdict::tested ||
              result.verdict == Verdict::reported);
    });
  };
  return std::all_of(std::begin(CHECKS), std::end(CHECKS), passed);
}

void Findings::add(Verdict verdict, const std::string& sentence) {
  const auto rank = [](Verdict v) {
    return v == Verdict::failed ? 3 : v == Verdict::undecided ? 2 : v == Verdict::reported ? 1 : 0;
  };
  if (rank(verdict) > rank(worst_)) {
    worst_ = verdict;
    lead_ = sentence;
  }
  const std::string line = std::string(to_string(verdict)) + ": " + sentence;
  if (std::find(result_.evidence.begin(), result_.evidence.end(), line) == result_.evidence.end())
    result_.evidence.push_back(line);
}

CheckResult Findings::conclude(Verdict otherwise, const std::string& detail) {
  const bool bad = worst_ == Verdict::failed || worst_ == Verdict::undecided;
  result_.verdict = bad                                                           ? worst_
                    : worst_ == Verdict::reported && otherwise == Verdict::proved ? Verdict::reported
                                                                                  : otherwise;
  result_.detail = bad ? lead_ : worst_ == Verdict::reported ? detail + "; " + lead_ : detail;
  return result_;
}

nlohmann::json to_json(const Certificate& certificate) {
  nlohmann::json json;
  json["Format"] = "lathe-certificate-1";
  json["Kernel"] = certificate.kernel;
  json["Accepted"] = certificate.accepted();
  json["Identity"] = certificate.identity_level;
  json["RawHash"] = certificate.raw_hash;
  json["TemplateHash"] = certificate.template_hash;
  json["LatheVersion"] = certificate.lathe_version;
  json["Seed"] = std::to_string(certificate.seed); // text: 64 bits do not fit a JSON reader's double
  json["Seconds"] = certificate.seconds;
  json["Trusted"] = certificate.trusted;
  json["Flags"] = certificate.flags;
  json["Checks"] = nlohmann::json::array();
  for (const CheckResult& check : certificate.checks)
    json["Checks"].push_back({{"Check", check.check},
                              {"Verdict", to_string(check.verdict)},
                              {"Detail", check.detail},
                              {"Evidence", check.evidence},
                              {"Seconds", check.seconds}});
  return json;
}

} // namespace lathe::refactor
