// What addresses are made of, and what precedes accesses, beyond the analyses of KernelIr. Used inside the
// guard only.
#pragma once

#include "refactor/guard/kernel_ir.h"

#include <llvm/IR/Argument.h>
#include <llvm/IR/Dominators.h>

#include <map>
#include <string>
#include <vector>

namespace lathe::refactor {

// Whether a scalar parameter does nothing but scale addresses: it is multiplied and added on its way to
// accesses, and decides, divides and is stored nowhere.
bool is_stride(const llvm::Argument& parameter);
// Whether it also divides numbers, and does nothing else: the size of a page, of a group of heads.
bool is_divisor(const llvm::Argument& parameter);

// Up to which bit a value from memory reaches an address at most, and whether bits of it are left out.
struct IndexBits {
  unsigned arriving = 0;
  bool is_piece = true;
  void widen(const IndexBits& other);
};

// Values loaded from memory that the pointer is computed from, by the root that each came from; pieces of one
// value together.
std::map<std::string, IndexBits> index_bits(KernelIr& kernel, llvm::Value* pointer);

// Waits for the launch that the kernel's depends on.
bool is_launch_wait(const llvm::Instruction& instruction);
bool is_atomic(const llvm::Instruction& instruction);

// The places at which a kernel does something that others have to come after.
class Milestones {
public:
  Milestones(llvm::Function& kernel, bool (*is_one)(const llvm::Instruction&));
  // Whether the kernel has passed one whenever the instruction is executed.
  bool before(const llvm::Instruction& instruction) const;
  // Whether it may have: some path leads from one to the instruction.
  bool may_be_before(const llvm::Instruction& instruction) const;

private:
  llvm::DominatorTree tree_;
  std::vector<const llvm::Instruction*> places_;
};

} // namespace lathe::refactor
