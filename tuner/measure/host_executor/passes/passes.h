// What checked kernels get from a plugin for clang: each pass sees the code before the optimiser does.
#pragma once

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PassManager.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace lathe_passes {

// Whether the function is one of the kernel's text, not of a header: the text says its name in
// `lathe_kernel_file`.
bool is_kernel_text(const llvm::Function& function);

// Leaves a table of variables and their sizes in bytes, ended by a null, that whoever loads the code finds
// under `name`.
void leave_table(llvm::Module& module,
                 const std::vector<std::pair<llvm::GlobalVariable*, std::uint64_t>>& variables,
                 const char* name);

// Copies of structures announce the alignment that they rely on.
struct AnnounceAlignment : llvm::PassInfoMixin<AnnounceAlignment> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
  static bool isRequired() { return true; }
};

// Real numbers out of an integer's range are converted as on a device, and no fault where that is known.
struct AllowConversions : llvm::PassInfoMixin<AllowConversions> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
  static bool isRequired() { return true; }
};

// A thread's own variables hold poison until they are written, and stand between bands that must keep their
// value.
struct WatchLocals : llvm::PassInfoMixin<WatchLocals> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
  static bool isRequired() { return true; }
};

// What marks a thread's own variable that WatchLocals put between bands: a structure of a band, the variable
// and another band.
inline constexpr const char* BANDED = "lathe.banded";

// The variable between bands that an address was plainly computed from, or null.
llvm::AllocaInst* banded_variable_of(llvm::Value* address);

// Functions that are handed a variable between bands become part of those that hand it to them, and variables
// that are only loaded and stored become values.
struct InlineForLocals : llvm::PassInfoMixin<InlineForLocals> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
  static bool isRequired() { return true; }
};

// No access leaves the variable between bands that its address was plainly computed from. After WatchLocals
// and InlineForLocals.
struct CheckLocalBounds : llvm::PassInfoMixin<CheckLocalBounds> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
  static bool isRequired() { return true; }
};

// Variables in shared memory stand apart, and a table says where each is.
struct SeparateShared : llvm::PassInfoMixin<SeparateShared> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
  static bool isRequired() { return true; }
};

// A table says where the variables are that keep their value from one launch to the next.
struct ListGlobals : llvm::PassInfoMixin<ListGlobals> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
  static bool isRequired() { return true; }
};

// Every piece of the kernel's text that runs leaves a mark.
struct MarkReached : llvm::PassInfoMixin<MarkReached> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
  static bool isRequired() { return true; }
};

// Every loop of the kernel's text in which threads exchange something leaves a mark, and another where it
// went on for three rounds.
struct MarkRounds : llvm::PassInfoMixin<MarkRounds> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
  static bool isRequired() { return true; }
};

// Leaves a variable that whoever loads the code finds under its name.
llvm::GlobalVariable* leave_variable(llvm::Module& module, llvm::Constant* content, const char* name,
                                     bool is_constant);

} // namespace lathe_passes
