// Dimensions that both kernels' texts fix by macros.
#pragma once

#include "tuner/spec/fields.h"

namespace lathe::spec {

// Lathe.TextSizes.
Status read_text_sizes(Reading& reading);
// Whether every text size is a dimension, which all problems have as the texts do, with numbers that the
// others' are as many as. An error names the place and the remedy.
Status check_text_sizes(const Reading& reading);
// Whether each text size of a problem is the texts' own, or all are those of one trial.
bool has_text_sizes_of_one_place(const TuningSpec& spec, const Problem& problem);

} // namespace lathe::spec
