// Two kernels of one operator as one: the raw pair of them, and the template whose knob chooses between them.
#pragma once

#include "refactor/rewrite/rewrite.h"

#include <array>
#include <string>

namespace lathe::refactor {

// The knob: 1 is the first kernel, 2 the second; its default is what the launcher's condition says.
struct KernelKnob {
  std::string name; // "KERNEL", or KERNEL_2, ... where a text uses that word
  Expression taken; // the launcher's condition for the first kernel
  std::string why;
};

// Both texts, each in a namespace of its own (kernel_1, kernel_2); launch and instance are choices by the
// knob. Fails where dimensions, types or arguments of the two are not the same.
Result<Candidate> join_raw(const std::array<const Candidate*, 2>& sides, const KernelKnob& knob);

// The template: a kernel of this name that holds both as device functions and calls the one that the knob
// names. A side's own knobs begin with K1_ or K2_, and are held at their defaults where the other side runs;
// its conditions are asked where it runs itself. Fails where a kernel cannot be called from another one, and
// where the result does not parse.
Result<Candidate> join_templates(const std::array<const Candidate*, 2>& sides, const KernelKnob& knob,
                                 const std::string& name, const ParseOptions& options);

// KERNEL, or the like, that none of the texts uses.
std::string kernel_knob_name(const std::array<const Candidate*, 2>& sides);

} // namespace lathe::refactor
