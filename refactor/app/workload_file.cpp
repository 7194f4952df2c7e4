#include "refactor/app/workload_file.h"

#include "tuner/base/files.h"

#include <nlohmann/json.hpp>

namespace lathe::refactor {
namespace {

using Json = nlohmann::json;

class Reader {
public:
  explicit Reader(std::filesystem::path path) : path_(std::move(path)) {}

  Result<WorkloadFacts> read() {
    LATHE_TRY(const std::string text, read_file(path_));
    const Json document = Json::parse(text, nullptr, false);
    if (document.is_discarded() || !document.is_object())
      return problem("", "is not a JSON object");
    WorkloadFacts facts;
    for (const auto& [key, value] : document.items()) {
      Status status = Done{};
      if (key == "Types")
        status = types(value, facts);
      else if (key == "Arguments")
        status = arguments(value, facts);
      else if (key == "Problems")
        status = problems(value, facts);
      else if (key == "Cost")
        status = cost(value, facts);
      else if (key == "Tolerance")
        status = tolerances(value, facts);
      else if (key == "CpuReference" && value.is_string())
        facts.cpu_reference = value.get<std::string>();
      else
        status = problem(key, "is not a field of a workload file");
      if (!status.ok())
        return status.error();
    }
    return facts;
  }

private:
  Error problem(const std::string& field, const std::string& why) const {
    return {"cannot read " + path_.string(), field.empty() ? why : field + " " + why, "see docs/workload.md"};
  }

  Status types(const Json& value, WorkloadFacts& facts) const {
    if (!value.is_object())
      return problem("Types", "is not an object");
    for (const auto& [name, dtypes] : value.items()) {
      if (!dtypes.is_array() || dtypes.empty())
        return problem("Types." + name, "is not a list of dtypes");
      for (const Json& dtype : dtypes) {
        if (!dtype.is_string() || dtype_size(dtype.get<std::string>()) == 0)
          return problem("Types." + name, "holds an unknown dtype");
        facts.types[name].push_back(dtype.get<std::string>());
      }
    }
    return Done{};
  }

  Status arguments(const Json& value, WorkloadFacts& facts) const {
    if (!value.is_object())
      return problem("Arguments", "is not an object");
    for (const auto& [name, fields] : value.items()) {
      const std::string where = "Arguments." + name;
      if (!fields.is_object())
        return problem(where, "is not an object");
      ArgumentFacts& argument = facts.arguments[name];
      for (const auto& [key, field] : fields.items()) {
        if (key == "Fill") {
          LATHE_TRY(argument.fill, fill(where + ".Fill", field));
          continue;
        }
        if (key == "Null" && field.is_boolean()) {
          argument.is_null = field.get<bool>();
          continue;
        }
        const std::string text = field.is_string()   ? field.get<std::string>()
                                 : field.is_number() ? field.dump()
                                                     : "";
        if (text.empty())
          return problem(where + "." + key, "is neither a string nor a number");
        if (key == "Count")
          argument.count = text;
        else if (key == "Value")
          argument.value = text;
        else if (key == "Direction" && (text == "in" || text == "out" || text == "inout"))
          argument.direction = text == "in"    ? Direction::in
                               : text == "out" ? Direction::out
                                               : Direction::inout;
        else
          return problem(where + "." + key, "is not understood");
      }
    }
    return Done{};
  }

  Result<std::optional<Fill>> fill(const std::string& where, const Json& value) const {
    Fill result;
    const std::string kind = value.is_object() ? value.value("Kind", "") : "";
    if (kind == "normal") {
      result.kind = Fill::Kind::normal;
      result.mean = value.value("Mean", 0.0);
      result.spread = value.value("Spread", 1.0);
    } else if (kind == "uniform") {
      result.kind = Fill::Kind::uniform;
      result.low = value.value("Low", -1.0);
      result.high = value.value("High", 1.0);
    } else if (kind == "integer") {
      result.kind = Fill::Kind::integer;
      LATHE_TRY(result.integer_low, Expression::parse(value.value("Low", "0")));
      LATHE_TRY(result.integer_high, Expression::parse(value.value("High", "0")));
    } else if (kind == "zero") {
      result.kind = Fill::Kind::zero;
    } else if (kind == "permutation") {
      result.kind = Fill::Kind::permutation;
    } else if (kind == "offsets" && value.contains("High")) {
      result.kind = Fill::Kind::offsets;
      LATHE_TRY(result.integer_high, Expression::parse(value.value("High", "0")));
    } else if (kind == "offsets") {
      return problem(where, "has no High, the last offset");
    } else {
      return problem(where, "has no known Kind (normal, uniform, integer, zero, permutation, offsets)");
    }
    return std::optional(result);
  }

  // Each entry is a grid: a dimension may have one value or a list, and every combination is a problem.
  Status problems(const Json& value, WorkloadFacts& facts) const {
    if (!value.is_object())
      return problem("Problems", "is not an object");
    for (const auto& [role_name, grids] : value.items()) {
      if (role_name != "tune" && role_name != "select" && role_name != "report")
        return problem("Problems." + role_name, "is no role (tune, select, report)");
      const ProblemRole role = role_name == "tune"     ? ProblemRole::tune
                               : role_name == "select" ? ProblemRole::select
                                                       : ProblemRole::report;
      if (!grids.is_array())
        return problem("Problems." + role_name, "is not a list");
      for (const Json& grid : grids) {
        LATHE_TRY(std::vector<Problem> expanded, expand("Problems." + role_name, grid, role));
        facts.problems.insert(facts.problems.end(), expanded.begin(), expanded.end());
      }
    }
    return Done{};
  }

  Result<std::vector<Problem>> expand(const std::string& where, const Json& grid, ProblemRole role) const {
    if (!grid.is_object() || grid.empty())
      return problem(where, "holds an entry that is not an object of dimensions");
    Problem first;
    first.role = role;
    std::vector<Problem> expanded{first};
    for (const auto& [name, values] : grid.items()) {
      std::vector<Problem> next;
      for (const Json& number : values.is_array() ? values : Json::array({values})) {
        if (!number.is_number_integer() || number.get<std::int64_t>() < 1)
          return problem(where + "." + name, "is not a whole number above 0");
        for (Problem partial : expanded) {
          partial.dimensions[name] = number.get<std::int64_t>();
          next.push_back(std::move(partial));
        }
      }
      expanded = std::move(next);
    }
    return expanded;
  }

  Status cost(const Json& value, WorkloadFacts& facts) const {
    if (!value.is_object())
      return problem("Cost", "is not an object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string() || (key != "Bytes" && key != "Operations"))
        return problem("Cost." + key, "is not understood");
      (key == "Bytes" ? facts.bytes : facts.operations) = text.get<std::string>();
    }
    return Done{};
  }

  Status tolerances(const Json& value, WorkloadFacts& facts) const {
    if (!value.is_object())
      return problem("Tolerance", "is not an object");
    for (const auto& [dtype, fields] : value.items()) {
      if (!fields.is_object())
        return problem("Tolerance." + dtype, "is not an object");
      facts.tolerances[dtype] = {fields.value("Relative", 0.0), fields.value("Absolute", 0.0)};
    }
    return Done{};
  }

  std::filesystem::path path_;
};

} // namespace

Result<WorkloadFacts> read_workload_file(const std::filesystem::path& path) {
  try {
    return Reader(path).read();
  } catch (const Json::exception& exception) {
    return Error{"cannot read " + path.string(), exception.what(), "see docs/workload.md"};
  }
}

} // namespace lathe::refactor
