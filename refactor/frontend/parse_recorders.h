// What is written down while a source is parsed.
#pragma once

#include "refactor/frontend/parsed_source.h"

#include <clang/Basic/Diagnostic.h>
#include <clang/Lex/LexDiagnostic.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {

class ErrorCollector final : public clang::DiagnosticConsumer {
public:
  explicit ErrorCollector(ParseRecord& record) : record_(record) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override {
    DiagnosticConsumer::HandleDiagnostic(level, info);
    llvm::SmallString<160> message;
    info.FormatDiagnostic(message);
    if (level == clang::DiagnosticsEngine::Note) {
      if (collecting_ && message.starts_with("in instantiation of"))
        record_.errors.back().in_instantiation = true;
      return;
    }
    collecting_ = level >= clang::DiagnosticsEngine::Error;
    if (!collecting_)
      return;
    ParseError error;
    error.message = message.str().str();
    if (info.getID() == clang::diag::err_pp_hash_error)
      error.message = "#error " + error.message;
    error.text = error.message;
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      clang::SourceManager& sources = info.getSourceManager();
      error.location = info.getLocation();
      const clang::SourceLocation spelling = sources.getSpellingLoc(error.location);
      error.file = sources.getFilename(spelling).str();
      error.offset = sources.getFileOffset(spelling);
      const clang::PresumedLoc place = sources.getPresumedLoc(sources.getExpansionLoc(error.location));
      if (place.isValid())
        error.text = fmt::format("{}:{}: {}", place.getFilename(), place.getLine(), error.message);
    }
    record_.errors.push_back(std::move(error));
  }

private:
  ParseRecord& record_;
  bool collecting_ = false;
};

class PreprocessorRecorder final : public clang::PPCallbacks {
public:
  PreprocessorRecorder(ParseRecord& record, FileClassifier& files, clang::SourceManager& sources)
      : record_(record), files_(files), sources_(sources) {}

  bool FileNotFound(llvm::StringRef name) override {
    if (std::find(record_.missing.begin(), record_.missing.end(), name.str()) == record_.missing.end())
      record_.missing.push_back(name.str());
    return true;
  }
  void InclusionDirective(clang::SourceLocation hash, const clang::Token&, llvm::StringRef name, bool angled,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, llvm::StringRef,
                          llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind kind) override {
    if (!files_.is_user(sources_, hash) && !files_.is_stand_in(sources_, hash))
      return;
    const std::string spelled = angled ? fmt::format("<{}>", name.str()) : fmt::format("\"{}\"", name.str());
    record_.inclusions.push_back(
        {hash, spelled, file ? file->getName().str() : "", kind != clang::SrcMgr::C_User});
  }
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& definition, clang::SourceRange,
                    const clang::MacroArgs*) override {
    record(name, definition);
  }
  void MacroUndefined(const clang::Token& name, const clang::MacroDefinition& definition,
                      const clang::MacroDirective*) override {
    const clang::SourceLocation place = name.getLocation();
    if (definition.getMacroInfo() && (files_.is_user(sources_, place) || files_.is_stand_in(sources_, place)))
      record_.macro_ends.emplace_back(place, name.getIdentifierInfo()->getName().str());
  }
  void Defined(const clang::Token& name, const clang::MacroDefinition& definition,
               clang::SourceRange) override {
    record(name, definition);
  }
  void Ifdef(clang::SourceLocation, const clang::Token& name,
             const clang::MacroDefinition& definition) override {
    record(name, definition);
  }
  void Ifndef(clang::SourceLocation, const clang::Token& name,
              const clang::MacroDefinition& definition) override {
    record(name, definition);
  }

  void Endif(clang::SourceLocation end, clang::SourceLocation begin) override {
    if (files_.is_user(sources_, begin) || files_.is_stand_in(sources_, begin))
      record_.conditionals.push_back(
          {sources_.getFileID(begin), sources_.getFileOffset(begin), sources_.getFileOffset(end)});
  }

private:
  void record(const clang::Token& name, const clang::MacroDefinition& definition) {
    const clang::SourceLocation place = sources_.getExpansionLoc(name.getLocation());
    if (files_.is_user(sources_, place) || files_.is_stand_in(sources_, place))
      record_.macro_uses.push_back(
          {place, name.getIdentifierInfo()->getName().str(), definition.getMacroInfo()});
  }

  ParseRecord& record_;
  FileClassifier& files_;
  clang::SourceManager& sources_;
};

// Keeps what macros of the main file become.
class ExpansionRecorder {
public:
  ExpansionRecorder(ParseRecord& record, const clang::Preprocessor& preprocessor)
      : record_(record), preprocessor_(preprocessor), sources_(preprocessor.getSourceManager()) {}

  void operator()(const clang::Token& token) {
    if (!token.getLocation().isMacroID())
      return;
    const clang::CharSourceRange written = sources_.getExpansionRange(token.getLocation());
    if (!sources_.isWrittenInMainFile(written.getBegin()) || !sources_.isWrittenInMainFile(written.getEnd()))
      return;
    const unsigned begin = sources_.getFileOffset(written.getBegin()),
                   end = sources_.getFileOffset(written.getEnd()) +
                         clang::Lexer::MeasureTokenLength(written.getEnd(), sources_,
                                                          preprocessor_.getLangOpts());
    std::vector<MacroExpansion>& all = record_.expansions;
    if (all.empty() || all.back().begin != begin)
      all.push_back({begin, end, {}, true});
    MacroExpansion& expansion = all.back();
    expansion.end = std::max(expansion.end, end); // where a name becomes a macro that takes what follows
    if (token.isAnnotation()) {
      expansion.is_plain = false;
      return;
    }
    expansion.tokens.push_back(
        {preprocessor_.getSpelling(token), token.hasLeadingSpace(), through(token.getLocation())});
  }

private:
  std::vector<std::pair<std::string, clang::SourceLocation>> through(clang::SourceLocation location) const {
    std::vector<std::pair<std::string, clang::SourceLocation>> macros;
    while (location.isMacroID()) {
      if (sources_.isMacroArgExpansion(location)) {
        location = sources_.getImmediateSpellingLoc(location);
        continue;
      }
      location = sources_.getImmediateExpansionRange(location).getBegin();
      const clang::SourceLocation name = sources_.getSpellingLoc(location);
      macros.emplace_back(
          clang::Lexer::getSpelling(name, buffer_, sources_, preprocessor_.getLangOpts()).str(), location);
    }
    return macros;
  }

  ParseRecord& record_;
  const clang::Preprocessor& preprocessor_;
  const clang::SourceManager& sources_;
  mutable llvm::SmallString<64> buffer_;
};

} // namespace lathe::refactor
