#include "tuner/profile/profile.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

// A unit this close to its peak is what limits a kernel. The vendor's profiler calls 80 % high utilisation
// and 60 % the point below which latency is the likelier cause (Nsight Compute, Speed Of Light section).
constexpr double NEAR_PEAK = 0.6;
// A multiprocessor that is idle for more than a third of the launch: blocks, not code, are what lacks. Active
// and elapsed cycles are counted in different passes: a launch of eight blocks for each multiprocessor of an
// H200, each of them waiting for loads, was seen anywhere between 76 and 112 % active.
constexpr double BUSY_ENOUGH = 2.0 / 3;
// Repeats beyond this share of the wavefronts are worth naming before the pipe that they fill.
constexpr double MANY_CONFLICTS = 0.25;
// A stall reason with less of a warp's time than this explains nothing.
constexpr double LARGE_STALL = 0.2;

constexpr const char* ELAPSED = ".avg.pct_of_peak_sustained_elapsed";

struct Share {
  std::string metric;
  double Profile::* field;
  double scale;
};

const std::vector<Share>& shares() {
  static const std::vector<Share> all{
      {"gpu__time_duration.sum", &Profile::duration_us, 1e-3},
      {"dram__bytes.sum.pct_of_peak_sustained_elapsed", &Profile::dram, 1e-2},
      {std::string("lts__t_sectors") + ELAPSED, &Profile::l2, 1e-2},
      {std::string("l1tex__data_pipe_lsu_wavefronts") + ELAPSED, &Profile::l1, 1e-2},
      {std::string("smsp__issue_active") + ELAPSED, &Profile::issue, 1e-2},
      {std::string("sm__cycles_active") + ELAPSED, &Profile::sm_active, 1e-2},
      {"sm__warps_active.avg.pct_of_peak_sustained_active", &Profile::occupancy, 1e-2},
      {"lts__t_sector_hit_rate.pct", &Profile::l2_hit_rate, 1e-2},
      {"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", &Profile::sectors_per_load, 1},
  };
  return all;
}

constexpr const char* CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
constexpr const char* WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";

constexpr std::array STALLS{"long_scoreboard",
                            "short_scoreboard",
                            "barrier",
                            "membar",
                            "lg_throttle",
                            "mio_throttle",
                            "tex_throttle",
                            "math_pipe_throttle",
                            "wait",
                            "not_selected",
                            "no_instruction",
                            "branch_resolving",
                            "dispatch_stall",
                            "drain",
                            "imc_miss",
                            "sleeping",
                            "selected"};

std::string stall_metric(const char* reason) {
  return std::string("smsp__average_warps_issue_stalled_") + reason + "_per_issue_active.ratio";
}

double percent(double share) {
  return 100 * share;
}

struct StallMeaning {
  const char* reason;
  Bottleneck::Kind kind;
  const char* words;
};
constexpr std::array MEANINGS{
    StallMeaning{"long_scoreboard", Bottleneck::Kind::memory_latency, "wait for loads from global memory"},
    StallMeaning{"lg_throttle", Bottleneck::Kind::memory_latency, "wait to issue global loads and stores"},
    StallMeaning{"drain", Bottleneck::Kind::memory_latency, "wait for their last stores"},
    StallMeaning{"membar", Bottleneck::Kind::synchronisation, "wait at memory fences"},
    StallMeaning{"barrier", Bottleneck::Kind::synchronisation, "wait at barriers"},
    StallMeaning{"short_scoreboard", Bottleneck::Kind::other_latency,
                 "wait for shared memory or special functions"},
    StallMeaning{"mio_throttle", Bottleneck::Kind::other_latency, "wait for the queue of shared memory"},
    StallMeaning{"math_pipe_throttle", Bottleneck::Kind::issue_rate, "wait for a math pipe"},
    StallMeaning{"not_selected", Bottleneck::Kind::issue_rate, "are ready and wait for their turn"},
    StallMeaning{"wait", Bottleneck::Kind::other_latency, "wait for results of fixed latency"},
    StallMeaning{"no_instruction", Bottleneck::Kind::other_latency, "wait for instructions"},
};

} // namespace

const std::vector<std::string>& profile_metrics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Share& share : shares())
      all.push_back(share.metric);
    all.insert(all.end(), {CONFLICTS, WAVEFRONTS});
    for (const char* reason : STALLS)
      all.push_back(stall_metric(reason));
    return all;
  }();
  return names;
}

Profile profile_of(const std::vector<std::string>& names, const std::vector<double>& values) {
  const auto value = [&](const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    const auto at = static_cast<std::size_t>(found - names.begin());
    return found == names.end() || at >= values.size() || !(values[at] >= 0) ? 0.0 : values[at];
  };
  Profile profile;
  for (const Share& share : shares())
    profile.*share.field = share.scale * value(share.metric);
  if (const double wavefronts = value(WAVEFRONTS); wavefronts > 0)
    profile.bank_conflicts = std::min(1.0, value(CONFLICTS) / wavefronts);
  double warps = 0;
  for (const char* reason : STALLS)
    warps += value(stall_metric(reason));
  for (const char* reason : STALLS)
    if (const double stalled = value(stall_metric(reason)); stalled > 0)
      profile.stall[reason] = stalled / warps;
  return profile;
}

std::string_view to_string(Bottleneck::Kind kind) {
  switch (kind) {
  case Bottleneck::Kind::dram_bandwidth:
    return "DRAM bandwidth";
  case Bottleneck::Kind::l2_bandwidth:
    return "L2 bandwidth";
  case Bottleneck::Kind::l1_bandwidth:
    return "L1 and shared-memory bandwidth";
  case Bottleneck::Kind::bank_conflicts:
    return "shared-memory bank conflicts";
  case Bottleneck::Kind::issue_rate:
    return "instruction issue";
  case Bottleneck::Kind::parallelism:
    return "too few blocks";
  case Bottleneck::Kind::memory_latency:
    return "memory latency";
  case Bottleneck::Kind::synchronisation:
    return "synchronisation";
  case Bottleneck::Kind::other_latency:
    return "latency";
  }
  return "";
}

Bottleneck find_bottleneck(const Profile& profile) {
  using Kind = Bottleneck::Kind;
  const struct {
    Kind kind;
    double level;
    std::string words;
  } limits[] = {
      {Kind::dram_bandwidth, profile.dram,
       fmt::format("DRAM moves {:.0f} % of its peak", percent(profile.dram))},
      {Kind::l2_bandwidth, profile.l2, fmt::format("the L2 moves {:.0f} % of its peak", percent(profile.l2))},
      {Kind::l1_bandwidth, profile.l1,
       fmt::format("the L1's data pipe is at {:.0f} % of its peak", percent(profile.l1))},
      {Kind::issue_rate, profile.issue,
       fmt::format("{:.0f} % of the issue slots are used", percent(profile.issue))},
  };
  const auto* highest = std::max_element(std::begin(limits), std::end(limits),
                                         [](const auto& a, const auto& b) { return a.level < b.level; });
  if (highest->level >= NEAR_PEAK) {
    if (highest->kind == Kind::l1_bandwidth && profile.bank_conflicts >= MANY_CONFLICTS)
      return {Kind::bank_conflicts, profile.bank_conflicts,
              fmt::format("{:.0f} % of the wavefronts of shared memory are repeats of bank conflicts, and {}",
                          percent(profile.bank_conflicts), highest->words)};
    return {highest->kind, highest->level, highest->words};
  }
  const std::string nearest = fmt::format("no unit is near its peak (nearest: {})", highest->words);
  if (profile.sm_active > 0 && profile.sm_active < BUSY_ENOUGH)
    return {Kind::parallelism, 1 - profile.sm_active,
            fmt::format("multiprocessors have no block during {:.0f} % of the launch; {}",
                        percent(1 - profile.sm_active), nearest)};
  const StallMeaning* cause = nullptr;
  double most = LARGE_STALL;
  for (const StallMeaning& meaning : MEANINGS)
    if (const auto found = profile.stall.find(meaning.reason);
        found != profile.stall.end() && found->second >= most) {
      most = found->second;
      cause = &meaning;
    }
  if (!cause)
    return {Kind::other_latency, 1 - highest->level, nearest};
  return {cause->kind, most,
          fmt::format("warps {} during {:.0f} % of their time, with {:.0f} % occupancy; {}", cause->words,
                      percent(most), percent(profile.occupancy), nearest)};
}

std::string describe(const Profile& profile) {
  return fmt::format("DRAM {:.0f} %, L2 {:.0f} %, L1 {:.0f} %, issue {:.0f} %, SMs active {:.0f} %, "
                     "occupancy {:.0f} %",
                     percent(profile.dram), percent(profile.l2), percent(profile.l1), percent(profile.issue),
                     percent(profile.sm_active), percent(profile.occupancy));
}

namespace {

struct JsonField {
  const char* name;
  double Profile::* field;
};
constexpr std::array JSON_FIELDS{JsonField{"DurationMicroseconds", &Profile::duration_us},
                                 JsonField{"Dram", &Profile::dram},
                                 JsonField{"L2", &Profile::l2},
                                 JsonField{"L1", &Profile::l1},
                                 JsonField{"Issue", &Profile::issue},
                                 JsonField{"MultiprocessorsActive", &Profile::sm_active},
                                 JsonField{"Occupancy", &Profile::occupancy},
                                 JsonField{"L2HitRate", &Profile::l2_hit_rate},
                                 JsonField{"BankConflicts", &Profile::bank_conflicts},
                                 JsonField{"SectorsPerLoad", &Profile::sectors_per_load}};

} // namespace

std::map<std::string, double> profile_counters(const Profile& profile) {
  std::map<std::string, double> counters;
  for (const JsonField& field : JSON_FIELDS)
    counters[field.name] = profile.*field.field;
  for (const auto& [reason, share] : profile.stall)
    counters["Stall." + reason] = share;
  return counters;
}

std::string profile_json(const Profile& profile) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const JsonField& field : JSON_FIELDS)
    json[field.name] = profile.*field.field;
  json["Stall"] = profile.stall;
  return json.dump();
}

std::optional<Profile> parse_profile_json(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return std::nullopt;
  Profile profile;
  for (const JsonField& field : JSON_FIELDS) {
    const auto found = json.find(field.name);
    if (found == json.end() || !found->is_number())
      return std::nullopt;
    profile.*field.field = found->get<double>();
  }
  const auto stall = json.find("Stall");
  if (stall == json.end() || !stall->is_object())
    return std::nullopt;
  for (const auto& [reason, share] : stall->items()) {
    if (!share.is_number())
      return std::nullopt;
    profile.stall[reason] = share.get<double>();
  }
  return profile;
}

} // namespace lathe
