// Kernels that the tests of the rules rewrite, with the facts of their launches.
#pragma once

#include "refactor/rewrite/rewrite.h"

#include <string>
#include <vector>

namespace lathe::refactor::testing {

struct Facts {
  std::string text;
  std::string instance; // its name up to `<` is the kernel's
  std::vector<std::string> grid{"n"}, block{"256"};
  std::string shared = "0";
  std::vector<std::string> dimensions{"n", "d"};
  std::vector<std::string> dtypes{"bf16", "f16", "f32"}; // of T; empty: no type parameter
};

Candidate make_candidate(const Facts& facts);

// The report of one rule applied alone.
struct Outcome {
  RuleReport report;
  Candidate candidate;
  const Knob* knob(const std::string& name) const;
  bool has(const std::string& fragment) const { return candidate.text.find(fragment) != std::string::npos; }
  bool has_condition(const std::string& fragment) const;
};
Outcome apply_rule(const std::string& rule, const Facts& facts);

// The instance with T as `dtype` and every knob at its default, or at the value that `values` gives.
std::string bound_instance(const Candidate& candidate, const std::string& dtype,
                           const std::map<std::string, std::int64_t>& values = {});

// The machine code of an instance (the bytes of `.text.<entry>`), or the compiler's message behind "error: ".
std::string machine_code(const std::string& text, const std::string& instance);
// The raw text with the candidate's preconditions at the start of the kernel's body.
std::string with_preconditions(const std::string& raw_text, const Candidate& candidate);

// A kernel `k` of that body, and the facts of its launch.
std::string kernel(const std::string& body, const std::string& before = "",
                   const std::string& parameters = "float* out, const float* in, int n, int d");
Facts plain(const std::string& text, std::vector<std::string> block = {"256"},
            std::vector<std::string> grid = {"n"});

// One row of a table: what a rule takes or refuses.
struct Row {
  const char* name;
  std::string rule;
  Facts facts;
  std::string knob;   // added, or empty: refused
  std::string reason; // part of the refusal
};
void check(const Row& row);

extern const char* const strided;   // out = 2 * in, a row a block, threads stride over it
extern const char* const guarded;   // out = in + 1, one element a thread, bounded
extern const char* const reduction; // row sums by warps, blockDim threads
extern const char* const packed;    // uint4 packs of 16 / sizeof(T) elements, one a thread

// One element a thread: `before` the guard, and the work behind it.
Facts one_a_thread(const std::string& guard, const std::string& work, const std::string& before = "",
                   const std::string& functions = "");

} // namespace lathe::refactor::testing
