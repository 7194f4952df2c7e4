// What the numbers of a launch come from, and what they are called.
#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(LaunchSizes, TorchDispatchNamesDimensionsAfterVariablesAndTensors) {
  const auto sites = launches(R"(
#include <torch/all.h>
#include <ATen/cuda/CUDAContext.h>
template <typename T, bool B> __global__ void k(const T* in, T* out, int d, float eps) {}
void op(at::Tensor& out, const at::Tensor& input, double eps) {
  TORCH_CHECK(input.size(1) % 2 == 0, "even");
  int d = input.size(-1) / 2;
  const int64_t num_tokens = input.numel() / input.size(-1);
  const int sms = at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(input.scalar_type(), "k", [&] {
    uint32_t vec = 16 / sizeof(scalar_t);
    dim3 block(std::min(d / vec, 1024U));
    k<scalar_t, true><<<std::min<int64_t>(num_tokens, sms * 4), block, out.size(0) * 4, at::cuda::getCurrentCUDAStream()>>>(
        input.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), d, eps);
  });
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("scalar_t", "true"));
  EXPECT_EQ(sites[0].instances.size(), 3u);
  EXPECT_EQ(sites[0].grid[0], "min(num_tokens, device.multiprocessors * 4)");
  EXPECT_EQ(sites[0].block[0], "min(d / (16 / sizeof_scalar_t), 1024)");
  EXPECT_EQ(sites[0].shared_bytes, "out_size_0 * 4");
  EXPECT_THAT(sites[0].dimensions, UnorderedElementsAre("num_tokens", "d", "out_size_0"));
  EXPECT_EQ(sites[0].arguments.at("in"), "input");
  EXPECT_EQ(sites[0].arguments.at("d"), "d");
}

TEST(LaunchSizes, GlobalsAreSizes) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
int size;
void launch(float* x) { k<<<(size + 255) / 256, 256>>>(x, size); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"size", 257}}), 2);
  EXPECT_EQ(sites[0].arguments.at("n"), "size");
}

TEST(LaunchSizes, GeometryThatATemplateLeavesUnbound) {
  const auto sites = launches(R"(
#include <algorithm>
template <class T> __global__ void k(T* x, int n) {}
struct Shape { int rows, columns; };
template <class T> void launch(T* x, Shape shape, int n) {
  dim3 grid(shape.rows, shape.columns);
  dim3 block(std::min(n, 1024));
  k<T><<<grid, block>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].grid[0], "shape_rows");
  EXPECT_EQ(sites[0].grid[1], "shape_columns");
  EXPECT_EQ(value_of(sites[0].block[0], {{"n", 4096}}), 1024);
}

TEST(LaunchSizes, AQuotientRoundedDown) {
  const auto sites = launches(R"(
#include <cmath>
__global__ void k(float* x, int n) {}
void launch(float* x, int n, float share) {
  const int threads = 128;
  k<<<dim3(floor(n / threads), floor((float)n / 64), 1), threads>>>(x, n);
  k<<<floor(n / 2.5), threads>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 300}}), 2);
  EXPECT_EQ(value_of(sites[0].grid[1], {{"n", 300}}), 4);
  EXPECT_THAT(sites[1].unreadable, ElementsAre(HasSubstr("grid")));
}

// By their default, or by their name.
TEST(LaunchSizes, IntegersOfALaunchersOwnType) {
  const auto sites = launches(R"(
template <class T> __global__ void k(T* x, int rows, int columns) {}
template <class T, class Number = int, class idx_t, class Scale>
void launch(T* x, Number rows, idx_t columns, Scale scale) {
  const dim3 block(32, 8);
  k<T><<<dim3((columns + (idx_t)block.x - 1) / block.x, ceildiv(rows, (Number)block.y)), block, scale>>>(x, rows, columns);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, ElementsAre(HasSubstr("shared memory")));
  EXPECT_EQ(value_of(sites[0].grid[0], {{"columns", 33}}), 2);
  EXPECT_EQ(value_of(sites[0].grid[1], {{"rows", 17}}), 3);
}

TEST(LaunchSizes, HostCodeMayCallCudasMinAndMax) {
  const auto sites = launches(R"(
template <class T> __global__ void k(T* x, int n) {
  if (threadIdx.x < min(n, 7)) x[threadIdx.x] = max(x[0], x[1]);
}
inline int blocks(int n, int threads = 512) {
  int wanted = (n + threads - 1) / threads;
  return min(wanted, 4096);
}
template <class T> void launch(T* x, int n, long rows) {
  k<T><<<blocks(n), max(32l, min(rows, 1024l))>>>(x, min(n, 100u));
}
template void launch<float>(float*, int, long);
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  for (const int n : {5, 512, 513, 1 << 24})
    EXPECT_EQ(value_of(sites[0].grid[0], {{"n", n}}), std::min((n + 511) / 512, 4096)) << n;
  for (const int rows : {1, 100, 5000})
    EXPECT_EQ(value_of(sites[0].block[0], {{"rows", rows}}), std::clamp(rows, 32, 1024)) << rows;
  EXPECT_EQ(value_of(sites[0].arguments.at("n"), {{"n", 7}}), 7);
}

// A search for the best block leaves nothing readable behind; the cases say what it was.
TEST(LaunchSizes, ACaseSaysWhatItsSubjectIs) {
  const auto sites = launches(R"(
template <int BLOCK> __global__ void k(float* x, int n) {}
int rounds_of(int n, int block);
void launch(float* x, int n) {
  int best = 32;
  for (int block = 64; block <= n; block += 32)
    if (n % block < n % best) best = block;
  dim3 block(1);
  switch (best) {
  case 32: block.x = best; k<32><<<n, block>>>(x, n); break;
  case 64: k<64><<<n, best>>>(x, n); break;
  default: break;
  }
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].block[0], "32");
  EXPECT_EQ(sites[1].block[0], "64");
}

TEST(LaunchSizes, WhatTheProgramIsToldIsNamedAfterTheVariable) {
  for (const char* before :
       {"  const int rows = atoi(argv[1]), columns = atoi(argv[2]);\n  const int n = rows * columns;\n",
        "  int rows, columns;\n  if (argc != 3) { return 1; }\n  else { rows = atoi(argv[1]); columns = "
        "atoi(argv[2]); }\n  int n = rows * columns;\n",
        "  int rows = 7, columns = argc > 2 ? atoi(argv[2]) : 8;\n  if (argc > 1) rows = atoi(argv[1]);\n"
        "  int n = rows * columns;\n",
        "  int rows = 7, columns = 8;\n  for (int i = 1; i < argc; ++i)\n    if (argv[i][0] == 'r') rows = "
        "atoi(argv[++i]);\n    else columns = atoi(argv[++i]);\n  int n = rows * columns;\n"}) {
    SCOPED_TRACE(before);
    const auto sites = main_launches(before);
    ASSERT_EQ(sites.size(), 1u);
    EXPECT_THAT(sites[0].unreadable, IsEmpty());
    EXPECT_THAT(sites[0].dimensions, UnorderedElementsAre("rows", "columns"));
    EXPECT_EQ(value_of(sites[0].grid[0], {{"rows", 3}, {"columns", 100}}), 2);
    for (const std::string& condition : sites[0].conditions)
      EXPECT_EQ(condition.find("argc"), std::string::npos) << condition;
  }
}

// A function that looks for an argument is read, and finds none.
TEST(LaunchSizes, WhatTheProgramMayBeToldIsNoConstant) {
  const auto sites = launches(R"(
#include <string>
template <class T> T argument(int argc, char** argv, const std::string& name, T otherwise) {
  T found = otherwise;
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == name) found = static_cast<T>(std::stoi(argv[i + 1]));
  return found;
}
int ask(char** begin, const char* name, const int otherwise) { return otherwise; }
bool has(char** begin, const char* name) { return false; }
__global__ void k(float* x, int n, int m) {}
int main(int argc, char** argv) {
  const int n = argument<int>(argc, argv, "-n", 16384), m = ask(argv, "-m", 512), one = ask(nullptr, "", 1);
  if (has(argv, "-h")) return 1;
  float* x;
  cudaMalloc(&x, sizeof(float) * n);
  k<<<(n + 31) / 32, 32>>>(x, n, m * one);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_THAT(sites[0].dimensions, UnorderedElementsAre("n", "m"));
  EXPECT_EQ(sites[0].grid[0], "(n + 31) / 32");
  EXPECT_EQ(sites[0].arguments.at("m"), "m");
  EXPECT_EQ(sites[0].fixed_sizes.at("m"), 512);
}

TEST(LaunchSizes, BuffersAreAsLargeAsTheLauncherAllocates) {
  const auto sites = main_launches("  const int m = atoi(argv[1]);\n  const int n = m * m;\n"
                                   "  cudaMalloc((void**)&x, sizeof(float) * n);\n");
  ASSERT_EQ(sites.size(), 1u);
  ASSERT_TRUE(sites[0].buffer_bytes.contains("x"));
  EXPECT_EQ(value_of(sites[0].buffer_bytes.at("x"), {{"m", 5}}), 100);
}

TEST(LaunchSizes, ANumberBetweenTwo) {
  const auto sites = launches(R"(
#include <algorithm>
__global__ void k(float* x, int n) {}
void launch(float* x, int n) {
  k<<<std::clamp(n / 32, 1, 4096), 32>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].grid[0], "min(max(n / 32, 1), 4096)");
}

TEST(LaunchSizes, NumbersThatAreHandedOnAsObjects) {
  const auto sites = launches(R"(
#include <type_traits>
template <int N, int M, bool FLAG> __global__ void k(float* x, int n) {}
template <typename F> void dispatch(int n, F&& run) {
  if (n > 100) run(std::integral_constant<int, 8>{}, std::true_type{});
  else run(std::integral_constant<int, 2>(), std::false_type{});
}
void launch(float* x, int n) {
  dispatch(n, [&](auto lanes, auto flag) {
    constexpr int N = decltype(lanes)::value;
    k<N, lanes.value, flag()><<<n, 32 * N>>>(x, n);
  });
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].template_arguments, ElementsAre("8", "8", "true"));
  EXPECT_EQ(sites[0].block[0], "256");
  EXPECT_THAT(sites[1].template_arguments, ElementsAre("2", "2", "false"));
}

TEST(LaunchSizes, WhatOnlyAnInstanceOfTraitsKnows) {
  const auto sites = launches(R"(
template <int N, bool WIDE> struct Traits {
  struct Storage { float tile[N]; char flags[WIDE ? 8 : 4]; };
  static constexpr int kBytes = sizeof(Storage);
};
template <typename TRAITS> __global__ void k(float* x) {}
void launch(float* x, int n) {
  auto run = [&]<bool WIDE>() {
    using T = Traits<64, WIDE>;
    int bytes = T::kBytes;
    k<T><<<n, 64, bytes>>>(x);
  };
  run.operator()<true>();
  run.operator()<false>();
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].shared_bytes, "264");
  EXPECT_EQ(sites[1].shared_bytes, "260");
}

TEST(LaunchSizes, ParametersOfALauncherHaveTheValuesOfItsInstances) {
  const auto sites = launches(R"(
template <int N> __global__ void k(float* x, int n) {}
template <typename T, int WIDTH> void launch(T* x, int n) {
  k<WIDTH><<<(n + 64 * WIDTH - 1) / (64 * WIDTH), 64>>>(x, n);
}
template <int LANES> struct Runner {
  static void run(float* x, int n) { k<LANES><<<n, LANES>>>(x, n); }
};
void all(float* x, int n) {
  launch<float, 4>(x, n);
  launch<float, 2>(x, n);
  Runner<32>::run(x, n);
  Runner<64>::run(x, n);
}
)");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_THAT(sites[0].launcher_arguments, ElementsAre(testing::Pair("WIDTH", ElementsAre("4", "2"))));
  EXPECT_THAT(sites[0].dimensions, ElementsAre("n"));
  EXPECT_THAT(sites[1].launcher_arguments, ElementsAre(testing::Pair("LANES", ElementsAre("32", "64"))));
}

// Of a framework whose headers are missing.
TEST(LaunchSizes, AQuotientWithoutABodyIsReadByItsName) {
  const auto sites = launches(R"(
namespace frame { template <class T> T CeilDiv(T a, T b); int round_up(int, int); }
__global__ void k(float* x, int n) {}
void launch(float* x, int n) { k<<<frame::CeilDiv(n, 256), frame::round_up(n, 32)>>>(x, n); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].grid[0], "ceil_div(n, 256)");
  EXPECT_EQ(value_of(sites[0].block[0], {{"n", 33}}), 64);
}

TEST(LaunchSizes, AQuotientWithItsRemainder) {
  const auto sites = launches(R"(
#include <cstdlib>
int up(int n, int d) { const std::div_t both = std::div(n, d); return both.quot + (both.rem != 0 ? 1 : 0); }
__global__ void k(float* x) {}
void launch(float* x, int n) { k<<<up(n, 128), 128>>>(x); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 256}}), 2);
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 257}}), 3);
}

TEST(LaunchSizes, FieldsOfAClassTemplateAndItsBases) {
  const auto sites = launches(R"(
template <class T> struct Pitched { T* data; int step; };
template <class T> struct Matrix : Pitched<T> { int cols, rows; };
template <class T> __global__ void k(Matrix<T> x) {}
template <class T> void launch(Matrix<T> x) { k<<<(x.cols + 31) / 32, x.rows>>>(x); }
template void launch<float>(Matrix<float>);
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(value_of(sites[0].grid[0], {{"x_cols", 33}}), 2);
  EXPECT_EQ(sites[0].block[0], "x_rows");
}

TEST(LaunchSizes, ViewsOfTensorsAreContiguous) {
  const auto sites = launches(R"(
#include <torch/extension.h>
template <class T> __global__ void k(torch::PackedTensorAccessor32<T, 2> x, at::cuda::detail::TensorInfo<T, int> y) {}
void launch(torch::Tensor x, torch::Tensor y) {
  k<float><<<x.size(0), 128>>>(x.packed_accessor32<float, 2>(), at::cuda::detail::getTensorInfo<float, int>(y));
}
)");
  ASSERT_EQ(sites.size(), 1u);
  const auto& given = sites[0].arguments;
  EXPECT_EQ(given.at("x.sizes_[0]"), sites[0].grid[0]);
  EXPECT_EQ(given.at("x.strides_[0]"), given.at("x.sizes_[1]"));
  EXPECT_EQ(given.at("x.strides_[1]"), "1");
  EXPECT_EQ(given.at("y.dims"), "1");
  EXPECT_EQ(given.at("y.sizes[0]"), "y_numel");
}

// A tensor that the launcher makes has the sizes that it is made with.
TEST(LaunchSizes, ATensorThatIsMadeHasTheSizesItIsGiven) {
  const auto sites = launches(R"(
#include <torch/extension.h>
template <class T> __global__ void k(torch::PackedTensorAccessor32<T, 2> x, torch::PackedTensorAccessor32<T, 3> y) {}
void launch(torch::Tensor x, int radius) {
  const auto rows = x.size(0), columns = x.size(1);
  const int width = 2 * radius + 1;
  auto y = torch::zeros({rows, width * width, columns}, x.options());
  k<float><<<y.size(-1), 128>>>(x.packed_accessor32<float, 2>(), y.packed_accessor32<float, 3>());
}
)");
  ASSERT_EQ(sites.size(), 1u);
  const auto& given = sites[0].arguments;
  EXPECT_EQ(given.at("y.sizes_[0]"), given.at("x.sizes_[0]"));
  EXPECT_EQ(given.at("y.sizes_[2]"), given.at("x.sizes_[1]"));
  EXPECT_EQ(value_of(given.at("y.sizes_[1]"), {{"radius", 2}}), 25);
  EXPECT_EQ(sites[0].grid[0], given.at("x.sizes_[1]"));
}

TEST(LaunchSizes, AStrideOfATensorIsNamedAsOne) {
  const auto sites = launches(R"(
#include <torch/extension.h>
__global__ void k(const float* x, float* y, int rows, int columns, int ldx, int ldy) {}
void launch(torch::Tensor x, torch::Tensor y) {
  const int rows = x.size(0), columns = x.size(1);
  const int ldx = x.stride(0), y_row_stride = y.strides()[0];
  k<<<rows, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, columns, ldx, y_row_stride);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].arguments.at("columns"), "columns");
  EXPECT_EQ(sites[0].arguments.at("ldx"), "x_stride_0");
  EXPECT_EQ(sites[0].arguments.at("ldy"), "y_row_stride");
}

TEST(LaunchSizes, AMemberNamedAsWhatTheKernelIsToldIsThat) {
  const auto in_class = [](const std::string& members, const std::string& grid, const std::string& passed) {
    const auto sites = launches(
        "__global__ void k(float* x, int num_data, int num_class) {\n"
        "  const int i = blockIdx.x * 256 + threadIdx.x; if (i < num_data) x[i] = num_class; }\n"
        "struct Task { " +
        members + "; int num_class_; void run(float* x, int num_data, int other) const; };\n" +
        "void Task::run(float* x, int num_data, int other) const {\n  const int num_blocks = " + grid +
        ";\n  k<<<num_blocks, 256>>>(x, " + passed + ", num_class_);\n}\n");
    EXPECT_EQ(sites.size(), 1u);
    return sites.empty() ? LaunchSite() : sites.front();
  };
  for (const std::string member : {"num_data_", "_num_data", "m_num_data"}) {
    const LaunchSite site = in_class("int " + member, "(" + member + " + 255) / 256", "num_data");
    EXPECT_EQ(value_of(site.grid[0], {{"num_data", 1000}}), 4) << member;
    EXPECT_THAT(site.assumed, ElementsAre(HasSubstr(member + " of the launcher's class is num_data")))
        << member;
  }
  // The number itself, by its own name: nothing is assumed.
  const LaunchSite told = in_class("int num_data_", "(num_data_ + 255) / 256", "num_data_");
  EXPECT_EQ(value_of(told.grid[0], {{"num_data", 1000}}), 4);
  EXPECT_TRUE(told.assumed.empty());
  // Another name, a real number, another object's member, what is told besides.
  EXPECT_EQ(in_class("int total_", "(total_ + 255) / 256", "num_data").grid[0], "num_blocks");
  EXPECT_EQ(in_class("int num_data", "(this->num_data + 255) / 256", "other").grid[0], "num_blocks");
  EXPECT_EQ(in_class("struct { int num_data_; } of", "(of.num_data_ + 255) / 256", "num_data").grid[0],
            "num_blocks");
  EXPECT_EQ(in_class("int num_data_", "(num_data_ + 255) / 256", "num_blocks").grid[0], "num_blocks");
}

TEST(LaunchSizes, AGridComputedFromWhatTheKernelIsToldFollowsIt) {
  const std::string kernel =
      "struct Rows { int count, width; };\n"
      "__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }\n";
  const auto passed = launches(kernel + "void run(float* x, const Rows& rows) {\n"
                                        "  int blocks = (rows.count * rows.width + 255) / 256;\n"
                                        "  k<<<blocks, 256>>>(x, rows.count * rows.width);\n}\n");
  ASSERT_EQ(passed.size(), 1u);
  EXPECT_EQ(value_of(passed[0].grid[0], {{"rows_count", 100}, {"rows_width", 10}}), 4);
  // Half of it is passed, and what was computed in two ways.
  const auto half = launches(kernel + "void run(float* x, const Rows& rows) {\n"
                                      "  int blocks = (rows.count * rows.width + 255) / 256;\n"
                                      "  k<<<blocks, 256>>>(x, rows.count);\n}\n");
  ASSERT_EQ(half.size(), 1u);
  EXPECT_EQ(half[0].grid[0], "blocks");
  const auto either = launches(kernel + "void run(float* x, const Rows& rows, bool wide) {\n"
                                        "  int blocks = (rows.count + 255) / 256;\n"
                                        "  if (wide) blocks = (rows.width + 255) / 256;\n"
                                        "  k<<<blocks, 256>>>(x, rows.count);\n}\n");
  ASSERT_EQ(either.size(), 1u);
  EXPECT_NE(
      value_of(either[0].grid[0], {{"rows_count", 1000}, {"blocks", 7}, {"wide", 1}, {"rows_width", 1}}), 4);
}

// What the launcher asks of an object that it passes whole is what the kernel finds in its copy.
TEST(LaunchSizes, MembersOfAnObjectThatIsPassedWhole) {
  const std::string kernel = "struct Extent { unsigned x, y; };\n"
                             "struct Base { int batch; };\n"
                             "struct Params : Base { int rows, columns; float scale; Extent extent; };\n"
                             "__global__ void k(float* x, Params p) {\n"
                             "  for (int i = threadIdx.x; i < p.columns; i += 64) x[i] = p.scale;\n}\n";
  const auto launch = [&](const std::string& body) {
    const auto sites = launches(kernel + "void run(float* x, const Params& given) {\n" + body + "}\n");
    EXPECT_EQ(sites.size(), 1u);
    return sites.empty() ? LaunchSite() : sites.front();
  };
  // Under the name that the launcher keeps it by; what no size follows is not mentioned.
  const LaunchSite kept = launch("int n = given.rows; k<<<n, 64>>>(x, given);\n");
  EXPECT_EQ(kept.grid[0], "n");
  EXPECT_EQ(kept.arguments.at("p.rows"), "n");
  EXPECT_FALSE(kept.arguments.contains("p.columns"));
  EXPECT_THAT(kept.dimensions, ElementsAre("n"));
  // Of a base class and of an object inside; a size that is computed from such a number follows it.
  const LaunchSite inner =
      launch("int blocks = (given.extent.x + 63) / 64; k<<<dim3(blocks, given.batch), 64>>>(x, given);\n");
  EXPECT_EQ(value_of(inner.grid[0], {{"given_extent_x", 100}}), 2);
  EXPECT_EQ(inner.arguments.at("p.extent.x"), "given_extent_x");
  EXPECT_EQ(inner.arguments.at("p.batch"), inner.grid[1]);
  // Another object, and one that changes before the launch.
  const LaunchSite other = launch("Params own; int n = given.rows; k<<<n, 64>>>(x, own);\n");
  EXPECT_FALSE(other.arguments.contains("p.rows"));
  const LaunchSite changed =
      launch("Params own = given; int n = own.rows; own.rows = 7; k<<<n, 64>>>(x, own);\n");
  EXPECT_EQ(changed.arguments.at("p.rows"), "7");
}

TEST(LaunchSizes, AParameterWhoseTypeIsAnIntegerInEveryInstanceIsASize) {
  const auto grid = [](const std::string& type, const std::string& instances) {
    const auto sites =
        launches("template <class V> __global__ void k(float* x, V n) { if (blockIdx.x < n) x[0] = 1; }\n"
                 "template <class " +
                 type + "> void run(float* x, const " + type +
                 " n) {\n"
                 "  k<" +
                 type + "><<<(n + static_cast<" + type + ">(31)) / 32, 32>>>(x, n);\n}\n" + instances);
    return sites.empty() || !sites[0].unreadable.empty() ? std::string() : sites[0].grid[0];
  };
  EXPECT_EQ(
      value_of(grid("V", "void a(float* x) { run<int>(x, 1); run<unsigned long>(x, 1); }\n"), {{"n", 64}}),
      2);
  EXPECT_EQ(value_of(grid("vertex_t", ""), {{"n", 64}}), 2);
  EXPECT_EQ(grid("V", ""), "");
  EXPECT_EQ(grid("V", "void a(float* x) { run<int>(x, 1); run<float>(x, 1); }\n"), "");
}

TEST(LaunchSizes, TensorsOfTheStableInterfaceHaveSizes) {
  const auto found = launches(R"(
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
__global__ void k(float* out, int64_t stride) { out[blockIdx.x * stride + threadIdx.x] = 1; }
torch::stable::Tensor run(torch::stable::Tensor input) {
  STD_TORCH_CHECK(input.dim() == 2, "two of them");
  torch::stable::Tensor out = torch::stable::empty_like(input);
  const torch::stable::accelerator::DeviceGuard guard(input.get_device_index());
  if (input.scalar_type() == torch::headeronly::ScalarType::Float)
    k<<<input.size(0) / 64, 32>>>((float*)out.data_ptr(), out.stride(0));
  STD_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}
STABLE_TORCH_LIBRARY_IMPL(own, CUDA, m) { m.impl("run", TORCH_BOX(run)); }
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].unreadable, IsEmpty());
  EXPECT_EQ(value_of(found[0].grid[0], {{"input_size_0", 640}}), 10);
}

// What CUDA computes from the kernel's machine code is nobody's to know before it is compiled.
TEST(LaunchSizes, OccupancyGivesBlocksOfAUsualSize) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void launch(float* x, int n) {
  int blocks = 0, threads = 0;
  cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, k, 0, 0);
  k<<<(n + threads - 1) / threads, threads>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].block[0], "256");
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 257}}), 2);
  EXPECT_THAT(sites[0].dimensions, ElementsAre("n"));
  EXPECT_THAT(sites[0].assumed, testing::Contains(HasSubstr("blocks of 256 threads")));
}

TEST(LaunchSizes, OccupancyGivesAsManyBlocksAsThreadsAllow) {
  const auto sites = launches(R"(
#include <algorithm>
__global__ void k(float* x, int n) {}
void launch(float* x, int n, int device) {
  int resident = 0, multiprocessors = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, k, 128, 0);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  k<<<std::min(n, resident * multiprocessors), 128>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0],
                     {{"n", 5000}, {"device.multiprocessors", 100}, {"device.max_threads_per_sm", 2048}}),
            1600);
}

// A block that the program is told stays a size.
TEST(LaunchSizes, ABlockThatIsPassedIsASize) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void launch(float* x, int n, int threads) { k<<<(n + threads - 1) / threads, threads>>>(x, n); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].block[0], "threads");
  EXPECT_THAT(sites[0].assumed, IsEmpty());
}

TEST(LaunchSizes, WhatASwitchDispatchesIsReadInItsCases) {
  const auto found = launches(R"(
template <int W> __global__ void k(float* x, int n) {}
void run(float* x, int n, int width) {
  switch (width) {
  case 64: { constexpr int WIDTH = 64; k<WIDTH / 32><<<n, width, 4 * width>>>(x, n); break; }
  case 128: {
    constexpr int WIDTH = 128;
    constexpr int ROWS = 128;
    k<WIDTH / 32><<<n / ROWS, width, 4 * width>>>(x, n);
    break;
  }
  }
}
)");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].grid.front(), "n / 128") << "another constant of the same number";
  for (const LaunchSite& site : found) {
    EXPECT_THAT(site.unreadable, testing::IsEmpty());
    EXPECT_THAT(site.template_arguments, testing::ElementsAre("width / 32"));
    EXPECT_EQ(site.block.front(), "width");
    EXPECT_EQ(site.shared_bytes, "4 * width");
  }
}

} // namespace
} // namespace lathe::refactor
