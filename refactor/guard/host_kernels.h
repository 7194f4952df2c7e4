// One side's kernels for the host executor, compiled with every access checked.
#pragma once

#include "refactor/guard/architectures.h"
#include "refactor/guard/subject.h"
#include "tuner/measure/host_executor/host_executor.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor {

class HostKernels {
public:
  // An instance and the macros that it is compiled with.
  using Wanted = std::vector<std::pair<std::string, std::vector<std::string>>>;

  // `architecture`: what __CUDA_ARCH__ is. `memory`: where trials of these kernels are remembered, which
  // lives as long; none: nowhere.
  HostKernels(const JudgedPair& subject, const std::string& text, const KernelSource& source,
              int architecture = HOST_ARCHITECTURE, TrialMemory* memory = nullptr)
      : subject_(subject), text_(text), source_(source), architecture_(architecture), memory_(memory) {}

  // Compiles what is not known yet, `jobs` at a time.
  void compile(const Wanted& wanted, int jobs);
  // Nothing when it was not asked for or does not compile.
  const HostKernel* find(const std::string& instance, const std::vector<std::string>& macros) const;
  // A sentence for each that does not compile.
  std::vector<std::string> problems() const;
  TrialMemory* memory() const { return memory_; }

private:
  const JudgedPair& subject_;
  const std::string& text_;
  const KernelSource& source_;
  int architecture_;
  TrialMemory* memory_;
  std::map<std::string, Result<HostKernel>> kernels_;
};

} // namespace lathe::refactor
