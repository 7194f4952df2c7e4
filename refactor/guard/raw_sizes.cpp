#include "refactor/guard/raw_sizes.h"

#include "refactor/guard/accepted_integers.h"
#include "refactor/guard/accepted_scalars.h"
#include "refactor/guard/strides.h"
#include "tuner/measure/fill.h"

#include <clang/AST/Decl.h>

#include <algorithm>
#include <iterator>
#include <ranges>

namespace lathe::refactor {
namespace {

constexpr std::size_t CANDIDATE_SHAPES = 42; // over all choices of types
constexpr std::size_t FEWEST_SHAPES = 12;    // of them for each choice
// Of the buffers of all sizes that are tried at once; a dozen runs' results of each are kept.
constexpr std::uint64_t MOST_BYTES_OF_ALL = 4 * MOST_BYTES;

// Sizes that do not go together, such as rows that are longer than what lies between them: blocks write
// over each other's results, which happens at no other size, and the last one's stay.
bool overlaps(const ReferenceRuns& runs) {
  return std::ranges::any_of(runs.races,
                             [](const HostRace& race) { return race.between_blocks && race.is_of_writes; });
}

// Parameters that no instance of either kernel has a use for, as far as code was looked at: what is passed
// for them changes no run.
std::set<std::size_t> unused_parameters(const JudgedPair& subject) {
  std::set<std::size_t> unused;
  if (subject.raw.code_facts.empty() || subject.templated.code_facts.empty())
    return unused;
  for (std::size_t p = 0; p < subject.spec.arguments.size(); ++p)
    unused.insert(p);
  for (const auto* side : {&subject.raw, &subject.templated})
    for (const auto* all : {&side->code_facts, &side->code_facts_at_size})
      for (const auto& [instance, facts] : *all)
        for (const int parameter : facts.used_parameters)
          unused.erase(static_cast<std::size_t>(parameter));
  return unused;
}

} // namespace

std::uint64_t trial_seed(const JudgedPair& subject, std::size_t index) {
  return element::mix(subject.seed + 0x9e37 * index) | 1;
}

RawSizes::RawSizes(const JudgedPair& subject, const HostKernels& raw, int jobs, Deadline deadline)
    : subject_(subject), raw_(raw), jobs_(jobs), deadline_(deadline), unused_(unused_parameters(subject)) {
  for (const auto& [instance, facts] : subject.raw.code_facts) {
    for (const int parameter : facts.nullable)
      nullable_.insert(static_cast<std::size_t>(parameter));
    for (const int parameter : facts.compared)
      compared_.insert(static_cast<std::size_t>(parameter));
  }
  parameters_.strides = strides_of(subject.raw, subject.spec);
  std::vector<bool>& is_restrict = parameters_.is_restrict;
  for (const auto* all : {&subject.raw.code_facts, &subject.raw.code_facts_at_size})
    for (const auto& [instance, facts] : *all)
      parameters_.has_atomics |=
          std::ranges::any_of(facts.memory, [](const auto& use) { return use.second.atomic; });
  for (const auto& [instance, facts] : subject.raw.source_facts) {
    parameters_.has_globals |= !facts.globals.empty();
    for (std::size_t p = 0; p < facts.function->getNumParams(); ++p) {
      is_restrict.resize(std::max(is_restrict.size(), p + 1), false);
      is_restrict[p] =
          is_restrict[p] ||
          facts.function->getParamDecl(static_cast<unsigned>(p))->getType().isRestrictQualified();
    }
  }
}

std::size_t RawSizes::count() const {
  std::size_t sizes = 0;
  for (const auto& [types, list] : clean_)
    sizes += list.size();
  return sizes;
}

std::size_t RawSizes::sizes_with_race(const std::string& place, bool between_blocks) const {
  const auto known = races_.find({place, between_blocks});
  return known == races_.end() ? 0 : known->second;
}

void RawSizes::look_for(const Types& types, const std::vector<const Configuration*>& configurations,
                        Findings& findings) {
  const std::size_t most =
      std::max(FEWEST_SHAPES, CANDIDATE_SHAPES / std::max<std::size_t>(1, subject_.type_choices.size()));
  auto shapes = boundary_shapes(subject_, types, configurations, limits_, most);
  const bool takes_larger =
      shapes.empty() && (!subject_.options.takes_large_runs || subject_.options.takes_large_runs());
  // A launch of many blocks whatever the size; of 1024 threads, maybe, where the raw kernel has 128.
  if (takes_larger) {
    constexpr std::uint64_t MORE = 16, LARGER_BLOCKS = 8;
    limits_.threads *= MORE;
    limits_.template_threads *= MORE * LARGER_BLOCKS;
    limits_.bytes *= MORE;
    shapes = boundary_shapes(subject_, types, configurations, limits_, FEWEST_SHAPES);
  }
  // Where the text fixes all sizes, there is one size, and it is run if it can be.
  if (takes_larger && shapes.empty()) {
    limits_.bytes = MOST_BYTES_OF_ALL;
    shapes = boundary_shapes(subject_, types, configurations, limits_, 1);
  }
  Tally tally;
  run(types, shapes, tally);
  run_with_rows_apart(types, tally);
  if (clean_[types].empty())
    run_with_own_sizes(types, shapes, tally);
  if (clean_[types].empty())
    run_near_problems(types, tally);
  if (clean_[types].empty() && tally.first_problem.find(DIVERGENT_BARRIER) != std::string::npos &&
      !parameters_.meets_by_count) {
    const std::string problem = tally.first_problem;
    parameters_.meets_by_count = true;
    tally = {};
    run(types, shapes, tally);
    if (!clean_[types].empty())
      findings.report("the raw kernel's threads wait for each other at barriers in different lines (" +
                      problem + "): both kernels' barriers are counted by arrivals, as the device does");
  }
  if (tally.unclean)
    findings.evidence("left out: " + std::to_string(tally.unclean) +
                      " sizes at which the raw kernel itself does not run clean (" + tally.first_problem +
                      ")");
  if (first_unclean_.empty())
    first_unclean_ = tally.first_problem;
  if (tally.unended)
    findings.evidence("left out: " + std::to_string(tally.unended) +
                      " sizes at which the raw kernel's run does not end in time, or that are larger than " +
                      std::to_string(MOST_UNENDED) + " of these");
  if (const std::size_t slow = slow_[types].size())
    findings.evidence("left out: " + std::to_string(slow) + " sizes at which a run takes long");
  leave_out_overlaps(types, findings);
  keep_pairs_of_all_sizes(clean_[types]);
  find_accepted(types, findings);
  if (!clean_[types].empty())
    return;
  const std::string sizes = std::to_string(tally.tried) + " sizes";
  if (tally.tried == 0)
    findings.undecided(NONE_SMALL_ENOUGH);
  else if (tally.unclean == 0)
    findings.undecided(std::string(TIME_LEFT_NO_RUN) + "of the raw kernel at any of " + sizes +
                       ": smaller ones are wanted, such as lathe templatize is given with --problem");
  else
    findings.undecided(RUNS_NOWHERE + sizes + " (" + tally.first_problem + ")");
}

void RawSizes::run_with_rows_apart(const Types& types, Tally& tally) {
  constexpr std::size_t MOST = 12;
  std::vector<std::shared_ptr<const Workload>> shapes;
  std::set<std::string> seen;
  for (const auto& size : clean_[types])
    seen.insert(size->workload->key());
  for (const auto& size : clean_[types]) {
    if (!overlaps(*size))
      continue;
    for (const Problem& problem : with_long_strides(*size->workload, parameters_.strides))
      if (auto shape = shape_of(subject_, size->usual, problem, limits_);
          shape && shapes.size() < MOST && seen.insert(shape->key()).second)
        shapes.push_back(std::move(shape));
  }
  run(types, shapes, tally);
}

void RawSizes::leave_out_overlaps(const Types& types, Findings& findings) {
  auto& sizes = clean_[types];
  const auto is_one = [](const std::unique_ptr<ReferenceRuns>& runs) { return overlaps(*runs); };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(sizes, is_one));
  if (count == 0 || count == sizes.size())
    return;
  std::erase_if(sizes, is_one);
  findings.evidence("left out: " + std::to_string(count) +
                    " sizes at which the raw kernel's blocks write different values to one place");
}

namespace {

// Numbers by which the raw kernel may mark what is left out.
std::vector<std::int64_t> marks_of(const JudgedPair& subject) {
  constexpr std::size_t MOST = 6; // each costs runs of every integer input
  std::set<std::int64_t> marks;
  for (const auto& [instance, facts] : subject.raw.source_facts)
    marks.insert(facts.equalled_integers.begin(), facts.equalled_integers.end());
  std::vector<std::int64_t> first{0}; // a length of nothing
  std::ranges::copy(marks | std::views::take(MOST), std::back_inserter(first));
  return first;
}

bool takes_infinities(const JudgedPair& subject) {
  constexpr std::string_view SIGNS[] = {"exp", "inf", "huge_val"};
  for (const auto& facts : subject.raw.source_facts)
    for (const auto& call : facts.second.library_calls)
      for (const std::string_view sign : SIGNS)
        if (call.first.find(sign) != std::string::npos)
          return true;
  return false;
}

} // namespace

void RawSizes::find_accepted(const Types& types, Findings& findings) {
  std::vector<const ReferenceRuns*> sizes;
  for (const auto& size : clean_.at(types))
    sizes.push_back(size.get());
  AcceptedInputs& accepted = accepted_[types];
  accepted.nullable = nullable_;
  accepted.masks = takes_infinities(subject_);
  accepted.numbers = subject_.deciding_numbers;
  accepted.of_template = subject_.own_numbers;
  accepted.dividing = subject_.dividing_numbers;
  accepted.integers =
      accepted_integers(raw_, sizes, marks_of(subject_), unused_, trial_seed(subject_, 0), jobs_, deadline_);
  accepted.scalars =
      accepted_scalars(raw_, subject_.spec, sizes, unused_, trial_seed(subject_, 0), jobs_, deadline_);
  accepted.deciding = deciding_scalars(raw_, compared_, sizes, trial_seed(subject_, 0), jobs_, deadline_);
  accepted.infinite = infinite_scalars(raw_, sizes, trial_seed(subject_, 0), jobs_, deadline_);
  if (sizes.empty())
    return;
  for (const std::string& sentence :
       {describe(*sizes.front()->workload, accepted.integers), describe(subject_.spec, accepted.scalars),
        describe(subject_.spec, accepted.deciding), describe(subject_.spec, accepted.infinite)})
    if (!sentence.empty())
      findings.evidence(sentence);
}

void RawSizes::run(const Types& types, std::vector<std::shared_ptr<const Workload>> shapes, Tally& tally) {
  std::uint64_t bytes = 0;
  std::erase_if(shapes, [&](const auto& shape) { return (bytes += bytes_of(*shape)) > MOST_BYTES_OF_ALL; });
  for (const auto& shape : shapes)
    parameters_.strides.odd.merge(odd_strides(*shape, parameters_.strides));
  auto trials = run_reference(raw_, parameters_, shapes, trial_seed(subject_, 0), false, jobs_, deadline_);
  tally.tried += shapes.size();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (trials[i].takes_long)
      slow_[types].push_back(shapes[i]);
    tally.unended += trials[i].is_unended ? 1 : 0;
    if (trials[i].runs) {
      keep(std::move(trials[i].runs), types);
    } else if (!trials[i].problem.empty()) {
      ++tally.unclean;
      if (tally.first_problem.empty())
        tally.first_problem = shapes[i]->key() + ": " + trials[i].problem;
    }
  }
}

void RawSizes::keep(std::unique_ptr<ReferenceRuns> runs, const Types& types) {
  order_seen_ |= runs->depends_on_order;
  if (const HostKernel* kernel = raw_.find(runs->usual.raw_instance, runs->usual.macros()))
    reach_.note(*kernel, runs->raw[1]);
  race_seen_ |= !runs->accepts_warps_in_turn;
  if (std::ranges::any_of(runs->raw[0].accesses,
                          [](const BufferAccess& access) { return !access.written.empty(); }))
    writes_ = true;
  note_unwritten(*runs);
  for (const auto& [buffers, result] : runs->in_place)
    in_place_.insert(
        {runs->workload->buffers[buffers.first].name, runs->workload->buffers[buffers.second].name});
  for (const HostRace& race : runs->races)
    ++races_[{race.place, race.between_blocks}];
  clean_[types].push_back(std::move(runs));
}

// Where the raw kernel takes no small number for one of its sizes, such as a width that is no multiple of a
// vector, and none of the others alone either, such as rows that are shared out among nodes: sizes at which
// it could be launched, with one number of the problems' own.
void RawSizes::run_with_own_sizes(const Types& types,
                                  const std::vector<std::shared_ptr<const Workload>>& tried, Tally& tally) {
  constexpr std::size_t BASES = 4;
  std::vector<std::shared_ptr<const Workload>> shapes;
  std::set<std::string> seen;
  for (const auto& shape : tried)
    seen.insert(shape->key());
  for (const Configuration& usual : subject_.defaults) {
    if (usual.workload->types != types)
      continue;
    for (const auto& base : tried | std::views::take(BASES))
      for (const auto& [name, size] : usual.workload->problem.dimensions) {
        Problem problem = base->problem;
        problem.dimensions[name] = size;
        if (auto shape = shape_of(subject_, usual, problem, limits_);
            shape && seen.insert(shape->key()).second)
          shapes.push_back(std::move(shape));
      }
  }
  run(types, std::move(shapes), tally);
}

// Where sizes hang together (a stride and what it strides over), few are right but those of the problems
// themselves: each problem with one or two of its sizes made small, in as much memory as some of them need.
void RawSizes::run_near_problems(const Types& types, Tally& tally) {
  constexpr int STEPS = 3;
  constexpr std::size_t ENOUGH = 4;
  std::set<std::string> tried;
  for (int step = 0; step < STEPS && clean_[types].size() < ENOUGH && tally.unended < MOST_UNENDED; ++step) {
    std::vector<std::shared_ptr<const Workload>> shapes;
    for (const Configuration& usual : subject_.defaults)
      if (usual.workload->types == types)
        for (auto& shape : shapes_near_problem(subject_, types, usual, limits_, CANDIDATE_SHAPES))
          if (tried.insert(shape->key()).second)
            shapes.push_back(std::move(shape));
    run(types, shapes, tally);
    limits_ = widened(limits_);
  }
}

// Elements of outputs that the raw kernel leaves as they were: nothing that a caller may read.
void RawSizes::note_unwritten(const ReferenceRuns& runs) {
  const Workload& workload = *runs.workload;
  for (const BufferAccess& access : runs.raw[0].accesses) {
    if (access.argument >= workload.parameters.size() || !workload.parameters[access.argument].is_buffer)
      continue;
    const Workload::Buffer& buffer = workload.buffers[workload.parameters[access.argument].buffer];
    if (buffer.direction != Direction::out)
      continue;
    std::uint64_t written = 0;
    for (const ByteRange& range : access.written)
      written += static_cast<std::uint64_t>(range.end - range.begin);
    const std::uint64_t bytes = buffer.count * static_cast<std::uint64_t>(dtype_size(buffer.dtype));
    if (written < bytes)
      unwritten_[buffer.name].push_back(std::to_string(bytes - written) + " of " + std::to_string(bytes) +
                                        " bytes at " + workload.key());
  }
}

std::vector<const ReferenceRuns*>
RawSizes::run_more(const std::vector<std::shared_ptr<const Workload>>& workloads, bool brief,
                   RunPlan::Shapes& kept) {
  std::vector<const ReferenceRuns*> found;
  for (ReferenceTrial& trial :
       run_reference(raw_, parameters_, workloads, trial_seed(subject_, 0), brief, jobs_, deadline_)) {
    if (!trial.runs)
      continue;
    const auto& types = trial.runs->workload->types;
    if (const auto known = clean_.find(types); known != clean_.end() && !known->second.empty()) {
      if (overlaps(*trial.runs) && !overlaps(*known->second.front()))
        continue;
      keep_pairs_of(*known->second.front(), *trial.runs);
    }
    found.push_back(trial.runs.get());
    kept[types].push_back(std::move(trial.runs));
  }
  return found;
}

// A loop over shares of a long dimension goes round near the problems' own sizes alone: those with one
// dimension made as little smaller as the limits want, or with two.
std::vector<std::shared_ptr<const Workload>> RawSizes::sizes_like_problems(const Types& types) const {
  constexpr std::size_t CONSIDERED = 200, KEPT = 6;
  const ShapeLimits wide = widened(limits_);
  for (const Configuration& usual : subject_.defaults) {
    if (usual.workload->types != types)
      continue;
    auto shapes = shapes_near_problem(subject_, types, usual, wide, CONSIDERED);
    const auto nearness = [&](const std::shared_ptr<const Workload>& shape) {
      std::size_t own = 0;
      double elements = 1;
      for (const auto& [name, size] : shape->problem.dimensions) {
        own += size == usual.workload->problem.dimensions.at(name) ? 1 : 0;
        elements *= static_cast<double>(size);
      }
      return std::pair(own, elements);
    };
    std::ranges::stable_sort(shapes, std::ranges::greater(), nearness);
    shapes.resize(std::min(shapes.size(), KEPT));
    return shapes;
  }
  return {};
}

void RawSizes::look_further(const std::vector<const Configuration*>& configurations) {
  constexpr std::size_t MORE = 3; // times as many
  for (const auto& entry : clean_) {
    const Types& types = entry.first;
    const auto& known = entry.second;
    auto shapes = boundary_shapes(subject_, types, configurations, limits_, MORE * known.size());
    std::erase_if(shapes, [&](const auto& shape) {
      return std::ranges::any_of(known,
                                 [&](const auto& other) { return other->workload->key() == shape->key(); });
    });
    run_more(sizes_like_problems(types), true, further_);
    run_more(shapes, false, further_);
    run_more(slow_[types], true, further_);
  }
}

void RawSizes::report(Findings& findings) const {
  const std::string sizes = std::to_string(count());
  if (order_seen_)
    findings.report(
        "the raw kernel's result depends on the order of its threads; such buffers are compared as sets");
  if (race_seen_ && !order_seen_)
    findings.report("the raw kernel gives something else when one warp runs after the other (a race of its "
                    "own); templates are not compared in that order");
  for (const auto& [buffer, where] : unwritten_)
    findings.report("the raw kernel does not write all of '" + buffer + "' at " +
                    std::to_string(where.size()) + " of " + sizes + " sizes, such as " + where.front());
  for (const auto& [out, in] : in_place_)
    findings.evidence("the raw kernel accepts '" + out + "' in the place of '" + in +
                      "', and runs do so too");
  for (const auto& [place, of_them] : races_)
    findings.report("the raw kernel itself has a race in " + place.first +
                    (place.second ? " between blocks" : " within a block") + ", at " +
                    std::to_string(of_them) + " of " + sizes + " sizes");
}

} // namespace lathe::refactor
