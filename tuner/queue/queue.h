// The evaluation queue: candidates wait as files until a host with a device answers them as files. Nothing
// but the folder passes between the two, so that they may be different machines without a network.
//
//   FOLDER/requests/ID/   request.json, specification.json, template.cuh, raw.cuh, certificate.json
//   FOLDER/answers/*.json one answer each; the name is free, the content says which request it answers
#pragma once

#include "tuner/spec/spec.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lathe {

// What is asked of a candidate: a short search on some problems.
struct QueueRequest {
  std::string id;                    // filled in by put(): of the texts and of what is asked
  std::string template_hash;         // filled in by put()
  std::string kernel;                // for people
  int rank = 0;                      // lower ones are answered first
  std::vector<std::string> problems; // "n=16,d=4096" each; empty: the specification's tune problems
  std::string types;                 // "T=bf16"; empty: the first of each type parameter
  int evaluations = 20;              // configurations a problem at most
  std::uint64_t seed = 1;
  bool counters = false; // also the GPU's counters of the raw kernel
};

// What a short search found on one problem. Times are microseconds.
struct QueueScore {
  std::string workload; // Workload::key()
  std::map<std::string, std::int64_t> problem;
  double raw_us = 0, best_us = 0;
  // Raw over best, interleaved in one run, with its 95 % interval; the default where nothing beat it.
  double ratio = 0, ratio_low = 0, ratio_high = 0;
  double noise_band = 0;    // A/A half width of the same run
  double copy_floor_us = 0; // 0: unknown
  bool default_kept = false;
  std::map<std::string, std::string> knobs; // of the best, as text
  int evaluated = 0, failed = 0;
  std::vector<double>
      samples; // microseconds of each configuration as the search met it, the default first; 0: failed
  std::map<std::string, double> raw_counters; // see profile_counters(); empty: not asked for, or denied
  std::string failure;                        // why there are no numbers: one sentence; empty where there are
};

struct QueueAnswer {
  std::string id, template_hash;
  std::string device, driver, toolkit, protocol, timestamp, lathe_version;
  bool is_host = false; // times of the host executor, which say nothing about a GPU
  double seconds = 0;
  std::vector<QueueScore> scores;
  std::string failure; // the candidate could not be evaluated at all: one sentence
};

struct QueueAnswers {
  std::map<std::string, QueueAnswer> accepted; // by request
  std::vector<std::string> refused;            // files that are no answers to this queue, a sentence each
};

class EvaluationQueue {
public:
  explicit EvaluationQueue(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Copies the candidate into the queue. Asking the same of the same texts again changes nothing. Returns the
  // request with its id and hash.
  Result<QueueRequest> put(QueueRequest request, const TuningSpec& spec,
                           const std::filesystem::path& certificate) const;

  // Every request, by rank and id. A folder without a readable request is an error that names it.
  Result<std::vector<QueueRequest>> requests() const;
  std::filesystem::path specification(const QueueRequest& request) const;

  // What was answered. Foreign, duplicated, cut and hand-made files are refused, each with a sentence; the
  // first file by name counts.
  Result<QueueAnswers> answers() const;
  // The requests without an answer.
  Result<std::vector<QueueRequest>> pending() const;

  // Writes FOLDER/answers/ID.json at once and whole.
  Status answer(const QueueAnswer& answer) const;

  const std::filesystem::path& folder() const { return folder_; }

private:
  std::filesystem::path folder_;
};

} // namespace lathe
