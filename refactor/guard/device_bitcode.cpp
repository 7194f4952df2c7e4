#include "refactor/guard/device_bitcode.h"

#include "refactor/frontend/precompiled.h"
#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/base/subprocess.h"

#include <chrono>
#include <deque>
#include <mutex>
#include <utility>

namespace lathe::refactor {
namespace {

// The first error of a compiler's output, without its carets.
std::string first_error(const std::string& output) {
  const std::size_t at = output.find("error:");
  if (at == std::string::npos)
    return output.substr(0, 200);
  return output.substr(at, output.find('\n', at) - at);
}

Result<std::string> compiled(const std::string& text, const std::filesystem::path& file,
                             const std::vector<std::string>& arguments) {
  LATHE_TRY(const TemporaryFolder folder, TemporaryFolder::create("guard"));
  const std::filesystem::path source = folder.path() / file.filename(), bitcode = folder.path() / "kernel.bc";
  LATHE_CHECK(write_file(source, text));
  const auto compile = [&](std::vector<std::string> command) {
    for (const char* argument : {"-O2", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-w", "-o"})
      command.emplace_back(argument);
    command.push_back(bitcode.string());
    command.push_back(source.string());
    SubprocessOptions limits;
    limits.timeout = std::chrono::seconds(120);
    return run_subprocess(command, limits);
  };
  LATHE_TRY(SubprocessResult run, compile(with_precompiled_headers(arguments, text)));
  if (!run.succeeded() && blames_precompiled_headers(run.errors)) {
    LATHE_TRY(run, compile(arguments));
  }
  if (!run.succeeded())
    return Error{"no LLVM IR for " + file.filename().string(), "clang: " + first_error(run.errors), ""};
  return read_file(bitcode);
}

} // namespace

Result<std::shared_ptr<const std::string>> device_bitcode(const std::string& text,
                                                          const std::filesystem::path& file,
                                                          const std::vector<std::string>& arguments) {
  constexpr std::size_t KEPT = 8;
  static std::mutex mutex;
  static std::deque<std::pair<std::string, std::shared_ptr<const std::string>>> known;
  std::string key = text;
  for (const std::string& argument : arguments)
    key += '\n' + argument;
  key = content_hash(key);
  {
    const std::lock_guard lock(mutex);
    for (const auto& [name, bitcode] : known)
      if (name == key)
        return bitcode;
  }
  LATHE_TRY(std::string bytes, compiled(text, file, arguments));
  auto bitcode = std::make_shared<const std::string>(std::move(bytes));
  const std::lock_guard lock(mutex);
  known.emplace_front(key, bitcode);
  if (known.size() > KEPT)
    known.pop_back();
  return bitcode;
}

} // namespace lathe::refactor
