#include "refactor/frontend/command.h"

#include "tuner/base/files.h"
#include "tuner/compile/compile.h"

#include <clang/Basic/Version.h>
#include <clang/Tooling/CompilationDatabase.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

// How many folders above the source are searched for headers when it lies in no git repository.
constexpr int ANCESTORS_WITHOUT_REPOSITORY = 3;

// Clang's builtin headers: beside the shared library in use, where this build found them, or beside the
// executable.
Result<fs::path> resource_folder() {
  std::vector<fs::path> candidates;
  Dl_info library{};
  std::error_code failure;
  const auto version = static_cast<std::string (*)()>(&clang::getClangFullVersion);
  if (dladdr(reinterpret_cast<void*>(version), &library) && library.dli_fname) {
    const fs::path file = fs::canonical(library.dli_fname, failure);
    candidates.push_back(file.parent_path() / "clang" / CLANG_VERSION_MAJOR_STRING);
  }
  candidates.emplace_back(LATHE_CLANG_RESOURCE_DIR);
  const fs::path executable = fs::read_symlink("/proc/self/exe", failure);
  candidates.push_back(executable.parent_path().parent_path() / "lib/clang" / CLANG_VERSION_MAJOR_STRING);
  std::string looked;
  for (const fs::path& candidate : candidates) {
    if (fs::exists(candidate / "include/__clang_cuda_runtime_wrapper.h", failure))
      return fs::canonical(candidate, failure);
    looked += (looked.empty() ? "" : ", ") + candidate.string();
  }
  return Error{"cannot find Clang's own headers", "they are not in " + looked, "install clang-19"};
}

// Options that carry a value and mean the same to Clang.
constexpr std::array KEPT_WITH_VALUE{"-D", "-U", "-I", "-isystem", "-iquote", "-idirafter", "-include"};

std::string absolute_in(const std::string& path, const fs::path& folder) {
  return folder.empty() || fs::path(path).is_absolute() ? path : (folder / path).lexically_normal().string();
}

bool is_path_option(const std::string& option) {
  return option != "-D" && option != "-U";
}

// Builds name their dependencies' headers with -isystem; their kernels are the user's all the same. And what
// a header of such a folder includes is the system's to Clang, wherever it lies. The toolkit and an installed
// PyTorch are not the user's.
void note_folder(const std::string& option, const std::string& path, ClangCommand& command) {
  std::error_code failure;
  if (option != "-include" && is_path_option(option) && path.find("/torch/include") == std::string::npos &&
      !fs::exists(fs::path(path) / "cuda_runtime_api.h", failure) &&
      !fs::path(path).string().starts_with("/usr/include"))
    command.user_folders.emplace_back(path);
}

// Keeps what decides how the source is read (macros, include folders, the language standard); nvcc's and the
// host compiler's other options do not change the AST.
void translate(const std::vector<std::string>& flags, const fs::path& folder, ClangCommand& command) {
  const auto standard = [&](std::string value) {
    if (value.starts_with("gnu++"))
      value = "c++" + value.substr(5);
    command.arguments.push_back("-std=" + value);
    command.states_standard = true;
  };
  for (std::size_t i = 0; i < flags.size(); ++i) {
    std::string flag = flags[i];
    if (flag.starts_with("--include-path=") || flag.starts_with("--system-include="))
      flag = (flag[2] == 'i' ? "-I" : "-isystem") + flag.substr(flag.find('=') + 1);
    else if (flag == "--include-path" || flag == "--define-macro" || flag == "--undefine-macro")
      flag = flag == "--include-path" ? "-I" : flag == "--define-macro" ? "-D" : "-U";
    else if (flag == "--pre-include")
      flag = "-include";
    if ((flag == "-std" || flag == "--std") && i + 1 < flags.size()) {
      standard(flags[++i]);
      continue;
    }
    if (flag.starts_with("-std=") || flag.starts_with("--std=")) {
      standard(flag.substr(flag.find('=') + 1));
      continue;
    }
    if (flag == "-use_fast_math" || flag == "--use_fast_math") {
      command.arguments.push_back("-ffast-math");
      continue;
    }
    for (const std::string option : KEPT_WITH_VALUE) {
      if (!flag.starts_with(option) || (option == "-include" && flag != option))
        continue;
      if (flag != option) {
        const std::string value = flag.substr(option.size());
        const std::string meant = is_path_option(option) ? absolute_in(value, folder) : value;
        command.arguments.push_back(option + meant);
        note_folder(option, meant, command);
      } else if (i + 1 < flags.size()) {
        const std::string& value = flags[++i];
        const std::string meant = is_path_option(option) ? absolute_in(value, folder) : value;
        command.arguments.push_back(option);
        command.arguments.push_back(meant);
        note_folder(option, meant, command);
      }
      break;
    }
  }
}

Status add_database_flags(const fs::path& file, const fs::path& database, ClangCommand& command) {
  std::string problem;
  const fs::path folder = fs::is_directory(database) ? database : database.parent_path();
  const auto loaded = clang::tooling::CompilationDatabase::loadFromDirectory(folder.string(), problem);
  if (!loaded)
    return usage_error("cannot read a compile database in " + folder.string(),
                       problem.substr(0, problem.find('\n')), "name the folder of a compile_commands.json");
  std::error_code failure;
  const fs::path wanted = fs::weakly_canonical(file, failure);
  for (const clang::tooling::CompileCommand& entry : loaded->getAllCompileCommands()) {
    const fs::path named = absolute_in(entry.Filename, entry.Directory);
    if (fs::weakly_canonical(named, failure) != wanted)
      continue;
    translate(entry.CommandLine, entry.Directory, command);
    command.folder = entry.Directory;
    return Done{};
  }
  return usage_error("no compile command for " + file.string(),
                     "the database in " + folder.string() + " lacks it",
                     "name a file of that build, or give its flags after --");
}

// A repository's own headers when no flags name them: `include` folders and the folders above the source, up
// to the repository's root, searched after everything else.
void add_surroundings(const fs::path& file, ClangCommand& command) {
  std::vector<fs::path> above;
  std::error_code failure;
  bool in_repository = false;
  for (fs::path folder = file.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    above.push_back(folder);
    if (fs::exists(folder / ".git", failure)) {
      in_repository = true;
      break;
    }
  }
  if (!in_repository && above.size() > ANCESTORS_WITHOUT_REPOSITORY + 1)
    above.resize(ANCESTORS_WITHOUT_REPOSITORY + 1);
  for (const fs::path& folder : above) {
    const fs::path include = folder / "include";
    if (fs::is_directory(include, failure)) {
      command.arguments.push_back("-idirafter" + include.string());
      command.user_folders.push_back(include);
    }
  }
  // The file's own folder too: some include what lies beside them with angle brackets.
  for (std::size_t i = 0; i < above.size(); ++i)
    if (above[i].has_relative_path() && above[i].parent_path().has_relative_path()) {
      command.arguments.push_back("-idirafter" + above[i].string());
      command.user_folders.push_back(above[i]);
    }
}

} // namespace

Result<ClangCommand> clang_command(const fs::path& file, const ParseOptions& options) {
  LATHE_TRY(const CudaToolkit toolkit, find_cuda_toolkit());
  LATHE_TRY(const fs::path resources, resource_folder());
  LATHE_TRY(const fs::path shipped, shipped_file("frontend/torch"));
  const fs::path& cuda = toolkit.home;
  ClangCommand command;
  command.stand_ins = shipped.parent_path();
  command.toolkit_folders = toolkit.includes;
  // lib/clang/19 -> bin/clang++: the program that belongs to these headers.
  const fs::path program = resources.parent_path().parent_path().parent_path() / "bin/clang++";
  // Clang 19 knows architectures up to sm_90a; newer ones are parsed as sm_90 with their own __CUDA_ARCH__.
  int number = 0;
  for (const char digit : options.architecture)
    if (digit >= '0' && digit <= '9')
      number = number * 10 + (digit - '0');
  const bool known = number <= 90;
  command.arguments = {std::filesystem::exists(program) ? program.string() : "clang++-19", "-x", "cuda",
                       "--cuda-path=" + cuda.string(),
                       "--cuda-gpu-arch=" + (known ? options.architecture : "sm_90"), "--cuda-device-only",
                       "-resource-dir=" + resources.string(), "-Wno-unknown-cuda-version",
                       // What nvcc takes, at most with a warning.
                       "-Wno-c++11-narrowing", "-Wno-reserved-user-defined-literal", "-ferror-limit=0",
                       "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", "-D__NVCC__",
                       "-isystem" + command.stand_ins.string()};
  if (!known) {
    command.arguments.push_back("-U__CUDA_ARCH__");
    command.arguments.push_back(fmt::format("-D__CUDA_ARCH__={}", number * 10));
  }
  for (std::size_t i = 1; i < toolkit.includes.size(); ++i)
    command.arguments.push_back("-isystem" + toolkit.includes[i].string());
  command.arguments.push_back("-include");
  command.arguments.push_back((command.stand_ins / "lathe_clang_cuda.h").string());
  std::error_code failure;
  if (!fs::exists(cuda / "nvvm/libdevice", failure))
    command.arguments.push_back("-nocudalib");
  if (!options.compile_database.empty())
    LATHE_CHECK(add_database_flags(file, options.compile_database, command));
  translate(options.flags, {}, command);
  if (!command.states_standard)
    command.arguments.push_back("-std=c++17");
  add_surroundings(file, command);
  command.arguments.push_back("-idirafter" + (command.stand_ins / "torch").string());
  return command;
}

} // namespace lathe::refactor
