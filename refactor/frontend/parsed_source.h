// The one implementation of ParsedSource, with what the rest of the front end needs to know about the parse.
#pragma once

#include "refactor/frontend/frontend.h"

#include <clang/Basic/Diagnostic.h>
#include <clang/Frontend/ASTUnit.h>

#include <set>

namespace lathe::refactor {

struct ParseError {
  clang::SourceLocation location; // where the text is (the expansion's place for macros)
  std::string message;
  std::string text; // "file:line: message"
  std::string file; // presumed file, offset of the error in it
  unsigned offset = 0;
  bool in_instantiation = false; // only some template arguments are at fault, not the source as written
};

// What the preprocessor saw in the user's files.
struct MacroUse {
  clang::SourceLocation location; // of the name, in a file
  std::string name;
  const clang::MacroInfo* definition = nullptr; // null for a name tested by #ifdef that is not defined
};

// One token of what a macro became, and the macros that it came through: their names, each with where it was
// expanded, the innermost first.
struct ExpandedToken {
  std::string text;
  bool has_space = false; // before it
  std::vector<std::pair<std::string, clang::SourceLocation>> through;
};

// What stands in the source itself for a macro, arguments included, and what the preprocessor made of it.
struct MacroExpansion {
  unsigned begin = 0, end = 0; // bytes of the source
  std::vector<ExpandedToken> tokens;
  bool is_plain = true; // of tokens alone: no pragma among them
};

struct Inclusion {
  clang::SourceLocation hash;
  std::string name; // "<cuda_bf16.h>" or "\"utils.h\""
  std::string path; // empty when missing
  bool system = false;
};

// Which files are the user's: neither system headers nor Lathe's own.
class FileClassifier {
public:
  // `toolkit_folders` may lie inside the user's: a build folder can hold a toolkit.
  FileClassifier(std::vector<std::filesystem::path> user_folders,
                 std::vector<std::filesystem::path> toolkit_folders, std::filesystem::path stand_ins)
      : user_folders_(std::move(user_folders)), toolkit_folders_(std::move(toolkit_folders)),
        stand_ins_(std::move(stand_ins)) {}
  bool is_user(const clang::SourceManager& sources, clang::SourceLocation location);
  bool is_stand_in(const clang::SourceManager& sources, clang::SourceLocation location) const;

private:
  std::vector<std::filesystem::path> user_folders_, toolkit_folders_;
  std::filesystem::path stand_ins_;
  std::map<clang::FileID, bool> known_;
};

// #if ... #endif of one file, by offsets.
struct ConditionalBlock {
  clang::FileID file;
  unsigned begin = 0, end = 0;
};

struct ParseRecord {
  std::vector<ParseError> errors;
  std::vector<std::string> missing;
  std::vector<MacroUse> macro_uses;
  std::vector<std::pair<clang::SourceLocation, std::string>> macro_ends; // #undef of what is defined
  std::vector<MacroExpansion> expansions;                                // of the main file, in their order
  std::vector<Inclusion> inclusions;
  std::vector<ConditionalBlock> conditionals;
};

class ParsedSourceImpl final : public ParsedSource {
public:
  clang::ASTUnit& ast() override { return *unit_; }
  const std::filesystem::path& file() const override { return file_; }
  const std::vector<std::string>& missing_headers() const override { return record_->missing; }
  const std::vector<std::string>& command() const override { return command_; }
  const std::vector<std::string>& errors() const override { return error_texts_; }
  const std::vector<std::string>& stand_ins() const override { return stand_ins_; }
  const ParseRecord& record() const { return *record_; }
  bool frees_text_sizes() const { return frees_text_sizes_; } // ParseOptions

  // True for the source, its repository's headers and those of its dependencies.
  bool is_user_file(clang::SourceLocation location);
  // True for what lies in none of these, with all that is in it: not for namespaces, which many files share.
  bool is_elsewhere(const clang::Decl& declaration);
  // True for the headers by which Lathe stands in for a framework.
  bool is_stand_in(clang::SourceLocation location);
  // "file:line" of where a location stands in a file.
  std::string place(clang::SourceLocation location);

private:
  friend class ParsedSource;
  std::unique_ptr<ParseRecord> record_ = std::make_unique<ParseRecord>();
  std::unique_ptr<clang::DiagnosticConsumer> consumer_;
  std::unique_ptr<clang::ASTUnit> unit_; // refers to the two above
  std::unique_ptr<FileClassifier> files_;
  std::filesystem::path file_;
  std::vector<std::string> command_, error_texts_, stand_ins_;
  bool frees_text_sizes_ = false;
};

inline ParsedSourceImpl& implementation(ParsedSource& source) {
  return static_cast<ParsedSourceImpl&>(source);
}

} // namespace lathe::refactor
