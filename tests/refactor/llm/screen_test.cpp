// What a template may not contain, and that honest templates may contain what they need.
#include "refactor/llm/apart.h"
#include "refactor/llm/candidate.h"
#include "refactor/llm/screen.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace lathe::refactor::llm {
namespace {

using testing::HasSubstr;

const std::string RAW = R"(#include <cuda_fp16.h>
#define SCALE 2.0f
#ifdef FAST
#define STEP 4
#else
#define STEP 2
#endif
constexpr int WIDTH = 8;
// Twice the value.
__device__ __forceinline__ float twice(float x) { return SCALE * x; }
template <typename T> __global__ void scale_kernel(T* __restrict__ out, const T* __restrict__ in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = static_cast<T>(twice(static_cast<float>(in[i])));
  }
}
)";

// RAW with a knob, and `extra` behind the includes.
std::string with(const std::string& extra, const std::string& body = {}) {
  std::string text = RAW;
  text.replace(text.find("template <typename T>"), 21, "template <typename T, int ITEMS>");
  text.replace(text.find("  const int i = blockIdx.x"), 0, body);
  text.replace(
      text.find("  if (i < n) {"), 14,
      "  for (int item = 0; item < ITEMS; ++item)\n    if (const int at = i * ITEMS + item; at < n) {");
  text.replace(text.find("out[i]"), 6, "out[at]");
  text.replace(text.find("in[i]"), 5, "in[at]");
  text.insert(text.find("constexpr int WIDTH"), extra);
  return text;
}

Candidate raw_candidate() {
  Candidate raw;
  raw.text = RAW;
  raw.kernel = "scale_kernel";
  raw.instance = "scale_kernel<{T}>";
  raw.types = {{"T", {"f16"}}};
  raw.dimensions = {"n"};
  raw.launch.grid[0] = *Expression::parse("ceil_div(n, 128)");
  raw.launch.block[0] = *Expression::parse("128");
  return raw;
}

Submission submission_of(const std::string& text) {
  Submission submission;
  submission.text = text;
  submission.knobs = {{"ITEMS", "1", "", KnobKind::coarsen, {1, 2, 4}}};
  submission.grid = {"ceil_div(n, 128 * ITEMS)", "1", "1"};
  return submission;
}

std::string why(const Submission& submission) {
  const auto candidate = make_candidate(submission, raw_candidate(), "sm_90");
  return candidate.ok() ? "(accepted)" : candidate.error().why;
}

TEST(Candidate, BindsWhatTheModelMayNotSay) {
  const auto candidate = make_candidate(submission_of(with("")), raw_candidate(), "sm_90");
  ASSERT_TRUE(candidate.ok()) << candidate.error().sentence();
  EXPECT_EQ(candidate->instance, "scale_kernel<{T}, {ITEMS}>");
  EXPECT_EQ(candidate->knobs.at(0).type, "int");
  EXPECT_EQ(candidate->launch.grid[0].text(), "ceil_div(n, 128 * ITEMS)");
  EXPECT_EQ(candidate->launch.block[0].text(), "128");
}

struct Hostile {
  const char* name;
  std::string text;
  const char* why;
};

void PrintTo(const Hostile& hostile, std::ostream* stream) {
  *stream << hostile.name;
}

class ScreenRefuses : public testing::TestWithParam<Hostile> {};

TEST_P(ScreenRefuses, WithASentence) {
  EXPECT_THAT(why(submission_of(GetParam().text)), HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    , ScreenRefuses,
    testing::Values(
        Hostile{"ForeignFile", with("#include \"/etc/passwd\"\n"), "names a file"},
        Hostile{"LibraryFile", with("#include <cstdlib>\n"), "names a file"},
        Hostile{"IncludeByDigraph", with("%: include <cstdlib>\n"), "digraph"},
        Hostile{"IncludeByTrigraph",
                with("?"
                     "?=include <cstdlib>\n"),
                "trigraph"},
        Hostile{"IncludeBySplice", with("#inc\\\nlude <cstdlib>\n"), "is not in the raw kernel's text"},
        Hostile{"IncludeByMacro", with("#define HEADER <cstdlib>\n#include HEADER\n"), "is not in the raw"},
        Hostile{"IncludeNext", with("#include_next <cuda_fp16.h>\n"), "names a file"},
        Hostile{"Embed", with("const char data[] = {\n#embed \"/etc/passwd\"\n};\n"), "names a file"},
        Hostile{"OtherMacro", with("#define if while\n"), "is not in the raw"},
        Hostile{"Redefinition", with("#undef SCALE\n"), "is not in the raw"},
        Hostile{"Line", with("#line 1 \"other.cu\"\n"), "is not in the raw"},
        Hostile{"OtherPragma", with("#pragma GCC poison n\n"), "is not in the raw"},
        Hostile{"PragmaOperator", with("_Pragma(\"GCC poison n\")\n"), "'_Pragma' is not allowed"},
        Hostile{"OtherCondition", with("#ifndef __CUDA_ARCH__\nint x;\n#endif\n"), "conditional part"},
        Hostile{"FilledCondition", with("#ifdef FAST\nint x;\n#else\n#define STEP 2\n#endif\n"),
                "conditional part"},
        Hostile{"OpenCondition", with("#ifdef FAST\n"), "not closed"},
        Hostile{"OpenEnd", with("#endif\n"), "#endif without #if"},
        Hostile{"UnrollWithMore", with("", "#pragma unroll 4; asm(\"trap;\")\n"), "is not in the raw"},
        Hostile{"Main", with("int main() { return 0; }\n"), "'main' is not allowed"},
        Hostile{"HostFunction", with("int helper() { return 0; }\n"), "a host function 'helper'"},
        Hostile{"HostMethod", with("struct S { int f() { return 0; } };\n"), "a host function 'S::f'"},
        Hostile{"HostConstructor", with("struct S { int v; S() { v = 1; } };\n"), "a host function"},
        Hostile{"StaticInitialiser", with("static int x = 1;\n"), "a variable 'x'"},
        Hostile{"ConstInitialiser", with("const int x = 1;\n"), "a variable 'x'"},
        Hostile{"DeviceVariable", with("__device__ int x;\n"), "a variable 'x'"},
        Hostile{"ManagedVariable", with("__managed__ int x;\n"), "'__managed__' is not allowed"},
        Hostile{"ConstantVariable", with("__constant__ int x;\n"), "'__constant__' is not allowed"},
        Hostile{"StaticLocal", with("", "  static int calls;\n"), "a variable 'calls'"},
        Hostile{"StaticMember", with("struct S { static int x; };\n"), "a variable 'x'"},
        Hostile{"VariableTemplate", with("template <int N> __device__ int x = N;\n"), "a variable 'x'"},
        Hostile{"Constructor", with("__attribute__((constructor)) void f() {}\n"),
                "'__attribute__' is not allowed"},
        Hostile{"BracketAttribute", with("[[gnu::constructor]] void f() {}\n"), "an attribute in brackets"},
        Hostile{"Launch", with("", "  scale_kernel<T, ITEMS><<<1, 1>>>(out, in, n);\n"), "a kernel launch"},
        Hostile{"SecondKernel", with("__global__ void other() {}\n"), "a kernel 'other'"},
        Hostile{"Assembly", with("", "  asm(\"trap;\");\n"), "'asm' is not allowed"},
        Hostile{"VolatileAssembly", with("", "  __asm__ __volatile__(\"trap;\");\n"),
                "'__asm__' is not allowed"},
        Hostile{"AssemblyAtFileScope", with("asm(\".global x\");\n"), "'asm' is not allowed"},
        Hostile{"System", with("", "  system(\"true\");\n"), "'system' is not allowed"},
        Hostile{"ExternSystem", with("extern \"C\" int renamed(const char*);\n"),
                "in front of __shared__ only"},
        Hostile{"SplicedSystem", with("", "  sys\\\ntem(\"true\");\n"), "spliced"},
        Hostile{"NumberedSystem", with("", "  \\u0073ystem(\"true\");\n"), "spliced"},
        Hostile{"Print", with("", "  printf(\"%d\", n);\n"), "'printf' is not allowed"},
        Hostile{"Allocation", with("", "  int* p = new int[n];\n"), "'new' is not allowed"},
        Hostile{"RuntimeCall", with("", "  cudaDeviceSynchronize();\n"),
                "'cudaDeviceSynchronize' is not allowed"},
        Hostile{"DriverCall", with("", "  cuInit(0);\n"), "'cuInit' is not allowed"},
        Hostile{"Clock", with("", "  if (clock64() == 0) return;\n"), "'clock64' is not allowed"},
        Hostile{"CompilerMacro", with("", "  if (__CUDA_ARCH__ > 1) return;\n"),
                "'__CUDA_ARCH__' is not allowed"},
        Hostile{"LathesNames", with("", "  lathe_host_report(0);\n"), "is not allowed"},
        Hostile{"InStd", with("namespace std { __device__ int f() { return 0; } }\n"),
                "in the namespace std"},
        Hostile{"UnknownFunction", with("", "  puts_somewhere(n);\n"), "does not compile"},
        Hostile{"HiddenOrder", with("// \xe2\x80\xae hidden\n"), "an invisible character"},
        Hostile{"HiddenSpace", with("// \xe2\x80\x8b hidden\n"), "an invisible character"},
        Hostile{"NoKernel", "#include <cuda_fp16.h>\n", "scale_kernel"},
        Hostile{"Empty", "\n", "scale_kernel"},
        Hostile{"OpenParameter",
                [] {
                  std::string text = with("");
                  text.replace(text.find("int ITEMS>"), 9, "int ITEMS, int OTHER");
                  return text;
                }(),
                "neither the raw kernel's nor among the knobs"},
        Hostile{"KnobIsAType",
                [] {
                  std::string text = with("");
                  text.replace(text.find("int ITEMS>"), 9, "typename ITEMS");
                  return text;
                }(),
                ""}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(Screen, HonestTemplatesPass) {
  EXPECT_EQ(why(submission_of(with("// a comment: asm, system(\"true\"), #include <cstdlib>\n"))),
            "(accepted)");
  EXPECT_EQ(why(submission_of(
                with("template <typename V, int N> struct __align__(16) pack { V item[N]; };\n"
                     "template <int N> constexpr int doubled() { return 2 * N; }\n"
                     "constexpr int LANES = 32;\n"
                     "static_assert(LANES == 32, \"a warp\");\n",
                     "  __shared__ float tile[LANES + 1];\n  extern __shared__ float more[];\n"
                     "  const auto twofold = [](float x) { return 2.0f * x; };\n"
                     "#pragma unroll ITEMS\n  for (int k = 0; k < 2; ++k) tile[k] = twofold(more[k]);\n"
                     "#pragma unroll\n  for (int k = 0; k < 2; ++k) tile[k] = 0;\n"))),
            "(accepted)");
}

TEST(Candidate, RefusesExpressionsOverOtherNames) {
  const auto changed = [](const std::function<void(Submission&)>& change) {
    Submission submission = submission_of(with(""));
    change(submission);
    return why(submission);
  };
  EXPECT_THAT(changed([](auto& s) { s.grid = {"blocks", "1", "1"}; }),
              HasSubstr("'blocks' is neither a dimension"));
  EXPECT_THAT(changed([](auto& s) { s.grid = {"device.multiprocessors", "1", "1"}; }),
              HasSubstr("is neither"));
  EXPECT_THAT(changed([](auto& s) { s.knobs[0].default_text = "ITEMS"; }), HasSubstr("'ITEMS' is neither"));
  EXPECT_THAT(changed([](auto& s) { s.conditions = {{"ITEMS < (", ""}}; }), HasSubstr("a condition"));
  EXPECT_THAT(changed([](auto& s) { s.conditions = {{"n == 4096", ""}}; }), HasSubstr("mentions no knob"));
  EXPECT_THAT(changed([](auto& s) { s.shared_bytes = "x"; }), HasSubstr("shared_bytes: 'x' is neither"));
  EXPECT_EQ(changed([](auto& s) { s.conditions = {{"ITEMS * 128 <= device.max_threads_per_block", ""}}; }),
            "(accepted)");
}

TEST(Candidate, RefusesKnobsWithNamesThatAreTaken) {
  Submission submission = submission_of(with(""));
  submission.knobs.push_back({"n", "1", "", KnobKind::flag, {0, 1}});
  EXPECT_THAT(why(submission), HasSubstr("the name of a dimension"));
}

TEST(Apart, GivesTheResultBack) {
  const auto result = run_apart([] { return std::string(100000, 'x'); }, 20);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->size(), 100000u);
}

TEST(Apart, EndsWhatTakesTooLong) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run_apart(
      []() -> std::string {
        for (;;)
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
      },
      0.2);
  EXPECT_THAT(result.error().why, HasSubstr("longer than"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Apart, ACrashCostsTheChildOnly) {
  EXPECT_THAT(run_apart([]() -> std::string { std::abort(); }, 20).error().why, HasSubstr("signal 6"));
}

TEST(Apart, MemoryIsLimited) {
  const auto result =
      run_apart([] { return std::string(malloc(std::size_t{1} << 30) ? "enough" : "none"); }, 20, 64u << 20);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, "none");
}

} // namespace
} // namespace lathe::refactor::llm
