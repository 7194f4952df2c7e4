// Parameters that a macro writes as a whole.
#pragma once

#include "refactor/extract/extract.h"

namespace lathe::refactor {

// Where macros of the extracted text write whole parameters of its kernel, one or more each (`#define BOX
// Shape shape, Vec a`, `k(BOX, int n)`), their calls are replaced with what they write, so that each
// parameter has a place of its own. Nothing else changes, also where a macro writes a part of a parameter
// besides.
Status spell_macro_parameters(ExtractedKernel& extracted, const ParseOptions& options);

} // namespace lathe::refactor
