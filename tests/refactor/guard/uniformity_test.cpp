// Which branches the threads of a block, a warp and a tile take alike, of kernels in LLVM IR.
#include "refactor/guard/warp_masks.h"
#include "tests/refactor/guard/kernel_of_ir.h"

#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <memory>
#include <string>

namespace lathe::refactor {
namespace {

constexpr std::array<std::uint32_t, 3> BLOCK{128, 1, 1};

class Kernel {
public:
  // `body` computes %goes, on which a store hangs, from %x, the thread's place in its block, %n, and %own, a
  // number of its own.
  explicit Kernel(const std::string& body) {
    const std::string text = R"(
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i32 @llvm.nvvm.barrier0.or(i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
define void @kernel(ptr %numbers, i32 %n) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i32, ptr %numbers, i32 %x
  %own = load i32, ptr %place
  %is_own = icmp sgt i32 %own, 0
)" + body + R"(
  br i1 %goes, label %yes, label %no
yes:
  store i32 1, ptr %numbers
  br label %no
no:
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"kernel", i32 1}
)";
    kernel_ = kernel_of_ir(text, BLOCK);
  }

  bool diverges(Together together) {
    for (const llvm::Instruction& instruction : llvm::instructions(kernel_->function()))
      if (llvm::isa<llvm::StoreInst>(instruction))
        return kernel_->is_divergent(instruction, together);
    ADD_FAILURE() << "nothing is stored";
    return false;
  }

  // Of the first vote or exchange.
  unsigned lanes() { return lanes_of_mask(primitive(), BLOCK); }
  std::string mask() { return warp_mask(primitive(), BLOCK); }

private:
  const llvm::CallBase& primitive() {
    const llvm::CallBase* found = nullptr;
    for (const llvm::Instruction& instruction : llvm::instructions(kernel_->function()))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
          call && call->arg_size() >= 2 && !found)
        found = call;
    return *found;
  }

  std::unique_ptr<KernelIr> kernel_;
};

constexpr Together EIGHT{8};

TEST(Uniformity, TheNumberOfATileIsTheSameForItsLanesAlone) {
  Kernel kernel("%row = lshr i32 %x, 3\n %goes = icmp ult i32 %row, %n");
  EXPECT_FALSE(kernel.diverges(EIGHT));
  EXPECT_FALSE(kernel.diverges(Together{4}));
  EXPECT_TRUE(kernel.diverges(Together{16}));
  EXPECT_TRUE(kernel.diverges(Together::warp));
}

TEST(Uniformity, AVoteOfAllLanesIsTheSameForTheWarp) {
  Kernel kernel(
      "%votes = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %is_own)\n %goes = icmp ne i32 %votes, 0");
  EXPECT_EQ(kernel.lanes(), 32u);
  EXPECT_FALSE(kernel.diverges(Together::warp));
  EXPECT_FALSE(kernel.diverges(EIGHT));
  EXPECT_TRUE(kernel.diverges(Together::block));
}

TEST(Uniformity, AVoteOfATileIsNotTheSameForTheWarp) {
  Kernel kernel("%begin = and i32 %x, 24\n %mask = shl i32 255, %begin\n"
                "%votes = call i32 @llvm.nvvm.vote.ballot.sync(i32 %mask, i1 %is_own)\n"
                "%goes = icmp ne i32 %votes, 0");
  EXPECT_EQ(kernel.lanes(), 8u);
  EXPECT_FALSE(kernel.diverges(EIGHT));
  EXPECT_TRUE(kernel.diverges(Together{16}));
  EXPECT_TRUE(kernel.diverges(Together::warp));
}

TEST(Uniformity, AVoteOfTheLanesThatAComparisonNamesIsNobodys) {
  Kernel kernel("%mask = select i1 %is_own, i32 255, i32 -256\n"
                "%votes = call i32 @llvm.nvvm.vote.ballot.sync(i32 %mask, i1 %is_own)\n"
                "%goes = icmp ne i32 %votes, 0");
  EXPECT_EQ(kernel.lanes(), 0u);
  EXPECT_TRUE(kernel.diverges(EIGHT));
}

TEST(Uniformity, ABarrierThatVotesIsTheSameForTheBlock) {
  Kernel kernel("%bit = zext i1 %is_own to i32\n %any = call i32 @llvm.nvvm.barrier0.or(i32 %bit)\n"
                "%goes = icmp ne i32 %any, 0");
  EXPECT_FALSE(kernel.diverges(Together::block));
}

TEST(Uniformity, OneLanesNumberHandedRoundIsTheSame) {
  Kernel kernel("%first = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %own, i32 0, i32 31)\n"
                "%goes = icmp ne i32 %first, 0");
  EXPECT_FALSE(kernel.diverges(Together::warp));
  Kernel within_eight("%first = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %own, i32 0, i32 6175)\n"
                      "%goes = icmp ne i32 %first, 0");
  EXPECT_FALSE(within_eight.diverges(EIGHT));
  EXPECT_TRUE(within_eight.diverges(Together::warp));
  Kernel of_each("%other = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %own, i32 %x, i32 31)\n"
                 "%goes = icmp ne i32 %other, 0");
  EXPECT_TRUE(of_each.diverges(Together::warp));
  Kernel crosswise("%other = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %own, i32 1, i32 31)\n"
                   "%goes = icmp ne i32 %other, 0");
  EXPECT_TRUE(crosswise.diverges(Together::warp));
}

TEST(Uniformity, WaysThatBringTheSameAreOne) {
  const auto by_two_ways = [](const char* told) {
    return std::string("%is_first = icmp eq i32 %x, 0\n %none = icmp eq i32 %n, 0\n"
                       "br i1 %none, label %early, label %long\n"
                       "early:\n %one = atomicrmw add ptr %numbers, i32 1 monotonic\n"
                       "br i1 %is_first, label %told, label %met\n"
                       "told:\n %two = atomicrmw add ptr %numbers, i32 2 monotonic\n br label %met\n"
                       "long:\n %three = atomicrmw add ptr %numbers, i32 3 monotonic\n br label %met\n"
                       "met:\n %way = phi i32 [ 4, %early ], [ ") +
           told + ", %told ], [ %n, %long ]\n %goes = icmp eq i32 %way, 4";
  };
  EXPECT_FALSE(Kernel(by_two_ways("4")).diverges(Together::block));
  EXPECT_TRUE(Kernel(by_two_ways("5")).diverges(Together::block));
  EXPECT_TRUE(Kernel(by_two_ways("%x")).diverges(Together::block));
}

TEST(WarpMasks, AnExchangeAmongTheLanesOfATileReachesNoOther) {
  const auto crosswise = [](const char* distance, const char* segments) {
    return "%begin = and i32 %x, 24\n %mask = shl i32 255, %begin\n %other = call i32 "
           "@llvm.nvvm.shfl.sync.bfly.i32(i32 %mask, i32 %own, i32 " +
           std::string(distance) + ", i32 " + segments + ")\n %goes = icmp ne i32 %other, 0";
  };
  EXPECT_EQ(Kernel(crosswise("4", "31")).mask(), "tiles of 8");   // less than the tile's lanes
  EXPECT_EQ(Kernel(crosswise("8", "6175")).mask(), "tiles of 8"); // in segments of 8
  EXPECT_EQ(Kernel(crosswise("8", "31")).mask(), "computed mask");
}

} // namespace
} // namespace lathe::refactor
