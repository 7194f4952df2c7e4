// What the guard says about hazards that production kernels have themselves: each is told, none is held
// against a template that leaves it as it is. Launches that only cudaLaunchKernelEx makes are the front end's
// (tests/refactor/frontend/launch_test.cpp).
#include "refactor/guard/guard.h"
#include "tuner/base/files.h"
#include "tuner/spec/spec.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace lathe::refactor {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A kernel of the name `k` whose block size is the knob BLOCK; in the raw kernel a constant, 64.
struct Kernel {
  std::string before, parameters, body; // in front of the kernel; within its parentheses; within its braces
  json dimensions;                      // names
  json arguments, problems;
  std::string grid;                                        // of the raw kernel, over BLOCK
  json conditions = {};                                    // of the specification
  std::string extra_parameters = {}, extra_arguments = {}; // of the template, in front of BLOCK
};

json buffer(const char* name, const char* dtype, const char* direction, const char* count) {
  return {{"Name", name}, {"Dtype", dtype}, {"Direction", direction}, {"Count", count}};
}
json scalar(const char* name, const char* dtype, const char* value) {
  return {{"Name", name}, {"Dtype", dtype}, {"Value", value}};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Judges the kernel with its block size as a knob; `from` in the template's text becomes `to`.
Certificate judged(const Kernel& kernel, const std::string& from = {}, const std::string& to = {}) {
  const auto folder = TemporaryFolder::create("hazards");
  EXPECT_TRUE(folder.ok());
  const std::string signature = "__global__ void k(" + kernel.parameters + ") {\n" + kernel.body + "}\n";
  const std::string extra =
      kernel.extra_parameters.empty() ? "" : "template <" + kernel.extra_parameters + ">\n";
  const std::string raw = kernel.before + "constexpr int BLOCK = 64;\n" + extra + signature;
  std::string templated = kernel.before + "template <" +
                          (kernel.extra_parameters.empty() ? "" : kernel.extra_parameters + ", ") +
                          "int BLOCK>\n" + signature;
  if (!from.empty())
    templated = replaced(templated, from, to);
  const json spec = {
      {"General", {{"BenchmarkName", "k"}}},
      {"ConfigurationSpace",
       {{"TuningParameters",
         {{{"Name", "BLOCK"}, {"Type", "int"}, {"Values", {32, 64, 128, 256}}, {"Default", 64}}}}}},
      {"KernelSpecification", {{"Language", "CUDA"}, {"KernelName", "k"}, {"KernelFile", "template.cu"}}},
      {"Lathe",
       {{"Version", 1},
        {"Name", "k"},
        {"Dimensions", kernel.dimensions},
        {"Knobs", {{"BLOCK", {{"Kind", "block"}, {"Type", "int"}}}}},
        {"Conditions", kernel.conditions.is_null() ? json::array() : kernel.conditions},
        {"Instance", "k<" + (kernel.extra_arguments.empty() ? "" : kernel.extra_arguments + ", ") +
                         std::string("{BLOCK}>")},
        {"Launch", {{"Grid", {kernel.grid}}, {"Block", {"BLOCK"}}}},
        {"Arguments", kernel.arguments},
        {"Problems", kernel.problems},
        {"Reference",
         {{"File", "raw.cu"},
          {"Instance", kernel.extra_arguments.empty() ? "k" : "k<" + kernel.extra_arguments + ">"},
          {"Launch",
           {{"Grid",
             {kernel.grid.find("BLOCK") == std::string::npos ? kernel.grid
                                                             : replaced(kernel.grid, "BLOCK", "64")}},
            {"Block", {64}}}}}}}}};
  EXPECT_TRUE(write_file(folder->path() / "raw.cu", raw).ok());
  EXPECT_TRUE(write_file(folder->path() / "template.cu", templated).ok());
  EXPECT_TRUE(write_file(folder->path() / "k.json", spec.dump(2)).ok());
  const auto read = read_spec(folder->path() / "k.json");
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().sentence());
  if (!read.ok())
    return {};
  GuardOptions options;
  options.seed = 5;
  options.sampled_configurations = 3;
  const auto certificate = judge(*read, options);
  EXPECT_TRUE(certificate.ok()) << (certificate.ok() ? "" : certificate.error().sentence());
  return certificate.ok() ? *certificate : Certificate{};
}

// All that a check says.
std::string said(const Certificate& certificate, const std::string& check) {
  std::string text;
  for (const CheckResult& result : certificate.checks)
    if (result.check == check) {
      text = std::string(to_string(result.verdict)) + ": " + result.detail;
      for (const std::string& line : result.evidence)
        text += "\n" + line;
    }
  return text;
}

std::string everything(const Certificate& certificate) {
  std::string text;
  for (const CheckResult& result : certificate.checks)
    text += result.check + ": " + said(certificate, result.check) + "\n";
  return text;
}

Kernel elementwise(const std::string& parameters, const std::string& statement) {
  return {"",
          parameters,
          "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < count)\n    " + statement + "\n",
          {"count"},
          {buffer("out", "f32", "out", "count"), buffer("in", "f32", "in", "count"),
           scalar("count", "i32", "count")},
          json::array({{{"Dimensions", {{"count", 1000}}}}}),
          "ceil_div(count, BLOCK)"};
}

const char* const PLAIN = "float* __restrict__ out, const float* __restrict__ in, const int count";

TEST(Hazards, AllWarpsWriteOneValueAndReadItWithoutABarrier) {
  Kernel kernel{"",
                "float* __restrict__ out, const float* __restrict__ in, const int columns",
                R"(  __shared__ float scale;
  const float* row = in + static_cast<long long>(blockIdx.x) * columns;
  float largest = 1e-6f;
  for (int c = threadIdx.x % 32; c < columns; c += 32)
    largest = fmaxf(largest, fabsf(row[c]));
  for (int offset = 16; offset > 0; offset /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
  if (threadIdx.x % 32 == 0)
    scale = largest;
  __syncwarp();
  for (int c = threadIdx.x; c < columns; c += BLOCK)
    out[static_cast<long long>(blockIdx.x) * columns + c] = row[c] / scale;
)",
                {"rows", "columns"},
                {buffer("out", "f32", "out", "rows * columns"), buffer("in", "f32", "in", "rows * columns"),
                 scalar("columns", "i32", "columns")},
                json::array({{{"Dimensions", {{"rows", 8}, {"columns", 500}}}}}),
                "rows"};
  const Certificate certificate = judged(kernel);
  EXPECT_TRUE(certificate.accepted()) << everything(certificate);
  EXPECT_THAT(said(certificate, "differential"),
              HasSubstr("the raw kernel itself has a race in shared memory"));
}

TEST(Hazards, ThreadsReturnBeforeABarrier) {
  Kernel kernel = elementwise(PLAIN, "");
  kernel.body = R"(  __shared__ float tile[BLOCK];
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= count)
    return;
  tile[threadIdx.x] = in[i];
  __syncthreads();
  out[i] = tile[threadIdx.x ^ 1];
)";
  kernel.conditions = json::array({{{"Expression", "count % 2 == 0"}}});
  const Certificate certificate = judged(kernel);
  EXPECT_TRUE(certificate.accepted()) << everything(certificate);
  EXPECT_THAT(said(certificate, "synchronisation"),
              HasSubstr("the raw kernel itself has barriers that threads may miss"));
}

TEST(Hazards, ColumnsThatAFastPathLeavesOut) {
  Kernel kernel{"",
                "float* __restrict__ out, const float* __restrict__ in, const int columns",
                R"(  const long long row = static_cast<long long>(blockIdx.x) * columns;
  for (int first = threadIdx.x * 16; first + 16 <= columns; first += BLOCK * 16)
    for (int j = 0; j < 16; ++j)
      out[row + first + j] = 2.f * in[row + first + j];
)",
                {"rows", "columns"},
                {buffer("out", "f32", "out", "rows * columns"), buffer("in", "f32", "in", "rows * columns"),
                 scalar("columns", "i32", "columns")},
                json::array({{{"Dimensions", {{"rows", 4}, {"columns", 264}}}}}),
                "rows",
                json::array({{{"Expression", "columns % 8 == 0"}}})};
  const Certificate certificate = judged(kernel);
  EXPECT_TRUE(certificate.accepted()) << everything(certificate);
  EXPECT_THAT(said(certificate, "differential"), HasSubstr("the raw kernel does not write all of 'out'"));
}

TEST(Hazards, AtomicsDecideAnOrder) {
  Kernel kernel = elementwise(
      "int* __restrict__ out, int* __restrict__ used, const float* __restrict__ in, const int count",
      "if (in[i] > 0.f) out[atomicAdd(used, 1)] = i;");
  json used = buffer("used", "i32", "inout", "1");
  used["Fill"] = {{"Kind", "zero"}};
  kernel.arguments = {buffer("out", "i32", "out", "count"), used, buffer("in", "f32", "in", "count"),
                      scalar("count", "i32", "count")};
  const Certificate certificate = judged(kernel);
  EXPECT_TRUE(certificate.accepted()) << everything(certificate);
  EXPECT_THAT(said(certificate, "differential"), HasSubstr("compared as sets"));
  const auto read = certificate_from_json(to_json(certificate));
  ASSERT_TRUE(read.ok()) << read.error().sentence();
  std::vector<std::string> unordered;
  for (const CheckResult& check : read->checks)
    unordered.insert(unordered.end(), check.unordered.begin(), check.unordered.end());
  EXPECT_EQ(unordered, std::vector<std::string>{"out"}) << "what lathe tune compares as a set";
}

TEST(Hazards, AReciprocalIsNoQuotient) {
  Kernel kernel =
      elementwise("float* __restrict__ out, const float* __restrict__ in, const float scale, const int count",
                  "out[i] = in[i] / scale;");
  kernel.arguments.insert(kernel.arguments.begin() + 2, scalar("scale", "f32", "3.7"));
  EXPECT_TRUE(judged(kernel).accepted());
  const Certificate certificate = judged(kernel, "in[i] / scale", "in[i] * (1.f / scale)");
  EXPECT_FALSE(certificate.accepted()) << everything(certificate);
  EXPECT_THAT(said(certificate, "precision"), HasSubstr("a product with a reciprocal"));
}

TEST(Hazards, AResultInPlaceOfItsInput) {
  const Certificate certificate =
      judged(elementwise("float* out, const float* in, const int count", "out[i] = 2.f * in[i];"));
  EXPECT_TRUE(certificate.accepted()) << everything(certificate);
  EXPECT_THAT(said(certificate, "differential"),
              HasSubstr("the raw kernel accepts 'out' in the place of 'in'"));
}

TEST(Hazards, TextForOtherArchitectures) {
  Kernel kernel = elementwise(PLAIN, "out[i] = in[i];");
  kernel.body = "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000\n  return;\n#endif\n" + kernel.body;
  const Certificate certificate = judged(kernel);
  EXPECT_TRUE(certificate.accepted()) << everything(certificate);
  EXPECT_THAT(said(certificate, "well-formed"), HasSubstr("it is judged as sm_90 reads it"));
}

TEST(Hazards, DependentLaunches) {
  Kernel kernel = elementwise(PLAIN, "out[i] = in[i];");
  kernel.body = "  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n" + kernel.body;
  const Certificate certificate = judged(kernel);
  EXPECT_TRUE(certificate.accepted()) << everything(certificate);
  EXPECT_THAT(said(certificate, "effects"), HasSubstr("unless it is launched as a dependent of another"));
  // The input may not be there yet.
  const Certificate early = judged(kernel,
                                   "  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
                                   "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < count)\n"
                                   "    out[i] = in[i];\n",
                                   "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
                                   "  const float value = i < count ? in[i] : 0.f;\n"
                                   "  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
                                   "  if (i < count)\n    out[i] = value;\n");
  EXPECT_FALSE(early.accepted());
  EXPECT_THAT(said(early, "effects"), HasSubstr("before it has waited"));
}

TEST(Hazards, FunctionsAndTraitsAsTemplateArguments) {
  Kernel kernel = elementwise(PLAIN, "out[i] = Function(in[i]) + Traits::offset;");
  kernel.before = "struct shifted {\n  static constexpr float offset = 0.5f;\n};\n"
                  "__device__ float doubled(float x) {\n  return x + x;\n}\n";
  kernel.extra_parameters = "class Traits, float (*Function)(float)";
  kernel.extra_arguments = "shifted, doubled";
  const Certificate certificate = judged(kernel);
  EXPECT_TRUE(certificate.accepted()) << everything(certificate);
}

TEST(Hazards, ProductsIn32BitsBoundTheLargestSize) {
  Kernel kernel{"",
                "float* __restrict__ out, const float* __restrict__ in, const int columns",
                "  for (int c = threadIdx.x; c < columns; c += BLOCK)\n"
                "    out[blockIdx.x * columns + c] = 2.f * in[blockIdx.x * columns + c];\n",
                {"rows", "columns"},
                {buffer("out", "f32", "out", "rows * columns"), buffer("in", "f32", "in", "rows * columns"),
                 scalar("columns", "i32", "columns")},
                json::array({{{"Dimensions", {{"rows", 4}, {"columns", 500}}}}}),
                "rows"};
  const Certificate small = judged(kernel);
  EXPECT_TRUE(small.accepted()) << everything(small);
  EXPECT_THAT(said(small, "bounds"), HasSubstr("in 32 bits"));
  EXPECT_THAT(said(small, "bounds"), testing::Not(HasSubstr("wraps around")));
  kernel.problems.push_back({{"Dimensions", {{"rows", 70000}, {"columns", 65536}}}});
  const Certificate large = judged(kernel);
  EXPECT_TRUE(large.accepted()) << everything(large);
  EXPECT_THAT(said(large, "bounds"), HasSubstr("wraps around"));
}

} // namespace
} // namespace lathe::refactor
