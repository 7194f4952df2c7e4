// What follows when the parameters of an extracted kernel are changed in its text.
#pragma once

#include "refactor/extract/extract.h"

#include <clang/Basic/SourceLocation.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace clang {
class ASTContext;
}

namespace lathe::refactor {

// The bytes of the main file that something is written in: its first, and the one behind its last. Nothing
// where it comes out of another file, or of a macro that it does not begin with and go on behind.
std::optional<std::pair<std::size_t, std::size_t>> bytes_of(const clang::ASTContext& context,
                                                            clang::SourceRange written);

// The extracted text alone, for the architecture of `options`.
Result<std::unique_ptr<ParsedSource>> parse_extracted(const ExtractedKernel& extracted,
                                                      const ParseOptions& options);

// Parses the changed text, and gives `kernel` its parameters: what the file's own instances say of those that
// stayed is kept. Fails where the text does not parse; `how`: "with its structures taken apart"; `fix`: what
// to do.
Status take_changed_parameters(const ExtractedKernel& extracted, KernelInfo& kernel,
                               const ParseOptions& options, const std::string& how, const std::string& fix);

} // namespace lathe::refactor
