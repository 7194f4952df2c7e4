#include "refactor/guard/images.h"

#include "tuner/base/text.h"

#include <algorithm>

namespace lathe::refactor {
namespace {

// PTX with every mangled name replaced by its number, and without comments.
std::string without_names(const std::string& ptx) {
  std::map<std::string, std::size_t> numbers;
  std::string out;
  for (std::size_t i = 0; i < ptx.size();) {
    if (ptx.compare(i, 2, "//") == 0) {
      i = std::min(ptx.find('\n', i), ptx.size());
    } else if (is_word(ptx[i])) {
      std::size_t end = i;
      while (end < ptx.size() && is_word(ptx[end]))
        ++end;
      const std::string word = ptx.substr(i, end - i);
      if (word.starts_with("_Z"))
        out += "symbol" + std::to_string(numbers.emplace(word, numbers.size()).first->second);
      else
        out += word;
      i = end;
    } else {
      out.push_back(ptx[i++]);
    }
  }
  return out;
}

} // namespace

Result<ImageCompiler> ImageCompiler::create(const GuardOptions& options) {
  CompilerOptions settings;
  settings.jobs = options.jobs;
  settings.rounds = 1;
  LATHE_TRY(std::unique_ptr<Compiler> compiler, Compiler::create(settings));
  return ImageCompiler(std::move(compiler), options);
}

std::string ImageCompiler::version() const {
  return compiler_->nvrtc_version();
}

CompileRequest ImageCompiler::request_for(const std::string& text, const KernelSource& source,
                                          const std::vector<std::string>& macros) const {
  CompileRequest request;
  request.source = text;
  request.file_name = source.file.string();
  request.options = source.compile_options;
  request.options.insert(request.options.end(), options_->flags.begin(), options_->flags.end());
  request.options.insert(request.options.end(), macros.begin(), macros.end());
  request.architecture = options_->architecture;
  return request;
}

std::optional<std::string> ImageCompiler::nameless_ptx(const std::string& text, const KernelSource& source,
                                                       const std::vector<std::string>& macros,
                                                       const std::string& instance) {
  CompileRequest request = request_for(text, source, macros);
  request.instances = {instance};
  request.want_ptx = true;
  const std::vector<CompileOutcome> outcomes = compiler_->compile(std::move(request));
  if (outcomes.size() != 1 || !outcomes[0].ok() || outcomes[0].kernel.ptx.empty())
    return std::nullopt;
  return without_names(outcomes[0].kernel.ptx);
}

std::vector<Image> ImageCompiler::compile(const std::string& text, const KernelSource& source,
                                          const std::vector<std::string>& macros,
                                          const std::vector<std::string>& instances) {
  CompileRequest request = request_for(text, source, macros);
  request.instances = instances;
  std::vector<Image> images;
  for (CompileOutcome& outcome : compiler_->compile(std::move(request))) {
    Image image;
    image.outcome = std::move(outcome);
    if (image.outcome.ok()) {
      auto read = kernel_image(*image.outcome.kernel.cubin, image.outcome.kernel.entry);
      if (read) {
        image.image = std::move(*read);
      } else {
        image.outcome.kind = CompileOutcome::Kind::error;
        image.outcome.message = read.error().sentence();
      }
    }
    images.push_back(std::move(image));
  }
  return images;
}

namespace {

// Configurations that share macros are compiled together.
template <class InstanceOf>
std::vector<Image> compile_all(ImageCompiler& compiler, const std::string& text, const KernelSource& source,
                               const std::vector<Configuration>& configurations, InstanceOf instance_of) {
  std::vector<Image> images(configurations.size());
  std::map<std::vector<std::string>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < configurations.size(); ++i)
    groups[configurations[i].macros()].push_back(i);
  for (const auto& [macros, members] : groups) {
    std::vector<std::string> instances;
    std::vector<std::size_t> slots(members.size());
    for (std::size_t m = 0; m < members.size(); ++m) {
      const std::string& instance = instance_of(configurations[members[m]]);
      const auto at = std::find(instances.begin(), instances.end(), instance);
      slots[m] = static_cast<std::size_t>(at - instances.begin());
      if (at == instances.end())
        instances.push_back(instance);
    }
    const std::vector<Image> compiled = compiler.compile(text, source, macros, instances);
    for (std::size_t m = 0; m < members.size(); ++m)
      images[members[m]] = compiled[slots[m]];
  }
  return images;
}

} // namespace

Images compile_images(ImageCompiler& compiler, const JudgedPair& subject) {
  const auto raw = [](const Configuration& configuration) -> const std::string& {
    return configuration.raw_instance;
  };
  const auto templated = [](const Configuration& configuration) -> const std::string& {
    return configuration.template_instance;
  };
  Images images;
  images.raw_defaults =
      compile_all(compiler, subject.raw_text, subject.spec.reference, subject.defaults, raw);
  images.template_defaults =
      compile_all(compiler, subject.template_text, subject.spec.kernel, subject.defaults, templated);
  images.template_samples =
      compile_all(compiler, subject.template_text, subject.spec.kernel, subject.sampled, templated);
  return images;
}

} // namespace lathe::refactor
