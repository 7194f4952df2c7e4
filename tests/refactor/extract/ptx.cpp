#include "tests/refactor/extract/ptx.h"

#include "tuner/base/files.h"
#include "tuner/base/subprocess.h"
#include "tuner/compile/compile.h"

#include <algorithm>
#include <dlfcn.h>
#include <fmt/format.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace lathe::refactor {

namespace fs = std::filesystem;

fs::path find_nvcc() {
  const auto toolkit = find_cuda_toolkit();
  if (!toolkit.ok())
    return {};
  for (fs::path folder = toolkit->includes.front(); folder.has_relative_path(); folder = folder.parent_path())
    if (std::error_code failure; fs::is_regular_file(folder / "bin/nvcc", failure))
      return folder / "bin/nvcc";
  return {};
}

Result<std::string> ptx_by_nvcc(const fs::path& nvcc, const fs::path& file,
                                const std::vector<std::string>& flags) {
  LATHE_TRY(const TemporaryFolder folder, TemporaryFolder::create("nvcc"));
  const fs::path output = folder.path() / "out.ptx";
  std::vector<std::string> command{nvcc.string(), "-ptx",          "-arch=sm_90",
                                   "-std=c++17",  "-O3",           "--expt-relaxed-constexpr",
                                   "-o",          output.string(), file.string()};
  command.insert(command.end(), flags.begin(), flags.end());
  SubprocessOptions options;
  options.timeout = std::chrono::minutes(5);
  LATHE_TRY(const SubprocessResult result, run_subprocess(command, options));
  if (!result.succeeded())
    return Error{"nvcc does not compile " + file.string(), result.errors, ""};
  return read_file(output);
}

Result<NvrtcPtx> ptx_by_nvrtc(const std::string& source, const std::string& instance) {
  LATHE_TRY(const CudaToolkit toolkit, find_cuda_toolkit());
  LATHE_TRY(const fs::path stand_ins, shipped_file("nvrtc_std/cstdint"));
  void* library = dlopen(toolkit.nvrtc.c_str(), RTLD_NOW);
  if (library == nullptr)
    return Error{"cannot open NVRTC", dlerror(), ""};
  using Program = void*;
  const auto function = [&]<class F>(F*, const char* name) {
    return reinterpret_cast<F*>(dlsym(library, name));
  };
  const auto create = function(
      static_cast<int (*)(Program*, const char*, const char*, int, const char* const*, const char* const*)>(
          nullptr),
      "nvrtcCreateProgram");
  const auto add_name =
      function(static_cast<int (*)(Program, const char*)>(nullptr), "nvrtcAddNameExpression");
  const auto compile =
      function(static_cast<int (*)(Program, int, const char* const*)>(nullptr), "nvrtcCompileProgram");
  const auto lowered =
      function(static_cast<int (*)(Program, const char*, const char**)>(nullptr), "nvrtcGetLoweredName");
  const auto size = function(static_cast<int (*)(Program, std::size_t*)>(nullptr), "nvrtcGetPTXSize");
  const auto text = function(static_cast<int (*)(Program, char*)>(nullptr), "nvrtcGetPTX");
  const auto log_size =
      function(static_cast<int (*)(Program, std::size_t*)>(nullptr), "nvrtcGetProgramLogSize");
  const auto log = function(static_cast<int (*)(Program, char*)>(nullptr), "nvrtcGetProgramLog");
  const auto destroy = function(static_cast<int (*)(Program*)>(nullptr), "nvrtcDestroyProgram");
  std::vector<std::string> options{"--gpu-architecture=compute_90", "-std=c++17",
                                   "--device-as-default-execution-space",
                                   "-I" + stand_ins.parent_path().string(), "--pre-include=lathe_prelude.h"};
  for (const fs::path& include : toolkit.includes)
    options.push_back("-I" + include.string());
  std::vector<const char*> words;
  for (const std::string& option : options)
    words.push_back(option.c_str());
  Program program = nullptr;
  create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  add_name(program, instance.c_str());
  NvrtcPtx result;
  std::size_t bytes = 0;
  if (compile(program, static_cast<int>(words.size()), words.data()) != 0) {
    log_size(program, &bytes);
    std::string messages(bytes, '\0');
    log(program, messages.data());
    destroy(&program);
    return Error{"NVRTC does not compile " + instance, messages, ""};
  }
  const char* name = nullptr;
  lowered(program, instance.c_str(), &name);
  result.entry = name;
  size(program, &bytes);
  result.text.resize(bytes);
  text(program, result.text.data());
  while (!result.text.empty() && result.text.back() == '\0')
    result.text.pop_back();
  destroy(&program);
  return result;
}

namespace {

// From the line that declares `name` to the end of its block or statement.
std::string declaration_of(const std::string& ptx, const std::string& name) {
  const std::regex declared(
      fmt::format(R"((^|\n)[^\n;{{}}]*\.(entry|func|global|const|shared|extern)[^\n;{{}}]*\b{}\b)",
                  std::regex_replace(name, std::regex(R"([$.])"), R"(\$&)")));
  std::smatch found;
  if (!std::regex_search(ptx, found, declared))
    return "";
  std::size_t begin = static_cast<std::size_t>(found.position()), at = begin;
  int depth = 0;
  const bool is_function =
      found.str().find(".entry") != std::string::npos || found.str().find(".func") != std::string::npos;
  for (at += 1; at < ptx.size(); ++at) {
    depth += ptx[at] == '{' ? 1 : ptx[at] == '}' ? -1 : 0;
    if (depth == 0 && (is_function ? ptx[at] == '}' : ptx[at] == ';'))
      break;
  }
  return ptx.substr(begin, at + 1 - begin);
}

} // namespace

namespace {

// 64-bit integers are `long` where the C library says so, and `long long` in NVRTC's stand-ins for its
// headers: names alike but for that.
std::string entry_like(const std::string& ptx, const std::string& wanted) {
  const auto alike = [](std::string name) {
    std::ranges::replace(name, 'x', 'l');
    std::ranges::replace(name, 'y', 'm');
    return name;
  };
  static const std::regex declared(R"(\.entry\s+(\w+))");
  for (std::sregex_iterator at(ptx.begin(), ptx.end(), declared), none; at != none; ++at)
    if (alike((*at)[1].str()) == alike(wanted))
      return (*at)[1].str();
  return wanted;
}

} // namespace

std::string normal_ptx(const std::string& ptx, const std::string& wanted) {
  const std::string entry = entry_like(ptx, wanted);
  std::string code;
  std::istringstream lines(std::regex_replace(ptx, std::regex(R"(//[^\n]*)"), ""));
  for (std::string line; std::getline(lines, line);)
    if (line.find(".loc") == std::string::npos && line.find(".file") == std::string::npos)
      code += line + "\n";
  std::string function = declaration_of(code, entry);
  if (function.empty())
    return "";
  // A helper's shared variable stands in the function where no other entry shares it, and outside of it
  // otherwise.
  function = std::regex_replace(function, std::regex(R"(\.shared\s[^;{}]*;)"), "");
  // Variables of the file that the function names, each once.
  static const std::regex symbol(R"(\b_Z\w+|\b__\w*local_depot\d+|\b[A-Za-z_]\w*_param_\d+)");
  const std::string body = function;
  std::set<std::string> names;
  for (std::sregex_iterator at(body.begin(), body.end(), symbol), none; at != none; ++at)
    if (names.insert(at->str()).second && at->str() != entry &&
        at->str().find("_param_") == std::string::npos)
      function += declaration_of(code, at->str());
  std::string normal;
  std::size_t end = 0;
  std::map<std::string, std::size_t> numbers;
  for (std::sregex_iterator at(function.begin(), function.end(), symbol), none; at != none; ++at) {
    normal += function.substr(end, static_cast<std::size_t>(at->position()) - end) +
              fmt::format("S{}", numbers.try_emplace(at->str(), numbers.size()).first->second);
    end = static_cast<std::size_t>(at->position() + at->length());
  }
  normal += function.substr(end);
  normal = std::regex_replace(normal, std::regex(R"(\$L__BB\d+_)"), "$$L_");
  normal = std::regex_replace(normal, std::regex(R"(\.(visible|weak|extern|internal)\b)"), "");
  return std::regex_replace(normal, std::regex(R"(\s+)"), " ");
}

} // namespace lathe::refactor
