#include "refactor/app/exploration.h"

#include "refactor/app/buildable_values.h"
#include "refactor/guard/guard.h"
#include "refactor/knobs/kernel_facts.h"
#include "tuner/base/files.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

namespace lathe::refactor {
namespace {

using namespace agents;

// The values that each knob keeps, found once on the template with every knob: a value that does not compile
// there does not compile in a template with fewer knobs either.
class BuildableValues {
public:
  Status find(const Candidate& base, const ParseOptions& parse, const std::string& architecture) {
    LATHE_TRY(RewriteResult all, rewrite(base, {}, parse));
    std::vector<std::string> notes;
    LATHE_CHECK(keep_buildable_values(all.candidate, architecture, notes));
    for (const Knob& knob : all.candidate.knobs)
      values_[knob.name] = knob.values;
    return Done{};
  }
  void apply(Candidate& candidate) const {
    for (Knob& knob : candidate.knobs)
      if (const auto found = values_.find(knob.name); found != values_.end())
        std::erase_if(knob.values, [&](const Value& value) {
          return std::find(found->second.begin(), found->second.end(), value) == found->second.end();
        });
  }

private:
  std::map<std::string, std::vector<Value>> values_;
};

class Explorer {
public:
  Explorer(const Subject& subject, const ExplorationOptions& options, const EvaluationQueue& queue,
           std::filesystem::path work)
      : subject_(subject), options_(options), queue_(queue), work_(std::move(work)) {
    parse_.architecture = subject.architecture;
  }

  Result<OfflineTree> run();

private:
  Status expand(std::size_t index);
  // The child of an edge, made and asked for where it is not recorded yet; nothing where it cannot be.
  Result<std::optional<std::size_t>> follow(std::size_t index, std::size_t edge);
  Status walk();
  void link();
  Status walk_all();
  Status enqueue(std::size_t index);
  bool has_room() const { return tree_.states.size() < static_cast<std::size_t>(options_.states) + 1; }
  std::size_t draw(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  const Subject& subject_;
  const ExplorationOptions& options_;
  const EvaluationQueue& queue_;
  std::filesystem::path work_;
  ParseOptions parse_;
  BuildableValues buildable_;
  OfflineTree tree_;
  std::vector<Candidate> candidates_; // as tree_.states
  std::map<std::string, int> by_key_;
  bool asked_for_counters_ = false;
  std::map<std::size_t, std::vector<std::string>> edge_keys_; // state_key() behind each edge of a state
  std::mt19937_64 random_{options_.seed};
};

Status Explorer::enqueue(std::size_t index) {
  RecordedState& state = tree_.states[index];
  Candidate candidate = candidates_[index];
  buildable_.apply(candidate);
  const OutputPaths paths = OutputPaths::under(work_ / state.key, options_.name);
  std::vector<std::string> notes;
  LATHE_TRY(const TuningSpec spec, write_template(subject_, candidate, options_.name, paths, notes));
  Certificate certificate;
  certificate.kernel = options_.name;
  certificate.checks.push_back({"all", Verdict::skipped, "a candidate of an exploration: not judged", {}, 0});
  LATHE_CHECK(write_file(paths.certificate_file, to_json(certificate).dump(2) + "\n"));
  QueueRequest request;
  request.kernel = options_.name;
  request.rank = state.depth * 10000 + static_cast<int>(index);
  request.problems = tree_.problems;
  request.evaluations = options_.evaluations;
  request.counters = !std::exchange(asked_for_counters_, true); // of the raw kernel: once
  LATHE_TRY(request, queue_.put(request, spec, paths.certificate_file));
  state.request = request.id;
  return Done{};
}

Status Explorer::expand(std::size_t index) {
  if (tree_.states[index].is_expanded)
    return Done{};
  LATHE_TRY(const ActionSet actions, enumerate_actions(candidates_[index], parse_));
  LATHE_TRY(const auto keys, keys_after(candidates_[index], actions.legal, parse_));
  RecordedState& state = tree_.states[index];
  for (std::size_t i = 0; i < actions.legal.size(); ++i) {
    RecordedEdge edge{actions.legal[i], RecordedEdge::unknown, {}};
    if (const auto known = by_key_.find(keys[i]); known != by_key_.end())
      edge.child = known->second;
    state.edges.push_back(std::move(edge));
  }
  edge_keys_[index] = keys;
  state.refused = actions.refused;
  state.is_expanded = true;
  return Done{};
}

Result<std::optional<std::size_t>> Explorer::follow(std::size_t index, std::size_t edge_index) {
  const RecordedEdge edge = tree_.states[index].edges[edge_index];
  if (edge.child >= 0)
    return std::optional(static_cast<std::size_t>(edge.child));
  if (edge.child == RecordedEdge::failed || !has_room())
    return std::optional<std::size_t>();
  auto child = apply_action(candidates_[index], edge.action, parse_);
  if (!child.ok()) {
    tree_.states[index].edges[edge_index].child = RecordedEdge::failed;
    tree_.states[index].edges[edge_index].failure = child.error().sentence();
    return std::optional<std::size_t>();
  }
  const std::size_t made = tree_.states.size();
  RecordedState state;
  state.key = state_key(*child);
  state.depth = tree_.states[index].depth + 1;
  for (const Knob& knob : child->knobs)
    state.knobs.push_back(knob.name);
  by_key_[state.key] = static_cast<int>(made);
  tree_.states.push_back(std::move(state));
  candidates_.push_back(std::move(*child));
  tree_.states[index].edges[edge_index].child = static_cast<int>(made);
  LATHE_CHECK(enqueue(made));
  return std::optional(made);
}

// Edges to states that were recorded after the edge was, and fewest actions as depth.
void Explorer::link() {
  for (const auto& [index, keys] : edge_keys_)
    for (std::size_t i = 0; i < keys.size(); ++i) {
      RecordedEdge& edge = tree_.states[index].edges[i];
      const auto known = by_key_.find(keys[i]);
      if (edge.child == RecordedEdge::unknown && known != by_key_.end())
        edge.child = known->second;
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (const RecordedState& state : tree_.states)
      for (const RecordedEdge& edge : state.edges)
        if (edge.child >= 0 && tree_.states[static_cast<std::size_t>(edge.child)].depth > state.depth + 1) {
          tree_.states[static_cast<std::size_t>(edge.child)].depth = state.depth + 1;
          changed = true;
        }
  }
}

// Every sequence of whole rules, each rule once, breadth first.
Status Explorer::walk_all() {
  for (std::size_t at = 0; at < tree_.states.size() && has_room(); ++at) {
    if (tree_.states[at].depth >= options_.depth)
      continue;
    LATHE_CHECK(expand(at));
    for (std::size_t edge = 0; edge < tree_.states[at].edges.size(); ++edge) {
      const Action& action = tree_.states[at].edges[edge].action;
      const std::vector<std::string>& applied = candidates_[at].applied;
      if (action.whole && std::find(applied.begin(), applied.end(), action.rule) == applied.end())
        LATHE_CHECK(follow(at, edge));
    }
  }
  return Done{};
}

// One random sequence of actions from the raw kernel.
Status Explorer::walk() {
  std::size_t at = 0;
  while (tree_.states[at].depth < options_.depth) {
    LATHE_CHECK(expand(at));
    if (tree_.states[at].edges.empty())
      break;
    LATHE_TRY(const auto next, follow(at, draw(tree_.states[at].edges.size())));
    if (!next)
      break;
    at = *next;
  }
  return Done{};
}

Result<OfflineTree> Explorer::run() {
  tree_.kernel = options_.name;
  tree_.source = subject_.provenance.source_file;
  LATHE_TRY(RewriteResult prepared, rewrite(subject_.raw, preparing_rules(), parse_));
  LATHE_TRY(tree_.facts, kernel_features(prepared.candidate, subject_.architecture));
  LATHE_CHECK(buildable_.find(prepared.candidate, parse_, subject_.architecture));
  const OutputPaths paths = OutputPaths::under(work_ / "raw", options_.name);
  std::vector<std::string> notes;
  LATHE_TRY(const TuningSpec spec, write_template(subject_, prepared.candidate, options_.name, paths, notes));
  for (const Problem& problem : spread_problems(spec, options_.problems, options_.most_bytes)) {
    tree_.problems.push_back(problem_text(problem));
    LATHE_TRY(Features facts, problem_facts(spec, problem));
    tree_.problem_facts.push_back(std::move(facts));
  }
  RecordedState root;
  root.key = state_key(prepared.candidate);
  by_key_[root.key] = 0;
  tree_.states.push_back(std::move(root));
  candidates_.push_back(std::move(prepared.candidate));
  LATHE_CHECK(expand(0));
  for (std::size_t edge = 0; !options_.whole_rules && edge < tree_.states[0].edges.size(); ++edge)
    LATHE_CHECK(follow(0, edge));
  options_.say(fmt::format("{}: {} single actions", options_.name, tree_.states.size() - 1));
  // A kernel with few actions has fewer states than wanted: walks that find nothing new end the search.
  if (options_.whole_rules)
    LATHE_CHECK(walk_all());
  for (int idle = 0; !options_.whole_rules && has_room() && idle < 40;) {
    const std::size_t before = tree_.states.size();
    LATHE_CHECK(walk());
    idle = tree_.states.size() == before ? idle + 1 : 0;
  }
  options_.say(fmt::format("{}: {} templates", options_.name, tree_.states.size() - 1));
  for (std::size_t at = 0; at < tree_.states.size(); ++at)
    LATHE_CHECK(expand(at));
  link();
  return std::move(tree_);
}

} // namespace

std::vector<Problem> spread_problems(const TuningSpec& spec, int count, double most_bytes) {
  std::vector<std::pair<double, Problem>> tuned;
  for (const Problem& problem : spec.problems)
    if (problem.role == ProblemRole::tune)
      if (const auto facts = problem_facts(spec, problem); facts.ok())
        tuned.emplace_back(std::exp2(facts->front().second), problem);
  std::stable_sort(tuned.begin(), tuned.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  while (tuned.size() > 1 && tuned.back().first > most_bytes)
    tuned.pop_back();
  const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(count, 1)), tuned.size());
  std::vector<Problem> chosen;
  for (std::size_t i = 0; i < wanted; ++i)
    chosen.push_back(tuned[wanted == 1 ? tuned.size() - 1 : i * (tuned.size() - 1) / (wanted - 1)].second);
  return chosen;
}

std::string problem_text(const Problem& problem) {
  std::string text;
  for (const auto& [name, value] : problem.dimensions)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

Result<Features> problem_facts(const TuningSpec& spec, const Problem& problem) {
  std::map<std::string, std::string> types;
  for (const TypeParameter& type : spec.types)
    types[type.name] = type.dtypes.front();
  LATHE_TRY(const Workload workload, bind_workload(spec, problem, types, {}));
  TuningSpec raw = spec;
  raw.knobs.clear();
  Workload plain = workload;
  plain.spec = &raw;
  LATHE_TRY(const Launch launch, bind_launch(spec.reference.launch, plain, {}));
  const double blocks = static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  const double threads = static_cast<double>(launch.block[0]) * launch.block[1] * launch.block[2];
  const double bytes = std::max(workload.bytes, 1.0);
  return Features{{"log2_bytes", std::log2(bytes)},
                  {"log2_blocks", std::log2(blocks)},
                  {"log2_threads", std::log2(threads)},
                  {"log2_bytes_per_thread", std::log2(bytes / (blocks * threads))},
                  {"log2_operations_per_byte", std::log2(1 + workload.operations / bytes)}};
}

Result<Features> kernel_features(const Candidate& candidate, const std::string& architecture) {
  const std::filesystem::path file = "/lathe/kernel.cu";
  ParseOptions options;
  options.architecture = architecture;
  options.overlay[file] = candidate.text;
  LATHE_TRY(auto source, ParsedSource::parse(file, options));
  LATHE_TRY(const KernelInfo kernel, find_kernel(*source, candidate.kernel));
  return kernel_facts(*source, kernel).features();
}

Result<OfflineTree> explore(const Subject& subject, const ExplorationOptions& options,
                            const EvaluationQueue& queue, const std::filesystem::path& work) {
  return Explorer(subject, options, queue, work).run();
}

} // namespace lathe::refactor
