// What `lathe tune` asks of a template's certificate.
#pragma once

#include "tuner/base/result.h"
#include "tuner/spec/spec.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lathe {

struct CertificateFacts {
  bool default_is_raw_code = false; // identity L0
  // See MeasureOptions; also known where only the knobs were changed since.
  bool raw_wants_alignment = false;
  std::vector<std::string> unordered;
};

// Fails when the certificate that the specification names refuses the template, and names the check that did.
// Also when it is about another text of the template. Warns on standard error when the template was never
// checked, or the specification was changed after it was; then nothing that the certificate says of the
// defaults counts. A specification without a certificate (a T1 file of the community's) passes: its
// configurations are verified against its reference all the same.
Result<CertificateFacts> require_certificate(const TuningSpec& spec, const std::filesystem::path& spec_file);

} // namespace lathe
