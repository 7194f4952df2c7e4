// What limits a kernel: the counters of one launch, and the bottleneck that they show.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// One launch, with a cold L2, as CUPTI's range profiler saw it. Shares lie between 0 and 1.
struct Profile {
  // Under the profiler's own conditions; never a time to report, only what the shares refer to.
  double duration_us = 0;
  double dram = 0;      // of the peak DRAM bandwidth
  double l2 = 0;        // of the peak rate of L2 sectors
  double l1 = 0;        // of the peak rate of the L1's data pipe (wavefronts), shared memory included
  double issue = 0;     // of the issue slots
  double sm_active = 0; // of the multiprocessors' time: below 1, some have no block
  double occupancy = 0; // resident warps of what the multiprocessor can hold, while it is active
  double l2_hit_rate = 0;
  double bank_conflicts = 0;           // of the wavefronts of shared memory, how many are repeats
  double sectors_per_load = 0;         // 32-byte sectors a global load instruction of a warp touches
  std::map<std::string, double> stall; // by reason: share of a resident warp's time; "selected" is work
  bool operator==(const Profile&) const = default;
};

// The metrics that a Profile is made of, by CUPTI's names; a chip may lack some of them.
const std::vector<std::string>& profile_metrics();
// `values` of `names`; what is not among them stays 0.
Profile profile_of(const std::vector<std::string>& names, const std::vector<double>& values);

struct Bottleneck {
  enum class Kind {
    dram_bandwidth,
    l2_bandwidth,
    l1_bandwidth,   // or shared memory
    bank_conflicts, // of shared memory
    issue_rate,
    parallelism,     // multiprocessors without blocks
    memory_latency,  // warps wait for loads, and too few of them are there to hide it
    synchronisation, // warps wait at barriers
    other_latency,
  };
  Kind kind = Kind::other_latency;
  double level = 0;  // share of the limit that is reached, or of the time that is lost
  std::string words; // one sentence with the numbers
};
std::string_view to_string(Bottleneck::Kind kind);

// The limit that is nearest to its peak, or, where none comes near, what the warps wait for. The thresholds
// are stated in profile.cpp.
Bottleneck find_bottleneck(const Profile& profile);

// One line of the main shares, for tables: "DRAM 71 %, L2 34 %, ...".
std::string describe(const Profile& profile);

// Every number of it by name: the fields as in the JSON, "Stall." and the reason for the stalls.
std::map<std::string, double> profile_counters(const Profile& profile);

// As one line of JSON, and back; nothing where the text is no profile.
std::string profile_json(const Profile& profile);
std::optional<Profile> parse_profile_json(std::string_view text);

} // namespace lathe
