#include "tuner/report/attempts.h"

#include "tuner/base/files.h"
#include "tuner/report/page_parts.h"
#include "tuner/report/svg.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace lathe {
namespace {

using Json = nlohmann::json;

constexpr int SCHEMA = 1; // of history.json

std::string action_of(const Json& node) {
  const Json& action = node.at("Action");
  const auto rule = action.at("Rule").get<std::string>();
  return rule.empty() ? "rewriting by a model"
                      : fmt::format("{}({})", rule,
                                    fmt::join(action.at("Knobs").get<std::vector<std::string>>(), ", "));
}

std::string outcome_of(const Json& node) {
  const auto stage = node.at("Stage").get<std::string>();
  if (stage == "awaited")
    return "its score is awaited";
  if (stage == "measured" && node.at("Score").is_number())
    return fmt::format("{:.3f} times as fast as raw", 1 / node["Score"].get<double>());
  return stage + ": " + node.at("Diagnostics").get<std::string>();
}

std::string ledger_of(const Json& ledger) {
  std::string text = fmt::format("{} attempts, {:.0f} s of scoring", ledger.at("Attempts").get<int>(),
                                 ledger.at("DeviceSeconds").get<double>());
  for (const auto& [who, calls, tokens] :
       {std::tuple{"model", "ModelCalls", "ModelTokens"}, {"policy model", "PolicyCalls", "PolicyTokens"}})
    if (const int count = ledger.value(calls, 0); count > 0)
      text += fmt::format(", {} calls of the {} with {} tokens", count, who,
                          ledger.value(tokens, std::int64_t{0}));
  return text;
}

// Both, whether or not anybody measured them.
std::string baselines_of(const Json& json) {
  const auto found = json.find("Baselines");
  const auto ratio = [&](const char* name) -> std::string {
    if (found == json.end() || !found->is_object() || !found->contains(name) || !(*found)[name].is_number())
      return "not measured";
    return fmt::format("{:.3f}", (*found)[name].get<double>());
  };
  return fmt::format("Raw / time of PyTorch: eager {}, torch.compile {}", ratio("RawOverEager"),
                     ratio("RawOverCompile"));
}

// Throws where a field is missing or of another type: the JSON library's way.
AttemptTree read(const Json& json) {
  AttemptTree tree;
  tree.kernel = json.at("Kernel").get<std::string>();
  tree.source = json.at("Source").get<std::string>();
  tree.device = json.at("Device").get<std::string>();
  tree.is_host = json.at("Host").get<bool>();
  tree.ended = json.at("Ended").get<std::string>();
  tree.ledger = ledger_of(json.at("Ledger"));
  tree.baselines = baselines_of(json);
  const int best = json.at("Best").get<int>();
  std::map<int, std::vector<Attempt>> children; // by parent
  for (const Json& node : json.at("Tree")) {
    Attempt attempt;
    attempt.id = node.at("Id").get<int>();
    attempt.parent = node.at("Parent").get<int>();
    if (attempt.id == 0)
      continue;
    attempt.action = action_of(node);
    attempt.outcome = outcome_of(node);
    attempt.why = node.at("Reason").get<std::string>();
    attempt.configuration = node.at("Configuration").get<std::string>();
    attempt.is_best = attempt.id == best;
    // Parents come first: a file in which they do not is no tree, and its nodes are left out.
    if (attempt.parent >= 0 && attempt.parent < attempt.id)
      children[attempt.parent].push_back(std::move(attempt));
  }
  const auto add = [&](const auto& self, int parent, int depth) -> void {
    for (Attempt& attempt : children[parent]) {
      attempt.depth = depth;
      const int id = attempt.id;
      tree.attempts.push_back(std::move(attempt));
      self(self, id, depth + 1);
    }
  };
  add(add, 0, 1);
  return tree;
}

std::string title_of(const AttemptTree& tree) {
  return fmt::format("{}{}, {}", tree.device.empty() ? "not scored yet" : "scored on " + tree.device,
                     tree.is_host ? " (host executor: not GPU times)" : "", tree.ledger);
}

} // namespace

Result<AttemptTree> read_attempts(const std::filesystem::path& folder) {
  LATHE_TRY(const std::string text, read_file(folder / "history.json"));
  const Error wrong{"history of " + folder.string(), "history.json is none of this version",
                    "name a folder that lathe optimize wrote"};
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("Schema") || json["Schema"] != SCHEMA)
    return wrong;
  try {
    return read(json);
  } catch (const Json::exception&) {
    return wrong;
  }
}

std::string attempts_markdown(const AttemptTree& tree) {
  std::string text = fmt::format("# Attempts on {} of {}\n\n{}. {}.\n\n- raw kernel\n", tree.kernel,
                                 tree.source, title_of(tree), tree.baselines);
  for (const Attempt& attempt : tree.attempts)
    text += fmt::format("{}- {}. {}: {}{}{}; why: {}\n",
                        std::string(static_cast<std::size_t>(2 * attempt.depth), ' '), attempt.id,
                        attempt.action, attempt.is_best ? "**" : "", attempt.outcome,
                        attempt.is_best ? "**, the best" : "", attempt.why);
  if (!tree.ended.empty())
    text += "\nStopped: " + tree.ended + ".\n";
  return text;
}

std::string attempts_html(const AttemptTree& tree) {
  using report::escape;
  const auto words = [](const std::string& text) {
    return "<span class=\"words\">" + escape(text) + "</span>";
  };
  std::vector<report::Row> rows;
  for (const Attempt& attempt : tree.attempts) {
    std::string place;
    for (int i = 1; i < attempt.depth; ++i)
      place += "· ";
    rows.push_back(
        {fmt::format("{}{}. {}", place, attempt.id, escape(attempt.action)),
         attempt.parent == 0 ? "raw" : std::to_string(attempt.parent),
         (attempt.is_best ? "<b>best</b> " : "") + words(attempt.outcome), words(attempt.why),
         attempt.configuration.empty() ? "" : "<code>" + escape(attempt.configuration) + "</code>"});
  }
  return fmt::format(
      "<section aria-labelledby=\"attempts-h\"><h2 id=\"attempts-h\">How {} was improved</h2><p "
      "class=\"dim\">{}. {}{}</p>{}</section>\n",
      escape(tree.kernel), escape(title_of(tree)), escape(tree.baselines),
      tree.ended.empty() ? "" : ". Stopped: " + escape(tree.ended),
      report::table("Attempts", {"attempt", "on", "gave", "why", "with"}, rows));
}

} // namespace lathe
