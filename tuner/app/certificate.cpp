#include "tuner/app/certificate.h"

#include "tuner/base/files.h"
#include "tuner/base/hash.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Whether what the certificate says of the raw kernel is about the one that the specification has now.
bool is_about_raw(const nlohmann::json& certificate, const TuningSpec& spec) {
  const auto raw = read_file(spec.reference.file);
  return raw.ok() && text_of(certificate, "RawHash") == content_hash(*raw) &&
         text_of(certificate, "ReferenceHash") == reference_hash(spec);
}

// Whether it was tried on misaligned buffers, and ran at no size.
bool wants_alignment(const nlohmann::json& checks) {
  const auto number = [](const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  };
  return std::any_of(checks.begin(), checks.end(), [&](const nlohmann::json& check) {
    return number(check, "MisalignedSizes") > 0 && number(check, "MisalignedSizesServed") == 0;
  });
}

// The results whose order it leaves to its threads.
std::vector<std::string> unordered_results(const nlohmann::json& checks) {
  std::vector<std::string> names;
  for (const nlohmann::json& check : checks)
    if (const auto found = check.find("Unordered"); found != check.end() && found->is_array())
      for (const nlohmann::json& name : *found)
        if (name.is_string())
          names.push_back(name.get<std::string>());
  return names;
}

} // namespace

Result<CertificateFacts> require_certificate(const TuningSpec& spec, const std::filesystem::path& spec_file) {
  if (spec.provenance.certificate.empty())
    return CertificateFacts{};
  std::filesystem::path file = spec.provenance.certificate;
  if (file.is_relative())
    file = spec_file.parent_path() / file;
  const auto text = read_file(file);
  if (!text.ok()) {
    std::cerr << "lathe: warning: " << spec.name << ": its certificate " << file.string()
              << " cannot be read: nothing says that the template was checked\n";
    return CertificateFacts{};
  }
  const nlohmann::json certificate = nlohmann::json::parse(*text, nullptr, false);
  const auto checks = certificate.is_object() ? certificate.find("Checks") : certificate.end();
  if (!certificate.is_object() || checks == certificate.end() || !checks->is_array())
    return Error{"cannot use the certificate " + file.string(), "it is not a certificate of lathe templatize",
                 "write it again with lathe templatize"};
  std::string refusal;
  bool skipped = false;
  for (const auto& check : *checks) {
    const std::string verdict = text_of(check, "Verdict");
    if (verdict == "failed" && refusal.empty())
      refusal = text_of(check, "Check") + ": " + text_of(check, "Detail");
    skipped |= verdict == "skipped";
  }
  if (skipped)
    std::cerr << "lathe: warning: " << spec.name << ": the template was not checked (--no-check)\n";
  else if (!certificate.value("Accepted", false))
    return Error{
        "cannot tune " + spec.name + ": its certificate refuses the template",
        refusal.empty() ? "a check is undecided" : refusal,
        "mend the template and run lathe check, or delete Certificate from the specification to tune "
        "it unchecked"};
  const std::string judged = text_of(certificate, "TemplateHash");
  if (!judged.empty() && !spec.template_hash.empty() && judged != spec.template_hash)
    return Error{"cannot tune " + spec.name + ": its certificate is about another text of the template",
                 "it names " + judged.substr(0, 12) + ", the specification " +
                     spec.template_hash.substr(0, 12),
                 "run lathe check " + spec_file.string() + " --certificate " + file.string()};
  const std::string contract = text_of(certificate, "ContractHash");
  const bool is_changed = !contract.empty() && contract != contract_hash(spec);
  if (is_changed)
    std::cerr
        << "lathe: warning: " << spec.name
        << ": knobs, conditions, launch or arguments were changed after the template was checked: run lathe "
           "check "
        << spec_file.string() << " --certificate " << file.string() << "\n";
  CertificateFacts facts;
  facts.default_is_raw_code = !is_changed && text_of(certificate, "Identity") == "L0";
  if (is_about_raw(certificate, spec)) {
    facts.raw_wants_alignment = wants_alignment(*checks);
    facts.unordered = unordered_results(*checks);
  }
  return facts;
}

} // namespace lathe
