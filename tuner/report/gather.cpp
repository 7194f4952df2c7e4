#include "tuner/report/report.h"

#include <algorithm>

namespace lathe {
namespace {

bool same_group(const StoreKey& a, const StoreKey& b) {
  return a.kernel == b.kernel && a.template_hash == b.template_hash && a.device == b.device &&
         a.driver == b.driver && a.toolkit == b.toolkit;
}

KernelReport& group_of(Report& report, const StoreKey& key) {
  const auto found = std::ranges::find_if(
      report.kernels, [&](const KernelReport& kernel) { return same_group(kernel.key, key); });
  if (found != report.kernels.end())
    return *found;
  KernelReport added;
  added.key = key;
  added.key.workload.clear();
  added.is_host = key.device.starts_with("host executor");
  report.kernels.push_back(std::move(added));
  return report.kernels.back();
}

// Bytes and operations of each problem by the specification's cost model.
void add_costs(KernelReport& kernel, const TuningSpec& spec) {
  for (const Knob& knob : spec.knobs)
    kernel.knob_origins[knob.name] = knob.why;
  if (kernel.key.template_hash != spec.template_hash)
    kernel.notes.push_back("The specification describes a later version of the template; its cost model is "
                           "used all the same.");
  bool failed = false;
  for (ProblemReport& problem : kernel.problems) {
    if (!problem.winner)
      continue;
    const auto workload = bind_workload(spec, problem.winner->problem, problem.winner->types, {});
    failed |= !workload.ok();
    if (workload.ok()) {
      problem.bytes = workload->bytes;
      problem.operations = workload->operations;
    }
  }
  if (failed)
    kernel.notes.push_back("The specification does not fit some of the problems: their bytes and operations "
                           "are not known.");
}

int rank(const ProblemReport& problem) {
  return problem.winner ? static_cast<int>(problem.winner->problem.role) : 0;
}

Status gather(Store& store, const ReportSubject& subject, Report& report) {
  LATHE_TRY(const std::vector<StoreKey> keys, store.keys(subject.kernel));
  LATHE_TRY(const std::vector<StoredWinner> winners, store.winners(subject.kernel));
  if (keys.empty()) {
    report.missing.push_back(
        {"cannot report " + subject.kernel, "the store holds nothing of it", "run lathe tune first"});
    return Done{};
  }
  const std::size_t before = report.kernels.size();
  for (const StoreKey& key : keys) {
    ProblemReport problem;
    problem.key = key;
    LATHE_TRY(problem.evaluations, store.evaluations(key));
    for (const StoredWinner& winner : winners)
      if (same_group(winner.key, key) && winner.key.workload == key.workload)
        problem.winner = winner;
    LATHE_TRY(const std::vector<StoredProfile> profiles, store.profiles(key));
    for (const StoredProfile& stored : profiles) // the latest of each counts
      if (!stored.knobs)
        problem.raw_profile = stored.profile;
      else if (problem.winner && stored.knob_names == problem.winner->knob_names &&
               *stored.knobs == problem.winner->knobs)
        problem.winner_profile = stored.profile;
    KernelReport& kernel = group_of(report, key);
    kernel.is_host |= problem.winner && problem.winner->is_host;
    kernel.problems.push_back(std::move(problem));
  }
  for (std::size_t i = before; i < report.kernels.size(); ++i) {
    KernelReport& kernel = report.kernels[i];
    std::ranges::stable_sort(kernel.problems, {}, rank);
    if (subject.spec)
      add_costs(kernel, *subject.spec);
    else
      kernel.notes.push_back("Bytes and operations are not in the store: name the specification's file "
                             "instead of the kernel to see the roofline.");
  }
  return Done{};
}

} // namespace

Result<Report> gather_report(Store& store, const std::vector<ReportSubject>& subjects) {
  Report report;
  for (const ReportSubject& subject : subjects)
    LATHE_CHECK(gather(store, subject, report));
  if (report.kernels.empty() && !report.missing.empty())
    return report.missing.front();
  return report;
}

std::vector<StoredWinner> winners_of(const Report& report) {
  std::vector<StoredWinner> winners;
  for (const KernelReport& kernel : report.kernels)
    for (const ProblemReport& problem : kernel.problems)
      if (problem.winner)
        winners.push_back(*problem.winner);
  return winners;
}

} // namespace lathe
