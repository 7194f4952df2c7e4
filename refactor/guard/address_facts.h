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

// Values loaded from memory that the pointer is computed from: by the root that each came from, up to which
// bit they reach the address at most, pieces of one value together.
std::map<std::string, unsigned> index_bits(KernelIr& kernel, llvm::Value* pointer);

// The places at which a kernel waits for the launch that it depends on.
class LaunchWaits {
public:
  explicit LaunchWaits(llvm::Function& kernel);
  // Whether the kernel has waited whenever the instruction is executed.
  bool before(const llvm::Instruction& instruction) const;

private:
  llvm::DominatorTree tree_;
  std::vector<const llvm::Instruction*> waits_;
};

} // namespace lathe::refactor
