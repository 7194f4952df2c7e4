#include "tuner/compile/toolkit.h"

#include "tuner/base/files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <dlfcn.h>
#include <regex>
#include <set>

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr const char* LIBRARY = "libnvrtc.so.13";

fs::path executable_folder() {
  std::error_code failure;
  const fs::path executable = fs::read_symlink("/proc/self/exe", failure);
  return failure ? fs::path() : executable.parent_path();
}

// cuda.h: `#define CUDA_VERSION 13000` is 1000 * major + 10 * minor.
std::string version_of(const fs::path& include_folder) {
  const auto text = read_file(include_folder / "cuda.h");
  std::smatch match;
  static const std::regex pattern(R"(#define\s+CUDA_VERSION\s+(\d+))");
  if (!text.ok() || !std::regex_search(*text, match, pattern))
    return "unknown";
  const int number = std::stoi(match[1]);
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::optional<CudaToolkit> toolkit_at(const fs::path& home) {
  std::error_code failure;
  CudaToolkit toolkit;
  for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"})
    if (fs::exists(home / folder / LIBRARY, failure)) {
      toolkit.nvrtc = home / folder / LIBRARY;
      break;
    }
  for (const char* folder : {"include", "targets/x86_64-linux/include"})
    if (fs::exists(home / folder / "cuda_fp16.h", failure)) {
      toolkit.includes.push_back(home / folder);
      if (fs::exists(home / folder / "cccl", failure))
        toolkit.includes.push_back(home / folder / "cccl");
      break;
    }
  if (toolkit.nvrtc.empty() || toolkit.includes.empty())
    return std::nullopt;
  // Not the folder above `include`, which is a link into targets/ in NVIDIA's installations.
  toolkit.home = fs::weakly_canonical(home, failure);
  toolkit.version = version_of(toolkit.includes.front());
  return toolkit;
}

// nvcc's options that only concern the host compiler or the driver of the compilation: with a separate value,
// and without.
constexpr std::array WITH_VALUE{"-Xcompiler",
                                "--compiler-options",
                                "-gencode",
                                "--generate-code",
                                "-arch",
                                "-code",
                                "--gpu-architecture",
                                "--gpu-code",
                                "-o",
                                "--output-file",
                                "-x",
                                "--x",
                                "-ccbin",
                                "--compiler-bindir",
                                "-Xlinker",
                                "--linker-options",
                                "-Xcudafe",
                                "--threads",
                                "-t",
                                "-MF",
                                "-MT",
                                "-MQ",
                                "-L",
                                "-l",
                                "-Xfatbin",
                                "-Xnvlink"};
constexpr std::array WITHOUT_VALUE{"-c",
                                   "--compile",
                                   "-dc",
                                   "--device-c",
                                   "-MD",
                                   "-MMD",
                                   "-MP",
                                   "-shared",
                                   "--shared",
                                   "--expt-relaxed-constexpr",
                                   "-expt-relaxed-constexpr",
                                   "--expt-extended-lambda",
                                   "-expt-extended-lambda",
                                   "--extended-lambda",
                                   "-extended-lambda",
                                   "-g",
                                   "-pthread",
                                   "--forward-unknown-to-host-compiler",
                                   "-forward-unknown-to-host-compiler",
                                   "-pipe",
                                   "-w",
                                   "-v",
                                   "-keep",
                                   "--keep",
                                   "-cuda",
                                   "-ptx",
                                   "-cubin",
                                   "-m64",
                                   "--verbose"};

bool is_host_only(const std::string& option) {
  return std::find(WITHOUT_VALUE.begin(), WITHOUT_VALUE.end(), option) != WITHOUT_VALUE.end() ||
         option.starts_with("-O") || option.starts_with("-W") || option.starts_with("-f") ||
         option.starts_with("-m64") || option.starts_with("-L") || option.starts_with("-l") ||
         option.starts_with("-rdc") || option.starts_with("--relocatable-device-code") ||
         option.starts_with("-gencode=") || option.starts_with("--generate-code=") ||
         option.starts_with("-arch=") || option.starts_with("-code=") || option.starts_with("--gpu-") ||
         option.starts_with("-Xcompiler=") || option.starts_with("--compiler-options=") ||
         option.starts_with("-std=gnu") || option.starts_with("--threads=") ||
         option.starts_with("--cuda-") || option.starts_with("--diag") || option.starts_with("-diag");
}

// -fmad and -ftz look like the host's -f options, but are the device compiler's.
bool is_device_option(const std::string& option) {
  return option.starts_with("-fmad") || option.starts_with("-ftz") || option.starts_with("-lineinfo");
}

struct IncludeDirective {
  std::string name;
  bool known = true;
};

// The names of the #include directives of a text, comments ignored only as far as a directive needs.
std::vector<IncludeDirective> include_directives(const std::string& text) {
  std::vector<IncludeDirective> found;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos)
      end = text.size();
    std::size_t i = at;
    const auto skip = [&] {
      while (i < end && (text[i] == ' ' || text[i] == '\t'))
        ++i;
    };
    skip();
    if (i < end && text[i] == '#') {
      ++i;
      skip();
      if (text.compare(i, 7, "include") == 0) {
        i += 7;
        skip();
        const char close = i < end && text[i] == '"' ? '"' : i < end && text[i] == '<' ? '>' : '\0';
        const std::size_t stop = close ? text.find(close, i + 1) : std::string::npos;
        if (stop != std::string::npos && stop < end)
          found.push_back({text.substr(i + 1, stop - i - 1)});
        else
          found.push_back({"", false});
      }
    }
    at = end + 1;
  }
  return found;
}

bool add_included(const std::string& text, const fs::path& folder, const std::vector<fs::path>& search,
                  std::set<fs::path>& seen, std::string& all) {
  for (const IncludeDirective& directive : include_directives(text)) {
    if (!directive.known)
      return false;
    std::vector<fs::path> folders;
    if (!folder.empty())
      folders.push_back(folder);
    folders.insert(folders.end(), search.begin(), search.end());
    for (const fs::path& candidate_folder : folders) {
      std::error_code failure;
      const fs::path path = fs::weakly_canonical(candidate_folder / directive.name, failure);
      if (failure || !fs::is_regular_file(path, failure))
        continue;
      if (!seen.insert(path).second)
        break;
      Result<std::string> content = read_file(path);
      if (!content.ok())
        return false;
      all += directive.name + "\n" + *content + "\n";
      if (!add_included(*content, path.parent_path(), search, seen, all))
        return false;
      break;
    }
  }
  return true;
}

} // namespace

Result<CudaToolkit> find_cuda_toolkit() {
  std::vector<fs::path> homes;
  for (const char* variable : {"LATHE_CUDA_HOME", "CUDA_HOME", "CUDA_PATH"})
    if (const char* value = std::getenv(variable); value && *value)
      homes.emplace_back(value);
  if (const fs::path folder = executable_folder(); !folder.empty()) {
    homes.push_back(folder / ".."); // a bundle that carries the libraries
    homes.push_back(folder / "../cuda");
  }
  homes.emplace_back(LATHE_BUILT_WITH_CUDA_HOME); // the toolkit that this build found
  homes.emplace_back("/usr/local/cuda");
  homes.emplace_back("/usr/local/cuda-13.0");
  std::string looked;
  for (const fs::path& home : homes) {
    if (std::optional<CudaToolkit> found = toolkit_at(home)) {
      std::error_code failure;
      for (fs::path& path : found->includes)
        path = fs::weakly_canonical(path, failure);
      return *found;
    }
    looked += (looked.empty() ? "" : ", ") + home.string();
  }
  return Error{"cannot find the CUDA 13 toolkit",
               std::string("neither ") + LIBRARY + " nor its headers are under " + looked,
               "install it, or set LATHE_CUDA_HOME to its folder"};
}

Result<ProgramOptions> program_options(const CompileRequest& request, const CudaToolkit& toolkit) {
  ProgramOptions result;
  bool has_standard = false;
  std::vector<std::string> folders;
  const std::vector<std::string>& given = request.options;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string& option = given[i];
    const bool last = i + 1 == given.size();
    if (option == "-I" || option == "-isystem" || option == "--include-path" || option == "-iquote") {
      if (!last)
        folders.push_back(given[++i]);
    } else if (option.starts_with("--include-path=")) {
      folders.push_back(option.substr(15));
    } else if (option.starts_with("-isystem") || option.starts_with("-iquote")) {
      folders.push_back(option.substr(option.starts_with("-isystem") ? 8 : 7));
    } else if (option.starts_with("-I")) {
      folders.push_back(option.substr(2));
    } else if (option == "-D" || option == "-U" || option == "-include" || option == "-std" ||
               option == "--std" || option == "-Xptxas" || option == "--ptxas-options" ||
               option == "-maxrregcount") {
      if (last)
        return usage_error("cannot compile with option " + option, "its value is missing", "give one");
      has_standard |= option == "-std" || option == "--std";
      if (option == "-include")
        result.options.push_back("--pre-include=" + given[++i]);
      else if (option == "-D" || option == "-U")
        result.options.push_back(option + given[++i]);
      else
        result.options.push_back((option == "-Xptxas" ? "--ptxas-options" : option) + "=" + given[++i]);
    } else if (option == "-use_fast_math") {
      result.options.push_back("--use_fast_math");
    } else if (is_device_option(option)) {
      result.options.push_back(option);
    } else if (std::find(WITH_VALUE.begin(), WITH_VALUE.end(), option) != WITH_VALUE.end()) {
      ++i;
    } else if (!is_host_only(option)) {
      has_standard |= option.starts_with("-std=") || option.starts_with("--std=");
      result.options.push_back(option);
    }
  }
  if (!has_standard)
    result.options.push_back("-std=c++17");
  result.options.push_back("--gpu-architecture=" + request.architecture);
  result.options.push_back("--device-as-default-execution-space");
  result.options.push_back("--device-int128"); // which nvcc takes without being asked
  result.options.push_back("--no-cache");
  result.options.push_back("--ptxas-options=-v"); // its report has the spills, which the cubin does not
  result.options.push_back("--frandom-seed=lathe");

  // The file's own folder, unless nothing beside the toolkit's is included at all: texts of several folders
  // then begin with the same precompiled headers.
  if (const fs::path file(request.file_name); file.is_absolute()) {
    std::vector<fs::path> search{file.parent_path()};
    search.insert(search.end(), folders.begin(), folders.end());
    if (included_text(request.source, search) != "")
      folders.insert(folders.begin(), file.parent_path().string());
  }
  LATHE_TRY(const fs::path stand_ins, shipped_file("nvrtc_std/cstdint"));
  folders.push_back(stand_ins.parent_path().string());
  result.options.push_back("--pre-include=lathe_prelude.h");
  for (const std::string& folder : folders) {
    result.options.push_back("-I" + folder);
    result.search.emplace_back(folder);
  }
  for (const fs::path& folder : toolkit.includes)
    result.options.push_back("-I" + folder.string());
  return result;
}

std::optional<std::string> included_text(const std::string& source, const std::vector<fs::path>& search) {
  std::set<fs::path> seen;
  std::string all;
  if (!add_included(source, {}, search, seen, all))
    return std::nullopt;
  return all;
}

Result<fs::path> sibling_executable(const std::string& name) {
  const fs::path folder = executable_folder();
  std::error_code failure;
  for (const fs::path& candidate :
       {folder / name, folder / "../libexec/lathe" / name, folder / "../bin" / name})
    if (fs::exists(candidate, failure))
      return fs::weakly_canonical(candidate, failure);
  return Error{"cannot find Lathe's helper " + name, "it is not beside " + folder.string(),
               "install Lathe again"};
}

} // namespace lathe
