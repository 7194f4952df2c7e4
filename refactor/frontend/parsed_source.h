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

struct Inclusion {
  clang::SourceLocation hash;
  std::string name; // "<cuda_bf16.h>" or "\"utils.h\""
  std::string path; // empty when missing
  bool system = false;
};

struct ParseRecord {
  std::vector<ParseError> errors;
  std::vector<std::string> missing;
  std::vector<MacroUse> macro_uses;
  std::vector<Inclusion> inclusions;
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
  const std::filesystem::path& stand_in_folder() const { return stand_in_folder_; }

  // True for the source and its repository's headers: neither a system header nor one of Lathe's own.
  bool is_user_file(clang::SourceLocation location);
  // "file:line" of where a location stands in a file.
  std::string place(clang::SourceLocation location);

private:
  friend class ParsedSource;
  std::unique_ptr<ParseRecord> record_ = std::make_unique<ParseRecord>();
  std::unique_ptr<clang::DiagnosticConsumer> consumer_;
  std::unique_ptr<clang::ASTUnit> unit_; // refers to the two above
  std::filesystem::path file_, stand_in_folder_;
  std::vector<std::string> command_, error_texts_, stand_ins_;
};

inline ParsedSourceImpl& implementation(ParsedSource& source) {
  return static_cast<ParsedSourceImpl&>(source);
}

} // namespace lathe::refactor
