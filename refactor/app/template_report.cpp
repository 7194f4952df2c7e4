#include "refactor/app/template_report.h"

#include "refactor/app/certificate_file.h"

#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace lathe::refactor {

void print_product(const Product& outcome, bool checked) {
  std::cout << "knobs\n";
  for (const Knob& knob : outcome.spec.knobs) {
    std::string values;
    for (const Value& value : knob.values)
      values += (values.empty() ? "" : " ") + lathe::to_string(value);
    std::cout << fmt::format("  {:<14} {:<9} default {:<18} of {}\n  {:<14} {}\n", knob.name,
                             lathe::to_string(knob.kind), knob.default_value.text(), values, "", knob.why);
  }
  if (!outcome.rewritten.reports.empty())
    std::cout << "rules\n";
  for (const RuleReport& report : outcome.rewritten.reports)
    std::cout << fmt::format("  {:<26} {:<8} {}\n", report.rule, report.applied ? "applied" : "refused",
                             report.detail);
  if (!outcome.notes.empty())
    std::cout << "assumed\n";
  for (const std::string& note : outcome.notes)
    std::cout << "  " << note << "\n";
  std::cout << "checks\n"
            << (checked ? certificate_table(outcome.certificate) : "  none: --no-check was given\n");
  std::cout << "template     " << outcome.paths.template_file.string() << "\nspecification "
            << outcome.paths.spec_file.string() << "\ncertificate  "
            << outcome.paths.certificate_file.string() << "\n";
}

std::string product_json(const Product& outcome) {
  nlohmann::ordered_json json;
  json["Schema"] = 1;
  json["Template"] = outcome.paths.template_file.string();
  json["Specification"] = outcome.paths.spec_file.string();
  json["Certificate"] = outcome.paths.certificate_file.string();
  json["Accepted"] = outcome.certificate.accepted();
  json["IdentityLevel"] = outcome.certificate.identity_level;
  for (const Knob& knob : outcome.spec.knobs)
    json["Knobs"].push_back({{"Name", knob.name},
                             {"Kind", lathe::to_string(knob.kind)},
                             {"Default", knob.default_value.text()},
                             {"Why", knob.why}});
  for (const RuleReport& report : outcome.rewritten.reports)
    json["Rules"].push_back({{"Rule", report.rule}, {"Applied", report.applied}, {"Detail", report.detail}});
  json["Assumptions"] = outcome.notes;
  return json.dump(2);
}

} // namespace lathe::refactor
