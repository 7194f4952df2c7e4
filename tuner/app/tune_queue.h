// `lathe tune --queue FOLDER`: answers an evaluation queue's requests on this device.
#pragma once

#include "tuner/app/tuning_session.h"
#include "tuner/queue/queue.h"

namespace lathe {

struct QueueRun {
  int answered = 0, waiting = 0; // of this run; left for the next
  int failed = 0;                // answered by a failure
};

// Answers what is pending, by rank, until `stop`, or until `seconds` have passed; the request in flight is
// then finished or left unanswered, never answered by half. One request's fault is its answer, not an error
// of the run. `say` gets a line a request.
Result<QueueRun> answer_queue(const EvaluationQueue& queue, Backend& backend, Store& store,
                              const SessionOptions& options, double seconds, const std::atomic<bool>& stop,
                              const std::function<void(const std::string&)>& say);

// Scores one candidate: the short search that a queue's request asks for. Also what `lathe optimize` does on
// its own device.
Result<QueueAnswer> evaluate_request(const QueueRequest& request, const std::filesystem::path& spec_file,
                                     Backend& backend, Store& store, const SessionOptions& options,
                                     const std::atomic<bool>& stop);

} // namespace lathe
