// NVRTC opened at run time. Used only inside the helper process: it crashes and hangs with what it is given.
#pragma once

#include "tuner/compile/compile.h"

namespace lathe {

// A batch as the helper receives it.
struct CompileJob {
  std::string source, file_name;
  std::vector<std::string> options; // final
  std::vector<std::string> instances;
  bool want_ptx = false;
};

struct CompileReply {
  bool compiled = false;
  std::string cubin, log;
  std::string ptx;                        // of the whole batch, where it was wanted
  std::vector<std::string> entries;       // one an instance
  std::vector<KernelResources> resources; // likewise
  double seconds = 0;
};

class Nvrtc {
public:
  static Result<Nvrtc> open(const std::filesystem::path& library);
  std::string version() const;
  // Reserves the memory that precompiled headers are read to, at one address for this process and its forks:
  // what one of them precompiles the others can use. False for an NVRTC that has none (before 12.8).
  bool reserve_header_heap() const;
  CompileReply compile(const CompileJob& job) const;

private:
  struct Functions;
  std::shared_ptr<const Functions> functions_;
};

// Registers, spills and stack of `entry` from ptxas's -v report, the rest from the cubin.
KernelResources resources_of(std::string_view cubin, std::string_view log, const std::string& entry);

std::string encode(const CompileJob& job);
std::optional<CompileJob> decode_job(std::string_view bytes);
std::string encode(const CompileReply& reply);
std::optional<CompileReply> decode_reply(std::string_view bytes);

} // namespace lathe
