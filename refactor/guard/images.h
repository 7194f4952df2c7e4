// Machine code of both sides, by NVRTC.
#pragma once

#include "refactor/guard/subject.h"
#include "tuner/compile/compile.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

struct Image {
  CompileOutcome outcome;
  KernelImage image; // when the outcome is ok
};

// Compiles many (text, instance) pairs in one go.
class ImageCompiler {
public:
  static Result<ImageCompiler> create(const GuardOptions& options);
  // One image an instance, in order.
  std::vector<Image> compile(const std::string& text, const KernelSource& source,
                             const std::vector<std::string>& macros,
                             const std::vector<std::string>& instances);
  // The PTX of one instance without comments, its symbols named in the order in which they appear: equal for
  // two kernels that differ by names only. Nothing where it does not compile.
  std::optional<std::string> nameless_ptx(const std::string& text, const KernelSource& source,
                                          const std::vector<std::string>& macros,
                                          const std::string& instance);
  std::string version() const;

private:
  CompileRequest request_for(const std::string& text, const KernelSource& source,
                             const std::vector<std::string>& macros) const;
  ImageCompiler(std::unique_ptr<Compiler> compiler, const GuardOptions& options)
      : compiler_(std::move(compiler)), options_(&options) {}
  std::unique_ptr<Compiler> compiler_;
  const GuardOptions* options_;
};

// A configuration of the template compiled, beside its raw counterpart.
struct Images {
  std::vector<Image> raw_defaults, template_defaults,
      template_samples; // as JudgedPair::defaults and JudgedPair::sampled
};
Images compile_images(ImageCompiler& compiler, const JudgedPair& subject);

} // namespace lathe::refactor
