#include "tuner/space/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lathe::space {
namespace {

constexpr int estimate_descents = 50000;
constexpr int batch = 64;
constexpr int batches = 16;
constexpr std::uint64_t repair_steps = 2'000'000;

} // namespace

Sampler::Sampler(std::shared_ptr<const Problem> problem, Program program)
    : problem_(std::move(problem)), program_(std::move(program)) {}

std::uint16_t Sampler::value_at(std::size_t level, std::uint32_t lane) const {
  return problem_->model.domains[static_cast<std::size_t>(program_.levels()[level].parameter)].indices[lane];
}

Sampler::Descent Sampler::descend(Machine& machine, Random& random) const {
  Descent descent;
  descent.weight = 1;
  for (std::size_t level = 0; level < program_.levels().size(); ++level) {
    const std::vector<std::uint32_t>& lanes = machine.run(level);
    if (lanes.empty()) {
      descent.weight = 0;
      return descent;
    }
    const std::uint32_t lane = lanes[static_cast<std::size_t>(random_below(lanes.size(), random))];
    descent.weight *= static_cast<double>(lanes.size());
    descent.tuple.push_back(value_at(level, lane));
    machine.choose(level, lane);
  }
  return descent;
}

bool Sampler::estimate(Random& random, std::uint64_t step_limit) {
  Machine machine(program_);
  double sum = 0;
  double squares = 0;
  int drawn = 0;
  while (drawn < estimate_descents && machine.steps() < step_limit) {
    const Descent descent = descend(machine, random);
    ++drawn;
    sum += descent.weight;
    squares += descent.weight * descent.weight;
    if (descent.weight > 0)
      known_ = descent.tuple;
  }
  count_ = sum / drawn;
  standard_error_ = std::sqrt(std::max(0.0, squares / drawn - count_ * count_) / drawn);
  if (!known_.empty())
    return true;
  const std::optional<Tuple> found = search(machine, random, nullptr, step_limit);
  if (!found)
    return false;
  known_ = *found;
  // At least this one; the descents only bound the number from above, loosely.
  double product = 1;
  for (const Program::Level& level : program_.levels())
    product *=
        static_cast<double>(problem_->model.domains[static_cast<std::size_t>(level.parameter)].bits.size());
  count_ = 1;
  standard_error_ = product / drawn;
  return true;
}

bool Sampler::contains(const Tuple& tuple) const {
  Machine machine(program_);
  for (std::size_t level = 0; level < tuple.size(); ++level) {
    const std::vector<std::uint32_t>& lanes = machine.run(level);
    const auto lane = std::find_if(lanes.begin(), lanes.end(), [&](std::uint32_t candidate) {
      return value_at(level, candidate) == tuple[level];
    });
    if (lane == lanes.end())
      return false;
    machine.choose(level, *lane);
  }
  return true;
}

Tuple Sampler::sample(Random& random) const {
  Machine machine(program_);
  for (int attempt = 0; attempt < batches; ++attempt) {
    Descent kept;
    double total = 0;
    for (int i = 0; i < batch; ++i) {
      Descent descent = descend(machine, random);
      total += descent.weight;
      // Reservoir: the i-th replaces the kept one with the share of its weight.
      const double draw = static_cast<double>(random() >> 11) * 0x1p-53;
      if (descent.weight > 0 && draw * total < descent.weight)
        kept = std::move(descent);
    }
    if (total > 0)
      return kept.tuple;
  }
  const std::optional<Tuple> found = search(machine, random, nullptr, machine.steps() + repair_steps);
  return found ? *found : known_;
}

std::optional<Tuple> Sampler::search(Machine& machine, Random& random, const Tuple* closest,
                                     std::uint64_t step_limit) const {
  const std::size_t levels = program_.levels().size();
  std::vector<std::vector<std::uint32_t>> open(levels);
  Tuple tuple(levels);
  std::size_t level = 0;
  bool entered = true;
  while (machine.steps() < step_limit) {
    if (entered) {
      open[level] = machine.run(level);
      std::shuffle(open[level].begin(), open[level].end(), random);
      if (closest != nullptr)
        std::stable_sort(open[level].begin(), open[level].end(), [&](std::uint32_t a, std::uint32_t b) {
          const int target = (*closest)[level];
          return std::abs(value_at(level, a) - target) > std::abs(value_at(level, b) - target);
        });
    }
    if (open[level].empty()) {
      if (level == 0)
        return std::nullopt;
      --level;
      // The level's terms are still in the machine: only deeper levels were overwritten.
      entered = false;
      continue;
    }
    const std::uint32_t lane = open[level].back();
    open[level].pop_back();
    tuple[level] = value_at(level, lane);
    if (level + 1 == levels)
      return tuple;
    machine.choose(level, lane);
    ++level;
    entered = true;
  }
  return std::nullopt;
}

std::vector<Near> Sampler::near(const Tuple& tuple, int distance, Step step) const {
  std::vector<Near> found;
  Machine machine(program_);
  Tuple current(tuple.size());
  const auto walk = [&](const auto& self, std::size_t level, int changes) -> void {
    if (level == tuple.size()) {
      found.push_back({current, changes});
      return;
    }
    const std::vector<std::uint32_t> lanes = machine.run(level); // a copy: the recursion comes back
    for (const std::uint32_t lane : lanes) {
      const int offset = int{value_at(level, lane)} - int{tuple[level]};
      const int after = changes + (offset != 0 ? 1 : 0);
      if (after > distance || (step == Step::adjacent && std::abs(offset) > 1))
        continue;
      current[level] = value_at(level, lane);
      machine.choose(level, lane);
      self(self, level + 1, after);
    }
  };
  walk(walk, 0, 0);
  return found;
}

Tuple Sampler::nearest(const Tuple& tuple, Random& random) const {
  for (int distance = 0; distance <= 2; ++distance)
    if (const std::vector<Near> found = near(tuple, distance, Step::any); !found.empty())
      return found[static_cast<std::size_t>(random_below(found.size(), random))].tuple;
  Machine machine(program_);
  const std::optional<Tuple> found = search(machine, random, &tuple, repair_steps);
  return found ? *found : sample(random);
}

} // namespace lathe::space
