#include "tuner/compile/nvrtc.h"

#include "tuner/compile/message.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <nvrtc.h>

namespace lathe {

struct Nvrtc::Functions {
  decltype(&nvrtcVersion) version;
  decltype(&nvrtcCreateProgram) create;
  decltype(&nvrtcDestroyProgram) destroy;
  decltype(&nvrtcCompileProgram) compile;
  decltype(&nvrtcAddNameExpression) add_name;
  decltype(&nvrtcGetLoweredName) lowered_name;
  decltype(&nvrtcGetCUBINSize) cubin_size;
  decltype(&nvrtcGetCUBIN) cubin;
  decltype(&nvrtcGetPTXSize) ptx_size;
  decltype(&nvrtcGetPTX) ptx;
  decltype(&nvrtcGetProgramLogSize) log_size;
  decltype(&nvrtcGetProgramLog) log;
  decltype(&nvrtcGetErrorString) error_string;
  decltype(&nvrtcSetPCHHeapSize) set_header_heap; // from 12.8 on, or null
};

Result<Nvrtc> Nvrtc::open(const std::filesystem::path& library) {
  // NVRTC opens its built-in headers by name alone, which the loader finds only in the system's folders or
  // where it has been loaded already; a toolkit anywhere else carries them beside the library.
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(library.parent_path(), failure))
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so"))
      ::dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Error{"cannot open NVRTC", ::dlerror(), "check the CUDA 13 toolkit"};
  auto functions = std::make_shared<Functions>();
  const char* missing = nullptr;
  const auto bind = [&](auto& target, const char* name) {
    target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(::dlsym(handle, name));
    if (!target)
      missing = name;
  };
  bind(functions->version, "nvrtcVersion");
  bind(functions->create, "nvrtcCreateProgram");
  bind(functions->destroy, "nvrtcDestroyProgram");
  bind(functions->compile, "nvrtcCompileProgram");
  bind(functions->add_name, "nvrtcAddNameExpression");
  bind(functions->lowered_name, "nvrtcGetLoweredName");
  bind(functions->cubin_size, "nvrtcGetCUBINSize");
  bind(functions->cubin, "nvrtcGetCUBIN");
  bind(functions->ptx_size, "nvrtcGetPTXSize");
  bind(functions->ptx, "nvrtcGetPTX");
  bind(functions->log_size, "nvrtcGetProgramLogSize");
  bind(functions->log, "nvrtcGetProgramLog");
  bind(functions->error_string, "nvrtcGetErrorString");
  functions->set_header_heap =
      reinterpret_cast<decltype(functions->set_header_heap)>(::dlsym(handle, "nvrtcSetPCHHeapSize"));
  if (missing)
    return Error{"cannot use " + library.string(), std::string("it has no function ") + missing,
                 "install the CUDA 13.0 toolkit"};
  Nvrtc nvrtc;
  nvrtc.functions_ = std::move(functions);
  return nvrtc;
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  functions_->version(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

bool Nvrtc::reserve_header_heap() const {
  // All of cub takes 180 MB; memory that no header fills stays the system's.
  constexpr std::size_t BYTES = 512u << 20;
  return functions_->set_header_heap && functions_->set_header_heap(BYTES) == NVRTC_SUCCESS;
}

CompileReply Nvrtc::compile(const CompileJob& job) const {
  const auto start = std::chrono::steady_clock::now();
  const Functions& nvrtc = *functions_;
  CompileReply reply;
  nvrtcProgram program = nullptr;
  nvrtcResult status = nvrtc.create(&program, job.source.c_str(), job.file_name.c_str(), 0, nullptr, nullptr);
  for (const std::string& instance : job.instances)
    if (status == NVRTC_SUCCESS)
      status = nvrtc.add_name(program, instance.c_str());
  if (status == NVRTC_SUCCESS) {
    std::vector<const char*> options;
    for (const std::string& option : job.options)
      options.push_back(option.c_str());
    status = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
    std::size_t size = 0;
    if (nvrtc.log_size(program, &size) == NVRTC_SUCCESS && size > 1) {
      reply.log.resize(size);
      nvrtc.log(program, reply.log.data());
      reply.log.resize(size - 1); // its terminating zero
    }
  }
  if (status == NVRTC_SUCCESS) {
    std::size_t size = 0;
    status = nvrtc.cubin_size(program, &size);
    reply.cubin.resize(size);
    if (status == NVRTC_SUCCESS && size > 0)
      status = nvrtc.cubin(program, reply.cubin.data());
  }
  if (status == NVRTC_SUCCESS && job.want_ptx) {
    std::size_t size = 0;
    status = nvrtc.ptx_size(program, &size);
    reply.ptx.resize(size);
    if (status == NVRTC_SUCCESS && size > 0)
      status = nvrtc.ptx(program, reply.ptx.data());
    if (size > 0)
      reply.ptx.resize(size - 1); // its terminating zero
  }
  for (const std::string& instance : job.instances) {
    const char* name = nullptr;
    if (status == NVRTC_SUCCESS)
      status = nvrtc.lowered_name(program, instance.c_str(), &name);
    reply.entries.emplace_back(name ? name : "");
    reply.resources.push_back(name ? resources_of(reply.cubin, reply.log, name) : KernelResources{});
  }
  reply.compiled = status == NVRTC_SUCCESS && !reply.cubin.empty();
  if (!reply.compiled && reply.log.find("error") == std::string::npos)
    reply.log += std::string(reply.log.empty() ? "" : "\n") + "error: " + nvrtc.error_string(status);
  if (program)
    nvrtc.destroy(&program);
  reply.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return reply;
}

KernelResources resources_of(std::string_view cubin, std::string_view log, const std::string& entry) {
  KernelResources resources;
  if (const Result<KernelImage> image = kernel_image(cubin, entry); image.ok()) {
    resources.registers = image->registers;
    resources.static_shared = static_cast<int>(image->shared_bytes);
    resources.constant_bytes = static_cast<int>(image->constant_bytes);
    // .nv.info's EIATTR_MAX_THREADS: what __launch_bounds__ promised (format 4, number 5, three integers).
    for (std::size_t at = 0; at + 16 <= image->info.size(); at += 4)
      if (image->info[at] == 4 && image->info[at + 1] == 5 && image->info[at + 2] == 12 &&
          image->info[at + 3] == 0) {
        std::int32_t extent[3];
        std::memcpy(extent, image->info.data() + at + 4, sizeof extent);
        const std::int64_t threads = std::int64_t{extent[0]} * extent[1] * extent[2];
        if (threads > 0 && threads < resources.max_threads)
          resources.max_threads = static_cast<int>(threads);
      }
  }
  // ptxas's report of one kernel runs from "Function properties for <entry>" to the next kernel; smem is
  // without what the driver reserves, which the section's size includes from sm_90 on.
  //   ptxas info    : Function properties for _Z1kPf
  //   ptxas         .     528 bytes stack frame, 612 bytes spill stores, 612 bytes spill loads
  //   ptxas info    : Used 32 registers, used 1 barriers, 256 bytes smem
  if (const std::size_t at = log.find("Function properties for " + entry + "\n");
      at != std::string_view::npos) {
    const std::string_view report = log.substr(at, log.find("Compiling entry function", at) - at);
    const auto number_before = [&](std::string_view words) {
      const std::size_t end = report.find(words);
      if (end == std::string_view::npos)
        return 0;
      const std::size_t before = report.find_last_not_of("0123456789", end - 1);
      return std::atoi(std::string(report.substr(before + 1, end - before - 1)).c_str());
    };
    resources.stack_bytes = number_before(" bytes stack frame");
    resources.spill_bytes = number_before(" bytes spill stores") + number_before(" bytes spill loads");
    resources.static_shared = number_before(" bytes smem");
  }
  return resources;
}

std::string encode(const CompileJob& job) {
  MessageWriter message;
  message.put_text(job.source).put_text(job.file_name);
  for (const auto* list : {&job.options, &job.instances}) {
    message.put(static_cast<std::uint32_t>(list->size()));
    for (const std::string& text : *list)
      message.put_text(text);
  }
  message.put(job.want_ptx);
  return message.bytes();
}

std::optional<CompileJob> decode_job(std::string_view bytes) {
  MessageReader message(bytes);
  CompileJob job;
  job.source = message.get_text();
  job.file_name = message.get_text();
  for (auto* list : {&job.options, &job.instances})
    for (auto left = message.get<std::uint32_t>(); left > 0 && message.ok(); --left)
      list->push_back(message.get_text());
  job.want_ptx = message.get<bool>();
  return message.ok() ? std::optional(std::move(job)) : std::nullopt;
}

std::string encode(const CompileReply& reply) {
  MessageWriter message;
  message.put(reply.compiled)
      .put(reply.seconds)
      .put_text(reply.cubin)
      .put_text(reply.log)
      .put_text(reply.ptx);
  message.put(static_cast<std::uint32_t>(reply.entries.size()));
  for (std::size_t i = 0; i < reply.entries.size(); ++i)
    message.put_text(reply.entries[i]).put(reply.resources[i]);
  return message.bytes();
}

std::optional<CompileReply> decode_reply(std::string_view bytes) {
  MessageReader message(bytes);
  CompileReply reply;
  reply.compiled = message.get<bool>();
  reply.seconds = message.get<double>();
  reply.cubin = message.get_text();
  reply.log = message.get_text();
  reply.ptx = message.get_text();
  for (auto left = message.get<std::uint32_t>(); left > 0 && message.ok(); --left) {
    reply.entries.push_back(message.get_text());
    reply.resources.push_back(message.get<KernelResources>());
  }
  return message.ok() ? std::optional(std::move(reply)) : std::nullopt;
}

} // namespace lathe
