// What the reader's parts share: JSON values as expressions and knob values, and where each came from.
#pragma once

#include "tuner/spec/document.h"
#include "tuner/spec/spec.h"

#include <map>

namespace lathe::spec {

// The place in the file of each part of a specification, by a name such as "condition 3" or "kernel grid 0".
using Origins = std::map<std::string, Path>;

struct Reading {
  const Document& document;
  TuningSpec spec;
  Origins origins;
  bool has_lathe = false; // the file has the key "Lathe"; without it faults that only stop a run are warnings

  Error error(const Path& path, std::string why, std::string remedy) const {
    return document.error(path, std::move(why), std::move(remedy));
  }
  void warn(const Path& path, std::string why, std::string remedy) {
    spec.warnings.push_back(document.warning(path, std::move(why), std::move(remedy)));
  }
};

Result<Value> value_at(const Document& document, const Path& path);
// A number, a text in `dialect`, or an object that names its dialect.
Result<Expression> expression_at(const Document& document, const Path& path,
                                 Dialect dialect = Dialect::lathe);
// `text`, found at `path`, as an expression.
Result<Expression> parse_at(const Document& document, const Path& path, std::string_view text,
                            Dialect dialect);
// The member of an object as a string; `otherwise` when it is not there.
std::string text_at(const Document& document, const Path& path, std::string otherwise = "");
std::vector<std::string> texts_at(const Document& document, const Path& path);

// Numerically equal, or the same string: 1, 1.0 and true are the same value.
bool same_value(const Value& a, const Value& b);
// The member of `values` that is the same as `value`, or null.
const Value* find_value(const std::vector<Value>& values, const Value& value);

// "n=4096 d=14336".
std::string dimensions_label(const std::vector<std::string>& names,
                             const std::map<std::string, std::int64_t>& dimensions);

// The names that expressions over a problem may use: its dimensions, sizeof_<type parameter>, the device's
// limits.
std::map<std::string, Value> problem_environment(const TuningSpec& spec,
                                                 const std::map<std::string, std::int64_t>& dimensions,
                                                 const std::map<std::string, std::string>& types,
                                                 const std::map<std::string, Value>& device_limits);
// Buffers above this are a mistake in a shape.
constexpr std::uint64_t largest_buffer_bytes = std::uint64_t{1} << 40;

// The names in braces of an instance: "kernel<{T}, {BLOCK}>" has T and BLOCK.
std::vector<std::string> placeholders(std::string_view instance);

// The T1 sections (ConfigurationSpace, KernelSpecification, General).
// Knobs from a list of objects whose name and values have these keys; Type and Default as in T1.
Status read_knob_list(Reading& reading, const Path& list, std::string_view name_key,
                      std::string_view values_key);
Status read_t1_conditions(Reading& reading);
Status read_t1_kernel(Reading& reading);
Status read_t1_problem(Reading& reading);
Status read_t1_launch(Reading& reading);
Status read_t1_arguments(Reading& reading);

// Everything that the schema cannot say: names, values, and expressions evaluated for every problem.
Status check_spec(Reading& reading);

} // namespace lathe::spec
