#include "refactor/llm/answer_form.h"

#include "refactor/llm/answer_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <regex>
#include <set>

namespace lathe::refactor::llm {
namespace {

using Json = nlohmann::json;

constexpr std::size_t TEMPLATE_LIMIT = 256u << 10, JSON_LIMIT = 64u << 10;
constexpr std::size_t MOST_KNOBS = 16, MOST_VALUES = 32, MOST_CONDITIONS = 32, TEXT_LIMIT = 400;
constexpr std::int64_t LARGEST_VALUE = 1 << 20;

Error refused(const std::string& why) {
  return {"the answer is not of the form", why, ""};
}

struct Blocks {
  std::string cuda, json;
};

Result<Blocks> find_blocks(std::string_view answer) {
  Blocks blocks;
  std::string* open = nullptr;
  std::set<std::string> seen;
  while (!answer.empty()) {
    const std::size_t end = std::min(answer.find('\n'), answer.size());
    std::string_view line = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 1, answer.size()));
    std::string_view bare = line;
    while (!bare.empty() && (bare.back() == ' ' || bare.back() == '\t'))
      bare.remove_suffix(1);
    if (!bare.starts_with("```")) {
      if (open)
        open->append(line).append("\n");
      continue;
    }
    if (open) {
      if (bare != "```")
        return refused("a block is opened inside another one ('" + excerpt(bare, 40) + "')");
      open = nullptr;
      continue;
    }
    const std::string kind(bare.substr(3));
    if (kind != "cuda" && kind != "json")
      return refused("it holds a block '" + excerpt(bare, 40) +
                     "': only one ```cuda and one ```json are allowed");
    if (!seen.insert(kind).second)
      return refused("it holds two ```" + kind + " blocks");
    if (kind == "json" && !seen.contains("cuda"))
      return refused("the ```json block comes before the ```cuda block");
    open = kind == "cuda" ? &blocks.cuda : &blocks.json;
  }
  if (open)
    return refused("its last block is not closed");
  for (const char* kind : {"cuda", "json"})
    if (!seen.contains(kind))
      return refused(std::string("it holds no ```") + kind + " block");
  if (blocks.cuda.size() > TEMPLATE_LIMIT)
    return refused("its template is longer than 256 KiB");
  if (blocks.json.size() > JSON_LIMIT)
    return refused("its ```json block is longer than 64 KiB");
  return blocks;
}

// The JSON library takes the last of several equal keys; here they are refused.
Result<Json> parse_strictly(const std::string& text) {
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    too_deep |= depth > 8;
    if (event == Json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      duplicate = value.get<std::string>();
    return true;
  };
  // The JSON library reports by exceptions.
  try {
    Json json = Json::parse(text, watch);
    if (!duplicate.empty())
      return refused("the ```json block names '" + excerpt(duplicate, 40) + "' twice");
    if (too_deep)
      return refused("the ```json block is nested too deeply");
    if (!json.is_object())
      return refused("the ```json block is no object");
    return json;
  } catch (const nlohmann::json::exception& problem) {
    return refused(std::string("the ```json block is no JSON: ") + problem.what());
  }
}

// Reads the fields of one object; the first fault counts.
class Fields {
public:
  Fields(const Json& json, std::string where, std::initializer_list<const char*> known)
      : json_(json), where_(std::move(where)) {
    if (!json.is_object()) {
      fault("is no object");
      return;
    }
    for (const auto& [key, value] : json.items())
      if (std::none_of(known.begin(), known.end(), [&](const char* name) { return key == name; }))
        fault("has the field '" + excerpt(key, 40) + "', which is not among those allowed");
  }

  bool has(const char* name) const { return problem_.empty() && json_.contains(name); }
  const Json& at(const char* name) const { return json_.at(name); }

  std::string text(const char* name, bool needed) {
    if (!has(name)) {
      if (needed)
        fault(std::string("lacks '") + name + "'");
      return {};
    }
    return as_text(json_.at(name), name);
  }

  // A text, or a whole number as one.
  std::string as_text(const Json& value, const std::string& name) {
    if (value.is_number_integer())
      return std::to_string(value.get<std::int64_t>());
    if (!value.is_string()) {
      fault("'" + name + "' is neither a text nor a whole number");
      return {};
    }
    std::string text = value.get<std::string>();
    if (text.size() > TEXT_LIMIT || text.find_first_of("\n\t") != std::string::npos)
      fault("'" + name + "' is longer than 400 characters or has several lines");
    return text;
  }

  void fault(const std::string& sentence) {
    if (problem_.empty())
      problem_ = where_ + " " + sentence;
  }
  const std::string& problem() const { return problem_; }

private:
  const Json& json_;
  std::string where_, problem_;
};

Result<Submission::KnobText> read_knob(const Json& json, std::size_t index) {
  Fields fields(json, fmt::format("knob {}", index + 1), {"name", "kind", "values", "default", "why"});
  Submission::KnobText knob;
  knob.name = fields.text("name", true);
  knob.default_text = fields.text("default", true);
  knob.why = excerpt(fields.text("why", false), 200);
  const std::string kind = fields.text("kind", true);
  static const std::regex identifier("[A-Za-z][A-Za-z0-9_]{0,39}");
  if (fields.problem().empty() && !std::regex_match(knob.name, identifier))
    fields.fault("has no usable name");
  if (const auto known = parse_knob_kind(kind))
    knob.kind = *known;
  else
    fields.fault("has the kind '" + excerpt(kind, 40) +
                 "': known are block, tile, unroll, vector, coarsen, occupancy, stage, cache, flag");
  if (!fields.has("values") || !fields.at("values").is_array() || fields.at("values").size() < 2 ||
      fields.at("values").size() > MOST_VALUES) {
    fields.fault(fmt::format("has no list of 2 to {} values", MOST_VALUES));
  } else {
    for (const Json& value : fields.at("values")) {
      if (!value.is_number_unsigned()) {
        fields.fault("has a value that is no whole number of 0 or more");
        break;
      }
      const std::uint64_t number = value.get<std::uint64_t>();
      const auto known = static_cast<std::int64_t>(std::min<std::uint64_t>(number, LARGEST_VALUE + 1));
      if (known > LARGEST_VALUE)
        fields.fault("has a value above 1048576");
      if (std::find(knob.values.begin(), knob.values.end(), known) != knob.values.end())
        fields.fault("has a value twice");
      knob.values.push_back(known);
    }
  }
  if (!fields.problem().empty())
    return refused(fields.problem());
  return knob;
}

Result<std::array<std::string, 3>> read_axes(const Json& json, const std::string& name) {
  static const Json none = Json::object();
  Fields fields(none, "'" + name + "' of launch", {});
  if (!json.is_array() || json.empty() || json.size() > 3)
    return refused("'" + name + "' of launch is no list of one to three expressions");
  std::array<std::string, 3> axes{"1", "1", "1"};
  for (std::size_t i = 0; i < json.size(); ++i)
    axes[i] = fields.as_text(json[i], fmt::format("axis {}", i + 1));
  if (!fields.problem().empty())
    return refused(fields.problem());
  return axes;
}

Status read_launch(const Json& json, Submission& submission) {
  Fields fields(json, "launch", {"grid", "block", "shared_bytes"});
  if (fields.has("grid")) {
    LATHE_TRY(submission.grid, read_axes(fields.at("grid"), "grid"));
  }
  if (fields.has("block")) {
    LATHE_TRY(submission.block, read_axes(fields.at("block"), "block"));
  }
  if (fields.has("shared_bytes"))
    submission.shared_bytes = fields.text("shared_bytes", true);
  if (!fields.problem().empty())
    return refused(fields.problem());
  return Done{};
}

Status read_lists(const Json& json, Submission& submission) {
  Fields fields(json, "the ```json block", {"knobs", "conditions", "launch"});
  if (!fields.problem().empty())
    return refused(fields.problem());
  if (!json.contains("knobs") || !json["knobs"].is_array() || json["knobs"].empty() ||
      json["knobs"].size() > MOST_KNOBS)
    return refused(fmt::format("'knobs' is no list of 1 to {} knobs", MOST_KNOBS));
  std::set<std::string> names;
  for (std::size_t i = 0; i < json["knobs"].size(); ++i) {
    LATHE_TRY(Submission::KnobText knob, read_knob(json["knobs"][i], i));
    if (!names.insert(knob.name).second)
      return refused("two knobs are called " + knob.name);
    submission.knobs.push_back(std::move(knob));
  }
  if (json.contains("conditions")) {
    const Json& list = json["conditions"];
    if (!list.is_array() || list.size() > MOST_CONDITIONS)
      return refused(fmt::format("'conditions' is no list of at most {} conditions", MOST_CONDITIONS));
    for (std::size_t i = 0; i < list.size(); ++i) {
      Fields condition(list[i], fmt::format("condition {}", i + 1), {"expression", "why"});
      Submission::ConditionText read{condition.text("expression", true),
                                     excerpt(condition.text("why", false), 200)};
      if (!condition.problem().empty())
        return refused(condition.problem());
      submission.conditions.push_back(std::move(read));
    }
  }
  return json.contains("launch") ? read_launch(json["launch"], submission) : Status(Done{});
}

} // namespace

Result<Submission> parse_submission(std::string_view answer) {
  LATHE_TRY(Blocks blocks, find_blocks(answer));
  LATHE_TRY(const Json json, parse_strictly(blocks.json));
  Submission submission;
  submission.text = std::move(blocks.cuda);
  LATHE_CHECK(read_lists(json, submission));
  return submission;
}

std::string_view form_explanation() {
  return R"form(Answer with exactly two fenced blocks, in this order; words outside them are not read.

```cuda
(the whole template file: every include and helper that it needs, and the kernel)
```
```json
{
  "knobs": [
    {"name": "ROWS", "kind": "coarsen", "values": [1, 2, 4], "default": 1, "why": "rows that one block takes"}
  ],
  "conditions": [
    {"expression": "ROWS * WARPS * 32 <= device.max_threads_per_block", "why": "the block fits"}
  ],
  "launch": {"grid": ["ceil_div(n, ROWS)", "1", "1"], "block": ["32 * WARPS", "1", "1"], "shared_bytes": "0"}
}
```

- Each knob is a non-type template parameter (int, unsigned or bool) of the kernel, added behind the raw kernel's own
  template parameters; Lathe writes the instance's argument list itself. `kind` is one of block, tile, unroll, vector,
  coarsen, occupancy, stage, cache, flag. `values`: 2 to 32 different whole numbers of 0 or more. `default`: what the raw
  kernel does, a number or an expression over dimensions and sizeof_T.
- `conditions` exclude combinations that cannot work, over knobs, dimensions, sizeof_T and device limits. Every
  combination that they admit must be correct for every size that they admit, and the defaults must be admitted for all
  sizes that the raw kernel is launched with.
- `launch`: a part that is left out is as in the raw launch. `shared_bytes` is dynamic shared memory only.
- Expressions: C operators, ?:, and/or/not, min, max, ceil_div(a, b), is_pow2, integer division as in C.
- No other field is allowed. Arguments, sizes, reference and tolerances are not yours to set.
)form";
}

} // namespace lathe::refactor::llm
