#include "tests/refactor/rewrite/kernels_for_rules.h"

#include "tuner/compile/compile.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {

const char* const strided = R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <typename T> __global__ void twice(T* __restrict__ out, const T* __restrict__ in, int d) {
  const T* row = in + (long long)blockIdx.x * d;
  T* target = out + (long long)blockIdx.x * d;
  for (int i = threadIdx.x; i < d; i += blockDim.x) {
    const float x = static_cast<float>(row[i]);
    target[i] = static_cast<T>(x * 2.0f);
  }
}
)";

const char* const guarded = R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
constexpr int kThreads = 256;
template <typename T> __global__ void __launch_bounds__(kThreads) plus_one(T* out, const T* in, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n)
    return;
  out[i] = static_cast<T>(static_cast<float>(in[i]) + 1.0f);
}
)";

const char* const reduction = R"(__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}
// Sums over the block.
__device__ float block_sum(float value) {
  __shared__ float partial[32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0)
    partial[warp] = value;
  __syncthreads();
  value = lane < blockDim.x / 32 ? partial[lane] : 0.0f;
  return warp_sum(value);
}
__global__ void row_sum(float* __restrict__ out, const float* __restrict__ in, int d) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    sum += in[(long long)blockIdx.x * d + i];
  sum = block_sum(sum);
  if (threadIdx.x == 0)
    out[blockIdx.x] = sum;
}
)";

const char* const packed = R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <typename T> __global__ void negate(T* out, const T* in, const unsigned n) {
  const unsigned pack = 16 / sizeof(T);
  const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= n / pack)
    return;
  const uint4 loaded = *reinterpret_cast<const uint4*>(in + index * pack);
  uint4 result;
#pragma unroll
  for (unsigned i = 0; i < pack; ++i)
    reinterpret_cast<T*>(&result)[i] = static_cast<T>(-static_cast<float>(reinterpret_cast<const T*>(&loaded)[i]));
  *reinterpret_cast<uint4*>(out + index * pack) = result;
}
)";

namespace {

Expression parse(const std::string& text) {
  auto parsed = Expression::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : Expression();
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

} // namespace

Candidate make_candidate(const Facts& facts) {
  Candidate candidate;
  candidate.text = facts.text;
  candidate.instance = facts.instance;
  candidate.kernel = facts.instance.substr(0, facts.instance.find('<'));
  candidate.dimensions = facts.dimensions;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    candidate.launch.grid[axis] = parse(axis < facts.grid.size() ? facts.grid[axis] : "1");
    candidate.launch.block[axis] = parse(axis < facts.block.size() ? facts.block[axis] : "1");
  }
  candidate.launch.shared_bytes = parse(facts.shared);
  if (!facts.dtypes.empty())
    candidate.types.push_back({"T", facts.dtypes});
  return candidate;
}

const Knob* Outcome::knob(const std::string& name) const {
  for (const Knob& knob : candidate.knobs)
    if (knob.name == name)
      return &knob;
  return nullptr;
}

bool Outcome::has_condition(const std::string& fragment) const {
  for (const Condition& condition : candidate.conditions)
    if (condition.expression.text().find(fragment) != std::string::npos)
      return true;
  return false;
}

std::string kernel(const std::string& body, const std::string& before, const std::string& parameters) {
  return before + "__global__ void k(" + parameters + ") {\n" + body + "\n}\n";
}

Facts plain(const std::string& text, std::vector<std::string> block, std::vector<std::string> grid) {
  Facts facts;
  facts.text = text;
  facts.instance = "k";
  facts.block = std::move(block);
  facts.grid = std::move(grid);
  facts.dtypes.clear();
  return facts;
}

void check(const Row& row) {
  const Outcome outcome = apply_rule(row.rule, row.facts);
  if (row.knob.empty()) {
    EXPECT_FALSE(outcome.report.applied) << outcome.candidate.text;
    EXPECT_NE(outcome.report.detail.find(row.reason), std::string::npos) << outcome.report.detail;
    EXPECT_EQ(outcome.candidate.text, row.facts.text);
  } else {
    EXPECT_TRUE(outcome.report.applied) << outcome.report.detail;
    EXPECT_NE(outcome.knob(row.knob), nullptr) << outcome.report.detail;
    const bool in_instance = outcome.candidate.instance.find("{" + row.knob + "}") != std::string::npos;
    const bool in_launch = outcome.candidate.launch.grid[0].text().find(row.knob) != std::string::npos;
    EXPECT_TRUE(in_instance || in_launch) << outcome.candidate.instance;
  }
}

Outcome apply_rule(const std::string& rule, const Facts& facts) {
  auto result = rewrite(make_candidate(facts), {rule}, ParseOptions{});
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().sentence());
  if (!result.ok())
    return {};
  return {result->reports.front(), result->candidate};
}

std::string bound_instance(const Candidate& candidate, const std::string& dtype,
                           const std::map<std::string, std::int64_t>& values) {
  std::string instance = candidate.instance;
  replace_all(instance, "{T}", dtype_cxx(dtype));
  for (const Knob& knob : candidate.knobs) {
    const auto chosen = values.find(knob.name);
    const auto fallback =
        knob.default_value.evaluate_integer([&](std::string_view name) -> std::optional<Value> {
          return name == "sizeof_T" ? std::optional<Value>(std::int64_t{dtype_size(dtype)}) : std::nullopt;
        });
    replace_all(instance, "{" + knob.name + "}",
                std::to_string(chosen != values.end() ? chosen->second
                               : fallback.ok()        ? *fallback
                                                      : -1));
  }
  return instance;
}

std::string machine_code(const std::string& text, const std::string& instance) {
  const auto compiled = compile_kernel(text, instance, {"-std=c++17"}, "sm_90");
  if (!compiled.ok())
    return "error: " + compiled.error().sentence();
  const auto image = kernel_image(*compiled->cubin, compiled->entry);
  return image.ok() ? image->text + image->relocations : "error: " + image.error().sentence();
}

std::string with_preconditions(const std::string& raw_text, const Candidate& candidate) {
  std::string text = raw_text;
  const std::size_t kernel = text.find(candidate.kernel + "(");
  const std::size_t body = text.find(" {\n", kernel);
  std::string statements;
  for (const std::string& statement : candidate.raw_preconditions)
    statements += statement + " ";
  return text.insert(body + 2, statements);
}

Facts one_a_thread(const std::string& guard, const std::string& work, const std::string& before,
                   const std::string& functions) {
  return plain(
      kernel("  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n" + before + guard + work, functions),
      {"256"}, {"(n + 255) / 256"});
}

} // namespace lathe::refactor::testing
