#include "refactor/extract/macro_parameters.h"

#include "refactor/extract/changed_parameters.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/ASTUnit.h>

#include <cctype>
#include <map>

namespace lathe::refactor {
namespace {

using namespace clang;

struct MacroCall {
  std::size_t end = 0;
  std::string parameters; // that it writes, as a list
};

std::string spelled(const ParmVarDecl& parameter, const ASTContext& context) {
  std::string text = parameter.getNameAsString();
  parameter.getType().getAsStringInternal(text, PrintingPolicy(context.getLangOpts()));
  return text;
}

// By where they begin: the calls within which parameters begin and end.
std::map<std::size_t, MacroCall> calls_that_write(const FunctionDecl& function, const ASTContext& context) {
  const SourceManager& sources = context.getSourceManager();
  std::map<std::size_t, MacroCall> calls;
  for (const ParmVarDecl* parameter : function.parameters()) {
    const SourceRange own = parameter->getSourceRange();
    if (!own.getBegin().isMacroID() || !own.getEnd().isMacroID())
      continue;
    const auto place = bytes_of(context, sources.getExpansionRange(own).getAsRange());
    if (!place)
      continue;
    MacroCall& call = calls[place->first];
    call.end = place->second;
    call.parameters += (call.parameters.empty() ? "" : ", ") + spelled(*parameter, context);
  }
  return calls;
}

// Whether a list's next element, or its end, stands on both sides.
bool is_whole_element(const std::string& text, std::size_t begin, std::size_t end) {
  const auto is_space = [&](std::size_t at) { return std::isspace(static_cast<unsigned char>(text[at])); };
  while (begin > 0 && is_space(begin - 1))
    --begin;
  while (end < text.size() && is_space(end))
    ++end;
  return begin > 0 && end < text.size() && (text[begin - 1] == '(' || text[begin - 1] == ',') &&
         (text[end] == ')' || text[end] == ',');
}

} // namespace

Status spell_macro_parameters(ExtractedKernel& extracted, const ParseOptions& options) {
  LATHE_TRY(const std::unique_ptr<ParsedSource> source, parse_extracted(extracted, options));
  LATHE_TRY(const KernelInfo kernel, find_kernel(*source, extracted.kernel));
  std::map<std::size_t, MacroCall> calls;
  for (const FunctionDecl* declared : kernel.declaration->redecls())
    calls.merge(calls_that_write(*declared, source->ast().getASTContext()));
  for (auto call = calls.rbegin(); call != calls.rend(); ++call)
    if (is_whole_element(extracted.text, call->first, call->second.end))
      extracted.text.replace(call->first, call->second.end - call->first, call->second.parameters);
  return Done{};
}

} // namespace lathe::refactor
