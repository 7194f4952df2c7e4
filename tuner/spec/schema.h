// Validation against the shipped JSON Schema (tuning_spec.schema.json).
#pragma once

#include "tuner/spec/document.h"

namespace lathe::spec {

// Fails at the first place that breaks the schema, saying what the schema wants there.
Status check_schema(const Document& document);

} // namespace lathe::spec
