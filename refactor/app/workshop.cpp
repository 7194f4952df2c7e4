#include "refactor/app/workshop.h"

#include "refactor/agents/counters.h"
#include "refactor/app/buildable_values.h"
#include "refactor/app/exploration.h"
#include "tuner/base/files.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lathe::refactor {

using namespace agents;
namespace fs = std::filesystem;

namespace {

std::string refusal_of(const Certificate& certificate) {
  for (const Verdict wanted : {Verdict::failed, Verdict::undecided})
    for (const CheckResult& check : certificate.checks)
      if (check.verdict == wanted)
        return fmt::format("the guard refused it: {}: {}", check.check, check.detail);
  return "the guard did not accept it";
}

} // namespace

Workshop::Workshop(const Subject& subject, WorkshopOptions options, Scorer scorer, Author author)
    : subject_(subject), options_(std::move(options)), scorer_(std::move(scorer)),
      author_(std::move(author)) {
  parse_.architecture = subject.architecture;
}

Result<std::unique_ptr<Workshop>> Workshop::open(const Subject& subject, WorkshopOptions options,
                                                 Scorer scorer, Author author) {
  std::unique_ptr<Workshop> shop(
      new Workshop(subject, std::move(options), std::move(scorer), std::move(author)));
  LATHE_TRY(RewriteResult prepared, rewrite(subject.raw, preparing_rules(), shop->parse_));
  shop->root_ = std::move(prepared.candidate);
  shop->root_key_ = state_key(shop->root_);
  LATHE_TRY(shop->facts_, kernel_features(shop->root_, subject.architecture));
  std::vector<std::string> notes;
  LATHE_TRY(const TuningSpec spec,
            assemble_template(subject, shop->root_, shop->options_.name, shop->paths_of("raw"), notes));
  std::vector<Features> sizes;
  for (const Problem& problem : spread_problems(spec, shop->options_.problems, shop->options_.most_bytes)) {
    shop->problems_.push_back(problem_text(problem));
    LATHE_TRY(Features facts, problem_facts(spec, problem));
    sizes.push_back(std::move(facts));
  }
  if (sizes.empty())
    return Error{"kernel " + subject.kernel, "it has no problem to tune for", "give some with --problem"};
  for (auto& feature : mean_of(sizes))
    shop->facts_.push_back(std::move(feature));
  return shop;
}

OutputPaths Workshop::paths_of(const std::string& candidate) const {
  return OutputPaths::under(options_.folder / "candidates" / candidate, options_.name);
}

Features Workshop::facts(const SearchTree& tree, NodeId node) {
  Features facts = facts_;
  for (const Node& each : tree.nodes())
    if (!each.raw_counters.empty()) {
      facts.insert(facts.end(), each.raw_counters.begin(), each.raw_counters.end());
      break;
    }
  const std::vector<double>& shares = tree.node(node).floor_share;
  double share = 0;
  for (const double each : shares)
    share += each / static_cast<double>(shares.size());
  facts.emplace_back("floor_share", share);
  return facts;
}

Result<Candidate> Workshop::candidate_of(const SearchTree& tree, NodeId id) {
  if (id == root_node)
    return root_;
  const Node& node = tree.node(id);
  if (node.candidate.empty())
    return candidate_of(tree, node.parent);
  if (const auto known = candidates_.find(node.candidate); known != candidates_.end())
    return known->second;
  const fs::path kept = options_.folder / "candidates" / node.candidate / "candidate.json";
  std::error_code failure;
  if (!fs::exists(kept, failure))
    return Error{fmt::format("attempt {}", id), "its candidate was not kept",
                 "start again in another folder"};
  LATHE_TRY(const std::string text, read_file(kept));
  LATHE_TRY(Candidate candidate,
            candidate_from(nlohmann::ordered_json::parse(text, nullptr, false), subject_.raw));
  candidates_[node.candidate] = candidate;
  return candidate;
}

Result<std::vector<Option>> Workshop::options(const SearchTree& tree, NodeId node) {
  const std::string& key = tree.node(node).candidate;
  if (const auto known = offers_.find(key); known != offers_.end())
    return known->second;
  LATHE_TRY(const Candidate candidate, candidate_of(tree, node));
  LATHE_TRY(const ActionSet actions, enumerate_actions(candidate, parse_));
  LATHE_TRY(const std::vector<std::string> keys, keys_after(candidate, actions.legal, parse_));
  std::vector<Option> offered;
  for (std::size_t i = 0; i < actions.legal.size(); ++i)
    offered.push_back({actions.legal[i], keys[i]});
  offers_[key] = offered;
  return offered;
}

Result<Candidate> Workshop::write(const SearchTree& tree, NodeId parent, const Plan& plan) {
  LATHE_TRY(const Candidate base, candidate_of(tree, parent));
  if (!author_)
    return apply_action(base, plan.action, parse_);
  LATHE_TRY(Candidate written, author_(tree, parent, plan, base));
  if (!written.knobs.empty())
    return written;
  // A structural rewrite becomes a template by the rules.
  LATHE_TRY(RewriteResult templated, rewrite(written, {}, parse_));
  return std::move(templated.candidate);
}

Result<Certificate> Workshop::judge_candidate(const Candidate& candidate, const OutputPaths& paths,
                                              TuningSpec& spec, std::uint64_t seed) {
  std::vector<std::string> notes;
  LATHE_TRY(spec, write_template(subject_, candidate, options_.name, paths, notes));
  GuardOptions guard = options_.guard;
  guard.architecture = subject_.architecture;
  guard.stop_at_failure = true;
  guard.raw_preconditions = candidate.raw_preconditions;
  guard.raw_launch_bounds = candidate.raw_launch_bounds;
  // An answer is not fitted to the samples that refused the one before.
  guard.seed += seed;
  LATHE_TRY(Certificate certificate, options_.judge(spec, guard));
  certificate.author.kind = author_ ? "model" : "rules";
  LATHE_CHECK(write_file(paths.certificate_file, to_json(certificate).dump(2) + "\n"));
  return certificate;
}

Result<Node> Workshop::score(const SearchTree& tree, Node node, const TuningSpec& spec, NodeId id) const {
  QueueRequest request;
  request.kernel = options_.name;
  request.problems = problems_;
  request.evaluations = options_.evaluations;
  request.rank = id;
  // The raw kernel's counters are asked for once, with what is scored first; asking again, for the answer,
  // is asking the same.
  request.counters = std::none_of(tree.nodes().begin(), tree.nodes().end(), [&](const Node& other) {
    return other.id != root_node && other.id < id && other.stage != Stage::not_written &&
           other.stage != Stage::refused;
  });
  LATHE_TRY(const auto answered, scorer_(request, spec, paths_of(node.candidate).certificate_file));
  if (!answered) {
    node.stage = Stage::awaited;
    return node;
  }
  const QueueAnswer& answer = *answered;
  node.seconds = answer.seconds;
  node.stage = Stage::not_run;
  node.diagnostics = answer.failure;
  double logarithm = 0;
  std::vector<Features> counters; // one a problem
  for (const QueueScore& score : answer.scores) {
    if (!score.failure.empty() || score.ratio <= 0) {
      node.diagnostics = score.workload + ": " + score.failure;
      return node;
    }
    logarithm += std::log(score.ratio);
    node.speedups.push_back(score.ratio);
    node.floor_share.push_back(score.copy_floor_us > 0 ? score.copy_floor_us / score.best_us : 0);
    counters.push_back(counter_features(score.raw_counters));
  }
  node.raw_counters = mean_of(counters);
  if (!answer.failure.empty() || answer.scores.empty())
    return node;
  for (const auto& [name, value] : answer.scores.front().knobs)
    node.configuration += (node.configuration.empty() ? "" : " ") + name + "=" + value;
  node.stage = Stage::measured;
  node.score = std::exp(-logarithm / static_cast<double>(answer.scores.size()));
  return node;
}

Result<Node> Workshop::attempt(const SearchTree& tree, NodeId parent, const Plan& plan) {
  Node node;
  node.author = author_ ? "model" : "rules";
  auto written = write(tree, parent, plan);
  if (!written.ok()) {
    node.stage = Stage::not_written;
    node.diagnostics = written.error().sentence();
    return node;
  }
  Candidate& candidate = *written;
  node.candidate = state_key(candidate);
  if (candidate.knobs.empty() || tree.find(node.candidate)) {
    node.stage = Stage::not_written;
    node.diagnostics =
        candidate.knobs.empty() ? "it exposes no knob" : "it is a candidate that was tried before";
    node.candidate.clear();
    return node;
  }
  std::vector<std::string> notes;
  LATHE_CHECK(keep_buildable_values(candidate, subject_.architecture, notes));
  const OutputPaths paths = paths_of(node.candidate);
  LATHE_CHECK(write_file(options_.folder / "candidates" / node.candidate / "candidate.json",
                         candidate_json(candidate).dump(1) + "\n"));
  candidates_[node.candidate] = candidate;
  options_.say(
      fmt::format("guard judges {}", plan.action.rule.empty() ? "what was written" : plan.action.label()));
  TuningSpec spec;
  const auto certificate = judge_candidate(candidate, paths, spec, tree.size());
  if (!certificate.ok() || !certificate->accepted()) {
    node.stage = Stage::refused;
    node.diagnostics = certificate.ok() ? refusal_of(*certificate) : certificate.error().sentence();
    return node;
  }
  options_.say("tuner scores it");
  return score(tree, std::move(node), spec, static_cast<NodeId>(tree.size()));
}

Result<Node> Workshop::outcome(const SearchTree& tree, NodeId awaited) {
  Node node = tree.node(awaited);
  LATHE_TRY(const TuningSpec spec, read_spec(paths_of(node.candidate).spec_file));
  return score(tree, std::move(node), spec, awaited);
}

Result<Certificate> judge_here(const TuningSpec& spec, const GuardOptions& guard) {
  return judge(spec, guard);
}

nlohmann::ordered_json candidate_json(const Candidate& candidate) {
  nlohmann::ordered_json json{{"Text", candidate.text},
                              {"Instance", candidate.instance},
                              {"Applied", candidate.applied},
                              {"RawPreconditions", candidate.raw_preconditions},
                              {"RawLaunchBounds", candidate.raw_launch_bounds},
                              {"Shared", candidate.launch.shared_bytes.text()}};
  for (int axis = 0; axis < 3; ++axis) {
    json["Grid"].push_back(candidate.launch.grid[static_cast<std::size_t>(axis)].text());
    json["Block"].push_back(candidate.launch.block[static_cast<std::size_t>(axis)].text());
  }
  json["Knobs"] = nlohmann::ordered_json::array();
  for (const Knob& knob : candidate.knobs) {
    nlohmann::ordered_json values = nlohmann::ordered_json::array();
    for (const Value& value : knob.values)
      if (const auto* number = std::get_if<std::int64_t>(&value))
        values.push_back(*number);
    json["Knobs"].push_back({{"Name", knob.name},
                             {"Kind", lathe::to_string(knob.kind)},
                             {"Type", knob.type},
                             {"Default", knob.default_value.text()},
                             {"Values", values},
                             {"Why", knob.why}});
  }
  json["Conditions"] = nlohmann::ordered_json::array();
  for (const Condition& condition : candidate.conditions)
    json["Conditions"].push_back({condition.expression.text(), condition.why});
  return json;
}

Result<Candidate> candidate_from(const nlohmann::ordered_json& json, const Candidate& raw) {
  const Error wrong{"a kept candidate", "its file was changed or is of another version",
                    "start again in another folder"};
  Candidate candidate = raw; // arguments, types and dimensions never change
  candidate.knobs.clear();
  candidate.conditions.clear();
  const auto is_list = [&](const char* name, std::size_t size) {
    return json.contains(name) && json[name].is_array() && (size == 0 || json[name].size() == size);
  };
  const auto is_text = [](const nlohmann::ordered_json& value) { return value.is_string(); };
  if (!json.is_object() || !is_list("Grid", 3) || !is_list("Block", 3) || !is_list("Knobs", 0) ||
      !is_list("Conditions", 0) || !is_list("Applied", 0) || !is_list("RawPreconditions", 0))
    return wrong;
  for (const char* name : {"Text", "Instance", "RawLaunchBounds", "Shared"})
    if (!json.contains(name) || !json[name].is_string())
      return wrong;
  for (const char* name : {"Grid", "Block", "Applied", "RawPreconditions"})
    if (!std::all_of(json[name].begin(), json[name].end(), is_text))
      return wrong;
  candidate.text = json["Text"];
  candidate.instance = json["Instance"];
  candidate.applied = json["Applied"].get<std::vector<std::string>>();
  candidate.raw_preconditions = json["RawPreconditions"].get<std::vector<std::string>>();
  candidate.raw_launch_bounds = json["RawLaunchBounds"];
  LATHE_TRY(candidate.launch.shared_bytes, Expression::parse(json["Shared"].get<std::string>()));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    LATHE_TRY(candidate.launch.grid[axis], Expression::parse(json["Grid"][axis].get<std::string>()));
    LATHE_TRY(candidate.launch.block[axis], Expression::parse(json["Block"][axis].get<std::string>()));
  }
  for (const auto& entry : json["Knobs"]) {
    Knob knob;
    for (const char* name : {"Name", "Kind", "Type", "Default", "Why"})
      if (!entry.is_object() || !entry.contains(name) || !entry[name].is_string())
        return wrong;
    const auto kind = parse_knob_kind(entry["Kind"].get<std::string>());
    if (!kind || !entry.contains("Values") || !entry["Values"].is_array())
      return wrong;
    knob.name = entry["Name"];
    knob.kind = *kind;
    knob.type = entry["Type"];
    knob.why = entry["Why"];
    LATHE_TRY(knob.default_value, Expression::parse(entry["Default"].get<std::string>()));
    for (const auto& value : entry["Values"]) {
      if (!value.is_number_integer())
        return wrong;
      knob.values.emplace_back(value.get<std::int64_t>());
    }
    candidate.knobs.push_back(std::move(knob));
  }
  for (const auto& entry : json["Conditions"]) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string())
      return wrong;
    LATHE_TRY(Expression expression, Expression::parse(entry[0].get<std::string>()));
    candidate.conditions.push_back({std::move(expression), entry[1]});
  }
  return candidate;
}

} // namespace lathe::refactor
