#include "tuner/measure/compile_queue.h"

#include <algorithm>
#include <set>

namespace lathe {

std::string PlannedConfiguration::code() const {
  std::string text = instance;
  for (const std::string& option : options)
    text += '\n' + option;
  return text;
}

Result<PlannedConfiguration> plan_configuration(const Workload& workload, const KernelSource& source,
                                                const KnobValues& knobs) {
  PlannedConfiguration result;
  LATHE_TRY(result.instance, bind_instance(source, workload, knobs));
  LATHE_TRY(result.launch, bind_launch(source.launch, workload, knobs));
  result.options = bind_macros(workload, knobs);
  return result;
}

void CompileQueue::begin(Compiler& compiler, CompileRequest program) {
  const std::lock_guard lock(mutex_);
  compiler_ = &compiler;
  program_ = std::move(program);
  queued_.clear();
  compiled_.clear();
}

void CompileQueue::cancel() {
  const std::lock_guard lock(mutex_);
  if (compiler_ && !queued_.empty())
    compiler_->cancel();
  queued_.clear();
}

void CompileQueue::forget_under_way() {
  const std::lock_guard lock(mutex_);
  queued_.clear();
}

void CompileQueue::submit(const std::vector<PlannedConfiguration>& plans) {
  const std::lock_guard lock(mutex_); // also while it is queued: it may be finished at once
  if (!compiler_)
    return;
  std::set<std::string> known;
  for (const auto& [place, code] : queued_)
    known.insert(code);
  // One program for all configurations that differ in template arguments alone; macros make programs of their
  // own.
  std::map<std::vector<std::string>, std::vector<const PlannedConfiguration*>> programs;
  for (const PlannedConfiguration& one : plans)
    if (!compiled_.contains(one.code()) && known.insert(one.code()).second)
      programs[one.options].push_back(&one);
  for (const auto& [options, wanted] : programs) {
    CompileRequest request = program_;
    request.options.insert(request.options.end(), options.begin(), options.end());
    for (const PlannedConfiguration* one : wanted)
      request.instances.push_back(one->instance);
    const std::uint64_t ticket = compiler_->submit(std::move(request));
    for (std::size_t i = 0; i < wanted.size(); ++i)
      queued_[{ticket, i}] = wanted[i]->code();
  }
}

std::optional<CompileQueue::Compiled>
CompileQueue::next_of(const std::function<bool(const std::string& code)>& wanted) {
  {
    const std::lock_guard lock(mutex_);
    const auto ready = std::ranges::find_if(compiled_, [&](const auto& one) { return wanted(one.first); });
    if (ready != compiled_.end()) {
      auto node = compiled_.extract(ready);
      return Compiled{std::move(node.key()), std::move(node.mapped())};
    }
  }
  if (!compiler_)
    return std::nullopt;
  while (std::optional<Compiler::Finished> finished = compiler_->next())
    if (std::optional<Compiled> compiled = code_of(std::move(*finished))) {
      if (wanted(compiled->code))
        return compiled;
      keep(std::move(*compiled));
    }
  return std::nullopt;
}

void CompileQueue::hand_over(Compiler::Finished finished) {
  if (std::optional<Compiled> compiled = code_of(std::move(finished)))
    keep(std::move(*compiled));
}

std::optional<CompileQueue::Compiled> CompileQueue::code_of(Compiler::Finished finished) {
  const std::lock_guard lock(mutex_);
  const auto found = queued_.find({finished.ticket, finished.instance});
  if (found == queued_.end())
    return std::nullopt;
  Compiled result{std::move(found->second), std::move(finished.outcome)};
  queued_.erase(found);
  return result;
}

void CompileQueue::keep(Compiled compiled) {
  const std::lock_guard lock(mutex_);
  compiled_.insert_or_assign(std::move(compiled.code), std::move(compiled.outcome));
}

} // namespace lathe
