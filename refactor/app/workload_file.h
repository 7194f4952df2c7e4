// What a kernel's source cannot tell: the sizes it runs on, its data, its cost. Read from NAME.workload.json
// beside the source, or from the command line; docs/workload.md has the fields.
#pragma once

#include "tuner/base/result.h"
#include "tuner/spec/spec.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

struct ArgumentFacts {
  std::optional<std::string> count; // elements, an expression over the dimensions
  std::optional<std::string> value; // scalars
  std::optional<Direction> direction;
  std::optional<Fill> fill;
  std::optional<bool> is_null; // buffers: whether the program passes a null pointer
};

struct WorkloadFacts {
  std::map<std::string, std::vector<std::string>> types; // type parameter -> dtypes
  std::map<std::string, ArgumentFacts> arguments;        // by kernel parameter
  std::vector<Problem> problems;
  std::optional<std::string> bytes, operations;
  std::string cpu_reference;
  std::map<std::string, Tolerance> tolerances;
};

// Errors name the file and the field.
Result<WorkloadFacts> read_workload_file(const std::filesystem::path& path);

} // namespace lathe::refactor
