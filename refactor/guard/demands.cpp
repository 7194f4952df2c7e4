#include "refactor/guard/demands.h"

#include "refactor/guard/unread_data.h"
#include "tuner/measure/fill.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace lathe::refactor {
namespace {

// A template's run may take this long, and so many times what the raw kernel's took.
constexpr double SECONDS_PER_RUN = 2, TIMES_RAW = 100;

// Data that is not random numbers around zero.
struct Kind {
  Data data;
  IntegerFill::Kind integers;
  RealScalars scalars;
  const char* suffix;
};
constexpr Kind KINDS[] = {
    {Data::zeros, IntegerFill::Kind::zeros, RealScalars::usual, " on zeros"},
    {Data::far, IntegerFill::Kind::large, RealScalars::usual, " on numbers far from zero"},
    {Data::tails, IntegerFill::Kind::large, RealScalars::usual, " on numbers on one side of zero"},
    {Data::wide, IntegerFill::Kind::usual, RealScalars::usual, " on numbers far from each other"},
    {Data::huge, IntegerFill::Kind::usual, RealScalars::usual, " on numbers whose squares overflow"},
    {Data::largest, IntegerFill::Kind::usual, RealScalars::usual, " on numbers whose sums overflow"},
    {Data::tiny, IntegerFill::Kind::usual, RealScalars::usual, " on numbers whose squares vanish"},
    {Data::coarse, IntegerFill::Kind::small, RealScalars::usual, " on halves, ties among them"},
    {Data::opposed, IntegerFill::Kind::usual, RealScalars::usual, " on zeros beside infinities"},
    // Which a factor would move.
    {Data::ties, IntegerFill::Kind::usual, RealScalars::one, " on numbers between two of 16 bits"},
};

// Real numbers among the arguments, and on what data.
constexpr std::pair<RealScalars, const char*> SCALARS[] = {
    {RealScalars::zero, " with zero for each real number among the arguments"},
    {RealScalars::negated, " with the real numbers among the arguments below zero"},
    {RealScalars::tiny, " with real numbers as arguments whose squares vanish"},
};
constexpr Data BESIDE_SCALARS[] = {Data::usual,  Data::zeros,      Data::far,
                                   Data::coarse, Data::infinities, Data::nans};
constexpr Data BESIDE_ONE_ZERO[] = {Data::usual,      Data::zeros, Data::far,    Data::coarse,
                                    Data::infinities, Data::nans,  Data::opposed};

// `usual` with some of what the raw kernel takes as arguments, drawn for each of them; nothing changed where
// there are fewer than two to change.
template <class Draw>
TrialSettings several_arguments(const ReferenceRuns& shape, const AcceptedInputs& accepted,
                                const TrialSettings& usual, Draw draw) {
  constexpr RealScalars REAL_SCALARS[] = {RealScalars::zero, RealScalars::other, RealScalars::negated,
                                          RealScalars::one};
  TrialSettings settings = usual;
  const auto& parameters = shape.workload->parameters;
  std::map<std::size_t, std::vector<std::int64_t>> integers;
  for (const AcceptedScalar& one : accepted.scalars)
    integers[one.parameter].push_back(one.value);
  std::size_t changeable = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const bool is_switch = shape.other_switches && is_truth_value(parameters[p]);
    const bool is_real = shape.other_scalars && is_real_scalar(parameters[p]);
    const bool is_nullable = accepted.nullable.contains(p);
    if (!is_switch && !is_real && !is_nullable && !integers.contains(p))
      continue;
    ++changeable;
    if (draw(2) == 0)
      continue;
    if (is_nullable)
      settings.turned_pointers.insert(p);
    else if (is_switch)
      settings.switched.insert(p);
    else if (is_real)
      settings.real_scalars_of[p] = REAL_SCALARS[draw(std::size(REAL_SCALARS))];
    else
      settings.integer_scalars[p] = integers[p][draw(integers[p].size())];
  }
  return changeable < 2 ? usual : settings;
}

// One of several real numbers among the arguments, drawn; none where there are fewer.
template <class Draw> std::optional<std::size_t> one_of_real_scalars(const Workload& workload, Draw draw) {
  std::vector<std::size_t> all;
  for (std::size_t p = 0; p < workload.parameters.size(); ++p)
    if (is_real_scalar(workload.parameters[p]))
      all.push_back(p);
  if (all.size() < 2)
    return std::nullopt;
  return all[draw(all.size())];
}

// Whether a dimension has a single element.
bool has_single(const Workload& workload) {
  return std::ranges::any_of(workload.problem.dimensions,
                             [](const auto& dimension) { return dimension.second == 1; });
}

// Integer inputs whose elements any number of a range may be, so that neighbours may be equal.
std::vector<std::size_t> free_integers(const Workload& workload) {
  std::vector<std::size_t> buffers;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& buffer = workload.buffers[i];
    const auto dtype = element_type(buffer.dtype);
    if (buffer.direction == Direction::in && buffer.fill.kind == Fill::Kind::integer && dtype &&
        !element::is_real(*dtype))
      buffers.push_back(i);
  }
  return buffers;
}

std::map<std::size_t, IntegerFill> in_stretches(const Workload& workload) {
  std::map<std::size_t, IntegerFill> fills;
  for (const std::size_t i : free_integers(workload))
    fills[i] = {IntegerFill::Kind::stretches};
  return fills;
}

// Such inputs in few numbers for many elements: all of them, or one beside others as usual, as what one input
// ends another may begin. One base for all of a kind, so that they agree where they have it.
template <class Draw>
std::map<std::size_t, IntegerFill> in_long_stretches(const Workload& workload, Draw draw) {
  std::map<std::size_t, IntegerFill> fills;
  const std::vector<std::size_t> buffers = free_integers(workload);
  if (buffers.empty())
    return fills;
  // Few in many more often than few: both inputs have to agree over a whole tile.
  constexpr int ONE_KEPT_IN[] = {24, 96, 384, 384, 1024};
  const auto is_like_first = [&](std::size_t buffer) {
    const Workload::Buffer &first = workload.buffers[buffers.front()], &other = workload.buffers[buffer];
    return first.dtype == other.dtype && first.count == other.count;
  };
  const bool are_alike = buffers.size() > 1 && std::ranges::all_of(buffers, is_like_first);
  const bool is_sparse = draw(3) > 0, all = draw(3) < (are_alike ? 2 : 1);
  const std::uint64_t one = draw(buffers.size()), side = draw(3);
  const int one_in = ONE_KEPT_IN[draw(std::size(ONE_KEPT_IN))];
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const Workload::Buffer& buffer = workload.buffers[buffers[b]];
    if (!all && b != one)
      continue;
    const std::int64_t base = side == 0 ? buffer.integer_high : buffer.integer_low;
    fills[buffers[b]] = is_sparse
                            ? IntegerFill{IntegerFill::Kind::sparse, one_in, static_cast<std::uint64_t>(base)}
                            : IntegerFill{IntegerFill::Kind::plateaus, one_in};
  }
  return fills;
}

// By what a template may multiply a number to put another one beside it: integers of its text alone, and what
// a shift by them comes to.
std::vector<std::uint64_t> factors_of(const std::vector<std::int64_t>& of_template) {
  constexpr std::int64_t FEWEST_BITS = 4, MOST_BITS = 40;
  std::vector<std::uint64_t> factors;
  for (const std::int64_t number : of_template) {
    factors.push_back(static_cast<std::uint64_t>(number));
    if (number >= FEWEST_BITS && number <= MOST_BITS && number % FEWEST_BITS == 0)
      factors.push_back(std::uint64_t{1} << number);
  }
  return factors;
}

// Whether zero to `most` may stand in the buffer: by its specification, or as the raw kernel takes any number
// of so many bits there. Of an index it may take more by chance, where it reads nothing at it.
bool holds(const Workload::Buffer& buffer, const AcceptedIntegers& accepted, std::uint64_t most) {
  return accepted.bits >= static_cast<int>(std::bit_width(most)) ||
         (buffer.integer_low <= 0 && buffer.integer_high >= 0 &&
          static_cast<std::uint64_t>(buffer.integer_high) >= most);
}

// Whether an input holds real numbers.
bool has_real_inputs(const Workload& workload) {
  return std::ranges::any_of(workload.buffers, [](const Workload::Buffer& buffer) {
    const auto dtype = element_type(buffer.dtype);
    return buffer.direction != Direction::out && dtype && element::is_real(*dtype);
  });
}

// Of the accepted numbers of one kind one, drawn: every other time one beside the configuration's own knobs.
template <class Draw>
std::optional<AcceptedScalar> one_scalar(const Configuration& configuration, const AcceptedInputs& accepted,
                                         AcceptedScalar::Kind kind, Draw draw) {
  std::vector<AcceptedScalar> all, own;
  for (const AcceptedScalar& one : accepted.scalars) {
    if (one.kind != kind)
      continue;
    all.push_back(one);
    const auto is_beside = [&](const Value& value) {
      const auto* number = std::get_if<std::int64_t>(&value);
      return number && std::abs(std::abs(one.value) - *number) == 1;
    };
    if (kind == AcceptedScalar::Kind::near && std::ranges::any_of(configuration.knobs, is_beside))
      own.push_back(one);
  }
  if (all.empty())
    return std::nullopt;
  const std::vector<AcceptedScalar>& from = !own.empty() && draw(2) == 0 ? own : all;
  return from[draw(from.size())];
}

const char* suffix_of(Layout layout) {
  switch (layout) {
  case Layout::usual:
    return "";
  case Layout::strides_apart:
    return " with strides that are not the widths of rows, which the raw kernel accepts";
  case Layout::strides_odd:
    return " with odd strides, which the raw kernel accepts";
  case Layout::rows_repeated:
    return " where one row of an input stands for all, which the raw kernel accepts";
  case Layout::other_divisors:
    return " with other numbers to divide by";
  }
  return "";
}

} // namespace

std::vector<Demand> demands_of(const Configuration& configuration, const ReferenceRuns& shape,
                               const AcceptedInputs& accepted, const std::set<Layout>& served,
                               std::uint64_t seed, std::uint64_t own_seed) {
  TrialSettings usual;
  usual.seed = seed;
  usual.barriers_by_count = shape.meets_by_count;
  usual.time_limit_s = SECONDS_PER_RUN + TIMES_RAW * shape.raw[0].seconds;
  std::vector<Demand> demands;
  const auto demand = [&](const TrialResult* reference, const std::string& suffix,
                          Otherwise otherwise = Otherwise::refused) -> TrialSettings& {
    Demand& one = demands.emplace_back();
    one.settings = usual;
    one.reference = reference;
    one.suffix = suffix;
    one.otherwise = otherwise;
    return one.settings;
  };
  const char* reordered = " with threads in another order";
  TrialSettings& watched = demand(&shape.raw[0], "");
  watched.record_accesses = watched.find_races = true;
  TrialSettings& other_poison = demand(&shape.raw[1], "");
  other_poison.poison = 1;
  other_poison.schedule = HostSchedule::reverse;
  demand(&shape.raw[0], reordered).schedule = HostSchedule::random;
  TrialSettings& interleaved = demand(&shape.raw[0], reordered);
  interleaved.schedule = HostSchedule::interleaved;
  interleaved.reverse_blocks = shape.accepts_any_block_first;
  // What the raw kernel does not read need not be there: neither numbers nor indices.
  if (!shape.depends_on_order && leaves_unread(*shape.workload, shape.raw[0].accesses)) {
    const std::size_t poison = own_seed >> 6 & 1;
    TrialSettings& garbage = demand(
        &shape.raw[poison], " with garbage in the elements of inputs that the raw kernel does not read");
    garbage.read_by_raw = &shape.raw[0].accesses;
    garbage.poison = poison;
  }
  if (shape.accepts_warps_in_turn)
    demand(&shape.raw[0], " with one warp after the other").schedule = HostSchedule::warps;
  if (shape.accepts_interruptions) {
    TrialSettings& interrupted =
        demand(&shape.raw[0], " with threads and blocks that are interrupted between accesses to memory");
    interrupted.schedule = HostSchedule::interrupted;
    interrupted.order = own_seed;
  }
  if (shape.infinities)
    demand(&*shape.infinities, " on data with infinities and zeros").data = Data::infinities;
  if (shape.nans)
    demand(&*shape.nans, " on data with NaN").data = Data::nans;
  // Of one term alone a result is what the term is, or what none of them comes to beside it.
  if (!shape.misalignment_tried && has_single(*shape.workload)) {
    const bool is_nan = (own_seed >> 3 & 1) != 0;
    TrialSettings& special =
        demand(nullptr, is_nan ? " on data with NaN" : " on data with infinities and zeros");
    special.seed = own_seed;
    special.data = is_nan ? Data::nans : Data::infinities;
  }
  // What the run before left, of other data, must not show.
  if (shape.gives_the_same_again)
    demand(&shape.raw[0], " when it is launched again").again = true;
  if (shape.one_range)
    demand(&*shape.one_range, " where one range of the offsets holds everything").data = Data::one_range;
  if (shape.inner_ranges)
    demand(&*shape.inner_ranges, " where offsets begin behind the first element and end before the last")
        .data = Data::inner_ranges;
  if (shape.other_scalars)
    demand(&*shape.other_scalars, " with other real numbers as arguments").real_scalars = RealScalars::other;
  if (shape.other_switches)
    demand(&*shape.other_switches, " with the other truth values as arguments").other_switches = true;
  for (const auto& [layout, other] : shape.layouts)
    if (other.result && served.contains(layout))
      demand(&*other.result, suffix_of(layout)).layout = layout;
  for (const auto& [buffers, result] : shape.in_place)
    demand(&result, " with its result in place of an input, which the raw kernel accepts").shared_buffers =
        buffers;
  // Vectors may want more alignment than the raw kernel's scalars; the default may not.
  const Otherwise of_misaligned =
      configuration.is_default ? Otherwise::refused : Otherwise::refused_but_for_alignment;
  if (shape.accepts_misalignment)
    demand(&shape.raw[0], " on buffers that start one element off, which the raw kernel accepts",
           of_misaligned)
        .misalignment = 1;
  // Inputs that are loaded as vectors need alignment where results that are stored one by one do not.
  if (!shape.accepts_misalignment && !shape.misaligned_outputs.empty()) {
    TrialSettings& outputs = demand(
        &shape.raw[0], " on results that start one element off, which the raw kernel accepts", of_misaligned);
    outputs.misalignment = 1;
    outputs.misaligned_buffers = shape.misaligned_outputs;
  }
  // What serves buffers that are all off looks at alignment when it runs: then it must look at each, and at
  // every distance.
  if (shape.accepts_misalignment) {
    TrialSettings& further = demand(
        &shape.raw[0], " on buffers that start two or four elements off, which the raw kernel accepts");
    further.misalignment = (own_seed >> 4 & 1) != 0 ? 2 : 4;
    demands.back().follows = true;
  }
  const std::uint64_t drawn = own_seed >> 8; // seeds are odd
  if (const std::size_t buffers = shape.workload->buffers.size(); shape.accepts_misalignment && buffers > 1) {
    // One element off in half of the runs: what looks at one buffer alone takes the others as they come.
    constexpr std::array<std::size_t, 4> ELEMENTS{1, 1, 2, 4};
    TrialSettings& some = demand(nullptr, " on buffers of which some start one, two or four elements off");
    some.misalignment = ELEMENTS[drawn % ELEMENTS.size()];
    const std::uint64_t one = element::mix(drawn) % buffers;
    for (std::size_t i = 0; i < buffers; ++i)
      if (i == one || ((own_seed >> 5 & 1) != 0 && element::mix(drawn + i) % 2 == 0))
        some.misaligned_buffers.insert(i);
    demands.back().follows = true;
    // And the next buffer alone by one element, so that each comes round often.
    TrialSettings& alone = demand(nullptr, " on buffers of which one starts one element off");
    alone.misalignment = 1;
    alone.misaligned_buffers = {static_cast<std::size_t>((one + 1) % buffers)};
    demands.back().follows = true;
  }
  // What is drawn for each run anew comes round often enough over the runs of all configurations.
  std::uint64_t rest = element::mix(drawn);
  const auto draw = [&](std::uint64_t of) {
    const std::uint64_t one = rest % of;
    rest = element::mix(rest);
    return one;
  };
  // One of two, by itself.
  const auto is_drawn = [&](std::uint64_t salt) { return (element::mix(own_seed ^ salt) & 1) != 0; };
  const auto own = [&](const char* suffix) -> TrialSettings& {
    TrialSettings& settings = demand(nullptr, suffix);
    settings.seed = own_seed; // on which side of zero numbers lie, too
    return settings;
  };
  // Of the demand that was made last. Two kernels that a launcher chooses between may part at zeros.
  const auto drawn_of = [&](std::span<const Data> kinds) {
    const Data data = kinds[draw(kinds.size())];
    if (data == Data::zeros && configuration.flag_is_set())
      demands.back().otherwise = Otherwise::told;
    return data;
  };
  // Other numbers than random ones around zero: two kinds in each run.
  const std::uint64_t kind = draw(std::size(KINDS));
  for (const std::uint64_t step : {std::uint64_t{0}, 1 + draw(std::size(KINDS) - 1)}) {
    const Kind& one = KINDS[(kind + step) % std::size(KINDS)];
    TrialSettings& settings = own(one.suffix);
    settings.data = one.data;
    settings.real_scalars = one.scalars;
    for (std::size_t i = 0; i < accepted.integers.size(); ++i)
      if (const auto fill = accepted.integers[i].data(one.integers))
        settings.integers[i] = *fill;
    // What one input changes is lost in a result that another makes large.
    if (one.integers == IntegerFill::Kind::large && settings.integers.size() > 1 && draw(2) == 0)
      settings.integers = {
          *std::next(settings.integers.begin(), static_cast<std::ptrdiff_t>(draw(settings.integers.size())))};
    // Two kernels that a launcher chooses between may part at zeros.
    if (one.data == Data::zeros && configuration.flag_is_set())
      demands.back().otherwise = Otherwise::told;
  }
  if (has_real_scalars(*shape.workload)) {
    const auto& [scalars, suffix] = SCALARS[draw(std::size(SCALARS))];
    TrialSettings& settings = own(suffix);
    settings.real_scalars = scalars;
    settings.data = drawn_of(BESIDE_SCALARS);
  }
  // Of a term whose factor is zero the others' factors are not.
  if (const auto one = one_of_real_scalars(*shape.workload, draw); one && shape.other_scalars) {
    TrialSettings& settings = own(" with zero for one of the real numbers among the arguments");
    // Zero of either sign: they are equal, and differ by a bit.
    if (is_drawn(0x0e60))
      settings.real_numbers[*one] = -0.0;
    else
      settings.real_scalars_of[*one] = RealScalars::zero;
    settings.data = drawn_of(BESIDE_ONE_ZERO);
  }
  // Integers that mean something else: none, below zero; other elements than the first.
  const bool below_zero = draw(2) == 0;
  std::map<std::size_t, IntegerFill> others;
  for (std::size_t i = 0; i < accepted.integers.size(); ++i) {
    if (below_zero && accepted.integers[i].below_zero)
      others[i] = {*accepted.integers[i].below_zero};
    else if (const auto indices = accepted.integers[i].indices(*shape.workload, i))
      others[i] = *indices;
  }
  if (!others.empty())
    own(" on other integers, which the raw kernel takes").integers = std::move(others);
  for (const auto scalars :
       {AcceptedScalar::Kind::usual, AcceptedScalar::Kind::near, AcceptedScalar::Kind::wide})
    if (const auto one = one_scalar(configuration, accepted, scalars, draw)) {
      const std::string& name = shape.workload->spec->arguments[one->parameter].name;
      own(" with other integers as arguments, which the raw kernel takes").integer_scalars[one->parameter] =
          one->value;
      demands.back().suffix += " ('" + name + "' of " + std::to_string(one->value) + ")";
    }
  // What is left out where there is no pointer is not the same as a term of zero, where infinities are.
  for (const std::size_t parameter : accepted.nullable) {
    TrialSettings& settings =
        demand(nullptr, shape.workload->parameters[parameter].is_null
                            ? " where a pointer that the raw kernel compares with null is not null"
                            : " where a pointer that the raw kernel compares with null is null");
    settings.turned_pointers.insert(parameter);
    if (shape.infinities && is_drawn(0x9011 + parameter))
      settings.data = Data::infinities;
  }
  if (accepted.masks) {
    // Of zero a limit or a cap is often none: what is masked is not capped then.
    constexpr std::uint64_t ONE_WITHOUT_IN = 2;
    const bool is_zero = has_real_scalars(*shape.workload) && draw(ONE_WITHOUT_IN) == 0;
    TrialSettings& settings = own(is_zero ? " on numbers with stretches of -infinity, with zeros as arguments"
                                          : " on numbers with stretches of -infinity");
    settings.data = Data::masked;
    // A factor beside it that is zero as well leaves nothing of what is masked.
    if (const auto one = one_of_real_scalars(*shape.workload, draw); is_zero && one && draw(2) == 0)
      settings.real_scalars_of[*one] = RealScalars::zero;
    else if (is_zero)
      settings.real_scalars = RealScalars::zero;
  }
  std::map<std::size_t, IntegerFill> marked;
  for (std::size_t i = 0; i < accepted.integers.size(); ++i)
    if (const auto fills = accepted.integers[i].marked(*shape.workload); !fills.empty())
      marked[i] = fills[draw(fills.size())];
  if (!marked.empty())
    own(" on integers that the raw kernel compares with").integers = std::move(marked);
  std::map<std::size_t, IntegerFill> sorted;
  for (std::size_t i = 0; i < accepted.integers.size(); ++i)
    if (accepted.integers[i].sorted_ends)
      sorted[i] = {IntegerFill::Kind::sorted_ends};
  if (!sorted.empty())
    own(" on sorted integers of which the last are the largest of their type").integers = std::move(sorted);
  if (const TrialSettings together = several_arguments(shape, accepted, usual, draw); together != usual) {
    TrialSettings& settings =
        own(" with several arguments changed together, each of which the raw kernel takes alone");
    settings = together;
    settings.seed = own_seed;
    settings.data = drawn_of(BESIDE_SCALARS);
  }
  // What a template does at once for neighbours that go to one place, beside what only some of them are.
  if (auto stretches = in_stretches(*shape.workload); !stretches.empty()) {
    TrialSettings& settings = own(" on integers of which neighbours are equal");
    settings.integers = std::move(stretches);
    settings.data = shape.nans && (own_seed >> 7 & 1) != 0 ? Data::nans : Data::usual;
  }
  // Exact halves among their products, which two ways of rounding tell apart.
  if (const auto integers = free_integers(*shape.workload); !integers.empty() && draw(2) == 0) {
    TrialSettings& settings = own(" on integers that are powers of two");
    for (const std::size_t i : integers)
      settings.integers[i] = {IntegerFill::Kind::powers};
  }
  if (const auto integers = free_integers(*shape.workload); !integers.empty() && !accepted.dividing.empty()) {
    TrialSettings& settings = own(" on integers about multiples of numbers in the raw kernel's text");
    for (const std::size_t i : integers)
      settings.integers[i] = {IntegerFill::Kind::edges, 0, 0, accepted.dividing};
  }
  // What a template does once for a tile: where there is nothing in it, or the same everywhere.
  if (auto fills = in_long_stretches(*shape.workload, draw);
      !fills.empty() || has_real_inputs(*shape.workload)) {
    TrialSettings& settings = own(fills.empty() ? " on zeros with few other numbers among them"
                                                : " on integers that are equal over long stretches");
    if (fills.empty() || (draw(3) == 0 && has_real_inputs(*shape.workload)))
      settings.data = Data::sparse;
    settings.integers = std::move(fills);
    if (configuration.flag_is_set())
      demands.back().otherwise = Otherwise::told;
  }
  // Of such a tile with a NaN in it, too.
  if (shape.nans && has_real_inputs(*shape.workload)) {
    own(" on zeros with few NaN among them").data = Data::sparse_nans;
    if (configuration.flag_is_set())
      demands.back().otherwise = Otherwise::told;
  }
  // Numbers that stand for several in one of the template's own.
  if (const auto factors = factors_of(accepted.of_template); !factors.empty()) {
    std::map<std::size_t, IntegerFill> fills;
    const std::uint64_t factor = factors[draw(factors.size())];
    for (const std::size_t i : free_integers(*shape.workload))
      if (i < accepted.integers.size() && holds(shape.workload->buffers[i], accepted.integers[i], factor + 1))
        fills[i] = {IntegerFill::Kind::multiples, 0, factor};
    if (fills.size() > 1 && draw(2) == 0)
      fills = {*std::next(fills.begin(), static_cast<std::ptrdiff_t>(draw(fills.size())))};
    if (!fills.empty()) {
      own(" on integers of which a number of the template's own makes others").integers = std::move(fills);
      demands.back().is_told_apart = true;
    }
  }
  // On the data by which they were found.
  if (!accepted.deciding.empty()) {
    const DecidingScalar& one = accepted.deciding[draw(accepted.deciding.size())];
    for (const double number : {one.below, one.above})
      demand(nullptr, " with a real number as argument by equality with which the raw kernel decides")
          .real_numbers[one.parameter] = number;
  }
  if (!accepted.infinite.empty()) {
    const InfiniteScalar& one = accepted.infinite[draw(accepted.infinite.size())];
    TrialSettings& settings = own(
        one.value < 0 ? " with -infinity for a real number among the arguments, which the raw kernel takes"
                      : " with infinity for a real number among the arguments, which the raw kernel takes");
    settings.real_numbers[one.parameter] = one.value;
    settings.other_switches = shape.other_switches && draw(2) == 0;
  }
  TrialSettings& other_data = demand(nullptr, " on other data");
  other_data.seed = own_seed;
  other_data.poison = 1;
  for (Demand& one : demands)
    if (one.settings.data == Data::coarse)
      one.settings.numbers = accepted.numbers;
  return demands;
}

} // namespace lathe::refactor
