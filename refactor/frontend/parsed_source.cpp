#include "refactor/frontend/parsed_source.h"

#include "refactor/frontend/command.h"
#include "refactor/frontend/fixups.h"
#include "refactor/frontend/left_out_templates.h"
#include "refactor/frontend/parse_recorders.h"
#include "refactor/frontend/precompiled.h"
#include "refactor/frontend/repository_headers.h"
#include "refactor/frontend/stand_in_headers.h"
#include "refactor/frontend/standard.h"
#include "tuner/base/files.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/Utils.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Serialization/PCHContainerOperations.h>
#include <llvm/Support/MemoryBuffer.h>

#include <fmt/format.h>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;
using clang::SourceLocation;

// Fix-ups uncover further errors; each round parses again.
constexpr int FIX_UP_ROUNDS = 3;

class ParseAction final : public clang::ASTFrontendAction {
public:
  ParseAction(ParseRecord& record, FileClassifier& files) : record_(record), files_(files) {}

protected:
  bool BeginSourceFileAction(clang::CompilerInstance& compiler) override {
    compiler.getPreprocessor().addPPCallbacks(
        std::make_unique<PreprocessorRecorder>(record_, files_, compiler.getSourceManager()));
    compiler.getPreprocessor().setTokenWatcher(ExpansionRecorder(record_, compiler.getPreprocessor()));
    return true;
  }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&, llvm::StringRef) override {
    return std::make_unique<clang::ASTConsumer>();
  }

private:
  ParseRecord& record_;
  FileClassifier& files_;
};

struct Attempt {
  std::unique_ptr<FileClassifier> files;
  std::unique_ptr<ParseRecord> record = std::make_unique<ParseRecord>();
  std::unique_ptr<clang::DiagnosticConsumer> consumer;
  std::unique_ptr<clang::ASTUnit> unit;
};

// Behind precompiled headers, which have nothing of the user's, visitors see what stands in this parse alone:
// to go through the headers' declarations would read all of them in.
void leave_out_precompiled(clang::ASTUnit& unit) {
  std::vector<clang::Decl*> own;
  std::set<const clang::Decl*> seen;
  for (auto at = unit.top_level_begin(); at != unit.top_level_end(); ++at) {
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(*at);
    const bool is_instance = function && function->isTemplateInstantiation(); // is seen in its template
    if (!is_instance && (*at)->getLexicalDeclContext()->isTranslationUnit() && seen.insert(*at).second)
      own.push_back(*at);
  }
  unit.getASTContext().setTraversalScope(own);
}

Result<Attempt> attempt_as(const fs::path& file, const std::vector<std::string>& words,
                           const ClangCommand& command, const std::map<std::string, std::string>& texts) {
  Attempt result;
  result.files =
      std::make_unique<FileClassifier>(command.user_folders, command.toolkit_folders, command.stand_ins);
  result.consumer = std::make_unique<ErrorCollector>(*result.record);
  const auto diagnostics = clang::CompilerInstance::createDiagnostics(
      new clang::DiagnosticOptions, result.consumer.get(), /*ShouldOwnClient=*/false);
  const std::string name = file.string();
  std::vector<const char*> arguments;
  for (const std::string& argument : words)
    arguments.push_back(argument.c_str());
  arguments.push_back("-O2"); // decides __OPTIMIZE__, as the code that is judged has it
  arguments.push_back("-fsyntax-only");
  arguments.push_back(name.c_str());
  clang::CreateInvocationOptions how;
  how.Diags = diagnostics;
  how.RecoverOnError = true;
  std::shared_ptr<clang::CompilerInvocation> invocation = clang::createInvocation(arguments, how);
  if (!invocation)
    return Error{"cannot parse " + name,
                 result.record->errors.empty() ? "Clang rejects the flags"
                                               : result.record->errors.front().message,
                 "check the flags after --"};
  invocation->getFrontendOpts().DisableFree = false;
  invocation->getLangOpts().CommentOpts.ParseAllComments = false;
  for (const auto& [path, text] : texts)
    invocation->getPreprocessorOpts().addRemappedFile(
        path, llvm::MemoryBuffer::getMemBufferCopy(text, path).release());
  ParseAction action(*result.record, *result.files);
  result.unit.reset(clang::ASTUnit::LoadFromCompilerInvocationAction(
      invocation, std::make_shared<clang::PCHContainerOperations>(), diagnostics, &action));
  if (!result.unit)
    return Error{
        "cannot parse " + name,
        result.record->errors.empty() ? "Clang gives no reason" : result.record->errors.front().message, ""};
  if (words != command.arguments)
    leave_out_precompiled(*result.unit);
  return result;
}

bool lacks_precompiled(const Result<Attempt>& attempt) {
  return attempt.ok() ? std::ranges::any_of((*attempt).record->errors, blames_precompiled_headers,
                                            &ParseError::message)
                      : blames_precompiled_headers(attempt.error().sentence());
}

Result<Attempt> attempt(const fs::path& file, const ClangCommand& command,
                        const std::map<std::string, std::string>& texts) {
  const auto given = texts.find(file.string());
  const auto text = given == texts.end() ? read_file(file) : Result<std::string>(given->second);
  const std::vector<std::string> words =
      text.ok() ? with_precompiled_headers(command.arguments, *text) : command.arguments;
  auto parsed = attempt_as(file, words, command, texts);
  if (words != command.arguments && lacks_precompiled(parsed))
    return attempt_as(file, command.arguments, command, texts);
  return parsed;
}

void take_cxx20(ClangCommand& command) {
  std::ranges::replace(command.arguments, "-std=c++17", "-std=c++20");
  command.states_standard = true;
}

// Where nobody states a standard and the text as C++17 has errors that look like a newer one's, C++20 is
// tried.
Status read_as_newer(const fs::path& file, const std::map<std::string, std::string>& texts,
                     ClangCommand& command, Attempt& parsed) {
  if (command.states_standard || std::ranges::none_of(parsed.record->errors, [](const ParseError& error) {
        return is_of_newer_source(error.message);
      }))
    return Done{};
  ClangCommand newer = command;
  take_cxx20(newer);
  LATHE_TRY(Attempt again, attempt(file, newer, texts));
  if (again.record->errors.size() < parsed.record->errors.size()) {
    command = std::move(newer);
    parsed = std::move(again);
  }
  return Done{};
}

// The name of a header without the quotes or brackets that it is written with.
std::string unquoted(const std::string& written) {
  return written.size() > 2 ? written.substr(1, written.size() - 2) : written;
}

} // namespace

bool FileClassifier::is_stand_in(const clang::SourceManager& sources, SourceLocation location) const {
  const llvm::StringRef name = sources.getFilename(sources.getExpansionLoc(location));
  return name.starts_with(stand_ins_.string()) && !name.ends_with("lathe_clang_cuda.h");
}

bool FileClassifier::is_user(const clang::SourceManager& sources, SourceLocation location) {
  if (location.isInvalid())
    return false;
  const clang::FileID file = sources.getFileID(sources.getExpansionLoc(location));
  const auto known = known_.find(file);
  if (known != known_.end())
    return known->second;
  const SourceLocation begin = sources.getLocForStartOfFile(file);
  const fs::path name = sources.getFilename(begin).str();
  bool user = !name.empty() && !name.string().starts_with(stand_ins_.string());
  if (user && sources.isInSystemHeader(begin)) {
    const std::string path = name.lexically_normal().string();
    const auto holds_it = [&](const fs::path& folder) {
      return path.starts_with((folder / "").lexically_normal().string());
    };
    user = std::ranges::any_of(user_folders_, holds_it) && std::ranges::none_of(toolkit_folders_, holds_it);
  }
  return known_[file] = user;
}

bool ParsedSourceImpl::is_user_file(SourceLocation location) {
  return files_->is_user(unit_->getSourceManager(), location);
}

bool ParsedSourceImpl::is_elsewhere(const clang::Decl& declaration) {
  return !llvm::isa<clang::TranslationUnitDecl, clang::NamespaceDecl, clang::LinkageSpecDecl>(declaration) &&
         declaration.getLocation().isValid() && !is_user_file(declaration.getLocation());
}

bool ParsedSourceImpl::is_stand_in(SourceLocation location) {
  return location.isValid() && files_->is_stand_in(unit_->getSourceManager(), location);
}

std::string ParsedSourceImpl::place(SourceLocation location) {
  clang::SourceManager& sources = unit_->getSourceManager();
  const clang::PresumedLoc place = sources.getPresumedLoc(sources.getExpansionLoc(location));
  return place.isValid() ? fmt::format("{}:{}", place.getFilename(), place.getLine()) : "unknown place";
}

namespace {

// The libraries have more headers than the usual ones that have a file of their own here.
Status supply_stand_ins(const fs::path& file, const ClangCommand& command,
                        std::map<std::string, std::string>& texts, Attempt& parsed) {
  const auto known = texts.size();
  for (const std::string& header : parsed.record->missing)
    if (const char* stand_in = stand_in_for(header))
      texts.insert(stand_in_file(command, header, stand_in));
  if (texts.size() > known) {
    LATHE_TRY(parsed, attempt(file, command, texts));
  }
  return Done{};
}

// Parses with another command and other texts. Whether that leaves fewer errors: they are the ones to go on
// with then, and what they come to.
Result<bool> take_if_better(const fs::path& file, ClangCommand other, std::map<std::string, std::string> with,
                            std::map<std::string, std::string>& texts, ClangCommand& command,
                            Attempt& parsed) {
  LATHE_TRY(Attempt again, attempt(file, other, with));
  LATHE_CHECK(supply_stand_ins(file, other, with, again));
  if (again.record->errors.size() >= parsed.record->errors.size())
    return false;
  parsed = std::move(again);
  command = std::move(other);
  texts = std::move(with);
  return true;
}

// Where headers are missing and there are errors, the folders of the repository that have them are searched
// last, as far as that leaves fewer errors.
Status search_repository(const fs::path& file, std::map<std::string, std::string>& texts,
                         ClangCommand& command, Attempt& parsed, std::vector<std::string>& told) {
  constexpr int ROUNDS = 3; // headers include others
  for (int round = 0; round < ROUNDS && !parsed.record->errors.empty(); ++round) {
    ClangCommand wider = command;
    std::vector<std::string> said;
    for (const fs::path& folder : folders_of_headers(file, parsed.record->missing)) {
      if (std::ranges::find(wider.user_folders, folder) != wider.user_folders.end())
        continue;
      wider.arguments.insert(wider.arguments.end() - 1, "-idirafter" + folder.string());
      wider.user_folders.push_back(folder);
      said.push_back(fmt::format("{} is searched for headers that are missing otherwise", folder.string()));
    }
    if (said.empty())
      break;
    LATHE_TRY(const bool helps, take_if_better(file, std::move(wider), texts, texts, command, parsed));
    if (!helps)
      break;
    told.insert(told.end(), said.begin(), said.end());
  }
  return Done{};
}

// The same of headers that the build writes, from their patterns.
Status write_as_builds_do(const fs::path& file, std::map<std::string, std::string>& texts,
                          ClangCommand& command, Attempt& parsed, std::vector<std::string>& told) {
  constexpr int ROUNDS = 2; // one may include another
  for (int round = 0; round < ROUNDS && !parsed.record->errors.empty(); ++round) {
    ClangCommand wider = command;
    std::map<std::string, std::string> with = texts;
    std::vector<std::string> said;
    for (const HeaderPattern& pattern : patterns_of_headers(file, parsed.record->missing)) {
      const auto text = read_file(pattern.file);
      if (!text.ok() || !with.emplace((pattern.folder / pattern.header).lexically_normal().string(),
                                      header_from_pattern(*text))
                             .second)
        continue;
      if (std::ranges::find(wider.user_folders, pattern.folder) == wider.user_folders.end()) {
        wider.arguments.insert(wider.arguments.end() - 1, "-idirafter" + pattern.folder.string());
        wider.user_folders.push_back(pattern.folder);
      }
      said.push_back(fmt::format("{} is written as {} says, with its switches off (say otherwise with -- -I "
                                 "FOLDER, or -D NAME)",
                                 pattern.header, pattern.file.filename().string()));
    }
    if (said.empty())
      break;
    LATHE_TRY(const bool helps,
              take_if_better(file, std::move(wider), std::move(with), texts, command, parsed));
    if (!helps)
      break;
    told.insert(told.end(), said.begin(), said.end());
  }
  return Done{};
}

} // namespace

Result<std::unique_ptr<ParsedSource>> ParsedSource::parse(const fs::path& file, const ParseOptions& options) {
  std::error_code failure;
  const fs::path path = fs::absolute(file, failure).lexically_normal();
  std::map<std::string, std::string> texts;
  for (const auto& [name, text] : options.overlay)
    texts[fs::absolute(name, failure).lexically_normal().string()] = text;
  if (!texts.contains(path.string()) && !fs::is_regular_file(path, failure)) {
    if (!fs::exists(path, failure))
      return usage_error("cannot read " + file.string(), "no such file", "");
    LATHE_CHECK(read_file(file)); // says what is there instead
  }
  LATHE_TRY(ClangCommand command, clang_command(path, options));
  const auto own = texts.find(path.string());
  LATHE_TRY(const std::string own_text,
            own == texts.end() ? read_file(path) : Result<std::string>(own->second));
  if (!command.states_standard && standard_option(own_text) == "-std=c++20")
    take_cxx20(command);

  auto source = std::make_unique<ParsedSourceImpl>();
  source->file_ = path;
  texts.merge(named_stand_ins(path, own_text, command));
  LATHE_TRY(Attempt parsed, attempt(path, command, texts));
  LATHE_CHECK(supply_stand_ins(path, command, texts, parsed));
  LATHE_CHECK(search_repository(path, texts, command, parsed, source->stand_ins_));
  LATHE_CHECK(write_as_builds_do(path, texts, command, parsed, source->stand_ins_));
  LATHE_CHECK(read_as_newer(path, texts, command, parsed));
  for (int round = 0; round < FIX_UP_ROUNDS; ++round) {
    std::vector<ParseError> errors = left_out_templates(parsed.unit->getASTContext());
    const std::size_t unsaid = errors.size();
    errors.insert(errors.end(), parsed.record->errors.begin(), parsed.record->errors.end());
    std::vector<std::string> described;
    const auto fixed = fix_up(errors, parsed.unit->getSourceManager(), described);
    if (fixed.empty())
      break;
    std::map<std::string, std::string> changed = texts;
    for (const auto& [name, text] : fixed)
      changed[name] = text;
    LATHE_TRY(Attempt again, attempt(path, command, changed));
    if (again.record->errors.size() >= parsed.record->errors.size() + unsaid)
      break;
    parsed = std::move(again);
    texts = std::move(changed);
    source->stand_ins_.insert(source->stand_ins_.end(), described.begin(), described.end());
  }
  source->files_ = std::move(parsed.files);
  source->record_ = std::move(parsed.record);
  source->consumer_ = std::move(parsed.consumer);
  source->unit_ = std::move(parsed.unit);
  source->command_ = std::move(command.arguments);
  source->frees_text_sizes_ = options.free_text_sizes;
  for (const ParseError& error : source->record_->errors)
    source->error_texts_.push_back(error.text);
  std::set<std::string> told;
  for (const Inclusion& inclusion : source->record_->inclusions)
    if (const char* stand_in = stand_in_for(unquoted(inclusion.name));
        inclusion.path.starts_with((command.stand_ins / "torch").string()) &&
        told.insert(inclusion.name).second)
      source->stand_ins_.push_back(
          fmt::format("{} stands in for {}", stand_in ? stand_in : "lathe_torch.h", inclusion.name));
  return std::unique_ptr<ParsedSource>(std::move(source));
}

} // namespace lathe::refactor
