#include "refactor/extract/lambda_annotations.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

TEST(LambdaAnnotations, StayBehindWhereverTheyStand) {
  EXPECT_EQ(without_lambda_annotations("each(x, [by] __device__(float a) { return by * a; });"),
            "each(x, [by] (float a) { return by * a; });");
  EXPECT_EQ(without_lambda_annotations("auto f = [&](float a) __device__ { return a; };"),
            "auto f = [&](float a) { return a; };");
  EXPECT_EQ(without_lambda_annotations("auto f = [=] __host__ __device__ (int a) { return a; };"),
            "auto f = [=] (int a) { return a; };");
}

TEST(LambdaAnnotations, ThoseOfFunctionsStay) {
  for (const char* text : {"[[nodiscard]] __device__ float f(float a) { return a; }",
                           "x[i]; __device__ float f(float a);", "auto f = [&](float a) { return a; };"})
    EXPECT_EQ(without_lambda_annotations(text), text);
}

} // namespace
} // namespace lathe::refactor
