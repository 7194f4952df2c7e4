// Which sizes an address is computed from, of kernels in LLVM IR: not those that only say how it is aligned.
#include "tests/refactor/guard/kernel_of_ir.h"

#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <set>
#include <string>

namespace lathe::refactor {
namespace {

// Parameters of which the address of what is stored is made: %out is parameter 0, %in 1, %stride 2, %n 3.
// `body` computes %to from %row, the start of a row of %in.
std::set<int> parameters_of_address(const std::string& body) {
  const std::string text = R"(
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define void @kernel(ptr %out, ptr %in, i64 %stride, i64 %n) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %b = zext i32 %block to i64
  %start = mul i64 %b, %stride
  %row = getelementptr i16, ptr %in, i64 %start
)" + body + R"(
  store i16 1, ptr %to
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"kernel", i32 1}
)";
  const auto kernel = kernel_of_ir(text, {128, 1, 1});
  for (llvm::Instruction& instruction : llvm::instructions(kernel->function()))
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
      return kernel->scalars_in(store->getPointerOperand());
  ADD_FAILURE() << "nothing is stored";
  return {};
}

TEST(AddressParameters, ElementsInFrontOfAPackAreCountedByTheAlignment) {
  EXPECT_EQ(parameters_of_address("%address = ptrtoint ptr %row to i64\n"
                                  "%behind = sub i64 0, %address\n"
                                  "%bytes = and i64 %behind, 15\n"
                                  "%in_front = lshr i64 %bytes, 1\n"
                                  "%at = add i64 %in_front, %n\n"
                                  "%to = getelementptr i16, ptr %out, i64 %at"),
            (std::set<int>{3}));
}

TEST(AddressParameters, AStrideIsOne) {
  EXPECT_EQ(parameters_of_address("%to = getelementptr i16, ptr %row, i64 %n"), (std::set<int>{2, 3}));
}

// More bits than a pack's are a place, as a hash table's slot is.
TEST(AddressParameters, ManyBitsOfAnAddressAreMore) {
  EXPECT_EQ(parameters_of_address("%address = ptrtoint ptr %row to i64\n"
                                  "%slot = and i64 %address, 4095\n"
                                  "%to = getelementptr i16, ptr %out, i64 %slot"),
            (std::set<int>{2}));
}

TEST(AddressParameters, BitsOfANumberAreTheNumbers) {
  EXPECT_EQ(parameters_of_address("%digit = and i64 %stride, 15\n"
                                  "%to = getelementptr i16, ptr %out, i64 %digit"),
            (std::set<int>{2}));
}

} // namespace
} // namespace lathe::refactor
