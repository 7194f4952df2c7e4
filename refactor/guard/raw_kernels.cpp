#include "refactor/guard/raw_kernels.h"

#include "tuner/spec/instance.h"

namespace lathe::refactor {

std::string kernel_name(const std::string& instance) {
  return instance.substr(0, instance.find('<'));
}

Result<std::vector<KernelInfo>> kernels_of(const ParsedSide& side, const KernelSource& source) {
  LATHE_TRY(const std::vector<spec::InstanceCase> cases, spec::instance_cases(source.instance));
  std::vector<KernelInfo> kernels;
  for (const spec::InstanceCase& one : cases) {
    LATHE_TRY(KernelInfo kernel, find_kernel(*side.source, kernel_name(one.instance)));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

} // namespace lathe::refactor
