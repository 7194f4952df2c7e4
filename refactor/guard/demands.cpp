#include "refactor/guard/demands.h"

namespace lathe::refactor {
namespace {

// A template's run may take this long, and so many times what the raw kernel's took.
constexpr double SECONDS_PER_RUN = 2, TIMES_RAW = 100;

} // namespace

std::vector<Demand> demands_of(const Configuration& configuration, const ReferenceRuns& shape,
                               const std::set<std::size_t>& nullable,
                               const std::vector<AcceptedIntegers>& integers, std::uint64_t seed,
                               std::uint64_t own_seed) {
  TrialSettings usual;
  usual.seed = seed;
  usual.barriers_by_count = shape.meets_by_count;
  usual.time_limit_s = SECONDS_PER_RUN + TIMES_RAW * shape.raw[0].seconds;
  std::vector<Demand> demands;
  const auto demand = [&](const TrialResult* reference, const std::string& suffix,
                          bool is_demanded = true) -> TrialSettings& {
    demands.push_back({usual, reference, suffix, is_demanded});
    return demands.back().settings;
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
  if (shape.accepts_warps_in_turn)
    demand(&shape.raw[0], " with one warp after the other").schedule = HostSchedule::warps;
  if (shape.infinities)
    demand(&*shape.infinities, " on data with infinities and zeros").data = Data::infinities;
  if (shape.nans)
    demand(&*shape.nans, " on data with NaN").data = Data::nans;
  if (shape.one_range)
    demand(&*shape.one_range, " where one range of the offsets holds everything").data = Data::one_range;
  if (shape.other_scalars)
    demand(&*shape.other_scalars, " with other real numbers as arguments").other_scalars = true;
  if (shape.other_switches)
    demand(&*shape.other_switches, " with the other truth values as arguments").other_switches = true;
  if (shape.with_strides_apart)
    demand(&*shape.with_strides_apart,
           " with strides that are not the widths of rows, which the raw kernel accepts")
        .strides_apart = true;
  if (shape.with_other_divisors)
    demand(&*shape.with_other_divisors, " with other numbers to divide by").other_divisors = true;
  for (const auto& [buffers, result] : shape.in_place)
    demand(&result, " with its result in place of an input, which the raw kernel accepts").shared_buffers =
        buffers;
  // Vectors may want more alignment than the raw kernel's scalars; the default may not.
  if (shape.accepts_misalignment)
    demand(&shape.raw[0], " on buffers that start one element off, which the raw kernel accepts",
           configuration.is_default)
        .misalignment = 1;
  // What serves buffers that are all off looks at alignment when it runs: then it must look at each. Every
  // configuration runs at many sizes, so that some of its runs ask for each buffer.
  constexpr std::uint64_t ONE_RUN_IN = 3;
  const std::uint64_t drawn = own_seed >> 8; // seeds are odd
  if (const std::size_t buffers = shape.workload->buffers.size();
      shape.accepts_misalignment && buffers > 1 && drawn % ONE_RUN_IN == 0) {
    TrialSettings& one = demand(nullptr, " on buffers of which one starts one element off");
    one.misalignment = 1;
    one.misaligned_buffer = drawn / ONE_RUN_IN % buffers;
    demands.back().follows = true;
  }
  // Other numbers than random ones around zero, each kind in some of the runs.
  const auto on_data = [&](Data data, IntegerFill::Kind kind, const char* suffix) -> Demand& {
    TrialSettings& settings = demand(nullptr, suffix);
    settings.data = data;
    settings.seed = own_seed; // on which side of zero numbers lie, too
    for (std::size_t i = 0; i < integers.size(); ++i)
      if (const auto fill = integers[i].data(kind))
        settings.integers[i] = *fill;
    return demands.back();
  };
  constexpr std::uint64_t KINDS = 6;
  switch (drawn / ONE_RUN_IN % KINDS) {
  case 0: // two kernels that a launcher chooses between may part at zeros
    on_data(Data::zeros, IntegerFill::Kind::zeros, " on zeros").is_demanded = !configuration.flag_is_set();
    break;
  case 1: // each input on its own side
  case 2:
    on_data(Data::far, IntegerFill::Kind::large, " on numbers far from zero");
    break;
  case 3:
    on_data(Data::huge, IntegerFill::Kind::usual, " on numbers whose squares overflow");
    break;
  case 4:
    on_data(Data::tiny, IntegerFill::Kind::usual, " on numbers whose squares vanish");
    break;
  default:
    on_data(Data::coarse, IntegerFill::Kind::small, " on halves, ties among them");
  }
  // Integers that mean something else: none, below zero; other elements than the first.
  constexpr std::uint64_t ONE_KIND_IN = 2;
  const bool below_zero = drawn / (ONE_RUN_IN * KINDS) % ONE_KIND_IN == 0;
  std::map<std::size_t, IntegerFill> others;
  for (std::size_t i = 0; i < integers.size(); ++i) {
    if (below_zero && integers[i].below_zero)
      others[i] = {*integers[i].below_zero};
    else if (const auto indices = integers[i].indices(*shape.workload, i))
      others[i] = *indices;
  }
  constexpr std::uint64_t ONE_ZERO_IN = 3;
  if (has_real_scalars(*shape.workload) && drawn / (ONE_RUN_IN * KINDS * ONE_KIND_IN) % ONE_ZERO_IN == 0) {
    TrialSettings& settings = demand(nullptr, " with zero for each real number among the arguments");
    settings.zero_scalars = true;
    settings.seed = own_seed;
  }
  if (!others.empty()) {
    TrialSettings& settings = demand(nullptr, " on other integers, which the raw kernel takes");
    settings.integers = std::move(others);
    settings.seed = own_seed;
  }
  for (const std::size_t parameter : nullable)
    demand(nullptr, " where a pointer that the raw kernel compares with null is null").null_parameter =
        parameter;
  TrialSettings& other_data = demand(nullptr, " on other data");
  other_data.seed = own_seed;
  other_data.poison = 1;
  return demands;
}

} // namespace lathe::refactor
