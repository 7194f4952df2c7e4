#include "refactor/agents/transition_graph.h"

#include "refactor/agents/json_fields.h"
#include "tuner/base/files.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <random>

namespace lathe::refactor::agents {
namespace {

using Json = nlohmann::ordered_json;
constexpr int schema = 1;
constexpr const char* format_name = "lathe transition memory";

double feature(const Features& state, const char* name) {
  for (const auto& [key, value] : state)
    if (key == name)
      return value;
  return 0;
}

// Static priors, in the unit of gains: what the hardware makes likely before anything was tried.
double prior(Direction direction, const Features& state) {
  const double blocks = feature(state, "log2_blocks"), bytes = feature(state, "log2_bytes_per_thread");
  const double share = feature(state, "floor_share"); // of the copy bandwidth; 0: unknown
  // Counters of the raw kernel; 0: not known.
  const double wait = feature(state, "memory_wait"), dram = feature(state, "dram_share");
  const double active = feature(state, "active_share"), issue = feature(state, "issue_share");
  switch (direction) {
  case Direction::memory_access: // warps that wait for loads while the DRAM could give more
    return 0.05 + (share > 0 ? 0.1 * (1 - std::min(share, 1.0)) : 0) + 0.05 * wait * (1 - dram);
  case Direction::parallel_mapping: // fewer blocks than multiprocessors, or some without
    return (blocks < 8 ? 0.15 : 0.08) + (active > 0 ? 0.05 * (1 - active) : 0);
  case Direction::boundary_handling:
    return blocks < 8 && bytes > 4 ? 0.15 : 0.02;
  case Direction::data_reuse:
    return feature(state, "loops") > 1 ? 0.06 : 0.02;
  case Direction::instruction_throughput:
    return (feature(state, "loops") > 0 ? 0.05 : 0.02) + 0.05 * issue;
  }
  return 0;
}

Experience total(const Record& record, const std::string& except) {
  Experience sum;
  for (const auto& [source, part] : record) {
    if (source == except)
      continue;
    sum.tries += part.tries;
    sum.failures += part.failures;
    sum.gain += part.gain;
  }
  return sum;
}

// A mean pulled towards 0, less the risk of failing.
double worth(const Experience& experience, const ScoreOptions& options) {
  const double weight = experience.tries + options.shrinkage;
  return weight > 0 ? (experience.gain - options.risk * experience.failures) / weight : 0;
}

void add(Record& record, const std::string& source, double weight, bool failed, double gain) {
  Experience& experience = record[source];
  experience.tries += weight;
  experience.failures += failed ? weight : 0;
  experience.gain += failed ? 0 : weight * gain;
}

void take_over(Record& mine, const Record& theirs) {
  for (const auto& [source, part] : theirs)
    if (const auto known = mine.find(source); known == mine.end() || known->second.tries < part.tries)
      mine[source] = part;
}

Json record_json(const Record& record) {
  Json json = Json::object();
  for (const auto& [source, part] : record)
    json[source] = {part.tries, part.failures, part.gain};
  return json;
}

Result<Record> record_from(const Json& json) {
  Record record;
  const auto found = json.find("Experience");
  if (!json.is_object() || found == json.end() || !found->is_object())
    return Error{"field Experience", "it is missing or no object", ""};
  for (const auto& [source, part] : found->items()) {
    LATHE_TRY(const std::vector<double> numbers, numbers_field(Json{{"Experience", part}}, "Experience"));
    if (numbers.size() != 3 || numbers[0] < 0 || numbers[1] < 0 || numbers[1] > numbers[0])
      return Error{"field Experience", "tries, failures and gain of " + source + " do not go together", ""};
    record[source] = {numbers[0], numbers[1], numbers[2]};
  }
  return record;
}

} // namespace

TransitionGraph::TransitionGraph() {
  for (std::size_t i = 0; i < direction_count; ++i)
    boost::add_vertex(Vertex{true, static_cast<Direction>(i), {}, {}}, graph_);
}

std::optional<TransitionGraph::Graph::vertex_descriptor>
TransitionGraph::find(Direction direction, const std::string& strategy) const {
  for (const auto edge : boost::make_iterator_range(
           boost::out_edges(static_cast<Graph::vertex_descriptor>(direction), graph_))) {
    const auto vertex = boost::target(edge, graph_);
    if (!graph_[vertex].is_direction && graph_[vertex].strategy == strategy)
      return vertex;
  }
  return std::nullopt;
}

const Experience TransitionGraph::transition(Direction from, Direction to, const std::string& except) const {
  const auto [edge, exists] = boost::edge(static_cast<Graph::vertex_descriptor>(from),
                                          static_cast<Graph::vertex_descriptor>(to), graph_);
  return exists ? total(graph_[edge].record, except) : Experience{};
}

double TransitionGraph::score(Direction direction, const Features& state,
                              const std::vector<Direction>& prefix, const ScoreOptions& options) const {
  const auto vertex = static_cast<Graph::vertex_descriptor>(direction);
  double sum = prior(direction, state) +
               options.node_weight * worth(total(graph_[vertex].record, options.except), options);
  const std::size_t count = std::min(prefix.size(), options.prefix_weights.size());
  double all = 0;
  for (const double weight : options.prefix_weights)
    all += weight;
  for (std::size_t i = 0; i < count; ++i) {
    const double weight = options.position_aware ? options.prefix_weights[i]
                                                 : all / static_cast<double>(options.prefix_weights.size());
    sum += weight * worth(transition(prefix[i], direction, options.except), options);
  }
  return sum;
}

double TransitionGraph::strategy_score(Direction direction, const std::string& strategy,
                                       const ScoreOptions& options) const {
  const auto vertex = find(direction, strategy);
  return vertex ? worth(total(graph_[*vertex].record, options.except), options) : 0;
}

std::vector<std::string> TransitionGraph::strategies(Direction direction, const ScoreOptions& options) const {
  std::vector<std::string> names;
  for (const auto edge :
       boost::make_iterator_range(boost::out_edges(static_cast<Graph::vertex_descriptor>(direction), graph_)))
    if (const Vertex& vertex = graph_[boost::target(edge, graph_)]; !vertex.is_direction)
      names.push_back(vertex.strategy);
  std::sort(names.begin(), names.end());
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return strategy_score(direction, a, options) > strategy_score(direction, b, options);
  });
  return names;
}

void TransitionGraph::update(const std::string& source, const std::vector<Direction>& prefix,
                             Direction direction, const std::string& strategy, bool failed, double gain) {
  const auto top = static_cast<Graph::vertex_descriptor>(direction);
  add(graph_[top].record, source, 1, failed, gain);
  auto local = find(direction, strategy);
  if (!local) {
    local = boost::add_vertex(Vertex{false, direction, strategy, {}}, graph_);
    boost::add_edge(top, *local, graph_);
  }
  add(graph_[*local].record, source, 1, failed, gain);
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    const auto from = static_cast<Graph::vertex_descriptor>(prefix[i]);
    auto [edge, exists] = boost::edge(from, top, graph_);
    if (!exists)
      edge = boost::add_edge(from, top, graph_).first;
    add(graph_[edge].record, source, 1.0 / static_cast<double>(i + 1), failed, gain);
  }
}

void TransitionGraph::merge(const TransitionGraph& other) {
  const Graph& theirs = other.graph_;
  for (const auto vertex : boost::make_iterator_range(boost::vertices(theirs))) {
    const Vertex& from = theirs[vertex];
    if (from.is_direction) {
      take_over(graph_[vertex].record, from.record);
      continue;
    }
    auto mine = find(from.direction, from.strategy);
    if (!mine) {
      mine = boost::add_vertex(Vertex{false, from.direction, from.strategy, {}}, graph_);
      boost::add_edge(static_cast<Graph::vertex_descriptor>(from.direction), *mine, graph_);
    }
    take_over(graph_[*mine].record, from.record);
  }
  for (const auto each : boost::make_iterator_range(boost::edges(theirs))) {
    const auto from = boost::source(each, theirs), to = boost::target(each, theirs);
    if (!theirs[to].is_direction)
      continue;
    auto [edge, exists] = boost::edge(from, to, graph_);
    if (!exists)
      edge = boost::add_edge(from, to, graph_).first;
    take_over(graph_[edge].record, theirs[each].record);
  }
}

TransitionGraph TransitionGraph::randomised(std::uint64_t seed) const {
  TransitionGraph result = *this;
  std::mt19937_64 random(seed);
  std::vector<Record*> directions, strategies, transitions;
  for (const auto vertex : boost::make_iterator_range(boost::vertices(result.graph_)))
    (result.graph_[vertex].is_direction ? directions : strategies).push_back(&result.graph_[vertex].record);
  for (const auto edge : boost::make_iterator_range(boost::edges(result.graph_)))
    if (result.graph_[boost::target(edge, result.graph_)].is_direction)
      transitions.push_back(&result.graph_[edge].record);
  for (auto* records : {&directions, &strategies, &transitions})
    for (std::size_t i = records->size(); i > 1; --i)
      std::swap(*(*records)[i - 1], *(*records)[random() % i]);
  return result;
}

double TransitionGraph::tries() const {
  double sum = 0;
  for (std::size_t i = 0; i < direction_count; ++i)
    sum += total(graph_[i].record, "").tries;
  return sum;
}

Json TransitionGraph::to_json() const {
  Json json{{"Format", format_name}, {"Schema", schema}};
  // By name, so that the order in which things were learnt does not show.
  std::map<std::string, Json> strategies, transitions;
  for (const auto vertex : boost::make_iterator_range(boost::vertices(graph_))) {
    const Vertex& each = graph_[vertex];
    if (each.is_direction)
      json["Directions"].push_back(
          {{"Name", to_string(each.direction)}, {"Experience", record_json(each.record)}});
    else
      strategies[std::string(to_string(each.direction)) + "/" + each.strategy] = {
          {"Direction", to_string(each.direction)},
          {"Strategy", each.strategy},
          {"Experience", record_json(each.record)}};
  }
  for (const auto edge : boost::make_iterator_range(boost::edges(graph_))) {
    const Vertex &from = graph_[boost::source(edge, graph_)], &to = graph_[boost::target(edge, graph_)];
    if (to.is_direction)
      transitions[std::string(to_string(from.direction)) + "/" + std::string(to_string(to.direction))] = {
          {"From", to_string(from.direction)},
          {"To", to_string(to.direction)},
          {"Experience", record_json(graph_[edge].record)}};
  }
  json["Strategies"] = Json::array();
  for (auto& [name, entry] : strategies)
    json["Strategies"].push_back(std::move(entry));
  json["Transitions"] = Json::array();
  for (auto& [name, entry] : transitions)
    json["Transitions"].push_back(std::move(entry));
  return json;
}

Result<TransitionGraph> TransitionGraph::from_json(const Json& json, const std::string& name) {
  const auto wrong = [&](const std::string& why) {
    return Error{"memory " + name, why, "start a new one, or name a file that lathe optimize wrote"};
  };
  if (!json.is_object() || json.value("Format", Json()) != format_name)
    return wrong("it is no memory of lathe optimize");
  const auto version = integer_field<int>(json, "Schema");
  if (!version.ok() || *version != schema)
    return wrong("it is of another version");
  const auto direction_at = [&](const Json& entry, const char* field) -> Result<Direction> {
    LATHE_TRY(const std::string text, text_field(entry, field));
    const auto direction = parse_direction(text);
    if (!direction)
      return Error{std::string("field ") + field, "there is no direction " + text, ""};
    return *direction;
  };
  const auto read = [&]() -> Result<TransitionGraph> {
    TransitionGraph memory;
    for (const char* list : {"Directions", "Strategies", "Transitions"})
      if (!json.contains(list) || !json[list].is_array())
        return Error{std::string("field ") + list, "it is missing or no list", ""};
    for (const Json& entry : json["Directions"]) {
      LATHE_TRY(const Direction direction, direction_at(entry, "Name"));
      LATHE_TRY(memory.graph_[static_cast<Graph::vertex_descriptor>(direction)].record, record_from(entry));
    }
    for (const Json& entry : json["Strategies"]) {
      LATHE_TRY(const Direction direction, direction_at(entry, "Direction"));
      LATHE_TRY(const std::string strategy, text_field(entry, "Strategy"));
      LATHE_TRY(Record record, record_from(entry));
      if (memory.find(direction, strategy))
        return Error{"field Strategies", strategy + " is there twice", ""};
      const auto vertex =
          boost::add_vertex(Vertex{false, direction, strategy, std::move(record)}, memory.graph_);
      boost::add_edge(static_cast<Graph::vertex_descriptor>(direction), vertex, memory.graph_);
    }
    for (const Json& entry : json["Transitions"]) {
      LATHE_TRY(const Direction from, direction_at(entry, "From"));
      LATHE_TRY(const Direction to, direction_at(entry, "To"));
      LATHE_TRY(Record record, record_from(entry));
      const auto edge = boost::add_edge(static_cast<Graph::vertex_descriptor>(from),
                                        static_cast<Graph::vertex_descriptor>(to), memory.graph_);
      memory.graph_[edge.first].record = std::move(record);
    }
    return memory;
  };
  auto memory = read();
  return memory.ok() ? std::move(memory) : Result<TransitionGraph>(wrong(memory.error().sentence()));
}

std::string TransitionGraph::to_dot() const {
  const ScoreOptions options;
  std::string text = "digraph memory {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n";
  const auto label = [&](const std::string& name, const Record& record) {
    const Experience sum = total(record, "");
    return fmt::format("{}\\n{:.0f} tries, {:.0f} failed, worth {:+.3f}", name, sum.tries, sum.failures,
                       worth(sum, options));
  };
  for (const auto vertex : boost::make_iterator_range(boost::vertices(graph_))) {
    const Vertex& each = graph_[vertex];
    text += fmt::format(
        "  n{} [label=\"{}\"{}];\n", vertex,
        label(each.is_direction ? std::string(to_string(each.direction)) : each.strategy, each.record),
        each.is_direction ? ", style=bold" : "");
  }
  for (const auto edge : boost::make_iterator_range(boost::edges(graph_))) {
    const auto from = boost::source(edge, graph_), to = boost::target(edge, graph_);
    const Experience sum = total(graph_[edge].record, "");
    text += graph_[to].is_direction ? fmt::format("  n{} -> n{} [label=\"{:+.3f} ({:.1f})\"];\n", from, to,
                                                  worth(sum, options), sum.tries)
                                    : fmt::format("  n{} -> n{} [style=dotted, arrowhead=none];\n", from, to);
  }
  return text + "}\n";
}

Result<TransitionGraph> read_memory(const std::filesystem::path& file) {
  LATHE_TRY(const std::string text, read_file(file));
  return TransitionGraph::from_json(Json::parse(text, nullptr, false), file.string());
}

Status write_memory(const TransitionGraph& memory, const std::filesystem::path& file) {
  return write_file(file, memory.to_json().dump(1) + "\n");
}

void TransferGuard::observe(double foretold, double gained) {
  const double plain = count_ > 0 ? sum_ / count_ : 0;
  memory_loss_ += (foretold - gained) * (foretold - gained);
  plain_loss_ += (plain - gained) * (plain - gained);
  sum_ += gained;
  ++count_;
}

double TransferGuard::trust() const {
  // An error of 20 % in a gain counts as one unit of evidence.
  constexpr double unit = 0.2 * 0.2, least = 0.05;
  const double odds = prior_ / (1 - prior_) * std::exp((plain_loss_ - memory_loss_) / (2 * unit));
  const double trust = odds / (1 + odds);
  return std::isnan(trust) || trust > 1 - 1e-12 ? 1 : trust < least ? 0 : trust;
}

std::vector<double> TransferGuard::state() const {
  if (count_ == 0)
    return {};
  return {memory_loss_, plain_loss_, sum_, static_cast<double>(count_)};
}

void TransferGuard::restore(const std::vector<double>& state) {
  if (state.size() != 4 || state[0] < 0 || state[1] < 0 || !(state[3] >= 1 && state[3] <= 1e6))
    return;
  memory_loss_ = state[0];
  plain_loss_ = state[1];
  sum_ = state[2];
  count_ = static_cast<int>(state[3]);
}

} // namespace lathe::refactor::agents
