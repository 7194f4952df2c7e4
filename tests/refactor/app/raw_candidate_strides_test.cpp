// Strides that a kernel is told: which dimensions are some, and what they are where tensors are contiguous.
#include "refactor/app/raw_candidate_strides.h"

#include "refactor/app/subject.h"
#include "tuner/base/files.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Sizes = std::map<std::string, std::int64_t>;

Expression read(const std::string& text) {
  return *Expression::parse(text);
}

// A kernel of float buffers and then integers, each of which is a dimension.
Candidate candidate(const std::string& text, const std::vector<std::string>& grid,
                    const std::vector<std::string>& buffers, const std::vector<std::string>& dimensions) {
  Candidate raw;
  raw.text = text;
  raw.kernel = raw.instance = "k";
  raw.dimensions = dimensions;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    raw.launch.grid[axis] = read(axis < grid.size() ? grid[axis] : "1");
    raw.launch.block[axis] = read(axis == 0 ? "32" : "1");
  }
  raw.launch.shared_bytes = read("0");
  for (const std::string& name : buffers) {
    Argument buffer;
    buffer.name = name;
    buffer.dtype = "f32";
    buffer.direction = Direction::inout;
    buffer.count = read("0");
    raw.arguments.push_back(buffer);
  }
  for (const std::string& name : dimensions) {
    Argument scalar;
    scalar.name = name;
    scalar.is_buffer = false;
    scalar.dtype = "i32";
    scalar.value = read(name);
    raw.arguments.push_back(scalar);
  }
  return raw;
}

std::vector<std::string> strides_of(const std::vector<std::string>& dimensions,
                                    const std::string& text = "__global__ void k() {}") {
  return tensor_strides(candidate(text, {"1"}, {}, dimensions));
}

// What each argument is once tensors are contiguous.
std::map<std::string, std::string> contiguous(Candidate& raw, const Sizes& base,
                                              std::vector<std::string>* notes = nullptr) {
  std::vector<std::string> own;
  take_as_contiguous(raw, tensor_strides(raw), base, "sm_90", notes ? *notes : own);
  std::map<std::string, std::string> values;
  for (const Argument& argument : raw.arguments)
    if (!argument.is_buffer)
      values[argument.name] = argument.value.text();
  return values;
}

TEST(TensorStrides, AreToldByTheirNames) {
  EXPECT_THAT(strides_of({"s", "b", "stride_s", "stride_b", "stride_h", "o_stride_d"}),
              ElementsAre("stride_s", "stride_b", "stride_h", "o_stride_d"));
  EXPECT_THAT(strides_of({"params_dim", "params_x_batch_stride", "params_x_c_stride", "qRowStride"}),
              ElementsAre("params_x_batch_stride", "params_x_c_stride", "qRowStride"));
  EXPECT_THAT(strides_of({"tokens", "input_stride", "x_stride_0", "kv_head_stride"}),
              ElementsAre("input_stride", "x_stride_0", "kv_head_stride"));
  EXPECT_THAT(strides_of({"columns", "input_pitch", "dstPitch", "mask_step", "time_step", "step", "steps"}),
              ElementsAre("input_pitch", "dstPitch", "mask_step"));
}

TEST(TensorStrides, ThoseOfLoopsAndWindowsAreOthers) {
  EXPECT_THAT(strides_of({"n", "loop_stride", "grid_stride", "warp_stride"}), IsEmpty());
  EXPECT_THAT(strides_of({"height", "width", "stride_h", "stride_w", "pad_h", "pad_w"}), IsEmpty());
  EXPECT_THAT(strides_of({"n", "params_stride_x", "conv_stride", "pool_stride_h"}), IsEmpty());
  EXPECT_THAT(strides_of({"n", "width", "rows"}), IsEmpty());
  // A convolution's tensors have strides along axes that its window does not move along.
  EXPECT_THAT(strides_of({"n", "conv_state_batch_stride", "conv_state_c_stride", "conv_stride_w"}),
              ElementsAre("conv_state_batch_stride", "conv_state_c_stride"));
}

TEST(TensorStrides, ALoneStrideIsToldByItsUse) {
  EXPECT_THAT(strides_of({"n", "stride"}, "__global__ void k(float* x, int n, int stride) {"
                                          " x[blockIdx.x * stride + threadIdx.x] = n; }"),
              ElementsAre("stride"));
  EXPECT_THAT(strides_of({"n", "stride"}, "__global__ void k(float* x, int n, int stride) {"
                                          " for (int i = threadIdx.x; i < n; i += stride) x[2 * i] = 0; }"),
              IsEmpty());
  EXPECT_THAT(strides_of({"n", "stride"}, "__global__ void k(float* x, int n, int stride) {"
                                          " if (threadIdx.x + stride < n) x[threadIdx.x] += x[stride]; }"),
              IsEmpty());
}

TEST(TensorStrides, WhatTheLaunchFollowsIsASize) {
  Candidate raw = candidate("__global__ void k() {}", {"row_stride"}, {}, {"n", "row_stride"});
  EXPECT_THAT(tensor_strides(raw), IsEmpty());
}

TEST(TensorStrides, WhatTheLauncherComputesStaysAsRead) {
  Candidate raw = candidate("__global__ void k() {}", {"n"}, {}, {"n", "row_stride"});
  raw.arguments[1].value = read("2 * n");
  raw.dimensions = {"n"};
  EXPECT_THAT(tensor_strides(raw), IsEmpty());
}

TEST(TensorStrides, EachStepsOverWhatLiesWithin) {
  Candidate raw = candidate(R"(
__global__ void k(const float* x, float* y, int s, int h, int d, int stride_s, int stride_h, int stride_d,
                  int o_stride_s, int o_stride_h) {
  for (int i = 0; i < h; ++i)
    for (int j = threadIdx.x; j < d; j += blockDim.x)
      y[blockIdx.x * o_stride_s + i * o_stride_h + j] = x[blockIdx.x * stride_s + i * stride_h + j * stride_d];
}
)",
                            {"s"}, {"x", "y"},
                            {"s", "h", "d", "stride_s", "stride_h", "stride_d", "o_stride_s", "o_stride_h"});
  std::vector<std::string> notes;
  auto values = contiguous(raw, {{"s", 4}, {"h", 8}, {"d", 64}}, &notes);
  EXPECT_EQ(values["stride_d"], "1");
  EXPECT_EQ(values["stride_h"], "d");
  EXPECT_EQ(values["stride_s"], "h * d");
  EXPECT_EQ(values["o_stride_h"], "d");
  EXPECT_EQ(values["o_stride_s"], "h * d");
  EXPECT_THAT(raw.dimensions, ElementsAre("s", "h", "d"));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("tensors are taken to be contiguous: stride_s = h * d, ")));
}

TEST(TensorStrides, RowsOfPitchedMemoryAreBytesApart) {
  Candidate raw = candidate(R"(
__global__ void k(const float* in, float* out, int rows, int columns, int in_pitch, int out_step) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const float* row = (const float*)((const char*)in + blockIdx.x * in_pitch);
    *reinterpret_cast<float*>(reinterpret_cast<char*>(out + i) + blockIdx.x * out_step) = row[i];
  }
}
)",
                            {"rows"}, {"in", "out"}, {"rows", "columns", "in_pitch", "out_step"});
  auto values = contiguous(raw, {{"rows", 4}, {"columns", 64}});
  EXPECT_EQ(values["in_pitch"], "columns * 4");
  EXPECT_EQ(values["out_step"], "columns * 4");
  // In elements, where nothing is counted in bytes.
  Candidate plain = candidate(
      "__global__ void k(float* out, int rows, int columns, int pitch) {\n"
      "  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[blockIdx.x * pitch + i] = 1;\n}\n",
      {"rows"}, {"out"}, {"rows", "columns", "pitch"});
  EXPECT_EQ(contiguous(plain, {{"rows", 4}, {"columns", 64}})["pitch"], "columns");
}

TEST(TensorStrides, TensorsOfOneKernelDiffer) {
  Candidate raw = candidate(R"(
__global__ void k(float* query, float* key, int tokens, int heads, int kv_heads, int size, int query_stride,
                  int key_stride) {
  for (int i = threadIdx.x; i < heads * size; i += blockDim.x) query[blockIdx.x * query_stride + i] = 1;
  for (int i = threadIdx.x; i < kv_heads * size; i += blockDim.x) key[blockIdx.x * key_stride + i] = 1;
}
)",
                            {"tokens"}, {"query", "key"},
                            {"tokens", "heads", "kv_heads", "size", "query_stride", "key_stride"});
  auto values = contiguous(raw, {{"tokens", 4}, {"heads", 32}, {"kv_heads", 32}, {"size", 128}});
  EXPECT_EQ(values["query_stride"], "heads * size");
  EXPECT_EQ(values["key_stride"], "kv_heads * size");
}

TEST(TensorStrides, WhatIsDividedByStaysASize) {
  Candidate raw =
      candidate(R"(
__global__ void k(float* x, float* y, int n, int batch_stride, int row_stride, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i / batch_stride] = 1;
  if (i < columns) x[blockIdx.y * row_stride + i] = 1;
}
)",
                {"(n + 31) / 32", "4"}, {"x", "y"}, {"n", "batch_stride", "row_stride", "columns"});
  auto values = contiguous(raw, {{"n", 256}, {"columns", 256}});
  EXPECT_EQ(values["batch_stride"], "batch_stride");
  EXPECT_NE(values["row_stride"], "row_stride");
  EXPECT_THAT(raw.dimensions, ElementsAre("n", "batch_stride", "columns"));
}

TEST(TensorStrides, WhatMovesNothingStaysASize) {
  Candidate raw = candidate("__global__ void k(float* x, int n, int x_stride) { x[blockIdx.x] = n; }", {"n"},
                            {"x"}, {"n", "x_stride"});
  EXPECT_EQ(contiguous(raw, {{"n", 16}})["x_stride"], "x_stride");
}

// With zeros for the slots nothing shows how far apart they are.
TEST(TensorStrides, ThoseThatIntegersInMemoryAreMultipliedBy) {
  Candidate raw = candidate(R"(
__global__ void k(float* cache, const int* slots, int columns, int cache_row_stride) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x) cache[slots[blockIdx.x] * cache_row_stride + i] = 1;
}
)",
                            {"rows"}, {"cache", "slots"}, {"columns", "cache_row_stride"});
  raw.dimensions.push_back("rows");
  raw.arguments[1].dtype = "i32";
  raw.arguments[1].direction = Direction::in;
  raw.arguments[1].fill.kind = Fill::Kind::zero;
  EXPECT_EQ(contiguous(raw, {{"rows", 4}, {"columns", 64}})["cache_row_stride"], "columns");
}

class StridesOfASource : public testing::Test {
protected:
  Result<Subject> subject(const std::vector<std::string>& problems, bool contiguous_tensors) {
    LATHE_TRY(const TemporaryFolder folder, TemporaryFolder::create("strides"));
    LATHE_CHECK(write_file(folder.path() / "scale.cu", R"(
__global__ void scale(const float* x, float* y, int columns, int x_row_stride, int y_row_stride) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * y_row_stride + i] = 2 * x[blockIdx.x * x_row_stride + i];
}
void launch(const float* x, float* y, int rows, int columns, int x_row_stride, int y_row_stride) {
  scale<<<rows, 64>>>(x, y, columns, x_row_stride, y_row_stride);
}
)"));
    SubjectRequest request;
    request.source = folder.path() / "scale.cu";
    request.kernel = "scale";
    request.problems = problems;
    request.contiguous_tensors = contiguous_tensors;
    LATHE_TRY(const auto source, ParsedSource::parse(request.source, {}));
    return prepare_subject(request, *source);
  }
};

TEST_F(StridesOfASource, AreSizesWhereTheKernelRunsSo) {
  const auto made = subject({}, false);
  ASSERT_TRUE(made.ok()) << made.error().sentence();
  EXPECT_THAT(made->raw.dimensions, ElementsAre("rows", "columns", "x_row_stride", "y_row_stride"));
  EXPECT_THAT(made->guessed_strides, ElementsAre("x_row_stride", "y_row_stride"));
}

TEST_F(StridesOfASource, FollowTheOtherSizesWhereThatIsAskedFor) {
  const auto made = subject({}, true);
  ASSERT_TRUE(made.ok()) << made.error().sentence();
  EXPECT_THAT(made->raw.dimensions, ElementsAre("rows", "columns"));
  EXPECT_EQ(made->raw.arguments[0].count.text(), "columns * rows");
  EXPECT_EQ(std::ranges::count_if(
                made->notes, [](const std::string& note) { return note.find("contiguous") != note.npos; }),
            1);
}

TEST_F(StridesOfASource, AreWhatAProblemSays) {
  const auto made = subject({"rows=8,columns=64,x_row_stride=96,y_row_stride=64"}, true);
  ASSERT_TRUE(made.ok()) << made.error().sentence();
  EXPECT_THAT(made->raw.dimensions,
              testing::UnorderedElementsAre("rows", "columns", "x_row_stride", "y_row_stride"));
  // The other one follows: a problem has to say all that is a size.
  const auto one = subject({"rows=8,columns=64,x_row_stride=96"}, false);
  ASSERT_TRUE(one.ok()) << one.error().sentence();
  EXPECT_THAT(one->raw.dimensions, testing::UnorderedElementsAre("rows", "columns", "x_row_stride"));
}

} // namespace
} // namespace lathe::refactor
