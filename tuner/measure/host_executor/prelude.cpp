#include "tuner/measure/host_executor/prelude.h"

#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/measure/host_executor/compiler_process.h"
#include "tuner/measure/host_executor/rewrite.h"

#include <fmt/format.h>
#include <map>
#include <mutex>
#include <sstream>
#include <unistd.h>

namespace lathe::host {
namespace {

namespace fs = std::filesystem;

// A line of the preprocessor's input that is found again in its output.
constexpr std::string_view END_OF_PRELUDE = "# 1 \"lathe_end_of_prelude\"\n";

std::string source_of(bool checked) {
  return std::string(checked ? "#define LATHE_CHECKED 1\n" : "") + "#include \"lathe_cuda.h\"\n";
}

// The files that preprocessed text says it enters: `# 1 "FILE" 1 ...`.
std::set<std::string> entered_files(std::string_view text) {
  std::set<std::string> files;
  for (std::size_t at = text.starts_with("# 1 \"") ? 0 : text.find("\n# 1 \""); at != std::string_view::npos;
       at = text.find("\n# 1 \"", at + 1)) {
    const std::size_t begin = text.find('"', at) + 1, end = text.find('"', begin);
    if (text.substr(end).starts_with("\" 1"))
      files.emplace(text.substr(begin, end - begin));
  }
  return files;
}

bool is_read_once(const std::string& file) {
  const auto text = read_file(file);
  return text && text->find("#pragma once") != std::string::npos;
}

std::string behind_the_end(std::string text) {
  const std::size_t at = text.find(END_OF_PRELUDE);
  if (at != std::string::npos)
    text.erase(0, at + END_OF_PRELUDE.size());
  return text;
}

Result<Prelude> make_prelude(const std::vector<std::string>& preprocess, bool checked, double time_limit_s,
                             std::string_view file_name) {
  Prelude prelude;
  LATHE_TRY(prelude.text, run_compiler(preprocess, time_limit_s, file_name, source_of(checked)));
  std::vector<std::string> command = preprocess;
  command.emplace_back("-dM");
  LATHE_TRY(prelude.macros, run_compiler(command, time_limit_s, file_name, source_of(checked)));
  for (const std::string& file : entered_files(prelude.text))
    if (is_read_once(file))
      prelude.files.insert(file);
  return prelude;
}

} // namespace

Result<std::shared_ptr<const Prelude>> prelude_of(const std::vector<std::string>& preprocess, bool checked,
                                                  double time_limit_s, std::string_view file_name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Prelude>> known;
  std::string key = checked ? "checked" : "";
  for (const std::string& argument : preprocess)
    key += '\n' + argument;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Prelude>& kept = known[key];
  if (!kept) {
    LATHE_TRY(Prelude made, make_prelude(preprocess, checked, time_limit_s, file_name));
    kept = std::make_shared<const Prelude>(std::move(made));
  }
  return kept;
}

Result<std::string> preprocess_behind(const Prelude& prelude, const std::vector<std::string>& preprocess,
                                      bool checked, std::string_view text, double time_limit_s,
                                      std::string_view file_name) {
  std::vector<std::string> command = preprocess;
  command.emplace_back("-undef"); // the prelude's macros have what the compiler defines by itself
  const std::string end(END_OF_PRELUDE);
  LATHE_TRY(std::string found,
            run_compiler(command, time_limit_s, file_name, prelude.macros + end + std::string(text)));
  found = behind_the_end(std::move(found));
  // Macros do not say that a file without a guard of its own was read before.
  bool is_again = false;
  for (const std::string& file : entered_files(found))
    is_again |= prelude.files.contains(file);
  if (!is_again)
    return found;
  LATHE_TRY(std::string whole,
            run_compiler(preprocess, time_limit_s, file_name, source_of(checked) + end + std::string(text)));
  return behind_the_end(std::move(whole));
}

fs::path precompiled(const Compiler& compiler, const Prelude& prelude,
                     const std::vector<std::string>& generate, bool several_threads, const fs::path& folder,
                     double time_limit_s) {
  if (!compiler.is_clang)
    return {};
  static std::mutex mutex;
  std::string key = compiler.version + compiler.rewriter + (several_threads ? "\nseveral threads" : "");
  for (const std::string& flag : generate)
    key += '\n' + flag;
  const fs::path header = folder / ("prelude-" + content_hash(key + prelude.text) + ".pch");
  const std::lock_guard lock(mutex); // who comes second finds it made
  std::error_code failure;
  if (fs::exists(header, failure))
    return header;
  fs::create_directories(folder, failure);
  const fs::path partial = folder / fmt::format("{}.{}", header.stem().string(), getpid());
  std::vector<std::string> command{compiler.path, "-x", "c++-header"};
  command.insert(command.end(), generate.begin(), generate.end());
  command.insert(command.end(), {"-", "-o", partial.string()});
  const auto made =
      run_compiler(command, time_limit_s, "the prelude", rewrite_cuda(prelude.text, {several_threads}));
  if (made.ok())
    fs::rename(partial, header, failure);
  if (made.ok() && !failure)
    return header;
  fs::remove(partial, failure);
  return {};
}

} // namespace lathe::host
