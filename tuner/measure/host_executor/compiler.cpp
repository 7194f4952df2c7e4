#include "tuner/measure/host_executor/compiler.h"

#include "tuner/base/bounded_folder.h"
#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/base/subprocess.h"
#include "tuner/compile/compile.h"
#include "tuner/measure/host_executor/compiler_process.h"
#include "tuner/measure/host_executor/prelude.h"
#include "tuner/measure/host_executor/rewrite.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <unistd.h>

namespace lathe::host {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<Compiler> search_compiler() {
  Compiler compiler;
  std::vector<std::string> candidates;
  if (const std::string chosen = environment("LATHE_HOST_CXX"); !chosen.empty())
    candidates.push_back(chosen);
  else {
    for (int version = 22; version >= 14; --version)
      candidates.push_back("clang++-" + std::to_string(version));
    // The oldest known to work well comes first of all: its sanitizer interfaces are the ones that are
    // tested.
    candidates.insert(candidates.begin(), "clang++-19");
    candidates.insert(candidates.end(), {"clang++", "g++"});
  }
  for (const std::string& candidate : candidates) {
    SubprocessOptions options;
    options.timeout = milliseconds(20000);
    const auto result = run_subprocess({candidate, "--version"}, options);
    if (!result.ok() || !result->succeeded())
      continue;
    compiler.path = candidate;
    compiler.version = result->output.substr(0, result->output.find('\n'));
    compiler.is_clang = result->output.find("clang") != std::string::npos;
    break;
  }
  if (compiler.path.empty())
    return Error{"cannot run kernels on the host", "no C++ compiler was found",
                 "install clang++-19 or set LATHE_HOST_CXX"};
  LATHE_TRY(const CudaToolkit toolkit, find_cuda_toolkit());
  compiler.cuda_include = toolkit.includes.front();
  compiler.rewriter = LATHE_REWRITER_HASH;
  LATHE_TRY(const fs::path header, shipped_file("host_executor/lathe_cuda.h"));
  compiler.device_include = header.parent_path();
  // A folder of links in a build: asked for by a folder in it, which is none.
  LATHE_TRY(const fs::path cub, shipped_file("host_executor/cub"));
  compiler.library_include = cub.parent_path();
  // A plugin loads into the version of clang that it was built for only.
  const auto plugin = shipped_file("host_executor/lathe_checks.so");
  if (plugin.ok() && compiler.version.find("clang version " LATHE_PLUGIN_CLANG) != std::string::npos)
    compiler.checks_plugin = *plugin;
  return compiler;
}

// The executor's own headers are part of what decides an object's content.
std::string device_hash(const Compiler& compiler) {
  static std::mutex mutex;
  static std::string hash;
  const std::lock_guard lock(mutex);
  if (hash.empty()) {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(compiler.device_include, ignored))
      files.push_back(entry.path());
    if (!compiler.checks_plugin.empty())
      files.push_back(compiler.checks_plugin);
    std::sort(files.begin(), files.end());
    std::string all;
    for (const fs::path& file : files)
      if (const auto text = read_file(file); text.ok())
        all += *text;
    hash = content_hash(all);
  }
  return hash;
}

fs::path cache_folder(const HostCompileOptions& options) {
  if (!options.cache_folder.empty())
    return options.cache_folder;
  // Where the user's is missing or may not be written to, objects last as long as the system's temporary
  // files.
  const auto is_usable = [](const fs::path& folder) {
    std::error_code failure;
    fs::create_directories(folder, failure);
    return !failure && ::access(folder.c_str(), W_OK) == 0;
  };
  fs::path folder;
  if (const std::string base = environment("XDG_CACHE_HOME"); !base.empty())
    folder = fs::path(base) / "lathe" / "host";
  else if (const std::string home = environment("HOME"); !home.empty())
    folder = fs::path(home) / ".cache" / "lathe" / "host";
  return !folder.empty() && is_usable(folder) ? folder : fs::temp_directory_path() / "lathe-host-cache";
}

// Objects are made again where they are missing. The folder is looked through at a process's first and after
// much more.
void keep_cache_small(const fs::path& folder, std::uint64_t written) {
  constexpr std::uint64_t LIMIT = 2ull << 30, AGAIN = LIMIT / 16;
  static std::mutex mutex;
  static std::map<fs::path, std::uint64_t> written_since;
  {
    const std::lock_guard lock(mutex);
    const auto [since, is_first] = written_since.try_emplace(folder, 0);
    since->second += written;
    if (!is_first && since->second < AGAIN)
      return;
    since->second = 0;
  }
  keep_below(folder, LIMIT);
}

std::string machine_level() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
                 __builtin_cpu_supports("bmi2")
             ? "-march=x86-64-v3"
             : "-march=x86-64";
}

// -std, -D, -U and -I mean the same here; what only changes GPU code does not.
std::vector<std::string> language_flags(const HostCompileOptions& options) {
  std::vector<std::string> flags;
  std::string standard = "-std=gnu++17";
  for (std::size_t i = 0; i < options.compile_options.size(); ++i) {
    std::string option = options.compile_options[i];
    if (option.starts_with("--std=") || option.starts_with("--define-macro=") ||
        option.starts_with("--undefine-macro=") || option.starts_with("--include-path=")) {
      const auto equals = option.find('=');
      const std::string value = option.substr(equals + 1);
      option = (option.starts_with("--std=")       ? "-std="
                : option.starts_with("--define")   ? "-D"
                : option.starts_with("--undefine") ? "-U"
                                                   : "-I") +
               value;
    }
    if (option.starts_with("-std=c++") || option.starts_with("-std=gnu++")) {
      const std::string version = option.substr(option.find("++") + 2);
      standard = "-std=gnu++" + (version == "11" || version == "14" ? std::string("17") : version);
    } else if (option == "-D" || option == "-U" || option == "-I") {
      if (i + 1 < options.compile_options.size())
        flags.insert(flags.end(), {option, options.compile_options[++i]});
    } else if (option.starts_with("-D") || option.starts_with("-U") || option.starts_with("-I")) {
      flags.push_back(option);
    }
  }
  flags.push_back(standard);
  for (const std::string& folder : options.include_folders)
    flags.push_back("-I" + folder);
  return flags;
}

std::vector<std::string> code_flags(const Compiler& compiler, const HostCompileOptions& options) {
  std::vector<std::string> flags{"-w",
                                 "-fPIC",
                                 "-fvisibility=hidden",
                                 "-fno-exceptions",
                                 "-fno-strict-aliasing",
                                 "-ffp-contract=off",
                                 "-fno-math-errno",
                                 "-fno-trapping-math",
                                 machine_level()};
  if (compiler.is_clang)
    flags.insert(flags.end(), {"-fno-strict-float-cast-overflow", "-ferror-limit=5", "-Wno-c++11-narrowing"});
  else
    flags.insert(flags.end(), {"-fmax-errors=5", "-Wno-narrowing"}); // which NVRTC takes
  if (!options.sanitize && !options.trace) {
    flags.insert(flags.end(), {"-O2", "-fwrapv"});
    return flags;
  }
  // Only accesses that the compiler kept one by one are announced whole.
  flags.insert(flags.end(),
               {"-O1", "-gline-tables-only", "-fno-vectorize", "-fno-slp-vectorize",
                // Past the driver, which links no runtime then and allows the undefined-behaviour checks too.
                "-Xclang", "-fsanitize=thread", "-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm",
                "-tsan-instrument-atomics=0", "-mllvm", "-tsan-instrument-read-before-write=1", "-mllvm",
                "-tsan-handle-cxx-exceptions=0"});
  if (options.sanitize && !compiler.checks_plugin.empty())
    flags.push_back("-fpass-plugin=" + compiler.checks_plugin.string());
  if (options.sanitize)
    flags.insert(flags.end(), {"-fsanitize=undefined",
                               "-fno-sanitize=vptr,function,pointer-overflow,shift-base,object-size",
                               "-fsanitize-minimal-runtime", "-fsanitize-recover=undefined"});
  else
    flags.push_back("-fwrapv");
  return flags;
}

// Not the kernel's text but a precompiled header that is damaged, or not this compiler's.
bool blames_header(const Error& error) {
  const std::string sentence = error.sentence();
  return sentence.find("PCH") != std::string::npos || sentence.find("precompiled") != std::string::npos;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text)
    result += c == '\\' || c == '"' ? std::string{'\\', c} : std::string(1, c);
  return result;
}

} // namespace

Result<Compiler> find_compiler() {
  static std::mutex mutex;
  static std::optional<Compiler> found;
  const std::lock_guard lock(mutex);
  if (!found) {
    LATHE_TRY(found, search_compiler());
  }
  return *found;
}

Result<CompiledUnit> compile_unit(const Compiler& compiler, std::string_view source,
                                  std::span<const std::string> instances, const HostCompileOptions& options,
                                  std::string_view file_name) {
  const bool checked = options.sanitize || options.trace;
  if (checked && !compiler.is_clang)
    return Error{"cannot check memory accesses on the host", compiler.path + " is not clang",
                 "install clang++-19"};
  const auto begin = std::chrono::steady_clock::now();
  // Without its folder: an object is found again wherever the same text lies.
  const std::string text_name = escaped(fs::path(file_name).filename().string());
  // Whose text is the kernel's own: the plugin looks at no other.
  std::string unit =
      checked ? fmt::format("extern \"C\" __attribute__((used)) const char lathe_kernel_file[] = \"{}\";\n",
                            text_name)
              : "";
  unit += fmt::format("# 1 \"{}\"\n{}\n", text_name, source);
  for (std::size_t i = 0; i < instances.size(); ++i)
    unit += fmt::format("# 1 \"instance {}\"\nextern \"C\" __attribute__((visibility(\"default\"))) const "
                        "::lathe_host::Entry "
                        "lathe_entry_{} = ::lathe_host::Caller<&{}>::entry;\n",
                        escaped(instances[i]), i, instances[i]);
  unit += "# 1 \"lathe_runtime.cpp\"\n#include \"lathe_runtime.h\"\n";

  std::vector<std::string> preprocess{compiler.path, "-x", "c++", "-E", "-w"};
  for (const std::string& flag : language_flags(options))
    preprocess.push_back(flag);
  preprocess.insert(preprocess.end(),
                    {"-I" + compiler.device_include.string(), "-I" + compiler.library_include.string(),
                     "-I" + compiler.cuda_include.string(), "-"});
  std::vector<std::string> flags;
  for (const std::string& flag : language_flags(options))
    if (flag.starts_with("-std="))
      flags.push_back(flag);
  for (const std::string& flag : code_flags(compiler, options))
    flags.push_back(flag);

  LATHE_TRY(const std::shared_ptr<const Prelude> prelude,
            prelude_of(preprocess, checked, options.time_limit_s, file_name));
  LATHE_TRY(const std::string preprocessed,
            preprocess_behind(*prelude, preprocess, checked, unit, options.time_limit_s, file_name));
  std::string key = compiler.path + compiler.version + compiler.rewriter + device_hash(compiler);
  for (const std::string& flag : flags)
    key += '\n' + flag;
  const fs::path object = cache_folder(options) / (content_hash(key + prelude->text + preprocessed) + ".so");
  std::error_code ignored;
  if (fs::exists(object, ignored)) {
    mark_used(object);
    return CompiledUnit{object, true, 0};
  }

  fs::create_directories(object.parent_path(), ignored);
  // Instrumented code must not bring clang's own run-time library: link without it.
  const fs::path partial = object.parent_path() / fmt::format("{}.{}.{}", object.stem().string(), getpid(),
                                                              reinterpret_cast<std::uintptr_t>(&unit));
  const std::string text = rewrite_cuda(preprocessed, {!checked});
  const std::string object_file = partial.string() + ".o", library = partial.string() + ".so";
  const auto generate = [&](const fs::path& header) {
    std::vector<std::string> command{compiler.path, "-x", "c++"};
    command.insert(command.end(), flags.begin(), flags.end());
    if (!header.empty())
      command.insert(command.end(), {"-include-pch", header.string()});
    command.insert(command.end(), {"-c", "-", "-o", object_file});
    const std::string whole = header.empty() ? rewrite_cuda(prelude->text, {!checked}) + text : "";
    return run_compiler(command, options.time_limit_s, file_name, header.empty() ? whole : text);
  };
  const fs::path header =
      precompiled(compiler, *prelude, flags, !checked, object.parent_path(), options.time_limit_s);
  auto status = generate(header);
  if (!status.ok() && !header.empty() && blames_header(status.error()))
    status = generate({});
  if (status.ok())
    status = run_compiler({compiler.path, "-shared", "-o", library, object_file}, options.time_limit_s,
                          file_name, {});
  fs::remove(object_file, ignored);
  if (!status.ok())
    return status.error();
  std::error_code renamed;
  const auto size = fs::file_size(library, ignored);
  fs::rename(library, object, renamed);
  if (renamed)
    return Error{"cannot keep the compiled kernel in " + object.string(), renamed.message(),
                 "check the folder's permissions and space"};
  keep_cache_small(object.parent_path(), ignored ? 0 : size);
  return CompiledUnit{object, false,
                      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

namespace {

std::string find_source_line(const fs::path& object, std::uintptr_t offset) {
  for (const char* tool : {"llvm-symbolizer-19", "llvm-symbolizer", "addr2line"}) {
    std::vector<std::string> command{tool, "-e", object.string(), fmt::format("0x{:x}", offset)};
    if (std::string_view(tool).starts_with("llvm"))
      command = {tool, "--obj=" + object.string(), "--functions=none", "--no-inlines",
                 fmt::format("0x{:x}", offset)};
    SubprocessOptions options;
    options.timeout = milliseconds(20000);
    const auto result = run_subprocess(command, options);
    if (!result.ok() || !result->succeeded())
      continue;
    std::string line = result->output.substr(0, result->output.find('\n'));
    if (line.empty() || line[0] == '?')
      return {};
    // "file:line:column" of llvm-symbolizer.
    if (std::count(line.begin(), line.end(), ':') >= 2)
      line.resize(line.rfind(':'));
    return fs::path(line).filename().string();
  }
  return {};
}

} // namespace

std::string source_line(const fs::path& object, std::uintptr_t offset) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::uintptr_t>, std::string> known;
  const auto key = std::pair(object.string(), offset);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end())
      return found->second;
  }
  std::string line = find_source_line(object, offset);
  const std::lock_guard lock(mutex);
  return known.emplace(key, std::move(line)).first->second;
}

} // namespace lathe::host

namespace lathe {

Result<std::string> host_compiler() {
  LATHE_TRY(const host::Compiler compiler, host::find_compiler());
  return compiler.path + ": " + compiler.version;
}

} // namespace lathe
