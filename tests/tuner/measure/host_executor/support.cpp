#include "tests/tuner/measure/host_executor/support.h"

namespace lathe::testing {

HostKernel compile(const std::string& source, const HostCompileOptions& options,
                   const std::string& instance) {
  auto kernel = HostKernel::compile(source, instance, options);
  if (!kernel.ok()) {
    ADD_FAILURE() << kernel.error().sentence();
    std::abort(); // nothing can be run; the message above says why
  }
  return *kernel;
}

HostCompileOptions checked() {
  HostCompileOptions options;
  options.sanitize = true;
  return options;
}

HostCompileOptions traced() {
  HostCompileOptions options;
  options.trace = true;
  return options;
}

HostRunResult outcome(const std::string& source, const Launch& launch, std::size_t elements,
                      const HostCompileOptions& options, double time_limit_s) {
  const HostKernel kernel = compile(source, options);
  auto out = HostBuffer::allocate(elements * sizeof(float));
  auto in = HostBuffer::allocate(elements * sizeof(float));
  EXPECT_TRUE(out.ok() && in.ok());
  const std::vector<HostArgument> arguments{HostArgument::of(*out, "out"), HostArgument::of(*in, "in"),
                                            HostArgument::scalar(static_cast<int>(elements))};
  HostRunOptions run_options;
  run_options.time_limit_s = time_limit_s;
  const auto result = kernel.run_isolated(launch, arguments, run_options);
  EXPECT_TRUE(result.ok()) << result.error().sentence();
  return result.ok() ? *result : HostRunResult{};
}

} // namespace lathe::testing
