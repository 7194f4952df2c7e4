// Effects: through each pointer parameter the template reads and writes what the raw kernel does, and does
// nothing else that outlives the launch: no new atomics, global state, inline assembly, clock reads, traps,
// output, allocation or recursion. Judged on optimised LLVM IR for every default and every sampled
// configuration.
#include "refactor/guard/active_lanes.h"
#include "refactor/guard/checks.h"

#include <clang/AST/Decl.h>

#include <algorithm>
#include <cctype>

namespace lathe::refactor {

std::vector<FactPair> fact_pairs(const JudgedPair& subject) {
  std::vector<FactPair> pairs;
  const auto known = [](const std::map<std::string, CodeFacts>& facts, const std::string& key) {
    const auto found = facts.find(key);
    return found == facts.end() ? nullptr : &found->second;
  };
  const auto add = [&](const Configuration& configuration) {
    const std::string raw_key = code_key(configuration.raw_instance, configuration.raw_launch);
    const FixedArguments fixed = fixed_arguments(configuration);
    const CodeFacts* raw = known(subject.raw.code_facts, raw_key);
    const CodeFacts* raw_at_size =
        fixed.empty() ? raw
                      : known(subject.raw.code_facts_at_size,
                              code_key(configuration.raw_instance, configuration.raw_launch, fixed));
    const auto raw_source = subject.raw.source_facts.find(configuration.raw_instance);
    const auto template_source = subject.templated.source_facts.find(configuration.template_instance);
    if (raw_source == subject.raw.source_facts.end() ||
        template_source == subject.templated.source_facts.end())
      return;
    pairs.push_back({&configuration, raw, raw_at_size,
                     known(subject.templated.code_facts,
                           code_key(configuration.template_instance, configuration.template_launch)),
                     &raw_source->second, &template_source->second});
  };
  for (const Configuration& configuration : subject.defaults)
    add(configuration);
  for (const Configuration& configuration : subject.sampled)
    add(configuration);
  return pairs;
}

std::string parameter_name(const JudgedPair& subject, const Root& root) {
  if (root.empty() || !std::isdigit(static_cast<unsigned char>(root[0])))
    return root == "unknown" ? "memory of unknown origin" : root + " memory";
  const std::size_t index = std::stoul(root);
  std::string name = "parameter " + std::to_string(index + 1);
  if (index < subject.raw.kernel.parameters.size())
    name = "'" + subject.raw.kernel.parameters[index].name + "'";
  const std::size_t plus = root.find('+');
  return plus == std::string::npos ? name : name + " (the pointer at byte " + root.substr(plus + 1) + ")";
}

namespace {

bool is_scratch(const Root& root) {
  return root == "shared" || root == "local" || root == "constant";
}

void compare_memory(const JudgedPair& subject, const FactPair& pair, Findings& findings) {
  const std::string where = " at " + pair.configuration->text();
  for (const auto& [root, use] : pair.templated->memory) {
    if (is_scratch(root))
      continue;
    const auto found = pair.raw->memory.find(root);
    const MemoryUse raw = found == pair.raw->memory.end() ? MemoryUse{} : found->second;
    const std::string name = parameter_name(subject, root);
    if (root == "unknown" && found == pair.raw->memory.end()) {
      findings.undecided("the template accesses " + name + where);
      continue;
    }
    if (use.written && !raw.written)
      findings.fail("the template writes " + name + ", which the raw kernel does not" + where);
    if (use.read && !raw.read)
      findings.fail("the template reads " + name + ", which the raw kernel does not" + where);
    if (use.read_only_path && use.written && !raw.read_only_path)
      findings.fail("the template reads " + name +
                    ", which the kernel writes, through the read-only path, and the raw kernel does not" +
                    where);
    // Blocks run one after another here, at the same time on a device: what one reads of another's without
    // being told is seen by no run.
    if (raw.atomic && use.plain_read && !raw.plain_read)
      findings.fail("the template reads " + name +
                    " without an atomic operation, and the raw kernel with atomic ones alone" + where);
    // Nothing that others write can be missed in what nobody writes.
    if (raw.plain_read && !raw.read_before_atomic && use.read_before_atomic && (raw.written || use.written))
      findings.fail("the template reads " + name +
                    " before an atomic operation that the raw kernel executes before all such reads" + where);
    if (use.atomic && !raw.atomic)
      findings.fail("the template updates " + name + " atomically, which the raw kernel does not" + where);
    for (const std::string& operation : use.atomic_operations)
      if (raw.atomic && !raw.atomic_operations.contains(operation))
        findings.fail("the template updates " + name + " by another atomic operation (" + operation + ")" +
                      where);
  }
  // A call that takes a text (an assertion's) counts as a write through its address, in the raw kernel too.
  const auto constant = pair.templated->memory.find("constant"),
             raw_constant = pair.raw->memory.find("constant");
  if (constant != pair.templated->memory.end() && constant->second.written &&
      (raw_constant == pair.raw->memory.end() || !raw_constant->second.written))
    findings.fail("the template writes to a constant" + where);
  for (const auto& [root, raw] : pair.raw_at_size->memory) {
    if (is_scratch(root) || root == "unknown")
      continue;
    const auto found = pair.templated->memory.find(root);
    const MemoryUse use = found == pair.templated->memory.end() ? MemoryUse{} : found->second;
    const std::string name = parameter_name(subject, root);
    if (raw.written && !use.written)
      findings.fail("the template no longer writes " + name + where);
    // What is read of a buffer that both write may be what the thread has just stored, which a compiler that
    // sees more of it at once keeps in a register; whether contents from before the launch count is seen by
    // runs.
    if (raw.read && !use.read && !(raw.written && use.written))
      findings.fail("the template no longer reads " + name + where);
    if (raw.atomic && !use.atomic)
      findings.fail("the template no longer updates " + name + " atomically" + where);
    if (raw.atomic && use.atomic && raw.atomic_result_used && !use.atomic_result_used)
      findings.fail("the template makes no use of what the atomic update of " + name +
                    " returns, and the raw kernel does" + where);
  }
}

// New keys of a count map, each a sentence.
void new_keys(const std::map<std::string, int>& raw, const std::map<std::string, int>& templated,
              const std::string& verb, const std::string& where, Findings& findings) {
  for (const auto& [key, count] : templated)
    if (!raw.contains(key))
      findings.fail("the template " + verb + " '" + key + "', which the raw kernel does not" + where);
}

// Assembly that is one load or store with a cache hint was judged as the access that it is; an asynchronous
// copy too, and runs show whether it is waited for.
std::map<std::string, int> without_accesses(std::map<std::string, int> assembly) {
  std::erase_if(assembly, [](const auto& entry) {
    const std::string code =
        entry.first.substr(std::min(entry.first.size(), entry.first.find_first_not_of(" {\t")));
    return (code.starts_with("ld.") || code.starts_with("st.") || is_async_copy(code)) &&
           std::count(code.begin(), code.end(), ';') <= 1;
  });
  return assembly;
}

// Which lanes are there together a template may ask: runs in which it is told some of them stand in.
std::map<std::string, int> without_active_mask(std::map<std::string, int> calls) {
  calls.erase(ACTIVE_MASK);
  return calls;
}

// What a kernel waits for or tells others is a part of what it does, though no run here shows it: dependent
// launches overlap on a device only.
void compare_launch_control(const JudgedPair& subject, const FactPair& pair, Findings& findings) {
  const std::string where = " at " + pair.configuration->text();
  for (const auto& [text, count] : pair.raw->assembly) {
    if (text.find("griddepcontrol") == std::string::npos)
      continue;
    if (!pair.templated->assembly.contains(text))
      findings.fail("the template no longer executes '" + text + "'" + where);
    else
      findings.report(
          "the raw kernel executes '" + text +
          "', which does nothing unless it is launched as a dependent of another; runs here are not");
  }
  for (const auto& [root, raw] : pair.raw->memory) {
    const auto found = pair.templated->memory.find(root);
    if (!is_scratch(root) && !raw.before_wait && found != pair.templated->memory.end() &&
        found->second.before_wait)
      findings.fail("the template accesses " + parameter_name(subject, root) +
                    " before it has waited for the launch that it depends on" + where);
  }
}

} // namespace

CheckResult check_effects(const JudgedPair& subject) {
  Findings findings("effects");
  std::size_t judged = 0;
  for (const FactPair& pair : fact_pairs(subject)) {
    const std::string where = " at " + pair.configuration->text();
    new_keys(pair.raw_source->assembly, pair.template_source->assembly, "contains inline assembly", where,
             findings);
    for (const std::string& global : pair.template_source->globals)
      if (!pair.raw_source->globals.contains(global))
        findings.fail("the template uses the global variable '" + global +
                      "', which the raw kernel does not" + where);
    if (pair.template_source->recursive && !pair.raw_source->recursive)
      findings.fail("the template is recursive" + where);
    if (!pair.raw || !pair.raw_at_size || !pair.templated)
      continue;
    ++judged;
    compare_memory(subject, pair, findings);
    compare_launch_control(subject, pair, findings);
    new_keys(pair.raw->calls, without_active_mask(pair.templated->calls), "calls", where, findings);
    new_keys(without_accesses(pair.raw->assembly), without_accesses(pair.templated->assembly),
             "executes assembly", where, findings);
  }
  if (asks_for_active_lanes(subject))
    findings.report(
        "the template asks which lanes of a warp are there together, and the raw kernel does not: "
        "runs in which it is told some of them stand in");
  if (judged == 0)
    findings.undecided(!subject.templated.code_problem.empty() ? subject.templated.code_problem
                       : !subject.raw.code_problem.empty()     ? subject.raw.code_problem
                                                               : "there is no LLVM IR to look at");
  if (!subject.defaults.empty()) {
    const FactPair first = fact_pairs(subject).empty() ? FactPair{} : fact_pairs(subject).front();
    if (first.raw)
      for (const auto& [root, use] : first.raw->memory)
        if (!is_scratch(root))
          findings.evidence(parameter_name(subject, root) + (use.read ? " read" : "") +
                            (use.written ? " written" : "") + (use.atomic ? " atomically" : ""));
  }
  return findings.conclude(Verdict::proved,
                           "the same buffers are read and written, and nothing else is touched, in " +
                               std::to_string(judged) + " instances");
}

} // namespace lathe::refactor
