// Winners as plain CUDA files and as CMake: the constants are in the text, and the file still is the kernel.
#include "tests/tuner/emit/emit_testing.h"
#include "tuner/emit/template_text.h"
#include "tuner/measure/measure.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(FixTemplateParameters, ParametersBecomeConstantsBeforeTheFirstDeclaration) {
  const auto fixed =
      fix_template_parameters("template <class T, unsigned B = 4> __global__ void f(T*);\n"
                              "template <class T, unsigned B> struct f_helper {};\n"
                              "template <class T, unsigned B>\n__global__ void f(T* out) { out[B] = 0; }\n",
                              "f", {{1, "8u"}});
  ASSERT_TRUE(fixed.ok()) << fixed.error().sentence();
  EXPECT_EQ(*fixed, "constexpr unsigned B = 8u;\ntemplate <class T> __global__ void f(T*);\n"
                    "template <class T, unsigned B> struct f_helper {};\n"
                    "template <class T>\n__global__ void f(T* out) { out[B] = 0; }\n");
}

TEST(FixTemplateParameters, WithoutParametersLeftItIsAPlainFunction) {
  const auto fixed = fix_template_parameters("template <int A, bool B>\n__global__ void f() {}\n", "f",
                                             {{0, "1"}, {1, "true"}});
  ASSERT_TRUE(fixed.ok());
  EXPECT_EQ(*fixed, "constexpr int A = 1;\nconstexpr bool B = true;\n__global__ void f() {}\n");
}

TEST(FixTemplateParameters, CommentsLiteralsAndDirectivesAreNoCode) {
  const std::string before =
      "// template <int A> __global__ void f()\n#define M template <int A> __global__ void f()\n"
      "const char* s = \"template <int A> __global__ void f()\"; int n = 1'000;\n";
  const auto fixed = fix_template_parameters(
      before + "template <int A /* > */, int B = (3 > 2), template <int> class C>\n__global__ void f() {}\n",
      "f", {{0, "7"}});
  ASSERT_TRUE(fixed.ok());
  EXPECT_EQ(*fixed, before + "constexpr int A = 7;\ntemplate <int B = (3 > 2), template <int> class C>\n"
                             "__global__ void f() {}\n");
}

TEST(FixTemplateParameters, FailsWhereThereIsNoSuchTemplate) {
  EXPECT_FALSE(fix_template_parameters("__global__ void f() {}", "f", {{0, "1"}}).ok());
  EXPECT_FALSE(fix_template_parameters("template <int A> __global__ void ff() {}", "f", {{0, "1"}}).ok());
  EXPECT_FALSE(fix_template_parameters("template <int A> __global__ void f() {}", "f", {{1, "1"}}).ok());
}

TEST_F(Emit, CudaFileHoldsConstantsAndCompilesAloneWithBothCompilers) {
  const auto made = emit_cuda(spec_, winner(1024, 128, 1.5), {});
  ASSERT_TRUE(made.ok()) << made.error().sentence();
  EXPECT_EQ(made->instance, "scale<__nv_bfloat16>");
  EXPECT_THAT(made->text, HasSubstr("constexpr unsigned BLOCK = 128;\ntemplate <typename T> __global__"));
  EXPECT_THAT(made->text, HasSubstr("raw / tuned 1.500"));
  const auto compiled = compile_kernel(made->text, made->instance, {}, "sm_90");
  EXPECT_TRUE(compiled.ok()) << compiled.error().sentence();

  const std::filesystem::path nvcc = find_nvcc();
  ASSERT_FALSE(nvcc.empty()) << "no nvcc beside the toolkit's headers";
  ASSERT_TRUE(write_file(path("scale.cu"), made->text +
                                               "int main() { return lathe_tuned::scale::admits({1024}) && "
                                               "!lathe_tuned::scale::admits({1000}) && "
                                               "lathe_tuned::scale::launch({0}, nullptr, nullptr, nullptr, "
                                               "0) == cudaSuccess ? 0 : 1; }\n")
                  .ok());
  SubprocessOptions options;
  options.folder = path("");
  const auto built =
      run_subprocess({nvcc.string(), "-std=c++17", "-arch=sm_90", "-o", "scale", "scale.cu"}, options);
  ASSERT_TRUE(built.ok());
  ASSERT_TRUE(built->succeeded()) << built->errors << built->output;
  const auto ran = run_subprocess({path("scale").string()}, options);
  EXPECT_TRUE(ran.ok() && ran->succeeded());
}

TEST_F(Emit, CudaFileOfAHostResultIsRefusedUnlessAskedForAndLabelled) {
  StoredWinner host = winner(1024, 128, 1.5);
  host.is_host = true;
  EXPECT_FALSE(emit_cuda(spec_, host, {}).ok());
  HeaderOptions options;
  options.allow_host = true;
  const auto made = emit_cuda(spec_, host, options);
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(made->text, HasSubstr("HOST-EXECUTOR TIMES"));
}

TEST_F(Emit, MacroKnobsAreDefined) {
  spec_.knobs[0].is_macro = true;
  spec_.kernel.instance = "scale<{T}>";
  const auto made = emit_cuda(spec_, winner(1024, 256, 1.5), {});
  ASSERT_TRUE(made.ok()) << made.error().sentence();
  EXPECT_THAT(made->text, HasSubstr("#define BLOCK 256\n"));
}

TEST_F(Emit, CMakeTableDefinesTheKnobsOfARow) {
  const auto made = emit_cmake(spec_, {winner(1024, 128, 1.5), winner(4096, 256, 1.4)}, {});
  ASSERT_TRUE(made.ok()) << made.error().sentence();
  ASSERT_TRUE(write_file(path("scale.cmake"), *made).ok());
  ASSERT_TRUE(write_file(path("a.cpp"), "static_assert(BLOCK == 256); int main() {}\n").ok());
  const auto configure = [&](const std::string& workload) {
    EXPECT_TRUE(
        write_file(path("CMakeLists.txt"), "cmake_minimum_required(VERSION 3.25)\nproject(P LANGUAGES CXX)\n"
                                           "add_executable(a a.cpp)\ninclude(scale.cmake)\n"
                                           "scale_definitions(a DEVICE sm_90 WORKLOAD \"" +
                                               workload + "\")\n")
            .ok());
    SubprocessOptions options;
    options.folder = path("");
    const auto ran = run_subprocess({"cmake", "-S", ".", "-B", "build"}, options);
    EXPECT_TRUE(ran.ok());
    return ran.ok() ? *ran : SubprocessResult{};
  };
  const auto configured = configure("bf16 n=4096");
  ASSERT_TRUE(configured.succeeded()) << configured.errors;
  const auto built = run_subprocess({"cmake", "--build", path("build").string()});
  ASSERT_TRUE(built.ok());
  EXPECT_TRUE(built->succeeded()) << built->output << built->errors;
  const auto refused = configure("bf16 n=5");
  EXPECT_FALSE(refused.succeeded());
  EXPECT_THAT(refused.errors, HasSubstr("nothing was tuned for 'bf16 n=5'"));
}

// Shipped templates with constants in their text, verified against their raw kernels on the host executor.
struct ShippedCase {
  const char* name;
  std::map<std::string, std::int64_t> sizes;
  std::map<std::string, std::int64_t> knobs; // the others keep their defaults
};

class ShippedCudaFile : public ::testing::TestWithParam<ShippedCase> {};

TEST_P(ShippedCudaFile, ComputesWhatTheRawKernelComputes) {
  const char* root = std::getenv("LATHE_SOURCE_DIR");
  ASSERT_NE(root, nullptr);
  auto spec =
      read_spec(std::filesystem::path(root) / "search_spaces" / (std::string(GetParam().name) + ".json"));
  ASSERT_TRUE(spec.ok()) << spec.error().sentence();
  auto folder = TemporaryFolder::create("cuda-source-test");
  ASSERT_TRUE(folder.ok());
  auto backend = make_host_backend();
  ASSERT_TRUE(backend.ok()) << backend.error().sentence();
  StoredWinner winner;
  winner.architecture = "sm_90";
  winner.problem.dimensions = GetParam().sizes;
  for (const TypeParameter& type : spec->types)
    winner.types[type.name] = type.dtypes.front();
  const auto workload = bind_workload(*spec, winner.problem, winner.types, (*backend)->device().limits());
  ASSERT_TRUE(workload.ok()) << workload.error().sentence();
  const auto defaults = default_knobs(*workload);
  ASSERT_TRUE(defaults.ok());
  winner.knobs = *defaults;
  for (std::size_t k = 0; k < spec->knobs.size(); ++k) {
    winner.knob_names.push_back(spec->knobs[k].name);
    if (const auto given = GetParam().knobs.find(spec->knobs[k].name); given != GetParam().knobs.end())
      winner.knobs[k] = Value{given->second};
  }
  const auto made = emit_cuda(*spec, winner, {});
  ASSERT_TRUE(made.ok()) << made.error().sentence();
  for (const auto& [knob, value] : GetParam().knobs)
    EXPECT_THAT(made->text, HasSubstr(" " + knob + " = "));

  TuningSpec exported = *spec;
  exported.kernel = made->source;
  exported.kernel.file = folder->path() / "exported.cu";
  ASSERT_TRUE(write_file(exported.kernel.file, made->text).ok());
  const auto bound = bind_workload(exported, winner.problem, winner.types, (*backend)->device().limits());
  ASSERT_TRUE(bound.ok());
  MeasureOptions options;
  options.min_samples = options.max_samples = 1;
  const Status prepared = (*backend)->prepare(*bound, options);
  ASSERT_TRUE(prepared.ok()) << prepared.error().sentence();
  const auto measured = (*backend)->evaluate(std::vector<KnobValues>{winner.knobs}, 0);
  ASSERT_TRUE(measured.ok()) << measured.error().sentence();
  EXPECT_EQ((*measured)[0].outcome, Outcome::ok) << (*measured)[0].reason;
}

INSTANTIATE_TEST_SUITE_P(Kernels, ShippedCudaFile,
                         ::testing::Values(ShippedCase{"silu_and_mul",
                                                       {{"num_tokens", 3}, {"d", 512}},
                                                       {{"vec_size", 4}, {"BLOCK", 64}, {"SPLIT", 2}}},
                                           ShippedCase{
                                               "merge_attn_states_lse",
                                               {{"num_tokens", 3}, {"num_heads", 4}, {"head_size", 64}},
                                               {{"NUM_THREADS", 64}, {"pack_size", 4}, {"STORE_CACHE", 1}}},
                                           ShippedCase{"store_kv_cache",
                                                       {{"length", 5}, {"row_bytes", 2048}},
                                                       {{"BLOCK", 64}, {"UNROLL", 2}, {"LOAD_CACHE", 1}}}),
                         [](const auto& tested) { return std::string(tested.param.name); });

} // namespace
} // namespace lathe
