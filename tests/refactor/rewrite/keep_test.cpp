// keep-in-registers: what may stay in registers, and all that speaks against it.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include "tuner/compile/compile.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

class Keep : public ::testing::TestWithParam<Row> {};

TEST_P(Keep, TakesOrRefuses) {
  check(GetParam());
}

// A row goes to shared memory in one loop and comes back in another.
const std::string row_in =
    "  extern __shared__ float row[];\n  for (int i = threadIdx.x; i < d; i += blockDim.x) ";
const std::string row_out = "\n  __syncthreads();\n  for (int i = threadIdx.x; i < d; i += blockDim.x) ";
const std::string copy_in = row_in + "row[i] = in[i];" + row_out;

const std::string vector_type =
    "struct four {\n  float4 bits[1];\n"
    "  __device__ void load(const float* p) {\n    for (int k = 0; k < 1; ++k) bits[k] "
    "= reinterpret_cast<const float4*>(p)[k];\n  }\n"
    "  __device__ void store(float* p) {\n    for (int k = 0; k < 1; ++k) "
    "reinterpret_cast<float4*>(p)[k] = bits[k];\n  }\n};\n";

// What a method makes of the memory need not be known: `half` reads and converts.
const std::string reading_type =
    "struct pair {\n  float low, high;\n"
    "  __device__ void fill(float v) { low = v; high = v; }\n"
    "  __device__ void half(const float* p) {\n    low = 0.5f * p[0];\n    high = 0.5f * p[1];\n  }\n"
    "  __device__ void whole(const float* p) {\n    low = p[0];\n    high = p[1];\n  }\n"
    "  __device__ void together(const float* p) {\n    low = __shfl_sync(0xffffffffu, p[0], 0);\n    high "
    "= 0;\n  }\n"
    "  __device__ void narrow(const float* p) {\n    unsigned short bits;\n    asm(\"cvt.rn.f16.f32 %0, "
    "%1;\" "
    ": \"=h\"(bits) : \"f\"(p[0]));\n    low = bits;\n    high = p[1];\n  }\n"
    "  __device__ void trace(const float* p) {\n    unsigned bits;\n    asm volatile(\"cvt.rni.u32.f32 "
    "%0, %1; st.global.u32 [%2], %0;\" : \"=r\"(bits) : \"f\"(p[0]), \"l\"(p));\n    low = bits;\n    high "
    "= 0;\n  }\n"
    "  __device__ void store(float* p) {\n    p[0] = low;\n    p[1] = high;\n  }\n};\n";

// Two loops over pairs of a row: `first` and `later` fill x, which goes into a sum and is stored.
std::string pairs(const std::string& first, const std::string& later) {
  const std::string loop = "  for (int i = threadIdx.x; i < d / 2; i += blockDim.x) {\n";
  return "  float sum = 0;\n" + loop + first +
         "    sum += x.low;\n  }\n  sum = __shfl_xor_sync(0xffffffffu, "
         "sum, 1);\n" +
         loop + later + "    x.low *= sum;\n    x.store(out + i * 2);\n  }";
}
const std::string half_pair = "    pair x;\n    x.half(in + i * 2);\n";

// A norm reads a row of global memory twice.
const std::string restricted = "float* __restrict__ out, const float* __restrict__ in, int n, int d";
const std::string twice =
    "  float sum = 0;\n  for (int i = threadIdx.x; i < d; i += blockDim.x) sum += in[blockIdx.x * d "
    "+ i];\n  sum = __shfl_xor_sync(0xffffffffu, sum, 1);\n  for (int i = threadIdx.x; i < d; i "
    "+= blockDim.x) ";

Facts sums_of_class_types() {
  Facts f;
  f.text = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\ntemplate <typename T> __global__ void "
           "k(T* "
           "__restrict__ sum, const T* in, int n, int d) {\n  float total = 0;\n  for (int i = "
           "threadIdx.x; i < d; i += blockDim.x) {\n    T x = in[i];\n    x += sum[i];\n    total += "
           "(float)x;\n    sum[i] = x;\n  }\n  __syncthreads();\n  for (int i = threadIdx.x; i < d; i "
           "+= blockDim.x) sum[i] = (T)((float)sum[i] * total);\n}\n";
  f.instance = "k<{T}>";
  return f;
}

INSTANTIATE_TEST_SUITE_P(
    Buffers, Keep,
    ::testing::Values(
        Row{"KeepLoads", "keep-in-registers",
            plain(kernel(twice + "out[blockIdx.x * d + i] = in[blockIdx.x * d + i] * sum;", "", restricted)),
            "KEEP", ""},
        Row{"KeepLoadsOfWideTypes", "keep-in-registers",
            plain(kernel(
                "  const float4* row = reinterpret_cast<const float4*>(in + blockIdx.x * d);\n  float sum = "
                "0;\n  for (int i = threadIdx.x; i < d / 4; i += blockDim.x) {\n    const float4 v = "
                "row[i];\n    sum += v.x;\n  }\n  for (int i = threadIdx.x; i < d / 4; i += blockDim.x) "
                "{\n    float4 v = row[i];\n    v.x *= sum;\n    reinterpret_cast<float4*>(out)[i] = "
                "v;\n  }",
                "", restricted)),
            "KEEP", ""},
        Row{"KeepStored", "keep-in-registers",
            plain(kernel(
                "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i] + in[d + i];\n  "
                "__syncthreads();\n  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = out[i] * 2;",
                "", restricted)),
            "KEEP", ""},
        Row{"KeepSumsOfClassTypes", "keep-in-registers", sums_of_class_types(), "KEEP", ""},
        Row{"KeepNotWithoutRestrict", "keep-in-registers",
            plain(kernel(twice + "out[blockIdx.x * d + i] = in[blockIdx.x * d + i] * sum;")), "",
            "no two loops"},
        Row{"KeepNotOtherElements", "keep-in-registers",
            plain(kernel(twice + "out[blockIdx.x * d + i] = in[i] * sum;", "", restricted)), "",
            "not read again"},
        Row{"KeepNotWrittenByOthers", "keep-in-registers",
            plain(kernel(
                "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = 1;\n  if (threadIdx.x == 0) "
                "out[n] = 2;\n  __syncthreads();\n  for (int i = threadIdx.x; i < d; i += blockDim.x) "
                "out[i] = out[i] * 2;",
                "", restricted)),
            "", "also stored to"},
        Row{"KeepNotChangedByAHelper", "keep-in-registers",
            plain(kernel(
                "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = 1;\n  turn(out);\n  for (int i "
                "= threadIdx.x; i < d; i += blockDim.x) out[i] = out[i] * 2;",
                "__device__ void turn(float* p) { p[threadIdx.x] = p[0]; }\n", restricted)),
            "", "is handed to a function"},
        Row{"KeepNotSharedElements", "keep-in-registers",
            plain(kernel(
                "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i / 2] = in[i];\n  "
                "__syncthreads();\n  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i / 2] = out[i / "
                "2] * 2;",
                "", restricted)),
            "", "elements of its own"},
        Row{"KeepNotAfterAnotherStore", "keep-in-registers",
            plain(kernel(
                "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i];\n  for (int i = "
                "threadIdx.x; i < d; i += blockDim.x) {\n    out[i] = in[d + i];\n    in2[i] = out[i];\n  }",
                "", restricted + ", float* in2")),
            "", "not read again before it is stored to"}),
    [](const auto& tested) { return std::string(tested.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Objects, Keep,
    ::testing::Values(
        Row{"KeepObjects", "keep-in-registers",
            plain(kernel(pairs(half_pair, half_pair), reading_type, restricted)), "KEEP", ""},
        Row{"KeepObjectsThatNobodyWrites", "keep-in-registers",
            plain(kernel(pairs(half_pair, half_pair), reading_type,
                         "float* __restrict__ out, float* __restrict__ in, int n, int d")),
            "KEEP", ""},
        Row{"KeepObjectsThatAssemblyConverts", "keep-in-registers",
            plain(kernel(pairs("    pair x;\n    x.narrow(in + i * 2);\n",
                               "    pair x;\n    x.narrow(in + i * 2);\n"),
                         reading_type, restricted)),
            "KEEP", ""},
        Row{"KeepNotObjectsWhoseAssemblyStores", "keep-in-registers",
            plain(kernel(pairs("    pair x;\n    x.trace(in + i * 2);\n",
                               "    pair x;\n    x.trace(in + i * 2);\n"),
                         reading_type, restricted)),
            "", "more than fill"},
        Row{"KeepObjectsFilledBefore", "keep-in-registers",
            plain(kernel(pairs("    pair x;\n    x.fill(0.f);\n    if (i * 2 < n) {\n      x.half(in + i * "
                               "2);\n    }\n",
                               "    pair x;\n    x.fill(0.f);\n    if (i * 2 < n) {\n      x.half(in + i * "
                               "2);\n    }\n"),
                         reading_type, restricted)),
            "KEEP", ""},
        Row{"KeepNotObjectsWithoutRestrict", "keep-in-registers",
            plain(kernel(pairs(half_pair, half_pair), reading_type)), "", "no two loops"},
        Row{"KeepNotObjectsOfOtherPlaces", "keep-in-registers",
            plain(kernel(pairs(half_pair, "    pair x;\n    x.half(in + d + i * 2);\n"), reading_type,
                         restricted)),
            "", "not read again"},
        Row{"KeepNotObjectsFilledInOtherWays", "keep-in-registers",
            plain(kernel(pairs(half_pair, "    pair x;\n    x.whole(in + i * 2);\n"), reading_type,
                         restricted)),
            "", "different ways"},
        Row{"KeepNotObjectsThatStartOtherwise", "keep-in-registers",
            plain(kernel(pairs("    pair x;\n    x.fill(0.f);\n    if (i * 2 < n) {\n      x.half(in + i * "
                               "2);\n    }\n",
                               "    pair x;\n    x.fill(1.f);\n    if (i * 2 < n) {\n      x.half(in + i * "
                               "2);\n    }\n"),
                         reading_type, restricted)),
            "", "different ways"},
        Row{"KeepNotObjectsThatDependOnMore", "keep-in-registers",
            plain(kernel(pairs("    pair x;\n    x.fill(sum);\n    x.half(in + i * 2);\n",
                               "    pair x;\n    x.fill(sum);\n    x.half(in + i * 2);\n"),
                         reading_type, restricted)),
            "", "used before"},
        Row{"KeepNotObjectsOfTheKernel", "keep-in-registers",
            plain(kernel("  pair x;\n" + pairs("    x.half(in + i * 2);\n", "    x.half(in + i * 2);\n"),
                         reading_type, restricted)),
            "", "does not declare"},
        Row{"KeepNotObjectsOfSeveralThreads", "keep-in-registers",
            plain(kernel(pairs("    pair x;\n    x.together(in + i * 2);\n",
                               "    pair x;\n    x.together(in + i * 2);\n"),
                         reading_type, restricted)),
            "", "more than fill"},
        Row{"KeepNotObjectsOfWrittenMemory", "keep-in-registers",
            plain(kernel(pairs(half_pair, half_pair) + "\n  in[threadIdx.x] = 0;", reading_type,
                         "float* __restrict__ out, float* __restrict__ in, int n, int d")),
            "", "elements of its own"}),
    [](const auto& tested) { return std::string(tested.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Rows, Keep,
    ::testing::Values(
        Row{"KeepRow", "keep-in-registers", plain(kernel(copy_in + "out[i] = row[i];")), "KEEP", ""},
        Row{"KeepBehindReduction", "keep-in-registers",
            plain(kernel(
                "  extern __shared__ float s[];\n  float* row = s + 32;\n  for (int i = threadIdx.x; i < d; "
                "i += blockDim.x) row[i] = in[i];\n  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = 1;" +
                row_out + "out[i] = row[i] * s[0];")),
            "KEEP", ""},
        Row{"KeepVectors", "keep-in-registers",
            plain(kernel(
                "  extern __shared__ float row[];\n  for (int i = threadIdx.x; i < d / 4; i += blockDim.x) "
                "{\n    four x;\n    x.load(in + i * 4);\n    x.store(row + i * 4);\n  }\n  "
                "__syncthreads();\n  for (int i = threadIdx.x; i < d / 4; i += blockDim.x) {\n    four "
                "x;\n    x.load(row + i * 4);\n    x.store(out + i * 4);\n  }",
                vector_type)),
            "KEEP", ""},
        Row{"KeepCast", "keep-in-registers",
            plain(kernel(
                "  extern __shared__ float row[];\n  float4* wide = reinterpret_cast<float4*>(row);\n  "
                "for (int i = threadIdx.x; i < d / 4; i += blockDim.x) wide[i] = "
                "reinterpret_cast<const float4*>(in)[i];\n  __syncthreads();\n  for (int i = "
                "threadIdx.x; i < d / 4; i += blockDim.x) reinterpret_cast<float4*>(out)[i] = wide[i];")),
            "KEEP", ""},
        Row{"KeepThreeLoops", "keep-in-registers",
            plain(kernel(copy_in + "row[i] = row[i] * 2;" + row_out + "out[i] = row[i];")), "KEEP", ""},
        Row{"KeepNotTheNeighbour", "keep-in-registers", plain(kernel(copy_in + "out[i] = row[i ^ 1];")), "",
            "row is not read back"},
        Row{"KeepNotShifted", "keep-in-registers", plain(kernel(copy_in + "out[i] = row[i] + row[i + 1];")),
            "", "perhaps in the same elements"},
        Row{"KeepNotReversed", "keep-in-registers", plain(kernel(copy_in + "out[i] = row[d - 1 - i];")), "",
            "row is not read back"},
        Row{"KeepNotReadElsewhere", "keep-in-registers",
            plain(kernel(copy_in + "out[i] = row[i];\n  if (threadIdx.x == 0) out[d] = row[n];")), "",
            "perhaps in the same elements"},
        Row{"KeepNotWrittenElsewhere", "keep-in-registers",
            plain(kernel(row_in + "row[i] = in[i];\n  if (threadIdx.x == 0) row[n] = 1;" + row_out +
                         "out[i] = row[i];")),
            "", "perhaps in the same elements"},
        Row{"KeepNotOverlapping", "keep-in-registers",
            plain(kernel(
                "  extern __shared__ float s[];\n  float* row = s + 16;\n  for (int i = threadIdx.x; i < d; "
                "i += blockDim.x) row[i] = in[i];\n  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = 1;" +
                row_out + "out[i] = row[i] * s[0];")),
            "", "perhaps in the same elements"},
        Row{"KeepNotTwoNamesOfOneMemory", "keep-in-registers",
            plain(kernel("  extern __shared__ int other[];\n" + row_in + "row[i] = in[i];\n  other[n] = 0;" +
                         row_out + "out[i] = row[i];")),
            "", "same memory"},
        Row{"KeepNotHandedOver", "keep-in-registers",
            plain(kernel(row_in + "row[i] = in[i];\n  turn(row);" + row_out + "out[i] = row[i];",
                         "__device__ void turn(float* p) { p[threadIdx.x] = p[0]; }\n")),
            "", "is handed to a function"},
        Row{"KeepNotFurtherThanTheObject", "keep-in-registers",
            plain(kernel(
                "  extern __shared__ float row[];\n  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n   "
                " "
                "two x;\n    x.store(row + i);\n  }\n  __syncthreads();\n  for (int i = threadIdx.x; i < "
                "d; i += blockDim.x) out[i] = row[i];",
                "struct two {\n  float bits[1];\n  __device__ void store(float* p) {\n    p[0] = bits[0];\n "
                "   p[1] = bits[0];\n  }\n};\n")),
            "", "may touch more than its object"},
        Row{"KeepNotOtherSteps", "keep-in-registers",
            plain(kernel(row_in +
                         "row[i] = in[i];\n  __syncthreads();\n  for (int i = threadIdx.x; i < d; i += 2 * "
                         "blockDim.x) out[i] = row[i];")),
            "", "no two loops"},
        Row{"KeepNotInABranch", "keep-in-registers",
            plain(kernel(row_in +
                         "row[i] = in[i];\n  __syncthreads();\n  if (threadIdx.x < 16) {\n    for (int i = "
                         "threadIdx.x; i < d; i += blockDim.x) out[i] = row[i];\n  }")),
            "", "no two loops"},
        Row{"KeepNotWhereSomeAreWritten", "keep-in-registers",
            plain(kernel(row_in + "if (i < n) row[i] = in[i];" + row_out + "out[i] = row[i];")), "",
            "may not have been written"},
        Row{"KeepNotUnderDataConditions", "keep-in-registers",
            plain(kernel(row_in + "if (in[i] > 0) row[i] = in[i];" + row_out +
                         "if (in[i] > 0) out[i] = row[i];")),
            "", "conditions that cannot be compared"},
        Row{"KeepNotManyRowsOfThreads", "keep-in-registers",
            plain(kernel(copy_in + "out[i] = row[i];"), {"32", "8"}), "", "elements of its own"},
        Row{"KeepNotUnknownBounds", "keep-in-registers",
            plain(kernel(
                "  extern __shared__ float row[];\n  for (int i = threadIdx.x; i < length; i += blockDim.x) "
                "row[i] = in[i];\n  __syncthreads();\n  for (int i = threadIdx.x; i < length; i += "
                "blockDim.x) out[i] = row[i];",
                "", "float* out, const float* in, int length")),
            "", "not known when the kernel is launched"},
        Row{"KeepNotChangedCounters", "keep-in-registers",
            plain(kernel(row_in + "{\n    if (in[i] > 0) i += 1;\n    row[i] = in[i];\n  }" + row_out +
                         "out[i] = row[i];")),
            "", "no two loops"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(KeepInRegisters, DefaultsCompileToTheRawKernelAndKeptRowsUseNoSharedMemory) {
  for (const std::string& body : {copy_in + "out[i] = row[i] / (1.0f + in[d]);",
                                  copy_in + "row[i] = expf(row[i]);" + row_out + "out[i] = row[i];"}) {
    const Facts facts = plain(kernel(body));
    const Outcome outcome = apply_rule("keep-in-registers", facts);
    ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
    const std::string raw = machine_code(facts.text, "k");
    ASSERT_NE(raw.rfind("error", 0), 0u) << raw;
    EXPECT_TRUE(raw == machine_code(outcome.candidate.text, "k<0>")) << outcome.candidate.text;
    const auto kept = compile_kernel(outcome.candidate.text, "k<3>", {"-std=c++17"}, "sm_90");
    ASSERT_TRUE(kept.ok()) << kept.error().sentence();
    EXPECT_EQ(kept->resources.spill_bytes, 0);
    EXPECT_EQ(kept->resources.stack_bytes, 0);
  }
}

TEST(KeepInRegisters, BuffersAreLoadedOnceAndStoredAsBefore) {
  const Facts loads =
      plain(kernel(twice + "out[blockIdx.x * d + i] = in[blockIdx.x * d + i] * sum;", "", restricted));
  const Outcome once = apply_rule("keep-in-registers", loads);
  EXPECT_TRUE(
      once.has("sum += (KEEP == 0 ? in[blockIdx.x * d + i] : (lathe_kept[lathe_round] = in[blockIdx.x * d + "
               "i]));"))
      << once.candidate.text;
  EXPECT_TRUE(once.has("= (KEEP == 0 ? in[blockIdx.x * d + i] : lathe_kept[lathe_round]) * sum;"));
  EXPECT_TRUE(machine_code(loads.text, "k") == machine_code(once.candidate.text, "k<0>"));

  const Facts stores =
      plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i] + in[d + i];\n"
                   "  __syncthreads();\n"
                   "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = out[i] * 2;",
                   "", restricted));
  const Outcome back = apply_rule("keep-in-registers", stores);
  EXPECT_TRUE(back.has("out[i] = lathe_kept[KEEP == 0 ? 0 : lathe_round] = in[i] + in[d + i];"))
      << back.candidate.text;
  EXPECT_TRUE(back.has("out[i] = (KEEP == 0 ? out[i] : lathe_kept[lathe_round]) * 2;"));
  EXPECT_TRUE(machine_code(stores.text, "k") == machine_code(back.candidate.text, "k<0>"));
  EXPECT_EQ(machine_code(back.candidate.text, "k<2>").rfind("error", 0), std::string::npos);
}

TEST(KeepInRegisters, ObjectsAreFilledOnceAndCopied) {
  const Facts facts = plain(kernel(pairs(half_pair, half_pair), reading_type, restricted));
  const Outcome outcome = apply_rule("keep-in-registers", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("  pair lathe_kept[KEEP == 0 ? 1 : KEEP];")) << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("    x.half(in + i * 2);\n    if constexpr (KEEP > 0)\n      "
                          "lathe_kept[lathe_round] = x;\n"));
  EXPECT_TRUE(outcome.has("    if constexpr (KEEP == 0)\n      x.half(in + i * 2);\n    else\n      x = "
                          "lathe_kept[lathe_round];\n"));
  EXPECT_TRUE(machine_code(facts.text, "k") == machine_code(outcome.candidate.text, "k<0>"));
  const auto kept = compile_kernel(outcome.candidate.text, "k<3>", {"-std=c++17"}, "sm_90");
  ASSERT_TRUE(kept.ok()) << kept.error().sentence();
  EXPECT_EQ(kept->resources.stack_bytes, 0);
}

TEST(KeepInRegisters, DefaultsOfClassTypesCompileToTheRawKernel) {
  const Facts facts = sums_of_class_types();
  const Outcome outcome = apply_rule("keep-in-registers", facts);
  for (const char* dtype : {"bf16", "f16", "f32"}) {
    const std::string raw = machine_code(facts.text, bound_instance(make_candidate(facts), dtype));
    ASSERT_NE(raw.rfind("error", 0), 0u) << raw;
    EXPECT_TRUE(raw == machine_code(outcome.candidate.text, bound_instance(outcome.candidate, dtype)))
        << dtype;
  }
}

TEST(KeepInRegisters, SharedMemoryIsWhatStandsBefore) {
  Facts facts = plain(
      kernel(
          "  extern __shared__ float s[];\n  float* row = s + (blockDim.x / 32 + 3) / 4 * 4;\n  for (int i = "
          "threadIdx.x; i < d; i += blockDim.x) row[i] = in[i];\n  if (threadIdx.x < blockDim.x / 32) "
          "s[threadIdx.x] = 1;" +
          row_out + "out[i] = row[i];"),
      {"min(d, 1024)"});
  facts.shared = "((min(d, 1024) / 32 + 3) / 4 * 4 + d) * 4";
  const Outcome outcome = apply_rule("keep-in-registers", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  const auto bytes = [&](std::int64_t keep, std::int64_t d) {
    const auto value = outcome.candidate.launch.shared_bytes.evaluate_integer(
        [&](std::string_view name) -> std::optional<Value> { return Value{name == "KEEP" ? keep : d}; });
    return value.ok() ? *value : -1;
  };
  EXPECT_EQ(bytes(0, 4096), (32 + 4096) * 4);
  EXPECT_EQ(bytes(4, 4096), 32 * 4);
  EXPECT_EQ(bytes(1, 160), 8 * 4);
}

} // namespace
} // namespace lathe::refactor::testing
