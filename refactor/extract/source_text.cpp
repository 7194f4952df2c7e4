#include "refactor/extract/source_text.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/MacroInfo.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// Where the comment lines directly above `begin` start; `begin`'s line when there are none.
unsigned above(llvm::StringRef text, unsigned begin) {
  std::size_t line = text.substr(0, begin).rfind('\n');
  line = line == llvm::StringRef::npos ? 0 : line + 1;
  if (!text.slice(line, begin).trim().empty())
    return begin; // something else stands on the same line
  std::size_t start = line;
  bool in_block = false;
  while (start > 0) {
    std::size_t previous = text.substr(0, start - 1).rfind('\n');
    previous = previous == llvm::StringRef::npos ? 0 : previous + 1;
    const llvm::StringRef content = text.slice(previous, start - 1).trim();
    if (in_block) {
      in_block = !content.starts_with("/*");
    } else if (content.ends_with("*/")) {
      const std::size_t opening = content.rfind("/*");
      if (opening != 0 && opening != llvm::StringRef::npos)
        break; // behind code
      in_block = opening != 0;
    } else if (!content.starts_with("//")) {
      break;
    }
    start = previous;
  }
  return static_cast<unsigned>(in_block ? line : start);
}

bool ends_with_semicolon(const Decl* declaration) {
  if (const auto* function = dyn_cast<FunctionDecl>(declaration))
    return !function->doesThisDeclarationHaveABody();
  if (const auto* described = dyn_cast<FunctionTemplateDecl>(declaration))
    return !described->getTemplatedDecl()->doesThisDeclarationHaveABody();
  if (const auto* linkage = dyn_cast<LinkageSpecDecl>(declaration))
    for (const Decl* inner : linkage->decls())
      return ends_with_semicolon(inner);
  return true;
}

// The offset behind the semicolon that ends the declaration, past nested brackets (struct S { ... } s;). A
// function that Clang shows without the body that follows it in the text, as it does with explicit
// specialisations, has none.
unsigned behind_semicolon(llvm::StringRef text, unsigned from, const LangOptions& language,
                          SourceLocation start, bool is_function) {
  Lexer lexer(start, language, text.begin(), text.begin() + from, text.end());
  Token token;
  int depth = 0;
  // True with the last token, too, where nothing is behind it.
  for (bool is_last = false; !is_last;) {
    is_last = lexer.LexFromRawLexer(token);
    if (is_function && depth == 0 && token.is(tok::l_brace))
      break;
    if (token.isOneOf(tok::l_brace, tok::l_paren, tok::l_square))
      ++depth;
    else if (token.isOneOf(tok::r_brace, tok::r_paren, tok::r_square))
      --depth;
    if (depth < 0)
      break;
    if (token.is(tok::semi) && depth == 0)
      return static_cast<unsigned>(lexer.getBufferLocation() - text.begin());
  }
  return from;
}

// The offset behind a semicolon that is the next token.
unsigned behind_next_semicolon(llvm::StringRef text, unsigned from, const LangOptions& language,
                               SourceLocation start) {
  Lexer lexer(start, language, text.begin(), text.begin() + from, text.end());
  Token token;
  lexer.LexFromRawLexer(token);
  return token.is(tok::semi) ? static_cast<unsigned>(lexer.getBufferLocation() - text.begin()) : from;
}

} // namespace

bool is_written_by_user(ParsedSourceImpl& source, const Decl* declaration) {
  const SourceLocation place = declaration->getLocation();
  return source.is_user_file(place) || source.is_stand_in(place);
}

std::optional<TextSpan> span_of(ParsedSourceImpl& source, const Decl* declaration) {
  ASTContext& context = source.ast().getASTContext();
  const SourceManager& sources = context.getSourceManager();
  const SourceLocation begin = sources.getExpansionLoc(declaration->getBeginLoc());
  const SourceLocation last = sources.getExpansionRange(declaration->getEndLoc()).getEnd();
  if (begin.isInvalid() || last.isInvalid() || sources.getFileID(begin) != sources.getFileID(last))
    return std::nullopt;
  TextSpan span;
  span.file = sources.getFileID(begin);
  const llvm::StringRef text = sources.getBufferData(span.file);
  const SourceLocation start = sources.getLocForStartOfFile(span.file);
  span.begin = above(text, sources.getFileOffset(begin));
  span.end = sources.getFileOffset(Lexer::getLocForEndOfToken(last, 0, sources, context.getLangOpts()));
  if (ends_with_semicolon(declaration)) {
    const bool from_macro = declaration->getBeginLoc().isMacroID() && declaration->getEndLoc().isMacroID();
    // Where `int n(1)` is a variable Clang has it end in front of the bracket.
    const auto* variable = dyn_cast<VarDecl>(declaration);
    if (variable && variable->getInitStyle() == VarDecl::CallInit && !from_macro)
      span.end =
          behind_semicolon(text, sources.getFileOffset(sources.getExpansionLoc(variable->getLocation())),
                           context.getLangOpts(), start, false);
    else // a macro may bring its own
      span.end = from_macro ? behind_next_semicolon(text, span.end, context.getLangOpts(), start)
                            : behind_semicolon(text, span.end, context.getLangOpts(), start,
                                               isa<FunctionDecl, FunctionTemplateDecl>(declaration));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const ConditionalBlock& block : source.record().conditionals) {
      if (block.file != span.file)
        continue;
      const bool begins_inside = block.begin < span.begin && span.begin < block.end && block.end < span.end;
      const bool ends_inside = span.begin < block.begin && block.begin < span.end && span.end < block.end;
      if (!begins_inside && !ends_inside)
        continue;
      // From the '#' of the opening line to the end of the closing one.
      const std::size_t line = text.substr(0, block.begin).rfind('\n');
      const std::size_t close = text.find('\n', block.end);
      const auto new_begin =
          std::min<unsigned>(span.begin, line == llvm::StringRef::npos ? 0 : static_cast<unsigned>(line + 1));
      const auto new_end = std::max<unsigned>(
          span.end, static_cast<unsigned>(close == llvm::StringRef::npos ? text.size() : close));
      changed = new_begin != span.begin || new_end != span.end;
      span.begin = new_begin;
      span.end = new_end;
      if (changed)
        break;
    }
  }
  return span;
}

std::string text_of(ParsedSourceImpl& source, const TextSpan& span) {
  return source.ast().getSourceManager().getBufferData(span.file).slice(span.begin, span.end).str();
}

std::string macro_text(ParsedSourceImpl& source, const std::string& name, const MacroInfo& macro) {
  const SourceManager& sources = source.ast().getSourceManager();
  if (macro.isBuiltinMacro() || macro.getDefinitionLoc().isInvalid() ||
      sources.isWrittenInBuiltinFile(macro.getDefinitionLoc()))
    return "";
  const FileID file = sources.getFileID(macro.getDefinitionLoc());
  const unsigned begin = sources.getFileOffset(macro.getDefinitionLoc());
  const SourceLocation last = macro.getDefinitionEndLoc();
  unsigned end = begin + static_cast<unsigned>(name.size());
  if (last.isValid())
    end = std::max(
        end, sources.getFileOffset(Lexer::getLocForEndOfToken(last, 0, sources, source.ast().getLangOpts())));
  return "#define " + sources.getBufferData(file).slice(begin, end).str();
}

} // namespace lathe::refactor
