// A tuning space whose every point was measured before: it stands in for a device (docs/search.md).
#pragma once

#include "tuner/base/result.h"
#include "tuner/search/search.h"

#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace lathe {

struct RecordedSpace {
  struct Record {
    Point point;
    bool succeeded = false;
    double cost = 0;            // the objective, lower is better; for an objective to maximise its reciprocal
    double seconds = 0;         // what evaluating it took: compiling, checking, timing; 0 when not recorded
    double compile_seconds = 0; // of these, what compiling took
    std::optional<Counters> counters = {}; // where they were recorded
  };
  std::string kernel, device, objective;
  std::vector<Parameter> parameters;
  std::vector<Record> records; // one a configuration, at least one of which succeeded

  double best_cost() const; // over the successful records
};

// Reads a Kernel Tuner cache file or a T4 results file, plain or compressed with gzip. Errors are usage
// errors: not readable, not JSON, cut off (an interrupted recording), neither of the two formats, no
// successful record.
Result<RecordedSpace> read_recorded_space(const std::filesystem::path& path);

// The same from the (uncompressed) text; `name` is used in errors.
Result<RecordedSpace> parse_recorded_space(const std::string& text, const std::string& name);

// The successful and failed records of `other` as observations in the space of `parameters`: matched by
// parameter name and value; records with a value that the space does not list are left out. A usage error
// when the parameter names differ.
Result<std::vector<Observation>> prior_from(const RecordedSpace& other,
                                            const std::vector<Parameter>& parameters);

} // namespace lathe
