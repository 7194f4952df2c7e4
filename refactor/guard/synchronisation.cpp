// Synchronisation: no barrier or warp primitive of the raw kernel is lost at the defaults, none loses lanes
// of its mask, none moves under a branch that threads of one block may take differently. What the raw kernel
// already does is reported. Whether a barrier that is missing was needed is left to the differential check
// where its runs can tell, and so are races that need more than this to show.
#include "refactor/guard/checks.h"
#include "refactor/guard/missing_barriers.h"

#include <algorithm>

namespace lathe::refactor {
namespace {

// "shfl.sync.bfly.i32" of "shfl.sync.bfly.i32 mask=0xffffffff".
std::string primitive(const std::string& key) {
  return key.substr(0, key.find(' '));
}

bool has_primitive(const std::map<std::string, int>& primitives, const std::string& name) {
  return std::any_of(primitives.begin(), primitives.end(),
                     [&](const auto& entry) { return primitive(entry.first) == name; });
}

constexpr std::string_view SHUFFLE = "shfl.sync.", ALL_LANES = " mask=0xffffffff",
                           COMPUTED_MASK = " computed mask", OF_TILES = " tiles of ";

// Whether a primitive hands values round among lanes, and does nothing else: shuffles, sums of lanes, votes
// and matches.
bool is_exchange(std::string_view key) {
  constexpr std::string_view EXCHANGES[] = {SHUFFLE, "redux.sync.", "vote.", "match."};
  return std::ranges::any_of(EXCHANGES, [&](std::string_view name) { return key.starts_with(name); });
}

// Whether there is a shuffle, with that mask.
bool has_shuffle(const std::map<std::string, int>& primitives, std::string_view mask) {
  return std::ranges::any_of(primitives, [&](const auto& entry) {
    return entry.first.starts_with(SHUFFLE) && entry.first.ends_with(mask);
  });
}

// Whether values are handed round among the lanes of that mask.
bool has_exchange(const std::map<std::string, int>& primitives, std::string_view mask) {
  return std::ranges::any_of(
      primitives, [&](const auto& entry) { return is_exchange(entry.first) && entry.first.ends_with(mask); });
}

// Whether the raw kernel has this primitive for lanes that it computes: a tile's, or others. That no named
// lane is missing, runs see.
bool has_computed_lanes(const std::map<std::string, int>& raw, const std::string& key) {
  return std::ranges::any_of(raw, [&](const auto& entry) {
    return primitive(entry.first) == primitive(key) &&
           (entry.first.ends_with(COMPUTED_MASK) || entry.first.find(OF_TILES) != std::string::npos);
  });
}

// Among the lanes of each one's own tile, where the raw kernel names the whole warp, or lanes by tiles of
// another size or in another way.
bool is_among_tiles(const std::map<std::string, int>& raw, const std::string& key) {
  const bool is_of_tiles = key.find(OF_TILES) != std::string::npos;
  return (is_of_tiles && has_shuffle(raw, ALL_LANES)) ||
         ((is_of_tiles || key.ends_with(COMPUTED_MASK)) && key.starts_with(SHUFFLE) &&
          has_computed_lanes(raw, key));
}

// Among all lanes of warps that run together, where the raw kernel computes which lanes take part: groups as
// wide as a warp are such.
bool is_of_whole_warps(const CodeFacts& raw, const CodeFacts& templated, const std::string& key) {
  return key.starts_with(SHUFFLE) && key.ends_with(ALL_LANES) && templated.divergent_warp_primitives == 0 &&
         has_computed_lanes(raw.warp_primitives, key);
}

// Whether threads leave values for each other in shared memory, and wait for them: what was handed round
// among lanes may go that way.
bool hands_round_in_memory(const CodeFacts& facts) {
  const auto shared = facts.memory.find("shared");
  return shared != facts.memory.end() && shared->second.read && shared->second.written &&
         (facts.barriers > 0 || has_primitive(facts.warp_primitives, "bar.warp.sync"));
}

// "membar.cta", the narrowest of CUDA's fences.
bool is_of_block(const std::string& fence) {
  return fence.find(".cta") != std::string::npos;
}

} // namespace

CheckResult check_synchronisation(const JudgedPair& subject) {
  Findings findings("synchronisation");
  std::size_t judged = 0;
  int barriers = 0;
  bool fewer_elsewhere = false; // than the raw kernel, away from the defaults
  for (const FactPair& pair : fact_pairs(subject)) {
    if (!pair.raw || !pair.raw_at_size || !pair.templated)
      continue;
    ++judged;
    const CodeFacts &raw = *pair.raw, &at_size = *pair.raw_at_size, &templated = *pair.templated;
    barriers = std::max(barriers, raw.barriers);
    const std::string where = " at " + pair.configuration->text();
    const bool is_default = pair.configuration->is_default;
    if (templated.barriers < raw.barriers && templated.barriers > 0 && !is_default) {
      fewer_elsewhere = true;
      findings.report("the template has " + counted_barriers(templated.barriers) +
                      " where the raw kernel has " + std::to_string(raw.barriers) + where +
                      ": permuted schedules stand in");
    }
    for (const auto& [scope, count] : at_size.fences)
      if (!templated.fences.contains(scope))
        findings.fail("the template lost its memory fence (" + scope + ")" + where);
    for (const auto& [scope, count] : templated.fences)
      if (!raw.fences.empty() && !raw.fences.contains(scope) && is_of_block(scope))
        findings.fail("the template has a memory fence for a block alone (" + scope +
                      "), and the raw kernel none" + where);
    const FencePlaces &raws = pair.raw_source->fences, &own = pair.template_source->fences;
    if (own.count < raws.count)
      findings.fail("the template has " + std::to_string(own.count) +
                    " memory fences where the raw kernel has " + std::to_string(raws.count) + where);
    for (const std::string& place : own.places)
      if (raws.count > 0 && !raws.places.contains(place))
        findings.fail("a memory fence stands " + place + ", where the raw kernel has none" + where);
    for (const std::string& place : raws.places)
      if (!own.places.contains(place))
        findings.fail("no memory fence stands " + place + ", where the raw kernel has one" + where);
    if (templated.divergent_barriers > 0 && raw.divergent_barriers == 0)
      findings.fail("a barrier stands under a branch that threads of a block may take differently" + where);
    else if (raw.divergent_barriers > 0)
      findings.report(
          "the raw kernel itself has barriers that threads may miss (some return or branch before them)");
    for (const auto& [key, count] : templated.warp_primitives) {
      if (raw.warp_primitives.contains(key))
        continue;
      if (has_primitive(raw.warp_primitives, primitive(key)) && !is_among_tiles(raw.warp_primitives, key) &&
          !is_of_whole_warps(raw, templated, key))
        findings.fail("a warp primitive has another mask (" + key + ")" + where);
      else
        findings.report("the template adds " + key + where);
    }
    for (const auto& [key, count] : at_size.warp_primitives) {
      if (has_primitive(templated.warp_primitives, primitive(key)))
        continue;
      // What is handed round runs see, and it orders nothing: another exchange among the same lanes may do,
      // or shared memory, of which runs see the races.
      const std::string_view mask = std::string_view(key).substr(primitive(key).size());
      const bool is_replaced = is_exchange(key) && (has_exchange(templated.warp_primitives, mask) ||
                                                    hands_round_in_memory(templated));
      if (is_default && !is_replaced)
        findings.fail("the template lost " + key + where);
      else
        findings.report("the template has no " + key + where);
    }
    if (templated.divergent_warp_primitives > 0 && raw.divergent_warp_primitives == 0)
      findings.fail("a warp primitive moved under a branch that threads may take differently" + where);
  }
  if (judged == 0)
    findings.undecided("there is no LLVM IR to look at");
  const MissingBarriers missing = missing_barriers(subject);
  if (missing.is_asked())
    return findings.conclude(Verdict::tested,
                             "a barrier is missing, and runs say whether it was needed: the template has " +
                                 missing.where);
  if (!missing.where.empty())
    findings.fail("the template has " + missing.where + "; runs cannot tell whether it was needed, for " +
                  missing.obstacle);
  const std::string instances = ", in " + std::to_string(judged) + " instances";
  if (barriers == 0)
    return findings.conclude(Verdict::proved,
                             "the raw kernel has no barrier, and none of its warp primitives changed" +
                                 instances);
  return findings.conclude(Verdict::proved,
                           (fewer_elsewhere
                                ? "no barrier or warp primitive is lost at the defaults"
                                : "barriers and warp primitives stand where the raw kernel has them") +
                               instances);
}

} // namespace lathe::refactor
