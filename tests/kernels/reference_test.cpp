// The shipped raw kernels, run on the host executor, against their references in double precision.
#include "tuner/base/files.h"
#include "tuner/base/subprocess.h"
#include "tuner/device/device.h"
#include "tuner/measure/host_executor/host_executor.h"
#include "tuner/measure/verify.h"
#include "tuner/spec/spec.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>

namespace lathe {
namespace {

struct KernelCase {
  const char* name;
  std::map<std::string, std::int64_t> problem;
  const char* label = ""; // where a kernel has several cases
};

class Reference : public ::testing::TestWithParam<KernelCase> {
protected:
  using Function = void (*)(const std::int64_t*, const double*, double* const*);

  // The reference beside the raw kernel, compiled.
  Function load(const TuningSpec& spec) {
    auto folder = TemporaryFolder::create("reference-test");
    if (!folder.ok())
      return nullptr;
    folder_.emplace(std::move(*folder));
    const auto source = spec.path.parent_path() / spec.cpu_reference;
    const auto library = folder_->path() / "reference.so";
    const auto built = run_subprocess(
        {"g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", library.string(), source.string()}, {});
    if (!built.ok() || built->exit_code != 0)
      return nullptr;
    void* handle = ::dlopen(library.c_str(), RTLD_NOW);
    return handle ? reinterpret_cast<Function>(::dlsym(handle, "lathe_reference")) : nullptr;
  }

private:
  std::optional<TemporaryFolder> folder_;
};

double number(const Value& value) {
  if (const auto* real = std::get_if<double>(&value))
    return *real;
  if (const auto* truth = std::get_if<bool>(&value))
    return *truth ? 1 : 0;
  return static_cast<double>(std::get<std::int64_t>(value));
}

std::vector<double> decoded(element::DType dtype, std::span<const std::byte> data, std::size_t size) {
  std::vector<double> values(data.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, data.data() + i * size, size);
    values[i] = decode_element(dtype, bits);
  }
  return values;
}

TEST_P(Reference, AgreesWithTheRawKernel) {
  const char* root = std::getenv("LATHE_SOURCE_DIR");
  ASSERT_NE(root, nullptr);
  const auto spec =
      read_spec(std::filesystem::path(root) / "search_spaces" / (std::string(GetParam().name) + ".json"));
  ASSERT_TRUE(spec.ok()) << spec.error().sentence();
  const Function reference = load(*spec);
  ASSERT_NE(reference, nullptr) << spec->cpu_reference;

  std::map<std::string, std::string> types;
  for (const TypeParameter& type : spec->types)
    types[type.name] = type.dtypes.front();
  Problem problem;
  problem.dimensions = GetParam().problem;
  const auto workload = bind_workload(*spec, problem, types, known_device("sm_90")->limits());
  ASSERT_TRUE(workload.ok()) << workload.error().sentence();
  const auto instance = bind_instance(spec->reference, *workload, {});
  const auto launch = bind_launch(spec->reference.launch, *workload, {});
  ASSERT_TRUE(instance.ok() && launch.ok());
  const auto source = read_file(spec->reference.file);
  ASSERT_TRUE(source.ok());
  HostCompileOptions options;
  options.compile_options = spec->reference.compile_options;
  const auto kernel = HostKernel::compile(*source, *instance, options);
  ASSERT_TRUE(kernel.ok()) << kernel.error().sentence();

  std::vector<HostBuffer> buffers;
  std::vector<std::vector<double>> numbers;
  std::vector<double*> pointers;
  for (std::size_t i = 0; i < workload->buffers.size(); ++i) {
    const Workload::Buffer& described = workload->buffers[i];
    const auto size = static_cast<std::size_t>(dtype_size(described.dtype));
    auto buffer = HostBuffer::allocate(described.count * size);
    ASSERT_TRUE(buffer.ok());
    fill_buffer(plan_fill(described, 7, i), buffer->bytes());
    numbers.push_back(decoded(*element_type(described.dtype), buffer->bytes(), size));
    buffers.push_back(std::move(*buffer));
  }
  for (std::vector<double>& values : numbers)
    pointers.push_back(values.data());
  std::vector<HostArgument> arguments;
  std::vector<double> scalars;
  for (const Workload::Parameter& parameter : workload->parameters) {
    if (parameter.is_buffer) {
      arguments.push_back(HostArgument::of(buffers[parameter.buffer]));
    } else {
      auto scalar = HostArgument::scalar(parameter.dtype, parameter.value);
      ASSERT_TRUE(scalar.ok());
      arguments.push_back(std::move(*scalar));
      scalars.push_back(number(parameter.value));
    }
  }
  const auto result = kernel->run_isolated(*launch, arguments, {});
  ASSERT_TRUE(result.ok() && result->outcome == Outcome::ok);
  std::vector<std::int64_t> dimensions;
  for (const std::string& name : spec->dimensions)
    dimensions.push_back(problem.dimensions.at(name));
  reference(dimensions.data(), scalars.data(), pointers.data());

  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Workload::Buffer& described = workload->buffers[i];
    if (described.direction == Direction::in)
      continue;
    const element::DType dtype = *element_type(described.dtype);
    const auto size = static_cast<std::size_t>(dtype_size(described.dtype));
    std::vector<std::byte> expected(described.count * size);
    for (std::size_t j = 0; j < described.count; ++j) {
      const std::uint64_t bits = encode_element(dtype, numbers[i][j]);
      std::memcpy(expected.data() + j * size, &bits, size);
    }
    const Tolerance allowed = tolerance_for(spec->tolerances, described.dtype);
    const element::ErrorRule rule{dtype, allowed.relative, allowed.absolute, magnitude(dtype, expected)};
    const BufferDifference difference = compare_buffers(rule, buffers[i].bytes(), expected);
    EXPECT_TRUE(difference.acceptable()) << described.name << "[" << difference.first << "] differs, and "
                                         << difference.failures - 1 << " more of " << described.count;
  }
}

INSTANTIATE_TEST_SUITE_P(
    ShippedKernels, Reference,
    ::testing::Values(
        KernelCase{"silu_and_mul", {{"num_tokens", 3}, {"d", 520}}},
        KernelCase{"gelu_and_mul", {{"num_tokens", 3}, {"d", 520}}},
        KernelCase{"fused_add_rmsnorm", {{"num_tokens", 3}, {"d", 520}}},
        KernelCase{"rmsnorm", {{"num_tokens", 3}, {"d", 520}}},
        KernelCase{"merge_attn_states_lse", {{"num_tokens", 3}, {"num_heads", 5}, {"head_size", 64}}},
        KernelCase{"per_token_quant_fp8", {{"num_tokens", 3}, {"d", 528}}},
        // From 2112 tokens on, with 132 multiprocessors, the launcher takes its other kernel.
        KernelCase{"per_token_quant_fp8", {{"num_tokens", 2115}, {"d", 48}}, "_many_tokens"},
        KernelCase{"per_token_group_quant_fp8", {{"num_groups", 20}, {"group_size", 128}}},
        KernelCase{"per_tensor_quant_fp8", {{"num_elements", 5003}}},
        KernelCase{
            "rotary_embedding",
            {{"num_tokens", 3}, {"num_heads", 4}, {"num_kv_heads", 2}, {"head_size", 64}, {"rot_dim", 32}}},
        KernelCase{"store_kv_cache", {{"length", 9}, {"row_bytes", 512}}},
        KernelCase{"apply_token_bitmask", {{"num_rows", 3}, {"vocab_size", 4128}}},
        KernelCase{"concat_mla_k", {{"num_tokens", 3}}},
        KernelCase{"topk_softmax", {{"num_tokens", 5}, {"k", 8}}},
        KernelCase{"moe_align_block_size", {{"numel", 301}, {"num_experts", 37}, {"block_size", 16}}},
        KernelCase{"lightning_attention_decode",
                   {{"batch_size", 2}, {"num_heads", 3}, {"qk_dim", 20}, {"v_dim", 24}}}),
    [](const auto& tested) { return std::string(tested.param.name) + tested.param.label; });

} // namespace
} // namespace lathe
