// One kernel's optimised LLVM IR and the analyses over it. Used inside the guard only.
#pragma once

#include "refactor/guard/fixed_arguments.h"
#include "refactor/guard/guards.h"
#include "refactor/guard/uniformity.h"
#include "tuner/base/result.h"

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instruction.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace lathe::refactor {

// A block's number times a constant: how many elements blocks are apart. Clang promises for no product of
// numbers without a sign that it fits; where LLVM does, it has seen so, and more bits would make no
// difference.
struct BlockStep {
  std::string axis;
  std::uint64_t elements = 0;
  bool is_wide = false; // never wraps around
};

class KernelIr {
public:
  // `bitcode`: unoptimised device code. Every other kernel is dropped, blockDim becomes `block`, integer
  // parameters their `fixed` value, and clang's -O2 pipeline runs. Fails when the kernel is not in it.
  static Result<std::unique_ptr<KernelIr>> create(std::string_view bitcode, const std::string& mangled,
                                                  const std::array<std::uint32_t, 3>& block,
                                                  const FixedArguments& fixed);
  ~KernelIr();

  llvm::Function& function();
  // Kinds of memory that the pointer may point to (see Root).
  std::set<std::string> roots(llvm::Value* pointer);
  // Parameters of the kernel that decide whether the instruction runs.
  const Guards& guards(const llvm::Instruction& instruction);
  // And those of them that bound nothing of an address that it accesses.
  std::set<int> idle_guards(const llvm::Instruction& instruction, llvm::Value* address);
  // Parameters that the address is kept under by how it is computed.
  std::set<int> bounds_in_address(llvm::Value* address);
  // Threads of a block.
  const std::array<std::uint32_t, 3>& threads() const;
  // Whether a branch that may go different ways for threads of one block, of one warp, or of one tile
  // controls the instruction.
  bool is_divergent(const llvm::Instruction& instruction, Together together);
  // Where the operation multiplies a block's number by a constant.
  static std::optional<BlockStep> block_step(const llvm::BinaryOperator& product);
  // Whether a real number that becomes an integer was made of integers, none of which was loaded since.
  bool is_integer_by_way_of_real(llvm::Instruction& conversion);
  // Scalar parameters that the value is computed from, without going through memory, and but for those that
  // say how an address is aligned.
  std::set<int> scalars_in(llvm::Value* value);
  // The function as text without the names of functions, globals, metadata and attributes.
  std::string normal_text();

private:
  struct State;
  explicit KernelIr(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace lathe::refactor
