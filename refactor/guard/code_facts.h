// Facts about a kernel's code, read from LLVM IR: clang's own, optimised with the launch's block dimensions
// filled in. After inlining, helper functions, structures and lambdas have disappeared, so that every access
// has a root.
#pragma once

#include "refactor/guard/address_facts.h"
#include "refactor/guard/arithmetic_facts.h"
#include "refactor/guard/fixed_arguments.h"
#include "refactor/guard/guards.h"
#include "refactor/guard/index_arithmetic.h"
#include "refactor/guard/pure_values.h"
#include "tuner/base/result.h"
#include "tuner/spec/spec.h"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::refactor {

// Where a pointer comes from: a kernel parameter ("0", or "2+8" for a pointer at byte 8 of by-value parameter
// 2), "shared", "local", "global <name>", "constant", or "unknown".
using Root = std::string;

struct MemoryUse {
  bool read = false, written = false, atomic = false;
  bool read_only_path = false; // by loads that take it for granted that nobody writes there
  // Scalar parameters (their index) that decide whether an access happens, for every plain store (load): what
  // all of them have in common.
  Guards common_write_guards, common_read_guards;
  // Of those of reads the ones that bound nothing of any load's address (see idle_guards).
  std::set<int> idle_read_guards;
  std::size_t stores = 0, loads = 0;
  std::set<int> address_parameters; // scalar parameters that its addresses are computed from
  // Of indices that its addresses are computed from: where they were read, and how many of their bits arrive.
  std::map<Root, IndexBits> index_bits;
  bool before_wait = false; // accessed where no `griddepcontrol.wait` has been executed in every case
  bool plain_read = false;  // not by an atomic operation
  // So, and where no path from an atomic operation on anything leads.
  bool read_before_atomic = false;
  bool atomic_result_used = false;         // of some atomic operation
  std::set<std::string> atomic_operations; // with their scope: "add system", "llvm.nvvm.atomic.add.gen.i.cta"
};

struct CodeFacts {
  std::string ir; // the optimised function with everything that names it normalised
  std::map<Root, MemoryUse> memory;
  std::map<std::string, int> assembly;      // inline assembly with effects, by normalised text: occurrences
  std::map<std::string, int> pure_assembly; // without: the toolkit's arithmetic on small formats
  std::map<std::string, int>
      calls;        // functions and intrinsics with effects outside memory ("llvm.trap", "vprintf")
  int barriers = 0; // barrier instructions of any kind, and those under a divergent branch
  int divergent_barriers = 0;
  int partial_barriers =
      0; // that may be for a part of the block's threads, or another barrier than the usual one
  // Warp primitives by name with their mask where it is a constant: "shfl.sync.bfly mask=0xffffffff":
  // occurrences, and under a divergent branch.
  std::map<std::string, int> warp_primitives;
  int divergent_warp_primitives = 0;
  std::set<std::string> arithmetic_types;  // of floating-point arithmetic: "half", "float", ...
  std::set<std::string> narrowings;        // of floating-point values: "float->half"
  std::set<std::string> integers_of_reals; // conversions: "float->i32"
  // By axis of the grid what a block's number is multiplied by, at most: where that cannot wrap around, and
  // where it can; 0 where there is none.
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> block_steps;
  std::set<std::string> integers_by_way_of_reals; // of them those that were integers before
  std::set<std::string> approximations;           // "ex2.approx.ftz", "contract"-free fast-math flags
  ArithmeticFacts arithmetic;
  PureValues pure;        // what is computed by arithmetic alone
  std::set<int> nullable; // pointer parameters (their index) that the kernel compares with null
  // Real numbers among the parameters that the kernel compares something with, or what it computes from them.
  std::set<int> compared;
  std::map<std::string, int> fences; // __threadfence() and its like, by scope: occurrences
  std::set<int> used_parameters;
  std::set<int> strides;  // scalar parameters that do nothing but scale addresses
  std::set<int> divisors; // that also divide, and do nothing else
  std::set<SizeProduct> products;
  std::set<NarrowIndex> narrow_indices; // of all addresses
};

// Whether assembly is a copy to shared memory that its thread waits for, or such a wait: cp.async without
// barriers.
bool is_async_copy(std::string_view text);
// Without what does not distinguish assembly texts: how many blanks there are.
std::string normal_assembly(std::string_view text);
// Inline assembly of the toolkit's cache-hint loads and stores: an access, not a new effect.
bool is_plain_access(std::string_view text, bool& is_store);

// What is to be looked at: an instantiated kernel by its mangled name, the block it is launched with, and
// parameters that are constants there.
struct CodeRequest {
  std::string instance, mangled;
  std::array<std::uint32_t, 3> block{1, 1, 1};
  FixedArguments fixed;
};

// `text` is compiled with clang for the device (`arguments`: the flags that parsed it). One result a request,
// in order; fails when the text does not compile.
Result<std::vector<CodeFacts>> code_facts(const std::string& text, const std::filesystem::path& file,
                                          const std::vector<std::string>& arguments,
                                          const std::vector<CodeRequest>& requests);

} // namespace lathe::refactor
