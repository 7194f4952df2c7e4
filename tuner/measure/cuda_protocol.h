// What the CUDA backend and its runner process say to each other: frames on a local socket, one reply a
// request. Both ends are built together; a reply that does not decode is a runner that crashed.
#pragma once

#include "tuner/measure/element.h"
#include "tuner/measure/measure.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

inline constexpr int RUNNER_SOCKET = 3; // the runner's end

// A compiled kernel with its launch.
struct RunnerKernel {
  std::string cubin, cubin_hash, entry;
  Launch launch;
};

struct RunnerBuffer {
  std::string name;
  int dtype = 0;
  Direction direction = Direction::in;
  std::uint64_t count = 0;
  element::FillPlan fill{};
  double relative = 0, absolute = 0; // tolerance
  double reordering = 0;             // reordering_share() of it
  bool is_unordered = false;         // only which elements it holds counts
};

struct RunnerParameter {
  bool is_buffer = true;
  std::uint64_t buffer = 0;            // index into buffers
  std::array<std::uint8_t, 8> value{}; // scalars: their bytes
};

struct RunnerTiming {
  int min_samples = 5, max_samples = 50;
  double target_interval = 0.01;
  double time_limit_s = 10;
  double incumbent_us = 0;
};

// Allocates and fills the buffers and runs the reference. Everything that is measured or judged afterwards
// refers to the last setup.
struct SetupRequest {
  std::string utilities; // cubin of gpu_utilities.cu
  std::vector<RunnerBuffer> buffers;
  std::vector<RunnerParameter> parameters;
  RunnerKernel reference;
  double bytes = 0, operations = 0; // of the cost model; 0: not given
  std::uint64_t seed = 1;
  bool verify_reference = true; // run it twice and compare; false after a runner was replaced
  bool measure = true;          // time the reference and the copy floor; likewise, and where nothing is timed
  int launches = 0;             // of a sample, as the first setup of the problem replied; 0: to be decided
  std::uint64_t shifted_elements = 0; // every buffer begins this many elements behind an aligned address
  bool return_outputs = false;        // what the reference wrote to the first set
  RunnerTiming timing;
};

struct SetupReply {
  bool ok = false;
  bool reference_differs = false; // from itself, run again on the same data: then it is not ok
  std::string error;
  Timing raw;
  int launches = 0;                 // of a sample: the same for every configuration of the problem
  double copy_floor_us = 0;         // of the cost model's bytes
  double copy_bytes_per_second = 0; // read and written, of a large copy
  double floor_us = 0;              // physics: no honest kernel is faster; 0: not known
  std::vector<std::string> outputs; // when asked for: the bytes of each buffer, empty for inputs
};

struct EvaluateRequest {
  RunnerKernel kernel;
  RunnerTiming timing;
  double floor_us = 0;
  bool verify_only = false;
};

struct EvaluateReply {
  Outcome outcome = Outcome::ok;
  std::string reason;
  Timing timing;
  double error = 0;
  double run_seconds = 0;
  bool last_words = false; // the context is lost: the runner ends after this reply
};

struct CompareRequest {
  RunnerKernel kernel;
  RunnerTiming timing;
  double ratio_to_beat = 0; // see Backend::compare
};

struct CompareReply {
  bool ok = false;
  std::string error;
  Comparison comparison;
  bool last_words = false;
};

// Counters of one launch with a cold L2. For a runner that is asked for nothing else: see range_profiler.h.
struct ProfileRequest {
  RunnerKernel kernel;
  double time_limit_s = 10; // of one launch
};

struct ProfileReply {
  bool ok = false;
  bool denied = false; // no counters here at all: asking again is in vain
  std::string error;
  std::vector<std::string> metrics;
  std::vector<double> values;
  double run_seconds = 0;
  bool last_words = false;
};

enum class RunnerCommand : std::uint8_t { setup, evaluate, compare, profile };

std::string encode(const SetupRequest& request);
std::string encode(const EvaluateRequest& request);
std::string encode(const CompareRequest& request);
std::string encode(const ProfileRequest& request);
std::string encode(const SetupReply& reply);
std::string encode(const EvaluateReply& reply);
std::string encode(const CompareReply& reply);
std::string encode(const ProfileReply& reply);
// The command is the first byte of every request; these decode the rest.
std::optional<SetupRequest> decode_setup(std::string_view bytes);
std::optional<EvaluateRequest> decode_evaluate(std::string_view bytes);
std::optional<CompareRequest> decode_compare(std::string_view bytes);
std::optional<ProfileRequest> decode_profile(std::string_view bytes);
std::optional<SetupReply> decode_setup_reply(std::string_view bytes);
std::optional<EvaluateReply> decode_evaluate_reply(std::string_view bytes);
std::optional<CompareReply> decode_compare_reply(std::string_view bytes);
std::optional<ProfileReply> decode_profile_reply(std::string_view bytes);

} // namespace lathe
