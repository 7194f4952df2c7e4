#include "tuner/app/tune_queue.h"

#include "tuner/app/certificate.h"
#include "tuner/app/selection.h"
#include "tuner/base/timestamp.h"

#include <chrono>
#include <fmt/format.h>

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

QueueScore score_of(const Workload& workload, const SessionResult& result) {
  QueueScore score;
  score.workload = workload.key();
  score.problem = workload.problem.dimensions;
  const StoredWinner& winner = result.winner;
  score.evaluated = result.progress.evaluated;
  score.failed = result.progress.failed;
  if (winner.knob_names.empty()) {
    score.failure = "no configuration could be measured against the raw kernel";
    if (!result.default_problem.empty())
      score.failure += ": " + result.default_problem;
    else if (!result.failure_example.empty())
      score.failure += ": " + result.failure_example.begin()->second;
    return score;
  }
  score.raw_us = winner.comparison.raw.median_us;
  score.best_us = winner.comparison.tuned.median_us;
  score.ratio = winner.comparison.ratio;
  score.ratio_low = winner.comparison.ratio_low;
  score.ratio_high = winner.comparison.ratio_high;
  score.noise_band = winner.comparison.noise_band;
  score.copy_floor_us = winner.copy_floor_us;
  score.default_kept = result.default_kept;
  for (std::size_t i = 0; i < winner.knob_names.size(); ++i)
    score.knobs[winner.knob_names[i]] = to_string(winner.knobs[i]);
  return score;
}

Status search_problems(const QueueRequest& request, const std::filesystem::path& spec_file, Backend& backend,
                       Store& store, SessionOptions options, const std::atomic<bool>& stop,
                       QueueAnswer& answer) {
  LATHE_TRY(const TuningSpec spec, read_spec(spec_file));
  if (spec.template_hash != request.template_hash)
    return Error{"request " + request.id, "its template is not the one that it was made for", "ask again"};
  LATHE_TRY(const CertificateFacts facts, require_certificate(spec, spec_file));
  options.default_is_raw_code = facts.default_is_raw_code;
  options.measure.raw_wants_alignment = facts.raw_wants_alignment;
  options.measure.unordered = facts.unordered;
  options.evaluations = request.evaluations;
  options.seed = options.measure.seed = request.seed;
  // A candidate's score must not depend on which candidates were scored before it.
  options.transfer = false;
  options.profile = false; // counters of every candidate would cost more than its search
  WorkloadSelection selection;
  selection.problems = request.problems;
  selection.types = request.types;
  selection.tune_only = true;
  LATHE_TRY(const std::vector<Workload> workloads,
            select_workloads(spec, selection, backend.device().limits()));
  for (const Workload& workload : workloads) {
    if (stop)
      break;
    auto result = tune_workload(workload, backend, store, options, stop, {});
    if (result.ok()) {
      QueueScore score = score_of(workload, *result);
      LATHE_TRY(const std::vector<StoredEvaluation> tried,
                store.evaluations(store_key(workload, backend.device())));
      for (const StoredEvaluation& each : tried)
        score.samples.push_back(each.measurement.outcome == Outcome::ok ? each.measurement.timing.median_us
                                                                        : 0.0);
      if (request.counters) // where they are denied there are none
        if (const auto profile = backend.profile(std::nullopt); profile.ok()) {
          score.raw_counters = profile_counters(*profile);
          LATHE_CHECK(store.record_profile(store_key(workload, backend.device()),
                                           {std::nullopt, spec.knob_names(), *profile, utc_now()}));
        }
      answer.scores.push_back(std::move(score));
    } else {
      QueueScore score;
      score.workload = workload.key();
      score.problem = workload.problem.dimensions;
      score.failure = result.error().sentence();
      answer.scores.push_back(std::move(score));
    }
  }
  return Done{};
}

std::string summary(const QueueRequest& request, const QueueAnswer& answer) {
  std::string text = fmt::format("{} {}", request.id, request.kernel);
  if (!answer.failure.empty())
    return text + "  " + answer.failure;
  for (const QueueScore& score : answer.scores)
    text += score.failure.empty() ? fmt::format("  {:.3f}", score.ratio) : "  failed";
  return text + fmt::format("  {:.1f} s", answer.seconds);
}

} // namespace

Result<QueueAnswer> evaluate_request(const QueueRequest& request, const std::filesystem::path& spec_file,
                                     Backend& backend, Store& store, const SessionOptions& options,
                                     const std::atomic<bool>& stop) {
  const auto start = Clock::now();
  QueueAnswer answer;
  answer.id = request.id;
  answer.template_hash = request.template_hash;
  answer.device = backend.device().name;
  answer.is_host = backend.device().is_host;
  answer.protocol = std::string(backend.protocol());
  answer.lathe_version = LATHE_VERSION;
  const Status done = search_problems(request, spec_file, backend, store, options, stop, answer);
  if (!done.ok())
    answer.failure = done.error().sentence();
  else if (stop)
    return Error{"request " + request.id, "interrupted", "the same command goes on from here"};
  else if (answer.scores.empty())
    answer.failure = "it names no problem to tune";
  // The key of any workload names driver and compiler.
  if (const auto spec = read_spec(spec_file, {.check_template = false}); spec.ok()) {
    Workload any;
    any.spec = &*spec;
    const StoreKey key = store_key(any, backend.device());
    answer.driver = key.driver;
    answer.toolkit = key.toolkit;
  }
  answer.timestamp = utc_now();
  answer.seconds = seconds_since(start);
  return answer;
}

Result<QueueRun> answer_queue(const EvaluationQueue& queue, Backend& backend, Store& store,
                              const SessionOptions& options, double seconds, const std::atomic<bool>& stop,
                              const std::function<void(const std::string&)>& say) {
  const auto start = Clock::now();
  LATHE_TRY(const QueueAnswers known, queue.answers());
  for (const std::string& refusal : known.refused)
    say(refusal);
  LATHE_TRY(const std::vector<QueueRequest> pending, queue.pending());
  QueueRun run;
  run.waiting = static_cast<int>(pending.size());
  for (const QueueRequest& request : pending) {
    if (stop || seconds_since(start) >= seconds)
      break;
    auto answer = evaluate_request(request, queue.specification(request), backend, store, options, stop);
    if (!answer.ok())
      break; // interrupted
    LATHE_CHECK(queue.answer(*answer));
    ++run.answered;
    --run.waiting;
    run.failed += !answer->failure.empty();
    say(summary(request, *answer));
  }
  return run;
}

} // namespace lathe
