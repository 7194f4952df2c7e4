// Sizes and buffers that the kernel is handed and does nothing with: members of a structure that only other
// kernels read.
#include "refactor/app/raw_candidate_builder.h"
#include "refactor/frontend/standard.h"
#include "tuner/compile/compile.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

// How often the PTX names each parameter, by its place: once where it is declared, and where it is read.
std::map<std::size_t, int> parameter_names(const std::string& ptx, const std::string& entry) {
  std::map<std::size_t, int> times;
  const std::regex parameter(entry + R"(_param_(\d+)\b)");
  for (std::sregex_iterator at(ptx.begin(), ptx.end(), parameter), none; at != none; ++at)
    ++times[std::stoul((*at)[1].str())];
  return times;
}

} // namespace

// Every dimension costs runs and problems. Few are worth no look at the compiled kernel.
Status RawCandidateBuilder::settle_unused_sizes() {
  constexpr std::size_t FEW = 12;
  Candidate& candidate = result_.candidate;
  const auto is_settleable = [&](const Argument& argument) {
    return !argument.is_buffer && argument.value.names().size() == 1 &&
           argument.value.text() == argument.value.names().front() &&
           !facts_.arguments.contains(argument.name);
  };
  if (!facts_.problems.empty() ||
      static_cast<std::size_t>(std::ranges::count_if(candidate.arguments, is_settleable)) <= FEW)
    return Done{};
  std::map<std::string, std::string> cxx;
  for (const TypeParameter& type : candidate.types)
    cxx[type.name] = dtype_cxx(type.dtypes.front());
  CompilerOptions options;
  options.jobs = 1;
  LATHE_TRY(const std::unique_ptr<Compiler> compiler, Compiler::create(options));
  CompileRequest request;
  request.source = extracted_.text;
  request.options = {standard_option(extracted_.text)};
  request.architecture = architecture_;
  request.instances = {extracted_.kernel + type_list(cxx)};
  request.want_ptx = true;
  const std::vector<CompileOutcome> outcomes = compiler->compile(std::move(request));
  if (outcomes.size() != 1 || !outcomes[0].ok()) // the guard says why, where it does not compile at all
    return Done{};
  const auto times = parameter_names(outcomes[0].kernel.ptx, outcomes[0].kernel.entry);
  // What the launch or a buffer follows is of use all the same.
  std::set<std::string> followed;
  const auto follow = [&](const Expression& expression) {
    followed.insert(expression.names().begin(), expression.names().end());
  };
  std::ranges::for_each(candidate.launch.grid, follow);
  std::ranges::for_each(candidate.launch.block, follow);
  follow(candidate.launch.shared_bytes);
  std::vector<Argument*> unused;
  std::vector<std::string> untouched;
  for (std::size_t i = 0; i < candidate.arguments.size(); ++i) {
    Argument& argument = candidate.arguments[i];
    const auto named = times.find(i);
    const bool is_unused = named != times.end() && named->second == 1;
    if (is_settleable(argument) && is_unused)
      unused.push_back(&argument);
    else if (argument.is_buffer && argument.count.text() == "0" && is_unused) {
      // Traced runs would look for sizes at which it is touched, in vain.
      argument.count = Expression(Value{std::int64_t{1}});
      untouched.push_back(argument.name);
    } else
      follow(argument.is_buffer ? argument.count : argument.value);
  }
  std::vector<std::string> settled;
  for (Argument* argument : unused)
    if (!followed.contains(argument->value.text())) {
      argument->value = Expression(Value{std::int64_t{1}});
      settled.push_back(argument->name);
    }
  if (!settled.empty())
    result_.assumptions.push_back(
        fmt::format("{} = 1: the kernel does nothing with {} (say otherwise with --argument NAME=VALUE)",
                    fmt::join(settled, ", "), settled.size() == 1 ? "it" : "them"));
  if (!untouched.empty())
    result_.assumptions.push_back(
        fmt::format("{} of one element: the kernel does nothing with {} (say otherwise with --argument "
                    "NAME=COUNT)",
                    fmt::join(untouched, ", "), untouched.size() == 1 ? "it" : "them"));
  return Done{};
}

} // namespace lathe::refactor
