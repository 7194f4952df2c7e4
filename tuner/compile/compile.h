// CUDA C++ to machine code by NVRTC, in worker processes: a compiler that crashes or never ends costs one
// kernel. Needs the CUDA 13 toolkit (its NVRTC library and headers), found at run time; needs no device and
// no driver.
#pragma once

#include "tuner/base/result.h"
#include "tuner/device/device.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// One translation unit and the kernels wanted from it.
struct CompileRequest {
  std::string source; // its whole text
  std::string file_name =
      "kernel.cu"; // for messages; if absolute, its folder is searched for quoted includes
  // Of NVRTC or nvcc; what means nothing to NVRTC (-O3, -Xcompiler, --expt-relaxed-constexpr, ...) is left
  // out. Added always: the architecture, --device-as-default-execution-space, -std=c++17 when no -std is
  // given, Lathe's stand-ins for the standard headers that NVRTC lacks, and the toolkit's include folders.
  std::vector<std::string> options;
  std::string architecture = "sm_90";
  std::vector<std::string>
      instances;         // C++ name expressions: "act_and_mul<float, 128>", or "scale" for a plain function
  bool want_ptx = false; // and so nothing from the cache: the PTX that the cubin was made of
};

struct CompiledKernel {
  std::shared_ptr<const std::string> cubin; // an ELF image, shared by the kernels compiled together
  std::string cubin_hash;                   // content_hash of it
  std::string entry;                        // the kernel's name in it
  std::string ptx;                          // where it was wanted: of all instances compiled together
  KernelResources resources;
  double seconds = 0; // of compiling, this kernel's share of its batch; 0 from the cache
  bool cached = false;
};

struct CompileOutcome {
  enum class Kind { compiled, error, timeout, crashed } kind = Kind::compiled;
  CompiledKernel kernel;
  std::string message; // of a failure: one sentence, with the compiler's first error
  std::string log;     // of a failure: the compiler's whole output
  bool ok() const { return kind == Kind::compiled; }
};

struct CompilerOptions {
  int jobs = 0;                       // worker processes; 0: one a core
  std::filesystem::path cache_folder; // empty: $XDG_CACHE_HOME/lathe or ~/.cache/lathe
  bool use_cache = true;
  std::uint64_t cache_limit = 2ull << 30; // bytes; the least recently used go first
  double time_limit_s = 120;              // of one kernel
  int batch = 16; // instances compiled together at most; they share one front-end pass
  // Batches that each worker gets of what waits, at least: with more of them workers end together, with fewer
  // the front end runs less often, which is most of the work where instances are few.
  int rounds = 2;
};

// The pool. Not thread-safe: one user at a time. Instances of a request are compiled in batches; a batch that
// fails, crashes or never ends is split until the faulty instance stands alone.
class Compiler {
public:
  // Fails when the toolkit or Lathe's compile helper is not found, saying where was looked.
  static Result<std::unique_ptr<Compiler>> create(CompilerOptions options = {});
  virtual ~Compiler() = default;

  struct Finished {
    std::uint64_t ticket = 0; // of submit()
    std::size_t instance = 0; // index into the request's instances
    CompileOutcome outcome;
  };
  // Queues a request and returns at once; cached instances are ready immediately.
  virtual std::uint64_t submit(CompileRequest request) = 0;
  // The next finished instance, waiting for it; nothing when nothing is outstanding.
  virtual std::optional<Finished> next() = 0;
  // Drops what is queued or being compiled.
  virtual void cancel() = 0;
  // submit() and next() for one request: one outcome an instance, in their order. Only when nothing else is
  // queued.
  std::vector<CompileOutcome> compile(CompileRequest request);

  virtual std::string nvrtc_version() const = 0; // "13.0"
  // Seconds that workers spent compiling, and that they existed: their ratio is how busy the pool was.
  struct Load {
    double busy_s = 0, available_s = 0;
  };
  virtual Load load() const = 0;
};

// One kernel, synchronously, by one worker of its own (a process-wide pool of one a core, with the user's
// cache).
Result<CompiledKernel> compile_kernel(const std::string& source, const std::string& instance,
                                      const std::vector<std::string>& options,
                                      const std::string& architecture,
                                      const std::string& file_name = "kernel.cu");
// The same of several instances of one source, together, each with what became of it: one reading of the
// source may do for all of them.
std::vector<Result<CompiledKernel>> compile_kernels(const std::string& source,
                                                    const std::vector<std::string>& instances,
                                                    const std::vector<std::string>& options,
                                                    const std::string& architecture,
                                                    const std::string& file_name = "kernel.cu");

// What a cubin says about one kernel. Equal images of two kernels mean equal code: everything that names the
// kernel itself (mangled names, symbol numbers) is left out of it.
struct KernelImage {
  std::string text; // machine code: the bytes of .text.<entry>
  std::string
      relocations; // of the code, one a line: "offset type symbol+addend", the kernel's own name as "<entry>"
  std::string info; // .nv.info.<entry> with symbol numbers zeroed: parameters, launch bounds, barriers, ...
  std::string constants;            // contents of the kernel's literal banks (.nv.constant1 and up)
  std::uint64_t constant_bytes = 0; // size of .nv.constant0: the parameter bank
  std::uint64_t shared_bytes = 0;   // static shared memory, with what the driver reserves of it
  int registers = 0;
  bool operator==(const KernelImage&) const = default;
};
Result<KernelImage> kernel_image(std::string_view cubin, std::string_view entry);
// The bytes of .text.<entry> alone.
Result<std::string> kernel_text_section(std::string_view cubin, std::string_view entry);
// The kernels of a cubin, in its order.
Result<std::vector<std::string>> kernel_entries(std::string_view cubin);

// A CUDA 13 toolkit on this machine: LATHE_CUDA_HOME, CUDA_HOME, CUDA_PATH, beside the executable (../lib and
// ../cuda), /usr/local/cuda, the loader's path, in this order.
struct CudaToolkit {
  std::filesystem::path home;                  // holds bin, include, nvvm
  std::filesystem::path nvrtc;                 // the library
  std::vector<std::filesystem::path> includes; // the toolkit's, CCCL's
  std::string version;                         // "13.0", from its cuda.h
};
Result<CudaToolkit> find_cuda_toolkit();

} // namespace lathe
