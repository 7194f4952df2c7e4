// The raw kernel's own text, parsed as a file that stands alone.
#pragma once

#include "refactor/frontend/frontend.h"
#include "refactor/rewrite/rewrite.h"

#include <memory>
#include <optional>

namespace lathe::refactor {

struct RawSource {
  std::unique_ptr<ParsedSource> source; // owns what `kernel` points to
  KernelInfo kernel;
};

// Nothing where the text cannot be read or has no such kernel.
std::optional<RawSource> parse_raw(const Candidate& raw, const ParseOptions& options);

} // namespace lathe::refactor
