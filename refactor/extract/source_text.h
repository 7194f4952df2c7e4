// The stretches of source text that declarations and macros are written in.
#pragma once

#include "refactor/frontend/parsed_source.h"

#include <clang/AST/Decl.h>

#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

// Bytes [begin, end) of one file.
struct TextSpan {
  clang::FileID file;
  unsigned begin = 0, end = 0;

  bool overlaps(const TextSpan& other) const {
    return file == other.file && begin < other.end && other.begin < end;
  }
  bool contains(clang::FileID in, unsigned offset) const {
    return file == in && begin <= offset && offset < end;
  }
};

// By the user, or by Lathe for a header that is not there: what is extracted, unlike what a header of the
// system or the toolkit has.
bool is_written_by_user(ParsedSourceImpl& source, const clang::Decl* declaration);

// The whole declaration: attributes, template head, the comment directly above it, up to its closing brace or
// semicolon; the macro's use where a macro makes it; widened so that no #if is cut in two.
std::optional<TextSpan> span_of(ParsedSourceImpl& source, const clang::Decl* declaration);
std::string text_of(ParsedSourceImpl& source, const TextSpan& span);

// "#define NAME(...) ..." as written; "" for a macro that the compiler itself defines.
std::string macro_text(ParsedSourceImpl& source, const std::string& name, const clang::MacroInfo& macro);

} // namespace lathe::refactor
