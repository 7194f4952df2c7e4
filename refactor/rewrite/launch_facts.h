// What a candidate says about its launch, for reading index arithmetic as Lathe expressions. Internal to this
// folder.
#pragma once

#include "refactor/knobs/launch_expression.h"
#include "refactor/rewrite/rule_support.h"

namespace lathe::refactor {

// Refers to both arguments.
LaunchFacts launch_facts_of(const KernelInfo& kernel, const Candidate& candidate);

// Bytes of a type as written: a number, or "sizeof_T" of a type parameter.
std::optional<std::string> size_of_type(const Candidate& candidate, const std::string& type);

} // namespace lathe::refactor
