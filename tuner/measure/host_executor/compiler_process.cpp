#include "tuner/measure/host_executor/compiler_process.h"

#include "tuner/base/subprocess.h"

#include <chrono>
#include <csignal>
#include <fmt/format.h>

namespace lathe::host {
namespace {

std::string first_diagnostic(const std::string& output) {
  std::size_t at = output.find("error:");
  if (at == std::string::npos)
    return output.substr(0, output.find('\n'));
  const std::size_t begin = output.rfind('\n', at);
  return output.substr(begin == std::string::npos ? 0 : begin + 1,
                       output.find('\n', at) - (begin == std::string::npos ? 0 : begin + 1));
}

} // namespace

Result<std::string> run_compiler(const std::vector<std::string>& command, double time_limit_s,
                                 std::string_view file_name, std::string_view input) {
  SubprocessOptions options;
  options.timeout = std::chrono::milliseconds(static_cast<long>(time_limit_s * 1000));
  options.input = input;
  options.output_limit = 256u << 20;
  LATHE_TRY(SubprocessResult result, run_subprocess(command, options));
  if (result.signal == SIGKILL && !result.timed_out) { // by somebody else, such as a machine short of memory
    LATHE_TRY(result, run_subprocess(command, options));
  }
  if (!result.succeeded())
    return Error{fmt::format("cannot compile {} for the host executor", file_name),
                 result.timed_out || result.signal != 0 ? "the compiler " + result.ending()
                                                        : first_diagnostic(result.errors),
                 ""};
  return std::move(result.output);
}

} // namespace lathe::host
