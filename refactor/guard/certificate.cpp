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
  return std::all_of(std::begin(CHECKS), std::end(CHECKS), passed) &&
         std::ranges::none_of(checks, [](const CheckResult& result) { // those on a GPU are not always made
           return result.verdict == Verdict::failed || result.verdict == Verdict::undecided;
         });
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
  json["ContractHash"] = certificate.contract_hash;
  json["ReferenceHash"] = certificate.reference_hash;
  json["LatheVersion"] = certificate.lathe_version;
  json["Seed"] = std::to_string(certificate.seed); // text: 64 bits do not fit a JSON reader's double
  json["Seconds"] = certificate.seconds;
  json["Trusted"] = certificate.trusted;
  json["Flags"] = certificate.flags;
  json["Author"] = {{"Kind", certificate.author.kind}};
  if (!certificate.author.model.empty())
    json["Author"]["Model"] = certificate.author.model;
  if (!certificate.author.transcript_hash.empty())
    json["Author"]["Transcript"] = certificate.author.transcript_hash;
  json["Checks"] = nlohmann::json::array();
  for (const CheckResult& check : certificate.checks) {
    json["Checks"].push_back({{"Check", check.check},
                              {"Verdict", to_string(check.verdict)},
                              {"Detail", check.detail},
                              {"Evidence", check.evidence},
                              {"Seconds", check.seconds}});
    if (check.runs) {
      json["Checks"].back()["Runs"] = check.runs;
      json["Checks"].back()["IdenticalRuns"] = check.identical_runs;
    }
    if (check.misaligned_sizes) {
      json["Checks"].back()["MisalignedSizes"] = check.misaligned_sizes;
      json["Checks"].back()["MisalignedSizesServed"] = check.misaligned_sizes_served;
    }
    if (!check.unordered.empty())
      json["Checks"].back()["Unordered"] = check.unordered;
  }
  return json;
}

Result<Certificate> certificate_from_json(const nlohmann::json& json) {
  Certificate certificate;
  // The JSON library reports missing fields by exceptions.
  try {
    certificate.kernel = json.at("Kernel").get<std::string>();
    certificate.identity_level = json.at("Identity").get<std::string>();
    certificate.raw_hash = json.at("RawHash").get<std::string>();
    certificate.template_hash = json.at("TemplateHash").get<std::string>();
    certificate.contract_hash = json.value("ContractHash", "");
    certificate.reference_hash = json.value("ReferenceHash", "");
    certificate.lathe_version = json.at("LatheVersion").get<std::string>();
    certificate.seed = std::stoull(json.at("Seed").get<std::string>());
    certificate.seconds = json.at("Seconds").get<double>();
    certificate.trusted = json.at("Trusted").get<std::vector<std::string>>();
    certificate.flags = json.at("Flags").get<std::vector<std::string>>();
    certificate.author.kind = json.at("Author").at("Kind").get<std::string>();
    certificate.author.model = json.at("Author").value("Model", "");
    certificate.author.transcript_hash = json.at("Author").value("Transcript", "");
    for (const auto& entry : json.at("Checks")) {
      CheckResult check;
      check.check = entry.at("Check").get<std::string>();
      const auto verdict = entry.at("Verdict").get<std::string>();
      for (const Verdict known : {Verdict::proved, Verdict::tested, Verdict::reported, Verdict::undecided,
                                  Verdict::failed, Verdict::skipped})
        if (to_string(known) == verdict)
          check.verdict = known;
      check.detail = entry.at("Detail").get<std::string>();
      check.evidence = entry.at("Evidence").get<std::vector<std::string>>();
      check.seconds = entry.at("Seconds").get<double>();
      check.runs = entry.value("Runs", std::size_t{0});
      check.identical_runs = entry.value("IdenticalRuns", std::size_t{0});
      check.misaligned_sizes = entry.value("MisalignedSizes", std::size_t{0});
      check.misaligned_sizes_served = entry.value("MisalignedSizesServed", std::size_t{0});
      check.unordered = entry.value("Unordered", std::vector<std::string>{});
      certificate.checks.push_back(std::move(check));
    }
  } catch (const std::exception& problem) {
    return Error{"cannot read a certificate", problem.what(), ""};
  }
  return certificate;
}

} // namespace lathe::refactor
