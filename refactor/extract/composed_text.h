// The text of an extracted kernel, put together from the stretches of source that it needs, in their order.
#pragma once

#include "refactor/extract/source_text.h"

#include <set>
#include <string>
#include <vector>

namespace lathe::refactor {

class ComposedText {
public:
  explicit ComposedText(ParsedSourceImpl& source)
      : source_(source), sources_(source.ast().getASTContext().getSourceManager()) {}

  // What stands in front of everything: `header` with its brackets; a line such as a typedef that a header of
  // the system has for the host alone; a namespace that is named before anything is declared in it.
  void add_header(const std::string& header) { headers_.insert(header); }
  void add_line(const std::string& line) { extra_lines_.insert(line); }
  void add_namespace(const std::string& qualified_name) { namespaces_.insert(qualified_name); }
  // Text of Lathe's own, behind the headers, which stands in for `stand_in`.
  void supply(std::string text, const std::string& stand_in);
  void demand_cxx20() { is_cxx20_ = true; }

  // The declarations as they are written, but for what of them is the host's; those that lie in one another
  // once.
  void add_declarations(const std::vector<const clang::Decl*>& units);
  // The macros that these use, and those that macros use.
  void add_macros();
  // Those of `directives` whose namespaces are there by now.
  void add_using_directives(const std::vector<const clang::UsingDirectiveDecl*>& directives);

  std::string text();
  const std::set<std::string>& headers() const { return headers_; }
  const std::set<std::string>& stand_ins() const {
    return stand_ins_;
  } // files of Lathe's that it has parts of

private:
  // A namespace or linkage block that has to be open around a piece of text.
  struct Scope {
    std::string opening;
    bool operator==(const Scope& other) const { return opening == other.opening; }
  };
  struct Piece {
    clang::SourceLocation location;
    TextSpan span;
    std::string text;
    std::vector<Scope> scopes; // outermost first; empty for preprocessor lines
    bool is_macro = false;
  };

  static std::vector<Scope> scopes_of(const clang::Decl* declaration);
  bool add_macro(const std::string& name, const clang::MacroInfo& macro);
  // Lines that declare the namespaces that only a directive or a name speaks of.
  std::string opened_namespaces() const;

  ParsedSourceImpl& source_;
  const clang::SourceManager& sources_;
  std::vector<Piece> pieces_;
  std::set<std::string> headers_, stand_ins_, namespaces_, extra_lines_;
  std::set<const clang::MacroInfo*> macros_;
  std::set<std::string> named_by_macros_, written_macros_;
  std::string supplied_;
  bool is_cxx20_ = false;
};

} // namespace lathe::refactor
