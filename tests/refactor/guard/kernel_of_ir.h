// A kernel written in LLVM IR, as the guard reads it.
#pragma once

#include "refactor/guard/kernel_ir.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <string>

namespace lathe::refactor {

// The text's kernel `kernel`, launched with these threads a block.
inline std::unique_ptr<KernelIr> kernel_of_ir(const std::string& text,
                                              const std::array<std::uint32_t, 3>& block) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  if (module)
    llvm::WriteBitcodeToFile(*module, stream);
  stream.flush();
  auto created = KernelIr::create(bitcode, "kernel", block, {});
  EXPECT_TRUE(created.ok()) << created.error().sentence();
  return std::move(*created);
}

} // namespace lathe::refactor
