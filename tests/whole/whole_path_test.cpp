// Raw kernel -> template -> tuned on the host executor -> header that compiles: as the README says, on a
// small problem.
#include "tests/whole/command.h"
#include "tuner/compile/compile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace lathe {
namespace {

using Json = nlohmann::json;

struct KernelCase {
  const char* name;
  const char* kernel;
  const char* problem;
};

class WholePath : public CommandTest, public ::testing::WithParamInterface<KernelCase> {
protected:
  std::string spec() const { return "search_spaces/" + std::string(GetParam().name) + ".json"; }

  void templatize() {
    const auto source = source_folder() / "sglang_kernels" / (std::string(GetParam().name) + ".cu");
    const auto made = lathe(
        {"templatize", source.string(), "--kernel", GetParam().kernel, "--name", GetParam().name, "--json"});
    ASSERT_EQ(made.exit_code, 0) << made.errors << made.output;
    product_ = Json::parse(made.output);
  }

  Json tune(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{
        "tune",  spec(),      "--device",         "host",      "--evaluations",
        "8",     "--problem", GetParam().problem, "--results", "results.sqlite",
        "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto tuned = lathe(arguments);
    EXPECT_EQ(tuned.exit_code, 0) << tuned.errors;
    return Json::parse(tuned.output, nullptr, false);
  }

  Json product_;
};

TEST_P(WholePath, TemplateTunedAndExported) {
  templatize();
  EXPECT_TRUE(product_["Accepted"].get<bool>()) << product_;
  EXPECT_GE(product_["Knobs"].size(), 4u) << product_;
  EXPECT_EQ(product_["IdentityLevel"], "L0") << product_;

  const Json results = tune();
  ASSERT_EQ(results["Results"].size(), 1u);
  const Json& row = results["Results"][0];
  EXPECT_TRUE(row["HostExecutor"].get<bool>());
  EXPECT_NE(row["Device"].get<std::string>().find("host executor"), std::string::npos);
  EXPECT_FALSE(row["Failures"].contains("wrong_result")) << row;
  EXPECT_GT(row["Raw"]["MedianMicroseconds"].get<double>(), 0);

  const auto exported =
      lathe({"export", spec(), "--results", "results.sqlite", "--allow-host", "-o", "tuned.h"});
  ASSERT_EQ(exported.exit_code, 0) << exported.errors;
  EXPECT_NE(read_file(folder() / "tuned.h")->find("HOST-EXECUTOR TIMES"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    ShippedKernels, WholePath,
    ::testing::Values(KernelCase{"silu_and_mul", "act_and_mul_kernel", "num_tokens=3,d=512"},
                      KernelCase{"fused_add_rmsnorm", "fused_add_rmsnorm_kernel", "num_tokens=3,d=512"},
                      KernelCase{"merge_attn_states_lse", "merge_attn_states_kernel",
                                 "num_tokens=3,num_heads=4,head_size=64"}),
    [](const auto& tested) { return std::string(tested.param.name); });

// The rest of the shipped kernels: accepted, with knobs, and what was proved of their defaults.
struct TemplateCase {
  const char* name;
  const char* kernel;
  std::size_t knobs;
  const char* identity;
  const char* other = nullptr; // the second kernel of a choice
};

class Templatized : public CommandTest, public ::testing::WithParamInterface<TemplateCase> {};

TEST_P(Templatized, IsAccepted) {
  const auto source = source_folder() / "sglang_kernels" / (std::string(GetParam().name) + ".cu");
  std::vector<std::string> command{"templatize", source.string(), "--kernel", GetParam().kernel,
                                   "--name",     GetParam().name, "--json"};
  if (GetParam().other)
    command.insert(command.end(), {"--or", GetParam().other});
  const auto made = lathe(command);
  ASSERT_EQ(made.exit_code, 0) << made.errors << made.output;
  const Json product = Json::parse(made.output);
  EXPECT_TRUE(product["Accepted"].get<bool>()) << product;
  EXPECT_GE(product["Knobs"].size(), GetParam().knobs) << product;
  EXPECT_EQ(product["IdentityLevel"], GetParam().identity) << product;
}

INSTANTIATE_TEST_SUITE_P(
    ShippedKernels, Templatized,
    ::testing::Values(TemplateCase{"gelu_and_mul", "act_and_mul_kernel", 8, "L0"},
                      TemplateCase{"rmsnorm", "rmsnorm_kernel", 7, "L0"},
                      TemplateCase{"per_token_quant_fp8", "per_token_quant_fp8_warp_kernel", 12, "L0",
                                   "per_token_quant_fp8_kernel"},
                      TemplateCase{"per_token_group_quant_fp8", "per_token_group_quant_fp8_kernel", 6, "L0"},
                      TemplateCase{"per_tensor_quant_fp8", "per_tensor_quant_fp8_kernel", 6, "L0"},
                      TemplateCase{"rotary_embedding", "rotary_embedding_kernel", 6, "L0"},
                      TemplateCase{"store_kv_cache", "store_kv_cache_kernel", 5, "L0"},
                      TemplateCase{"apply_token_bitmask", "apply_token_bitmask_kernel", 5, "L0"},
                      TemplateCase{"concat_mla_k", "concat_mla_k_kernel", 4, "L0"},
                      TemplateCase{"topk_softmax", "topk_softmax_kernel", 5, "L3"},
                      TemplateCase{"moe_align_block_size", "moe_align_block_size_kernel", 6, "L0"},
                      TemplateCase{"lightning_attention_decode", "lightning_attention_decode_kernel", 13,
                                   "L0"}),
    [](const auto& tested) { return std::string(tested.param.name); });

// Kernels written an element at a time get a width, and the guard accepts what it makes of them; older ways
// to write them included.
struct ElementwiseCase {
  const char* kernel;
  const char* file = "elementwise.cu";
};

class Elementwise : public CommandTest, public ::testing::WithParamInterface<ElementwiseCase> {};

TEST_P(Elementwise, GetsAVectorWidthThatIsAccepted) {
  const auto source = source_folder() / "tests/benchmarks" / GetParam().file;
  const auto made = lathe({"templatize", source.string(), "--kernel", GetParam().kernel, "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.errors << made.output;
  const Json product = Json::parse(made.output);
  EXPECT_TRUE(product["Accepted"].get<bool>()) << product;
  EXPECT_EQ(product["IdentityLevel"], "L0") << product;
  for (const char* name : {"VEC", "BLOCK"})
    EXPECT_TRUE(std::ranges::any_of(product["Knobs"], [&](const Json& knob) { return knob["Name"] == name; }))
        << product;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Elementwise,
                         ::testing::Values(ElementwiseCase{"axpy"}, ElementwiseCase{"norm_rows"},
                                           ElementwiseCase{"residual_rows"},
                                           ElementwiseCase{"axpy_whole_grid", "older_styles.cu"},
                                           ElementwiseCase{"row_centres", "older_styles.cu"},
                                           ElementwiseCase{"diffuse", "older_styles.cu"},
                                           ElementwiseCase{"sparse_rows", "older_styles.cu"}),
                         [](const auto& tested) { return std::string(tested.param.kernel); });

// A tuning that is stopped in the middle: what was recorded is still there, and the same command goes on.
class Interrupted : public CommandTest {
protected:
  void templatize() {
    const auto source = source_folder() / "sglang_kernels/silu_and_mul.cu";
    const auto made = lathe({"templatize", source.string(), "--name", "silu_and_mul", "--no-check"});
    ASSERT_EQ(made.exit_code, 0) << made.errors;
  }

  // Starts a tuning in a process group of its own and waits until it has recorded something.
  pid_t start_tuning() {
    const pid_t child = ::fork();
    EXPECT_GE(child, 0);
    if (child == 0) {
      ::setpgid(0, 0);
      std::vector<std::string> words{lathe_program()};
      words.insert(words.end(), command_.begin(), command_.end());
      std::vector<char*> pointers;
      for (std::string& word : words)
        pointers.push_back(word.data());
      pointers.push_back(nullptr);
      if (::chdir(folder().c_str()) == 0)
        ::execv(pointers[0], pointers.data());
      ::_exit(127);
    }
    for (int tenths = 0; tenths < 600 && !std::filesystem::exists(folder() / "results.sqlite"); ++tenths)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::this_thread::sleep_for(std::chrono::seconds(6));
    return child;
  }

  void expect_goes_on() {
    const auto resumed = lathe(command_);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
    EXPECT_EQ(Json::parse(resumed.output)["Results"][0]["Evaluations"], 12);
    // Another run finds everything in the store and evaluates nothing anew.
    const auto again = lathe(command_);
    EXPECT_EQ(Json::parse(again.output)["Results"][0]["Evaluations"], 12);
  }

private:
  std::vector<std::string> command_{"tune",          "search_spaces/silu_and_mul.json",
                                    "--device",      "host",
                                    "--evaluations", "12",
                                    "--problem",     "num_tokens=2,d=512",
                                    "--results",     "results.sqlite",
                                    "--json"};
};

TEST_F(Interrupted, KilledTuningGoesOn) {
  templatize();
  const pid_t child = start_tuning();
  ::kill(-child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  expect_goes_on();
}

TEST_F(Interrupted, CtrlCIsCleanAndTuningGoesOn) {
  templatize();
  const pid_t child = start_tuning();
  ::kill(-child, SIGINT); // as a terminal does: every process of the group
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(WEXITSTATUS(status) == 130 || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
  expect_goes_on();
}

} // namespace
} // namespace lathe
