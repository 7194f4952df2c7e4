// Logs as compute-sanitizer 2025.3 writes them on an H100, shortened to a record each.
#include "refactor/guard/sanitizer_log.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

TEST(SanitizerLog, AnAccessOutOfBounds) {
  const auto findings = parse_sanitizer_log("========= COMPUTE-SANITIZER\n"
                                            "========= Invalid __shared__ write of size 4 bytes\n"
                                            "=========     at _Z5shoobILi7EEvPii+0xb0\n"
                                            "=========     by thread (28,0,0) in block (0,0,0)\n"
                                            "=========     Access to 0x480 is out of bounds\n"
                                            "========= \n"
                                            "========= Program hit cudaErrorLaunchFailure (error 719) due to "
                                            "\"unspecified launch failure\" on CUDA "
                                            "API call to cudaDeviceSynchronize.\n"
                                            "========= \n"
                                            "========= ERROR SUMMARY: 2 errors\n");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, "Invalid __shared__ write of size 4 bytes");
  EXPECT_EQ(findings[0].kernel, "void shoob<7>(int*, int)");
  EXPECT_EQ(findings[0].detail, "by thread (28,0,0) in block (0,0,0), Access to 0x480 is out of bounds");
}

TEST(SanitizerLog, ARaceIsBothOfItsAccesses) {
  const auto findings =
      parse_sanitizer_log("========= COMPUTE-SANITIZER\n"
                          "========= Error: Race reported between Write access at _Z4raceILi7EEvPi+0x90\n"
                          "=========     and Read access at _Z4raceILi7EEvPi+0xa0 [248 hazards]\n"
                          "========= \n"
                          "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, "Race reported between Write access and Read access");
  EXPECT_EQ(findings[0].kernel, "void race<7>(int*)");
}

TEST(SanitizerLog, TheSameMistakeOfTwoKernelsIsOfOneKind) {
  const auto findings = parse_sanitizer_log("========= Barrier error detected. Divergent thread(s) in warp.\n"
                                            "=========     at _Z7divergeILi7EEvPi+0x70\n"
                                            "=========     by thread (0,0,0) in block (0,0,0)\n"
                                            "========= \n"
                                            "========= Barrier error detected. Divergent thread(s) in warp.\n"
                                            "=========     at _Z6othersPi+0x1f0\n"
                                            "=========     by thread (3,0,0) in block (9,0,0)\n"
                                            "========= \n");
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].kind, findings[1].kind);
  EXPECT_NE(findings[0].kernel, findings[1].kernel);
}

TEST(SanitizerLog, KernelsThatCheckResultsAreNobodys) {
  EXPECT_TRUE(parse_sanitizer_log("========= Uninitialized __global__ memory read of size 4 bytes\n"
                                  "=========     at lathe_compare+0x60\n"
                                  "=========     by thread (0,0,0) in block (0,0,0)\n"
                                  "========= \n")
                  .empty());
}

TEST(SanitizerLog, APartBetweenRecords) {
  EXPECT_TRUE(parse_sanitizer_log("").empty());
  EXPECT_TRUE(parse_sanitizer_log("========= COMPUTE-SANITIZER\n").empty());
  EXPECT_TRUE(parse_sanitizer_log("========= ERROR SUMMARY: 0 errors\n").empty());
}

} // namespace
} // namespace lathe::refactor
