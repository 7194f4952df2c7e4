#include "tuner/app/health.h"

#include "tuner/base/files.h"
#include "tuner/compile/compile.h"
#include "tuner/measure/host_executor/host_executor.h"
#include "tuner/store/store.h"

#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr const char* probe =
    "extern \"C\" __global__ void probe(int* out) { out[threadIdx.x] = threadIdx.x + 1; }\n";

HealthLine nvrtc() {
  CompilerOptions options;
  options.jobs = 1;
  options.use_cache = false;
  auto compiler = Compiler::create(options);
  if (!compiler.ok())
    return {"NVRTC", Health::fail, compiler.error().what + ": " + compiler.error().why,
            compiler.error().remedy};
  CompileRequest request;
  request.source = probe;
  request.instances = {"probe"};
  const auto outcomes = (*compiler)->compile(request);
  if (outcomes.empty() || !outcomes.front().ok())
    return {"NVRTC", Health::fail,
            "does not compile a kernel: " +
                (outcomes.empty() ? std::string("no answer") : outcomes.front().message),
            "install the CUDA 13 toolkit anew, or point LATHE_CUDA_HOME to another"};
  return {"NVRTC", Health::ok,
          fmt::format("{} compiled a kernel in {:.2f} s", (*compiler)->nvrtc_version(),
                      outcomes.front().kernel.seconds),
          ""};
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

HealthLine host_executor() {
  constexpr const char* remedy = "install clang++ 14 or newer, or name a compiler in LATHE_HOST_CXX";
  const auto compiler = host_compiler();
  if (!compiler.ok())
    return {"host executor", Health::fail,
            compiler.error().why.empty() ? compiler.error().what : compiler.error().why, remedy};
  constexpr std::size_t threads = 4;
  auto kernel = HostKernel::compile(probe, "probe");
  auto buffer = HostBuffer::allocate(threads * sizeof(int));
  if (!kernel.ok() || !buffer.ok())
    return {"host executor", Health::fail,
            first_line(*compiler) + " does not compile a kernel: " +
                first_line(kernel.ok() ? buffer.error().sentence() : kernel.error().sentence()),
            remedy};
  Launch launch;
  launch.block[0] = threads;
  const std::array arguments{HostArgument::of(*buffer, "out")};
  const auto ran = kernel->run_isolated(launch, arguments);
  if (!ran.ok() || ran->outcome != Outcome::ok || buffer->as<int>()[threads - 1] != static_cast<int>(threads))
    return {"host executor", Health::fail,
            "a kernel does not run: " + (ran.ok() ? ran->reason : ran.error().sentence()), remedy};
  const bool is_clang = compiler->find("clang") != std::string::npos;
  return {"host executor", is_clang ? Health::ok : Health::warn,
          first_line(*compiler) + " compiled a kernel, which ran",
          is_clang ? "" : "install clang++: with g++ there are no sanitizers and no traces"};
}

HealthLine toolkit() {
  const auto found = find_cuda_toolkit();
  if (!found.ok())
    return {"CUDA toolkit", Health::fail, found.error().why.empty() ? found.error().what : found.error().why,
            found.error().remedy};
  return {"CUDA toolkit", Health::ok, found->version + ", " + found->nvrtc.string(), ""};
}

// The other executables and the files that are read at run time.
std::vector<HealthLine> installation() {
  std::vector<HealthLine> lines;
  std::error_code failure;
  const fs::path folder = fs::read_symlink("/proc/self/exe", failure).parent_path();
  struct Program {
    const char* name;
    Health missing;
    const char* remedy;
  };
  for (const Program& program :
       {Program{"lathe-compiler", Health::fail, "install Lathe anew: it compiles every configuration"},
        Program{"lathe-runner", Health::warn, "install Lathe anew to tune on a GPU"},
        Program{"lathe-refactor", Health::warn,
                "templatize and check run on a machine where it was built (it needs Clang); tuning does not "
                "need it"}})
    lines.push_back(::access((folder / program.name).c_str(), X_OK) == 0
                        ? HealthLine{program.name, Health::ok, (folder / program.name).string(), ""}
                        : HealthLine{program.name, program.missing,
                                     "is not beside lathe in " + folder.string(), program.remedy});
  return lines;
}

fs::path nearest_existing(fs::path folder) {
  std::error_code failure;
  folder = fs::absolute(folder, failure);
  while (!fs::exists(folder, failure) && folder.has_parent_path() && folder != folder.parent_path())
    folder = folder.parent_path();
  return folder;
}

HealthLine room(const std::string& name, const fs::path& folder) {
  const fs::path existing = nearest_existing(folder);
  std::error_code failure;
  const fs::space_info space = fs::space(existing, failure);
  if (failure)
    return {name, Health::warn, existing.string() + ": " + failure.message(),
            "see whether the disk is mounted"};
  if (::access(existing.c_str(), W_OK) != 0)
    return {name, Health::fail, "cannot write to " + existing.string(),
            "change its permissions or name another folder"};
  return disk_room(name, folder, space.available);
}

fs::path cache_folder() {
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base && *base)
    return fs::path(base) / "lathe";
  const char* home = std::getenv("HOME");
  return fs::path(home && *home ? home : "/tmp") / ".cache/lathe";
}

HealthLine cache() {
  const fs::path folder = cache_folder();
  std::error_code failure;
  std::uintmax_t bytes = 0, files = 0;
  for (fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failure),
       end;
       !failure && entry != end; entry.increment(failure))
    if (entry->is_regular_file(failure)) {
      bytes += entry->file_size(failure);
      ++files;
    }
  constexpr std::uintmax_t large = 8ull << 30; // what is cached by NVRTC alone is held under 2 GiB
  const std::string finding =
      fmt::format("{}: {} files, {:.0f} MiB", folder.string(), files, static_cast<double>(bytes) / (1 << 20));
  return {"cache", bytes > large ? Health::warn : Health::ok, finding,
          bytes > large ? "delete the folder: what is needed is compiled again" : ""};
}

HealthLine store(const fs::path& path) {
  std::error_code failure;
  if (!fs::exists(path, failure))
    return {"results store", Health::ok, path.string() + ": not there yet", ""};
  const auto opened = Store::open(path);
  if (!opened.ok())
    return {"results store", Health::fail, opened.error().what + ": " + opened.error().why,
            opened.error().remedy};
  const auto kernels = (*opened)->kernels();
  if (!kernels.ok())
    return {"results store", Health::fail, kernels.error().what + ": " + kernels.error().why,
            kernels.error().remedy};
  return {"results store", Health::ok,
          fmt::format("{}: results of {} kernels", path.string(), kernels->size()), ""};
}

} // namespace

HealthLine disk_room(const std::string& name, const fs::path& folder, std::uintmax_t free_bytes) {
  constexpr std::uintmax_t least = 64ull << 20, comfortable = 1ull << 30;
  const std::string finding =
      fmt::format("{:.1f} GiB free for {}", static_cast<double>(free_bytes) / static_cast<double>(1ull << 30),
                  folder.string());
  if (free_bytes < least)
    return {name, Health::fail, finding, "make room: a results store that cannot grow stops the tuning"};
  return {name, free_bytes < comfortable ? Health::warn : Health::ok, finding,
          free_bytes < comfortable ? "make room before a long run" : ""};
}

std::vector<HealthLine> host_health(const fs::path& results) {
  std::vector<HealthLine> lines{toolkit(), nvrtc(), host_executor()};
  for (HealthLine& line : installation())
    lines.push_back(std::move(line));
  lines.push_back(
      room("disk of the results", results.has_parent_path() ? results.parent_path() : fs::path(".")));
  lines.push_back(room("disk of the cache", cache_folder()));
  lines.push_back(cache());
  lines.push_back(store(results));
  return lines;
}

} // namespace lathe
