#include "refactor/guard/default_code.h"

#include "refactor/guard/checks.h"

namespace lathe::refactor {

Result<std::string> identity_of_defaults(const TuningSpec& spec, const GuardOptions& options) {
  LATHE_TRY(Preparation preparation, prepare(spec, options, options.seed));
  JudgedPair& subject = *preparation.subject;
  subject.sampled.clear();
  if (preparation.template_problem.empty())
    LATHE_CHECK(parse_sides(preparation));
  if (!preparation.template_problem.empty())
    return Error{"cannot compare the defaults of " + spec.name, preparation.template_problem, ""};
  LATHE_TRY(ImageCompiler compiler, ImageCompiler::create(options));
  std::string level;
  check_identity(subject, compile_images(compiler, subject), compiler, level);
  return level;
}

} // namespace lathe::refactor
