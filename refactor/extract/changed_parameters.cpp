#include "refactor/extract/changed_parameters.h"

#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>

namespace lathe::refactor {

std::optional<std::pair<std::size_t, std::size_t>> bytes_of(const clang::ASTContext& context,
                                                            clang::SourceRange written) {
  const clang::SourceManager& sources = context.getSourceManager();
  // A macro that is the type's beginning is a part of what is written (ACCESSOR x); behind it stands the
  // name.
  if (clang::SourceLocation macro;
      written.isValid() && written.getBegin().isMacroID() && !written.getEnd().isMacroID() &&
      clang::Lexer::isAtStartOfMacroExpansion(written.getBegin(), sources, context.getLangOpts(), &macro))
    written.setBegin(macro);
  if (written.isInvalid() || written.getBegin().isMacroID() || written.getEnd().isMacroID() ||
      !sources.isInMainFile(written.getBegin()) || !sources.isInMainFile(written.getEnd()))
    return std::nullopt;
  return std::pair<std::size_t, std::size_t>(sources.getFileOffset(written.getBegin()),
                                             sources.getFileOffset(clang::Lexer::getLocForEndOfToken(
                                                 written.getEnd(), 0, sources, context.getLangOpts())));
}

Result<std::unique_ptr<ParsedSource>> parse_extracted(const ExtractedKernel& extracted,
                                                      const ParseOptions& options) {
  ParseOptions alone;
  alone.architecture = options.architecture;
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "lathe_flattened.cu";
  alone.overlay[file] = extracted.text;
  return ParsedSource::parse(file, alone);
}

Status take_changed_parameters(const ExtractedKernel& extracted, KernelInfo& kernel,
                               const ParseOptions& options, const std::string& how, const std::string& fix) {
  LATHE_TRY(const std::unique_ptr<ParsedSource> again, parse_extracted(extracted, options));
  if (!again->errors().empty())
    return Error{"cannot tune " + kernel.name, "it does not parse " + how + ": " + again->errors().front(),
                 fix};
  // Errors first: with them the kernel may be lost.
  LATHE_TRY(const KernelInfo after, find_kernel(*again, extracted.kernel));
  std::vector<KernelParameter> parameters;
  for (const KernelParameter& parameter : after.parameters) {
    const auto kept = std::ranges::find(kernel.parameters, parameter.name, &KernelParameter::name);
    parameters.push_back(kept == kernel.parameters.end() ? parameter : *kept);
  }
  kernel.parameters = std::move(parameters);
  return Done{};
}

} // namespace lathe::refactor
