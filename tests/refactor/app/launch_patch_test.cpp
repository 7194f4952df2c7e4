// Launches changed into calls of the exported header.
#include "refactor/app/launch_patch.h"

#include "tests/refactor/frontend/sources.h"
#include "tuner/base/files.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Expression expression(const std::string& text) {
  auto parsed = Expression::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}

Argument buffer(const std::string& name, const std::string& dtype, Direction direction) {
  Argument argument;
  argument.name = name;
  argument.dtype = dtype;
  argument.direction = direction;
  return argument;
}

Argument number(const std::string& name, const std::string& value) {
  Argument argument;
  argument.name = name;
  argument.is_buffer = false;
  argument.dtype = "i32";
  argument.value = expression(value);
  return argument;
}

// template <typename T, int W> __global__ void k(T* out, const T* in, int d), one block a row.
TuningSpec rows_spec() {
  TuningSpec spec;
  spec.name = "rows";
  spec.dimensions = {"n", "d"};
  spec.types = {{"T", {"f32", "f16"}}};
  spec.arguments = {buffer("out", "T", Direction::out), buffer("in", "T", Direction::in), number("d", "d")};
  spec.reference.file = "rows.raw.cuh";
  spec.reference.instance = "k<{T}, 4>";
  spec.reference.launch.grid[0] = expression("n");
  spec.reference.launch.block[0] = expression("min(d / (16 / sizeof_T), 1024)");
  Problem problem;
  problem.dimensions = {{"n", 64}, {"d", 4096}};
  spec.problems = {problem};
  return spec;
}

constexpr const char* KERNEL = R"(
#include <cuda_fp16.h>
#include <algorithm>
#include <cstdint>
template <typename T, int W> __global__ void k(T* out, const T* in, int d) {
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    out[blockIdx.x * d + i] = in[blockIdx.x * d + i];
}
)";

std::vector<LaunchSite> launches(const std::string& text) {
  const auto source = parse_text(KERNEL + text);
  if (!source)
    return {};
  EXPECT_THAT(source->errors(), IsEmpty());
  const auto found = find_kernel(*source, "k");
  EXPECT_TRUE(found.ok());
  return found.ok() ? found->launches : std::vector<LaunchSite>();
}

// Of a source with one launch: the call, or the error's sentence.
std::string call(const std::string& text, const TuningSpec& spec = rows_spec()) {
  const auto sites = launches(text);
  EXPECT_EQ(sites.size(), 1u);
  if (sites.empty())
    return "";
  const auto made = tuned_call(spec, {"k", sites.front()});
  return made.ok() ? *made : made.error().sentence();
}

TEST(LaunchPatch, ATemplateOfALauncherKeepsItsNames) {
  EXPECT_EQ(call(R"(
template <typename T> void run(T* out, const T* in, int n, int d, cudaStream_t stream) {
  const unsigned width = 16 / sizeof(T);
  const dim3 block(std::min<unsigned>(d / width, 1024u));
  k<T, 4><<<n, block, 0, stream>>>(out, in, d);
}
template void run<float>(float*, const float*, int, int, cudaStream_t);
template void run<__half>(__half*, const __half*, int, int, cudaStream_t);
)"),
            "lathe_tuned::rows::launch({n, d}, stream, out, in, d)");
}

TEST(LaunchPatch, SizesAreTakenFromVariablesThatHaveThemThere) {
  // The parameter has another value by then; `rows` and `columns` have the launch's own.
  EXPECT_EQ(
      call(R"(
void run(float* data, std::size_t count, unsigned columns) {
  const std::size_t rows = count / 3;
  count = 7;
  k<float, 4><<<rows, std::min(columns / 4, 1024u)>>>(data, data, columns);
}
)"),
      "lathe_tuned::rows::launch({static_cast<long long>(rows), columns}, nullptr, data, data, columns)");
}

TEST(LaunchPatch, NamesNeedNotBeTheSpecifications) {
  EXPECT_EQ(
      call(R"(
void run(float* data, std::int64_t rows, std::uint64_t columns) {
  k<float, 4><<<rows, std::min<std::uint64_t>(columns / 4, 1024)>>>(data, data + 1, columns);
}
)"),
      "lathe_tuned::rows::launch({rows, static_cast<long long>(columns)}, nullptr, data, data + 1, columns)");
}

TEST(LaunchPatch, AnAssignedVariableIsNotTheSizeAnyMore) {
  EXPECT_THAT(call(R"(
void run(float* data, int n, int d) {
  const dim3 grid(n), block(std::min(d / 4, 1024));
  n = 7;
  k<float, 4><<<grid, block>>>(data, data, d);
}
)"),
              HasSubstr("no variable there has the value of the size 'n'"));
  EXPECT_EQ(call(R"(
void run(float* data, int n, int d) {
  const int rows = n;
  const dim3 grid(n), block(std::min(d / 4, 1024));
  n = 7;
  k<float, 4><<<grid, block>>>(data, data, d);
}
)"),
            "lathe_tuned::rows::launch({rows, d}, nullptr, data, data, d)");
}

TEST(LaunchPatch, HiddenVariablesAreNotNamed) {
  EXPECT_THAT(call(R"(
void run(float* data, int n, int d) {
  const dim3 grid(n);
  { const int n = 3; k<float, 4><<<grid, std::min(d / 4, 1024)>>>(data + n, data, d); }
}
)"),
              HasSubstr("no variable there has the value of the size 'n'"));
}

TEST(LaunchPatch, AnArgumentOfAMacroIsChangedInPlace) {
  EXPECT_EQ(call(R"(
#define DISPATCH(...) [&] { using scalar_t = float; __VA_ARGS__(); }()
void run(void* out, const float* in, int n, int d, cudaStream_t s) {
  DISPATCH([&] { k<scalar_t, 4><<<n, std::min(d / 4, 1024), 0, s>>>((float*)out, in, d); });
}
)"),
            "lathe_tuned::rows::launch({n, d}, s, (float*)out, in, d)");
}

TEST(LaunchPatch, OfOneTypeTheHeadersNamesAreCastTo) {
  TuningSpec spec = rows_spec();
  spec.types.clear();
  spec.reference.instance = "k<long, 4>";
  spec.arguments[0].dtype = spec.arguments[1].dtype = "i64";
  spec.reference.launch.block[0] = expression("min(d / 2, 1024)");
  EXPECT_EQ(call(R"(
void run(std::int64_t* out, const std::int64_t* in, int n, int d) {
  k<std::int64_t, 4><<<n, std::min(d / 2, 1024)>>>(out, in, d);
}
)",
                 spec),
            "lathe_tuned::rows::launch({n, d}, nullptr, reinterpret_cast<long long*>(out), "
            "reinterpret_cast<const long long*>(in), d)");
}

TEST(LaunchPatch, OtherInstancesAreRefused) {
  const std::string why = call(R"(
void run(float* out, int n, int d) { k<float, 8><<<n, std::min(d / 4, 1024)>>>(out, out, d); }
)");
  EXPECT_THAT(why, HasSubstr("input.cu:"));
  EXPECT_THAT(why, HasSubstr("it launches <float, 8>, and the header has <{T}, 4> with T of f32, f16"));
  EXPECT_THAT(call(R"(
void run(double* out, int n, int d) { k<double, 4><<<n, std::min(d / 2, 1024)>>>(out, out, d); }
)"),
              HasSubstr("it launches <double, 4>"));
}

TEST(LaunchPatch, AnotherGeometryIsRefused) {
  EXPECT_THAT(call(R"(
void run(float* out, int n, int d) { k<float, 4><<<n, std::min(d / 8, 1024)>>>(out, out, d); }
)"),
              HasSubstr("block.x is 512 here and 1024 in the header, at d=4096, n=64"));
  EXPECT_THAT(call(R"(
void run(float* out, int n, int d) { k<float, 4><<<n, std::min(d / 4, 1024), 64>>>(out, out, d); }
)"),
              HasSubstr("shared memory is 64 here and 0 in the header"));
}

// The specification's raw side is a choice by the problem's size, which the launcher makes with `if`.
TEST(LaunchPatch, OfTwoKernelsEachIsMatchedWhereTheHeaderTakesIt) {
  TuningSpec spec = rows_spec();
  spec.types.clear();
  spec.reference.instance = "KERNEL == 1 ? kernel_1::k<float, 4> : kernel_2::other<float>";
  spec.arguments[0].dtype = spec.arguments[1].dtype = "f32";
  spec.reference.launch.grid[0] = expression("KERNEL == 1 ? n : n / 2");
  spec.reference.launch.block[0] = expression("128");
  Knob choice;
  choice.name = "KERNEL";
  choice.default_value = expression("n >= 64 ? 1 : 2");
  spec.knobs = {choice};
  Problem small;
  small.dimensions = {{"n", 8}, {"d", 4096}};
  spec.problems.push_back(small);
  const auto source = [](const std::string& bound) {
    return "template <typename T> __global__ void other(T* out, const T* in, int d) {}\n"
           "void run(float* x, int n, int d) {\n"
           "  if (n >= " +
           bound + ") k<float, 4><<<n, 128>>>(x, x, d);\n  else other<float><<<n / 2, 128>>>(x, x, d);\n}\n";
  };
  EXPECT_EQ(call(source("64"), spec), "lathe_tuned::rows::launch({n, d}, nullptr, x, x, d)");
  EXPECT_THAT(call(source("4"), spec),
              HasSubstr("it is reached where the header launches another kernel, at d="));
}

TEST(LaunchPatch, MacrosExpressionsAndAttributesAreRefused) {
  EXPECT_THAT(call(R"(
#define LAUNCH(T) k<T, 4><<<n, std::min(d / 4, 1024)>>>(out, out, d)
void run(float* out, int n, int d) { LAUNCH(float); }
)"),
              HasSubstr("it stands in the macro LAUNCH"));
  EXPECT_THAT(call(R"(
void run(float* out, int n, int d) { return k<float, 4><<<n, std::min(d / 4, 1024)>>>(out, out, d); }
)"),
              HasSubstr("it is a part of an expression"));
  EXPECT_THAT(call(R"(
void run(float* out, int n, int d) {
  cudaLaunchConfig_t config = {};
  config.gridDim = n;
  config.blockDim = std::min(d / 4, 1024);
  cudaLaunchKernelEx(&config, k<float, 4>, out, (const float*)out, d);
}
)"),
              HasSubstr("it goes through cudaLaunchKernelEx"));
}

class LaunchPatchOfFiles : public testing::Test {
protected:
  Result<LaunchPatch> patch(const std::string& text) {
    auto folder = TemporaryFolder::create("patch");
    EXPECT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
    file_ = folder_->path() / "rows.cu";
    EXPECT_TRUE(write_file(file_, text).ok());
    const auto source = ParsedSource::parse(file_, {});
    EXPECT_TRUE(source.ok());
    return patch_launches(rows_spec(), raw_launches(rows_spec(), find_kernels(**source), file_),
                          [](const auto&) { return "\"rows.h\""; });
  }
  std::filesystem::path file_;
  std::optional<TemporaryFolder> folder_;
};

TEST_F(LaunchPatchOfFiles, WhatIsNotTheHeadersStays) {
  const std::string launcher = "void run(float* out, int n, int d) {\n"
                               "  if (d % 8 == 0)\n"
                               "    k<float, 8><<<n, 32>>>(out, out, d);\n"
                               "  else\n"
                               "    k<float, 4><<<n, std::min(d / 4, 1024)>>>(out, out, d);\n"
                               "}\n";
  const auto made = patch(KERNEL + launcher);
  ASSERT_TRUE(made.ok());
  std::string expected = KERNEL + launcher;
  const std::string include = "#include <cstdint>\n",
                    old = "k<float, 4><<<n, std::min(d / 4, 1024)>>>(out, out, d)";
  expected.replace(expected.find(include), include.size(), include + "#include \"rows.h\"\n");
  expected.replace(expected.find(old), old.size(), "lathe_tuned::rows::launch({n, d}, nullptr, out, out, d)");
  ASSERT_EQ(made->texts.size(), 1u);
  EXPECT_EQ(made->texts.at(file_), expected);
  EXPECT_EQ(made->changed.size(), 1u);
  ASSERT_EQ(made->kept.size(), 1u);
  EXPECT_THAT(made->kept[0], HasSubstr("it launches <float, 8>"));
}

TEST_F(LaunchPatchOfFiles, AHelpersOwnVariablesAreTakenWhoeverCallsIt) {
  const auto made = patch(std::string(KERNEL) +
                          "template <class T> void helper(T* out, int n, int d) {\n"
                          "  k<T, 4><<<n, std::min<int>(d / (16 / sizeof(T)), 1024)>>>(out, out, d);\n"
                          "}\n"
                          "void one(float* out, int rows, int d) { helper(out, rows, d); }\n"
                          "void two(float* out, int n, int d) { helper(out, d, n); }\n");
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(made->kept, IsEmpty());
  EXPECT_THAT(made->texts.at(file_),
              HasSubstr("  lathe_tuned::rows::launch({n, d}, nullptr, out, out, d);\n"));
}

TEST_F(LaunchPatchOfFiles, LongCallsAreBrokenBetweenArguments) {
  const auto made =
      patch(std::string(KERNEL) +
            "void run(float* a_name_that_takes_room, int number_of_rows_of_it, int number_of_columns) {\n"
            "  k<float, 4><<<number_of_rows_of_it, std::min(number_of_columns / 4, 1024)>>>"
            "(a_name_that_takes_room, a_name_that_takes_room, number_of_columns);\n}\n");
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(made->texts.at(file_),
              HasSubstr("\n  lathe_tuned::rows::launch({number_of_rows_of_it, number_of_columns}, nullptr,"
                        " a_name_that_takes_room,\n      a_name_that_takes_room, number_of_columns);\n"));
}

TEST_F(LaunchPatchOfFiles, NothingIsChangedWhereNothingCanBe) {
  const auto made = patch(std::string(KERNEL) +
                          "void run(float* out, int n, int d) { k<float, 4><<<n, 32>>>(out, out, d); }\n");
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(made->texts, IsEmpty());
  EXPECT_EQ(made->kept.size(), 1u);
}

TEST(RawLaunches, AreThoseOfTheKernelThatWasTemplatized) {
  const std::string run = "void run(float* x, int n, int d) { k<float, 4><<<n, 128>>>(x, x, d); }\n";
  const auto count = [](const std::string& text, const std::filesystem::path& own) {
    const auto source = parse_text(text);
    return source ? raw_launches(rows_spec(), find_kernels(*source), own).size() : 99;
  };
  EXPECT_EQ(count(KERNEL + run, "/elsewhere/kernel.cu"), 0u);
  EXPECT_EQ(count(KERNEL + run, ""), 1u);
  EXPECT_EQ(count("template <typename T, int W> __global__ void k(T* out, const T* in, int d);\n" + run,
                  "/elsewhere/kernel.cu"),
            1u);
}

TEST(RawLaunches, ThatMayBeOfAnotherKernelAreNotChanged) {
  const auto source = parse_text(std::string(KERNEL) + R"(
__global__ void other(float* out, const float* in, int d) {}
void run(float* x, int n, int d, bool plain) {
  auto chosen = plain ? &other : &k<float, 4>;
  chosen<<<n, 128>>>(x, x, d);
}
)");
  const auto found = raw_launches(rows_spec(), find_kernels(*source), "");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].site.text.fixed, "it launches other as well");
}

// The text with "HERE" where another #include goes.
std::string marked(std::string text) {
  return text.insert(include_place(text), "HERE\n");
}

TEST(IncludePlace, IsBehindTheLastIncludeBeforeCode) {
  EXPECT_EQ(marked("// about\n#include <a>\n\n#include \"b.h\"\nint x;\n#include \"tail.inl\"\n"),
            "// about\n#include <a>\n\n#include \"b.h\"\nHERE\nint x;\n#include \"tail.inl\"\n");
  EXPECT_EQ(marked("#include <a>\n#ifdef X\n#include <x>\n#endif\nint x;\n"),
            "#include <a>\nHERE\n#ifdef X\n#include <x>\n#endif\nint x;\n");
  EXPECT_EQ(marked("/* a\n#include <no>\n*/\n#include <a>\nnamespace n {\n#include <in>\n}\n"),
            "/* a\n#include <no>\n*/\n#include <a>\nHERE\nnamespace n {\n#include <in>\n}\n");
}

TEST(IncludePlace, WithoutOneItIsBehindTheHead) {
  EXPECT_EQ(marked("int x;\n"), "HERE\nint x;\n");
  EXPECT_EQ(marked("// licence\n\n// about x\nint x;\n"), "// licence\n\nHERE\n// about x\nint x;\n");
  EXPECT_EQ(marked("// about\n#pragma once\n\nint x;\n"), "// about\n#pragma once\nHERE\n\nint x;\n");
  EXPECT_EQ(marked("#ifndef A_H\n#define A_H\nint x;\n#endif\n"),
            "#ifndef A_H\n#define A_H\nHERE\nint x;\n#endif\n");
  EXPECT_EQ(marked("#ifndef A_H\n#define A_H\n#include <a>\nint x;\n#endif\n"),
            "#ifndef A_H\n#define A_H\n#include <a>\nHERE\nint x;\n#endif\n");
}

} // namespace
} // namespace lathe::refactor
