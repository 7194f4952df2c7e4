// What a candidate says about its launch, for reading index arithmetic as Lathe expressions. Internal to this
// folder.
#pragma once

#include "refactor/knobs/launch_expression.h"
#include "refactor/knobs/whole_rounds.h"
#include "refactor/rewrite/rule_support.h"

namespace lathe::refactor {

// Refers to both arguments.
LaunchFacts launch_facts_of(const KernelInfo& kernel, const Candidate& candidate);

// Adds that nothing is left over of what each loop's rounds cover; `unless`: in front of each, such as
// "BLOCK == 0 || ". A reason where a number of rounds is not known before the launch.
std::optional<std::string> keep_rounds_whole(const KernelView& view, const LaunchFacts& facts,
                                             const std::vector<WholeRounds>& rounds,
                                             const std::string& unless, std::vector<Condition>& conditions);

// Bytes of a type as written: a number, or "sizeof_T" of a type parameter.
std::optional<std::string> size_of_type(const Candidate& candidate, const std::string& type);

} // namespace lathe::refactor
