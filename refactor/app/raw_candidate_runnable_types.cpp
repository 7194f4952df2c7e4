// Element types that nothing in the source names are only of use where the raw kernel can be run with them.
#include "refactor/app/raw_candidate_builder.h"
#include "refactor/frontend/standard.h"
#include "tuner/base/text.h"
#include "tuner/measure/host_executor/host_executor.h"

#include <algorithm>
#include <fmt/format.h>
#include <regex>

namespace lathe::refactor {

// NVRTC's half types convert to float alone, and to every number for other compilers: std::tanh(x) of one is
// a call of several functions to these. As a rule the first type runs, and the others are taken to; where
// none does, all are kept, and the error is told.
std::vector<std::string> RawCandidateBuilder::runnable_dtypes(const TypeParameter& type,
                                                              std::vector<std::string> dtypes) {
  HostCompileOptions options;
  options.trace = true; // as in the runs that see the buffers, which then find it compiled
  options.compile_options = {standard_option(extracted_.text)};
  const auto runs = [&](const std::string& dtype) {
    std::map<std::string, std::string> cxx;
    for (const TypeParameter& other : result_.candidate.types)
      cxx[other.name] = dtype_cxx(other.name == type.name ? dtype : other.dtypes.front());
    return HostKernel::compile(extracted_.text, extracted_.kernel + type_list(cxx), options).ok();
  };
  if (dtypes.size() < 2 || runs(dtypes.front()))
    return dtypes;
  std::vector<std::string> runnable;
  for (const std::string& dtype : dtypes)
    if (dtype != dtypes.front() && runs(dtype))
      runnable.push_back(dtype);
  if (runnable.empty())
    return dtypes;
  // Of these the ones that the file itself has.
  const auto parameter = static_cast<std::size_t>(
      std::ranges::find(kernel_.template_parameters, type.name, &TemplateParameter::name) -
      kernel_.template_parameters.begin());
  std::vector<std::string> in_use = runnable;
  std::erase_if(in_use, [&](const std::string& dtype) {
    return std::ranges::none_of(site_.instances, [&](const std::vector<std::string>& instance) {
      return parameter < instance.size() && dtype_of_type(instance[parameter]) == dtype;
    });
  });
  if (!in_use.empty())
    runnable = std::move(in_use);
  result_.assumptions.push_back(
      fmt::format("{} = {}: of the types that compile, those that can be run here (say "
                  "otherwise with --types)",
                  type.name, fmt::join(runnable, ", ")));
  return runnable;
}

// `extern __shared__ T tile[];`: two types of it in one source are two arrays of one name, which no compiler
// takes. The first is kept.
void RawCandidateBuilder::keep_one_type_of_shared_memory() {
  static const std::regex declaration(R"(\bextern\s+__shared__\s+([^;\[]*?)\w+\s*\[\s*\])");
  for (std::sregex_iterator at(extracted_.text.begin(), extracted_.text.end(), declaration), end; at != end;
       ++at)
    for (const std::string& word : identifiers((*at)[1].str()))
      if (const auto type = std::ranges::find(result_.candidate.types, word, &TypeParameter::name);
          type != result_.candidate.types.end() && type->dtypes.size() > 1) {
        type->dtypes.resize(1);
        result_.assumptions.push_back(
            fmt::format("{} = {}: its dynamic shared memory is declared as {}, and a source may do so with "
                        "one type alone (say otherwise with --types)",
                        word, type->dtypes.front(), word));
      }
}

} // namespace lathe::refactor
