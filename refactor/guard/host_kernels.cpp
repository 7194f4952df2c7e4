#include "refactor/guard/host_kernels.h"

#include <algorithm>

namespace lathe::refactor {
namespace {

std::string key_of(const std::string& instance, const std::vector<std::string>& macros) {
  std::string key = instance;
  for (const std::string& macro : macros)
    key += " " + macro;
  return key;
}

} // namespace

void HostKernels::compile(const Wanted& wanted, int jobs) {
  std::map<std::vector<std::string>, std::vector<std::string>> groups;
  for (const auto& [instance, macros] : wanted) {
    auto& group = groups[macros];
    if (!kernels_.contains(key_of(instance, macros)) &&
        std::find(group.begin(), group.end(), instance) == group.end())
      group.push_back(instance);
  }
  for (const auto& [macros, instances] : groups) {
    if (instances.empty())
      continue;
    HostCompileOptions options;
    options.sanitize = true;
    options.compile_options = source_.compile_options;
    options.compile_options.insert(options.compile_options.end(), subject_.options.flags.begin(),
                                   subject_.options.flags.end());
    options.compile_options.insert(options.compile_options.end(), macros.begin(), macros.end());
    if (architecture_ != HOST_ARCHITECTURE)
      options.compile_options.push_back("-DLATHE_CUDA_ARCH=" + std::to_string(architecture_));
    auto built = HostKernel::compile_all(text_, instances, options, source_.file.string(), jobs);
    for (std::size_t i = 0; i < built.size(); ++i)
      kernels_.emplace(key_of(instances[i], macros), std::move(built[i]));
  }
}

const HostKernel* HostKernels::find(const std::string& instance,
                                    const std::vector<std::string>& macros) const {
  const auto found = kernels_.find(key_of(instance, macros));
  return found == kernels_.end() || !found->second ? nullptr : &*found->second;
}

std::vector<std::string> HostKernels::problems() const {
  std::vector<std::string> sentences;
  for (const auto& [key, kernel] : kernels_)
    if (!kernel)
      sentences.push_back(key + " does not compile for the host executor: " + kernel.error().sentence());
  return sentences;
}

} // namespace lathe::refactor
