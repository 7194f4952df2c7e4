// Rules in random order over generated kernels: what comes out parses, compiles at the defaults and at other
// values, and at the defaults is the raw kernel's own machine code.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lathe::refactor::testing {
namespace {

// A kernel put together from parts that each may or may not be there.
Facts generate(std::mt19937& random) {
  const auto flip = [&] { return random() % 2 == 0; };
  Facts facts;
  const bool spans = random() % 3 == 0;  // one element a thread over the grid
  const bool reduces = !spans && flip(); // a block reduction, in a helper
  const bool stages = reduces && flip(); // the row waits in shared memory meanwhile
  const bool names = flip();             // indices through constants
  const bool formula = !spans && flip(); // the launcher computes the block size
  const bool typed = flip();
  const std::string type = typed ? "T" : "float";
  std::string text = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n";
  if (reduces)
    text += "__device__ float total(float v) {\n  __shared__ float s[32];\n"
            "  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);\n"
            "  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;\n  __syncthreads();\n"
            "  v = threadIdx.x % 32 < blockDim.x / 32 ? s[threadIdx.x % 32] : 0.0f;\n"
            "  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);\n  return v;\n}\n";
  text += (typed ? "template <typename T> " : "") + std::string("__global__ void k(") + type +
          "* __restrict__ out, const " + type + "* __restrict__ in, int n, int d) {\n";
  const std::string load = "static_cast<float>(in[", store = "static_cast<" + type + ">(";
  if (spans && random() % 3 == 0) { // as many a thread as the grid leaves it
    text += "  const int all = gridDim.x * blockDim.x;\n"
            "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += all)\n    out[i] = " +
            store + load + "i]) * 3.0f);\n";
    facts.grid = {"min((n + 255) / 256, 1056)"};
  } else if (spans) {
    text += "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n";
    text += flip() ? "  if (i >= n)\n    return;\n  out[i] = " + store + load + "i]) * 2.0f);\n"
                   : "  if (i < n)\n    out[i] = " + store + load + "i]) + 1.0f);\n";
    facts.grid = {"(n + 255) / 256"};
  } else {
    text += names ? "  const int first = threadIdx.x;\n  const int step = blockDim.x;\n" : "";
    const std::string loop =
        names ? "for (int i = first; i < d; i += step)" : "for (int i = threadIdx.x; i < d; i += blockDim.x)";
    text += "  const long long row = (long long)blockIdx.x * d;\n";
    text += stages ? "  extern __shared__ float staged[];\n" : "";
    facts.shared = stages ? "d * 4" : "0";
    if (reduces)
      text += "  float sum = 0.0f;\n" + std::string(flip() ? "#pragma unroll 2\n" : "") + "  " + loop +
              (stages ? " {\n    staged[i] = " + load + "row + i]);\n    sum += staged[i];\n  }"
                      : "\n    sum += " + load + "row + i]);") +
              "\n  sum = total(sum);\n";
    text += "  " + loop + " {\n    const float x = " + (stages ? "staged[i]" : load + "row + i])") +
            ";\n    out[row + i] = " + store + (reduces ? "x / sum" : "x * x") + ");\n  }\n";
    if (formula)
      facts.block = {"min((d + 31) / 32 * 32, 1024)"};
  }
  facts.text = text + "}\n";
  facts.instance = typed ? "k<{T}>" : "k";
  if (!typed)
    facts.dtypes.clear();
  return facts;
}

class Composition : public ::testing::TestWithParam<unsigned> {};

TEST_P(Composition, AnyOrderOfRulesGivesTheRawKernelAtTheDefaults) {
  std::mt19937 random(GetParam());
  const Facts facts = generate(random);
  std::vector<std::string> order;
  for (const auto& rule : all_rules())
    order.emplace_back(rule->name());
  std::shuffle(order.begin(), order.end(), random);
  std::string described = facts.text;
  for (const std::string& rule : order)
    described += " " + rule;
  SCOPED_TRACE(described);

  const Candidate raw = make_candidate(facts);
  const auto result = rewrite(raw, order, ParseOptions{});
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  const Candidate& tuned = result->candidate;
  EXPECT_GE(tuned.knobs.size(), 3u) << tuned.text;
  // Two passes over a row: it is kept, from shared memory always, from global memory unless its loads have
  // been wrapped or its index changed before.
  const auto after = [&](const char* rule) {
    return std::find(order.begin(), order.end(), "keep-in-registers") <
           std::find(order.begin(), order.end(), rule);
  };
  const bool two_passes = facts.text.find("sum") != std::string::npos,
             staged = facts.text.find("staged") != std::string::npos;
  EXPECT_EQ(tuned.text.find("lathe_kept[") != std::string::npos,
            staged || (two_passes && after("cache-hints") && after("rows-per-block")))
      << tuned.text;
  for (const RuleReport& report : result->reports)
    EXPECT_EQ(report.detail.find("does not parse"), std::string::npos)
        << report.rule << ": " << report.detail;

  const std::string expected = machine_code(with_preconditions(raw.text, tuned), bound_instance(raw, "bf16"));
  const std::string actual = machine_code(tuned.text, bound_instance(tuned, "bf16"));
  ASSERT_NE(expected.rfind("error", 0), 0u) << expected;
  EXPECT_TRUE(expected == actual) << tuned.text << "\n" << (actual.rfind("error", 0) == 0 ? actual : "");

  // Some other configuration compiles too.
  std::map<std::string, std::int64_t> values;
  for (const Knob& knob : tuned.knobs)
    values[knob.name] = std::get<std::int64_t>(knob.values[random() % knob.values.size()]);
  const std::string other = machine_code(tuned.text, bound_instance(tuned, "bf16", values));
  EXPECT_NE(other.rfind("error", 0), 0u) << other << "\n" << tuned.text;
}

INSTANTIATE_TEST_SUITE_P(Seeds, Composition, ::testing::Range(1u, 21u));

} // namespace
} // namespace lathe::refactor::testing
