#include "refactor/app/runnable_problems.h"

#include "refactor/app/traced_kernel.h"
#include "refactor/frontend/standard.h"
#include "refactor/guard/sparse_run.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <optional>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

using Clock = std::chrono::steady_clock;

class Probe {
public:
  Probe(const TracedKernel& traced, HostKernel kernel) : traced_(traced), kernel_(std::move(kernel)) {}

  // Why the raw kernel cannot run there; empty: it can, or it cannot be told.
  std::string obstacle(const Dimensions& dimensions) const {
    const auto workload = traced_.workload(dimensions);
    const auto launch = traced_.launch(dimensions);
    if (!workload.ok() || !launch.ok())
      return "";
    const std::uint64_t blocks = std::uint64_t{launch->grid[0]} * launch->grid[1] * launch->grid[2];
    if (blocks == 0)
      return "its grid is empty";
    if (launch->grid[1] > MOST_BLOCKS || launch->grid[2] > MOST_BLOCKS)
      return "its grid has more blocks than a launch may have";
    std::set<std::uint64_t> chosen{0, blocks - 1, blocks / 2};
    const SparseTrial trial{&kernel_, &*launch, &*workload, {chosen.begin(), chosen.end()},
                            1,        true,     RUN_LIMIT_S};
    const SparseResult result = run_sparsely({&trial, 1}).front();
    const bool is_wrong =
        !result.clean && !result.out_of_time &&
        (result.problem.starts_with("runtime_error") || result.problem.starts_with("wrote outside")) &&
        result.problem.find(WAITS_FOR_A_BLOCK) == std::string::npos; // which is not among the few
    return is_wrong ? result.problem : "";
  }

private:
  static constexpr double RUN_LIMIT_S = 1;
  static constexpr unsigned MOST_BLOCKS = 65535; // along y and z (CUDA C++ Programming Guide, limits)
  const TracedKernel& traced_;
  HostKernel kernel_;
};

// Smaller sizes, the nearest first: all of them halved, then each alone.
std::vector<Dimensions> smaller(const Dimensions& sizes) {
  constexpr int MOST_HALVINGS = 12;
  std::vector<Dimensions> found;
  const auto add = [&](const Dimensions& other) {
    if (other != sizes && std::ranges::find(found, other) == found.end())
      found.push_back(other);
  };
  for (int halvings = 1; halvings <= MOST_HALVINGS; ++halvings) {
    Dimensions all = sizes;
    for (auto& [name, size] : all)
      size = std::max<std::int64_t>(1, size >> halvings);
    add(all);
    for (const auto& [name, size] : sizes) {
      Dimensions one = sizes;
      one[name] = std::max<std::int64_t>(1, size >> halvings);
      add(one);
    }
  }
  return found;
}

std::string text_of(const Dimensions& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, size);
  return text;
}

// Of a run's complaint that a buffer is too small: which, and how often twice as much would be enough.
struct Overrun {
  std::string buffer;
  int doublings = 0;
  bool is_near = false; // within an eighth behind the buffer's end
};
std::optional<Overrun> overrun_of(const std::string& obstacle) {
  static const std::regex complaint(R"((\d+) bytes at byte (\d+) of buffer '(\w+)', which has (\d+))");
  constexpr int FAR = 4; // what lies further is no neighbour of what the traced runs touched
  std::smatch match;
  if (!std::regex_search(obstacle, match, complaint) || match[4].length() > 15 || match[2].length() > 15)
    return std::nullopt;
  const std::int64_t end = std::stoll(match[2]) + std::stoll(match[1]), size = std::stoll(match[4]);
  int doublings = 0;
  while (size > 0 && doublings <= FAR && (size << doublings) < end)
    ++doublings;
  return size > 0 && doublings <= FAR ? std::optional(Overrun{match[3], doublings, end - size <= size / 8})
                                      : std::nullopt;
}

std::optional<HostKernel> checked_build(const Candidate& raw, const TracedKernel& traced) {
  HostCompileOptions options;
  options.sanitize = true;
  options.compile_options = {standard_option(raw.text)};
  auto kernel = HostKernel::compile(raw.text, traced.instance(), options);
  return kernel.ok() ? std::optional(std::move(*kernel)) : std::nullopt;
}

// Makes the buffer of an overrun that much larger. Nothing, and nothing changed, where its size was given.
std::optional<std::string> make_larger(Candidate& raw, const std::set<std::string>& given,
                                       const Overrun& overrun) {
  const auto argument = std::ranges::find(raw.arguments, overrun.buffer, &Argument::name);
  if (argument == raw.arguments.end() || given.contains(argument->name))
    return std::nullopt;
  auto count = Expression::parse(fmt::format("{} * ({})", 1 << overrun.doublings, argument->count.text()));
  if (!count.ok())
    return std::nullopt;
  argument->count = std::move(*count);
  return argument->name;
}

void tell_larger(const Candidate& raw, const std::set<std::string>& larger, std::vector<std::string>& notes) {
  for (const Argument& argument : raw.arguments)
    if (larger.contains(argument.name)) {
      std::erase_if(notes,
                    [&](const std::string& note) { return note.starts_with(argument.name + " has "); });
      notes.push_back(fmt::format("{0} has {1} elements (the raw kernel reaches further at the problem's "
                                  "sizes than at those of the traced runs; say otherwise with "
                                  "--argument {0}=COUNT)",
                                  argument.name, argument.count.text()));
    }
}

// Enlarges buffers that the raw kernel reaches beyond until it runs at one of the problems; false, and
// nothing changed, where that does not help.
bool enlarge(Candidate& raw, const std::set<std::string>& given, const Probe& probe,
             const std::vector<Problem>& problems, Clock::time_point deadline,
             std::vector<std::string>& notes) {
  constexpr int MOST_CHANGES = 12;
  const std::vector<Argument> before = raw.arguments;
  std::set<std::string> larger;
  for (int change = 0; change <= MOST_CHANGES && Clock::now() < deadline; ++change) {
    std::string obstacle;
    for (const Problem& problem : problems) {
      obstacle = probe.obstacle(problem.dimensions);
      if (obstacle.empty())
        break;
    }
    if (obstacle.empty()) { // one that runs is enough: others may be sizes that do not go together
      tell_larger(raw, larger, notes);
      return true;
    }
    const auto overrun = overrun_of(obstacle);
    const auto changed = overrun ? make_larger(raw, given, *overrun) : std::nullopt;
    if (!changed)
      break;
    larger.insert(*changed);
  }
  raw.arguments = before;
  return false;
}

// Where the raw kernel reaches a little behind a buffer at one of the problems and with more room runs there:
// the tiles of the traced runs were longer than their rows.
void enlarge_a_little(Candidate& raw, const std::set<std::string>& given, const Probe& probe,
                      const std::vector<Problem>& problems, Clock::time_point deadline,
                      std::vector<std::string>& notes) {
  std::set<std::string> larger;
  for (const Problem& problem : problems) {
    const std::vector<Argument> before = raw.arguments;
    std::set<std::string> changes;
    std::string obstacle = Clock::now() < deadline ? probe.obstacle(problem.dimensions) : "";
    while (!obstacle.empty()) {
      const auto overrun = overrun_of(obstacle);
      const auto changed = overrun && overrun->is_near ? make_larger(raw, given, *overrun) : std::nullopt;
      if (!changed || !changes.insert(*changed).second || Clock::now() > deadline)
        break;
      obstacle = probe.obstacle(problem.dimensions);
    }
    if (obstacle.empty())
      larger.merge(changes);
    else
      raw.arguments = before;
  }
  tell_larger(raw, larger, notes);
}

// Inputs of real numbers (others have no normal fill): each alone, then all of them.
std::vector<std::set<std::size_t>> real_inputs(const Candidate& raw, const std::set<std::string>& given) {
  std::vector<std::set<std::size_t>> choices;
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < raw.arguments.size(); ++i) {
    const Argument& argument = raw.arguments[i];
    if (argument.is_buffer && !argument.is_null && argument.direction == Direction::in &&
        argument.fill.kind == Fill::Kind::normal && !given.contains(argument.name)) {
      choices.push_back({i});
      all.insert(i);
    }
  }
  if (all.size() > 1)
    choices.push_back(all);
  return choices;
}

} // namespace

void make_room(Candidate& raw, const std::set<std::string>& given, const std::string& architecture,
               const std::vector<Problem>& problems, std::vector<std::string>& notes) {
  constexpr std::chrono::seconds LONGEST{8};
  const auto deadline = Clock::now() + LONGEST;
  const TracedKernel traced(raw, architecture);
  auto kernel = checked_build(raw, traced);
  if (!kernel || problems.empty())
    return;
  const Probe probe(traced, std::move(*kernel));
  const auto running = [&] {
    return std::ranges::count_if(problems, [&](const Problem& problem) {
      return Clock::now() < deadline && probe.obstacle(problem.dimensions).empty();
    });
  };
  const std::vector<Argument> before = raw.arguments;
  if (enlarge(raw, given, probe, problems, deadline, notes))
    enlarge_a_little(raw, given, probe, problems, deadline, notes);
  const auto choices = real_inputs(raw, given);
  if (choices.empty())
    return;
  const auto running_now = running();
  if (running_now == std::ssize(problems))
    return;
  // Real numbers may be places: which picture a box is of, and where it lies there. At one of the sizes the
  // kernel may run by chance.
  const std::vector<Argument> enlarged = raw.arguments;
  for (const std::set<std::size_t>& choice : choices) {
    raw.arguments = before;
    for (const std::size_t i : choice) {
      raw.arguments[i].fill.kind = Fill::Kind::uniform;
      raw.arguments[i].fill.low = 0;
      raw.arguments[i].fill.high = 1;
    }
    std::vector<std::string> told = notes;
    if (enlarge(raw, given, probe, problems, deadline, told) && running() > running_now) {
      for (const std::size_t i : choice)
        told.push_back(fmt::format("{} holds numbers from 0 to 1, as with others the raw kernel reaches out "
                                   "of its buffers (a workload file says otherwise)",
                                   raw.arguments[i].name));
      notes = std::move(told);
      return;
    }
  }
  raw.arguments = enlarged;
}

void tell_unrunnable(const Candidate& raw, const std::string& architecture,
                     const std::vector<Problem>& problems, std::vector<std::string>& notes) {
  constexpr std::chrono::seconds LONGEST{8};
  const auto deadline = Clock::now() + LONGEST;
  const TracedKernel traced(raw, architecture);
  auto kernel = checked_build(raw, traced);
  if (!kernel)
    return;
  const Probe probe(traced, std::move(*kernel));
  for (const Problem& problem : problems)
    if (const std::string obstacle = Clock::now() < deadline ? probe.obstacle(problem.dimensions) : "";
        !obstacle.empty())
      notes.push_back(fmt::format("the raw kernel does not run at {} ({}): before this is tuned, give other "
                                  "sizes, or what its buffers have with --argument NAME=COUNT",
                                  text_of(problem.dimensions), obstacle));
}

void keep_runnable(const Candidate& raw, const std::string& architecture, std::vector<Problem>& problems,
                   std::vector<std::string>& notes) {
  constexpr std::chrono::seconds LONGEST{8};
  const auto deadline = Clock::now() + LONGEST;
  const TracedKernel traced(raw, architecture);
  auto kernel = checked_build(raw, traced);
  if (!kernel || problems.empty())
    return;
  const Probe probe(traced, std::move(*kernel));
  std::vector<Problem> runnable;
  std::vector<std::string> left_out;
  for (const Problem& problem : problems)
    if (const std::string obstacle = Clock::now() < deadline ? probe.obstacle(problem.dimensions) : "";
        obstacle.empty())
      runnable.push_back(problem);
    else
      left_out.push_back(
          fmt::format("the raw kernel does not run at {} ({})", text_of(problem.dimensions), obstacle));
  if (left_out.empty())
    return;
  if (runnable.empty()) {
    const auto sizes = smaller(problems.front().dimensions);
    const auto found = std::ranges::find_if(sizes, [&](const Dimensions& other) {
      return Clock::now() < deadline && probe.obstacle(other).empty();
    });
    if (found == sizes.end())
      return;
    // What made the first one run may do so for the others.
    const Dimensions first = problems.front().dimensions;
    for (Problem problem : problems) {
      for (const auto& [name, size] : *found)
        if (size != first.at(name))
          problem.dimensions[name] = std::min(problem.dimensions[name], size);
      problem.label.clear();
      if (Clock::now() < deadline && probe.obstacle(problem.dimensions).empty()) {
        left_out.push_back("in place of these " + text_of(problem.dimensions));
        runnable.push_back(std::move(problem));
      }
    }
    if (runnable.empty())
      return;
  }
  problems = std::move(runnable);
  notes.insert(notes.end(), left_out.begin(), left_out.end());
}

void keep_runnable_types(Candidate& raw, const std::set<std::string>& given, const std::string& architecture,
                         const std::vector<Problem>& problems, std::vector<std::string>& notes) {
  constexpr std::chrono::seconds LONGEST{12};
  const auto deadline = Clock::now() + LONGEST;
  // What stands against the type at every problem; empty: nothing does, or it cannot be told.
  const auto obstacle_with = [&](const std::string& type, const std::string& dtype) -> std::string {
    TracedKernel traced(raw, architecture);
    std::map<std::string, std::string> types = traced.types();
    types[type] = dtype;
    traced.set_types(std::move(types));
    auto kernel = Clock::now() < deadline ? checked_build(raw, traced) : std::nullopt;
    if (!kernel)
      return "";
    const Probe probe(traced, std::move(*kernel));
    std::string first;
    for (const Problem& problem : problems) {
      const std::string obstacle = probe.obstacle(problem.dimensions);
      if (obstacle.empty())
        return "";
      if (first.empty())
        first = obstacle;
    }
    return first;
  };
  for (TypeParameter& type : raw.types) {
    if (given.contains(type.name) || type.dtypes.size() < 2)
      continue;
    std::vector<std::string> runnable;
    std::string left_out;
    for (const std::string& dtype : type.dtypes)
      if (const std::string obstacle = obstacle_with(type.name, dtype); obstacle.empty())
        runnable.push_back(dtype);
      else
        left_out += fmt::format("{}with {} the raw kernel does not run ({})", left_out.empty() ? "" : "; ",
                                dtype, obstacle);
    if (left_out.empty() || runnable.empty())
      continue;
    notes.push_back(fmt::format("{} = {}: {} (say otherwise with --types)", type.name,
                                fmt::join(runnable, ", "), left_out));
    type.dtypes = std::move(runnable);
  }
}

} // namespace lathe::refactor
